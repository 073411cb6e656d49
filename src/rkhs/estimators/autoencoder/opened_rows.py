"""Items as a fit in stages reads them: vectors, or features of a kernel in the span of landmarks.

Where features are rebuilt, each item is its kernel values with the landmarks. The targets are coordinates of its
feature in their span. What lies outside of the span is in no reach of the model and counts in every error.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rkhs._core.linalg import factorize
from rkhs.estimators.autoencoder.ordered_rows import TILE, OrderedRows, ordered_rows
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.training import Training
from rkhs.kernels.base import Kernel
from rkhs.models import Rebuilt
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.encoders import MOST
from rkhs.problems.semiparametric import PrincipalCoordinates
from rkhs.spaces.features.base import EvaluatedMap, FeatureMap
from rkhs.spaces.source import Options, open_source


def landmark_space(
    features: FeatureMap, raw_mean: Tensor, diag: float, *, center: bool, scale: bool
) -> tuple[RKHS, float]:
    """Features of a kernel as targets, in coordinates of the span of the landmarks, and their total variance."""
    K = features.kept_raw()
    assert K is not None
    mean = features.whiten_adjoint(raw_mean[:, None])
    gram_mean = raw_mean if center else torch.zeros_like(raw_mean)
    total = float((mean * mean).sum()) if center else 0.0
    C = (K.to(gram_mean) - gram_mean[:, None]).sub_(gram_mean[None, :]).add_(total)
    variance = max(diag - total, 0.0)
    factor = variance**0.5 if scale and variance > 0.0 else 1.0
    factored = factorize(C.div_(factor**2))
    weights = features.whiten(mean)[:, 0].cpu().numpy() if center else None
    triangle, pivots = factored.triangle.cpu().numpy(), factored.pivots.cpu().numpy()
    return RKHS(weights, gram_mean.cpu().numpy(), total, factor, triangle, pivots), variance / factor**2


class Opened(NamedTuple):
    """Items as a fit in stages reads them."""

    rows: OrderedRows
    rebuilt: Rebuilt
    kernel: Kernel  # resolved
    map: FeatureMap  # of the storage
    diag: float  # mean of ``k(x, x)``


def open_vectors(
    settings: Settings,
    training: Training,
    targets: tuple[Euclidean, Tensor],
    options: Options,
    w: Tensor | None,
    *,
    own: bool,
    part: Tensor | None = None,
) -> Opened:
    """Rows of vectors that are rebuilt."""
    (output, T), X, total = targets, training.items, training.total
    if part is not None:
        X, T, total = X[part], T[part], float(len(part))
    source = open_source(options, settings.feature_storage, settings.kernel, X, training.row_weights)
    kernel, features, p = source.kernel, source.features, max(settings.widths)
    X = X.to(torch.float64)
    room = torch.cat([kernel._diag(tile) for tile in X.split(TILE)])
    axes = PrincipalCoordinates.of_vectors(X, p, w) if settings.linear_part == "free" else None
    n_copies = settings.n_copies
    few = min(settings.widths)
    rows = ordered_rows(X, T, room, features, axes, few, w, total, own=own, fitted=MOST, copies=n_copies)
    return Opened(rows, Rebuilt(output, None, training.own), kernel, features, source.diag)


def open_features(settings: Settings, training: Training, options: Options, w: Tensor | None, *, own: bool) -> Opened:
    """Items whose features are rebuilt; the kernel is evaluated once. Parameters as of :func:`open_vectors`."""
    items, p, center, axes = training.items, max(settings.widths), bool(settings.center), None
    source = open_source(options, settings.feature_storage, settings.kernel, items, training.row_weights)
    kernel, features = source.kernel, source.features
    # A Gram matrix knows its diagonal as a whole.
    tiles = [items] if training.gram else [items[start : start + TILE] for start in range(0, len(items), TILE)]
    raw = torch.cat([features.raw(tile).to(torch.float64) for tile in tiles])
    room = torch.cat([kernel._diag(tile).to(raw) for tile in tiles])
    mean, diag = (raw.mean(0), room.mean()) if w is None else (w @ raw, w @ room)
    output, _ = landmark_space(features, mean, float(diag), center=center, scale=bool(settings.scale))
    T = torch.cat([output.encode(tile) for tile in raw.split(TILE)])
    norms = torch.cat([output.squared_norms(*tile) for tile in zip(raw.split(TILE), room.split(TILE), strict=True)])
    outside = (norms / output.factor**2 - (T * T).sum(1)).clamp_min_(0.0)
    if settings.linear_part == "free":
        axes = PrincipalCoordinates.of_vectors(features.whiten_adjoint(raw.mT).mT, p, w)
        assert axes.center is not None
        offset = axes.offset + axes.center @ axes.directions
        axes = PrincipalCoordinates(features.whiten(axes.directions), offset, None, axes.scale)  # of raw features
    read, total, few = EvaluatedMap(features), training.total, min(settings.widths)
    rows = ordered_rows(raw, T, room, read, axes, few, w, total, own=own, fitted=MOST, outside=outside)
    rebuilt = Rebuilt(output, kernel, training.own, diagonal=room.cpu().numpy() if training.gram else None)
    return Opened(rows, rebuilt, kernel, features, source.diag)
