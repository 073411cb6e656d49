"""Time series in files: rows of a table, rows behind their class as in the UCR archive, and NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, warn
from rkhs.data.arrays import choose_array, load_arrays
from rkhs.data.cells import names_of, number_columns, row_names, row_title
from rkhs.data.dataset import Dataset, refuse_empty
from rkhs.data.formats import extension_of
from rkhs.data.frames import read_frame

SERIES_EXTENSIONS = (".tsv", ".npz", ".npy")  # besides tables of a series a row


def read_series(file: Path, key: str | None = None) -> Dataset:
    """Read time series, which may have different lengths; see `read_items`."""
    extension = extension_of(file)
    if extension == ".tsv":
        return _of_archive(file)
    if file.is_dir() or extension not in SERIES_EXTENSIONS:
        raise InputError(f"{file}: series are read from tables, .tsv, .npz and .npy files; convert it")
    return _from_arrays(file, key)


def series_of(frame: Any, source: str) -> Dataset:
    """One series per row of a frame of numbers; gaps at its end are padding."""
    rows = np.column_stack(number_columns(frame, source, "a series"))
    series = [_without_padding(row[:, None], f"{source}: row {i}") for i, row in enumerate(rows, 1)]
    return Dataset(np.fromiter(series, object), "series", row_names(frame), None, source, row_title=row_title(frame))


def _of_archive(file: Path) -> Dataset:
    """Rows of the UCR archive: a class, which is a whole number, and the values behind it."""
    frame = read_frame(file, {})
    cells = number_columns(frame.iloc[:, :1], str(file), "a series")[0]
    if names_of(frame) is not None or (cells != np.round(cells)).any() or frame.shape[1] == 1:
        raise InputError(
            f"{file}: a .tsv file of series has no names, and begins each row with its class, a whole number, as the "
            "UCR archive does; write other series as .csv"
        )
    data = series_of(frame.iloc[:, 1:], str(file))
    return Dataset(data.X, "series", None, None, str(file), classes=cells.astype(np.int64).astype(str))


def _without_padding(values: np.ndarray, where: str) -> np.ndarray:
    """Finite numbers of shape (length, channels), without rows of NaN at the end."""
    known = np.flatnonzero(~np.isnan(values).all(axis=1))
    if not known.size:
        raise InputError(f"{where}: expected finite numbers; got missing values only; remove the series")
    values = values[: known[-1] + 1]
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise InputError(
            f"{where}: expected finite numbers; got NaN or infinity at time {bad[0]}; fill the gap, or leave it out"
        )
    return values


def _from_arrays(file: Path, key: str | None) -> Dataset:
    arrays = load_arrays(file, list if key is None else lambda names: [choose_array(file, names, key)])
    names, items = None if "" in arrays else tuple(arrays), list(arrays.values())
    if len(items) == 1 and items[0].ndim in (2, 3):
        arrays, names = {f"series {i}": item for i, item in enumerate(items[0])}, None
    series = [_finite(item, f"{file}: {name or 'series 0'}") for name, item in arrays.items()]
    refuse_empty(series, file, "arrays of numbers, one per series", "none")
    if series[0].shape[1] > 1:
        warn(f"{file}: the last axis of arrays is that of channels: the first has {series[0].shape} times, channels")
    return Dataset(np.fromiter(series, object), "series", names, None, str(file))


def _finite(item: Any, where: str) -> np.ndarray:
    """Return one series as float64 of shape (length, channels), without padding by NaN."""
    if item.dtype.kind not in "biuf" or item.ndim not in (1, 2) or item.size == 0:
        raise InputError(
            f"{where}: expected numbers of shape (length,) or (length, channels); got {item.dtype} of shape "
            f"{item.shape}; key= chooses one array of a file"
        )
    return _without_padding(np.array(item, dtype=np.float64).reshape(len(item), -1), where)
