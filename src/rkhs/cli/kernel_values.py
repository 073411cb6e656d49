"""Gram matrices and other kernel values that commands read from files."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.data import Dataset
from rkhs.data.arrays import OF_SPARSE, array_types
from rkhs.data.table_reader import read_table
from rkhs.data.text import Mendable, Note

_EXACT, _ROUNDING = 1e-8, 1e-6  # parts of the largest entry by which a Gram matrix may be asymmetric, or is averaged


def read_gram(args: argparse.Namespace, path: str, gram: Literal[True, "cross"], options: dict[str, Any]) -> Dataset:
    """Read kernel values: one matrix, or several of a file of arrays."""
    found = _gram_views(path, gram, options) if path.lower().endswith(".npz") and args.key is None else None
    data = read_table(path, gram=gram, **options) if found is None else found
    if data.X.ndim == 3:
        return data
    return _symmetric(_of_distances(data) if gram is True else data, gram)


def _symmetric(data: Dataset, gram: bool | Literal["cross"]) -> Dataset:
    """A Gram matrix, averaged with its transpose where they differ by no more than numbers of 32 bits are rounded."""
    gap = np.abs(data.X - data.X.T).max() / max(np.abs(data.X).max(), np.finfo(float).tiny) if gram is True else 0.0
    if not _EXACT < gap <= _ROUNDING:
        return data
    what = f"entries differ by {gap:.1e} of the largest from their mirror images, as single precision rounds"
    warn(Note(f"{data.source}: {what}: they are averaged"))
    return replace(data, X=(data.X + data.X.T) / 2.0)


def refuse_hidden_names(path: str, n: int) -> None:
    """Refuse a .npz file whose names of n rows are Python objects, which are not read."""
    types = array_types(Path(path)) if path.lower().endswith(".npz") else {}
    hidden = [name for name, (shape, dtype) in types.items() if dtype.hasobject and shape == (n,)]
    if hidden:
        raise InputError(
            f"{path}: array {quote(hidden[0])} may name the rows, and holds Python objects, which are not read; "
            f"save it as texts, {hidden[0]}.astype(str), or write the names as the first column of a table"
        )


def _gram_views(path: str, gram: bool | Literal["cross"], options: dict[str, Any]) -> Dataset | None:
    """All matrices of a .npz file as views of the same items, stacked by name; None if it holds one array."""
    types = array_types(Path(path))
    numbers = sorted(name for name, (_, dtype) in types.items() if dtype.kind not in "OUS")
    names = [name for name in numbers if len(types[name][0]) == 2] or numbers
    if len(types) < 2 or {*types} >= OF_SPARSE or not names:
        return None
    shapes = {name: types[name][0] for name in names}
    if len({*shapes.values()}) > 1:
        likely = [name for name, shape in shapes.items() if (len({*shape}) == 1) == (gram is True)] or names
        what = f"{path}: several Gram matrices in one file must have one shape; got {sorted({*shapes.values()})}"
        raise Mendable(f"{what}; choose one with --key", f"reads {quote(likely[0])}", key=likely[0])
    parts = [read_table(path, gram=gram, **{**options, "key": name}) for name in names]
    if len(parts) == 1:
        return parts[0]
    return replace(parts[0], X=np.stack([part.X for part in parts]), source=path)


def _of_distances(data: Dataset) -> Dataset:
    """Kernel values of numbers with zeros on the diagonal alone: no kernel has these, and distances do."""
    away = data.X[data.X > 0.0]
    if data.X.diagonal().any() or len(away) < 0.5 * data.X.size or data.X.min() < 0.0:
        return data
    scale = float(np.median(away))
    what = f"zeros on the diagonal and positive numbers elsewhere are distances d, read as exp(-d / {scale:.4g})"
    warn(Note(f"{data.source}: {what}, with their median; new rows are then distances to these items too"))
    return replace(data, X=np.exp(data.X / -scale), distance_scale=scale)
