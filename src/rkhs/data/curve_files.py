"""Curves in files: tables whose columns are times."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import Dataset
from rkhs.data.formats import is_table, is_text_table, open_lines
from rkhs.data.irregular import curves_on_grid
from rkhs.data.mixed import OF_MIXED, read_mixed
from rkhs.data.readers import column_titles, read_table
from rkhs.data.text import MIXED, number_in

__all__ = ["read_curve_file"]

_TIMES = ("times", "t")
_NUMBERS = "correct what is no number: a cell of a curve holds a number or nothing"  # no kernel of mixed tables


def read_curve_file(file: Path, options: dict[str, Any]) -> Dataset:
    """Curves on one grid of times: rows of a table, whose empty cells are filled; see ``rkhs.data.read_items``."""
    given, times = dict(options), None
    if file.suffix.lower() == ".npz":
        times, key = _times_beside(file)
        given = key | given
    if _times_after_names(file, given):
        given |= {"header": True, "index_column": 0}
    data = _table_with_gaps(file, given)
    if data.kind not in ("vectors", "table"):
        raise InputError(f"{file}: expected curves as rows of numbers; got {data.kind}; leave out what asks for these")
    if data.column_names is not None:
        times = _times_named(data.column_names, file)
    if times is not None and (times.shape != data.X.shape[1:] or not _increase(times)):
        raise InputError(
            f"{file}: curves need {data.X.shape[1]} finite, increasing times, one a column; got "
            f"{times.tolist()!r:.60}; sort the columns"
        )
    if data.kind == "table":
        try:
            X = curves_on_grid(data.X, times).data_matrix[:, :, 0]
        except InputError as error:
            raise InputError(f"{file}: {error}; or leave out columns or rows with empty cells at their ends") from error
        data = replace(data, X=X, filled=int(np.isnan(data.X).sum()))
    return replace(data, kind="curves", times=times)


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


def _times_after_names(file: Path, options: dict[str, Any]) -> bool:
    """Whether the first line of a text file is a title and increasing numbers, which are the times of named curves."""
    said = {name: value for name, value in options.items() if value is not None}
    if not is_text_table(file) or set(said) - {"delimiter", "encoding", "header"}:
        return False
    if said.pop("header", True) is not True:
        return False
    titles = column_titles(file, **said)
    with open_lines(file, said.get("encoding", "utf-8-sig"), None) as lines:
        line = lines.readline().rstrip("\r\n")
    if line.startswith((",", ";", "\t")):  # the column of names has no title
        titles = line.split(line[0])
    times = np.array([number_in(title) for title in titles], dtype=np.float64)  # None, for other texts, is NaN
    return len(times) > 2 and math.isnan(times[0]) and _increase(times[1:])


def _table_with_gaps(file: Path, options: dict[str, Any]) -> Dataset:
    """A table of numbers; empty cells of one with lines or columns of its own are NaN."""
    try:
        return read_table(file, **options)
    except InputError as error:
        readable = is_table(file) and not set(options) - OF_MIXED
        for names in ({}, {"index_column": 0}) if readable else ():  # a first column of texts may be names
            try:
                data = read_mixed(file, **(names | options))
                X = np.array([[np.nan if cell is None else cell for cell in row] for row in data.X], dtype=np.float64)
            except (InputError, TypeError, ValueError):
                continue
            if np.isnan(X).any():
                return replace(data, X=X)
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
