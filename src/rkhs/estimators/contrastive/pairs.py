"""How pairs come about: neighbours, augmented views, classes, or what the user gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, to_tensor
from rkhs._core.errors import InputError, warn
from rkhs.augment import augmented
from rkhs.estimators.tiles import TILE_BYTES, tiles
from rkhs.problems.pairs import Groups, Links, Pairs
from rkhs.spaces import HeldItems

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from rkhs.augment import Augmentation
    from rkhs.estimators.options.arguments import Items

__all__ = ["PairBuilder"]

_NEGATIVE_STEP = 2**32  # keeps the draws of negatives apart from those of views


@dataclass
class PairBuilder:
    """Collects points beyond the training items, and the links between them."""

    items: Any  # training items in the form that the kernel reads; for Gram inputs the Gram matrix
    domain: str
    seed: int  # views and permutations are functions of it and of their number

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
        """Row numbers of positives or negatives that the user gave, shape (n, m)."""
        array = np.asarray(as_numpy(values, name))
        if len(array.shape) == 0 or len(array) != self.n:
            raise InputError(
                f"{name} must have one entry a row of X, {self.n}; got {len(array) if array.ndim else 'a single value'}"
            )
        if array.dtype.kind in "iu":
            return self._given_rows(array, name)
        if self.domain != "vectors":
            raise InputError(
                f"{name} must be integer row numbers of X for Gram and object inputs; got dtype {array.dtype}"
            )
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

    def neighbors(self, held: HeldItems, n_neighbors: int) -> np.ndarray:
        """The nearest other items in the feature space, shape (n, min(n_neighbors, n - 1)); ties by row number."""
        rows, diagonal, items, kernel = held.rows, held.diagonal, self.items, held.kernel
        if held.factored and self.domain == "gram":
            rows, diagonal = items.__getitem__, items.diagonal()
        elif held.factored and self.domain == "vectors":
            rows, diagonal = (lambda tile: kernel._gram(items[tile], items)), kernel._diag(items)
        count, found = min(n_neighbors, self.n - 1), []
        digits = 10.0 ** (10 if diagonal.dtype == torch.float64 else 5)
        unit = digits / max(float(diagonal.abs().max()), 1e-300)
        for tile in tiles(self.n, max(1, TILE_BYTES // (8 * self.n))):
            D = diagonal[None, :] - 2.0 * rows(tile)  # of each row up to a constant
            D = (D * unit).round_()  # rounding must not decide ties
            D.diagonal(tile.start).fill_(float("inf"))
            found.append(_smallest(D, count))
        return torch.cat(found).cpu().numpy()

    def views(self, augment: str | Augmentation | Callable[..., object], n_views: int) -> np.ndarray:
        """Rows of augmented views of every item, shape (n, n_views)."""
        if self.domain == "gram":
            raise InputError("pairs='augment' needs items, not a Gram matrix; use pairs='neighbors' or fit(positives=)")
        rows = []
        for step in range(n_views):
            if self.domain == "objects":
                block: Items = augmented(augment, self.items, self.seed, step)
            else:
                view = augmented(augment, self.items.cpu().numpy(), self.seed, step)
                block = to_tensor(view, self.items.dtype, self.items.device)
            rows.append(self._add(block))
        return np.stack(rows, 1)

    def permuted(self) -> np.ndarray:
        """Another item for each item, by one random cycle through all of them; shape (n, 1)."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, _NEGATIVE_STEP]))
        cycle = rng.permutation(self.n)
        other = np.empty(self.n, dtype=np.int64)
        other[cycle] = np.roll(cycle, -1)
        return other[:, None]

    def classes(self, y: Any) -> tuple[np.ndarray, Groups]:
        """Anchors (labelled items whose class has another member), grouped by class."""
        labels = _read_labels(y, self.n)
        names, codes = np.unique(labels[labels >= 0], return_inverse=True)
        full = np.full(self.n, -1)
        full[labels >= 0] = codes
        counts = np.bincount(codes, minlength=len(names))
        if (counts == 1).any():
            warn(
                f"{int((counts == 1).sum())} classes have a single row and are skipped: it has no positive",
                UserWarning,
            )
        usable = np.flatnonzero(counts > 1)
        unlabelled = bool((labels < 0).any())
        if len(usable) == 0 or (len(names) == 1 and not unlabelled):
            raise InputError(
                "y must have at least two classes, one of them with two rows or more, for pairs='class'; "
                f"got {len(names)} classes of sizes {counts.tolist()[:10]}"
            )
        anchors = np.flatnonzero(np.isin(full, usable))
        numbers = np.unique(full[anchors], return_inverse=True)[1]
        return anchors, Groups(torch.as_tensor(anchors), torch.as_tensor(numbers), self.n_points)

    def pairs(self, anchors: np.ndarray | None, positives: np.ndarray | Groups, negatives: np.ndarray | None) -> Pairs:
        """Join everything; ``positives`` are rows (n, m) or groups, ``negatives`` rows (n, m) or None for the pool."""
        anchors = np.arange(self.n) if anchors is None else anchors
        N = self.n_points
        positive: Links | Groups
        if isinstance(positives, Groups):
            positive = replace(positives, n_points=N)
        else:
            positive = Links.from_index(torch.as_tensor(positives[anchors]), N)
        negative = None if negatives is None else Links.from_index(torch.as_tensor(negatives[anchors]), N)
        pool = torch.zeros(N, dtype=torch.float64)
        pool[: self.n] = 1.0 / self.n
        return Pairs(torch.as_tensor(anchors), positive, negative, pool)


def _smallest(D: Tensor, count: int) -> Tensor:
    """Columns of the smallest entries of each row, in their order; ties by column number."""
    values, columns = D.topk(count, dim=1, largest=False)
    columns = columns.sort(dim=1).values
    order = D.gather(1, columns).argsort(dim=1, stable=True)
    columns = columns.gather(1, order)
    tied = (values[:, -1:] >= D).sum(1) > count  # of equal entries any may have been taken
    if bool(tied.any()):
        columns[tied] = D[tied].argsort(dim=1, stable=True)[:, :count]
    return columns


def _read_labels(y: Any, n: int) -> np.ndarray:
    """Class numbers; -1 stays -1."""
    if y is None:
        raise InputError(
            "pairs='class' requires y to be passed, but the target y is None; pass the labels, -1 for rows without one"
        )
    labels = np.asarray(as_numpy(y, "y"))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise InputError(f"y must have one label a row of X, shape ({n},); got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y must be finite; use -1 for rows without a label")
    unlabelled = labels == -1 if labels.dtype.kind in "iuf" else np.zeros(n, dtype=bool)
    codes = np.unique(labels, return_inverse=True)[1]
    return np.where(unlabelled, -1, codes)
