"""Adam on gradients of batches, with step lengths that fall to zero."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import HasBatches, Monitor, Reason, Solution
from rkhs.solvers.base import Solver

__all__ = ["MiniBatch"]


class MiniBatch(Solver):
    """Adam on a new batch at every step; the step length falls along a half cosine to zero at the last one.

    A problem may give the gradient of some rows of the point only. The others, and their moments, then stay as they
    are, and each row is corrected for the moments that start at zero by its own number of updates: for every row it is
    Adam on the steps that drew it.

    Parameters
    ----------
    learning_rate : float, default=1e-2
        Length of the first steps.
    max_iter : int, default=500
        Number of steps.
    beta1, beta2 : float, default=0.9, 0.999
        Decay of the first and second moment, at least 0 and under 1.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    The value is that of the last batches; the caller knows the whole objective.

    References
    ----------
    Kingma and Ba (2015), algorithm 1; Loshchilov and Hutter (2017), equation 5, for the step lengths.
    """

    requires: ClassVar[tuple[type, ...]] = (HasBatches,)

    def __init__(
        self, learning_rate: float = 1e-2, max_iter: int = 500, beta1: float = 0.9, beta2: float = 0.999
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.beta1 = beta1
        self.beta2 = beta2

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        rate, beta1, beta2, steps = self.learning_rate, self.beta1, self.beta2, self.max_iter
        x, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        updates = start.new_zeros(len(start), *(1,) * (start.ndim - 1), dtype=torch.float64)
        reason, begin, step, value = Reason.SCHEDULE, 0, 0, math.inf
        kept = problem.resume()
        if kept is not None:
            begin, state = kept
            x, first, second = (state[name].to(start) for name in ("x", "first", "second"))
            updates = state["updates"].to(updates)
        for step in range(begin, steps):
            problem.keep(step, lambda: {"x": x, "first": first, "second": second, "updates": updates})
            value, grad, rows = problem.batch_value_and_grad(x, step)
            measure = float(grad.norm())
            if not (math.isfinite(value) and math.isfinite(measure)):
                reason = Reason.DIVERGED
                break
            if monitor.row(step, value, measure, evaluations=step + 1):
                reason = Reason.TIME
                break
            updates[rows] += 1.0
            count = updates[rows]
            first[rows] = mean = first[rows].lerp(grad, 1.0 - beta1)
            second[rows] = square = (second[rows] * beta2).addcmul_(grad, grad, value=1.0 - beta2)
            scale = (square / (1.0 - beta2**count)).sqrt_().add_(1e-8) * (1.0 - beta1**count)
            length = rate * 0.5 * (1.0 + math.cos(math.pi * step / steps))
            x[rows] -= length * mean / scale
        return Solution(x, value, reason, step + 1, step + 1, history=monitor.finish())
