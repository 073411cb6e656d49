"""Data sets, one file per family: a module with ``sets(folder) -> list of DataSet``; every module here is found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DataSet:
    """One data set; nothing is read before ``load()`` is called.

    ``load`` returns ``X`` and ``y``: ``X`` of shape (n, d), or for ``gram=True`` a Gram matrix (n, n) of constant
    diagonal; ``y`` classes (n,), numbers (n,) or (n, q), or None. ``development``: used while defaults were chosen.
    ``standardise``: columns are divided by their standard deviations on the rows to fit.
    """

    name: str
    family: str
    load: Callable[[], tuple[np.ndarray, np.ndarray | None]]
    development: bool = False
    standardise: bool = False
    gram: bool = False
    classes: bool = True
    sample: Callable[[np.ndarray], Any] | None = None  # rows -> X, y, where a whole Gram matrix would be too large


def all_sets(folder: Path | None) -> Iterator[DataSet]:
    """Every set of every family; None leaves out what needs the folder of benchmark data."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        yield from importlib.import_module(f"{__name__}.{module.name}").sets(folder)


def unpacked(path: Path, name: str, count: int | None = None) -> np.ndarray:
    """Bits stored eight a byte, as numbers."""
    return np.unpackbits(np.load(path)[name], axis=1)[:, :count].astype(float)


def cosine(V: np.ndarray) -> np.ndarray:
    """Gram matrix of rows of unit norm; rows of zeros stay apart from all others."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    V = V / np.where(norms > 0.0, norms, 1.0)
    K = V @ V.T
    np.fill_diagonal(K, 1.0)
    return K
