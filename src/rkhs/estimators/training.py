"""Training data of a fit, read once: items, targets and weights in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import row_index, to_tensor
from rkhs._core.copies import are_measured
from rkhs._core.errors import InputError, quote
from rkhs.augment import Augmentation, augmented
from rkhs.engines import Rows


@dataclass(frozen=True, eq=False)
class Training:
    """Items of positive weight with their targets."""

    items: Any  # (n, d)
    targets: Any  # the targets; the items themselves if they are their own
    self_targets: bool  # whether they are
    weights: Tensor | None  # (n,): sum to one; None: equal
    total: float  # original sum of the weights; without weights the number of items
    kept: np.ndarray | None  # (n,): indices of these items among those that were given; None: all
    n_given: int  # number of items that were given
    gram: bool = False  # whether the items are a Gram matrix
    target_gram: bool = False  # whether the targets are

    def __len__(self) -> int:
        return self.items.shape[0] if isinstance(self.items, Rows) else len(self.items)

    @property
    def row_weights(self) -> np.ndarray | None:
        """The weights in double precision."""
        return None if self.weights is None else self.weights.to("cpu", torch.float64).numpy()

    @property
    def groups(self) -> np.ndarray:
        """Group of each item, shape (n,): equal items with equal targets share one and count as one of more weight.

        Items and targets of few values are groups of their own.
        """
        if self.of_few_values:
            return np.arange(len(self))
        return equal_rows(self.items) if self.self_targets else equal_rows(self.items, self.targets)

    @cached_property
    def of_few_values(self) -> bool:
        """Whether items and targets are combinations of a few values, which new rows have too: equal ones no copies."""
        return self.has_few_items and (self.self_targets or (not self.target_gram and _has_few(self.targets)))

    @cached_property
    def has_few_items(self) -> bool:
        """Whether the items are combinations of a few values."""
        return not self.gram and _has_few(self.items)

    def part(self, rows: np.ndarray) -> Training:
        """The training data of the rows of positive weight among ``rows``."""
        weights, total = None, float(len(rows))
        if self.weights is not None:
            kept, w, total = normal_weights(self.weights.cpu().numpy()[rows] * self.total)
            rows = rows if kept is None else rows[kept]
            weights = None if w is None else torch.as_tensor(w).to(self.weights)
        items = cut(self.items, rows, rows if self.gram else None)
        targets = items if self.self_targets else cut(self.targets, rows, rows if self.target_gram else None)
        return replace(self, items=items, targets=targets, weights=weights, total=total, kept=rows)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Weights of held-out rows, normalised to sum one."""
        w = np.ones(len(rows)) if self.weights is None else self.weights.cpu().numpy()[rows]
        if not w.any():
            raise InputError(
                f"sample_weight is zero on all {len(rows)} rows of a held-out part, so nothing can be measured there; "
                "leave such rows out of X, or use fewer folds (cv)"
            )
        return w / w.sum()

    def noisy(self, noise: Augmentation, seed: int) -> Training:
        """Noisy copies of the items, with the same targets; a copy depends on the seed and its index alone."""
        array, copies = self.items.cpu().numpy(), int(noise.copies)
        stacked = np.concatenate([augmented(noise, array, seed, copy) for copy in range(copies)])
        weights = None if self.weights is None else self.weights.repeat(copies) / copies
        items = to_tensor(stacked, self.items.dtype, self.items.device)
        return replace(self, items=items, targets=self.targets.repeat(copies, 1), weights=weights)


def read_noise(noise: object) -> Augmentation | None:
    """Check the augmentation that makes noisy copies."""
    if noise is None:
        return None
    if not isinstance(noise, Augmentation):
        raise InputError(
            f"noise must be None or an object of rkhs.augment, such as GaussianNoise(0.1, copies=5); got {quote(noise)}"
        )
    noise.check()
    return noise


def cut(items: Any, rows: np.ndarray | None, columns: np.ndarray | None = None) -> Any:
    """Some rows of a tensor or a list of items, and some columns of a matrix; None: all."""
    if rows is None or items is None:
        return items
    if isinstance(items, list):
        return [items[i] for i in rows]
    index = row_index(rows, items)
    return items[index] if columns is None else items[index[:, None], row_index(columns, items)]


def _has_few(rows: Any) -> bool:
    return isinstance(rows, Tensor) and rows.ndim == 2 and not are_measured(rows)


def equal_rows(*rows: Any) -> np.ndarray:
    """Group of each row, in order of first appearance: rows that are equal in all arguments share one."""
    seen: dict[tuple[object, ...], int] = {}
    return np.array(
        [seen.setdefault(key, len(seen)) for key in zip(*map(item_keys, rows), strict=True)], dtype=np.int64
    )


def item_keys(items: Any) -> list[object]:
    """Keys of items that are equal for equal items; objects of unknown types all differ."""
    if isinstance(items, Tensor):
        return [row.tobytes() for row in items.detach().cpu().numpy() + 0.0]  # zero has one sign
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return list(items)
    if isinstance(items, list) and all(map(_are_arrays, items)):
        return [tuple(part.tobytes() for part in item) for item in items]
    return list(range(len(items)))


def _are_arrays(item: object) -> bool:
    return isinstance(item, tuple) and all(isinstance(part, np.ndarray) for part in item)


def normal_weights(w: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, float]:
    """Rows of positive weight (None: all), their weights normalised to sum one (None: equal), and the original sum."""
    largest = float(w.max())
    kept = np.flatnonzero(w > largest * float(np.finfo(np.float32).tiny))  # a smaller share is zero in float32
    if not largest > 0.0:
        raise InputError("sample_weight must have a positive sum; got zeros only")
    part = w[kept].astype(np.float64) / largest  # so that the sum neither overflows nor vanishes
    total = largest * float(part.sum())
    return (None if len(kept) == len(w) else kept), (None if np.ptp(part) == 0.0 else part / part.sum()), total
