"""The columns of a table, a row each: name, kind, how it is read, gaps, spread, histogram."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

import numpy as np

from rkhs.data.columns import Column
from rkhs.reports.audit import class_name, is_class
from rkhs.reports.items import Items
from rkhs.reports.pictures import histogram
from rkhs.reports.wording import readable

HEAD = ("column", "kind", "read as", "empty", "spread", "")
_MOST, _BINS, _COMMON = 40, 12, 3
_KINDS = {"identifier": "identifier", "name": "identifier", "date": "date", "days": "date", "free": "free text"}


def column_rows(items: Items, columns: str, target: tuple[str, np.ndarray] | None) -> list[list[str]]:
    """Cells of HTML: the target first, then the columns, as many as a page can hold."""
    rows = [] if target is None else [_row(*target, "the target: not read by the map")]
    if items.columns is None or items.numbers is None or items.image_shape is not None or items.kind == "curves":
        return rows
    cells = np.asarray(items.X, dtype=object) if items.kind == "table" else items.numbers
    for j, name in enumerate(items.columns[:_MOST]):
        rows.append(_row(name, cells[:, j], _read_as(cells[:, j], columns), dated=name in items.dates))
    if len(items.columns) > _MOST:
        rows.append([f"and {len(items.columns) - _MOST} more", *[""] * (len(HEAD) - 1)])
    return rows


def _read_as(cells: np.ndarray, columns: str) -> str:
    if cells.dtype == object and any(isinstance(cell, str) for cell in cells):
        return "categories"
    return {"scaled": "standardised", "filled": "standardised, gaps filled"}.get(columns, "as it is")


def _row(name: str, cells: np.ndarray, read: str, *, dated: bool = False) -> list[str]:
    known: Any = [cell for cell in cells.tolist() if class_name(cell)]
    column = Column(cells, name, dated=dated)
    gaps = len(cells) - len(known)
    empty = f"{gaps} ({gaps / len(cells):.0%})" if gaps else "none"
    if column.is_text or is_class(column.known):
        kind, spread, bars = _of_classes(known)
    else:
        kind, spread, bars = _of_numbers(column)
    return [escape(name), _KINDS.get(column.kind, kind), read, empty, escape(spread), histogram(bars)]


def _of_classes(known: list[Any]) -> tuple[str, str, np.ndarray]:
    counts = Counter(map(class_name, known))
    common = ", ".join(f"{_short(text)} ({count})" for text, count in counts.most_common(_COMMON))
    more = f", {len(counts) - _COMMON} more" if len(counts) > _COMMON else ""
    kind = "constant" if len(counts) == 1 else f"{len(counts)} classes"
    return kind, common + more, np.array([count for _, count in counts.most_common(_BINS)])


def _of_numbers(column: Column) -> tuple[str, str, np.ndarray]:
    low, middle, high = np.quantile(column.known, (0.0, 0.5, 1.0)).tolist()
    kind = "whole numbers" if bool((column.known == np.round(column.known)).all()) else "numbers"
    bars = np.histogram(column.known, _BINS)[0]
    if column.kind != "days":
        return kind, f"{readable(low)} to {readable(high)}, median {readable(middle)}", bars
    first, half, last = (str(np.datetime64("1970-01-01") + int(day)) for day in (low, middle, high))
    return kind, f"{first} to {last}, half before {half}", bars


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"
