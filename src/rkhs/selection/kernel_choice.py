"""Kernel ridge regression for many regularisers at once, and the choice of a kernel by its leave-one-out errors.

With ``W = K + reg diag(1/w)`` and ``Phi = W^-1 T`` the residual of a row under the fit without it is
``phi_i / (W^-1)_ii``. In the eigenbasis of ``diag(w)^1/2 K diag(w)^1/2`` every regulariser costs ``O(n^2)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items
from rkhs._core.checks import check_choice, check_numbers, naming
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning, unwarned
from rkhs._core.linalg import center_gram
from rkhs._core.threads import within_limit
from rkhs.kernels import Kernel, as_kernel
from rkhs.spaces import training_gram


@dataclass(frozen=True)
class RidgePath:
    """Errors along a path of regularisers.

    Parameters
    ----------
    regs : ndarray of shape (k,)
    leave_one_out : ndarray of shape (k,)
        ``sum_i w_i ||phi_i / (W^-1)_ii||^2``, exact.
    gcv : ndarray of shape (k,)
        Generalised cross-validation: mean squared residual over ``(1 - dof / n)^2``.
    degrees_of_freedom : ndarray of shape (k,)
        Trace of ``K W^-1``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.selection import ridge_path
    >>> x = torch.linspace(0.0, 1.0, 20, dtype=torch.float64)[:, None]
    >>> path = ridge_path(Gaussian(10.0)(x), torch.sin(6.0 * x), [1e-6, 1e-3, 1.0])
    >>> path.best(), path.degrees_of_freedom.round(1)
    (1e-06, array([10.1,  6.4,  0.8]))
    """

    regs: np.ndarray
    leave_one_out: np.ndarray
    gcv: np.ndarray
    degrees_of_freedom: np.ndarray

    def best(self, criterion: str = "leave_one_out") -> float:
        """The regulariser of least error, by ``"leave_one_out"`` or ``"gcv"``."""
        check_choice(criterion, "criterion", ("leave_one_out", "gcv"))
        return float(self.regs[int(np.argmin(getattr(self, criterion)))])


@within_limit
def ridge_path(K: Tensor, T: Tensor, regs: Sequence[float], weights: Tensor | None = None) -> RidgePath:
    """Leave-one-out and generalised cross-validation errors of kernel ridge regression for many regularisers.

    Minimises ``sum_i w_i 1/2 ||t_i - (K Phi)_i||^2 + reg / 2 <K, Phi Phi^T>`` for each; one eigendecomposition serves
    all: ``O(n^3 + k n^2 r)`` in place of ``O(k n^4)``.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Gram matrix.
    T : Tensor of shape (n, r)
        Targets. If they were centred, their mean counts as known: it is not re-estimated without each row.
    regs : sequence of float
        Positive.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; default ``1/n``.

    Returns
    -------
    RidgePath

    Raises
    ------
    InputError
        For no or non-positive regularisers.

    References
    ----------
    Golub, Heath and Wahba (1979), equation 1.4; Wahba (1990), equation 4.2.2; Rifkin and Lippert (2007), Notes on
    regularized least squares, section 3.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.selection import ridge_path
    >>> x = torch.linspace(0.0, 3.0, 30, dtype=torch.float64)[:, None]
    >>> path = ridge_path(Gaussian(1.0)._gram(x), torch.sin(x), [1e-8, 1e-4, 1.0])
    >>> path.best()
    1e-08
    """
    values = np.array(check_numbers(regs, "regs", above=0.0))
    n = len(K)
    w = K.new_full((n,), 1.0 / n) if weights is None else weights
    root = w.sqrt()
    s, U = torch.linalg.eigh(root[:, None] * K * root[None, :])
    s = s.clamp_min(0.0)
    Y = U.mT @ (root[:, None] * T)
    squares = U * U
    loo, gcv, freedom = [], [], []
    for reg in values:
        # W^-1 = diag(w)^1/2 U (s + reg)^-1 U^T diag(w)^1/2
        solved = U @ (Y / (s + reg)[:, None])
        diagonal = squares @ (1.0 / (s + reg))
        # phi_i / (W^-1)_ii = (root_i solved_i) / (w_i diagonal_i); weighted by w_i the squares lose their weights.
        loo.append(float(((solved / diagonal[:, None]) ** 2).sum()))
        dof = float((s / (s + reg)).sum())
        gcv.append(float((solved**2).sum()) * reg**2 / max(1.0 - dof / n, 1e-12) ** 2)
        freedom.append(dof)
    return RidgePath(values, np.array(loo), np.array(gcv), np.array(freedom))


_INTERCEPT_VARIANCE = 100.0  # in units of the mean diagonal of the centred Gram matrix
_REGS = tuple(10.0**k for k in np.arange(-6.0, 0.5, 0.5))


@dataclass(frozen=True)
class KernelChoice:
    """The kernel of least leave-one-out error, and the errors of all.

    Parameters
    ----------
    kernel : Kernel
        The chosen one, as it was given: not resolved.
    kernels : tuple of Kernel
        All that were compared.
    errors : tuple of float
        Leave-one-out error of each, as a share of the variance of the targets; 1.0: no better than their mean.

    Examples
    --------
    >>> from rkhs.selection import choose_kernel
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]
    >>> found = choose_kernel(X, [0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0], ["linear", "gaussian"])
    >>> found.kernel, len(found.errors)
    (Gaussian(), 2)
    """

    kernel: Kernel
    kernels: tuple[Kernel, ...]
    errors: tuple[float, ...]


@within_limit
def choose_kernel(items: Any, y: Any, kernels: Sequence[Any]) -> KernelChoice:
    """Choose among kernels by the leave-one-out error of a ridge regression of classes or numbers on the items.

    The error of a kernel is that of its best regulariser, ``min_reg 1/n sum_i ||t_i - f_reg^(-i)(x_i)||^2``, where
    ``t_i`` is the indicator of the class of item i or its numbers. Errors of reconstructions are not compared: each
    kernel measures them in its own space.

    Parameters
    ----------
    items : array (n, d) or sequence of n objects
    y : array of shape (n,) or (n, q)
        Classes (integers, texts or booleans) or numbers (floats).
    kernels : sequence of Kernel or str
        Kernels that read the items, such as those of :func:`rkhs.kernels.kernels_for`.

    Returns
    -------
    KernelChoice

    Raises
    ------
    InputError
        For an empty list of kernels, constant targets or too few of them, and items that a kernel does not read.

    Notes
    -----
    One Gram matrix and one eigendecomposition per kernel, O(n^3). Indefinite kernels lose their negative eigenvalues.

    References
    ----------
    Rifkin and Lippert (2007), Notes on regularized least squares, section 3.

    Examples
    --------
    >>> from rkhs.selection import choose_kernel
    >>> X = [[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]]
    >>> choose_kernel(X, ["a", "b", "a", "b", "a", "b"], ["linear", "gaussian"]).kernel
    Linear()
    """
    compared = tuple(as_kernel(kernel) for kernel in check_items(kernels, "kernels"))
    items = items.detach() if isinstance(items, torch.Tensor) else items
    T = _targets(y)
    variance = float((T**2).sum(1).mean())
    if not variance > 0.0:
        raise InputError("y must have at least two different classes or numbers; all are the same")
    errors = []
    for kernel in compared:
        with naming("items"):
            read = kernel.read(items)
            read = read.double() if isinstance(read, torch.Tensor) else read
        if len(read) != len(T):
            raise InputError(f"y must have one row per item, {len(read)}; got {len(T)}")
        with unwarned(NotPositiveSemidefiniteWarning):  # the fit warns
            K = training_gram(kernel.resolve(read), read, {"dtype": torch.float64, "device": "cpu"})
        C = center_gram(K)
        scale = float(C.diagonal().mean())
        # The added constant is a nearly free intercept: without it the mean would count as known of each item left out.
        path = ridge_path((C / scale if scale > 0.0 else C) + _INTERCEPT_VARIANCE, T, _REGS)
        errors.append(float(path.leave_one_out.min()) / variance)
    return KernelChoice(compared[int(np.argmin(errors))], compared, tuple(errors))


def _targets(y: Any) -> torch.Tensor:
    """Centred indicators of classes, or centred numbers, shape (n, q)."""
    try:
        array = np.asarray(as_numpy(y, "y"))
    except ValueError as error:  # numpy's, of rows of different lengths
        if isinstance(error, InputError):
            raise
        raise InputError(
            "y must have one class or one row of numbers per item; got rows of different lengths"
        ) from error
    if array.ndim not in (1, 2) or len(array) < 2:
        raise InputError(f"y must have one class or one row of numbers per item; got shape {array.shape}")
    if array.dtype.kind != "f":
        if array.ndim == 2 or array.dtype.kind not in "biuUSO":
            raise InputError(f"y must be classes of shape (n,) or floats; got shape {array.shape}, {array.dtype}")
        array = array[:, None] == np.array(sorted(set(array.tolist()), key=str), dtype=array.dtype)
    numbers = array.reshape(len(array), -1).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("y must be finite; got NaN or infinity. Leave out items whose target is not known")
    return torch.from_numpy(numbers - numbers.mean(0))
