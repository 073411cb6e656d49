"""Accelerated proximal gradient with restart: any kernel and loss, one product with the Gram matrices per iteration."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.solvers.batched import GapSolver, Iterates


class FISTA(GapSolver):
    """Fast iterative shrinkage-thresholding with gradient restart, every problem of a batch at once.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator, or 1e-6 in direct use.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 10000 in direct use.
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

    def _begin(self, problem: Any, start: Tensor | None) -> Iterates:
        return _Steps(problem, start, accelerates=self._accelerates)


class ProximalGradient(FISTA):
    """Algorithm 1 of the duality paper, with threshold ``step * epsilon`` where it prints ``epsilon``.

    With the printed threshold the limit is not the solution: the duality gap stays positive.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator, or 1e-6 in direct use.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 100000 in direct use.
    check_every : int, default=20
        Iterations between two computations of the gaps.

    References
    ----------
    Laforgue et al. (2020), algorithm 1; ``docs/papers/duality_robust_losses.md`` for the correction.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import ProximalGradient
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    >>> ProximalGradient().solve(dual_problem([(K, None)], Y, Huber(10.0), 0.5)).point.ravel()
    tensor([0.5000, 1.0000], dtype=torch.float64)
    """

    limits: ClassVar[tuple[int, float]] = (100_000, 1e-6)
    _accelerates = False

    def __init__(self, tol: float | None = None, max_iter: int | None = None, check_every: int = 20) -> None:
        super().__init__(tol, max_iter, check_every)


class _Steps(Iterates):
    """Points ``W``, extrapolated points ``V``, the sizes ``t`` of momentum, and lengths of steps."""

    def __init__(self, problem: Any, start: Tensor | None, *, accelerates: bool) -> None:
        super().__init__(problem)
        self.W = self.V = problem.targets.new_zeros(problem.shape) if start is None else start.clone()
        self.t, self.length, self.accelerates = self.W.new_ones(self.W.shape[2]), 1.0 / problem.lipschitz(), accelerates

    def step(self, *, measure: bool) -> None:
        problem, V, W, t = self.problem, self.V, self.W, self.t
        gradient = problem.apply(V) + problem.rows.curvature * V - problem.targets[..., None]
        self.W = self.V = new = problem.prox(V - self.length * gradient, self.length)
        if self.accelerates:
            uphill = torch.linalg.vecdot(V - new, new - W, dim=1).sum(0) > 0.0
            t = torch.where(uphill, 1.0, t)
            self.t = 0.5 * (1.0 + torch.sqrt(1.0 + 4.0 * t * t))
            self.V = new + torch.where(uphill, 0.0, (t - 1.0) / self.t) * (new - W)

    def feasible(self) -> Tensor:
        return self.W
