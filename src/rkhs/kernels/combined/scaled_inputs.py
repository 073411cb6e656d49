"""A kernel on columns in units of their own: automatic relevance determination once the units are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import real_array
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels.base import Composite, Kernel

__all__ = ["ScaledInputs"]


class ScaledInputs(Composite):
    """A kernel on scaled columns, ``k(x, y) = base(s x, s y)`` with one positive ``s_j`` a column.

    ``1 / s_j`` is the length over which column j matters; :func:`rkhs.selection.learn_kernel` finds it.

    Parameters
    ----------
    base : Kernel
        On vectors.
    scales : sequence of float of length d
        Positive.

    Raises
    ------
    InputError
        If ``base`` reads something else than vectors, or for scales that are not positive or not one a column.

    References
    ----------
    Rasmussen and Williams (2006), section 5.1.

    Examples
    --------
    >>> from rkhs.kernels import Linear, ScaledInputs
    >>> ScaledInputs(Linear(), (1.0, 0.5))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    def __init__(self, base: Kernel, scales: Any) -> None:
        self.base = base
        self.scales = scales

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The base kernel, checked."""
        if not isinstance(self.base, Kernel) or self.base.domain != "vectors":
            raise InputError(f"ScaledInputs.base must be a kernel on vectors; got {self.base!r}")
        return (self.base,)

    @property
    def rotation_invariant(self) -> bool:
        """No: the columns differ."""
        return False

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Resolve the base kernel on the scaled columns."""
        (base,) = self.parts
        resolved = base.resolve(self._scaled(X), weights)
        return self if resolved is base else ScaledInputs(resolved, self.scales)

    def _scaled(self, X: Tensor) -> Tensor:
        s = real_array(self.scales, "ScaledInputs.scales")
        if s.shape != (X.shape[1],) or not np.isfinite(s).all() or (s <= 0.0).any():
            raise InputError(
                f"ScaledInputs.scales must be {X.shape[1]} positive numbers, one a column; got {self.scales!r}"
            )
        return X * tensor_like(s, X)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return self.base._gram(self._scaled(X), None if Y is None else self._scaled(Y))

    def _diag(self, X: Tensor) -> Tensor:
        return self.base._diag(self._scaled(X))

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        return self._scaled(self.base._pullback(self._scaled(X), S, K))

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self._scaled(self.base._cross_pullback(self._scaled(X), self._scaled(Y), S))

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self._scaled(self.base._diag_pullback(self._scaled(X), s))

    def scales_gradient(self, X: Tensor, S: Tensor | Outer, K: Tensor | None = None) -> Tensor:
        """Derivative with respect to the logarithms of the scales of a function of ``k(X, X)``, ``S = dJ/dK``.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        S : Tensor of shape (n, n), or Outer
        K : Tensor of shape (n, n), optional
            The Gram matrix at ``X`` if it is at hand.

        Returns
        -------
        Tensor of shape (d,)
        """
        return (self.pullback(X, S, K) * X).sum(0)
