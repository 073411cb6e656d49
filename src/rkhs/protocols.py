"""Protocols that solvers require of problems, and the result that every solver returns."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor

__all__ = [
    "BatchSolution",
    "CanDiverge",
    "HasConstraint",
    "HasCurvature",
    "HasDualityGap",
    "HasFrozenQuadratic",
    "HasLastBlock",
    "HasNaturalGradient",
    "HasResolvent",
    "HasValueAndGrad",
    "Monitor",
    "Reason",
    "Resolvent",
    "Solution",
]

_PATIENCE = 10.0  # seconds without output with verbose="auto"
_RECENT = 20  # last iterations, whose least measure estimates the progress


class Reason(Enum):
    """Why a solver stopped; the value is the sentence that users see.

    Examples
    --------
    >>> from rkhs.protocols import Reason
    >>> Reason.MAX_ITER.converged, Reason.MAX_ITER.value
    (False, 'the largest number of iterations was reached; raise max_iter, or tol')
    """

    CLOSED_FORM = "the problem has a closed form"
    GRADIENT = "the gradient norm fell below the tolerance"
    DECREASE = "the objective no longer decreased by more than the tolerance"
    SCHEDULE = "the scheduled number of steps was taken; a larger max_iter may lower the objective further"
    GAP = "the duality gap fell below the tolerance"
    ROUNDING = "the gradient is small and rounding hides any further decrease of the objective"
    MAX_ITER = "the largest number of iterations was reached; raise max_iter, or tol"
    LINE_SEARCH = (
        "the line search found no lower objective; the solution is as exact as rounding allows, or reg is too small"
    )
    UNREACHED = (
        "the encoder does not reach the constraint, so the codes lie off it; use a kernel with more features, such as "
        "'gaussian', or constraint='soft'"
    )
    TIME = "the time limit was reached; raise the time limit"
    DIVERGED = "the objective or the parameters diverged; raise reg or lower the learning rate"
    INTERRUPTED = "the user interrupted the solver; fit again with warm_start=True to continue"

    @property
    def converged(self) -> bool:
        """Whether the solver converged, or ended as scheduled."""
        ends = (Reason.CLOSED_FORM, Reason.GRADIENT, Reason.DECREASE, Reason.SCHEDULE, Reason.GAP, Reason.ROUNDING)
        return self in ends


@dataclass(frozen=True)
class Solution:
    """Result of a solver.

    Examples
    --------
    >>> import torch
    >>> from rkhs.solvers import LBFGS
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float((x**2).sum()), 2.0 * x
    >>> found = LBFGS().solve(Bowl(), torch.ones(2))
    >>> found.value, found.converged, found.n_iter
    (0.0, True, 2)
    """

    point: Tensor  # the best parameters
    value: float  # objective there
    reason: Reason  # why the solver stopped
    n_iter: int  # iterations, at least one
    n_evaluations: int  # evaluations of the objective or its gradient
    gap: float | None = None  # duality gap, where the problem has one
    history: tuple[dict[str, Any], ...] = ()
    curvature: tuple[Any, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the solver converged, or ended as scheduled."""
        return self.reason.converged


@dataclass(frozen=True)
class BatchSolution:
    """Results of a solver for every problem of a batch of B settings.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import FISTA
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    >>> found = FISTA().solve_batch(dual_problem([(K, None)], Y, Huber(1.0), [0.1, 1.0]))
    >>> found.points.shape, found.converged
    (torch.Size([2, 2, 1]), tensor([True, True]))
    """

    points: Tensor  # (B, n, q): the best parameters
    values: Tensor  # (B,): objectives there
    gaps: Tensor  # (B,): duality gaps: no parameters have an objective lower than ``values - gaps``
    n_iter: Tensor  # (B,): iterations, at least one
    converged: Tensor  # (B,): whether the gap fell below the tolerance
    reason: Reason  # why the last problem stopped
    history: tuple[dict[str, Any], ...] = ()  # one row per evaluation of the gaps


@runtime_checkable
class HasValueAndGrad(Protocol):
    """A problem with a differentiable objective.

    Examples
    --------
    >>> from rkhs.protocols import HasValueAndGrad
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float((x**2).sum()), 2.0 * x
    >>> isinstance(Bowl(), HasValueAndGrad), isinstance(object(), HasValueAndGrad)
    (True, False)
    """

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and its gradient, of the shape of ``point``."""


@runtime_checkable
class HasCurvature(Protocol):
    """A problem with curvature pairs that a solver found for a similar one.

    Examples
    --------
    >>> from rkhs.protocols import HasCurvature
    >>> class Bowl:
    ...     curvature = ()  # nothing is known of a similar problem
    >>> isinstance(Bowl(), HasCurvature), isinstance(object(), HasCurvature)
    (True, False)
    """

    @property
    def curvature(self) -> tuple[Any, ...]:
        """:attr:`Solution.curvature` of that problem."""


@runtime_checkable
class CanDiverge(Protocol):
    """A problem that may be unbounded below, and detects divergence.

    Examples
    --------
    >>> from rkhs.protocols import CanDiverge
    >>> class Saddle:
    ...     def diverged(self, point, value):
    ...         return value < -1e6
    >>> isinstance(Saddle(), CanDiverge)
    True
    """

    def diverged(self, point: Tensor, value: float) -> bool:
        """Whether the parameters diverge."""


@runtime_checkable
class HasNaturalGradient(Protocol):
    """A problem with a gradient in a function space, as a by-product of the plain one.

    Examples
    --------
    >>> from rkhs.protocols import HasNaturalGradient
    >>> class Bowl:
    ...     def value_and_grads(self, x):
    ...         return float((x**2).sum()), 2.0 * x, 2.0 * x
    >>> isinstance(Bowl(), HasNaturalGradient)
    True
    """

    def value_and_grads(self, point: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective, plain gradient, and the gradient in the inner product of the function space."""


@runtime_checkable
class HasLastBlock(Protocol):
    """A problem whose last block of variables has a closed-form optimum for given other blocks.

    Examples
    --------
    >>> from rkhs.protocols import HasLastBlock
    >>> class TwoBlocks:  # min over b of (a - b)^2 + b^2 is at b = a / 2
    ...     def freeze_last(self, a):
    ...         return a / 2
    >>> isinstance(TwoBlocks(), HasLastBlock)
    True
    """

    def freeze_last(self, first: Tensor) -> HasNaturalGradient:
        """Update the last block to its optimum at ``first``; return the remaining problem in the other blocks."""


@runtime_checkable
class HasDualityGap(Protocol):
    """A batch of convex problems in tensors of shape (n, q, B) with their quadratic part, prox and gap.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.protocols import HasDualityGap
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    >>> problem = dual_problem([(K, None)], Y, Huber(1.0), 0.1)
    >>> isinstance(problem, HasDualityGap), [float(part) for part in problem.check(torch.zeros(2, 1, 1).double())]
    (True, [1.5, 1.5])
    """

    def apply(self, W: Tensor) -> Tensor:
        """The quadratic form's operator applied to ``W``, without the curvature of the loss."""

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Prox of the non-smooth part with one step per problem, shape (B,)."""

    def check(self, W: Tensor) -> tuple[Tensor, Tensor]:
        """Primal objectives and duality gaps at ``W``, each of shape (B,)."""


class Resolvent(Protocol):
    """``(K + shift)^-1`` of the quadratic parts ``K`` of a whole batch.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> from rkhs.problems.dual import dual_problem
    >>> K, T = torch.eye(2).double(), torch.ones(2, 1, 1).double()
    >>> problem = dual_problem([(K, None)], T[..., 0], Squared(), 1.0)
    >>> inverse = problem.resolvent(torch.tensor([3.0]).double())
    >>> bool(torch.allclose(problem.apply(inverse(T)) + 3.0 * inverse(T), T))
    True
    """

    def __call__(self, T: Tensor) -> Tensor:
        """Apply the operator to ``T`` of shape (n, q, B)."""

    def add_to(self, out: Tensor, T: Tensor, alpha: float) -> None:
        """Add ``alpha`` times the product with ``T`` to ``out``."""


@runtime_checkable
class HasResolvent(HasDualityGap, Protocol):
    """A batch of convex problems whose quadratic part is inverted at any shift.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.protocols import HasResolvent
    >>> K, Y = torch.diag(torch.tensor([1.0, 4.0])).double(), torch.ones(2, 1).double()
    >>> problem = dual_problem([(K, None)], Y, Squared(), 1.0)
    >>> isinstance(problem, HasResolvent), [round(float(value), 3) for value in problem.extremes()]
    (True, [1.0, 4.0])
    """

    def extremes(self) -> tuple[Tensor, Tensor]:
        """Smallest and largest eigenvalue of the quadratic part."""

    def resolvent(self, shift: Tensor, floor: float = 0.0) -> Resolvent:
        """The inverse at one shift per problem, shape (B,); nothing is divided by less than ``floor``."""


def is_due(verbose: float | Literal["auto"], started: float) -> bool:
    """Whether progress is shown: always above 0, with "auto" after ten seconds in a terminal or notebook."""
    late = verbose == "auto" and time.perf_counter() - started > _PATIENCE
    return late and (sys.stderr.isatty() or "ipykernel" in sys.modules) if verbose == "auto" else bool(verbose)


def show(text: str, seconds: float, share: float) -> None:
    """Rewrite the line of progress on standard error; after one second with the time left."""
    left = f", about {seconds / share - seconds:.0f} s left" if seconds > 1.0 and share > 0.0 else ""
    sys.stderr.write(f"\r{text}, {seconds:.1f} s{left}\x1b[K")
    sys.stderr.flush()


def hide() -> None:
    """Clear the line of progress."""
    sys.stderr.write("\r\x1b[K")


@dataclass
class Monitor:
    """Follows a solver: keeps its history, shows progress, stops it on time.

    Examples
    --------
    >>> from rkhs.protocols import Monitor
    >>> monitor = Monitor(callback=lambda row: row["value"] < 0.1)  # asks to stop below 0.1
    >>> monitor.row(1, 0.5, 1.0), monitor.row(2, 0.05, 0.3)
    (False, True)
    >>> [row["value"] for row in monitor.finish()]
    [0.5, 0.05]
    """

    verbose: int | Literal["auto"] = 0  # 0 is silent; 1 rewrites a line of progress on standard error; see `is_due`
    time_limit: float | None = None  # seconds after which :meth:`row` asks the solver to stop
    label: str = "solve"  # what is being solved, for the progress line
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)  # the history so far
    started: float = field(default_factory=time.perf_counter)
    tolerance: float = 0.0  # the measure at which the solver ends, and its last iteration, for the time left
    max_iter: int = 0

    def row(self, iteration: int, value: float, measure: float, **extra: Any) -> bool:
        """Record one iteration; True means that the solver must stop now."""
        seconds = time.perf_counter() - self.started
        row = {"iteration": iteration, "value": value, "measure": measure, "seconds": seconds, **extra}
        self.rows.append(row)
        if is_due(self.verbose, self.started):
            show(f"{self.label}: iteration {iteration}, objective {value:.6g}", seconds, self._share(iteration))
        asked = bool(self.callback(row)) if self.callback is not None else False
        return asked or (self.time_limit is not None and seconds > self.time_limit)

    def _share(self, iteration: int) -> float:
        """Share of the work done, for a measure that falls geometrically: right up to a factor of some three."""
        measures = [row["measure"] for row in self.rows]
        most, least = max(measures), min(measures[-_RECENT:])
        steps = iteration / self.max_iter if self.max_iter else 0.0
        return max(
            steps, math.log(most / least) / math.log(most / self.tolerance) if 0.0 < self.tolerance < least else steps
        )

    def finish(self) -> tuple[dict[str, Any], ...]:
        """End the progress line and return the history."""
        if self.rows and is_due(self.verbose, self.started):
            sys.stderr.write("\n")
        return tuple(self.rows)


@runtime_checkable
class HasConstraint(Protocol):
    """A problem whose points stay on a set with ``project``, ``tangent``, ``retract`` and ``violation``.

    Examples
    --------
    >>> from rkhs.constraints import Stiefel
    >>> from rkhs.protocols import HasConstraint
    >>> class Trace:
    ...     constraint = Stiefel()
    >>> isinstance(Trace(), HasConstraint), isinstance(object(), HasConstraint)
    (True, False)
    """

    @property
    def constraint(self) -> Any:
        """The set."""


@runtime_checkable
class HasFrozenQuadratic(Protocol):
    """A problem whose gradient is linear once its weights are frozen, ``grad_l = -F_l H_l`` for blocks of columns.

    Examples
    --------
    >>> from rkhs.protocols import HasFrozenQuadratic
    >>> class Trace:  # the gradient of -tr(H^T A H) / 2 is -A H: linear at every point
    ...     spans = (slice(0, 2),)
    ...     def fixed(self, V):
    ...         return V
    ...     def freeze(self, point, fixed):
    ...         return None
    >>> isinstance(Trace(), HasFrozenQuadratic)
    True
    """

    @property
    def spans(self) -> tuple[slice, ...]:
        """Columns of each block."""

    def fixed(self, V: Tensor) -> Tensor:
        """A linear map of the columns that is the same at every point."""

    def freeze(self, point: Tensor, fixed: Tensor) -> Any:
        """``value``, ``grad`` and ``maps`` (``(V, fixed(V)) -> F_l V`` for each block), or None without such a form."""
