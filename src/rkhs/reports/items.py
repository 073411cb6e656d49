"""What a report is about: items of any kind with their names and structures, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError, quote
from rkhs.data import Dataset, SkippedRow
from rkhs.data.columns import as_numbers


@dataclass(frozen=True, eq=False)
class Items:
    """Items as a model takes them, and what is known of them."""

    X: Any  # for ``model.transform``
    kind: str  # as in ``Dataset.kind``
    numbers: np.ndarray | None  # (n, d): rows of numbers, cells of a mixed table included; None for objects
    names: tuple[str, ...]  # of the items; without one the number of the row
    named: bool  # whether the names were given
    columns: tuple[str, ...] | None
    smiles: tuple[str, ...] | None = None
    skipped: tuple[SkippedRow, ...] = ()
    source: str | None = None
    dates: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def cells(self) -> np.ndarray | None:
        """Rows of objects of a mixed table, or else of numbers."""
        if self.kind == "table":
            return np.asarray(self.X, dtype=object)
        return self.numbers

    @property
    def is_gram(self) -> bool:
        """Whether the items are rows of one symmetric matrix of kernel values."""
        K = self.numbers
        return self.kind == "gram" and K is not None and K.shape[0] == K.shape[1] and np.allclose(K, K.T)

    @property
    def named_columns(self) -> list[tuple[str, np.ndarray]]:
        """Columns that mean something each, and their names."""
        if self.columns is None or self.cells is None or self.kind not in ("vectors", "table"):
            return []
        return [*zip(self.columns, self.cells.T, strict=True)]

    def rows(self, chosen: np.ndarray) -> Items:
        """Take some of the items, by position."""
        fields: dict[str, Any] = {"names": tuple(self.names[i] for i in chosen)}
        if self.numbers is not None:
            fields["numbers"] = self.numbers[chosen]
        if self.smiles is not None:
            fields["smiles"] = tuple(self.smiles[i] for i in chosen)
        if hasattr(self.X, "data_matrix"):
            return replace(self, X=type(self.X)(self.X.data_matrix[chosen], self.X.grid_points), **fields)
        return replace(self, X=_safe_indexing(self.X, chosen), **fields)


def read_items(
    X: Any,
    domain: str,
    smiles: Sequence[str] | None = None,
) -> Items:
    """Look at items: their kind, names and structures, as far as a Dataset or a frame knows them."""
    known: dict[str, Any] = {}
    items, names, columns, numbers_of_rows = X, None, None, None
    if isinstance(X, Dataset):
        items, names, columns, numbers_of_rows = X.items, X.row_names, X.column_names, X.row_numbers
        smiles = X.smiles if smiles is None else smiles
        known = {"skipped": X.skipped, "source": X.source, "dates": X.dates}
    elif hasattr(X, "iloc"):
        names, columns = _titles(X.index), _titles(X.columns)
    n = _count(items)
    structures = None if smiles is None else tuple(map(str, smiles))
    if structures is not None and len(structures) != n:
        raise InputError(f"smiles must be {n}, one per item; got {len(structures)}")
    kind = X.kind if isinstance(X, Dataset) else _kind(items, domain, structures)
    numbers = _numbers(items, kind)
    labels = names or ("",) * n
    return Items(
        X=items,
        kind=kind,
        numbers=numbers,
        names=tuple(name or f"row {i}" for name, i in zip(labels, numbers_of_rows or range(1, n + 1), strict=True)),
        named=any(labels),
        columns=_heads(columns, numbers, kind),
        smiles=structures,
        **known,
    )


def _titles(index: Any) -> tuple[str, ...] | None:
    """Names of rows or columns of a frame; None for numbers, which are no names."""
    if index.dtype.kind in "iu":
        return None
    return tuple(map(str, index))


def _heads(heads: tuple[str, ...] | None, numbers: np.ndarray | None, kind: str) -> tuple[str, ...] | None:
    """Names of columns, or positions of those that have none."""
    if heads is not None or numbers is None or kind not in ("vectors", "table"):
        return heads
    return tuple(f"column {j}" for j in range(numbers.shape[1]))


def _count(items: Any) -> int:
    inner = getattr(items, "data_matrix", items)
    try:
        n = len(inner)
    except TypeError as error:
        raise InputError(f"X must be items as the model takes them; got {quote(items)}") from error
    if n < 2:
        raise InputError(f"X must hold at least two items, so that there is a map to draw; got {n}")
    if getattr(items, "ndim", 0) == 3 and inner is items:
        raise InputError("X must be one matrix; got several Gram matrices. Report their sum, or one of them")
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
    if getattr(items, "ndim", 1) == 2:  # such as a table that the model fills
        return "table"
    return "objects"


def _numbers(items: Any, kind: str) -> np.ndarray | None:
    if kind == "table":
        return as_numbers(np.asarray(items, dtype=object))
    if kind == "curves":
        return np.asarray(getattr(items, "data_matrix", items), dtype=np.float64).reshape(_count(items), -1)
    if kind not in ("vectors", "molecules", "gram"):
        return None
    try:
        array = np.asarray(as_numpy(items, "X"), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 2 else None
