"""Which items are near each other: distances of the kernel, copies, items that are like no other, and the map."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rkhs._core.errors import RkhsError
from rkhs.estimators import KernelMap
from rkhs.reports.items import Items

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator


_NEAREST = 8
_RIDGE = 0.01  # of the posterior variance, as in KernelNovelty
_EQUAL = 1e-12  # squared distances below this share of the largest are those of copies


@dataclass(frozen=True, eq=False)
class Likeness:
    """What distances say of items."""

    near: np.ndarray  # (n, k): the nearest others
    distances: np.ndarray  # (n, k)
    strange: np.ndarray  # (n,): posterior variance given the others, between 0 and 1.01
    copies: list[list[int]]  # groups of items without a distance
    by_kernel: bool  # or by codes

    @property
    def gaps(self) -> np.ndarray:
        """Distance of each item to its nearest other one, in units of the median."""
        first = self.distances[:, 0]
        return first / (float(np.median(first)) or float(first.max()) or 1.0)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Places of items, and the map that they come from."""

    places: np.ndarray  # (n, 2)
    model: KernelMap | None  # None: the first two codes
    new: bool  # whether the items are others than those of the map


def find_likeness(model: KernelEstimator, items: Items, codes: np.ndarray) -> tuple[Likeness, np.ndarray]:
    """The nearest items of each, and kernel values (n, n)."""
    K, by_kernel = _kernel_values(model, items), True
    if K is None:
        K, by_kernel = codes @ codes.T, False
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
    return Likeness(near, distances, 1.0 / A.diagonal(), copies, by_kernel), K


def _kernel_values(model: KernelEstimator, items: Items) -> np.ndarray | None:
    if items.kind == "gram":
        X = items.numbers
        return X if X is not None and X.shape[0] == X.shape[1] and np.allclose(X, X.T) else None
    try:
        K = model.kernel_._gram(model._read_new(items.X)).cpu().numpy()
    except (AttributeError, RkhsError, TypeError):
        return None
    return np.asarray(K, dtype=np.float64) if K.ndim == 2 else None


def draw_map(model: KernelEstimator, codes: np.ndarray, K: np.ndarray) -> Drawn:
    """The map of the model if it is one of two dimensions, else one that is fitted to the kernel values."""
    if isinstance(model, KernelMap) and codes.shape[1] == 2:
        return Drawn(codes, model, codes.shape != model.codes_.shape or not np.allclose(codes, model.codes_))
    with suppress(RkhsError):
        fitted = KernelMap(kernel="precomputed").fit(0.5 * (K + K.T))
        return Drawn(fitted.codes_, fitted, False)
    flat = np.column_stack([codes, -np.linspace(0.0, max(float(np.ptp(codes)), 1e-12), len(codes))])
    return Drawn(flat[:, :2], None, False)


def map_sentences(drawn: Drawn) -> list[str]:
    """What the distances of a map mean, and what they hold."""
    sentences = ["Each point is an item. Items that are near each other on the map are alike."]
    model = drawn.model
    if model is None:
        return [*sentences, "The map shows the first two codes of the model; what it loses was not measured."]
    count = min(10, len(model.codes_) - 1)
    kept = f"Of {_word(count)} nearest neighbours the map keeps {_word(round(count * model.recall_))}"
    lost = model.held_out_error_
    sentences.append(
        f"{kept}." if lost is None else f"{kept}; rebuilt from the map, new items lose {lost:.0%} of the variance."
    )
    sentences.append(
        "Between groups distances say less: their correlation with those of the data is "
        f"{model.correlation_:.2f}. The size of a group and the width of a gap say nothing. Click an item: the lines "
        "lead to its nearest items in the data, also where the map tears them apart."
    )
    if drawn.new:
        sentences.append("These items are placed in the map of the training items, each by itself.")
    return sentences


def _word(count: int) -> str:
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count]
