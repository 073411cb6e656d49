"""Refined codes: the best code of one more item, with the decoder and the training codes as they are.

Changing the encoder at ``x`` alone, training codes fixed, costs ``||z - f(x)||^2 / s^2(x)`` in its norm, with the power
function ``s^2(x) = k(x, x) - k(x, X) K^(-1) k(X, x)``. So the objective of the autoencoder with ``x`` added is

    (1/(2 n)) ||t(x) - g(z)||^2 + reg_1 / (2 s^2(x)) ||z - f(x)||^2,   z = f(x) + (s(x) / sqrt(reg_1)) u,

one problem an item. At a training item ``s = 0`` and the code stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rkhs.kernels.base import Kernel
from rkhs.problems.semiparametric import linear_system

__all__ = ["CodeRefinement"]

_ENTRIES = 4_000_000  # of the Jacobians of a block of rows


@dataclass(frozen=True)
class CodeRefinement:
    """Codes of new items given what they are, all rows at once, in the steps ``u``.

    Parameters
    ----------
    kernel : Kernel
        Of the decoder, differentiable and resolved.
    supports : Tensor of shape (n, p)
        Training codes.
    coefficients : Tensor of shape (n, r)
        Of the decoder: it says ``k(z, supports) coefficients``.
    goal : Tensor of shape (m, r)
        Coordinates of the items.
    start : Tensor of shape (m, p)
        Codes ``f(x)`` of the encoder.
    radius : Tensor of shape (m,)
        ``s(x) / sqrt(reg_1)``.
    n : float
        Number of training items, or the sum of their weights.
    linear : Tensor of shape (p + 1, r), optional
        Linear part of the decoder, which then says ``k(z, supports) coefficients + [z, 1] linear``.

    Raises
    ------
    InputError
        If the kernel has no gradient.

    References
    ----------
    Our own; the power function is that of Wendland (2005), section 11.1. ``docs/design.md``, refined codes.
    """

    kernel: Kernel
    supports: Tensor
    coefficients: Tensor
    goal: Tensor
    start: Tensor
    radius: Tensor
    n: float
    linear: Tensor | None = None

    def codes(self, U: Tensor) -> Tensor:
        """Codes at the steps ``U``, shape (m, p)."""
        return self.start + self.radius[:, None] * U

    def rows(self, index: Tensor) -> CodeRefinement:
        """The problems of some rows."""
        return replace(self, goal=self.goal[index], start=self.start[index], radius=self.radius[index])

    def _decoded(self, codes: Tensor) -> Tensor:
        said = self.kernel._gram(codes, self.supports) @ self.coefficients
        return said if self.linear is None else said.add_(self.linear[-1]).addmm_(codes, self.linear[:-1])

    def _residuals(self, U: Tensor) -> Tensor:
        return self.goal - self._decoded(self.codes(U))

    def values(self, U: Tensor) -> Tensor:
        """Objective of each row, shape (m,)."""
        R = self._residuals(U)
        return (R * R).sum(1) / (2.0 * self.n) + 0.5 * (U * U).sum(1)

    def values_and_grads(self, U: Tensor) -> tuple[Tensor, Tensor]:
        """Objective and gradient of each row, shapes (m,) and (m, p). O(m n (p + r))."""
        R = self._residuals(U)
        pulled = self.kernel.cross_pullback(
            self.codes(U), self.supports, (R @ self.coefficients.mT).mul_(-1.0 / self.n)
        )
        if self.linear is not None:
            pulled = torch.addmm(pulled, R, self.linear[:-1].mT, alpha=-1.0 / self.n)
        return (R * R).sum(1) / (2.0 * self.n) + 0.5 * (U * U).sum(1), self.radius[:, None] * pulled + U

    def state(self, U: Tensor) -> tuple[Tensor, Tensor, None]:
        """Objective and gradient of each row; the step is apart, for it costs more than both."""
        return *self.values_and_grads(U), None

    def fixed_point(self, U: Tensor) -> Tensor | None:
        """Gauss-Newton step of each row: O(m n p r + m p^2 r)."""
        rows = max(1, _ENTRIES // max(1, self.goal.shape[1] * U.shape[1]))
        parts = torch.arange(len(U), device=U.device).split(rows)
        return torch.cat([self.rows(part)._newton(U[part]) for part in parts])

    def _newton(self, U: Tensor) -> Tensor:
        J = self.kernel._jacobian(self.codes(U), self.supports, self.coefficients)
        if self.linear is not None:
            J.add_(self.linear[:-1])
        J.mul_(self.radius[:, None, None] / self.n**0.5)
        H = J @ J.mT
        H.diagonal(dim1=1, dim2=2).add_(1.0)
        return U - torch.linalg.solve(H, self.values_and_grads(U)[1])


def power_function(
    triangle: Tensor, cross: Tensor, diag: Tensor, linear: Tensor | None = None, mixed: Tensor | None = None
) -> Tensor:
    """``s^2(x)``, the squared distance of ``phi(x)`` from the span of the training features.

    With a linear part it is that of ``(q(x), phi(x))`` from the span of those of the training items: with
    ``M = F^-1 Q`` and ``e = q(x) - M^T F^-1 phi(x)``, the one of the kernel plus ``e^T (I + M^T M)^-1 e``.

    Parameters
    ----------
    triangle : Tensor of shape (r, r)
        Lower Cholesky factor of the Gram matrix of the items that span the training features.
    cross : Tensor of shape (m, r)
        Kernel values with these items.
    diag : Tensor of shape (m,)
        ``k(x, x)``.
    linear : Tensor of shape (m, k), optional
        Linear coordinates ``q(x)``, in units of their price.
    mixed : Tensor of shape (r, k), optional
        ``M``.

    Returns
    -------
    Tensor of shape (m,)
        Not negative.
    """
    F = torch.linalg.solve_triangular(triangle, cross.mT, upper=False)
    power = (diag - (F * F).sum(0)).clamp_min(0.0)
    if linear is None or mixed is None:
        return power
    E = linear.mT - mixed.mT @ F
    return power + (E * torch.linalg.solve(linear_system(mixed), E)).sum(0)
