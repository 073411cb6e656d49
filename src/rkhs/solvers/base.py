"""Base class of solvers: hyper-parameters in the constructor, one ``solve`` that returns a :class:`Solution`."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from rkhs._core.checks import check_count, check_number
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs.constraints import Constraint, Unconstrained
from rkhs.protocols import HasConstraint, HasValueAndGrad, Monitor, Reason, Solution

BETA1, BETA2 = 0.9, 0.999  # decay of the first and second moment of Adam
ARMIJO = 1e-4  # least decrease of a step, as a share of what the slope predicts

_OPTIONS: dict[str, Callable[..., Any]] = {
    "max_iter": check_count,
    "tol": partial(check_number, at_least=0.0),
    "learning_rate": partial(check_number, above=0.0),
    "patience": check_count,
    "check_every": check_count,
    "encoder_steps": check_count,
    "max_outer": check_count,
    "n_starts": check_count,
}


def check_options(solver: Configurable) -> None:
    """Check the parameters that solvers share by name; None passes where it is the default."""
    defaults = inspect.signature(type(solver).__init__).parameters
    for name, value in solver.get_params(deep=False).items():
        if name in _OPTIONS and not (value is None and defaults[name].default is None):
            one = _read_option if isinstance(value, (int, float)) else _read_option.__wrapped__
            one(name, value, f"{type(solver).__name__}.{name}")


@lru_cache(maxsize=256, typed=True)
def _read_option(name: str, value: Any, where: str) -> None:
    """Check one number, cached: a search over parameters solves with the same solver many times."""
    _OPTIONS[name](value, where)


class Solver(Configurable):
    """An algorithm for problems that meet its protocols and require no constraint that it does not satisfy.

    Parameters named ``max_iter`` and ``tol`` may be None: an estimator then sets its own, and a solver
    that is used alone takes :attr:`limits`.

    Examples
    --------
    >>> import torch
    >>> from rkhs.protocols import Reason, Solution
    >>> from rkhs.solvers import Solver
    >>> class OneStep(Solver):
    ...     def _solve(self, problem, start, monitor):
    ...         value, grad = problem.value_and_grad(start)
    ...         return Solution(start - grad, value, Reason.SCHEDULE, n_iter=1, n_evaluations=1)
    >>> class Bowl:
    ...     def value_and_grad(self, x):
    ...         return float(0.5 * (x**2).sum()), x
    >>> OneStep().solve(Bowl(), torch.ones(2)).point
    tensor([0., 0.])
    """

    requires: ClassVar[tuple[type, ...]] = (HasValueAndGrad,)
    """Protocols that a problem must meet."""

    limits: ClassVar[tuple[int, float]] = (500, 1e-6)
    """``max_iter`` and ``tol`` where they are None and no estimator sets them."""

    max_iter: Any
    tol: Any
    _known = False  # whether it is a copy that :func:`as_solver` made of parameters that it checked

    def solve(self, problem: Any, start: Tensor, monitor: Monitor | None = None) -> Solution:
        """Solve the problem from a start point.

        Parameters
        ----------
        problem : object
            Meets every protocol in ``requires``.
        start : Tensor
            First point; it is not changed.
        monitor : Monitor, optional
            Receives one row per iteration.

        Returns
        -------
        Solution

        Raises
        ------
        InputError
            Before the first iteration, if the problem does not fit; see :meth:`check`.
        """
        ready = self.within(*self.limits)
        ready.check(problem)
        return ready._solve(problem, start, Monitor() if monitor is None else monitor)

    def within(self, max_iter: int | None = None, tol: float | None = None, *, force: bool = False) -> Self:
        """Return the solver with these limits where its own are None.

        Parameters
        ----------
        max_iter : int, optional
        tol : float, optional
            None: left as it is.
        force : bool, default=False
            Also replace limits that are set.

        Returns
        -------
        Solver
            The same object where nothing changes.
        """
        current, asked = self.get_params(deep=False), {"max_iter": max_iter, "tol": tol}
        new = {name: limit for name, limit in asked.items() if limit is not None and name in current}
        new = {name: limit for name, limit in new.items() if force or current[name] is None}
        if not new:
            return self
        found = type(self)(**{**current, **new})
        found._known = self._known
        return found

    def keeps(self, constraint: object) -> bool:
        """Whether every solution satisfies a constraint; by default only :class:`rkhs.constraints.Unconstrained`."""
        return isinstance(constraint, Unconstrained)

    def check(self, problem: Any) -> None:
        """Refuse parameters out of range, and a problem that lacks a protocol or whose constraint is not kept.

        Parameters
        ----------
        problem : object
            Its ``constraint``, if it has one, must be satisfied; its ``solvers`` names those that apply.

        Raises
        ------
        InputError
            Naming the parameter, the protocol or the constraint, and solvers that apply.
        """
        if not self._known:
            check_options(self)
        fitting = ", ".join(getattr(problem, "solvers", ())) or "see its documentation"
        for protocol in self.requires:
            if not isinstance(problem, protocol):
                raise InputError(
                    f"{type(self).__name__} needs a problem with the protocol {protocol.__name__}; "
                    f"{type(problem).__name__} does not have it. Solvers for this problem: {fitting}"
                )
        constraint = getattr(problem, "constraint", None)
        if constraint is not None and not self.keeps(constraint):
            raise InputError(
                f"{type(self).__name__} does not satisfy {constraint!r}, which {type(problem).__name__} requires. "
                f"Solvers for this problem: {fitting}; a custom solver declares what it satisfies by its method keeps"
            )

    @abstractmethod
    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        """Solve a checked problem."""

    def _stop(
        self,
        monitor: Monitor,
        iteration: int,
        value: float,
        measure: float,
        size: float,
        *,
        stalled: bool = False,
        **facts: Any,
    ) -> Reason | None:
        """Reason to stop, or None: time, a gradient small relative to ``size``, no decrease, or the last iteration."""
        monitor.tolerance, monitor.max_iter = self.tol * size, self.max_iter
        if monitor.row(iteration, value, measure, **facts):
            return Reason.TIME
        if measure <= self.tol * size:
            return Reason.GRADIENT
        if stalled:
            return Reason.DECREASE
        return Reason.MAX_ITER if iteration >= self.max_iter else None


class OnASet(Solver):
    """A solver of problems whose points stay on a set, such as a manifold; ``sets`` is the class of these."""

    requires: ClassVar[tuple[type, ...]] = (HasValueAndGrad, HasConstraint)
    sets: ClassVar[type] = Constraint

    def __init__(self, max_iter: int | None = None, tol: float | None = None) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def keeps(self, constraint: object) -> bool:
        """Whether the constraint is an instance of ``sets``."""
        return isinstance(constraint, self.sets)

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        return self._solve_on(problem.constraint, problem, start, monitor)

    @abstractmethod
    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        """Solve a checked problem on its constraint set."""


def rounding(x: Tensor) -> float:
    """Root of the machine precision: at smaller relative gradients, changes of the objective are rounding errors."""
    return float(torch.finfo(x.dtype).eps ** 0.5)
