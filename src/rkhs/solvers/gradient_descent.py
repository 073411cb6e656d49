"""Gradient descent on all blocks, or alternating with the closed form of the last one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from rkhs._core.checks import check_choice
from rkhs.protocols import HasLastBlock, HasNaturalGradient, Monitor, Reason, Solution
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


@dataclass(eq=False, repr=False)
class Alternating(Solver):
    """Gradient steps on all blocks but the last, alternating with the closed form of the last one.

    A round updates the last layer to its optimum, fixes it, and makes ``encoder_steps`` gradient steps on the other
    layers. The gradient is that of the objective with the last layer fixed, also when several steps follow one update;
    the paper's formula for it is right for the first step only.

    Parameters
    ----------
    learning_rate : float or None, default=None
        Constant step length; None: backtracking, so that the objective never rises.
    encoder_steps : int, default=1
        Gradient steps per round.
    max_iter : int or None, default=None
        Largest number of rounds. None: that of the estimator, or 500 in direct use.
    tol : float or None, default=None
        Stop when the gradient norm right after an update of the last block is at most ``tol`` times the size of the
        objective. Also stop when each of three rounds in a row changes the objective by at most ``tol * 1e-2`` times
        its size. None: that of the estimator, or 1e-6 in direct use.
    metric : {"auto", "plain"}, default="auto"
        Inner product of the gradient; see :class:`GradientDescent`.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    Right after an update, value and gradient are those of the reduced objective. The start is a point of the first
    blocks alone, and so is the solution; with a constant rate the best point seen right after an update is returned.

    References
    ----------
    Laforgue et al. (2019), algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.solvers import Alternating
    >>> solver = Alternating(encoder_steps=2, tol=1e-2)
    >>> model = KernelAutoencoder(1, reg=0.01, solver=solver).fit(load_iris().data[::3])
    >>> bool(model.history_[-1]["value"] < model.history_[0]["value"])
    True
    """

    requires: ClassVar[tuple[type, ...]] = (HasLastBlock,)

    learning_rate: float | None = None
    encoder_steps: int = 1
    max_iter: Any = None
    tol: Any = None
    metric: str = "auto"

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        x, best, best_value, last_value = start.clone(), start, math.inf, math.inf
        length = 1.0 if self.learning_rate is None else self.learning_rate
        evaluations, iteration, stalled = 0, 0, 0
        bound, farthest = math.inf, 1e6 * DIVERGED * (1.0 + float(start.norm()))
        reason: Reason | None = None
        while True:
            if not float(x.norm()) <= farthest:
                reason = Reason.DIVERGED
                break
            frozen = problem.freeze_last(x)
            at = gradients(frozen, x, self.metric)
            evaluations += 1
            bound = DIVERGED * (1.0 + abs(at.value)) if iteration == 0 else bound
            if not at.finite or at.value > bound:
                reason = Reason.DIVERGED
                break
            if at.value < best_value:
                best, best_value = x, at.value
            measure = math.sqrt(at.squared_norm)
            change = abs(last_value - at.value) / max(1e-300, abs(at.value))
            stalled = stalled + 1 if change <= 1e-2 * self.tol else 0
            facts: dict[str, Any] = {"stalled": stalled >= 3, "evaluations": evaluations, "step": length}
            reason = self._stop(monitor, iteration, at.value, measure, abs(at.value), **facts)
            if reason is not None:
                break
            last_value = at.value
            step = self._encode(frozen, Step(length, x, at, 0))
            evaluations += step.trials
            if step.length == 0.0:
                reason = Reason.LINE_SEARCH
                break
            x, iteration = step.point, iteration + 1
            length = 2.0 * step.length if self.learning_rate is None else self.learning_rate
        return Solution(best, best_value, reason, max(1, iteration), evaluations, history=monitor.finish())

    def _encode(self, frozen: Any, first: Step) -> Step:
        """Make the gradient steps of one round with the last block fixed."""
        step, trials = first, 0
        for index in range(self.encoder_steps):
            if self.learning_rate is not None:
                point = step.point - self.learning_rate * step.at.direction
                if index == self.encoder_steps - 1:  # the next round evaluates there, with a new last block
                    return Step(self.learning_rate, point, step.at, trials)
                at = gradients(frozen, point, self.metric)
                step, trials = Step(self.learning_rate, point, at, 1), trials + 1
                continue
            length = step.length if index == 0 else 2.0 * step.length
            tried = backtrack(lambda point: gradients(frozen, point, self.metric), step.point, step.at, length)
            trials += tried.trials
            if tried.length == 0.0:
                return Step(0.0 if index == 0 else step.length, step.point, step.at, trials)
            step = tried
        return Step(step.length, step.point, step.at, trials)
