"""Gradient descent with backtracking or a constant rate, along the plain gradient or that of a function space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from rkhs._core.checks import check_choice
from rkhs.protocols import HasNaturalGradient, Monitor, Reason, Solution
from rkhs.solvers.base import ARMIJO, Solver

_HALVINGS = 60
DIVERGED = 1e6  # an objective this many times the first one counts as diverged


class Gradients(NamedTuple):
    """Objective, gradient and descent direction at a point."""

    value: float
    plain: Tensor  # the gradient
    direction: Tensor  # the gradient in the chosen inner product; its negative is the direction of descent

    @property
    def squared_norm(self) -> float:
        """Squared norm of the gradient in the chosen inner product."""
        return max(float((self.plain * self.direction).sum()), 0.0)

    @property
    def finite(self) -> bool:
        """Whether the value and the norm are finite."""
        return math.isfinite(self.value) and math.isfinite(float((self.plain * self.direction).sum()))


def gradients(problem: Any, x: Tensor, metric: str) -> Gradients:
    """Objective, gradient and descent direction of a problem."""
    check_choice(metric, "metric", ("auto", "plain"))
    if metric == "auto" and isinstance(problem, HasNaturalGradient):
        return Gradients(*problem.value_and_grads(x))
    value, grad = problem.value_and_grad(x)
    return Gradients(value, grad, grad)


class Step(NamedTuple):
    """A trial that lowered the objective enough; ``length`` 0 where none did."""

    length: float
    point: Tensor
    at: Gradients  # at that point
    trials: int  # evaluations spent


def backtrack(evaluate: Callable[[Tensor], Gradients], x: Tensor, at: Gradients, length: float) -> Step:
    """Halve the step until the objective falls by ``1e-4 length ||gradient||^2``."""
    squared = at.squared_norm
    for trial in range(1, _HALVINGS + 1):
        point = x - length * at.direction
        new = evaluate(point)
        # Strictly less: at steps that rounding swallows the two values are equal.
        if new.finite and new.value < at.value and new.value <= at.value - ARMIJO * length * squared:
            return Step(length, point, new, trial)
        length *= 0.5
    return Step(0.0, x, at, _HALVINGS)


@dataclass(eq=False, repr=False)
class GradientDescent(Solver):
    """Gradient descent.

    Parameters
    ----------
    learning_rate : float or None, default=None
        Constant step length; None: backtracking, each search beginning at twice the last accepted length.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 500 in direct use.
    tol : float or None, default=None
        Stop when the gradient norm is at most ``tol`` times the size of the objective. Also stop when each of three
        iterations in a row changes the objective by at most ``tol * 1e-2`` times its size. None: that of the estimator,
        or 1e-6 in direct use.
    metric : {"auto", "plain"}, default="auto"
        Inner product of the gradient: ``"plain"`` is that of the coefficients, as in the paper, ``"auto"`` that of the
        function space where the problem provides it, which is a good preconditioner.

    Raises
    ------
    InputError
        If a parameter is out of range.

    References
    ----------
    Laforgue et al. (2019), section 4.1; Nocedal and Wright (2006), algorithm 3.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.solvers import GradientDescent
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float(((x - 3.0) ** 2).sum()), 2.0 * (x - 3.0)
    >>> GradientDescent(0.1).solve(Bowl(), torch.zeros(2)).point.round(decimals=2)
    tensor([3., 3.])
    """

    learning_rate: float | None = None
    max_iter: Any = None
    tol: Any = None
    metric: str = "auto"

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        rate = self.learning_rate
        x, at = start.clone(), gradients(problem, start, self.metric)
        length = 1.0 if rate is None else rate
        bound = DIVERGED * (1.0 + abs(at.value))
        evaluations, iteration, stalled = 1, 0, 0
        while True:
            measure = math.sqrt(at.squared_norm)
            facts: dict[str, Any] = {"stalled": stalled >= 3, "evaluations": evaluations, "step": length}
            reason = self._stop(monitor, iteration, at.value, measure, abs(at.value), **facts)
            if reason is not None:
                break
            step = self._step(problem, x, at, length)
            evaluations += step.trials
            if not step.at.finite or step.at.value > bound:
                reason = Reason.DIVERGED
                break
            if step.length == 0.0:
                reason = Reason.LINE_SEARCH
                break
            change = abs(at.value - step.at.value) / max(1e-300, abs(at.value))
            stalled = stalled + 1 if change <= 1e-2 * self.tol else 0
            x, at = step.point, step.at
            length = 2.0 * step.length if rate is None else rate
            iteration += 1
        return Solution(x, at.value, reason, max(1, iteration), evaluations, history=monitor.finish())

    def _step(self, problem: Any, x: Tensor, at: Gradients, length: float) -> Step:
        if self.learning_rate is None:
            return backtrack(lambda point: gradients(problem, point, self.metric), x, at, length)
        point = x - length * at.direction
        return Step(length, point, gradients(problem, point, self.metric), 1)
