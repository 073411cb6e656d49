"""The last layer at fixed codes for any convex loss: an operator-valued machine, solved by its dual."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from rkhs._core.linalg import square_root
from rkhs.losses import Canonical, Loss
from rkhs.problems.decoder import Decoder
from rkhs.problems.dual import DualProblem, dual_problem
from rkhs.protocols import Reason, Solution


class DualSolver(Protocol):
    """Solves one dual problem to a small gap, from the coefficients of a neighbouring one."""

    def solve(self, problem: DualProblem, start: Tensor | None = None) -> Solution:
        """Representer coefficients of shape (n, r), primal objective and duality gap."""


class RobustDecoder:
    """Minimise ``sum_i w_i loss(t_i - (K Phi A)_i) + reg / 2 <K, Phi A Phi^T>`` over ``Phi``."""

    def __init__(self, loss: Loss, solver: Any) -> None:
        self.loss = loss
        self.solver: DualSolver = solver
        self._previous: Tensor | None = None
        self._bent = not isinstance(loss, Canonical) or loss.dual_parameters[:2] != (1.0, 0.0)

    def __call__(
        self, K: Tensor, codes: Tensor, target: Tensor, reg: float, operator: Tensor | None, weights: Tensor | None
    ) -> Decoder:
        """Solve at the given codes; arguments as in :func:`~rkhs.problems.decoder.optimal_decoder`."""
        n = target.shape[0]
        given = None if weights is None else weights * n
        problem = dual_problem([(K, operator)], target, self.loss, reg, given)
        previous = self._previous if self._previous is not None and self._previous.shape == target.shape else None
        solution = self.solver.solve(problem, previous)
        Phi = solution.point
        gap = float(solution.gap or 0.0)
        norms = torch.linalg.vector_norm(problem.points(Phi[None]), dim=1)
        saturated = (norms >= problem.rows.caps() * (1.0 - 1e-9)) & (norms > 0)
        # Where no row is cut the squared loss gives the answer, which is the solver's own start and exact.
        self._previous = Phi if self._bent or bool(saturated.any()) else None
        return Decoder(
            Phi if operator is None else Phi @ operator,
            Phi if operator is None else Phi @ square_root(operator),
            solution.value - gap,
            Phi,
            gap,
            saturated[:, 0],
            solution.reason in (Reason.GAP, Reason.CLOSED_FORM),
        )
