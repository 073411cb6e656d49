"""Robust kernel PCA: components under a loss other than the squared one, started from kernel PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rkhs._core.errors import CollapseWarning, InputError, warn
from rkhs._core.linalg import center_gram, factorize, polar, principal_axes
from rkhs.losses import Loss
from rkhs.models import RobustFacts
from rkhs.problems.robust_pca import RobustPCA
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.selection.loss_scale import typical_norm
from rkhs.spaces import Components, WholeSpace


def robust_components(
    space: WholeSpace, first: Components, loss: Loss, *, center: bool
) -> tuple[Components, RobustFacts, Solution]:
    """Maximise the mean loss of the scores in place of their variance."""
    if loss.of_targets:
        raise InputError(f"loss must be a function of the codes alone; got {loss!r}. Use Huber(1.0)")
    K, weights, mean, width = space.gram.dense(), space.weights, space.mean_weights, len(first.variances)
    if loss.automatic:
        loss = loss.resolve(typical_norm(K @ first.coefficients + first.shift, weights))
    F = factorize(center_gram(K, weights) if center else K).matrix
    problem = RobustPCA(F, loss, mean)
    size = min(width, F.shape[1])
    start, tol = F.mT @ first.coefficients[:, :size], max(1e-10, 10.0 * torch.finfo(K.dtype).eps)
    best = linearised(problem, polar(start), tol)
    A = problem.coefficients(best.point)
    A = A @ principal_axes(F @ (F.mT @ A), weights)
    A = torch.cat([A, A.new_zeros(len(A), width - size)], 1)
    Z = F @ (F.mT @ A)
    dual = A - mean[:, None] * A.sum(0) if center else A
    total = float(mean @ (F * F).sum(1))
    components = replace(
        first,
        coefficients=dual,
        shift=-(first.raw_mean @ dual) + first.mean_norm * dual.sum(0),
        scores=Z,
        variances=mean @ (Z * Z),
        total=total,
    )
    support = (A != 0.0).any(1).nonzero()[:, 0]
    if not len(support) and total > 0.0:
        warn(f"no projection is large enough for {loss!r}: all codes are zero", CollapseWarning)
    return components, RobustFacts(loss, support.cpu().numpy(), problem.step(best.point)[1]), best


def linearised(problem: Any, start: Tensor, tol: float, max_iter: int = 5000) -> Solution:
    """Repeat ``V <- argmax <V, f'(V_old)>``: each step is in closed form and never makes the objective worse."""
    monitor, V, reason, iteration = Monitor(label="linearised"), start, Reason.MAX_ITER, 0
    for iteration in range(1, max_iter + 1):
        new, stationarity = problem.step(V)
        value = problem.value(V)
        monitor.row(iteration, value, stationarity)
        if stationarity <= tol * abs(value):
            reason = Reason.GRADIENT
            break
        V = new
    return Solution(V, problem.value(V), reason, iteration, iteration, history=monitor.finish())
