"""Maximisation of a convex function by its linear lower bounds (the DC algorithm)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rkhs.protocols import Monitor, Reason, Solution


def linearised(problem: Any, start: Tensor, tol: float, max_iter: int = 5000) -> Solution:
    """Repeat ``V <- argmax <V, f'(V_old)>``: each step is in closed form and never makes the objective worse."""
    monitor, V, reason, iteration = Monitor(label="linearised"), start, Reason.MAX_ITER, 0
    for iteration in range(1, max_iter + 1):
        new, stationarity = problem.step(V)
        value = problem.value(V)
        monitor.row(iteration, value, stationarity)
        if stationarity <= tol * abs(value):
            reason = Reason.GRADIENT
            break
        V = new
    return Solution(V, problem.value(V), reason, iteration, iteration, history=monitor.finish())
