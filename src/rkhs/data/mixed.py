"""Tables of numbers, texts and missing cells, read as they are."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from rkhs._core.checks import check_list
from rkhs._core.errors import InputError, shown
from rkhs.data.columns import are_dates
from rkhs.data.dataset import Dataset, listed, locate, locate_all
from rkhs.data.fast_text import Columns
from rkhs.data.parquet import parquet_cells
from rkhs.data.readers import _check_options, _check_path, _listed, _open_whole, _Options
from rkhs.data.text import MISSING, TextFile, grouped_advice, is_grouped_number, number_in, unescape_formula

__all__ = ["read_mixed"]

_HEAD = 100  # rows that say which columns hold texts, where pandas reads all


def read_mixed(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | None = None,
    index_column: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    kinds: Sequence[str] | None = None,
    drop_columns: Sequence[str | int] | None = None,
) -> Dataset:
    """Read a table whose columns hold numbers or texts, with missing cells, for the kernel ``MixedTable``.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv`` or ``.parquet`` file.
    columns : sequence of str or int, default=None
        Columns to read, by name or position from 0; None: all but `index_column`.
    index_column : str or int, default=None
        Column of row names.
    header : bool, default=None
        Whether the first row holds column names; None: yes.
    delimiter : str, default=None
        One character; None as in :func:`read_table`.
    encoding : str, default="utf-8"
    kinds : sequence of {"number", "text"}, default=None
        What each column holds; None: numbers if every known cell is one.
    drop_columns : sequence of str or int, default=None
        Columns to leave out, in place of `columns`.

    Returns
    -------
    Dataset
        Of kind "table": `X` is an object array (n, d) of floats, texts, and None for empty cells and words such as NA.

    Raises
    ------
    InputError
        If the file is missing or damaged, a cell of a column of numbers is none, or a column holds dates, which have
        to be made numbers first.
    """
    file, extension = _check_path(path)
    if extension not in (".csv", ".tsv", ".parquet"):
        raise InputError(
            f"`path` of a mixed table must end in .csv, .tsv or .parquet; got {file.name!r}; read others with pandas"
        )
    known = True if header is None and extension != ".parquet" else header
    options = _Options(
        _listed(columns),
        index_column,
        header=known,
        delimiter=delimiter,
        encoding=encoding,
        drop_columns=_listed(drop_columns, "drop_columns"),
    )
    _check_options(options, extension)
    opened, stored = parquet_cells(file) if extension == ".parquet" else (_open_whole(file, options), None)
    index = None if index_column is None else locate(index_column, opened.names, opened.width, "index_column")
    wanted = locate_all(options.columns, opened.names, opened.width)
    dropped = locate_all(options.drop_columns, opened.names, opened.width, "drop_columns") or []
    positions = [j for j in range(opened.width) if j != index and j not in dropped] if wanted is None else wanted
    if not positions:
        raise InputError(f"{file}: expected a column besides those left out; got none; check `drop_columns`")
    if kinds is not None and not set(check_list(kinds, "kinds", "words")) <= {"number", "text"}:
        raise InputError(f"kinds must hold 'number' or 'text' for each column; got {shown(kinds)}")
    if kinds is not None and len(kinds) != len(positions):
        raise InputError(f"{file}: expected {len(kinds)} columns, as in the training file; got {len(positions)}")
    given: Sequence[str | None] = [None] * len(positions) if kinds is None else kinds
    texts = {*range(opened.width)} - {j for j, kind in zip(positions, given, strict=True) if kind != "text"}
    found = _columns(opened, texts)
    labels: list[str | int] = [j if opened.names is None else opened.names[j] for j in positions]
    cells: list[np.ndarray | list[float | str | None]] = []
    for position, kind, label in zip(positions, given, labels, strict=True):
        if position in found.numbers:
            cells.append(_with_gaps(found.numbers[position]))
        else:
            cells.append(_column(found.texts[position], kind, f"{file}: column {shown(str(label))}"))
    free = {label: part for label, part, kind in zip(labels, cells, given, strict=True) if kind is None}
    _refuse_dates({label: part for label, part in free.items() if isinstance(part, list)}, file)
    X = np.empty((len(cells[0]), len(cells)), dtype=object)
    for j, column in enumerate(cells):
        X[:, j] = column
    names = stored if index is None else tuple(map(unescape_formula, found.texts[index]))
    title = None if index is None or opened.names is None else opened.names[index] or None
    titles = None if opened.names is None else tuple(map(str, labels))
    return Dataset(X, "table", names, titles, str(file), row_title=title)


def _columns(file: TextFile, texts: Collection[int]) -> Columns:
    """All columns: as texts where that is asked for, else as numbers if all can be read at once."""
    head = list(islice(file.rows, _HEAD))
    if file.whole is not None:
        others = (j for j in range(file.width) if j not in texts)
        found = [j for j in others if any(number_in(row.cells[j]) is None for row in head)]
        columns = file.whole([*texts, *found], MISSING)
        if columns is not None:
            return columns
    rows = [row.cells for row in chain(head, file.rows)]
    return Columns({}, {j: [row[j].strip() for row in rows] for j in range(file.width)})


def _refuse_dates(columns: Mapping[str | int, Iterable[object]], file: Path) -> None:
    """Refuse all columns of dates in one sentence."""
    texts = {name: list(dict.fromkeys(c for c in cells if isinstance(c, str))) for name, cells in columns.items()}
    dates = [name for name, found in texts.items() if are_dates(found)]
    if dates:
        s, named = "s" if len(dates) > 1 else "", ", ".join(shown(str(name)) for name in dates)
        raise InputError(
            f"{file}: column{s} {named} must hold numbers or texts; got dates, such as {shown(texts[dates[0]][0])}; "
            f"write the days since a start as numbers, or leave the column{s} out with drop_columns={dates!r}"
        )


def _with_gaps(numbers: np.ndarray) -> np.ndarray:
    """Numbers as objects, None for NaN."""
    cells = numbers.astype(object)
    cells[np.isnan(numbers)] = None
    return cells


def _column(cells: list[str], kind: str | None, where: str) -> list[float | str | None]:
    """Cells as numbers, or as texts; None where one is missing."""
    numbers = [number_in(cell) for cell in cells]  # NaN, which differs from itself, for a gap
    texts = list(dict.fromkeys(cell for cell, number in zip(cells, numbers, strict=True) if number is None))
    if kind is None and texts and all(map(is_grouped_number, texts)):
        raise InputError(
            f"{where} must hold numbers or texts; got {shown(texts[0])}, a number with separators or a unit; "
            f"{grouped_advice(texts[0])}, or begin them with a letter if they are names"
        )
    if kind == "text" or (kind is None and texts):
        return [None if number != number else cell for cell, number in zip(cells, numbers, strict=True)]
    if texts:
        odd = [row for row, number in enumerate(numbers, 1) if number is None]
        raise InputError(f"{where} held numbers in the training file; got texts in rows {listed(odd)}; correct them")
    infinite = [row for row, number in enumerate(numbers, 1) if number in (math.inf, -math.inf)]
    if infinite:
        raise InputError(f"{where} must hold finite numbers; got infinity in rows {listed(infinite)}")
    return [None if number != number else number for number in numbers]
