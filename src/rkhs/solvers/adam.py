"""Adam on the full gradient, for comparisons and the settings of papers: unconstrained, or with orthonormal columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.constraints import Constraint, Stiefel, Unconstrained, cayley, gram_defect
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.base import BETA1, BETA2, OnASet, Solver

_STIEFEL_BETA2 = 0.99  # decay of the second moment on the manifold


@dataclass(eq=False, repr=False)
class Adam(Solver):
    """Adam: gradient steps scaled by running moments, entry by entry.

    Parameters
    ----------
    learning_rate : float, default=1e-2
        Step length.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 500 in direct use.
    tol : float or None, default=None
        Stop when the gradient norm is at most ``tol * max(1, |value|)``, or when ``patience`` iterations in a row
        lowered the best objective by at most ``tol`` relatively. None: that of the estimator, or 1e-6 in direct use.
    patience : int, default=20
        See ``tol``.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    Not a descent method: the best point seen is returned.

    References
    ----------
    Kingma and Ba (2015), algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.solvers import Adam
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float(((x - 3.0) ** 2).sum()), 2.0 * (x - 3.0)
    >>> Adam(0.1, max_iter=500).solve(Bowl(), torch.zeros(2)).point.round(decimals=1)
    tensor([3., 3.])
    """

    learning_rate: float = 1e-2
    max_iter: Any = None
    tol: Any = None
    patience: int = 20

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        first, second = torch.zeros_like(start), torch.zeros_like(start)

        def move(x: Tensor, grad: Tensor, iteration: int) -> Tensor:
            first.lerp_(grad, 1.0 - BETA1)
            second.mul_(BETA2).addcmul_(grad, grad, value=1.0 - BETA2)
            scale = (second / (1.0 - BETA2**iteration)).sqrt_().add_(1e-8)
            return torch.addcdiv(x, first, scale, value=-self.learning_rate / (1.0 - BETA1**iteration))

        return _best_seen(self, Unconstrained(), problem, start.clone(), monitor, move, self.patience)


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
        Largest number of iterations. None: that of the estimator, or 20000 in direct use.
    tol : float or None, default=None
        Stop when the norm of the Riemannian gradient is at most ``tol * max(1, |value|)``. None: that of the
        estimator, or 1e-8 in direct use.

    Raises
    ------
    InputError
        For a learning rate that is not positive, or another constraint than one block of orthonormal columns.

    References
    ----------
    Li, Li and Todorovic (2020), algorithm 2; Tonin et al. (2021), section 4.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Stiefel
    >>> from rkhs.solvers import CayleyAdam
    >>> class Trace:
    ...     constraint = Stiefel()
    ...     def value_and_grad(self, H):
    ...         A = torch.diag(torch.tensor([1.0, 2.0, 5.0]))
    ...         return float(-(H.T @ A @ H).trace()), -2.0 * A @ H
    >>> found = CayleyAdam(0.05, max_iter=500).solve(Trace(), torch.full((3, 1), 3.0**-0.5))
    >>> round(found.value, 3), found.point.abs().round(decimals=2).ravel()  # largest eigenvalue and its vector
    (-5.0, tensor([0., 0., 1.]))
    """

    limits: ClassVar[tuple[int, float]] = (20_000, 1e-8)
    sets = Stiefel

    learning_rate: float = 5e-5
    max_iter: Any = None
    tol: Any = None

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        H = manifold.project(start)
        momentum, second = torch.zeros_like(H), 0.0

        def move(H: Tensor, grad: Tensor, iteration: int) -> Tensor:
            nonlocal momentum, second
            momentum = BETA1 * momentum + (1.0 - BETA1) * grad
            second = _STIEFEL_BETA2 * second + (1.0 - _STIEFEL_BETA2) * float((grad * grad).sum())
            H, momentum = self._move(H, momentum, second, iteration)
            return H

        return _best_seen(self, manifold, problem, H, monitor, move)

    def _move(self, H: Tensor, M: Tensor, second: float, t: int) -> tuple[Tensor, Tensor]:
        """Take one Cayley step; also returns the momentum projected on the tangent space."""
        r = (1.0 - BETA1**t) * math.sqrt(second / (1.0 - _STIEFEL_BETA2**t) + 1e-8)
        P = M - 0.5 * H @ (H.mT @ M)
        U, V = torch.cat([P, H], 1) / r, torch.cat([H, -P], 1)
        # ||U V^T||_F from the small Gram matrices of its factors.
        norm = math.sqrt(max(float(((U.mT @ U) * (V.mT @ V)).sum()), 1e-300))
        step = min(self.learning_rate, 1.0 / norm)
        moved = cayley(H, U, V, step)
        # Rounding drifts off the manifold by an ulp per step; one Newton step of the polar factor corrects it.
        return torch.addmm(moved, moved, gram_defect(moved), alpha=-0.5), U @ (V.mT @ H) * r


def _best_seen(
    solver: Solver,
    manifold: Constraint,
    problem: Any,
    x: Tensor,
    monitor: Monitor,
    move: Callable[[Tensor, Tensor, int], Tensor],
    patience: float = math.inf,
) -> Solution:
    """Iterate ``x = move(x, grad, iteration)``; return the best point seen."""
    best, best_value = x, math.inf
    iteration, stalled, reference = 0, 0, math.inf
    reason: Reason | None = None
    while True:
        value, grad = problem.value_and_grad(x)
        measure = float(manifold.tangent(x, grad).norm())
        if not (math.isfinite(value) and math.isfinite(measure)):
            reason = Reason.DIVERGED
            break
        if value < best_value:
            best, best_value = x, value
        # Compared with the best value at the last real decrease, so that many small ones still count.
        falls = reference - best_value > solver.tol * abs(best_value)
        reference, stalled = (best_value, 0) if falls else (reference, stalled + 1)
        facts: dict[str, Any] = {"stalled": stalled >= patience, "evaluations": iteration + 1}
        if not isinstance(manifold, Unconstrained):
            facts["infeasibility"] = manifold.violation(x)
        reason = solver._stop(monitor, iteration, value, measure, max(1.0, abs(value)), **facts)
        if reason is Reason.GRADIENT:
            best, best_value = x, value
        if reason is not None:
            break
        iteration += 1
        x = move(x, grad, iteration)
    return Solution(best, best_value, reason, max(1, iteration), iteration + 1, history=monitor.finish())
