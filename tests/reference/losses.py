"""A loss that is no function of the norm of the residuals."""

from __future__ import annotations

import torch
from torch import Tensor

from rkhs.losses import Loss


class CoordinateHuber(Loss):
    """The sum of ``Huber(1)`` over the columns: no function of the norm."""

    def value(self, R: Tensor) -> Tensor:
        a = R.abs()
        return torch.where(a <= 1.0, 0.5 * a * a, a - 0.5).sum(1)

    def gradient(self, R: Tensor) -> Tensor:
        return R.clamp(-1.0, 1.0)

    def conjugate(self, A: Tensor) -> Tensor:
        return torch.where((A.abs() <= 1.0 + 1e-6).all(1), 0.5 * (A * A).sum(1), torch.inf)

    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        return (A / (1.0 + step)).clamp(-1.0, 1.0)
