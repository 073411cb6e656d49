"""Time series in files: rows of numbers, the two text formats of the UCR and UEA archives, and NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.data.arrays import choose_array, load_arrays
from rkhs.data.dataset import Dataset, column_label, listed, read_text, refuse_empty
from rkhs.data.formats import extension_of, open_bytes
from rkhs.data.text import number_in

SERIES_EXTENSIONS = (".ts", ".tsv", ".csv", ".npz", ".npy")


def read_series(file: Path, key: str | None = None, encoding: str = "utf-8") -> Dataset:
    """Read time series, which may have different lengths; see `read_items`."""
    extension = extension_of(file)
    if file.is_dir() or extension not in SERIES_EXTENSIONS:
        raise InputError(f"{file}: series are read from files that end in {', '.join(SERIES_EXTENSIONS)}; convert it")
    if extension in (".npz", ".npy"):
        return _from_arrays(file, key)
    lines = _lines(file, encoding)
    if extension == ".ts":
        series, targets = _from_ts(iter(lines), str(file))
    else:
        series, targets = _from_rows(lines, "\t" if extension == ".tsv" else ",", extension == ".tsv", str(file))
    refuse_empty(series, file, "one row of numbers per series", "none")
    return Dataset(np.fromiter(series, object), "series", None, None, str(file), classes=targets)


def rows_of_numbers(file: Path) -> bool:
    """Whether the first line of a .csv or .tsv file holds numbers alone, as the archives write series."""
    with open_bytes(file) as handle:
        line = handle.readline().decode("utf-8", "replace").strip()
    cells = line.split("\t" if extension_of(file) == ".tsv" else ",")
    return all(number_in(cell) is not None for cell in cells)


def series_of(frame: Any, source: str) -> Dataset:
    """One series per row of a frame of numbers; gaps at its end are padding."""
    from rkhs.data.cells import column_cells, names_of, row_names

    names = names_of(frame)
    columns = [column_cells(frame.iloc[:, j], f"{source}: {column_label(names, j)}") for j in range(frame.shape[1])]
    texts = [column_label(names, j) for j, cells in enumerate(columns) if cells.dtype == object]
    if texts:
        raise InputError(
            f"{source}: the columns of a series hold numbers; got texts in {listed(texts)}; name a class with "
            "--predict, or leave them out"
        )
    rows = np.column_stack(columns)
    series = [_without_padding(row[:, None], f"{source}: row {i}") for i, row in enumerate(rows, 1)]
    return Dataset(np.fromiter(series, object), "series", row_names(frame), None, source)


def _lines(file: Path, encoding: str) -> list[tuple[int, str]]:
    """Numbers and texts of the lines that are not blank."""
    text = read_text(file, encoding)
    return [(i, line.strip(" \r")) for i, line in enumerate(text.splitlines(), 1) if line.strip()]


def _from_rows(
    lines: Iterable[tuple[int, str]], delimiter: str, classes: bool, source: str
) -> tuple[list[np.ndarray], np.ndarray | None]:
    series, targets = [], []
    for number, line in lines:
        cells = [cell.strip() for cell in line.split(delimiter)]
        where = f"{source}: line {number}"
        if classes:
            target = number_in(cells[0])
            if target is None or not math.isfinite(target) or target != int(target) or len(cells) < 2:
                raise InputError(
                    f"{where}: a .tsv file of series begins each row with its class, a whole number, as the UCR "
                    f"archive does; got {cells[0][:20]!r}; write series without classes as .csv"
                )
            targets.append(str(int(target)))
        series.append(_channel(cells[1:] if classes else cells, where)[:, None])
    return series, np.array(targets) if classes else None


def _channel(cells: Sequence[str], where: str) -> np.ndarray:
    """Numbers of one channel, without the padding at its end."""
    found = [number_in(cell) for cell in cells]
    if None in found:
        raise InputError(
            f"{where}: expected numbers; got {cells[found.index(None)][:20]!r}; correct it, or remove the series"
        )
    return _without_padding(np.array(found, dtype=np.float64)[:, None], where, cells)[:, 0]


def _without_padding(values: np.ndarray, where: str, cells: Sequence[str] | None = None) -> np.ndarray:
    """Finite numbers of shape (length, channels), without rows of NaN at the end."""
    known = np.flatnonzero(~np.isnan(values).all(axis=1))
    values = values[: known[-1] + 1] if known.size else values[:0]
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if not values.size or bad.size:
        cell = "NaN or infinity" if cells is None or not bad.size else quote(cells[bad[0]] or "an empty cell")
        when = f"{cell} at time {bad[0]}" if values.size else "missing values only"
        raise InputError(f"{where}: expected finite numbers; got {when}; fill the gap, or remove the series")
    return values


def _from_ts(lines: Iterator[tuple[int, str]], source: str) -> tuple[list[np.ndarray], np.ndarray | None]:
    head = _ts_head(lines, source)
    if head.get("@timestamps") == "true":
        raise InputError(f"{source}: series with time stamps are not read; write them at equal steps, without stamps")
    numbers = head.get("@targetlabel") == "true"
    classes = numbers or head.get("@classlabel") == "true"
    series, targets = [], []
    for number, line in lines:
        where, parts = f"{source}: line {number}", line.split(":")
        if classes:
            targets.append(parts.pop().strip())
        channels = [_channel(part.split(","), where) for part in parts]
        if len({len(one) for one in channels}) != 1:
            raise InputError(
                f"{where}: expected channels of one length; got {[len(one) for one in channels]}; resample them"
            )
        series.append(np.stack(channels, axis=1))
    return series, _targets(targets, numbers, source) if classes else None


def _targets(cells: list[str], numbers: bool, source: str) -> np.ndarray:
    """Classes of series, or numbers with NaN for gaps."""
    if not numbers:
        return np.array(cells)
    values = [number_in(cell) for cell in cells]
    if None in values:
        raise InputError(f"{source}: @targetlabel true says that each line ends in a number; got texts; correct them")
    return np.array(values, dtype=np.float64)


def _ts_head(lines: Iterator[tuple[int, str]], source: str) -> dict[str, str]:
    """Read the header of a .ts file up to @data: the first word after each @name."""
    head: dict[str, str] = {}
    for _, line in lines:
        name, *words = line.lower().split()
        if name == "@data":
            break
        if not line.startswith(("#", "@")):
            raise InputError(f"{source}: expected lines that start with '@' before '@data'; got {line[:20]!r}")
        head[name] = words[0] if words else ""
    return head


def _from_arrays(file: Path, key: str | None) -> Dataset:
    arrays = load_arrays(file) if key is None else {"": _array_named(file, key)}
    names, items = None if "" in arrays else tuple(arrays), list(arrays.values())
    if len(items) == 1 and items[0].ndim in (2, 3):
        arrays, names = {f"series {i}": item for i, item in enumerate(items[0])}, None
    series = [_finite(item, f"{file}: {name or 'series 0'}") for name, item in arrays.items()]
    refuse_empty(series, file, "arrays of numbers, one per series", "none")
    if series[0].shape[1] > 1:
        warn(f"{file}: the last axis of arrays is that of channels: the first has {series[0].shape} times, channels")
    return Dataset(np.fromiter(series, object), "series", names, None, str(file))


def _array_named(file: Path, key: str) -> np.ndarray:
    """The array of a .npz file that holds all series."""
    arrays = load_arrays(file, lambda names: [choose_array(file, names, key)])
    if arrays[key].ndim not in (2, 3):
        raise InputError(
            f"{file}: array {key!r} must have shape (n, length) or (n, length, channels); got {arrays[key].shape}"
        )
    return arrays[key]


def _finite(item: Any, where: str) -> np.ndarray:
    """Return one series as float64 of shape (length, channels), without padding by NaN."""
    if item.dtype.kind not in "biuf" or item.ndim not in (1, 2) or item.size == 0:
        raise InputError(
            f"{where}: expected numbers of shape (length,) or (length, channels); got {item.dtype} of shape "
            f"{item.shape}; key= chooses one array of a file"
        )
    return _without_padding(np.array(item, dtype=np.float64).reshape(len(item), -1), where)
