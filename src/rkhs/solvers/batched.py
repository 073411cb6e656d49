"""Solvers of batches of convex problems that stop on the duality gap."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import BatchSolution, HasDualityGap, Monitor, Reason, Solution
from rkhs.solvers.base import Solver

_CHUNK = 1 << 18
"""Entries of a working array: a few of these fit in the second-level cache."""


@dataclass
class Ledger:
    """Results of a batch while its problems finish one after the other."""

    points: Tensor  # (F, B, n, q)
    values: Tensor  # (F, B): objectives, gaps, and gaps at which a problem is solved
    gaps: Tensor  # (F, B)
    limits: Tensor  # (F, B)
    n_iter: Tensor  # (F, B)
    columns: Tensor
    solved: Tensor
    stopped: bool = False

    @classmethod
    def open(cls, problem: Any, tol: float) -> Ledger:
        """An empty ledger for all problems of a batch."""
        F, n, q, B = problem.shape
        new = problem.targets.new_zeros
        limits = tol * problem.null_value()
        columns = torch.arange(B, device=limits.device)
        infinite = torch.full_like(limits, torch.inf)
        n_iter, solved = torch.ones_like(limits).long(), torch.zeros_like(limits).bool()
        return cls(new(F, B, n, q), infinite.clone(), infinite, limits, n_iter, columns, solved)

    def record(self, problem: Any, W: Tensor, iteration: int, monitor: Monitor) -> Tensor | None:
        """Note gaps at feasible points; return which columns are still open, None if nothing changed."""
        values, gaps = problem.check(W)
        at = self.columns
        limits, solved = self.limits[:, at], self.solved[:, at]
        lost = gaps.isnan() | limits.isinf()  # sums that overflowed: more iterations find no number
        new = ((gaps <= limits) | lost) & ~solved
        worst = float((torch.where(solved, 0.0, gaps) / limits.clamp_min(torch.finfo(gaps.dtype).tiny)).max())
        open_ = ~(solved | new).all(0)
        self.stopped = monitor.row(iteration, float(values.mean()), worst, open=int(open_.sum()))
        # The last word on a problem is its first point within the limit, or its last point.
        self._keep(~solved if self.stopped else new, W, values, gaps, iteration)
        self.solved[:, at] |= new
        if self.stopped:
            open_ = torch.zeros_like(open_)
        if bool(open_.all()):
            return None
        self.columns = at[open_]
        return open_

    def close(self, problem: Any, W: Tensor, iteration: int) -> None:
        """Keep the last points of the problems that ran out of iterations."""
        if len(self.columns):
            values, gaps = problem.check(W)
            self._keep(~self.solved[:, self.columns], W, values, gaps, iteration)

    def _keep(self, which: Tensor, W: Tensor, values: Tensor, gaps: Tensor, iteration: int) -> None:
        f, b = which.nonzero(as_tuple=True)
        at = self.columns[b]
        self.points[f, at] = W.permute(0, 3, 1, 2)[f, b]
        self.values[f, at], self.gaps[f, at], self.n_iter[f, at] = values[f, b], gaps[f, b], iteration


class GapSolver(Solver):
    """An algorithm that stops every problem of a batch when its duality gap is ``tol`` times the objective at zero.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 10000 alone.

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.
    """

    requires: ClassVar[tuple[type, ...]] = (HasDualityGap,)

    limits = (10_000, 1e-6)

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: Any, start: Tensor | None = None, monitor: Monitor | None = None) -> Solution:
        """Solve a batch of one problem; start (default zero) and point are representer coefficients (n, q)."""
        first = None if start is None else start[None, None]
        batch = self.solve_batch(problem, first, monitor)
        return Solution(
            point=problem.coefficients(batch.points)[0, 0],
            value=float(batch.values[0, 0]),
            reason=batch.reason,
            n_iter=int(batch.n_iter[0, 0]),
            n_evaluations=len(batch.history),
            gap=float(batch.gaps[0, 0]),
            history=batch.history,
        )

    def solve_batch(self, problem: Any, start: Tensor | None = None, monitor: Monitor | None = None) -> BatchSolution:
        """Solve every problem of a batch.

        Parameters
        ----------
        problem : object
            Meets every protocol in ``requires``, shape (F, n, q, B).
        start : Tensor of shape (F, B, n, q), optional
            Representer coefficients; default zero.
        monitor : Monitor, optional
            Receives one row a check of the gaps.

        Returns
        -------
        BatchSolution

        Raises
        ------
        InputError
            Before the first iteration, if the problem does not fit.
        """
        if self.max_iter is None or self.tol is None:
            return self.within(*self.limits).solve_batch(problem, start, monitor)
        self.check(problem)
        follow = Monitor(label=type(self).__name__.lower()) if monitor is None else monitor
        F, n, q, B = problem.shape
        W0 = None if start is None else problem.points(start.expand(F, B, n, q))
        ledger = Ledger.open(problem, self.tol)
        if q == 0:  # all targets coincide with their mean: zero is exact
            ledger.solved |= True
            zero = torch.zeros_like(ledger.limits)
            return BatchSolution(ledger.points, zero, zero, ledger.n_iter, ledger.solved, Reason.CLOSED_FORM)
        per_fold = max(8, min(B, _CHUNK // (n * q)))
        together = max(1, min(F, _CHUNK // (n * q * per_fold)))
        pieces = []
        for first in range(0, F, together):
            for left in range(0, B, per_fold):
                folds, columns = slice(first, min(F, first + together)), slice(left, min(B, left + per_fold))
                part = problem.select(folds, columns)
                piece = Ledger.open(part, self.tol)
                self._run(part, None if W0 is None else W0[folds][..., columns], piece, follow)
                pieces.append((folds, columns, piece))
        stopped = False
        for folds, columns, piece in pieces:
            for name in ("points", "values", "gaps", "n_iter"):
                getattr(ledger, name)[folds, columns] = getattr(piece, name)
            stopped = stopped or piece.stopped
        converged = (ledger.gaps <= ledger.limits) & ledger.gaps.isfinite()
        reason = Reason.GAP if bool(converged.all()) else Reason.TIME if stopped else Reason.MAX_ITER
        return BatchSolution(
            ledger.points, ledger.values, ledger.gaps, ledger.n_iter, converged, reason, follow.finish()
        )

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        return self.solve(problem, start, monitor)

    @abstractmethod
    def _run(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        """Solve a piece of the batch, noting results in the ledger."""
