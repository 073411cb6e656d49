"""Choice of landmarks: uniform, kernel k-means++, or ridge leverage scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_choice, check_count, check_number, check_seed
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel, not_finite
from rkhs.spaces.features.base import pick

_REG = 1e-3  # of the leverage scores, relative to the largest value of the diagonal


def sample_landmarks(
    kernel: Kernel,
    items: Any,
    m: int,
    *,
    sampling: str = "uniform",
    random_state: Any = 0,
) -> np.ndarray:
    """Choose ``m`` landmarks among the items, without repetition.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    items : Tensor (n, d), Gram matrix (n, n), or list of n objects
    m : int
        How many; all items if there are no more.
    sampling : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Uniformly; each next one with probability proportional to the squared distance of its feature from the nearest
        one so far; or with probabilities proportional to the ridge leverage scores, see :func:`leverage_scores`, at a
        thousandth of the largest value of the diagonal.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    ndarray of shape (min(m, n),), integers
        Row numbers, ascending.

    Raises
    ------
    InputError
        For an unknown ``sampling`` or parameters out of range.

    Notes
    -----
    Kernel values: none; ``n m``; ``n s + s^2`` with ``s = min(n, 4 m)`` and ``s^3 / 3`` operations.

    References
    ----------
    Williams and Seeger (2001), section 3; Oglic and Gartner (2017), section 2.3 (kernel k-means++); Alaoui and Mahoney
    (2015), definition 1 and theorem 4 (leverage scores).

    Examples
    --------
    >>> import torch
    >>> from rkhs.features import sample_landmarks
    >>> from rkhs.kernels import Gaussian
    >>> sample_landmarks(Gaussian(1.0), torch.tensor([[0.0], [0.0], [9.0]]), 3, sampling="kmeans++").tolist()
    [0, 1, 2]
    """
    check_choice(sampling, "sampling", ("uniform", "kmeans++", "leverage"))
    check_count(m, "m")
    rng, n = check_seed(random_state), len(items)
    if m >= n:
        return np.arange(n)
    if sampling == "uniform":
        chosen = rng.choice(n, m, replace=False)
        return np.sort(different_first(items, chosen, m)[:m] if isinstance(items, Tensor) else chosen)
    if sampling == "kmeans++":
        return np.sort(_kmeans_plus_plus(kernel, items, m, rng))
    known = np.sort(rng.choice(n, min(n, 4 * m), replace=False))
    largest = float(kernel._diag(items).abs().max())
    scores = leverage_scores(kernel, items, max(_REG * largest, 1e-300), known=known).cpu().numpy()
    scores = scores + 1e-12 * max(float(scores.max()), 1e-300)  # fewer positive scores than landmarks
    return np.sort(rng.choice(n, m, replace=False, p=scores / scores.sum()))


def different_first(rows: Tensor, chosen: np.ndarray, most: int) -> np.ndarray:
    """Put at most ``most`` distinct rows before those that were drawn, if nine in ten of the latter are copies."""
    m, n = len(chosen), len(rows)
    drawn = rows[torch.from_numpy(chosen).to(rows.device)]
    if m < 2 or n == m or 10 * len(torch.unique(drawn, dim=0)) > m:
        return chosen
    _, groups = torch.unique(rows, dim=0, return_inverse=True)
    different = np.unique(groups.cpu().numpy(), return_index=True)[1]
    different = np.sort(different)[:most]
    return np.concatenate([different, chosen[~np.isin(chosen, different)]])


def leverage_scores(kernel: Kernel, items: Any, reg: float, *, known: Any = None) -> Tensor:
    """Ridge leverage scores ``l_i = [K (K + n reg I)^{-1}]_ii``: how much item i matters to a ridge regression.

    With ``known`` rows only, ``K`` is replaced by its Nystroem approximation on them plus what that leaves out of the
    diagonal, ``l_i = (k_ii - b_i^T (K_S + s reg I)^{-1} b_i) / (n reg)`` with ``b_i = k(x_S, x_i)``: exact when they
    are all rows.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    items : Tensor (n, d), Gram matrix (n, n), or list of n objects
    reg : float
        Positive; the ridge is ``n reg``.
    known : array of shape (s,), integers, optional
        Row numbers; default all.

    Returns
    -------
    Tensor of shape (n,)
        Between 0 and 1; they sum to the effective dimension.

    Raises
    ------
    InputError
        If ``reg`` is not positive.

    References
    ----------
    Alaoui and Mahoney (2015), definition 1; Rudi et al. (2018), equation 3, for the approximation.

    Examples
    --------
    >>> import torch
    >>> from rkhs.features import leverage_scores
    >>> from rkhs.kernels import Gaussian
    >>> leverage_scores(Gaussian(1.0), torch.tensor([[0.0], [0.0], [9.0]]), 1.0).round(decimals=3)
    tensor([0.2000, 0.2000, 0.2500], dtype=torch.float64)
    """
    check_number(reg, "reg", above=0.0)
    n = len(items)
    rows = np.arange(n) if known is None else np.asarray(known)
    diag = kernel._diag(items).to(torch.float64)
    chosen = pick(items, rows)
    small = landmark_gram(kernel, items, rows, chosen).to(torch.float64)
    small.diagonal().add_(len(rows) * reg)
    L, failed = torch.linalg.cholesky_ex(small)
    if bool(failed):
        name = type(kernel).__name__ if kernel.domain == "gram" else repr(kernel)
        raise InputError(f"leverage scores need a positive semi-definite kernel; {name} is not on these items")
    scores = torch.empty(n, dtype=torch.float64)
    for start in range(0, n, 4096):
        tile = items[start : start + 4096]
        b = _columns(kernel, tile, items, rows, chosen).to(torch.float64)
        half = torch.linalg.solve_triangular(L, b.mT, upper=False)
        scores[start : start + 4096] = (diag[start : start + 4096] - (half * half).sum(0)) / (n * reg)
    return scores.clamp_(0.0, 1.0)


def landmark_gram(kernel: Kernel, items: Any, rows: np.ndarray, chosen: Any) -> Tensor:
    """Gram matrix of the chosen items."""
    return _columns(kernel, chosen, items, rows, chosen) if kernel.domain == "gram" else kernel._gram(chosen)


def _columns(kernel: Kernel, tile: Any, items: Any, rows: np.ndarray, chosen: Any) -> Tensor:
    if kernel.domain == "gram":
        return kernel._gram(tile)[:, torch.as_tensor(rows)]
    return kernel._gram(tile, chosen)


def _kmeans_plus_plus(kernel: Kernel, items: Any, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Kernel k-means++: the next landmark is drawn with probability proportional to the squared distance."""
    n = len(items)
    diag = kernel._diag(items).to(torch.float64).cpu().numpy()
    if not np.isfinite(diag).all():
        raise not_finite(kernel, torch.from_numpy(diag)[:, None], whole=False)
    chosen = [int(rng.randint(n))]
    nearest = np.full(n, np.inf)
    while len(chosen) < m:
        last = np.array([chosen[-1]])
        column = _columns(kernel, items, items, last, pick(items, last))[:, 0].to(torch.float64).cpu().numpy()
        nearest = np.minimum(nearest, np.maximum(diag - 2.0 * column + diag[chosen[-1]], 0.0))
        nearest[chosen[-1]] = 0.0
        total = nearest.sum()
        if total > 1e-14 * max(float(diag.max()), 1e-300) * n:
            chosen.append(int(rng.choice(n, p=nearest / total)))
        else:  # every other item repeats a landmark
            left = np.setdiff1d(np.arange(n), chosen)
            chosen += [int(i) for i in rng.choice(left, m - len(chosen), replace=False)]
    return np.array(chosen)
