"""Reading codes with their factors, and splitting them in halves."""

from __future__ import annotations

from typing import Any

import numpy as np

from rkhs._core.arrays import read_numbers, read_values
from rkhs._core.errors import InputError


def read_pair(codes: Any, factors: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, D), and factors (n, F) as numbers of their values from 0."""
    # Sums round in the order of the numbers in memory.
    Z = np.ascontiguousarray(read_numbers(codes, "codes", shape="(n, D)"))
    if len(Z) < 2:
        raise InputError("codes must have at least two rows; got n_samples=1")
    V = read_values(factors, "factors")
    if V.ndim != 2 or V.shape[0] != Z.shape[0] or V.shape[1] < 1:
        raise InputError(f"factors must have shape ({Z.shape[0]}, F), one row a code; got {V.shape}")
    return Z, np.stack([_numbered(column) for column in V.T], 1)


def _numbered(column: np.ndarray) -> np.ndarray:
    """Values of a factor as numbers from 0, in their order."""
    if column.dtype.kind not in "biufUSO":
        raise InputError(f"factors must hold numbers or names; got dtype {column.dtype}")
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):  # names
        numbers = np.zeros(len(column))
    if not np.isfinite(numbers).all():
        raise InputError("factors must be finite; got NaN or infinity")
    try:
        return np.unique(column, return_inverse=True)[1].reshape(-1)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in column}))
        raise InputError(f"factors must hold numbers or names, one kind a column; got {kinds}") from None


def in_common_unit(Z: np.ndarray) -> np.ndarray:
    """The array times a power of two: its largest entry is about one, and no square overflows or vanishes."""
    return np.ldexp(Z, -int(np.frexp(np.abs(Z).max())[1])) if Z.size else Z


def varying(V: np.ndarray) -> list[int]:
    """Columns with more than one value; the others cannot be scored."""
    kept = [j for j in range(V.shape[1]) if V[:, j].max() > 0]
    if not kept:
        raise InputError("factors must vary: every column has a single value")
    return kept


def centred_columns(Z: np.ndarray) -> np.ndarray:
    """Each column around its mean and in its own unit: of order one whatever the scale and offset of the codes."""
    A = in_common_unit(Z)
    A = A - A.min(0)  # exact where all entries are far from zero, as a mean is not
    A -= A.mean(0)
    return np.stack([in_common_unit(column) for column in A.T], 1)


def halves(v: np.ndarray, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """A seeded half split, stratified where every value occurs twice."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(v))
    enough = np.bincount(v).min() >= 2 and len(v) // 2 >= v.max() + 1
    train, test = train_test_split(rows, test_size=0.5, random_state=random_state, stratify=v if enough else None)
    if len(np.unique(v[train])) < 2:
        raise InputError("each factor needs at least two values in the training half; give more rows")
    return train, test
