"""Accelerated proximal gradient with restart: any kernel, any loss, one product with the Gram matrices an iteration."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs.protocols import Monitor
from rkhs.solvers.batched import GapSolver, Ledger


class FISTA(GapSolver):
    """Fast iterative shrinkage-thresholding with gradient restart, every problem of a batch at once.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 10000 alone.
    check_every : int, default=10
        Iterations between two computations of the gaps.

    References
    ----------
    Beck and Teboulle (2009), algorithm FISTA; O'Donoghue and Candes (2015), gradient restart.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import EpsilonInsensitive
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import FISTA
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    >>> FISTA().solve(dual_problem([(K, None)], Y, EpsilonInsensitive(3.0), 0.1)).point
    tensor([[0.],
            [0.]], dtype=torch.float64)
    """

    _accelerates = True

    def __init__(self, tol: float | None = None, max_iter: int | None = None, check_every: int = 10) -> None:
        super().__init__(tol, max_iter)
        self.check_every = check_every

    def _run(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        W = problem.targets.new_zeros(problem.shape) if start is None else start.clone()
        V, t = W, W.new_ones(W.shape[0], W.shape[3])
        step = 1.0 / problem.lipschitz()
        for iteration in range(1, self.max_iter + 1):
            gradient = problem.apply(V) + _wide(problem.rows.curvature) * V - problem.targets[..., None]
            new = problem.prox(V - _wide(step) * gradient, step)
            if self._accelerates:
                uphill = torch.linalg.vecdot(V - new, new - W, dim=2).sum(1) > 0.0
                t = torch.where(uphill, 1.0, t)
                ahead = 0.5 * (1.0 + torch.sqrt(1.0 + 4.0 * t * t))
                momentum = torch.where(uphill, 0.0, (t - 1.0) / ahead)
                V, W, t = new + _wide(momentum) * (new - W), new, ahead
            else:
                V = W = new
            if iteration % self.check_every and iteration not in (1, self.max_iter):
                continue
            open_ = ledger.record(problem, W, iteration, monitor)
            if not len(ledger.columns):
                return
            if open_ is not None:
                columns = open_.nonzero()[:, 0]
                problem = problem.select(slice(0, W.shape[0]), columns)
                W, V, t, step = W[..., columns], V[..., columns], t[:, columns], step[:, columns]
        ledger.close(problem, W, self.max_iter)


def _wide(values: Tensor) -> Tensor:
    """One number a problem, shape (F, B), against tensors of shape (F, n, q, B)."""
    return values[:, None, None, :]
