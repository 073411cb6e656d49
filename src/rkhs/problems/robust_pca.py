"""Robust and sparse kernel principal components: the variance replaced by a loss of the projections."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.linalg import polar
from rkhs.losses import Loss


@dataclass(frozen=True)
class RobustPCA:
    """Maximise ``sum_i w_i f(W^* phi(x_i))`` over ``W`` with ``W^* W = I``, a difference of convex functions."""

    factor: Tensor  # (n, r): ``F``
    loss: Loss  # convex and even
    weights: Tensor | None = None  # (n,): not negative; default ones

    @property
    def w(self) -> Tensor:
        """Weights, shape (n,)."""
        return self.factor.new_ones(len(self.factor)) if self.weights is None else self.weights

    def value(self, V: Tensor) -> float:
        """``-sum_i w_i f(z_i)``, to be minimised."""
        return -float(self.w @ self.loss.value(self.factor @ V))

    def dual_variable(self, V: Tensor) -> Tensor:
        """``H = w f'(Z)``, shape (n, s); rows at which the loss has gradient zero are zero."""
        return self.w[:, None] * self.loss.gradient(self.factor @ V)

    def step(self, V: Tensor) -> tuple[Tensor, float]:
        """Maximise the linear lower bound at ``V``."""
        G = self.factor.mT @ self.dual_variable(V)
        new = polar(G)
        return new, max(0.0, float(((new - V) * G).sum()))

    def coefficients(self, V: Tensor) -> Tensor:
        """``H (H^T K H)^(-1/2)``, shape (n, s): codes of new items are ``k(x, X)`` times these."""
        H = self.dual_variable(V)
        _, s, Qh = torch.linalg.svd(self.factor.mT @ H, full_matrices=False)
        floor = len(H) * torch.finfo(s.dtype).eps * s[:1]
        inverse = torch.where(s > floor, 1.0 / s.clamp_min(torch.finfo(s.dtype).tiny), torch.zeros_like(s))
        return H @ (Qh.mT * inverse) @ Qh
