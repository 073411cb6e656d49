"""Adam on gradients of batches, in all coefficients or in some, with step lengths that fall to zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import HasBatches, Monitor, Reason, Solution
from rkhs.solvers.base import BETA1, BETA2, Solver


@dataclass(eq=False, repr=False)
class MiniBatch(Solver):
    """Adam on a new batch of rows at every step; the step length falls along a half cosine to zero at the last one.

    Parameters
    ----------
    batch_size : int, default=1024
        Rows of one step.
    learning_rate : float, default=3e-2
        Length of the first steps.
    max_iter : int or None, default=None
        Number of steps. None: that of the estimator; 500 alone.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.features import Nystroem
    >>> from rkhs.solvers import MiniBatch
    >>> solver = MiniBatch(batch_size=50, max_iter=40)
    >>> model = KernelAutoencoder(2, reg=1e-3, storage=Nystroem(40), solver=solver).fit(load_iris().data)
    >>> model.n_iter_, model.codes_.shape
    (40, (150, 2))
    """

    requires: ClassVar[tuple[type, ...]] = (HasBatches,)

    batch_size: int = 1024
    learning_rate: float = 3e-2
    max_iter: Any = None
    coefficient_share = 1.0

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        rate, steps = self.learning_rate, self.max_iter
        x, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        updates = start.new_zeros(len(start), *(1,) * (start.ndim - 1), dtype=torch.float64)
        reason, step, value = Reason.SCHEDULE, 0, math.inf
        for step in range(steps):
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
            first[rows] = mean = first[rows].lerp(grad, 1.0 - BETA1)
            second[rows] = square = (second[rows] * BETA2).addcmul_(grad, grad, value=1.0 - BETA2)
            scale = (square / (1.0 - BETA2**count)).sqrt_().add_(1e-8) * (1.0 - BETA1**count)
            length = rate * 0.5 * (1.0 + math.cos(math.pi * step / steps))
            x[rows] -= length * mean / scale
        return Solution(x, value, reason, step + 1, step + 1, history=monitor.finish())


class DoublyStochastic(MiniBatch):
    """:class:`MiniBatch` that draws, at every step, also the coefficients that it updates.

    Parameters
    ----------
    batch_size, learning_rate, max_iter : int, float, int or None
        As of :class:`MiniBatch`, with its defaults.
    coefficient_share : float, default=0.25
        Share of the coefficients that one step updates, above 0 and at most 1.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    The coefficients of one step are a drawn set of rows of the point, with moments of their own.

    References
    ----------
    Dai et al. (2014), "Scalable kernel methods via doubly stochastic gradients"; Kingma and Ba (2015), algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.features import RandomFeatures
    >>> from rkhs.solvers import DoublyStochastic
    >>> solver = DoublyStochastic(batch_size=50, coefficient_share=0.5, max_iter=40)
    >>> model = KernelAutoencoder(2, reg=1e-3, storage=RandomFeatures(100), solver=solver).fit(load_iris().data)
    >>> model.n_iter_
    40
    """

    def __init__(
        self,
        batch_size: int = 1024,
        learning_rate: float = 3e-2,
        coefficient_share: float = 0.25,
        max_iter: int | None = None,
    ) -> None:
        super().__init__(batch_size, learning_rate, max_iter)
        self.coefficient_share = coefficient_share
