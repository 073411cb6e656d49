"""Ridge regression of curves of which some values are not known.

It minimises ``sum_i w_i 1/2 sum_{t in O_i} q_t (y_i(t) - mean(t) - h(x_i)(t))^2 + reg/2 ||h||^2``: the loss of a curve
is the quadrature over the times ``O_i`` where it is known. With functions ``psi_j`` and eigenvalues ``Lambda`` of the
output operator, ``h(x) = sum_k k(x, x_k) Lambda c_k`` in coordinates, and

    (reg / w_i) c_i + G_i Lambda sum_k k(x_i, x_k) c_k = b_i,   G_i = sum_{t in O_i} q_t psi(t) psi(t)^T,
    b_i = sum_{t in O_i} q_t (y_i(t) - mean(t)) psi(t).

With ``c_i = G_i^(1/2) a_i`` the system is symmetric and positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.linalg import solve_positive

__all__ = ["GappedCurves"]

_NOTHING = 1e-13  # of the largest eigenvalue of a G_i


@dataclass(frozen=True, eq=False)
class GappedCurves:
    """A ridge regression of curves with gaps.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Gram matrix.
    goal : Tensor of shape (n, T)
        Curves less their mean; NaN where a value is not known.
    functions : Tensor of shape (m, T)
        ``psi_j`` on the grid.
    eigenvalues : Tensor of shape (m,)
        ``Lambda``.
    quadrature : Tensor of shape (T,)
        ``q_t``, not negative.
    weights : Tensor of shape (n,), optional
        Not negative; sum to one. None is ``1/n``. A row of weight zero has zero coefficients.

    References
    ----------
    Laforgue et al. (2020), section 3.2, for curves without gaps: then ``G_i`` is the identity.
    """

    K: Tensor
    goal: Tensor
    functions: Tensor
    eigenvalues: Tensor
    quadrature: Tensor
    weights: Tensor | None = None

    def solve(self, reg: float) -> tuple[Tensor, float]:
        """Coefficients of shape (n, m) and the objective; O((n m)^3 / 3)."""
        n, m = len(self.K), len(self.functions)
        w = self.K.new_full((n,), 1.0 / n) if self.weights is None else self.weights
        rows = w > 0.0
        goal, w = self.goal[rows], w[rows]
        q = torch.where(torch.isnan(goal), 0.0, self.quadrature)
        Y = torch.nan_to_num(goal)
        b = (q * Y) @ self.functions.mT
        values, vectors = torch.linalg.eigh(torch.einsum("jt,it,kt->ijk", self.functions, q, self.functions))
        there = values > _NOTHING * values[:, -1:].clamp_min(torch.finfo(values.dtype).tiny)
        sizes = torch.where(there, values, 0.0).sqrt()
        roots = (vectors * sizes[:, None, :]) @ vectors.mT
        inverses = torch.where(there, 1.0 / torch.where(there, sizes, 1.0), 0.0)
        beta = ((vectors * inverses[:, None, :]) @ vectors.mT @ b[:, :, None])[:, :, 0]
        k = len(Y)
        left = (roots * self.eigenvalues).reshape(k * m, m)
        system = (left @ roots.reshape(k * m, m).mT).view(k, m, k, m)
        system *= self.K[rows][:, rows][:, None, :, None]
        system = system.view(k * m, k * m)
        system.diagonal().add_((reg / w).repeat_interleave(m))
        a = solve_positive(system, beta.reshape(-1, 1), name="the system of curves with gaps").view(k, m)
        C = self.K.new_zeros(n, m)
        C[rows] = (roots @ a[:, :, None])[:, :, 0]
        outside = float(w @ ((q * Y * Y).sum(1) - (beta * beta).sum(1)))  # of what no function can say
        return C, 0.5 * reg * float((a * beta).sum()) + 0.5 * max(outside, 0.0)
