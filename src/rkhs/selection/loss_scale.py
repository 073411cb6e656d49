"""Scale of residuals for the parameters of losses: the typical size of a residual that is no outlier.

Training residuals mislead if outliers are interpolated. The median norm of the leave-one-out residuals of the
squared loss, ``phi_i / P_ii`` with ``P = (K + reg diag(1/w))^-1``, is not moved by fewer than half of the rows. But
outliers change the fit, and so the residuals of all others. The machine is therefore refitted without them, as long as
this reduces the median.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.copies import copies as copies, warn_of_repeats as warn_of_repeats
from rkhs._core.linalg import cholesky

_FAR = 3.0  # a residual above this multiple of the typical one is that of an outlier
_SMALLER = 0.9  # a refit without outliers counts if it reduces the typical residual at least to this share
_ROUNDS = 5  # largest number of refits


def typical_residual(
    K: Tensor, T: Tensor, reg: float, weights: Tensor | None, groups: np.ndarray | None = None, *, center: bool
) -> tuple[float, Tensor]:
    """Size of a residual of ridge regression of ``T`` (n, r), and the mean (r,) of the targets that are no outliers."""
    first, _, w = merged_copies(groups, K.new_full((len(K),), 1.0 / len(K)) if weights is None else weights)
    given, w = first[w > 0.0], w[w > 0.0]
    K, T = K[given][:, given], T[given]

    def residuals(kept: Tensor, targets: Tensor) -> Tensor:
        rows = kept.nonzero()[:, 0]
        W = K[rows][:, rows]
        W.diagonal().add_(reg / w[rows])
        P = torch.cholesky_inverse(cholesky(W, name="the system K + n reg I")[0])
        dual = P @ targets[rows]
        # A row is left out with all of its weight and its copies, so that only ratios of the weights count.
        return (targets - K[:, rows] @ dual).index_copy(0, rows, dual / P.diagonal()[:, None])

    return typical_size(residuals, T, w, center=center)


def typical_size(
    residuals: Callable[[Tensor, Tensor], Tensor], T: Tensor, w: Tensor, *, center: bool
) -> tuple[float, Tensor]:
    """The same for any machine; ``residuals(kept, T)``: leave-one-out residuals (n, r) of a fit to these rows."""
    left = residuals(w > 0.0, T)
    size, mean = typical_norm(left, w), torch.zeros_like(T[0])
    for _ in range(_ROUNDS):
        inliers = torch.linalg.vector_norm(left, dim=1) <= _FAR * size
        share = w * inliers
        if float(share.sum()) >= float(w.sum()) or float(share.sum()) <= 0.0:
            break
        mean = share @ T / share.sum()
        left = residuals(inliers & (w > 0.0), T - mean if center else T)
        smaller = typical_norm(left, w)
        if smaller > _SMALLER * size:
            break
        size = smaller
    return size, mean


def typical_norm(rows: Tensor, weights: Tensor | None = None) -> float:
    """Weighted median norm of rows; of the non-zero rows if half of them are zero, and 1 if all are zero."""
    norms = torch.linalg.vector_norm(rows, dim=1)
    w = torch.ones_like(norms) if weights is None else weights
    if float(w[norms > 0.0].sum()) <= 0.5 * float(w.sum()):
        norms, w = norms[norms > 0.0], w[norms > 0.0]
    if len(norms) == 0:
        return 1.0
    order = torch.argsort(norms)
    share = torch.cumsum(w[order], 0) / w.sum()
    return float(norms[order][int((share >= 0.5 - 1e-12).to(torch.uint8).argmax())])


def effective_gram(
    grams: Sequence[Tensor], operators: Sequence[np.ndarray | Tensor | None], T: Tensor, weights: Tensor | None = None
) -> Tensor:
    """``sum_t K_t <T A_t, T> / <T, T>``: each operator is replaced by its mean on the targets."""
    K = torch.zeros_like(grams[0])
    for gram, A in zip(grams, operators, strict=True):
        K += gram if A is None else gram * mean_factor(A, T, weights)
    return K


def mean_factor(A: np.ndarray | Tensor | None, T: Tensor, weights: Tensor | None) -> float:
    """Mean ``<T A, T> / <T, T>`` of an operator on weighted targets; 1 for the identity, None."""
    if A is None:
        return 1.0
    W = T if weights is None else T * weights[:, None]
    return float(((T @ tensor_like(A, T)) * W).sum()) / max(float((T * W).sum()), 1e-300)


def merged_copies(groups: np.ndarray | None, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """First item of each group, group of each item, and weights of the groups."""
    numbers = np.arange(len(weights)) if groups is None else groups
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    where = torch.as_tensor(place.reshape(-1), device=weights.device)
    return (
        torch.as_tensor(first, device=weights.device),
        where,
        weights.new_zeros(len(first)).index_add(0, where, weights),
    )
