"""What a loss is: a convex function of a residual vector, in closed forms, row by row."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from rkhs._core.config import Configurable

__all__ = ["Loss", "Squared"]


class Loss(Configurable):
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


class Squared(Loss):
    """Squared loss ``f(r) = 1/2 ||r||^2``.

    References
    ----------
    Laforgue et al. (2020), table 1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> Squared().value(torch.tensor([[3.0, 4.0]]))
    tensor([12.5000])
    """

    def value(self, R: Tensor) -> Tensor:
        """``1/2 ||r_i||^2``, shape (n,)."""
        return 0.5 * (R * R).sum(-1)

    def gradient(self, R: Tensor) -> Tensor:
        """``r_i``, shape (n, q)."""
        return R

    def conjugate(self, A: Tensor) -> Tensor:
        """``1/2 ||a_i||^2``, shape (n,)."""
        return 0.5 * (A * A).sum(-1)

    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        """``a_i / (1 + step)``, shape (n, q)."""
        return torch.div(A, 1.0 + step)
