"""What a loss is: a convex function of a residual vector, in closed forms, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from rkhs._core.config import Configurable

__all__ = ["Loss"]


class Loss(Configurable, ABC):
    """A convex loss ``f`` of the residual ``r = h(x) - y``, applied to the rows of a matrix.

    A subclass gives four closed forms; contract tests check each by its definition.

    References
    ----------
    Laforgue et al. (2020), section 3.
    """

    @abstractmethod
    def value(self, R: Tensor) -> Tensor:
        """``f(r_i)`` of each row, shape (n,)."""

    @abstractmethod
    def gradient(self, R: Tensor) -> Tensor:
        """A (sub)gradient of ``f`` at each row, shape (n, q)."""

    @abstractmethod
    def conjugate(self, A: Tensor) -> Tensor:
        """``f*(a_i) = sup_r <a_i, r> - f(r)`` of each row, shape (n,); infinite outside the domain."""

    @abstractmethod
    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        """``argmin_u step f*(u) + 1/2 ||u - a_i||^2`` of each row, shape (n, q)."""

    @property
    def automatic(self) -> bool:
        """Whether a parameter is ``"auto"``: an estimator asks :meth:`resolve` for a number in fit."""
        return False

    def resolve(self, size: float) -> Loss:
        """Return the loss with numbers for parameters that are ``"auto"``; ``self`` if none is.

        ``size`` is the norm of a typical residual, larger than zero.
        """
        return self

    def bind(self, Y: Tensor) -> Loss:
        """Return the loss for targets ``Y`` of shape (n, q); ``self`` unless the loss depends on them."""
        return self
