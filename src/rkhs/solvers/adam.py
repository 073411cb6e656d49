"""Adam on the full gradient, for comparison and for the papers' settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.base import BETA1, BETA2, Solver


@dataclass(eq=False, repr=False)
class Adam(Solver):
    """Adam: gradient steps scaled by running moments, entry by entry.

    Parameters
    ----------
    learning_rate : float, default=1e-2
        Step length.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 500 alone.
    tol : float or None, default=None
        Stop when the gradient norm is at most ``tol * max(1, |value|)``, or when ``patience`` iterations in a row
        lowered the best objective by at most ``tol`` relatively. None: that of the estimator; 1e-6 alone.
    patience : int, default=20
        See ``tol``.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    Not a descent method: the best point seen is returned.

    References
    ----------
    Kingma and Ba (2015), algorithm 1.
    """

    learning_rate: float = 1e-2
    max_iter: Any = None
    tol: Any = None
    patience: int = 20

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        rate = self.learning_rate
        x, best, best_value = start.clone(), start, math.inf
        first, second = torch.zeros_like(x), torch.zeros_like(x)
        iteration, stalled, reference = 0, 0, math.inf
        reason: Reason | None = None
        while True:
            value, grad = problem.value_and_grad(x)
            measure = float(grad.norm())
            if not (math.isfinite(value) and math.isfinite(measure)):
                reason = Reason.DIVERGED
                break
            if value < best_value:
                best, best_value = x.clone(), value
            # Compared with the best value at the last real decrease, so that many small ones still count.
            falls = reference - best_value > self.tol * abs(best_value)
            reference, stalled = (best_value, 0) if falls else (reference, stalled + 1)
            facts: dict[str, Any] = {"stalled": stalled >= self.patience, "evaluations": iteration + 1}
            reason = self._stop(monitor, iteration, value, measure, max(1.0, abs(value)), **facts)
            if reason is Reason.GRADIENT:
                best, best_value = x, value
            if reason is not None:
                break
            iteration += 1
            first.lerp_(grad, 1.0 - BETA1)
            second.mul_(BETA2).addcmul_(grad, grad, value=1.0 - BETA2)
            scale = (second / (1.0 - BETA2**iteration)).sqrt_().add_(1e-8)
            x.addcdiv_(first, scale, value=-rate / (1.0 - BETA1**iteration))
        return Solution(best, best_value, reason, max(1, iteration), iteration + 1, history=monitor.finish())
