"""Block coordinate descent: one row of the dual variable at a time, each minimised exactly."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.protocols import HasEigenbasis, Monitor
from rkhs.solvers.batched import GapSolver, Ledger


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

    def _run(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        W = problem.targets.new_zeros(problem.shape) if start is None else start.clone()
        for sweep in range(1, self.max_iter + 1):
            _sweep(problem, W)
            if sweep % self.check_every and sweep not in (1, self.max_iter):
                continue
            open_ = ledger.record(problem, W, sweep, monitor)
            if not len(ledger.columns):
                return
            if open_ is not None:
                columns = open_.nonzero()[:, 0]
                problem, W = problem.select(slice(0, W.shape[0]), columns), W[..., columns].contiguous()
        ledger.close(problem, W, self.max_iter)


def _sweep(problem: Any, W: Tensor) -> None:
    """Minimise over each row in turn, in place."""
    K = problem.grams[0] * problem.operators[0][0]
    F, n, q, B = W.shape
    curvature = problem.rows.curvature
    flat = W.view(F, n, q * B)
    for i in range(n):
        fit = torch.bmm(K[:, i : i + 1], flat).view(F, q, B)
        diagonal = K[:, i, i, None] + curvature
        safe = diagonal.clamp_min(torch.finfo(W.dtype).tiny)
        gradient = fit + curvature[:, None, :] * W[:, i] - problem.targets[:, i, :, None]
        W[:, i] = problem.prox_row(W[:, i] - gradient / safe[:, None, :], 1.0 / safe, i)
