"""Cells of tables of numbers, texts and gaps."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rkhs._core.arrays import column_names, table_rows
from rkhs._core.checks import check_count
from rkhs._core.dates import Day, are_dates, day_number, day_numbers
from rkhs._core.errors import InputError, quote, warn

_SHOWN = 3  # columns that a warning names
_TRUTH, DATES = (bool, np.bool_), (datetime.date, np.datetime64, Day)
_FOREIGN: dict[str, tuple[type, ...]] = {  # what new cells of a kind are not
    **{"number": (str, *_TRUTH, *DATES[:2]), "flag": (str, *DATES[:2]), "date": _TRUTH},
    "truth": DATES,
    **{"text": (int, float, np.number, *_TRUTH, *DATES), "none": ()},
}

_NAMES = {"text": "texts", "date": "dates such as 2024-01-31", "truth": "truth values"}


def read_cells(
    X: Any, reader: str, categorical: Any = (), known: Sequence[tuple[str, str]] = ()
) -> list[tuple[Any, ...]]:
    """Rows of a table as tuples of numbers (NaN: missing) and texts (None: missing), each column of its known kind."""
    rows, width = _rows_of_one_length(X, reader)
    names = _positions(categorical, width, reader)
    cells = [[_cell(row[j], i, j, j in names, reader) for i, row in enumerate(rows)] for j in range(width)]
    undated = names | {j for j, (_, kind) in enumerate(known) if kind != "date"}
    dated = [column if j in undated else _days(column) for j, column in enumerate(cells)]
    _refuse_other_kinds(dated, rows, known)
    titles = list(map(repr, column_names(X) or range(width)))
    return list(zip(*(_of_one_kind(column, titles[j], reader) for j, column in enumerate(dated)), strict=True))


def _refuse_other_kinds(columns: list[list[Any]], rows: list[Any], known: Sequence[tuple[str, str]]) -> None:
    """Refuse new cells that are not what the columns of the fit held; truth values are numbers where these are 0, 1."""
    for j, (column, (title, kind)) in enumerate(zip(columns, known, strict=False)):
        for i, cell in enumerate(column):
            stray = kind == "date" and isinstance(cell, str) and not are_dates([cell])
            if cell is not None and (stray or isinstance(rows[i][j], _FOREIGN[kind])):
                what = f"X must hold {_NAMES.get(kind, 'numbers')} in {title}, as in fit"
                raise InputError(f"{what}; got {quote(rows[i][j])} in row {i}")


def _rows_of_one_length(X: Any, reader: str) -> tuple[list[Any], int]:
    """The rows of a table and their length."""
    rows = table_rows(X)
    if not rows:
        raise InputError("X must hold at least one row; got none (n_samples=0)")
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or not width:
            raise InputError(f"{reader} reads rows of one length, not empty; row {i} has {len(row)} cells")
    return rows, width


def warn_of_far(source: str, columns: Iterable[tuple[str, np.ndarray, float, float]]) -> None:
    """Warn once of values farther outside of the range of the fit than it is wide: title, values, range of columns."""
    found = []
    for title, values, low, high in columns:
        away = np.maximum(low - values, values - high)
        if (far := away > high - low).any():
            most = values[np.nanargmax(away)]
            found.append(
                f"{title} {far.sum()} of {len(values)}, such as {most:,.6g}; the fit has {low:,.6g} to {high:,.6g}"
            )
    if found:
        more = f"; and {len(found) - _SHOWN} other columns" if len(found) > _SHOWN else ""
        warn(f"{source}rows far outside of the range of the fit: {'; '.join(found[:_SHOWN])}{more}")


def _positions(categorical: Any, width: int, reader: str) -> set[int]:
    if isinstance(categorical, (str, bytes)) or not hasattr(categorical, "__iter__"):
        raise InputError(f"{reader}.categorical must be a list of positions; got {categorical!r}")
    names = {check_count(j, f"{reader}.categorical", at_least=0) for j in categorical}
    if names and max(names) >= width:
        raise InputError(f"{reader}.categorical must be positions from 0 to {width - 1}; got {categorical!r}")
    return names


def _days(column: list[Any]) -> list[Any]:
    """Convert a column of dates to days since the first of January 1970; leave other columns."""
    texts = [value for value in column if isinstance(value, str)]
    days = day_numbers(texts) if len(texts) == sum(value is not None for value in column) else None
    number = dict(zip(texts, days or (), strict=False))
    return column if days is None else [number.get(value) for value in column]


def _of_one_kind(column: list[Any], title: str, reader: str) -> list[Any]:
    """The column with NaN in place of None, if it holds numbers."""
    texts = any(isinstance(value, str) for value in column)
    if texts and any(isinstance(value, float) for value in column):
        advice = ", or name it in MixedTable.categorical" if reader == "MixedTable" else ""
        raise InputError(
            f"{reader} reads columns of numbers or of texts; column {title} holds both. "
            f"Make its texts numbers, or its numbers texts{advice}"
        )
    return column if texts else [math.nan if value is None else value for value in column]


def _cell(value: Any, row: int, column: int, name: bool, reader: str) -> Any:
    """A number, a text, or None for a missing value."""
    if isinstance(value, str):
        return str(value)
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return None
    number = _number(value)
    if math.isinf(number):
        raise InputError(
            f"{reader} reads finite numbers, texts, dates and missing values; got {quote(value)} in row {row}, "
            f"column {column}. Make it a number"
        )
    if number != number:
        return None
    return f"{number:.17g}" if name else number


def _number(value: Any) -> float:
    """A number, the days of a date, or infinity for anything else."""
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]").item()
    if isinstance(value, datetime.date):  # as a Timestamp of pandas is
        return day_number(value)
    try:
        return math.inf if isinstance(value, (complex, np.complexfloating, np.timedelta64)) else float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # complex tensors; integers beyond every float
        return math.inf
