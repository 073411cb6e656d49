"""Curves in files: tables whose columns are times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs._core.files import old_headers
from rkhs.data.arrays import check_arrays
from rkhs.data.dataset import Dataset
from rkhs.data.irregular import curves_on_grid
from rkhs.data.mixed import read_mixed
from rkhs.data.readers import read_table
from rkhs.data.text import number_in

__all__ = ["read_curve_file"]

_TIMES = ("times", "t")


def read_curve_file(file: Path, options: dict[str, Any]) -> Dataset:
    """Curves on one grid of times: rows of a table, whose empty cells are filled; see ``rkhs.data.read_items``."""
    given, beside = dict(options), None
    if file.suffix.lower() == ".npz":
        beside, name = _times_beside(file)
        if name is not None:
            given.setdefault("key", name)
    data = _table_with_gaps(file, given)
    if data.kind not in ("vectors", "table"):
        raise InputError(f"{file}: expected curves as rows of numbers; got {data.kind}; leave out what asks for these")
    times = beside
    if data.column_names is not None:
        found = [number_in(name) for name in data.column_names]
        bad = next((name for name, time in zip(data.column_names, found, strict=True) if time is None), None)
        if bad is not None:
            raise InputError(
                f"{file}: the columns of curves are named by their times, which are numbers; got the name "
                f"{shown(bad)}; name the other columns with columns=[...], or read vectors"
            )
        times = np.array(found, dtype=np.float64)
    if times is not None and (
        times.shape != data.X.shape[1:] or not np.isfinite(times).all() or not (np.diff(times) > 0).all()
    ):
        raise InputError(
            f"{file}: curves need {data.X.shape[1]} finite, increasing times, one a column; got "
            f"{times.tolist()!r:.60}; sort the columns"
        )
    if data.kind == "table":
        gaps = int(np.isnan(data.X).sum())
        try:
            X = curves_on_grid(data.X, times).data_matrix[:, :, 0]
        except InputError as error:
            raise InputError(f"{file}: {error}; or leave out columns or rows with empty cells at their ends") from error
        data = replace(data, X=X, filled=gaps)
    return replace(data, kind="curves", times=times)


def _table_with_gaps(file: Path, options: dict[str, Any]) -> Dataset:
    """A table of numbers; one of a text file with a known first line may have empty cells, which are NaN."""
    try:
        return read_table(file, **options)
    except InputError:
        known = {"columns", "drop_columns", "index_column", "header", "delimiter", "encoding"}
        if file.suffix.lower() not in (".csv", ".tsv") or options.get("header") is None or set(options) - known:
            raise
        try:
            data = read_mixed(file, **options)
            X = np.array([[np.nan if cell is None else cell for cell in row] for row in data.X], dtype=np.float64)
        except (InputError, TypeError, ValueError):
            X = np.zeros(0)
        if not np.isnan(X).any():
            raise
        return replace(data, X=X)


def _times_beside(file: Path) -> tuple[np.ndarray | None, str | None]:
    """Times that a .npz file holds, and the name of its only table."""
    try:
        check_arrays(file)
        with old_headers(), open(file, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception:  # the reader of tables says what is wrong
        return None, None
    times = next((arrays[name] for name in _TIMES if name in arrays), None)
    tables = [name for name, array in arrays.items() if array.ndim == 2 and name not in _TIMES]
    numbers = None if times is None or times.dtype.kind not in "biuf" else times.astype(np.float64).ravel()
    return numbers, tables[0] if len(tables) == 1 else None
