"""Curves in files: tables whose columns are times."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import NOTHING_KNOWN, Dataset, keep_rows, listed
from rkhs.data.formats import is_text_table, open_lines
from rkhs.data.irregular import curves_on_grid
from rkhs.data.layout import is_grid
from rkhs.data.mixed import OF_MIXED
from rkhs.data.readers import column_titles, read_numbers, read_table
from rkhs.data.text import MIXED, number_in

_TIMES = ("times", "t")
_NUMBERS = "correct what is no number: a cell of a curve holds a number or nothing"  # no kernel of mixed tables


def read_curve_file(file: Path, options: dict[str, Any]) -> Dataset:
    """Curves on one grid of times: rows of a table, whose empty cells are filled; see ``rkhs.data.read_items``."""
    given, times = dict(options), None
    if file.suffix.lower() == ".npz":
        times, key = _times_beside(file)
        given = key | given
    said = _said_by_titles(file, given)
    data = _table_with_gaps(file, given | said)
    if said and "index_column" not in said:
        data = replace(data, guessed=(*data.guessed, "the first row, numbers in equal steps, holds the times"))
    if data.kind != "vectors":
        raise InputError(f"{file}: expected curves as rows of numbers; got {data.kind}; leave out what asks for these")
    if data.column_names is not None:
        times = _times_named(data.column_names, file)
    if times is not None and (times.shape != data.X.shape[1:] or not _increase(times)):
        raise InputError(
            f"{file}: curves need {data.X.shape[1]} finite, increasing times, one a column; got "
            f"{times.tolist()!r:.60}; sort the columns"
        )
    data = keep_rows(data, ~np.isnan(data.X).all(axis=1), NOTHING_KNOWN)
    gaps = np.isnan(data.X)
    if gaps.any():
        _check_ends(data, ~gaps, file)
        data = replace(data, X=curves_on_grid(data.X, times).data_matrix[:, :, 0], filled=int(gaps.sum()))
    return replace(data, kind="curves", times=times)


def _check_ends(data: Dataset, known: np.ndarray, file: Path) -> None:
    bad = np.flatnonzero(~(known[:, 0] & known[:, -1]))
    if not len(bad):
        return
    names, whole = data.column_names or tuple(map(str, range(known.shape[1]))), np.flatnonzero(known.all(axis=0))
    ends = [] if not len(whole) else [*names[: whole[0]], *names[whole[-1] + 1 :]]  # all are known between these
    columns = f"drop_columns={ends!r} leaves out the ends; or " if len(ends) in range(1, len(names) - 1) else ""
    labels = [f"row {i + 1}" if data.row_names is None else data.row_names[i] for i in bad]
    raise InputError(
        f"{file}: gaps of curves are filled between known values; got {len(bad)} curves with gaps at an end: "
        f"{listed(labels, 10)}; {columns}take these curves out of the file; or pass header=True in place of "
        "kind='curves', which fills gaps from the nearest rows"
    )


def _increase(times: np.ndarray) -> bool:
    """Whether times are finite and each is later than the one before."""
    return bool(np.isfinite(times).all() and (np.diff(times) > 0.0).all())


def _times_named(names: tuple[str, ...], file: Path) -> np.ndarray:
    """The numbers that names of columns spell."""
    found = {name: number_in(name) for name in names}
    bad = next((name for name, time in found.items() if time is None), None)
    if bad is not None:
        raise InputError(
            f"{file}: the columns of curves are named by their times, which are numbers; got the name {shown(bad)}; "
            "name the other columns with columns=[...], or read vectors"
        )
    return np.array(list(found.values()), dtype=np.float64)


def _said_by_titles(file: Path, options: dict[str, Any]) -> dict[str, Any]:
    """How to read a text file whose first line holds times: numbers in equal steps, or a title and increasing ones."""
    said = {name: value for name, value in options.items() if value is not None}
    said.pop("drop_columns", None)
    asked = said.pop("header", None)
    if not is_text_table(file) or set(said) - {"delimiter", "encoding"} or asked is False:
        return {}
    times = _first_numbers(file, said)
    if len(times) > 2 and math.isnan(times[0]) and _increase(times[1:]):
        return {"header": True, "index_column": 0}
    return {"header": True} if asked is None and len(times) > 2 and is_grid(times) else {}


def _first_numbers(file: Path, options: dict[str, Any]) -> np.ndarray:
    """Numbers in the first line, NaN for texts, also where the column of names has no title."""
    with open_lines(file, options.get("encoding", "utf-8-sig"), None) as lines:
        line = lines.readline().rstrip("\r\n")
    titles = line.split(line[0]) if line.startswith((",", ";", "\t")) else column_titles(file, **options)
    return np.array(list(map(number_in, titles)), dtype=np.float64)  # None is NaN


def _table_with_gaps(file: Path, options: dict[str, Any]) -> Dataset:
    """A table of numbers with NaN for gaps; a first column of texts holds names of curves."""
    if set(options) - OF_MIXED:
        return read_table(file, **options)
    try:
        return read_numbers(file, names_first=True, **options)
    except InputError as error:
        raise InputError(str(error).replace(MIXED, _NUMBERS)) from error


def _times_beside(file: Path) -> tuple[np.ndarray | None, dict[str, str]]:
    """Times that a .npz file holds, and the key of its only table."""
    try:
        arrays = load_arrays(file)
    except InputError:  # the reader of tables says what is wrong
        return None, {}
    times = next((arrays[name] for name in _TIMES if name in arrays), None)
    tables = [name for name, array in arrays.items() if array.ndim == 2 and name not in _TIMES]
    numbers = None if times is None or times.dtype.kind not in "biuf" else times.astype(np.float64).ravel()
    return numbers, {"key": tables[0]} if len(tables) == 1 else {}
