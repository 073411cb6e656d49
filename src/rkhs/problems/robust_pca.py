"""Robust and sparse kernel principal components: the variance replaced by a loss of the projections."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.linalg import polar
from rkhs.losses import Loss

__all__ = ["RobustPCA"]


@dataclass(frozen=True)
class RobustPCA:
    """Maximise ``sum_i w_i f(W^* phi(x_i))`` over ``W`` with ``W^* W = I``, a difference of convex functions.

    In coordinates ``F F^T = K`` the unknown is ``V`` with orthonormal columns and codes ``Z = F V``. The dual of Toland
    minimises ``sum_i w_i f*(h_i / w_i) - Tr (H^T K H)^(1/2)``; both meet where ``H = w f'(Z)`` and ``V`` is the polar
    factor of ``F^T H``. For the squared loss these are kernel principal components.

    Parameters
    ----------
    factor : Tensor of shape (n, r)
        ``F``.
    loss : Loss
        Convex and even. Slower than the square for robustness (Huber); zero near the origin for sparse ``H``.
    weights : Tensor of shape (n,), optional
        Not negative; default ones.

    Raises
    ------
    InputError
        For a loss with parameters out of range, when it is evaluated.

    References
    ----------
    Toland (1979), a duality principle for non-convex optimisation; Laforgue et al. (2020) for the losses.
    """

    factor: Tensor
    loss: Loss
    weights: Tensor | None = None

    @property
    def w(self) -> Tensor:
        """Weights, shape (n,)."""
        return self.factor.new_ones(len(self.factor)) if self.weights is None else self.weights

    def value(self, V: Tensor) -> float:
        """``-sum_i w_i f(z_i)``, to be minimised."""
        return -float(self.w @ self.loss.value(self.factor @ V))

    def dual_value(self, H: Tensor) -> float:
        """``sum_i w_i f*(h_i / w_i) - Tr (H^T K H)^(1/2)`` for weights > 0."""
        nuclear = float(torch.linalg.svdvals(self.factor.mT @ H).sum())
        return float(self.w @ self.loss.conjugate(H / self.w[:, None])) - nuclear

    def dual_variable(self, V: Tensor) -> Tensor:
        """``H = w f'(Z)``, shape (n, s); rows of projections that cost nothing are zero."""
        return self.w[:, None] * self.loss.gradient(self.factor @ V)

    def step(self, V: Tensor) -> tuple[Tensor, float]:
        """Maximise the linear lower bound at ``V``.

        Returns
        -------
        V : Tensor of shape (r, s)
            No worse than before.
        stationarity : float
            ``Tr (H^T K H)^(1/2) - <V, F^T H>``, the gap between primal and dual value at ``V``: zero exactly at
            stationary points. It does not bound the distance to the global optimum.
        """
        G = self.factor.mT @ self.dual_variable(V)
        new = polar(G)
        return new, max(0.0, float(((new - V) * G).sum()))

    def coefficients(self, V: Tensor) -> Tensor:
        """``H (H^T K H)^(-1/2)``, shape (n, s): codes of new items are ``k(x, X)`` times these.

        Directions that no row with a non-zero dual variable sees get zeros.
        """
        H = self.dual_variable(V)
        _, s, Qh = torch.linalg.svd(self.factor.mT @ H, full_matrices=False)
        floor = len(H) * torch.finfo(s.dtype).eps * s[:1]
        inverse = torch.where(s > floor, 1.0 / s.clamp_min(torch.finfo(s.dtype).tiny), torch.zeros_like(s))
        return H @ (Qh.mT * inverse) @ Qh
