"""Projected gradient with backtracking, for any constraint with a projection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from rkhs._core.checks import check_number
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.base import OnASet

_MAX_TRIALS = 60
_LARGEST_STEP = 1e12  # a concave objective passes every test: the step then means "project minus the gradient"


@dataclass(eq=False, repr=False)
class ProjectedGradient(OnASet):
    """Projected gradient, ``H+ = project(H - g grad J(H))``, the step ``g`` by backtracking.

    ``g`` is halved until ``J(H+) <= J(H) + <grad J, H+ - H> + ||H+ - H||^2 / (2 g)``; the next search starts at
    ``growth`` times the step that passed.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 2000 in direct use.
    tol : float or None, default=None
        Stop when the norm of the Riemannian gradient is at most ``tol * max(1, |value|)``. None: that of the
        estimator, or 1e-8 in direct use.
    growth : float, default=1.5
        Factor of the step between iterations; one is the published rule.

    References
    ----------
    Tonin et al. (2021), section 4.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Stiefel
    >>> from rkhs.solvers import ProjectedGradient
    >>> class Trace:
    ...     constraint = Stiefel()
    ...     def value_and_grad(self, H):
    ...         A = torch.diag(torch.tensor([1.0, 2.0, 5.0]))
    ...         return float(-(H.T @ A @ H).trace()), -2.0 * A @ H
    >>> found = ProjectedGradient(tol=1e-4).solve(Trace(), torch.full((3, 1), 3.0**-0.5))
    >>> round(found.value, 3), found.point.abs().round(decimals=2).ravel()  # largest eigenvalue and its vector
    (-5.0, tensor([0., 0., 1.]))
    """

    limits: ClassVar[tuple[int, float]] = (2000, 1e-8)

    max_iter: Any = None
    tol: Any = None
    growth: float = 1.5

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        step, growth = 1.0, check_number(self.growth, "ProjectedGradient.growth", at_least=1.0)
        x = manifold.project(start)
        value, grad = problem.value_and_grad(x)
        evaluations, iteration = 1, 0
        while True:
            measure = float(manifold.tangent(x, grad).norm())
            facts: dict[str, Any] = {"evaluations": evaluations, "infeasibility": manifold.violation(x), "step": step}
            reason = self._stop(monitor, iteration, value, measure, max(1.0, abs(value)), **facts)
            if reason is not None:
                break
            for _ in range(_MAX_TRIALS):
                point = manifold.project(x - step * grad)
                new, new_grad = problem.value_and_grad(point)
                evaluations += 1
                moved = point - x
                square = float((moved * moved).sum())
                bound = value + float((grad * moved).sum()) + 0.5 / step * square
                if math.isfinite(new) and new <= bound + 4e-16 * abs(value):
                    break
                step *= 0.5
            else:
                reason = Reason.LINE_SEARCH
                break
            x, value, grad = point, new, new_grad
            iteration += 1
            step = min(step * growth, _LARGEST_STEP)
        return Solution(x, value, reason, max(1, iteration), evaluations, history=monitor.finish())
