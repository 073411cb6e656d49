"""Ridge regression of curves of which some values are not known.

It minimises ``sum_i w_i 1/2 sum_{t in O_i} q_t (y_i(t) - mean(t) - h(x_i)(t))^2 + reg/2 ||h||^2``: the loss of a curve
is the quadrature over the times ``O_i`` where it is known. With functions ``psi_j`` and eigenvalues ``Lambda`` of the
output operator, ``h(x) = sum_k k(x, x_k) Lambda c_k`` in coordinates, and

    (reg / w_i) c_i + G_i Lambda sum_k k(x_i, x_k) c_k = b_i,   G_i = sum_{t in O_i} q_t psi(t) psi(t)^T,
    b_i = sum_{t in O_i} q_t (y_i(t) - mean(t)) psi(t).

With ``c_i = sqrt(w_i) G_i^(1/2) a_i`` the system is ``(S + reg I) a = b'``, symmetric and positive definite. The
leave-one-out residual of curve i is ``((S + reg I)^-1)_ii^-1 a_i``, with the block of this curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import cholesky, weighted_mean

_ZERO = 1e-13  # eigenvalues of a G_i below this share of the largest are zero
_MAX_ITERATIONS, _TOLERANCE = 100, 1e-9  # of the fixed-point iteration for the mean curve; the tolerance is relative
Solve = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class GappedCurves:
    """A ridge regression of curves with gaps."""

    K: Tensor  # (n, n): gram matrix
    curves: Tensor  # (n, T): curves; NaN where a value is not known
    functions: Tensor  # (m, T): ``psi_j`` on the grid
    eigenvalues: Tensor  # (m,): ``Lambda``
    quadrature: Tensor  # (T,): ``q_t``, not negative
    weights: Tensor | None = None  # (n,): not negative; sum to one
    center: bool = True  # around the mean of the curves with gaps filled by predictions; False: around zero

    def solve(self, reg: float) -> tuple[Tensor, Tensor, float]:
        """Coefficients of shape (n, m), the mean curve and the objective; O((n m)^3 / 3)."""
        rows = self._known[0]
        system = self._system.clone()
        system.diagonal().add_(reg)
        L, _ = cholesky(system, name="the system of curves with gaps")
        mean = self._mean(lambda b: torch.cholesky_solve(b, L))
        b, outside = self._right(mean)
        a = torch.cholesky_solve(b.reshape(-1, 1), L)
        C = self.K.new_zeros(len(self.K), len(self.functions))
        C[rows] = self._coefficients(a)
        return C, mean, 0.5 * reg * float((a[:, 0] * b.reshape(-1)).sum()) + 0.5 * outside

    def left_out_errors(self, regs: np.ndarray) -> Tensor:
        """Mean squared errors over the known values of curves left out in turn, shape (S,)."""
        values, vectors = torch.linalg.eigh(self._system)
        values = values.clamp_min(0.0)
        blocks = vectors.view(-1, len(self.functions), len(values))
        mean = self._known_mean
        errors: list[Tensor] = []
        for _ in range(2):
            b, outside = self._right(mean)
            rotated, errors = vectors.mT @ b.reshape(-1), []
            for reg in regs:
                shares = 1.0 / (values + float(reg))
                a = (vectors @ (shares * rotated)).view(b.shape)
                residuals = torch.linalg.solve((blocks * shares) @ blocks.mT, a[:, :, None])
                errors.append(residuals.square().sum() + outside)
            shares = 1.0 / (values + float(regs[int(torch.stack(errors).argmin())]))
            mean = self._mean(partial(_apply_spectral, vectors, shares))
        return torch.stack(errors)

    @cached_property
    def _known(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows of positive weight, their weights, a mask of their known values, and the quadrature of these."""
        n = len(self.K)
        w = self.K.new_full((n,), 1.0 / n) if self.weights is None else self.weights
        rows = w > 0.0
        known = ~torch.isnan(self.curves[rows])
        return rows, w[rows], known, torch.where(known, self.quadrature, 0.0)

    @cached_property
    def _roots(self) -> tuple[Tensor, Tensor]:
        """``sqrt(w_i) G_i^(1/2)`` and ``sqrt(w_i) G_i^(-1/2)``, shape (k, m, m)."""
        _, w, _, q = self._known
        values, vectors = torch.linalg.eigh(torch.einsum("jt,it,kt->ijk", self.functions, q, self.functions))
        known = values > _ZERO * values[:, -1:].clamp_min(torch.finfo(values.dtype).tiny)
        sizes = torch.where(known, values, 0.0).sqrt()
        inverses = torch.where(known, 1.0 / torch.where(known, sizes, 1.0), 0.0)
        sqrt_w = w.sqrt()[:, None, None]
        roots, inverses = (sqrt_w * (vectors * part[:, None, :]) @ vectors.mT for part in (sizes, inverses))
        return roots, inverses

    @cached_property
    def _system(self) -> Tensor:
        """``S`` of shape (k m, k m)."""
        rows, (roots, _) = self._known[0], self._roots
        k, m = roots.shape[:2]
        system = ((roots * self.eigenvalues).reshape(k * m, m) @ roots.reshape(k * m, m).mT).view(k, m, k, m)
        system *= self.K[rows][:, rows][:, None, :, None]
        return system.view(k * m, k * m)

    def _right(self, mean: Tensor) -> tuple[Tensor, float]:
        """``b'`` of shape (k, m) around a mean curve, and the loss outside the span of the functions."""
        rows, w, known, q = self._known
        Y = torch.where(known, self.curves[rows] - mean, 0.0)
        b = (self._roots[1] @ ((q * Y) @ self.functions.mT)[:, :, None])[:, :, 0]
        return b, max(float(w @ (q * Y * Y).sum(1) - b.square().sum()), 0.0)

    def _coefficients(self, a: Tensor) -> Tensor:
        roots = self._roots[0]
        return (roots @ a.view(*roots.shape[:2], 1))[:, :, 0]

    @property
    def _known_mean(self) -> Tensor:
        rows, w, known, _ = self._known
        if not self.center:
            return torch.zeros_like(self.quadrature)
        shares = w[:, None] * known
        return (shares * torch.nan_to_num(self.curves[rows])).sum(0) / shares.sum(0)

    def _mean(self, solve: Solve) -> Tensor:
        """Fixed point: the mean of the curves with their gaps filled by the predictions around this mean."""
        rows, w, known, _ = self._known
        mean = self._known_mean
        if not self.center:
            return mean
        K, Y = self.K[rows][:, rows], self.curves[rows]
        for _ in range(_MAX_ITERATIONS):
            C = self._coefficients(solve(self._right(mean)[0].reshape(-1, 1)))
            filled = torch.where(known, Y, mean + (K @ C * self.eigenvalues) @ self.functions)
            new = weighted_mean(filled, w)
            change = float(torch.linalg.vector_norm(new - mean)) / max(float(torch.linalg.vector_norm(new)), 1e-300)
            mean = new
            if change < _TOLERANCE:
                break
        return mean


def _apply_spectral(vectors: Tensor, shares: Tensor, b: Tensor) -> Tensor:
    """``V diag(shares) V^T b``."""
    return vectors @ (shares[:, None] * (vectors.mT @ b))
