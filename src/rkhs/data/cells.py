"""Cells of a column of a frame of pandas: numbers, or texts and days with None for gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rkhs._core.dates import Day, day_numbers
from rkhs._core.errors import InputError, quote
from rkhs.data.dataset import column_label, listed
from rkhs.data.text import unescape_formula

_LIKE_A_NUMBER = re.compile(r"\W{0,3}\d[\d.,']*\s?[^\d\s]{0,6}")  # a number with a currency or a unit
_MOST_ORDINALS = 20  # different texts that begin like numbers and may be classes, such as 1st and 2nd
_DAY = 86_400e6  # microseconds


def names_of(frame: Any) -> tuple[str, ...] | None:
    """Names of the columns; None of a table without."""
    if frame.columns.dtype.kind in "iu":
        return None
    return tuple(unescape_formula(str(name)) for name in frame.columns)


def row_names(frame: Any) -> tuple[str, ...] | None:
    """Names of the rows; None where they are counted."""
    if frame.index.dtype.kind in "iu" and frame.index.name is None:
        return None
    return tuple("" if name != name else unescape_formula(str(name)) for name in frame.index)


def row_title(frame: Any) -> str | None:
    """Name of the column that names the rows."""
    return None if frame.index.name is None else str(frame.index.name)


def column_cells(column: Any, where: str, kind: str | None = None) -> np.ndarray:
    """A column as numbers with NaN for gaps, or as texts or days with None for gaps."""
    import pandas

    if kind in (None, "number") and column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    known = column.notna().to_numpy()
    if kind == "text":
        return _spread([str(cell).strip() for cell in column[known].tolist()], known)
    if column.dtype.kind == "M":
        return _spread(_days_of(column[known]), known)
    cells = column[known].tolist()
    if all(isinstance(cell, bool) for cell in cells):  # or there are none
        return np.where(known, column.where(known, False).to_numpy(dtype=np.float64), np.nan)
    texts = [str(cell).strip() for cell in cells]
    numbers = np.asarray(pandas.to_numeric(pandas.Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
    if kind != "date" and not np.isnan(numbers).any():
        return _spread(numbers.tolist(), known).astype(np.float64)
    return _spread(_texts_or_days(texts, numbers, where, kind), known)


def look_like_numbers(texts: list[str]) -> bool:
    """Whether most texts are numbers, perhaps with marks, and without letters."""
    return 2 * sum(text.upper() == text.lower() and bool(_LIKE_A_NUMBER.fullmatch(text)) for text in texts) > len(texts)


def number_columns(frame: Any, source: str, what: str) -> list[np.ndarray]:
    """The columns of a frame of numbers, NaN for gaps; texts are refused."""
    names = names_of(frame)
    columns = [column_cells(frame.iloc[:, j], f"{source}: {column_label(names, j)}") for j in range(frame.shape[1])]
    texts = [column_label(names, j) for j, cells in enumerate(columns) if cells.dtype == object]
    if texts:
        raise InputError(
            f"{source}: the columns of {what} hold numbers; got texts in {listed(texts)}; name a class with --predict, "
            "or leave them out"
        )
    return columns


def refuse_infinite(cells: np.ndarray, where: str) -> None:
    """Refuse infinite numbers in a column; a gap is none."""
    if cells.dtype != object and np.isinf(cells).any():
        raise InputError(f"{where}: expected finite numbers; got infinity in row {int(np.isinf(cells).argmax()) + 1}")


def _days_of(times: Any) -> list[Day]:
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return [Day(number) for number in times.to_numpy().astype("M8[us]").astype(np.int64) / _DAY]


def _texts_or_days(texts: list[str], numbers: np.ndarray, where: str, kind: str | None) -> Sequence[Any]:
    """ISO dates as days, other texts as they are; numbers in disguise are refused."""
    days = day_numbers(texts)
    if days is not None:
        return [Day(day) for day in days]
    _refuse_hidden_numbers(texts, ~np.isnan(numbers), where, kind)
    return texts


def _spread(cells: Sequence[Any], known: np.ndarray) -> np.ndarray:
    """Known cells at their places, and None elsewhere."""
    found = np.full(len(known), None, dtype=object)
    found[known] = np.fromiter(cells, dtype=object, count=len(cells))
    return found


def _refuse_hidden_numbers(texts: list[str], numbers: np.ndarray, where: str, kind: str | None) -> None:
    """Refuse texts most of which are numbers, or begin like numbers with a unit or a currency."""
    odd = list(dict.fromkeys(text for text, number in zip(texts, numbers, strict=True) if not number)) or texts
    wanted = "dates, as 2024-01-31" if kind == "date" else "numbers"
    odd_ones = listed(list(map(quote, odd[:3])))
    if kind in ("number", "date") or 2 * numbers.sum() > len(texts):
        raise InputError(
            f"{where}: expected {wanted}; got {odd_ones} among {len(texts)} cells; if they stand for gaps, pass --read "
            f"na_values={odd[0]:.40}; else write {wanted}, or leave the column out with --drop-columns"
        )
    begin = sum(_LIKE_A_NUMBER.fullmatch(text) is not None for text in texts)
    if len(set(texts)) > _MOST_ORDINALS and 2 * begin > len(texts):
        raise InputError(
            f"{where}: its cells look like numbers with marks or units, such as {odd_ones}; pass --read decimal=, or "
            "--read thousands=, for marks, write numbers without units, or leave the column out with --drop-columns"
        )
