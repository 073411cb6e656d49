"""What a report is about: items of any kind with their names, structures and pictures, as one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError, quote
from rkhs.data import Dataset, SkippedRow
from rkhs.data.columns import as_numbers, share_a_unit
from rkhs.data.dataset import short_names

_SMALLEST_IMAGE, _WIDE = 64, 100  # columns: a table of 4, 9 or 49 is a table; rows of many may be curves
_ALIKE = 0.7  # neighbours of an image differ by less than this share of what any two columns differ by


@dataclass(frozen=True, eq=False)
class Items:
    """Items as a model takes them, and what is known of them."""

    X: Any  # for ``model.transform``
    kind: str  # as in ``Dataset.kind``
    numbers: np.ndarray | None  # (n, d): rows of numbers, cells of a mixed table included; None for objects
    names: tuple[str, ...]  # of the items; those that several have with the numbers of their rows, as those without
    named: bool  # whether the names were given
    columns: tuple[str, ...] | None
    smiles: tuple[str, ...] | None = None
    skipped: tuple[SkippedRow, ...] = ()
    image_shape: tuple[int, ...] | None = None
    source: str | None = None
    dates: tuple[str, ...] = ()
    repeated: int = 0  # names that an earlier item has too

    def __len__(self) -> int:
        return len(self.names)

    @property
    def cells(self) -> np.ndarray | None:
        """Rows of objects of a mixed table, or else of numbers."""
        return np.asarray(self.X, dtype=object) if self.kind == "table" else self.numbers

    @property
    def named_columns(self) -> list[tuple[str, np.ndarray]]:
        """Columns that mean something each, and their names."""
        if self.columns is None or self.cells is None or self.image_shape or self.kind not in ("vectors", "table"):
            return []
        return [*zip(self.columns, self.cells.T, strict=True)]

    @property
    def are_curves(self) -> bool:
        """Whether rows are curves, or many columns in one unit."""
        if self.numbers is None or self.kind == "curves" or self.numbers.shape[1] < _WIDE:
            return self.kind == "curves"
        means = np.ma.masked_invalid(self.numbers).mean(0).filled(0.0)
        return share_a_unit(np.where(np.isfinite(self.numbers), self.numbers, means))

    def rows(self, chosen: np.ndarray) -> Items:
        """Some of the items, by position."""
        numbers = None if self.numbers is None else self.numbers[chosen]
        curves = hasattr(self.X, "data_matrix")
        X = type(self.X)(self.X.data_matrix[chosen], self.X.grid_points) if curves else _safe_indexing(self.X, chosen)
        smiles = None if self.smiles is None else tuple(self.smiles[i] for i in chosen)
        return replace(self, X=X, numbers=numbers, names=tuple(self.names[i] for i in chosen), smiles=smiles)


def read_items(
    X: Any,
    domain: str,
    *,
    names: Sequence[str] | None,
    columns: Sequence[str] | None,
    smiles: Sequence[str] | None,
    image_shape: Any,
) -> Items:
    """Look at items: their kind, names and pictures."""
    data = X if isinstance(X, Dataset) else None
    items = X if data is None else data.items
    n = _count(items)
    if getattr(items, "ndim", 0) == 3 and not hasattr(items, "data_matrix"):
        raise InputError("X must be one matrix; got several Gram matrices. Report their sum, or one of them")
    index, titles = (items.index, items.columns) if hasattr(items, "iloc") else (None, None)
    of_file = short_names(data.row_names) if data is not None and data.row_names else None
    labels = _texts(_first(names, of_file, _texts_of(index)), n, "names") or ("",) * n
    structures = _texts(_first(smiles, getattr(data, "smiles", None)), n, "smiles")
    kind = _kind(items, domain, structures) if data is None else data.kind
    numbers = _numbers(items, kind)
    heads = _texts(_first(columns, getattr(data, "column_names", None), titles))
    return Items(
        X=items,
        kind=kind,
        numbers=numbers,
        names=_different(labels, getattr(data, "row_numbers", range(1, n + 1))),
        named=any(labels),
        repeated=n - len({*labels}) if any(labels) else 0,
        columns=_heads(heads, numbers, kind),
        smiles=structures,
        skipped=getattr(data, "skipped", ()),
        image_shape=_image_shape(numbers, kind, image_shape),
        source=getattr(data, "source", None),
        dates=getattr(data, "dates", ()),
    )


def _texts_of(index: Any) -> Any:
    """The index of a frame; None for one of numbers of rows, which are no names."""
    return None if index is None or index.dtype.kind in "iu" else index


def _different(labels: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    counts = Counter(labels)
    pairs = zip(labels, numbers, strict=True)
    return tuple(f"{name} (row {i})" if name and counts[name] > 1 else name or f"row {i}" for name, i in pairs)


def _first(*given: Any) -> Any:
    return next((one for one in given if one is not None), None)


def _texts(given: Sequence[Any] | None, n: int | None = None, what: str = "") -> tuple[str, ...] | None:
    if given is not None and n is not None and len(given) != n:
        raise InputError(f"{what} must be {n}, one per item; got {len(given)}")
    return None if given is None else tuple(map(str, given))


def _heads(heads: tuple[str, ...] | None, numbers: np.ndarray | None, kind: str) -> tuple[str, ...] | None:
    """Names of columns, or positions of those that have none."""
    if numbers is not None and heads is not None and len(heads) != numbers.shape[1]:
        raise InputError(f"column_names must be {numbers.shape[1]}, one per column; got {len(heads)}")
    if heads is None and numbers is not None and kind in ("vectors", "table"):
        return tuple(f"column {j}" for j in range(numbers.shape[1]))
    return heads


def _count(items: Any) -> int:
    inner = getattr(items, "data_matrix", items)
    try:
        n = len(inner)
    except TypeError as error:
        raise InputError(f"X must be items as the model takes them; got {quote(items)}") from error
    if n < 2:
        raise InputError(f"X must hold at least two items, so that there is a map to draw; got {n}")
    return n


def _kind(items: Any, domain: str, smiles: Any) -> str:
    if domain == "gram":
        return "gram"
    if smiles is not None:
        return "molecules"
    if hasattr(items, "data_matrix"):
        return "curves"
    if domain == "vectors" and (getattr(items, "ndim", 2) != 2 or _numbers(items, "vectors") is not None):
        return "vectors"
    return "table" if getattr(items, "ndim", 1) == 2 else "objects"  # such as a table that the model fills


def _numbers(items: Any, kind: str) -> np.ndarray | None:
    if kind == "table":
        return as_numbers(np.asarray(items, dtype=object))
    if kind in ("vectors", "molecules", "gram"):
        try:
            array = np.asarray(as_numpy(items, "X"), dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return array if array.ndim == 2 else None
    if kind == "curves":
        return np.asarray(getattr(items, "data_matrix", items), dtype=np.float64).reshape(_count(items), -1)
    return None


def _image_shape(numbers: np.ndarray | None, kind: str, wanted: Any) -> tuple[int, ...] | None:
    if wanted is None or numbers is None:
        return None
    d = numbers.shape[1]
    if not isinstance(wanted, str):
        return _given_shape(wanted, d)
    if wanted != "auto":
        raise InputError(f"image_shape must be (height, width), 'auto' or None; got {quote(wanted)}")
    side = round(d**0.5)
    square = kind == "vectors" and side * side == d >= _SMALLEST_IMAGE
    return (side, side) if square and _are_images(numbers, side) else None


def _given_shape(wanted: Any, d: int) -> tuple[int, ...]:
    shape = tuple(int(side) for side in wanted)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != d:
        raise InputError(f"image_shape must be (height, width) with a product of {d}, the columns; got {wanted!r}")
    return shape


def _are_images(numbers: np.ndarray, side: int) -> bool:
    sample = numbers[:: max(1, len(numbers) // 200)]
    below = np.abs(sample[:, side:] - sample[:, :-side]).mean()
    shuffled = sample[:, np.random.default_rng(0).permutation(sample.shape[1])]
    return bool(below < _ALIKE * np.abs(sample - shuffled).mean())
