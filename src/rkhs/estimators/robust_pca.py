"""What a robust or sparse kernel PCA adds to the plain one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs._core.checks import check_seed
from rkhs._core.errors import CollapseWarning, InputError
from rkhs._core.linalg import center_gram, factorize, polar, principal_axes
from rkhs.estimators.loss_choice import typical_norm
from rkhs.losses import MaximumMargin, Squared, as_loss
from rkhs.problems.robust_pca import RobustPCA
from rkhs.solvers.linearised import Linearised

__all__ = ["fit_robust"]


def fit_robust(model: Any, K: Tensor, weights: Tensor | None) -> None:
    """Replace the components of a fitted kernel PCA by those of its loss, unless that is the squared one.

    Parameters
    ----------
    model : KernelPCA
        With the components of the squared loss, which are the first start.
    K : Tensor of shape (n, n)
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one.

    Raises
    ------
    InputError
        For a loss that depends on more than the codes.

    References
    ----------
    Toland (1979); see :class:`~rkhs.problems.robust_pca.RobustPCA`.
    """
    loss = as_loss(model.loss)
    if isinstance(loss, Squared):
        return
    if isinstance(loss, MaximumMargin):
        raise InputError(f"loss must be a function of the codes alone; got {loss!r}. Use Huber(1.0)")
    mean = K.new_full((len(K),), 1.0 / len(K)) if weights is None else weights
    if loss.automatic:
        first, offset = (to_tensor(a, **model._options) for a in (model.dual_coef_, model.intercept_))
        loss = loss.resolve(typical_norm(K @ first + offset, weights))
    model.loss_ = loss
    F = factorize(center_gram(K, weights) if model.center else K).matrix
    problem = RobustPCA(F, loss, mean)
    rng, best = check_seed(model.random_state), None
    size = min(model.n_components_, F.shape[1])
    for attempt in range(model.n_init):
        start = F.mT @ to_tensor(model.dual_coef_[:, :size], **model._options)
        if attempt:
            start = torch.as_tensor(rng.standard_normal(start.shape)).to(start)
        tol = max(1e-10, 10.0 * torch.finfo(K.dtype).eps)
        solution = Linearised(tol).solve(problem, polar(start))
        best = solution if best is None or solution.value < best.value else best
    assert best is not None
    A = problem.coefficients(best.point)
    A = A @ principal_axes(F @ (F.mT @ A), weights)
    A = torch.cat([A, A.new_zeros(len(A), model.n_components_ - size)], 1)
    Z = F @ (F.mT @ A)
    dual = A - mean[:, None] * A.sum(0) if model.center else A
    gram_mean = to_tensor(model.gram_mean_, **model._options)
    total = float(np.mean(model.total_))
    variance = (mean @ (Z * Z)).cpu().numpy()
    share = float(mean @ (F * F).sum(1))
    model.dual_coef_ = dual.cpu().numpy()
    model.intercept_ = (-(gram_mean @ dual) + total * dual.sum(0)).cpu().numpy()
    model.codes_ = model._to_output(Z)
    model.explained_variance_, model.eigenvalues_ = variance, variance * len(K)
    model.explained_variance_ratio_ = variance / share if share > 0.0 else np.zeros_like(variance)
    model.support_ = (A != 0.0).any(1).nonzero()[:, 0].cpu().numpy()
    model._record(best)
    model.stationarity_ = problem.step(best.point)[1]
    if not len(model.support_) and share > 0.0:
        warnings.warn(f"no projection is large enough for {loss!r}: all codes are zero", CollapseWarning, stacklevel=3)
