"""The points that pairs are made of, in the storage that was asked for, and the pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate
from rkhs.estimators.contrastive_pairs import PairBuilder
from rkhs.estimators.storage import build_features, item_features
from rkhs.features import FeatureMap, Storage, WholeMap
from rkhs.features.base import most_features
from rkhs.kernels.base import Kernel
from rkhs.models import ContrastiveModel, Expansion
from rkhs.problems.pairs import Pairs
from rkhs.spaces.digits import refuse_identical

if TYPE_CHECKING:
    from rkhs.estimators.kernel_contrastive import KernelContrastive

__all__ = ["Points", "open_points", "with_pairs"]


@dataclass(frozen=True)
class Points:
    """The points of the pairs, in the storage that was asked for.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    values : Tensor of shape (N, N) or (N, r)
        Their Gram matrix, or features of them.
    features : FeatureMap or None
        Of the storage; None: the Gram matrix is held.
    builder : PairBuilder
        Makes pairs of them, and points where pairs need such.
    """

    kernel: Kernel
    values: Tensor
    features: FeatureMap | None
    builder: PairBuilder

    @property
    def factored(self) -> bool:
        """Whether ``values`` are features."""
        return self.features is not None

    @property
    def diagonal(self) -> Tensor:
        """``k(x, x)`` of the points, shape (N,)."""
        return self.values.diagonal() if self.features is None else (self.values * self.values).sum(1)

    def rows(self, tile: slice) -> Tensor:
        """Kernel values of some points with all points."""
        return self.values[tile] if self.features is None else self.values[tile] @ self.values.mT

    def model(self, coefficients: Tensor, codes: np.ndarray) -> ContrastiveModel:
        """What is kept of coefficients on the points or their features; ``codes`` are those of the training items."""
        fitted = coefficients if self.factored else self.values @ coefficients
        norm = float((coefficients * fitted).sum().clamp_min(0.0).sqrt())
        features = self.features
        if features is None:
            kept = None if self.kernel.domain == "gram" else as_numpy(self.builder.points)
            features = WholeMap(self.kernel, kept, len(coefficients))
        expansion = Expansion(features, features.whiten(coefficients).cpu().numpy())
        return ContrastiveModel(self.kernel, expansion, codes, norm)


def announce_points(model: KernelContrastive, storage: Storage, builder: PairBuilder, width: int | None = None) -> None:
    """Announce a fit in features (as many as may be drawn, if it is before that): four matrices of those of points."""
    m = most_features(storage, builder.items) if width is None else width
    size = 8 if model.dtype == "float64" else 4
    n_bytes = 4 * size * builder.n_points * m + 40 * m**2 + 2**28
    what = f"{type(model).__name__} on n={builder.n} rows with storage={storage!r}"
    run = model._run
    run.announce(Estimate(what, int(n_bytes), "features of all points"), "Use fewer landmarks or features, or rows")
    model.announced_bytes_ = run.announced_bytes


def open_points(model: KernelContrastive, storage: Storage | str, kernel: Kernel, items: Any) -> Points:
    """The training items, in the storage that was asked for."""
    builder = PairBuilder(items, kernel.domain, int(check_seed(model.random_state).randint(2**31)))
    if isinstance(storage, str):
        resolved = kernel.resolve(items)
        points = Points(resolved, model._training_gram(resolved, items), None, builder)
    else:
        announce_points(model, storage, builder)
        resolved, features = build_features(storage, kernel, items)
        points = _all_points(model, storage, Points(resolved, torch.empty(0), features, builder))
    refuse_identical(points.values, factored=points.factored)
    return points


def _all_points(model: KernelContrastive, storage: Storage | str, points: Points) -> Points:
    """With the points that pairs have brought."""
    every = points.builder.points
    if isinstance(storage, str) or points.features is None:
        return replace(points, values=model._training_gram(points.kernel, every))
    announce_points(model, storage, points.builder, points.features.width)
    return replace(points, values=item_features(points.kernel, points.features, every))


def with_pairs(
    model: KernelContrastive, storage: Storage | str, points: Points, y: Any, positives: Any, negatives: Any
) -> tuple[Points, Pairs]:
    """Pairs of the kind that was asked for, and the points with those that pairs have brought."""
    pairs = _build_pairs(model, points, y, positives, negatives)
    return (_all_points(model, storage, points) if points.builder.extra else points), pairs


def _neighbors(model: KernelContrastive, points: Points) -> Any:
    """Rows of the nearest items, by exact kernel values unless they are slow."""
    builder, items, count, kernel = points.builder, points.builder.items, model.n_neighbors, points.kernel
    if points.factored and kernel.domain == "gram":
        return builder.neighbors(lambda tile: items[tile], items.diagonal(), count)
    if points.factored and kernel.domain == "vectors":
        return builder.neighbors(lambda tile: kernel._gram(items[tile], items), kernel._diag(items), count)
    return builder.neighbors(points.rows, points.diagonal, count)


def _build_pairs(model: KernelContrastive, points: Points, y: Any, positives: Any, negatives: Any) -> Pairs:
    builder = points.builder
    anchors = None
    if positives is not None:
        alike: Any = builder.given(positives, "positives")
    elif model.pairs == "class":
        anchors, alike = builder.classes(y)
    elif model.pairs == "augment":
        if model.augment is None:
            raise InputError("augment must be given for pairs='augment': a name, an augmentation or f(X, rng)")
        alike = builder.views(model.augment, model.n_views)
    else:
        alike = _neighbors(model, points)
    unlike = None
    if negatives is not None:
        unlike = builder.given(negatives, "negatives")
    elif model.negatives in ("given", "permutation"):
        unlike = builder.permuted()
    return builder.pairs(anchors, alike, unlike)
