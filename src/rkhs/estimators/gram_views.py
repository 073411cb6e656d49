"""Several Gram matrices of the same items as one argument: read, weighted, and added up at the border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import real_array
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.kernels.bridges.custom import Precomputed
from rkhs.kernels.combined.alignment import view_weights
from rkhs.kernels.operator_valued import OperatorKernel

if TYPE_CHECKING:
    from rkhs.estimators.arguments import Items
    from rkhs.estimators.base import KernelEstimator

__all__ = ["has_views", "join_new_views", "join_training_views"]


def has_views(X: Any) -> bool:
    """Whether X, read as kernel values, is a list of matrices or a stack of them, shape (v, m, n)."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(_is_matrix(K) for K in X)
    return len(getattr(X, "shape", ())) == 3


def _is_matrix(K: Items) -> bool:
    if isinstance(K, (list, tuple)):
        return bool(K) and isinstance(K[0], (list, tuple))
    return len(getattr(K, "shape", ())) == 2


def join_training_views(model: KernelEstimator, X: Any, kernel: Kernel | OperatorKernel) -> Any:
    """One Gram matrix from several, and their multipliers in ``view_weights_``; a single matrix passes unchanged."""
    if not has_views(X):
        return X
    views = _matrices(X, "X")
    found = [part for part in (kernel, *kernel.get_params(deep=True).values()) if isinstance(part, Precomputed)]
    rule = found[0].views if found else "alignment"
    model.view_weights_ = view_weights(views, rule)
    return _sum(views, model.view_weights_)


def join_new_views(model: KernelEstimator, X: Any, name: str = "X") -> Any:
    """Kernel values with the training items, added up as in fit."""
    m = getattr(model, "view_weights_", None)
    if m is None:
        if has_views(X):
            raise InputError(f"{name} must be one matrix of kernel values: the model was fitted on one Gram matrix")
        return X
    if not has_views(X) or len(X) != len(m):
        got = f"{len(X)}" if has_views(X) else "no such list"
        raise InputError(
            f"{name} must be {len(m)} matrices of kernel values (m, n), one a view, as in fit; got {got}. Pass them "
            f"in a list"
        )
    return _sum(_matrices(X, name), m)


def _matrices(X: Any, name: str) -> list[np.ndarray]:
    views = [real_array(as_numpy(K, name), f"{name}[{i}]") for i, K in enumerate(X)]
    for i, K in enumerate(views):
        if K.shape != views[0].shape:
            raise InputError(
                f"{name} must hold matrices of one shape, of the same items; {name}[{i}] has shape {K.shape} and "
                f"{name}[0] "
                f"{views[0].shape}"
            )
        if not np.isfinite(K).all():
            raise InputError(f"{name}[{i}] must be finite; got NaN or infinity")
    return views


def _sum(views: list[np.ndarray], multipliers: np.ndarray) -> np.ndarray:
    total = np.zeros(views[0].shape)
    for K, m in zip(views, multipliers, strict=True):
        total += m * K
    return total
