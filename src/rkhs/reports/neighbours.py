"""Neighbours of items: distances of the kernel, novelty, copies, and the map."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rkhs._core.errors import RkhsError
from rkhs.estimators import KernelEstimator, KernelMap
from rkhs.estimators.robust_fit import spread_limits
from rkhs.reports.items import Items
from rkhs.reports.wording import count_word, loss_words

_NEAREST, _RIDGE = 8, 0.01  # neighbours; ridge of the posterior variance, as in KernelNovelty
_EQUAL = 1e-12  # squared distances below this share of the largest are those of copies


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest neighbours, novelty scores and copies of the items."""

    indices: np.ndarray  # (n, k): the nearest neighbours of each item
    distances: np.ndarray  # (n, k)
    novelty: np.ndarray  # (n,): posterior variance given the others, between 0 and 1.01
    copies: list[list[int]]  # groups of items at distance zero

    @property
    def novel(self) -> list[int]:
        """Items far from their nearest neighbour by the rule of :class:`RobustFit`, the farthest first."""
        first = self.distances[:, 0]
        score = first / max(float(first.max()), 1e-300) * 1e-9  # limits of a score are at most one
        order = np.argsort(-first, kind="stable")
        return order[score[order] > spread_limits(score)[1]].tolist()


@dataclass(frozen=True, eq=False)
class MapLayout:
    """Coordinates of the items on the map, and the map model."""

    coordinates: np.ndarray  # (n, 2)
    model: KernelMap | None  # None: the first two codes
    out_of_sample: bool  # whether the items are not those that the map was fitted to


def find_neighbours(model: KernelEstimator, items: Items, codes: np.ndarray) -> tuple[Neighbours, np.ndarray]:
    """The nearest neighbours of each item, and kernel values (n, n)."""
    values = _kernel_values(model, items)
    K = codes @ codes.T if values is None else values
    diagonal = K.diagonal().copy()
    D = (diagonal[:, None] + diagonal - 2.0 * K).clip(0.0)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, : min(_NEAREST, len(D) - 1)]
    distances = np.sqrt(np.take_along_axis(D, near, 1))
    np.fill_diagonal(D, 0.0)
    equal = _EQUAL * max(float(D.max()), 1e-300) >= D
    groups = [np.flatnonzero(equal[i]).tolist() for i in np.flatnonzero(equal.sum(1) > 1)]
    copies = [group for i, group in enumerate(groups) if group not in groups[:i]] if len(groups) < 500 else groups[:1]
    middle = float(np.median(D)) or 1.0
    A = np.linalg.inv(np.exp(-2.0 * D / middle) + _RIDGE * np.eye(len(D)))
    return Neighbours(near, distances, 1.0 / A.diagonal(), copies), K


def _kernel_values(model: KernelEstimator, items: Items) -> np.ndarray | None:
    if items.kind == "gram":
        X = items.numbers
        return X if X is not None and X.shape[0] == X.shape[1] and np.allclose(X, X.T) else None
    try:
        K = model.kernel_._gram(model._read_new(items.X)).cpu().numpy()
    except (AttributeError, RkhsError, TypeError):
        return None
    return np.asarray(K, dtype=np.float64) if K.ndim == 2 else None


def draw_map(model: KernelEstimator, codes: np.ndarray, K: np.ndarray) -> MapLayout:
    """The map of the model if it is one of two dimensions, else one that is fitted to the kernel values."""
    if isinstance(model, KernelMap) and codes.shape[1] == 2:
        return MapLayout(codes, model, codes.shape != model.codes_.shape or not np.allclose(codes, model.codes_))
    with suppress(RkhsError):
        fitted = KernelMap(kernel="precomputed").fit(0.5 * (K + K.T))
        return MapLayout(fitted.codes_, fitted, False)
    flat = np.column_stack([codes, -np.linspace(0.0, max(float(np.ptp(codes)), 1e-12), len(codes))])
    return MapLayout(flat[:, :2], None, False)


def map_sentences(layout: MapLayout) -> list[str]:
    """What the distances of a map mean, and how far they can be trusted."""
    sentences = ["Each point is an item. Items near each other on the map are similar."]
    model = layout.model
    if model is None:
        return [*sentences, "The map shows the first two codes of the model; what it loses was not measured."]
    count = min(10, len(model.codes_) - 1)
    kept = f"Of {count_word(count)} nearest neighbours the map keeps {count_word(round(count * model.recall_))}"
    lost = model.held_out_error_
    sentences.append(f"{kept}." if lost is None else f"{kept}; rebuilt from the map, {loss_words('items', lost)}.")
    sentences.append(
        "Distances between groups are less reliable: their correlation with those of the data is "
        f"{model.correlation_:.2f}. The size of a group and the width of a gap have no meaning. Click an item: the "
        "lines lead to its nearest items in the data, also where the map separates them."
    )
    if layout.out_of_sample:
        sentences.append("These items were embedded one by one in the map of the training items.")
    return sentences
