"""Matrices between pairs of items as programs write them: one half of a square, or numbers behind places and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from rkhs._core.errors import InputError
from rkhs.data import formats
from rkhs.data.comments import foot_lines, holds_number, table_lines
from rkhs.data.dataset import Dataset
from rkhs.data.encodings import encoding_of
from rkhs.data.text import Mendable, number_in

_SHOWN = 6  # lines that show whether rows get longer


def refuse_half(file: Path, encoding: str, error: InputError) -> None:
    """Refuse a table that cannot be read as one, where it holds one half of a matrix between pairs."""
    for rows in _split(_lines(file, encoding)[: _SHOWN + 2]):
        lengths = [sum(map(holds_number, row)) for row in rows][-_SHOWN:]
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
    if len(rows) > 2 and sum(map(bool, rows[0])) > 1 and not any(map(holds_number, rows[0])):
        titles, rows = tuple(rows[0][-len(rows) + 1 :]), rows[1:]
    names, cells = zip(*map(_label, rows), strict=True)
    found = None if titles not in ((), names) and any(names) else _values(cells)
    return None if found is None else (found[0], names if all(names) else None, found[1])


def _values(rows: Sequence[list[str]]) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Numbers of a matrix or of one half of it, which is mirrored; None for other cells."""
    n, grows = len(rows), len(rows[0]) < len(rows[-1])
    values = np.full((n, n), np.nan)
    for i, cells in enumerate(rows):
        numbers = list(map(number_in, cells))
        if len(cells) > n or None in numbers:
            return None
        first = 0 if grows else n - len(cells)
        values[i, first : first + len(cells)] = numbers
    known = np.isfinite(values)
    if known.all():
        return values, ()
    halves = [(k, np.tri(n, k=k, dtype=bool)) for k in (0, -1)]
    k = next((k for k, half in halves if np.array_equal(known, half) or np.array_equal(known, half.T)), None)
    if k is None or n < 3:
        return None
    values = np.where(known, values, values.T)
    np.fill_diagonal(values, np.nan_to_num(np.diag(values)))
    return values, ("the other half of the matrix is completed", *["its diagonal is taken for zeros"] * (k < 0))


def _label(row: list[str]) -> tuple[str, list[str]]:
    """The name of a row, perhaps behind its place and a colon, and the cells behind it."""
    start = next((k for k, cell in enumerate(row) if not cell or holds_number(cell)), len(row))
    return re.sub(r"^\d+:\s*", "", " ".join(row[:start])), row[start:]
