"""Base class of losses: convex functions of a residual vector, in closed form, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from rkhs._core.config import Configurable
from rkhs._core.errors import InputError


class Loss(Configurable, ABC):
    """A convex loss ``f`` of the residual ``r = h(x) - y``, applied to the rows of a matrix.

    A subclass gives four closed forms; contract tests check each by its definition.

    References
    ----------
    Laforgue et al. (2020), section 3.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import as_loss
    >>> loss = as_loss("squared")
    >>> R = torch.tensor([[3.0, 4.0]])
    >>> loss.value(R), loss.gradient(R), loss.conjugate(R)
    (tensor([12.5000]), tensor([[3., 4.]]), tensor([12.5000]))
    """

    isotropic: bool = False
    """Whether ``f(r Q) = f(r)`` for every rotation ``Q``, of the targets of :meth:`bind` too: a function of norms.

    Such a loss may be computed in any orthonormal coordinates of the outputs. Others are computed in the columns that
    the user gave, which is slower with an operator.
    """

    of_targets: bool = False
    """Whether ``f`` depends on the targets too, which :meth:`bind` passes to it."""

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

    def check_isotropic(self) -> None:
        """Refuse a loss that is not a function of the norm: coordinates of such outputs are arbitrary."""
        if not self.isotropic:
            raise InputError(
                f"loss must be a function of the norm for outputs that are curves or known through a kernel; {self!r} "
                "says that it is not (isotropic is False). Use Huber(1.0), or let isotropic be True if it is one"
            )

    @property
    def majorized(self) -> bool:
        """Whether the loss has a quadratic majorizer."""
        return False

    def majorizer(self, R: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        """Weights ``w_i`` and centres ``u_i`` of squared losses that majorise the loss, with equality at ``R``.

        ``f(r) <= f(r_i) + w_i / 2 (||r - u_i||^2 - ||r_i - u_i||^2)``, shapes (n,) and (n, q). ``residual`` of
        shape (n,) are squared norms of parts of the residuals that are not in ``R`` and do not change.
        """
        raise InputError(f"loss must have a quadratic majorizer; {self!r} has none. Use Huber(1.0)")

    def bind(self, Y: Tensor) -> Loss:
        """Return the loss for targets ``Y`` of shape (n, q); ``self`` unless the loss depends on them."""
        return self
