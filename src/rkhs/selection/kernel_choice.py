"""Choose a kernel by the leave-one-out error of a ridge regression on known classes or numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rkhs._core.arrays import as_numpy, check_items
from rkhs._core.checks import naming
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs._core.linalg import center_gram
from rkhs._core.threads import within_limit
from rkhs.kernels import Kernel, as_kernel
from rkhs.selection.ridge import ridge_path
from rkhs.spaces import training_gram

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPositiveSemidefiniteWarning)  # the fit warns
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
        known = sorted(set(array.tolist()), key=str)
        array = array[:, None] == np.array(known, dtype=array.dtype)
    numbers = array.reshape(len(array), -1).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("y must be finite; got NaN or infinity. Leave out items whose target is not known")
    return torch.from_numpy(numbers - numbers.mean(0))
