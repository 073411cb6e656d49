"""Tables of numbers, texts and missing cells, read as they are."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from rkhs._core.checks import check_list
from rkhs._core.errors import InputError, shown
from rkhs.data.columns import are_dates
from rkhs.data.dataset import Dataset, listed, locate, locate_all
from rkhs.data.parquet import parquet_cells
from rkhs.data.readers import _check_options, _check_path, _listed, _open, _Options
from rkhs.data.text import MISSING, grouped_advice, is_grouped_number, number_in, unescape_formula

__all__ = ["read_mixed"]


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
    opened, stored = parquet_cells(file) if extension == ".parquet" else (_open(file, options), None)
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
    rows = [row.cells for row in opened.rows]
    X = np.empty((len(rows), len(positions)), dtype=object)
    for j, position in enumerate(positions):
        cells = [row[position].strip() for row in rows]
        name = str(position) if opened.names is None else opened.names[position]
        argument = position if opened.names is None else name
        X[:, j] = _column(cells, None if kinds is None else kinds[j], f"{file}: column {shown(name)}", argument)
    names = stored if index is None else tuple(unescape_formula(row[index].strip()) for row in rows)
    titles = None if opened.names is None else tuple(opened.names[j] for j in positions)
    title = None if index is None or opened.names is None else opened.names[index] or None
    return Dataset(X, "table", names, titles, str(file), row_title=title)


def _column(cells: list[str], kind: str | None, where: str, name: str | int) -> list[float | str | None]:
    """Cells as numbers, or as texts; None where one is missing."""
    known = [cell.lower() not in MISSING for cell in cells]
    numbers = [number_in(cell) if k else None for cell, k in zip(cells, known, strict=True)]
    odd = [i + 1 for i, (number, k) in enumerate(zip(numbers, known, strict=True)) if k and number is None]
    grouped = next((cells[i - 1] for i in odd if is_grouped_number(cells[i - 1])), None)
    if kind is None and grouped is not None and all(is_grouped_number(cells[i - 1]) for i in odd):
        raise InputError(
            f"{where} must hold numbers or texts; got {shown(grouped)}, a number with separators or a unit; "
            f"{grouped_advice(grouped)}, or begin them with a letter if they are names"
        )
    if kind is None and odd and are_dates(cell for cell, k in zip(cells, known, strict=True) if k):
        raise InputError(
            f"{where} must hold numbers or texts; got dates, such as {shown(cells[odd[0] - 1])}; write the days since "
            f"a start as numbers, or leave the column out with drop_columns=[{name!r}]"
        )
    if kind == "text" or (kind is None and odd):
        return [cell if k else None for cell, k in zip(cells, known, strict=True)]
    if odd:
        raise InputError(f"{where} held numbers in the training file; got texts in rows {listed(odd)}; correct them")
    infinite = [i + 1 for i, number in enumerate(numbers) if number is not None and math.isinf(number)]
    if infinite:
        raise InputError(f"{where} must hold finite numbers; got infinity in rows {listed(infinite)}")
    return numbers  # type: ignore[return-value]
