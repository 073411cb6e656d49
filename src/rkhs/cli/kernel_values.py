"""Gram matrices and other kernel values that commands read from files."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from rkhs._core.errors import InputError, warn
from rkhs.data import Dataset
from rkhs.data.dataset import as_gram

_EXACT, _ROUNDING = 1e-8, 1e-6  # parts of the largest entry by which a Gram matrix may be asymmetric, or is averaged


def as_gram_matrix(data: Dataset, gram: Literal[True, "cross"]) -> Dataset:
    """Kernel values: a square Gram matrix with its names, or those of new rows with known columns."""
    if data.kind == "table":
        raise InputError(f"{data.source}: a Gram matrix holds numbers alone; got texts or gaps; correct the file")
    if data.X.ndim == 3:
        return data
    found = as_gram(data, gram)
    return _symmetric(_of_distances(found) if gram is True else found, gram)


def _symmetric(data: Dataset, gram: bool | Literal["cross"]) -> Dataset:
    """A Gram matrix, averaged with its transpose where they differ by no more than numbers of 32 bits are rounded."""
    gap = np.abs(data.X - data.X.T).max() / max(np.abs(data.X).max(), np.finfo(float).tiny) if gram is True else 0.0
    if not _EXACT < gap <= _ROUNDING:
        return data
    what = f"entries differ by {gap:.1e} of the largest from their mirror images, as single precision rounds"
    warn(f"{data.source}: {what}: they are averaged")
    return replace(data, X=(data.X + data.X.T) / 2.0)


def _of_distances(data: Dataset) -> Dataset:
    """Kernel values of numbers with zeros on the diagonal alone: no kernel has these, and distances do."""
    away = data.X[data.X > 0.0]
    if data.X.diagonal().any() or len(away) < 0.5 * data.X.size or data.X.min() < 0.0:
        return data
    scale = float(np.median(away))
    what = f"zeros on the diagonal and positive numbers elsewhere are distances d, read as exp(-d / {scale:.4g})"
    warn(f"{data.source}: {what}, with their median; new rows are then distances to these items too")
    return replace(data, X=np.exp(data.X / -scale), distance_scale=scale)
