"""Cayley Adam on the Stiefel manifold, by small systems instead of n x n matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rkhs.constraints.stiefel import Stiefel, cayley
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.base import OnASet

_BETA1, _BETA2 = 0.9, 0.99  # decay of the first and second moment


@dataclass(eq=False, repr=False)
class CayleyAdam(OnASet):
    """Adam with a scalar second moment and steps along Cayley curves, feasible at every iterate.

    The skew direction ``W = P H^T - H P^T`` has rank ``2 S``, so the transform needs a system of that size: exact,
    where the published fixed-point iteration is feasible to about 1e-7.

    Parameters
    ----------
    learning_rate : float, default=5e-5
        Largest step, the paper's value; ``1 / ||W||`` caps it.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 20000 alone.
    tol : float or None, default=None
        Stop when the norm of the Riemannian gradient is at most ``tol * max(1, |value|)``. None: that of the
        estimator; 1e-8 alone.

    Raises
    ------
    InputError
        For a learning rate that is not positive, or another constraint than one block of orthonormal columns.

    References
    ----------
    Li, Li and Todorovic (2020), algorithm 2; Tonin et al. (2021), section 4.1.
    """

    limits = (20_000, 1e-8)
    sets = Stiefel

    learning_rate: float = 5e-5
    max_iter: Any = None
    tol: Any = None

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        rate = self.learning_rate
        H = manifold.project(start)
        momentum, second = torch.zeros_like(H), 0.0
        best, best_value = H, math.inf
        iteration = 0
        reason: Reason | None = None
        while True:
            value, grad = problem.value_and_grad(H)
            measure = float(manifold.tangent(H, grad).norm())
            if not (math.isfinite(value) and math.isfinite(measure)):
                reason = Reason.DIVERGED
                break
            if value < best_value:
                best, best_value = H, value
            facts: dict[str, Any] = {"evaluations": iteration + 1, "infeasibility": manifold.violation(H)}
            reason = self._stop(monitor, iteration, value, measure, max(1.0, abs(value)), **facts)
            if reason is Reason.GRADIENT:
                best, best_value = H, value
            if reason is not None:
                break
            iteration += 1
            momentum = _BETA1 * momentum + (1.0 - _BETA1) * grad
            second = _BETA2 * second + (1.0 - _BETA2) * float((grad * grad).sum())
            H, momentum = self._move(H, momentum, second, iteration, rate)
        return Solution(best, best_value, reason, max(1, iteration), iteration + 1, history=monitor.finish())

    def _move(self, H: Tensor, M: Tensor, second: float, t: int, rate: float) -> tuple[Tensor, Tensor]:
        """One Cayley step; also returns the momentum projected on the tangent space."""
        r = (1.0 - _BETA1**t) * math.sqrt(second / (1.0 - _BETA2**t) + 1e-8)
        P = M - 0.5 * H @ (H.mT @ M)
        U, V = torch.cat([P, H], 1) / r, torch.cat([H, -P], 1)
        # ||U V^T||_F from the small Gram matrices of its factors.
        norm = math.sqrt(max(float(((U.mT @ U) * (V.mT @ V)).sum()), 1e-300))
        step = min(rate, 1.0 / norm)
        moved = cayley(H, U, V, step)
        # Rounding drifts by an ulp a step; one Newton step of the polar factor holds it for any number of them.
        defect = moved.mT @ moved
        defect.diagonal().sub_(1.0)
        return torch.addmm(moved, moved, defect, alpha=-0.5), U @ (V.mT @ H) * r
