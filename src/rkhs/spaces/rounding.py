"""Whether the values of a kernel tell the items apart, or rounding does; how many digits rounding leaves to results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError, RoundingWarning, warn
from rkhs.kernels.base import Kernel, not_finite
from rkhs.spaces.features.base import thinned

__all__ = ["check_digits", "check_row_digits", "refuse_identical", "warn_of_rounding"]

_FEW = 1e-6  # share of a result that rounding may be without a word, in double precision
_NONE = 1e-2  # share of what tells items apart above which nothing is left to work with
_ROWS = 256
_CENTER = "Subtract the mean of every column first, or choose another bandwidth or scale of the kernel"
_ADVICE = {
    "vectors": _CENTER,
    "gram": "Subtract a constant from all entries first, or center the matrix",
    "objects": "Choose another bandwidth or scale of the kernel",
}


def check_digits(kernel: Kernel, K: Tensor, items: Any, *, squared: bool = False) -> None:
    """Refuse kernel values whose differences are rounding.

    With ``s = mean_i k(x_i, x_i) - mean_ij k(x_i, x_j)``, the variance of the features, rounding takes a share of about
    ``eps / r`` with ``r = s / mean_i k(x_i, x_i)``; of moments of features ``eps / r^2``. Kernels of the inner product
    lose that much on data far from the origin.
    """
    eps, size = float(torch.finfo(K.dtype).eps), float(K.diagonal().mean())
    spread = size - float(K.mean())
    if len(K) < 2 or size <= 0.0:
        return
    ratio = max(spread / size, eps)
    lost = eps / (ratio * ratio if squared else ratio)
    if lost < (max(_FEW, 1e3 * eps) if squared else _NONE) or _all_same(kernel, K, items):
        return
    whose = "X (kernel='precomputed')" if kernel.domain == "gram" else f"the kernel {kernel!r}"
    said = f"the values of {whose} on different items differ by a share of {ratio:.0e} only"
    wider = "" if K.dtype == torch.float64 else ", or use dtype='float64'"
    advice = f"{_ADVICE[kernel.domain]}{wider}"
    if lost >= _NONE:
        raise InputError(f"{said}, which rounding hides{' in moments of features' if squared else ''}. {advice}")
    warn(f"{said}: moments of features keep some {-math.log10(lost):.0f} digits. {advice}", RoundingWarning)


def warn_of_rounding(
    name: str, dtype: torch.dtype, largest: float, coefs: Tensor | np.ndarray, results: Tensor | float
) -> None:
    """Warn where results ``k(x, X) B`` are small beside the rounding of their terms; refuse where they are below it."""
    if 0 in coefs.shape:
        return
    size = results if isinstance(results, float) else float((results - results.mean(0)).square().mean(0).max()) ** 0.5
    eps = float(torch.finfo(dtype).eps)
    norm = float(torch.as_tensor(coefs).norm(dim=0).max())
    lost = eps * largest * norm
    if size <= 0.0 or lost <= max(_FEW, 1e3 * eps) * size:
        return
    said = (
        f"results of size {size:.1e} are sums of terms as large as {largest * norm:.1e}, so that rounding leaves them"
    )
    if lost >= size and isinstance(results, float):
        raise InputError(f"{said} no digit. {_CENTER}")
    digits = max(0.0, -math.log10(lost / size))
    warn(f"{name}: {said} some {digits:.0f} digits. {_CENTER}", RoundingWarning)


def check_row_digits(kernel: Kernel, items: Any, *, squared: bool = False) -> None:
    """The same on a part of the rows, where no Gram matrix of all is formed; kernels on vectors only."""
    if kernel.domain == "vectors":
        part = thinned(items, _ROWS)
        K = kernel._gram(part)
        if not bool(torch.isfinite(K).all()):
            raise not_finite(kernel, K, whole=False)
        check_digits(kernel, K, part, squared=squared)


def refuse_identical(values: Tensor, *, factored: bool) -> None:
    """Raise if the kernel tells no item from the first."""
    if factored:
        spread = float(((values - values[0]) ** 2).sum(1).max())
        largest = float((values * values).sum(1).max())
    else:
        d = values.diagonal()
        spread, largest = float((d + d[0] - 2.0 * values[0]).max()), float(d.abs().max())
    if spread <= max(1e-12, 10.0 * torch.finfo(values.dtype).eps) * largest:
        raise InputError("X must hold at least two different items: all are the same to the kernel")


def _all_same(kernel: Kernel, K: Tensor, items: Any) -> bool:
    if isinstance(items, Tensor) and kernel.domain == "vectors":
        return bool((items == items[0]).all())
    return bool(torch.equal(K, K[0, 0].expand_as(K)))
