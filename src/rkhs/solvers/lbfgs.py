"""Limited-memory BFGS with a cubic line search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from rkhs.protocols import CanDiverge, HasCurvature, Monitor, Reason, Solution
from rkhs.solvers.base import ARMIJO, Solver, rounding

PAIRS = 20  # of steps and changes of the gradient that are kept; with 5 or 50 a fit takes up to a tenth longer
_CURVATURE = 0.9
_MAX_TRIALS = 25
_FIRST_DECREASE, _MAX_FIRST_STEP = 0.02, 16.0


class LBFGS(Solver):
    """Limited-memory BFGS for smooth unconstrained problems.

    The line search brackets a point that meets the weak Wolfe conditions and interpolates by cubics; after six trials a
    sufficient decrease alone is accepted. The first trial, step length one, is accepted in most iterations, so an
    iteration costs little more than one evaluation.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 500 if the solver is used directly.
    tol : float or None, default=None
        Stop when the gradient norm is at most ``tol`` times the absolute value of the objective. Also stop when each of
        three iterations in a row lowers the objective by at most ``tol`` times its absolute value. None: that of the
        estimator, or 1e-6 if the solver is used directly.

    References
    ----------
    Byrd, Nocedal and Schnabel (1994), "Representations of quasi-Newton matrices and their use in limited memory
    methods", theorem 2.2; Nocedal and Wright (2006), algorithm 7.5 and equation 3.59.

    Examples
    --------
    >>> import torch
    >>> from rkhs.solvers import LBFGS
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float(((x - 3.0) ** 2).sum()), 2.0 * (x - 3.0)
    >>> found = LBFGS().solve(Bowl(), torch.zeros(2))
    >>> found.point, found.reason.name
    (tensor([3., 3.]), 'GRADIENT')
    """

    def __init__(self, max_iter: int | None = None, tol: float | None = None) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        x = start.clone()
        value, grad = problem.value_and_grad(x)
        known = problem.curvature if isinstance(problem, HasCurvature) else ()
        pairs = _Pairs(x, PAIRS)
        for s, y, _ in known:
            pairs.append(s, y)
        can_diverge = isinstance(problem, CanDiverge)
        evaluations, stalled, iteration = 1, 0, 0
        while True:
            measure = math.sqrt(float((grad * grad).sum()))
            facts: dict[str, Any] = {"stalled": stalled >= 3, "evaluations": evaluations}
            reason = self._stop(monitor, iteration, value, measure, abs(value), **facts)
            if can_diverge and reason is not Reason.TIME and problem.diverged(x, value):
                reason = Reason.DIVERGED
            if reason is not None:
                break
            direction = pairs.direction(grad)
            slope = float((grad * direction).sum())
            if not slope < 0.0:
                pairs.clear()
                direction, slope = -grad, -measure * measure
            first = 1.0 if pairs else _first_step(value, measure)
            step = _line_search(problem, x, value, direction, slope, first)
            evaluations += step.trials
            if step.length == 0.0 and pairs:
                pairs.clear()  # a bad memory is the usual reason: try once more along the gradient
                continue
            if step.length == 0.0:
                reason = Reason.ROUNDING if measure <= rounding(x) * abs(value) else Reason.LINE_SEARCH
                break
            pairs.learn(step.length * direction, step.grad - grad)
            decrease = (value - step.value) / max(1e-300, abs(value), abs(step.value))
            stalled = stalled + 1 if decrease <= self.tol else 0
            x, value, grad = step.point, step.value, step.grad
            iteration += 1
        return Solution(x, value, reason, max(1, iteration), evaluations, None, monitor.finish(), pairs.all())


def _first_step(value: float, measure: float) -> float:
    """Multiplier of -grad in a first trial: the larger of a step of norm <= 1 and one predicted to lower f by 2 %."""
    promising = _FIRST_DECREASE * abs(value) / max(measure * measure, 1e-300)
    return max(min(1.0, 1.0 / max(measure, 1e-300)), min(promising, _MAX_FIRST_STEP))


class _Pairs:
    """Steps ``s`` and changes ``y`` of the gradient, the last few, and the quasi-Newton direction that they give."""

    def __init__(self, like: Tensor, size: int) -> None:
        self._vectors = like.new_zeros(2 * size, like.numel())  # steps, then changes, in rows that are reused
        self._places: list[int] = []  # the oldest first, as in these matrices:
        self._sy, self._yy = np.zeros((size, size)), np.zeros((size, size))
        self._size, self._shape = size, like.shape

    def __len__(self) -> int:
        return len(self._places)

    def clear(self) -> None:
        self._places.clear()

    def learn(self, s: Tensor, y: Tensor) -> None:
        """Append a pair if its curvature is positive."""
        if float((s * y).sum()) > 1e-14 * float(s.norm()) * float(y.norm()):
            self.append(s, y)

    def append(self, s: Tensor, y: Tensor) -> None:
        """Keep a pair, in place of the oldest if there are too many."""
        size, k = self._size, len(self)
        if k == size:
            place, k = self._places.pop(0), k - 1
            for M in (self._sy, self._yy):
                M[:k, :k] = M[1:, 1:]
        else:
            place = next(i for i in range(size) if i not in self._places)
        self._places.append(place)
        self._vectors[place], self._vectors[size + place] = s.reshape(-1), y.reshape(-1)
        steps, changes = self._products(y)
        self._sy[: k + 1, k] = steps
        self._sy[k, k] = float((s * y).sum())  # as it was found positive: another order of summation may round it away
        self._yy[: k + 1, k] = self._yy[k, : k + 1] = changes

    def all(self) -> tuple[tuple[Tensor, Tensor, float], ...]:
        """The pairs with ``1 / <s, y>``, the oldest first."""
        return tuple(
            (self._vectors[i].view(self._shape), self._vectors[self._size + i].view(self._shape), 1.0 / curvature)
            for i, curvature in zip(self._places, self._sy.diagonal().tolist(), strict=False)
        )

    def direction(self, grad: Tensor) -> Tensor:
        """Quasi-Newton direction: minus the approximate inverse Hessian times the gradient."""
        k = len(self)
        if k == 0:
            return -grad
        # H g = c g + S R^-T ((D + c Y^T Y) R^-1 S^T g - c Y^T g) - c Y R^-1 S^T g, with c = scale, R the upper triangle
        # and D the diagonal of S^T Y.
        R, YtY = self._sy[:k, :k], self._yy[:k, :k]
        scale = float(R[-1, -1] / max(YtY[-1, -1], 1e-300))
        Stg, Ytg = self._products(grad)
        first, _ = scipy.linalg.lapack.dtrtrs(R, Stg)
        inner = R.diagonal() * first + scale * (YtY @ first - Ytg)
        mix = np.zeros((2, self._size))
        mix[0, self._places], _ = scipy.linalg.lapack.dtrtrs(R, inner, trans=1)
        mix[1, self._places] = -scale * first
        back = self._vectors.mT @ torch.from_numpy(mix.reshape(-1)).to(grad)
        return back.view(self._shape).add_(grad, alpha=scale).neg_()

    def _products(self, x: Tensor) -> np.ndarray:
        """Return the products of the steps and of the changes with a vector, the oldest first, shape (2, k)."""
        products = (self._vectors @ x.reshape(-1)).cpu().numpy().astype(np.float64, copy=False)
        return products.reshape(2, -1)[:, self._places]


def two_loop(grad: Tensor, pairs: tuple[tuple[Tensor, Tensor, float], ...]) -> Tensor:
    """Minus the approximate inverse Hessian of pairs ``(s, y, 1 / <s, y>)`` times the gradient."""
    q = grad.clone()
    weights = []
    for s, y, rho in reversed(pairs):
        weight = rho * float((s * q).sum())
        weights.append(weight)
        q.sub_(y, alpha=weight)
    _, y, rho = pairs[-1]
    r = q * (1.0 / (rho * max(float((y * y).sum()), 1e-300)))
    for (s, y, rho), weight in zip(pairs, reversed(weights), strict=True):
        r.add_(s, alpha=weight - rho * float((y * r).sum()))
    return r.neg_()


@dataclass
class Step:
    """An accepted trial. Length zero: none was found, and ``grad`` has no meaning."""

    length: float
    point: Tensor
    value: float
    grad: Tensor
    trials: int


def _line_search(problem: Any, x: Tensor, value: float, direction: Tensor, slope: float, first: float) -> Step:
    low, f_low, s_low = 0.0, value, slope
    high, f_high, s_high = math.inf, math.nan, math.nan
    best = Step(0.0, x, value, x, 0)
    step = first
    for trial in range(1, _MAX_TRIALS + 1):
        point = torch.add(x, direction, alpha=step)
        f, grad = problem.value_and_grad(point)
        s = float((grad * direction).sum())
        finite = math.isfinite(f) and math.isfinite(s)
        if finite and f <= value + ARMIJO * step * slope:
            if f < best.value:
                best = Step(step, point, f, grad, trial)
            if s >= _CURVATURE * slope:
                best = Step(step, point, f, grad, trial)
                break
            low, f_low, s_low = step, f, s
        else:
            high, f_high, s_high = step, f, s if finite else math.nan
        best.trials = trial
        if best.length > 0.0 and trial >= 6:  # a decrease without the curvature condition is good enough by now
            break
        if high == math.inf:
            step = 2.0 * step if trial < 3 else 4.0 * step
        else:
            if high - low <= 1e-14 * high:
                break
            step = _cubic(low, f_low, s_low, high, f_high, s_high)
    return best


def _cubic(low: float, f_low: float, s_low: float, high: float, f_high: float, s_high: float) -> float:
    """Minimiser of the cubic through both ends, kept in the inner 80 % of the bracket."""
    width = high - low
    middle = low + 0.5 * width
    if not (math.isfinite(f_high) and math.isfinite(s_high)):
        return low + 0.1 * width
    d1 = s_low + s_high - 3.0 * (f_low - f_high) / (low - high)
    square = d1 * d1 - s_low * s_high
    if square < 0.0:
        return middle
    d2 = math.sqrt(square)
    denominator = s_high - s_low + 2.0 * d2
    if denominator == 0.0:
        return middle
    step = high - width * (s_high + d2 - d1) / denominator
    return min(max(step, low + 0.1 * width), low + 0.9 * width)
