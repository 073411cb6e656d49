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

__all__ = ["CodeRefinement"]


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

    def codes(self, U: Tensor) -> Tensor:
        """Codes at the steps ``U``, shape (m, p)."""
        return self.start + self.radius[:, None] * U

    def rows(self, index: Tensor) -> CodeRefinement:
        """The problems of some rows."""
        return replace(self, goal=self.goal[index], start=self.start[index], radius=self.radius[index])

    def _residuals(self, U: Tensor) -> Tensor:
        return self.goal - self.kernel._gram(self.codes(U), self.supports) @ self.coefficients

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
        return (R * R).sum(1) / (2.0 * self.n) + 0.5 * (U * U).sum(1), self.radius[:, None] * pulled + U

    def fixed_point(self, U: Tensor) -> Tensor | None:
        """There is none: the solver descends along gradients."""
        return None


def power_function(triangle: Tensor, cross: Tensor, diag: Tensor) -> Tensor:
    """``s^2(x)``, the squared distance of ``phi(x)`` from the span of the training features.

    Parameters
    ----------
    triangle : Tensor of shape (r, r)
        Lower Cholesky factor of the Gram matrix of the items that span the training features.
    cross : Tensor of shape (m, r)
        Kernel values with these items.
    diag : Tensor of shape (m,)
        ``k(x, x)``.

    Returns
    -------
    Tensor of shape (m,)
        Not negative.
    """
    F = torch.linalg.solve_triangular(triangle, cross.mT, upper=False)
    return (diag - (F * F).sum(0)).clamp_min(0.0)
