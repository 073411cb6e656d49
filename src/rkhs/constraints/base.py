"""Base class of constraints: sets of matrices with a projection and tangent spaces."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from rkhs._core.config import Configurable


class Constraint(Configurable):
    """A set of matrices ``H`` of shape (n, p) with projections and retractions.

    Each solver is written once against these four methods.

    References
    ----------
    Absil, Mahony and Sepulchre (2008), chapters 3 and 4.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Constraint, Stiefel
    >>> isinstance(Stiefel(), Constraint)
    True
    >>> H, G = torch.tensor([[1.0], [0.0]]), torch.tensor([[5.0], [2.0]])
    >>> Stiefel().tangent(H, G)
    tensor([[0.],
            [2.]])
    """

    def check(self) -> None:
        """Refuse parameters out of range.

        Raises
        ------
        InputError
            Naming the parameter.
        """

    @abstractmethod
    def project(self, Y: Tensor) -> Tensor:
        """Nearest point of the set, shape (n, p)."""

    @abstractmethod
    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """Orthogonal projection of ``G`` on the tangent space at ``H``, shape (n, p)."""

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """``H + D`` projected, which agrees with it to first order for tangent ``D``, shape (n, p)."""
        return self.project(torch.add(H, D))

    @abstractmethod
    def violation(self, H: Tensor) -> float:
        """Distance from feasibility, zero on the set."""


class Unconstrained(Constraint):
    """All matrices: no constraint.

    References
    ----------
    Absil, Mahony and Sepulchre (2008), section 3.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Unconstrained
    >>> Unconstrained().violation(torch.ones(2, 2))
    0.0
    """

    def project(self, Y: Tensor) -> Tensor:
        """``Y`` itself, shape (n, p)."""
        return Y

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G`` itself, shape (n, p)."""
        return G

    def violation(self, H: Tensor) -> float:
        """Zero."""
        return 0.0
