"""A kernel on scaled columns: automatic relevance determination (ARD) if the scales are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import naming, real_array
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel, Mapped
from rkhs.kernels.vectors.dot_product import Linear


class ScaledInputs(Mapped):
    """A kernel on scaled columns, ``k(x, y) = base(s (x - offset), s (y - offset))`` with ``s_j > 0`` per column.

    ``1 / s_j`` is the length over which column j matters.

    Parameters
    ----------
    base : Kernel
        On vectors.
    scales : sequence of float of length d, or "mean_norm"
        Positive; ``"mean_norm"``: the same for all columns, so that the mean of ``||s (x - offset)||^2`` on the
        training points is one.
    offset : array of shape (d,), "mean" or None, default=None
        Origin; ``"mean"``: the mean of the training points; None: zero.

    References
    ----------
    Rasmussen and Williams (2006), section 5.1.

    Examples
    --------
    >>> from rkhs.kernels import Linear, ScaledInputs
    >>> ScaledInputs(Linear(), (1.0, 0.5))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    def __init__(self, base: Kernel, scales: Any, offset: Any = None) -> None:
        self.base = base
        self.scales = scales
        self.offset = offset

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Turn ``"mean_norm"`` and ``"mean"`` into numbers, and resolve the base kernel on the scaled columns."""
        (base,) = self.parts
        named = isinstance(self.scales, str) and self.scales == "mean_norm"
        if isinstance(self.offset, str) and self.offset != "mean":
            raise InputError(f"ScaledInputs.offset must be None, 'mean' or an array of shape (d,); got {self.offset!r}")
        with naming("ScaledInputs"):
            unit = Linear("mean_norm" if named else 1.0, self.offset).resolve(X, weights)
        scales = np.full(X.shape[1], float(unit.scale) ** 0.5) if named else self.scales
        resolved = base.resolve(ScaledInputs(base, scales, unit.offset)._mapped(X), weights)
        if resolved is base and not named and unit.offset is self.offset:
            return self
        return ScaledInputs(resolved, scales, unit.offset)

    def _mapped(self, X: Tensor) -> Tensor:
        return Linear._shift(X, self.offset, "ScaledInputs.offset") * self._factors(X)

    def _factors(self, X: Tensor) -> Tensor:
        if isinstance(self.scales, str) and self.scales == "mean_norm":
            raise InputError("ScaledInputs.scales is 'mean_norm': call resolve(X) first")
        s = real_array(self.scales, "ScaledInputs.scales")
        if s.shape != (X.shape[1],) or not np.isfinite(s).all() or (s <= 0.0).any():
            raise InputError(
                f"ScaledInputs.scales must be {X.shape[1]} positive numbers, one per column, or 'mean_norm'; "
                f"got {self.scales!r}"
            )
        return tensor_like(s, X)

    def _back(self, G: Tensor, X: Tensor) -> Tensor:
        return G * self._factors(X)
