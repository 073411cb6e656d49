"""Options of the fit of operator-valued machines: losses, regularisers, solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rkhs._core.checks import check_count, check_number
from rkhs._core.errors import InputError, quote
from rkhs.losses import Loss
from rkhs.problems.dual import DualProblem
from rkhs.protocols import Monitor
from rkhs.solvers import GapSolver
from rkhs.solvers.registry import DUAL_SOLVERS, as_solver


@dataclass(frozen=True)
class MachineOptions:
    """Options of the fit of a machine."""

    loss: Loss
    reg: float
    center: bool  # whether the mean of the targets is subtracted
    solver: str | GapSolver
    tol: float  # relative gap
    max_iter: int | None  # largest number of iterations; None: the solver's own
    verbose: int | Literal["auto"] = "auto"

    def grid(
        self, regs: Sequence[float] | np.ndarray | None, losses: Sequence[Loss] | None
    ) -> list[tuple[float, Loss]]:
        """All pairs of regularisers and losses, losses fastest; None: those of these options."""
        many_regs = [self.reg] if regs is None else list(np.atleast_1d(regs))
        many_losses = [self.loss] if losses is None else list(losses)
        if not many_regs or not many_losses:
            raise InputError("regs and losses must not be empty")
        for loss in many_losses:
            if not isinstance(loss, Loss):
                raise InputError(f"losses must hold losses such as Huber(1.0); got {loss!r}")
        return [(check_number(reg, "regs", above=0.0), loss) for reg in many_regs for loss in many_losses]

    def monitor(self, label: str) -> Monitor:
        """A monitor that shows progress."""
        return Monitor(verbose=self.verbose, label=label)

    def solver_for(self, problem: DualProblem) -> GapSolver:
        """The solver of a problem, by its name or as given."""
        given = self.solver
        if isinstance(given, str) and given == "auto":
            given = "direct" if problem.quadratic else "admm" if problem.separable else "fista"
        if not isinstance(given, GapSolver) and not (isinstance(given, str) and given in DUAL_SOLVERS):
            raise InputError(
                f"solver must be one of {', '.join(map(repr, ('auto', *DUAL_SOLVERS)))}, or an object that solves dual "
                f"problems, such as ADMM(); got {quote(given)}"
            )
        max_iter = None if self.max_iter is None else check_count(self.max_iter, "max_iter")
        solver = as_solver(given, DUAL_SOLVERS, max_iter, check_number(self.tol, "tol", at_least=0.0))
        assert isinstance(solver, GapSolver)
        return solver
