"""Sparse input: every format and index type is copied to compressed rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse

from rkhs._core.errors import InputError

SparseItem: TypeAlias = tuple[np.ndarray, np.ndarray]
"""A row of a sparse matrix: the ascending column indices of its entries (int32) and their values (float64)."""

_WIDEST = 2**31 - 1


def compressed(X: scipy.sparse.spmatrix | scipy.sparse.sparray) -> scipy.sparse.csr_array:
    """A sparse matrix of any format as compressed rows, copied."""
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"X must have rows and columns, at least one of each; got a sparse array {X.shape}")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X must hold real numbers; got a sparse {type(X).__name__} of dtype {X.dtype}")
    if X.shape[1] > _WIDEST:
        raise InputError(f"X must have at most {_WIDEST} columns; got {X.shape[1]}. Hash the columns into fewer")
    try:
        array = scipy.sparse.csr_array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64, copy=True)
        array.check_format(full_check=True)
        array.sum_duplicates()
        array.eliminate_zeros()
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(f"X is a damaged sparse matrix ({error}); build it again from its entries") from error
    if not np.isfinite(array.data).all():
        row = int(np.searchsorted(array.indptr, np.flatnonzero(~np.isfinite(array.data))[0], side="right")) - 1
        raise InputError(f"X must hold finite numbers; got NaN or infinity in row {row}. Fill or drop such rows")
    return array


def to_items(rows: scipy.sparse.csr_array) -> list[SparseItem]:
    """The rows of a matrix that :func:`compressed` made, one item each."""
    places, values = rows.indices.astype(np.int32), rows.data.astype(np.float64)
    bounds = list(zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True))
    return [(places[a:b], values[a:b]) for a, b in bounds]


def from_items(items: list[SparseItem], width: int) -> scipy.sparse.csr_array:
    """The matrix whose rows the items are."""
    stops = np.cumsum([0, *(len(places) for places, _ in items)])
    places = np.concatenate([item[0] for item in items]) if items else np.empty(0, np.int32)
    values = np.concatenate([item[1] for item in items]) if items else np.empty(0)
    if len(places) and not 0 <= places.min() <= places.max() < width:  # SciPy would write next to its memory
        raise InputError(f"rows of a sparse matrix must have column indices from 0 to {width - 1}; got {places.max()}")
    index = np.int32 if stops[-1] < _WIDEST else np.int64
    parts = (values, places.astype(index, copy=False), stops.astype(index))
    return scipy.sparse.csr_array(parts, shape=(len(items), width))
