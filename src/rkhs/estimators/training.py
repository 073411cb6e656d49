"""Training data of a fit, read once: items, targets and weights in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, _num_samples
from torch import Tensor

from rkhs._core.arrays import as_numpy, is_curves, pick_rows, pick_square, row_index, to_tensor
from rkhs._core.checks import real_array
from rkhs._core.copies import are_measured
from rkhs._core.errors import InputError, quote
from rkhs.augment import Augmentation, augmented
from rkhs.engines import Rows
from rkhs.estimators.given_matrices import has_views


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of the rows of a fit. Rows of weight zero go before anything is read or estimated from the others."""

    n_given: int  # number of rows that were given
    kept: np.ndarray | None = None  # numbers of the rows of positive weight; None: all
    shares: np.ndarray | None = None  # of these rows, or of those of a file: they sum to one; None: equal
    total: float = 0.0  # original sum of the weights; without weights the number of rows

    @classmethod
    def read(cls, sample_weight: ArrayLike | None, n: int) -> RowWeights:
        """Check the weights of ``n`` rows."""
        if sample_weight is None:
            return cls(n, total=float(n))
        with np.errstate(all="ignore"):
            w = real_array(as_numpy(sample_weight, "sample_weight"), "sample_weight")
            w = _check_sample_weight(w if w.ndim else np.full(n, w), np.empty((n, 1)), dtype=np.float64)
        if (w < 0.0).any():
            raise InputError(f"sample_weight must not be negative; got a smallest weight of {w.min():g}")
        return cls(n, *normal_weights(w))

    @classmethod
    def of_rows(cls, sample_weight: ArrayLike | None, X: Any, *, gram: bool) -> RowWeights | None:
        """The weights of the rows of ``X``; None without weights, and where the rows cannot be counted unread."""
        if sample_weight is None or isinstance(X, (str, bytes, dict)):
            return None
        try:
            n = _num_samples(X.data_matrix if is_curves(X) else X[0] if gram and has_views(X) else X)
        except TypeError:  # refused when it is read
            return None
        return cls.read(sample_weight, int(n)) if n else None

    def __len__(self) -> int:
        return self.n_given if self.kept is None else len(self.kept)

    @property
    def each(self) -> np.ndarray | None:
        """The weights of the rows that are kept, as they were given; None: one each."""
        if self.shares is None:
            return None if self.total == len(self) else np.full(len(self), self.total / len(self))
        return self.shares * self.total

    def on_all(self) -> RowWeights:
        """The weights on all rows, zeros among them, as files of rows are read."""
        if self.kept is None:
            return self
        every = np.zeros(self.n_given)
        every[self.kept] = 1.0 / len(self.kept) if self.shares is None else self.shares
        return RowWeights(self.n_given, None, every, self.total)

    def of(self, given: Any, name: str, *, gram: bool = False) -> Any:
        """Of what was given row by row the rows of positive weight, and of Gram matrices their columns too."""
        if self.kept is None or given is None:
            return given
        if gram and has_views(given):
            return [pick_square(K, self.kept) for K in given]
        n = _num_samples(given.data_matrix if is_curves(given) else given)
        if n != self.n_given:
            raise InputError(f"{name} must have one row for each of the {self.n_given} rows of X; got {n}")
        return pick_square(given, self.kept) if gram else pick_rows(given, self.kept)


@dataclass(frozen=True, eq=False)
class Training:
    """Items of positive weight with their targets."""

    items: Any  # (n, d)
    targets: Any  # the targets; the items themselves if they are their own
    self_targets: bool  # whether they are
    weights: Tensor | None  # (n,): sum to one; None: equal
    total: float  # original sum of the weights; without weights the number of items
    given: RowWeights  # of all items that were given, and which of them these are
    gram: bool = False  # whether the items are a Gram matrix
    target_gram: bool = False  # whether the targets are

    def __len__(self) -> int:
        return self.items.shape[0] if isinstance(self.items, Rows) else len(self.items)

    @property
    def kept(self) -> np.ndarray | None:
        """Numbers of these items among those that were given, shape (n,); None: all."""
        return self.given.kept

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
        given = RowWeights(len(self), rows)
        return replace(self, items=items, targets=targets, weights=weights, total=total, given=given)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Weights of held-out rows, normalised to sum one."""
        w = np.ones(len(rows)) if self.weights is None else self.weights.cpu().numpy()[rows]
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
