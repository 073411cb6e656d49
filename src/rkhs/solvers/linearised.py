"""Maximisation of a convex function by its linear lower bounds (the DC algorithm)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rkhs._core.checks import check_count, check_number
from rkhs._core.config import Configurable
from rkhs.protocols import Monitor, Reason, Solution


class Linearised(Configurable):
    """Repeat ``V <- argmax <V, f'(V_old)>``: each step is in closed form and never makes the objective worse."""

    def __init__(self, tol: float = 1e-10, max_iter: int = 5000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Any, start: Tensor, monitor: Monitor | None = None) -> Solution:
        """Iterate from a start until the point is stationary."""
        tol = check_number(self.tol, "Linearised.tol", at_least=0.0)
        limit = check_count(self.max_iter, "Linearised.max_iter")
        follow = Monitor(label="linearised") if monitor is None else monitor
        V, reason, iteration = start, Reason.MAX_ITER, 0
        for iteration in range(1, limit + 1):
            new, stationarity = problem.step(V)
            value = problem.value(V)
            stopped = follow.row(iteration, value, stationarity)
            if stationarity <= tol * abs(value):
                reason = Reason.GRADIENT
                break
            V = new
            if stopped:
                reason = Reason.TIME
                break
        return Solution(
            point=V,
            value=problem.value(V),
            reason=reason,
            n_iter=iteration,
            n_evaluations=iteration,
            history=follow.finish(),
        )
