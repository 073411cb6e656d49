"""Neighbours of items by the distances of the kernel, and the map."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rkhs._core.errors import RkhsError
from rkhs.estimators import KernelEstimator, KernelMap
from rkhs.reports.items import Items
from rkhs.reports.wording import count_word, loss_words

_NEAREST = 8  # neighbours of an item


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest neighbours of the items."""

    indices: np.ndarray  # (n, k): the nearest neighbours of each item
    distances: np.ndarray  # (n, k)


@dataclass(frozen=True, eq=False)
class MapLayout:
    """Coordinates of the items on the map, and the map model."""

    coordinates: np.ndarray  # (n, 2)
    model: KernelMap | None  # None: the first two codes
    out_of_sample: bool  # whether the items are not those that the map was fitted to


def find_neighbours(model: KernelEstimator, items: Items, codes: np.ndarray) -> tuple[Neighbours, np.ndarray]:
    """The nearest neighbours of each item, and kernel values (n, n)."""
    K = _kernel_values(model, items)
    if K is None:
        K = codes @ codes.T
    diagonal = K.diagonal().copy()
    D = (diagonal[:, None] + diagonal - 2.0 * K).clip(0.0)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, : min(_NEAREST, len(D) - 1)]
    distances = np.sqrt(np.take_along_axis(D, near, 1))
    return Neighbours(near, distances), K


def _kernel_values(model: KernelEstimator, items: Items) -> np.ndarray | None:
    if items.kind == "gram":
        return items.numbers if items.is_gram else None
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
    flat = np.column_stack([codes, np.zeros(len(codes))])
    return MapLayout(flat[:, :2], None, False)


def map_sentences(layout: MapLayout) -> list[str]:
    """What the distances of a map mean, and how far they can be trusted."""
    meaning = "Each point is an item. Items near each other on the map are similar."
    model = layout.model
    if model is None:
        return [meaning, "The map shows the first two codes of the model; what it loses was not measured."]
    count = min(10, len(model.codes_) - 1)
    kept = f"Of {count_word(count)} nearest neighbours the map keeps {count_word(round(count * model.recall_))}"
    if model.held_out_error_ is not None:
        kept += f"; rebuilt from the map, {loss_words('items', model.held_out_error_)}"
    trust = (
        "Distances between groups are less reliable: their correlation with those of the data is "
        f"{model.correlation_:.2f}. The size of a group and the width of a gap have no meaning. Click an item: the "
        "lines lead to its nearest items in the data, also where the map separates them."
    )
    return [meaning, f"{kept}.", trust]
