"""Solvers of batches of convex problems that stop on the duality gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import BatchSolution, HasDualityGap, Monitor, Reason, Solution
from rkhs.solvers.base import Solver

_CHUNK = 1 << 18
"""Entries of a working array: a few of these fit in the second-level cache."""


@dataclass
class BatchResults:
    """Results of a batch; each problem is recorded when it converges."""

    points: Tensor  # (B, n, q)
    values: Tensor  # (B,): objectives
    gaps: Tensor  # (B,): duality gaps
    limits: Tensor  # (B,): gaps at which the problems are solved
    n_iter: Tensor  # (B,)
    active: Tensor  # indices of the problems that have not converged
    stopped: bool = False

    @classmethod
    def empty(cls, problem: Any, tol: float) -> BatchResults:
        """Results of all problems of a batch before the first iteration."""
        n, q, B = problem.shape
        limits = tol * problem.null_value()
        infinite = torch.full_like(limits, torch.inf)
        points, active = problem.targets.new_zeros(B, n, q), torch.arange(B, device=limits.device)
        return cls(points, infinite.clone(), infinite, limits, torch.ones_like(limits).long(), active)

    def record(self, problem: Any, W: Tensor, iteration: int, monitor: Monitor) -> Tensor | None:
        """Record the problems that converged; return a mask of the others, None if nothing changed."""
        values, gaps = problem.check(W)
        limits = self.limits[self.active]
        failed = gaps.isnan() | limits.isinf()  # the sums overflowed: further iterations give NaN too
        done = (gaps <= limits) | failed
        worst = float((gaps / limits.clamp_min(torch.finfo(gaps.dtype).tiny)).max())
        if monitor.row(iteration, float(values.mean()), worst, open=int((~done).sum())):
            self.stopped, done = True, torch.ones_like(done)
        # The result of a problem is its first point within the limit, else its last point.
        self._store(done, W, values, gaps, iteration)
        self.active = self.active[~done]
        return ~done if bool(done.any()) else None

    def finish(self, problem: Any, W: Tensor, iteration: int) -> None:
        """Record the last points of the problems that did not converge."""
        if len(self.active):
            values, gaps = problem.check(W)
            self._store(torch.ones_like(gaps, dtype=torch.bool), W, values, gaps, iteration)

    def _store(self, which: Tensor, W: Tensor, values: Tensor, gaps: Tensor, iteration: int) -> None:
        index = self.active[which]
        self.points[index] = W.permute(2, 0, 1)[which]
        self.values[index], self.gaps[index], self.n_iter[index] = values[which], gaps[which], iteration


class Iterates(ABC):
    """State of a solver on the problems that have not converged, which are the last axis of every tensor."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    @abstractmethod
    def step(self, *, measure: bool) -> None:
        """Take one iteration; ``measure``: the gaps are computed after it."""

    @abstractmethod
    def feasible(self) -> Tensor:
        """Points (n, q, B) that satisfy every constraint."""

    def select(self, columns: Tensor) -> None:
        """Restrict the state to these problems."""
        self.problem = self.problem.select(columns)
        for name, part in vars(self).items():
            if isinstance(part, Tensor):
                setattr(self, name, part[..., columns].contiguous())


class GapSolver(Solver):
    """An algorithm that stops every problem of a batch when its duality gap is ``tol`` times the objective at zero.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator, or 1e-6 in direct use.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 10000 in direct use.

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import FISTA, GapSolver
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [20.0]], dtype=torch.float64)
    >>> found = FISTA(tol=1e-8).solve(dual_problem([(K, None)], Y, Huber(2.0), 0.1))
    >>> isinstance(FISTA(), GapSolver), found.converged, bool(found.gap < 1e-8 * 20)
    (True, True, True)
    """

    requires: ClassVar[tuple[type, ...]] = (HasDualityGap,)

    limits: ClassVar[tuple[int, float]] = (10_000, 1e-6)
    check_every: int  # iterations between two computations of the gaps

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Any, start: Tensor | None = None, monitor: Monitor | None = None) -> Solution:
        """Solve a batch of one problem; start (default zero) and point are representer coefficients (n, q)."""
        batch = self.solve_batch(problem, None if start is None else start[None], monitor)
        return Solution(
            point=problem.coefficients(batch.points)[0],
            value=float(batch.values[0]),
            reason=batch.reason,
            n_iter=int(batch.n_iter[0]),
            n_evaluations=len(batch.history),
            gap=float(batch.gaps[0]),
            history=batch.history,
        )

    def solve_batch(self, problem: Any, start: Tensor | None = None, monitor: Monitor | None = None) -> BatchSolution:
        """Solve every problem of a batch.

        Parameters
        ----------
        problem : object
            Meets every protocol in ``requires``, shape (n, q, B).
        start : Tensor of shape (B, n, q), optional
            Representer coefficients; default zero.
        monitor : Monitor, optional
            Receives one row per evaluation of the gaps.

        Returns
        -------
        BatchSolution

        Raises
        ------
        InputError
            Before the first iteration, if the problem lacks a protocol in ``requires``.
        """
        if self.max_iter is None or self.tol is None:
            return self.within(*self.limits).solve_batch(problem, start, monitor)
        self.check(problem)
        follow = Monitor(label=type(self).__name__.lower()) if monitor is None else monitor
        n, q, B = problem.shape
        W0 = None if start is None else problem.points(start.expand(B, n, q))
        results = BatchResults.empty(problem, self.tol)
        if q == 0:  # all targets coincide with their mean: zero is exact
            zero = torch.zeros_like(results.limits)
            return BatchSolution(results.points, zero, zero, results.n_iter, zero == 0.0, Reason.CLOSED_FORM)
        every, width = results.active, max(8, _CHUNK // (n * q))
        for left in range(0, B, width):
            columns = slice(left, min(left + width, B))
            results.active = every[columns]
            self._run(problem.select(columns), None if W0 is None else W0[..., columns], results, follow)
        converged = (results.gaps <= results.limits) & results.gaps.isfinite()
        reason = Reason.GAP if bool(converged.all()) else Reason.TIME if results.stopped else Reason.MAX_ITER
        return BatchSolution(
            results.points, results.values, results.gaps, results.n_iter, converged, reason, follow.finish()
        )

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        return self.solve(problem, start, monitor)

    def _run(self, problem: Any, start: Tensor | None, results: BatchResults, monitor: Monitor) -> None:
        """Solve a piece of the batch, recording results."""
        state = self._begin(problem, start)
        for iteration in range(1, self.max_iter + 1):
            checking = iteration % self.check_every == 0 or iteration in (1, self.max_iter)
            state.step(measure=checking)
            if not checking:
                continue
            left = results.record(state.problem, state.feasible(), iteration, monitor)
            if not len(results.active):
                return
            if left is not None:
                state.select(left.nonzero()[:, 0])
        results.finish(state.problem, state.feasible(), self.max_iter)

    @abstractmethod
    def _begin(self, problem: Any, start: Tensor | None) -> Iterates:
        """Initial state: at points (n, q, B), by default at zero."""
