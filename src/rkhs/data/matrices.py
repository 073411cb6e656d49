"""Matrices between pairs of items as programs write them: one half of a square, or numbers behind places and names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from rkhs._core.errors import InputError
from rkhs.data import formats
from rkhs.data.comments import foot_lines, table_lines
from rkhs.data.dataset import Dataset
from rkhs.data.encodings import encoding_of
from rkhs.data.text import Mendable, number_in

_SHOWN = 6  # lines that show whether rows get longer


def refuse_half(file: Path, encoding: str, error: InputError) -> None:
    """Refuse a table that cannot be read as one, where it holds one half of a matrix between pairs."""
    for rows in _split(_lines(file, encoding)[: _SHOWN + 2]):
        lengths = [sum(map(_is_number, row)) for row in rows][-_SHOWN:]
        if len(lengths) == _SHOWN and set(np.diff(lengths).tolist()) in ({1}, {-1}):
            what = f"{file}: its rows get longer or shorter, as those of half a matrix between pairs do"
            raise Mendable(f"{what}; pass gram=True", gram=True) from error


def read_pairs(file: Path, encoding: str) -> Dataset | None:
    """A square matrix of which the file may hold one half, which is mirrored; None for another file."""
    for rows in _split(_lines(file, encoding)):
        if rows and (found := _matrix(rows)) is not None:
            X, names, notes = found
            return Dataset(X, "vectors", names, names, str(file), guessed=notes)
    return None


def _lines(file: Path, encoding: str) -> list[str]:
    """Lines of a file that are no comments, and no notes below; none of a file in another encoding."""
    lines: list[str] = []
    with suppress(UnicodeError, InputError), formats.open_lines(file, encoding_of(file, encoding), None) as handle:
        lines = list(handle)
    foot = foot_lines(lines[-formats.LAST_LINES :])
    return table_lines([line for line in lines if line.strip() not in foot])


def _split(lines: list[str]) -> Iterator[list[list[str]]]:
    """Cells of the lines, with each mark between them that they hold, and with white space."""
    for mark in ("\t", ",", ";", None):
        if mark is None or any(mark in line for line in lines):
            yield [[cell.strip(' "\r\n') for cell in line.rstrip("\r\n").split(mark)] for line in lines]


def _matrix(rows: list[list[str]]) -> tuple[np.ndarray, tuple[str, ...] | None, tuple[str, ...]] | None:
    """A symmetric matrix, the names of its items, and what was completed; None where rows are no halves."""
    if len(rows) > 1 and [*filter(None, rows[0])] == [str(len(rows) - 1)]:  # PHYLIP counts the items
        rows = rows[1:]
    titles: tuple[str, ...] = ()
    if len(rows) > 2 and sum(map(bool, rows[0])) > 1 and not any(map(_is_number, rows[0])):
        titles, rows = tuple(rows[0][-len(rows) + 1 :]), rows[1:]
    parts = [_label(row) for row in rows]
    names, n = tuple(name for name, _ in parts), len(rows)
    if titles not in ((), names) and any(names):
        return None
    values = np.full((n, n), np.nan)
    grows = len(parts[0][1]) < len(parts[-1][1])
    for i, (_, cells) in enumerate(parts):
        numbers = [number_in(cell) for cell in cells]
        if len(cells) > n or None in numbers:
            return None
        values[i, slice(len(cells)) if grows or len(cells) == n else slice(n - len(cells), n)] = numbers
    known = np.isfinite(values)
    if known.all():
        return values, names if all(names) else None, ()
    for k in (0, -1):
        half = np.tri(n, k=k, dtype=bool)
        if n > 2 and (np.array_equal(known, half) or np.array_equal(known, half.T)):
            values = np.where(known, values, values.T)
            np.fill_diagonal(values, np.nan_to_num(np.diag(values)))
            notes = ("the other half of the matrix is completed", *["its diagonal is taken for zeros"] * (k < 0))
            return values, names if all(names) else None, notes
    return None


def _label(row: list[str]) -> tuple[str, list[str]]:
    """The name of a row, perhaps behind its place and a colon, and the cells behind it."""
    start = next((k for k, cell in enumerate(row) if not cell or _is_number(cell)), len(row))
    return re.sub(r"^\d+:\s*", "", " ".join(row[:start])), row[start:]


def _is_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    return bool(cell) and number_in(cell) is not None
