"""What is predicted: numbers, or classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rkhs._core.errors import InputError


def read_target(target: Any, n: int, name: str) -> np.ndarray:
    """Read a number or a class of each item: floats with NaN for gaps, or texts with None for gaps."""
    import pandas

    if np.shape(target) != (n,):
        raise InputError(f"{name} must have shape ({n},), one value per item; got {np.shape(target)}")
    column = pandas.Series(target)
    known = column.dropna()
    if not len(known):
        raise InputError(f"{name} must hold a known value; got none; leave it out")
    if column.dtype == "category" or known.infer_objects().dtype.kind not in "iuf":
        return np.array([class_name(cell) or None for cell in column.tolist()], dtype=object)
    values = column.to_numpy(np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise InputError(f"{name} must be finite, or NaN where it is not known; got infinity")
    return values


def is_class(values: np.ndarray) -> bool:
    """Whether values are classes: texts, not numbers."""
    return values.dtype.kind not in "iuf"


def class_name(value: Any) -> str:
    """A class as a text; a gap is empty."""
    import pandas

    if pandas.isna(value):
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)
