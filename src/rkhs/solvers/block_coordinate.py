"""Block coordinate descent: one row of the dual variable at a time, each minimised exactly."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.protocols import HasEigenbasis
from rkhs.solvers.batched import GapSolver, Iterates


class BlockCoordinate(GapSolver):
    """Cyclic exact minimisation over rows, ``W_i <- prox_{1/L_i}((Y_i - sum_{j != i} K_ij W_j) / L_i)``.

    It needs a kernel ``k I``: with another operator the row problem has no closed form. One iteration is one sweep.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of sweeps. None: that of the estimator; 5000 alone.
    check_every : int, default=5
        Sweeps between two computations of the gaps.

    References
    ----------
    Tseng (2001).

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import SquaredEpsilonInsensitive
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import BlockCoordinate
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    >>> BlockCoordinate().solve(dual_problem([(K, None)], Y, SquaredEpsilonInsensitive(1.0), 0.5)).point.ravel()
    tensor([0., 1.], dtype=torch.float64)
    """

    requires: ClassVar[tuple[type, ...]] = (HasEigenbasis,)

    limits = (5000, 1e-6)

    def __init__(self, tol: float | None = None, max_iter: int | None = None, check_every: int = 5) -> None:
        super().__init__(tol, max_iter)
        self.check_every = check_every

    def check(self, problem: Any) -> None:
        super().check(problem)
        A = problem.operators[0]
        if not problem.separable or not bool(torch.all(A[:1] == A)):
            raise InputError(
                "BlockCoordinate needs a kernel k(x, x') I; got an operator or a sum. Use solver='admm' or 'fista'"
            )

    def _begin(self, problem: Any, start: Tensor | None) -> Iterates:
        return _Sweeps(problem, start)


class _Sweeps(Iterates):
    """Points, of which every step changes one row after the other."""

    def __init__(self, problem: Any, start: Tensor | None) -> None:
        super().__init__(problem)
        self.W = problem.targets.new_zeros(problem.shape) if start is None else start.clone()

    def step(self, *, measure: bool) -> None:
        problem, W = self.problem, self.W
        K, curvature, flat = problem.grams[0] * problem.operators[0][0], problem.rows.curvature, W.view(len(W), -1)
        for i in range(len(W)):
            diagonal = K[i, i] + curvature
            safe = diagonal.clamp_min(torch.finfo(W.dtype).tiny)
            gradient = (K[i] @ flat).view_as(W[i]) + curvature * W[i] - problem.targets[i, :, None]
            W[i] = problem.prox_row(W[i] - gradient / safe, 1.0 / safe, i)

    def feasible(self) -> Tensor:
        return self.W
