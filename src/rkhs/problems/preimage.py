"""The pre-image problem: the vector whose feature is nearest to a combination of features.

r(x) = k(x, x) - 2 sum_j b_j k(x, x_j) + const,   one problem per row of ``b``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.radial import Gaussian


@dataclass(frozen=True)
class Preimage:
    """Pre-images of ``sum_j b_ij phi(x_j)``, all rows at once."""

    kernel: Kernel  # differentiable, resolved
    X: Tensor  # (n, d): the points ``x_j``
    weights: Tensor  # (m, n): one combination per row

    def rows(self, index: Tensor) -> Preimage:
        """The problems of some rows."""
        return replace(self, weights=self.weights[index])

    def table(self, Y: Tensor) -> Tensor:
        """``r`` of every combination at every row of ``Y``, shape (m, len(Y))."""
        return self.kernel._diag(Y)[None, :] - 2.0 * self.weights @ self.kernel._gram(Y, self.X).mT

    def values(self, Y: Tensor) -> Tensor:
        """``r`` at the rows of ``Y`` up to a constant of each row, shape (m,)."""
        return self.kernel._diag(Y) - 2.0 * (self.kernel._gram(Y, self.X) * self.weights).sum(1)

    def values_and_grads(self, Y: Tensor) -> tuple[Tensor, Tensor]:
        """``r`` and its gradient at the rows of ``Y``, shapes (m,) and (m, d)."""
        grad = self.kernel.cross_pullback(Y, self.X, -2.0 * self.weights)
        grad += self.kernel.diag_pullback(Y, Y.new_ones(Y.shape[0]))
        return self.values(Y), grad

    def state(self, Y: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Value, gradient, and Mika's step ``y <- sum b k x / sum b k`` for the Gaussian kernel (None for others)."""
        if not isinstance(self.kernel, Gaussian):
            return *self.values_and_grads(Y), None
        M = self.kernel._gram(Y, self.X).mul_(self.weights)
        total = M.sum(1, keepdim=True)
        center = self.X.mean(dim=0)  # about the centre, so that far-away data cost no digits
        pulled = M @ (self.X - center)
        good = total.abs() > 1e-12
        jump = torch.where(good, center + pulled / torch.where(good, total, torch.ones_like(total)), torch.nan)
        grads = (total * (Y - center) - pulled).mul_(4.0 * self.kernel._gamma)
        return 1.0 - 2.0 * total[:, 0], grads, jump

    def nearest(self) -> Tensor:
        """Row numbers of the best points of ``X`` itself, shape (m,): the first of those that rounding makes equal."""
        diag = self.kernel._diag(self.X)
        values = diag - 2.0 * self.weights @ self.kernel._gram(self.X)
        size = diag.abs().max() + 2.0 * self.weights.abs().sum(dim=1, keepdim=True) * diag.abs().max()
        best = values.min(dim=1, keepdim=True).values + 8.0 * torch.finfo(values.dtype).eps * size
        return (values <= best).to(torch.uint8).argmax(dim=1)
