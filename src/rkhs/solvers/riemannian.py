"""Riemannian L-BFGS for any constraint with a tangent projection and a retraction."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.base import ARMIJO, OnASet, rounding
from rkhs.solvers.lbfgs import PAIRS, Step, two_loop

_MAX_TRIALS = 30


class RiemannianLBFGS(OnASet):
    """Limited-memory BFGS on a constraint set, with transport by projection and Armijo backtracking.

    Pairs without positive curvature are left out, so that the direction is always one of descent.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 1000 in direct use.
    tol : float or None, default=None
        Stop when the norm of the Riemannian gradient is at most ``tol * max(1, |value|)``. None: that of the
        estimator, or 1e-8 in direct use.

    References
    ----------
    Huang, Gallivan and Absil (2015), algorithm 2; Nocedal and Wright (2006), algorithm 7.4.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Stiefel
    >>> from rkhs.solvers import RiemannianLBFGS
    >>> class Trace:
    ...     constraint = Stiefel()
    ...     def value_and_grad(self, H):
    ...         A = torch.diag(torch.tensor([1.0, 2.0, 5.0], dtype=H.dtype))
    ...         return float(-(H.T @ A @ H).trace()), -2.0 * A @ H
    >>> found = RiemannianLBFGS().solve(Trace(), torch.full((3, 1), 3.0**-0.5, dtype=torch.float64))
    >>> round(found.value, 3), found.point.abs().round(decimals=2).ravel()  # largest eigenvalue and its vector
    (-5.0, tensor([0., 0., 1.], dtype=torch.float64))
    """

    limits: ClassVar[tuple[int, float]] = (1000, 1e-8)

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        x = manifold.project(start)
        value, grad = problem.value_and_grad(x)
        riemannian = manifold.tangent(x, grad)
        memory = _Pairs()
        evaluations, stalled, iteration, restarted = 1, 0, 0, False
        while True:
            measure = float(riemannian.norm())
            facts: dict[str, Any] = {"evaluations": evaluations, "infeasibility": manifold.violation(x)}
            reason = self._stop(monitor, iteration, value, measure, max(1.0, abs(value)), stalled=stalled >= 5, **facts)
            if reason is not None:
                break
            direction = memory.direction(manifold, x, riemannian)
            slope = float((riemannian * direction).sum())
            if not slope < -1e-14 * measure * float(direction.norm()):
                memory = _Pairs()
                direction, slope = -riemannian, -measure * measure
            step = _backtrack(manifold, problem, x, value, direction, slope, memory.first(measure))
            evaluations += step.trials
            if step.length == 0.0:
                if restarted or memory.empty:
                    exact = measure <= rounding(x) * max(1.0, abs(value))
                    reason = Reason.ROUNDING if exact else Reason.LINE_SEARCH
                    break
                memory, restarted = _Pairs(), True
                continue
            restarted = False
            new = manifold.tangent(step.point, step.grad)
            moved = manifold.tangent(step.point, step.length * direction)
            memory.push(manifold, step.point, moved, riemannian, new)
            decrease = (value - step.value) / max(abs(value), abs(step.value), 1e-300)
            stalled = stalled + 1 if decrease <= _rounding(x) else 0
            x, value, riemannian = step.point, step.value, new
            iteration += 1
        return Solution(x, value, reason, max(1, iteration), evaluations, history=monitor.finish())


def _rounding(x: Tensor) -> float:
    """Relative change of the objective that may be rounding error: 1e-15 in double precision."""
    return 4.5 * float(torch.finfo(x.dtype).eps)


class _Pairs:
    """Pairs of L-BFGS, transported to the current point."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=PAIRS)

    @property
    def empty(self) -> bool:
        return not self.pairs

    def first(self, measure: float) -> float:
        return 1.0 if self.pairs else 1.0 / max(measure, 1e-300)

    def direction(self, manifold: Any, x: Tensor, gradient: Tensor) -> Tensor:
        return manifold.tangent(x, two_loop(gradient, tuple(self.pairs))) if self.pairs else -gradient

    def push(self, manifold: Any, x: Tensor, s: Tensor, old: Tensor, new: Tensor) -> None:
        transported = [(manifold.tangent(x, a), manifold.tangent(x, b)) for a, b, _ in self.pairs]
        transported.append((s, new - manifold.tangent(x, old)))
        self.pairs.clear()
        for a, b in transported:
            curvature = float((a * b).sum())
            if curvature > 1e-10 * float(a.norm()) * float(b.norm()):
                self.pairs.append((a, b, 1.0 / curvature))


def _backtrack(
    manifold: Any, problem: Any, x: Tensor, value: float, direction: Tensor, slope: float, first: float
) -> Step:
    """Armijo backtracking by quadratic interpolation; a first trial that is far too short is lengthened."""
    step, best = first, Step(0.0, x, value, x, 0)
    for trial in range(1, _MAX_TRIALS + 1):
        point = manifold.retract(x, step * direction)
        f, grad = problem.value_and_grad(point)
        good = math.isfinite(f) and f <= value + ARMIJO * step * slope + _rounding(x) * abs(value)
        if good and (best.length == 0.0 or f < best.value):
            best = Step(step, point, f, grad, trial)
        best.trials = trial
        curvature = f - value - step * slope
        if best.length > 0.0:
            # The parabola says how much longer the step should have been; only a large factor is worth an evaluation.
            longer = -0.5 * slope * step * step / curvature if curvature > 0.0 else 10.0 * step
            if not good or step != best.length or longer < 3.0 * step or trial >= 5:
                break
            step = min(longer, 10.0 * step)
            continue
        shorter = -0.5 * slope * step * step / curvature if math.isfinite(f) and curvature > 0.0 else 0.1 * step
        step = min(max(shorter, 0.1 * step), 0.5 * step)
        if step * float(direction.norm()) < 1e-16 * float(x.norm()):
            break
    return best
