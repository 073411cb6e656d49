"""Checks of rounding: whether kernel values distinguish the items, and how many digits of results are correct."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_tensor
from rkhs._core.errors import InputError, RoundingWarning, warn
from rkhs.engines import Rows
from rkhs.kernels.base import Kernel, not_finite
from rkhs.spaces.features.base import subsampled

_NO_WARNING = 1e-6  # relative rounding error without a warning, in double precision
_REFUSED = 1e-2  # relative rounding error from which items are not distinguishable
_CHECKED = 256
_PART = 4096  # rows of a stream that are read together
_CENTER = "Subtract the mean of every column first, or choose another bandwidth or scale of the kernel"
_ADVICE = {
    "vectors": _CENTER,
    "gram": "Subtract a constant from all entries first, or center the matrix",
    "objects": "Choose another bandwidth or scale of the kernel",
}


def check_digits(kernel: Kernel, K: Tensor, items: Any, *, squared: bool = False) -> None:
    """Refuse kernel values whose differences are rounding errors."""
    # With ``s = mean_i k(x_i, x_i) - mean_ij k(x_i, x_j)``, the variance of the features, rounding takes a share of
    # about ``eps / r`` with ``r = s / mean_i k(x_i, x_i)``; of moments of features ``eps / r^2``.
    eps, size = float(torch.finfo(K.dtype).eps), float(K.diagonal().mean())
    spread = size - float(K.mean())
    if len(K) < 2 or size <= 0.0:
        return
    ratio = max(spread / size, eps)
    loss = eps / (ratio * ratio if squared else ratio)
    if loss < (max(_NO_WARNING, 1e3 * eps) if squared else _REFUSED) or _all_same(kernel, K, items):
        return
    whose = "X (kernel='precomputed')" if kernel.domain == "gram" else f"the kernel {kernel!r}"
    message = f"the values of {whose} on different items have relative differences of {ratio:.0e} only"
    wider = "" if K.dtype == torch.float64 else ", or use dtype='float64'"
    advice = f"{_ADVICE[kernel.domain]}{wider}"
    if loss >= _REFUSED:
        raise InputError(f"{message}, which rounding hides{' in moments of features' if squared else ''}. {advice}")
    warn(f"{message}: moments of features have about {-math.log10(loss):.0f} correct digits. {advice}", RoundingWarning)


def warn_of_rounding(
    name: str, dtype: torch.dtype, largest: float, coefs: Tensor | np.ndarray, results: Tensor | float
) -> None:
    """Warn where results ``k(x, X) B`` are close to the rounding error of their terms; refuse if they are below it."""
    if 0 in coefs.shape:
        return
    size = results if isinstance(results, float) else float((results - results.mean(0)).square().mean(0).max()) ** 0.5
    eps = float(torch.finfo(dtype).eps)
    norm = float(as_tensor(coefs).norm(dim=0).max())
    loss = eps * largest * norm
    if size <= 0.0 or loss <= max(_NO_WARNING, 1e3 * eps) * size:
        return
    message = (
        f"results of size {size:.1e} are sums of terms as large as {largest * norm:.1e}, so that rounding leaves them"
    )
    if loss >= size and isinstance(results, float):
        raise InputError(f"{message} no digit. {_CENTER}")
    digits = max(0.0, -math.log10(loss / size))
    warn(f"{name}: {message} some {digits:.0f} digits. {_CENTER}", RoundingWarning)


def check_row_digits(kernel: Kernel, items: Any, *, squared: bool = False) -> None:
    """Check the digits on a sample of the rows, if no Gram matrix of all is formed; kernels on vectors only."""
    if kernel.domain == "vectors":
        part = subsampled(items, _CHECKED)
        K = kernel._gram(part)
        if not bool(torch.isfinite(K).all()):
            raise not_finite(kernel, K, whole=False)
        check_digits(kernel, K, part, squared=squared)


def refuse_identical(values: Tensor, *, factored: bool) -> None:
    """Raise if the kernel distinguishes no item from the first."""
    if factored:
        spread = float(((values - values[0]) ** 2).sum(1).max())
        largest = float((values * values).sum(1).max())
    else:
        d = values.diagonal()
        spread, largest = float((d + d[0] - 2.0 * values[0]).max()), float(d.abs().max())
    if spread <= max(1e-12, 10.0 * torch.finfo(values.dtype).eps) * largest:
        raise InputError("X must hold at least two different items: all are the same to the kernel")


def _all_equal(items: Any, n: int, *, gram: bool) -> bool:
    """Whether items, or the entries of their Gram matrix, are all equal but for rounding."""
    if isinstance(items, Tensor):
        rows = items.reshape(-1, 1) if gram else items
        return _close(rows.amin(0).cpu().numpy(), rows.amax(0).cpu().numpy())
    if isinstance(items, Rows):
        first = items.read(0, 1)
        return all(_close(first, items.read(i, min(n, i + _PART))) for i in range(0, n, _PART))
    return all(_equal_items(items[0], items[i]) for i in range(1, n))


def refuse_equal(items: Any, name: str = "X", *, gram: bool = False) -> None:
    """Raise if items, or the entries of their Gram matrix, are all equal but for rounding: nothing can be learned."""
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    if n > 1 and _all_equal(items, n, gram=gram):
        what = "a Gram matrix that is constant" if gram else f"{n} that are all the same"
        raise InputError(
            f"{name} must hold at least two different items; got {what}, from which nothing can be learned. Check how "
            "the data were read"
        )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays of numbers are equal but for the last digits."""
    eps = float(np.finfo(a.dtype).eps)
    return bool((np.abs(a - b) <= 8.0 * eps * np.maximum(np.abs(a), np.abs(b))).all())


def _equal_items(a: Any, b: Any) -> bool:
    """Whether two objects are equal; arrays of numbers but for rounding."""
    a, b = (one.cpu().numpy() if isinstance(one, Tensor) else one for one in (a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _equal_arrays(a, b)
    if a is b or type(a) is not type(b):
        return a is b
    return _equal_parts(a, b)


def _equal_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays are equal; numbers but for rounding."""
    same = a.shape == b.shape and a.dtype == b.dtype
    return same and (_close(a, b) if a.dtype.kind == "f" else bool((a == b).all()))


def _equal_parts(a: Any, b: Any) -> bool:
    """Whether two objects of one class have equal parts."""
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_equal_items, a, b))
    if hasattr(a, "__dict__"):
        a, b = vars(a), vars(b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(map(_equal_items, a.values(), [b[key] for key in a]))
    return bool(a == b)


def _all_same(kernel: Kernel, K: Tensor, items: Any) -> bool:
    if isinstance(items, Tensor) and kernel.domain == "vectors":
        return bool((items == items[0]).all())
    return bool(torch.equal(K, K[0, 0].expand_as(K)))
