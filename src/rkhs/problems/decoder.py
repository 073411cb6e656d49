"""The last layer at fixed codes, with every operator and weight: a linear system, or the dual of a convex loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rkhs._core.linalg import solve_positive, square_root
from rkhs.losses import EpsilonHuberLoss, Loss
from rkhs.problems.dual import dual_problem
from rkhs.protocols import Reason


@dataclass(frozen=True)
class Decoder:
    """The optimal last layer at given codes."""

    coefficients: Tensor  # (n, r): ``Phi A``: predictions are ``k(z, Z) Phi A``
    root: Tensor  # (n, r): ``Phi A^(1/2)``, so that ``N = root root^T``
    value: float  # ``reg / 2 <T, Phi>``, the optimum of loss plus penalty
    parameters: Tensor  # (n, r): ``Phi`` itself
    gap: float = 0.0  # duality gap
    saturated: Tensor | None = None  # (n,): rows where the loss is linear
    solved: bool = True  # whether the gap is within the tolerance
    linear: Tensor | None = None  # of a semi-parametric layer: predictions are ``k(z, Z) Phi A + [z, 1] linear``


def optimal_decoder(
    K: Tensor, codes: Tensor, target: Tensor, reg: float, operator: Tensor | None, weights: Tensor | None
) -> Decoder:
    """Minimise ``sum_i w_i 1/2 ||t_i - (K Phi A)_i||^2 + reg / 2 <K, Phi A Phi^T>`` over ``Phi``."""
    n, T = target.shape[0], target
    if operator is None:
        K.diagonal().add_(n * reg if weights is None else reg / weights)
        Phi = solve_positive(K, T, name="the decoder system K + n reg I")
        return Decoder(Phi, Phi, 0.5 * reg * float((T * Phi).sum()), Phi)
    w = weights.sqrt() if weights is not None else T.new_full((n,), n**-0.5)
    s, U = torch.linalg.eigh(w[:, None] * K * w[None, :])
    a, Q = torch.linalg.eigh(operator)
    Y = U.mT @ (w[:, None] * T) @ Q
    Phi = w[:, None] * (U @ (Y / (torch.outer(s.clamp_min(0.0), a.clamp_min(0.0)) + reg)) @ Q.mT)
    return Decoder(Phi @ operator, Phi @ square_root(operator), 0.5 * reg * float((T * Phi).sum()), Phi)


class RobustDecoder:
    """Minimise ``sum_i w_i loss(t_i - (K Phi A)_i) + reg / 2 <K, Phi A Phi^T>`` over ``Phi``."""

    def __init__(self, loss: Loss, solver: Any) -> None:
        self.loss, self.solver = loss, solver  # of dual problems
        self._previous: Tensor | None = None
        self._not_quadratic_at_zero = not isinstance(loss, EpsilonHuberLoss) or loss.dual_parameters[:2] != (1.0, 0.0)

    def __call__(
        self, K: Tensor, codes: Tensor, target: Tensor, reg: float, operator: Tensor | None, weights: Tensor | None
    ) -> Decoder:
        """Solve at the given codes; arguments as in :func:`optimal_decoder`."""
        scaled_weights = None if weights is None else weights * target.shape[0]
        problem = dual_problem([(K, operator)], target, self.loss, reg, scaled_weights)
        previous = self._previous if self._previous is not None and self._previous.shape == target.shape else None
        solution = self.solver.solve(problem, previous)  # to a small gap
        Phi = solution.point
        gap = float(solution.gap or 0.0)
        norms = torch.linalg.vector_norm(problem.points(Phi[None]), dim=1)
        saturated = (norms >= problem.rows.caps() * (1.0 - 1e-9)) & (norms > 0)
        # If no row is saturated, the solution is that of the squared loss, with which the solver starts by default.
        self._previous = Phi if self._not_quadratic_at_zero or bool(saturated.any()) else None
        return Decoder(
            Phi if operator is None else Phi @ operator,
            Phi if operator is None else Phi @ square_root(operator),
            solution.value - gap,
            Phi,
            gap,
            saturated[:, 0],
            solution.reason in (Reason.GAP, Reason.CLOSED_FORM),
        )
