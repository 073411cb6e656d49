"""What every solver guarantees: its value is that of its point, the objective falls, and it stops when asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.constraints import Stiefel
from rkhs.protocols import HasConstraint, Monitor, Reason, Solution
from rkhs.solvers import Solver
from rkhs.testing.base import close, keep, parameters_are_the_object, require

_FEASIBLE = 1e-6


class Bowl:
    """``1/2 (x - s)^T H (x - s) + 1``: minimum 1, condition number 10."""

    minimum = 1.0

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        Q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
        self.H = torch.as_tensor((Q * np.geomspace(1.0, 10.0, 8)) @ Q.T)
        self.solution = torch.as_tensor(rng.normal(size=8))
        self.start = torch.zeros(8, dtype=torch.float64)

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and gradient."""
        gradient = self.H @ (point - self.solution)
        return 0.5 * float((point - self.solution) @ gradient) + 1.0, gradient


class LeadingSubspace:
    """``-1/2 Tr(H^T K H)`` over orthonormal ``H`` of shape (10, 2): minus half of the two largest eigenvalues."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        Q = np.linalg.qr(rng.normal(size=(10, 10)))[0]
        values = np.linspace(1.0, 5.0, 10)
        self.K = torch.as_tensor((Q * values) @ Q.T)
        self.minimum = -0.5 * float(values[-2:].sum())
        self.start = Stiefel().project(torch.as_tensor(rng.normal(size=(10, 2))))

    @property
    def constraint(self) -> Stiefel:
        """Orthonormal columns."""
        return Stiefel()

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and gradient."""
        product = self.K @ point
        return -0.5 * float((point * product).sum()), -product


class Nothing:
    """A problem without a single method: no solver fits it."""


def check_solver(
    solver: Solver,
    problem: Any = None,
    start: Tensor | None = None,
    *,
    minimum: float | None = None,
    share: float = 0.9,
) -> tuple[str, ...]:
    """Check that a solver keeps the guarantees that estimators build on.

    Parameters
    ----------
    solver : Solver
        With settings under which it should solve the problem.
    problem : object, optional
        Default: a quadratic function of eight variables; for a solver that needs a constraint the leading
        eigenvectors of a matrix.
    start : Tensor, optional
        First point; needed with a problem of your own, else that of the default problem.
    minimum : float, optional
        Least objective of a problem of your own, if it is known.
    share : float, default=0.9
        Share of the decrease from the objective at the start to the minimum that the solver must reach.

    Returns
    -------
    tuple of str
        The guarantees that were checked, in words.

    Raises
    ------
    BrokenPromise
        Naming the first guarantee that is broken.
    InputError
        For anything but a solver, and one whose kind of problem must be given.

    References
    ----------
    Nocedal and Wright (2006), chapter 3; Absil, Mahony and Sepulchre (2008), chapter 4.

    Examples
    --------
    >>> from rkhs.solvers import LBFGS
    >>> from rkhs.testing import check_solver
    >>> len(check_solver(LBFGS()))
    8
    """
    if not isinstance(solver, Solver):
        raise InputError(f"solver must be an instance of rkhs.solvers.Solver; got a {type(solver).__name__}")
    if problem is None:
        problem = LeadingSubspace() if HasConstraint in solver.requires else Bowl()
        missing = [protocol.__name__ for protocol in solver.requires if not isinstance(problem, protocol)]
        if missing:
            raise InputError(
                f"{type(solver).__name__} needs problems that meet {', '.join(missing)}; pass problem= and start="
            )
        start, minimum = problem.start, problem.minimum
    if start is None:
        raise InputError("start must be given with a problem of your own")
    checks: dict[Callable[..., None], tuple[Any, ...]] = {
        parameters_are_the_object: (solver,),
        _a_misfit_is_refused: (solver, start),
        _a_constraint_that_it_does_not_keep_is_refused: (solver,),
        _the_start_stays_and_the_answer_is_the_same_twice: (solver, problem, start),
        _the_value_is_that_of_the_point: (solver, problem, start),
        _the_objective_falls: (solver, problem, start, minimum, share),
        _history_is_consistent: (solver, problem, start),
        _it_stops_when_asked: (solver, problem, start),
    }
    return keep(solver, checks)


def _a_misfit_is_refused(solver: Solver, start: Tensor) -> None:
    """A problem that the solver cannot solve is refused before the first evaluation, with the name of the solver."""
    try:
        solver.solve(Nothing(), start)
    except InputError as error:
        require(type(solver).__name__ in str(error), f"the refusal must name the solver; it says: {error}")
    else:
        require(False, "a problem that lacks what the solver requires must be refused by InputError")


def _a_constraint_that_it_does_not_keep_is_refused(solver: Solver) -> None:
    """A solver says by ``keeps`` which constraints its answers satisfy; others are refused, not ignored."""
    demanding = LeadingSubspace()
    if solver.keeps(demanding.constraint):
        return
    try:
        solver.solve(demanding, demanding.start)
    except InputError:
        return
    require(False, f"a problem that demands {demanding.constraint!r} must be refused: keeps() says that it is not kept")


def _the_start_stays_and_the_answer_is_the_same_twice(solver: Solver, problem: Any, start: Tensor) -> None:
    before = start.clone()
    first, second = solver.solve(problem, start), solver.solve(problem, start)
    require(torch.equal(start, before), "solve() must not change the start point")
    require(isinstance(first, Solution), f"solve() must return a Solution; got a {type(first).__name__}")
    require(torch.equal(first.point, second.point), "the same problem and start must give the same bits")
    require(first.value == second.value, "the same problem and start must give the same value")


def _the_value_is_that_of_the_point(solver: Solver, problem: Any, start: Tensor) -> None:
    found = solver.solve(problem, start)
    require(bool(torch.isfinite(found.point).all()) and math.isfinite(found.value), "point and value must be finite")
    if hasattr(problem, "value_and_grad"):
        value = problem.value_and_grad(found.point)[0]
        close(torch.tensor([found.value]), torch.tensor([value]), 1e-9, "Solution.value and the objective at its point")
    if isinstance(problem, HasConstraint):
        violation = problem.constraint.violation(found.point)
        require(violation <= _FEASIBLE, f"the point must keep the constraint of the problem; it is {violation:.1e} off")


def _the_objective_falls(solver: Solver, problem: Any, start: Tensor, minimum: float | None, share: float) -> None:
    if not hasattr(problem, "value_and_grad"):
        return
    first, found = problem.value_and_grad(start)[0], solver.solve(problem, start)
    require(found.value <= first, f"the objective rose from {first:.6g} to {found.value:.6g}")
    if minimum is not None:
        reached = (first - found.value) / max(first - minimum, 1e-300)
        require(
            reached >= share,
            f"the solver went {reached:.1%} of the way to the minimum, not {share:.0%}",
        )
        require(found.value >= minimum - 1e-6 * max(1.0, abs(minimum)), "the value is below the minimum of the problem")


def _history_is_consistent(solver: Solver, problem: Any, start: Tensor) -> None:
    found = solver.solve(problem, start, Monitor())
    require(isinstance(found.reason, Reason), f"reason must be a Reason; got {found.reason!r}")
    require(found.n_iter >= 1, f"n_iter must be at least 1; got {found.n_iter}")
    require(found.n_evaluations >= 0, f"n_evaluations must not be negative; got {found.n_evaluations}")
    needed = {"iteration", "value", "measure", "seconds"}
    for row in found.history:
        require(needed <= row.keys(), f"a row of the history must have {sorted(needed)}; got {sorted(row)}")
    seen = [row["iteration"] for row in found.history]
    require(seen == sorted(seen), "iterations of the history must not go back")


def _it_stops_when_asked(solver: Solver, problem: Any, start: Tensor) -> None:
    rows: list[dict[str, Any]] = []

    def stop(row: dict[str, Any]) -> bool:
        rows.append(row)
        return True

    solver.solve(problem, start, Monitor(callback=stop))
    require(len(rows) <= 3, f"a callback that asks to stop must be obeyed; {len(rows)} more iterations were made")
