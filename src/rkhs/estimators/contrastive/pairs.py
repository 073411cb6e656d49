"""Positive and negative pairs: neighbours, augmented views, classes, or given ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rkhs._core.arrays import TILE_BYTES, Items, as_numpy, tiles, to_tensor
from rkhs._core.checks import check_labels
from rkhs._core.errors import InputError, warn
from rkhs.augment import Augmentation, augmented
from rkhs.problems.pairs import Groups, Links, Pairs
from rkhs.spaces import InMemoryItems

_NEGATIVE_STEP = 2**32  # keeps the draws of negatives apart from those of views


@dataclass
class PairBuilder:
    """Collects points beyond the training items, and the links between them."""

    items: Any  # training items in the form that the kernel reads; for Gram inputs the Gram matrix
    domain: str
    seed: int  # determines the views and the permutation

    def __post_init__(self) -> None:
        self.n = len(self.items)
        self.extra: list[Any] = []
        self.n_points = self.n

    @property
    def points(self) -> Any:
        """Training items followed by everything that was added."""
        if not self.extra:
            return self.items
        if self.domain == "objects":
            return [*self.items, *(item for block in self.extra for item in block)]
        return torch.cat([self.items, *self.extra])

    def _add(self, block: Items) -> np.ndarray:
        self.extra.append(block)
        rows = np.arange(self.n_points, self.n_points + len(block))
        self.n_points += len(block)
        return rows

    def given(self, values: ArrayLike, name: str) -> np.ndarray:
        """Row indices of given positives or negatives, shape (n, m)."""
        array = np.asarray(as_numpy(values, name))
        if len(array.shape) == 0 or len(array) != self.n:
            raise InputError(
                f"{name} must have one entry per row of X, {self.n}; got "
                f"{len(array) if array.ndim else 'a single value'}"
            )
        if array.dtype.kind in "iu":
            return self._given_rows(array, name)
        if self.domain != "vectors":
            raise InputError(
                f"{name} must be integer row numbers of X for Gram and object inputs; got dtype {array.dtype}"
            )
        return self._given_vectors(array, name)

    def _given_vectors(self, array: np.ndarray, name: str) -> np.ndarray:
        """Add vectors to the points; return their row indices."""
        d = self.items.shape[1]
        fits = array.dtype.kind in "bf" and array.ndim in (2, 3) and array.shape[-1] == d and array.size > 0
        if not fits or not np.isfinite(array).all():
            raise InputError(
                f"{name} must be finite, of shape ({self.n}, {d}) or ({self.n}, m, {d}), or integer row numbers of X; "
                f"got shape {array.shape}, dtype {array.dtype}"
            )
        block = to_tensor(array.astype(np.float64).reshape(-1, d), self.items.dtype, self.items.device)
        return self._add(block).reshape(self.n, -1)

    def _given_rows(self, array: np.ndarray, name: str) -> np.ndarray:
        d = self.items.shape[1] if self.domain == "vectors" else 0
        if array.ndim == 3 or (array.ndim == 2 and array.shape[1] == d and d > 1):
            raise InputError(
                f"{name} is an integer array of shape {array.shape}, which could be vectors or row numbers; "
                f"pass vectors as floats ({name}.astype(float)), rows as X[{name}]"
            )
        found = f"{array.min()} to {array.max()}" if array.size else "none"
        if array.size == 0 or array.min() < 0 or array.max() >= self.n:
            raise InputError(
                f"{name} as row numbers must be from 0 to {self.n - 1}; got {found}. Pass vectors as floats"
            )
        return array.reshape(self.n, -1)

    def neighbors(self, in_memory: InMemoryItems, n_neighbors: int) -> np.ndarray:
        """The nearest other items in the feature space, shape (n, min(n_neighbors, n - 1)); ties by row number."""
        rows, diagonal, items, kernel = in_memory.rows, in_memory.diagonal, self.items, in_memory.kernel
        if in_memory.factored and self.domain == "gram":
            rows, diagonal = items.__getitem__, items.diagonal()
        elif in_memory.factored and self.domain == "vectors":
            rows, diagonal = (lambda tile: kernel._gram(items[tile], items)), kernel._diag(items)
        count, found = min(n_neighbors, self.n - 1), []
        digits = 10.0 ** (10 if diagonal.dtype == torch.float64 else 5)
        unit = digits / max(float(diagonal.abs().max()), 1e-300)
        for tile in tiles(self.n, max(1, TILE_BYTES // (8 * self.n))):
            D = diagonal[None, :] - 2.0 * rows(tile)  # squared distances up to a constant of each row
            D = (D * unit).round_()  # rounding must not decide ties
            D.diagonal(tile.start).fill_(float("inf"))
            found.append(_smallest(D, count))
        return torch.cat(found).cpu().numpy()

    def views(self, augment: str | Augmentation | Callable[..., object]) -> np.ndarray:
        """Add an augmented view of every item; return row indices, shape (n, 1)."""
        if self.domain == "gram":
            raise InputError("pairs='augment' needs items, not a Gram matrix; use pairs='neighbors' or fit(positives=)")
        if self.domain == "objects":
            block: Items = augmented(augment, self.items, self.seed, 0)
        else:
            view = augmented(augment, self.items.cpu().numpy(), self.seed, 0)
            block = to_tensor(view, self.items.dtype, self.items.device)
        return self._add(block)[:, None]

    def permuted(self) -> np.ndarray:
        """Another item for each item, by one random cycle through all of them; row indices (n, 1)."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, _NEGATIVE_STEP]))
        cycle = rng.permutation(self.n)
        other = np.empty(self.n, dtype=np.int64)
        other[cycle] = np.roll(cycle, -1)
        return other[:, None]

    def classes(self, y: Any) -> np.ndarray:
        """Class of each item, shape (n,), from 0; -1 where it has no label, or no other member."""
        labels = _read_labels(y, self.n)
        names, codes = np.unique(labels[labels >= 0], return_inverse=True)
        counts = np.bincount(codes, minlength=len(names))
        if (counts == 1).any():
            warn(
                f"{int((counts == 1).sum())} classes have a single row and are skipped: it has no positive",
                UserWarning,
            )
        usable = counts > 1
        if not usable.any() or (len(names) == 1 and not (labels < 0).any()):
            raise InputError(
                "y must have at least two classes, one of them with two rows or more, for pairs='class'; "
                f"got {len(names)} classes of sizes {counts.tolist()[:10]}"
            )
        classes = np.full(self.n, -1)
        classes[labels >= 0] = np.where(usable, np.cumsum(usable) - 1, -1)[codes]
        return classes

    def pairs(self, positives: np.ndarray, negatives: np.ndarray | None, device: torch.device) -> Pairs:
        """Build the pairs from rows (n, m) of positives, or classes (n,), and rows of negatives (None: the pool)."""
        N, classes = self.n_points, positives if positives.ndim == 1 else np.zeros(self.n)
        anchors = np.flatnonzero(classes >= 0)
        chosen = torch.as_tensor(anchors, device=device)
        found = torch.as_tensor(positives[anchors], device=device)
        positive = Groups(chosen, found, N) if positives.ndim == 1 else Links(found, N)
        negative = None if negatives is None else Links(torch.as_tensor(negatives[anchors], device=device), N)
        pool = torch.zeros(N, dtype=torch.float64, device=device)
        pool[: self.n] = 1.0 / self.n
        return Pairs(chosen, positive, negative, pool)


def _smallest(D: Tensor, count: int) -> Tensor:
    """Columns of the smallest entries of each row, in their order; ties by column number."""
    values, columns = D.topk(count, dim=1, largest=False)
    columns = columns.sort(dim=1).values
    columns = columns.gather(1, D.gather(1, columns).argsort(dim=1, stable=True))
    tied = (values[:, -1:] >= D).sum(1) > count  # of equal entries any may have been taken
    if bool(tied.any()):
        columns[tied] = D[tied].argsort(dim=1, stable=True)[:, :count]
    return columns


def _read_labels(y: Any, n: int) -> np.ndarray:
    if y is None:
        raise InputError(
            "pairs='class' requires y to be passed, but the target y is None; pass the labels, -1 for rows without one"
        )
    labels = check_labels(np.asarray(as_numpy(y, "y")), "Number the classes, with -1 for rows without a label")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise InputError(f"y must have one label per row of X, shape ({n},); got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y must be finite; use -1 for rows without a label")
    unlabelled = labels == -1 if labels.dtype.kind in "iuf" else np.zeros(n, dtype=bool)
    return np.where(unlabelled, -1, np.unique(labels, return_inverse=True)[1])
