"""Reading codes with their factors, and splitting them in halves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from rkhs._core.errors import InputError


def read_pair(codes: Any, factors: Any) -> tuple[np.ndarray, np.ndarray]:
    Z = np.asarray(codes, dtype=np.float64)
    V = np.asarray(factors)
    if Z.ndim != 2 or Z.shape[0] < 2 or Z.shape[1] < 1 or not np.isfinite(Z).all():
        raise InputError(f"codes must be a finite array of shape (n, D) with n >= 2; got shape {Z.shape}")
    if V.ndim != 2 or V.shape[0] != Z.shape[0] or V.shape[1] < 1:
        raise InputError(f"factors must have shape ({Z.shape[0]}, F), one row a code; got {V.shape}")
    if V.dtype.kind == "f" and not np.isfinite(V).all():
        raise InputError("factors must be finite; got NaN or infinity")
    return Z, np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in V.T], 1)


def varying(V: np.ndarray) -> list[int]:
    """Columns with more than one value; the others cannot be scored."""
    kept = [j for j in range(V.shape[1]) if V[:, j].max() > 0]
    if not kept:
        raise InputError("factors must vary: every column has a single value")
    return kept


def halves(v: np.ndarray, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """A seeded half split, stratified where every value occurs twice."""
    rows = np.arange(len(v))
    enough = np.bincount(v).min() >= 2 and len(v) // 2 >= v.max() + 1
    train, test = train_test_split(rows, test_size=0.5, random_state=random_state, stratify=v if enough else None)
    if len(np.unique(v[train])) < 2:
        raise InputError("each factor needs at least two values in the training half; give more rows")
    return train, test
