"""Kernels of the difference, radial kernels ``k(x, y) = f(||x - y||^2)``, and the Gaussian.

Radial kernels centre the data before the expanded square ``||x||^2 + ||y||^2 - 2 x.y``: without it float32 loses every
digit at an offset of 1000.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, new_matrix, symmetric_rows
from rkhs.kernels.base import VectorKernel

__all__ = ["Gaussian", "Matern", "Radial", "Stationary", "median_bandwidth", "squared_distances", "weighted_median"]

LOG2E = math.log2(math.e)
ROWS = 256  # rows of a sweep: the block of n columns stays in the cache


def squared_distances(X: Tensor, Y: Tensor | None = None) -> Tensor:
    """Squared Euclidean distances by one matrix product on centred data, clamped at zero; shape (n, m)."""
    center = (X if Y is None else Y).mean(dim=0)
    A = X - center
    B = A if Y is None else Y - center
    a = (A * A).sum(1)
    b = a if Y is None else (B * B).sum(1)
    D = new_matrix(A.shape[0], B.shape[0], A)
    for start in range(0, A.shape[0], ROWS):
        rows = slice(start, min(start + ROWS, A.shape[0]))
        torch.addmm(b[None, :], A[rows], B.mT, alpha=-2.0, out=D[rows])
        D[rows].add_(a[rows, None]).clamp_min_(0.0)
    return D.fill_diagonal_(0.0) if Y is None else D


def weighted_median(values: Tensor, weights: Tensor | None = None) -> float:
    """Median of all entries, weighted if weights of the same shape are given.

    The weighted median is the smallest value at which the cumulative weight reaches one half, averaged with the next
    value when it is reached exactly, so that integer weights and repeated entries give the same number.
    """
    flat = values.reshape(-1)
    if weights is None:
        return float(np.median(flat.cpu().numpy()))  # by partition, where torch sorts
    order = torch.argsort(flat)
    ordered, w = flat[order], weights.reshape(-1)[order]
    kept = w > 0
    ordered, w = ordered[kept], w[kept]
    cumulative = torch.cumsum(w, 0) / w.sum()
    half = torch.tensor(0.5, dtype=cumulative.dtype, device=cumulative.device)
    slack = 1e-12
    lower = int(torch.searchsorted(cumulative, half - slack))
    upper = int(torch.searchsorted(cumulative, half + slack))
    last = len(ordered) - 1
    return float((ordered[min(lower, last)] + ordered[min(upper, last)]) / 2)


def pair_median(D: Tensor) -> float:
    """Median of all entries of a symmetric matrix with a zero diagonal, from the entries above the diagonal alone."""
    n = D.shape[0]
    array = D.cpu().numpy()
    pairs = np.concatenate([array[i, i + 1 :] for i in range(n - 1)]) if n > 1 else np.zeros(0, array.dtype)
    # Sorted, the entries are n zeros and then every pair twice.
    middle = [k for k in {(n * n - 1) // 2, n * n // 2}]
    ranks = [max((k - n) // 2, 0) for k in middle if k >= n]
    found = np.partition(pairs, ranks) if ranks else pairs
    return float(np.mean([0.0 if k < n else float(found[(k - n) // 2]) for k in middle]))


def median_bandwidth(D: Tensor, weights: Tensor | None = None) -> float:
    """One over the median distance of all ordered pairs, ``D`` of shape (n, n), weighted by ``w_i w_j``.

    Where more than half of the pairs coincide the mean still has a scale and takes the place of the median; where all
    do, the answer is 1.
    """
    scale = pair_median(D) if weights is None else weighted_median(D, torch.outer(weights, weights))
    if scale <= 0.0:
        scale = float(D.mean() if weights is None else weights @ D @ weights)
    return 1.0 if scale <= 0.0 else 1.0 / scale


class Stationary(VectorKernel):
    """A kernel of the difference ``x - y`` with a bandwidth ``gamma`` that multiplies the distance.

    References
    ----------
    ``gamma="median"``: Gretton et al. (2012), section 8; ``gamma="scale"``: scikit-learn's support vector machines.
    """

    gamma: float | str

    @property
    def rotation_invariant(self) -> bool:
        """Whether the kernel reads Euclidean distances only."""
        return True

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """Turn ``"median"``, ``"scale"`` and ``"1/d"`` into a number.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        weights : Tensor of shape (n,), optional

        Returns
        -------
        Stationary
            The same kernel with a number for ``gamma``.

        Raises
        ------
        InputError
            If ``gamma`` is neither a positive number nor one of the three names.
        """
        name = f"{type(self).__name__}.gamma"
        gamma = self.gamma
        if isinstance(gamma, str):
            params = {**self.get_params(deep=False), "gamma": self._bandwidth(gamma, X, weights)}
            return type(self)(**params)
        check_number(gamma, name, above=0.0, names=("median", "scale", "1/d"))
        return self

    def _bandwidth(self, rule: str, X: Tensor, weights: Tensor | None) -> float:
        if rule == "1/d":
            return 1.0 / X.shape[1]
        if rule == "scale":
            w = X.new_full((X.shape[0],), 1.0 / X.shape[0]) if weights is None else weights
            centred = X - w @ X
            spread = float((w @ (centred * centred)).mean()) * X.shape[1]
            # The rule is for squared distances; kernels of the plain distance take its root.
            return 1.0 if spread <= 0.0 else spread ** (-0.5 * self._power)
        if rule == "median":
            return median_bandwidth(self._distances(X), weights)
        raise InputError(f"{type(self).__name__}.gamma must be > 0 or one of 'median', 'scale', '1/d'; got {rule!r}")

    _power = 1
    """The distance that ``gamma`` multiplies is ``||x - y||^power``."""

    def _distances(self, X: Tensor) -> Tensor:
        D = squared_distances(X)
        return D if self._power == 2 else D.sqrt_()

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise InputError(f"{type(self).__name__}.gamma is {self.gamma!r}: call resolve(X) first")
        return float(self.gamma)

    @abstractmethod
    def bandwidth_gradient(self, X: Tensor, S: Tensor | Outer, K: Tensor | None = None) -> float:
        """Derivative with respect to ``gamma`` of a function of ``k(X, X)``: ``<S, dK/dgamma>`` with ``S = dJ/dK``.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        S : Tensor of shape (n, n), or Outer
        K : Tensor of shape (n, n), optional
            The Gram matrix at ``X`` if it is at hand.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If ``gamma`` is not resolved.

        Notes
        -----
        In row blocks: O(n^2 d) work and O(n) memory beside ``S``.
        """

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_ones(X.shape[0])

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)


class Radial(Stationary):
    """``k = f(D)`` with ``D`` the squared distance: profile and slope are all that differs between kernels.

    References
    ----------
    Scholkopf and Smola (2002), section 4.4.1.
    """

    @abstractmethod
    def _profile(self, D: Tensor) -> Tensor:
        """``f(D)``; may overwrite ``D``."""

    @abstractmethod
    def _slope(self, D: Tensor) -> Tensor:
        """``f'(D)``, zero at ``D = 0`` where it is infinite; may overwrite ``D``."""

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        D = squared_distances(X, Y)
        for start in range(0, D.shape[0], ROWS):
            D[start : start + ROWS] = self._profile(D[start : start + ROWS])
        return D

    @staticmethod
    def _sweep(A: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Squared distances between centred rows, block of rows by block, with an exact zero diagonal."""
        norms = (A * A).sum(1)
        for start in range(0, A.shape[0], ROWS):
            stop = min(start + ROWS, A.shape[0])
            D = torch.addmm(norms[None, :], A[start:stop], A.mT, alpha=-2.0)
            D.add_(norms[start:stop, None]).clamp_min_(0.0)
            D[torch.arange(stop - start), torch.arange(start, stop)] = 0.0
            yield slice(start, stop), D

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        A = X - X.mean(dim=0)
        G = torch.empty_like(A)
        for rows, D in self._sweep(A):
            M = self._slope(D).mul_(symmetric_rows(S, rows.start, rows.stop))
            G[rows] = 2.0 * (M.sum(1, keepdim=True) * A[rows] - M @ A)
        return G

    def bandwidth_gradient(self, X: Tensor, S: Tensor | Outer, K: Tensor | None = None) -> float:
        """See :meth:`Stationary.bandwidth_gradient`."""
        total = 0.0
        for rows, D in self._sweep(X - X.mean(dim=0)):
            M = D * self._slope(D.clone())  # k = F(gamma^(2 / power) D), so dk/dgamma = 2 D f'(D) / (power gamma)
            total += float(M.mul_(symmetric_rows(S, rows.start, rows.stop)).sum())
        return total / (self._power * self._gamma)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        M = self._slope(squared_distances(X, Y)) * S
        center = Y.mean(dim=0)
        return 2.0 * (M.sum(1, keepdim=True) * (X - center) - M @ (Y - center))


class Gaussian(Radial):
    """Gaussian kernel ``k(x, y) = exp(-gamma ||x - y||^2)``, ``gamma = 1 / (2 sigma^2)``.

    Parameters
    ----------
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Inverse squared length. ``"median"``: one over the median squared distance of all ordered pairs (weighted by
        the sample weights if there are any); ``"scale"``: one over ``d`` times the mean variance of a column;
        ``"1/d"``: one over the number of columns.

    Raises
    ------
    InputError
        At the first use, if ``gamma`` is not positive and finite.

    Notes
    -----
    One matrix product of augmented factors and one ``exp2`` in place: O(n m d). Its pull-back costs the same again.

    References
    ----------
    Tonin et al. (2021), section 2; Laforgue et al. (2019), section 5.

    Examples
    --------
    >>> from rkhs.kernels import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    _power = 2

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        c = self._gamma * LOG2E
        center = (X if Y is None else Y).mean(dim=0)
        A = X - center
        B = A if Y is None else Y - center
        a = (A * A).sum(1, keepdim=True).mul_(-c)
        b = a if Y is None else (B * B).sum(1, keepdim=True).mul_(-c)
        ones_a, ones_b = torch.ones_like(a), torch.ones_like(b)
        left, right = torch.cat([A * (2.0 * c), a, ones_a], 1), torch.cat([B, ones_b, b], 1).mT
        K = new_matrix(A.shape[0], B.shape[0], A)
        # A product of a few rows makes the exponent 2c x.y - c|x|^2 - c|y|^2; the kernel follows while they are cached,
        # and within one set of points only right of the diagonal: the rest is a mirror image.
        for start in range(0, A.shape[0], ROWS):
            stop = min(start + ROWS, A.shape[0])
            first = start if Y is None else 0
            part = torch.mm(left[start:stop], right[:, first:]).clamp_max_(0.0).exp2_()
            K[start:stop, first:] = part
            if Y is None:
                K[stop:, start:stop] = part[:, stop - start :].mT
        if Y is None:
            K.fill_diagonal_(1.0)
        return K

    def _profile(self, D: Tensor) -> Tensor:
        return D.mul_(-self._gamma * LOG2E).exp2_()

    def _slope(self, D: Tensor) -> Tensor:
        return self._profile(D).mul_(-self._gamma)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if K is None:
            return super()._pullback(X, S, None)
        A = X - X.mean(dim=0)
        G = torch.empty_like(A)
        for start in range(0, A.shape[0], ROWS):
            stop = min(start + ROWS, A.shape[0])
            M = symmetric_rows(S, start, stop).mul_(K[start:stop])
            G[start:stop] = (M.sum(1, keepdim=True) * A[start:stop]).sub_(M @ A)
        return G.mul_(-2.0 * self._gamma)


class Matern(Radial):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2.

    With ``a = sqrt(2 nu) gamma ||x - y||``: ``exp(-a)``, ``(1 + a) exp(-a)`` or ``(1 + a + a^2 / 3) exp(-a)``.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        One over the length scale; multiplies the distance. See :class:`Gaussian`, with the distance in place of its
        square.

    Raises
    ------
    InputError
        At the first use, if ``nu`` is another number or ``gamma`` is not positive and finite.

    References
    ----------
    Rasmussen and Williams (2006), equation 4.14.

    Examples
    --------
    >>> from rkhs.kernels import Matern
    >>> float(Matern(nu=0.5, gamma=1.0)([[0.0]], [[1.0]])[0, 0])
    0.36787944117144233
    """

    def __init__(self, nu: float = 1.5, gamma: float | str = "median") -> None:
        self.nu = nu
        self.gamma = gamma

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """As :meth:`Stationary.resolve`, and checks ``nu``."""
        if self.nu not in (0.5, 1.5, 2.5):
            raise InputError(f"Matern.nu must be 0.5, 1.5 or 2.5; got {self.nu!r}")
        return super().resolve(X, weights)

    def _profile(self, D: Tensor) -> Tensor:
        a = D.mul_(2.0 * self.nu * self._gamma**2).sqrt_()
        E = (a * -LOG2E).exp2_()
        if self.nu == 0.5:
            return E
        if self.nu == 1.5:
            return a.add_(1.0).mul_(E)
        return (a * a).div_(3.0).add_(a).add_(1.0).mul_(E)

    def _slope(self, D: Tensor) -> Tensor:
        g2 = self._gamma**2
        a = D.mul_(2.0 * self.nu * g2).sqrt_()
        E = (a * -LOG2E).exp2_()
        if self.nu == 0.5:
            return torch.where(a > 0.0, E.mul_(-0.5 * g2) / a, torch.zeros_like(a))
        if self.nu == 1.5:
            return E.mul_(-1.5 * g2)
        return a.add_(1.0).mul_(E).mul_(-5.0 / 6.0 * g2)
