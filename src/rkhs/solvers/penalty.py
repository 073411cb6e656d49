"""Quadratic penalty method with warm starts, inner solver Adam or L-BFGS."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rkhs._core.checks import check_choice, check_number
from rkhs._core.errors import InputError
from rkhs.constraints import Stiefel
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.adam import Adam
from rkhs.solvers.base import OnASet, Solver
from rkhs.solvers.lbfgs import LBFGS


@dataclass(eq=False, repr=False)
class QuadraticPenalty(OnASet):
    """Minimise ``J(H) + mu/2 ||H^T H - I||_F^2`` for increasing ``mu``; the solution is projected on the constraint.

    Parameters
    ----------
    inner : {"lbfgs", "adam"}, default="lbfgs"
        Solver of the unconstrained problems.
    mu : float, default=1.0
        First penalty weight.
    growth : float, default=8.0
        Factor of the weight between problems (the paper's ``p``).
    tau : float, default=0.1
        Gradient norm at which the first problem stops; halved for each next one.
    max_outer : int, default=30
        Largest number of problems.
    max_iter : int or None, default=None
        Largest number of iterations of each problem. None: that of the estimator, or 500 in direct use.
    learning_rate : float, default=1e-3
        Of Adam.
    tol : float, default=1e-9
        Stop when ``||H^T H - I||_F^2`` is at most this.
    feasible : bool, default=True
        False: the last point as it is, near the constraint and not on it, as published.

    Raises
    ------
    InputError
        If the penalty function is unbounded below: an inner kernel that grows faster than the penalty, or a first
        weight under the bound that the problem gives.

    Notes
    -----
    The objective is that of the returned point; the history holds the infeasibility before the
    projection.

    References
    ----------
    Tonin et al. (2021), algorithm 1; Nocedal and Wright (2006), framework 17.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Stiefel
    >>> from rkhs.solvers import QuadraticPenalty
    >>> class Trace:
    ...     constraint = Stiefel()
    ...     def value_and_grad(self, H):
    ...         A = torch.diag(torch.tensor([1.0, 2.0, 5.0], dtype=H.dtype))
    ...         return float(-(H.T @ A @ H).trace()), -2.0 * A @ H
    >>> found = QuadraticPenalty(mu=10.0).solve(Trace(), torch.full((3, 1), 3.0**-0.5, dtype=torch.float64))
    >>> round(found.value, 3), found.point.abs().round(decimals=2).ravel()  # largest eigenvalue and its vector
    (-5.0, tensor([0., 0., 1.], dtype=torch.float64))
    """

    sets = Stiefel

    inner: str = "lbfgs"
    mu: float = 1.0
    growth: float = 8.0
    tau: float = 0.1
    max_outer: int = 30
    max_iter: Any = None
    learning_rate: float = 1e-3
    tol: float = 1e-9
    feasible: bool = True

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        mu, tau = self._checked(problem), self.tau
        H, iterations, evaluations, outer = start, 0, 0, 0
        reason = Reason.MAX_ITER
        while outer < self.max_outer:
            penalised = _Penalised(problem, mu)
            value, grad = penalised.value_and_grad(H)
            outer += 1
            done = self._inner_solver(tau, value).solve(penalised, H, _forward(monitor, problem, iterations, mu))
            H, iterations = done.point, iterations + done.n_iter
            evaluations += done.n_evaluations + 1
            if done.reason is Reason.TIME or done.reason is Reason.DIVERGED:
                reason = done.reason
                break
            if manifold.violation(H) ** 2 <= self.tol:
                reason = Reason.GRADIENT
                break
            mu, tau = mu * self.growth, 0.5 * tau
        infeasibility = manifold.violation(H)
        point = manifold.project(H) if self.feasible else H
        value, grad = problem.value_and_grad(point)
        monitor.row(
            iterations,
            value,
            float(manifold.tangent(point, grad).norm()),
            evaluations=evaluations + 1,
            infeasibility=infeasibility,
            mu=mu,
        )
        return Solution(point, value, reason, max(1, iterations), evaluations + 1, history=monitor.finish())

    def _checked(self, problem: Any) -> float:
        check_choice(self.inner, "QuadraticPenalty.inner", ("lbfgs", "adam"))
        check_number(self.tau, "QuadraticPenalty.tau", above=0.0)
        check_number(self.growth, "QuadraticPenalty.growth", above=1.0)
        mu = check_number(self.mu, "QuadraticPenalty.mu", above=0.0)
        bound = problem.penalty_bound() if hasattr(problem, "penalty_bound") else 0.0
        if bound == math.inf:
            raise InputError(
                "the quadratic penalty function is unbounded below: a code kernel grows faster than the penalty. "
                "Use a bounded code kernel such as Gaussian, or solver='subspace'"
            )
        if mu <= bound:
            raise InputError(
                f"QuadraticPenalty.mu must be > {bound:g} for these kernels and eta, else the penalty function is "
                f"unbounded below; got {mu:g}"
            )
        return mu

    def _inner_solver(self, tau: float, value: float) -> Solver:
        tol = tau / max(1.0, abs(value))  # the inner rule is relative to the objective
        if self.inner == "adam":
            # The published rule knows the gradient norm only: no patience.
            return Adam(self.learning_rate, self.max_iter, tol, patience=self.max_iter + 1)
        return LBFGS(self.max_iter, tol)


@dataclass(frozen=True)
class _Penalised:
    problem: Any
    mu: float

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        value, grad = self.problem.value_and_grad(point)
        defect = point.mT @ point
        defect.diagonal().sub_(1.0)
        value += 0.5 * self.mu * float((defect * defect).sum())
        return value, grad.addmm_(point, defect, alpha=2.0 * self.mu)


def _forward(monitor: Monitor, problem: Any, offset: int, mu: float) -> Monitor:
    """A monitor of the inner solver that reports to the outer one."""

    def report(row: dict[str, Any]) -> bool:
        rest = {key: row[key] for key in row if key not in ("iteration", "value", "measure", "seconds")}
        return monitor.row(offset + row["iteration"], row["value"], row["measure"], mu=mu, **rest)

    return Monitor(callback=report)
