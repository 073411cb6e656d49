"""Tables of numbers, texts and missing cells, read as they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_list
from rkhs._core.errors import InputError, shown
from rkhs._core.files import as_path
from rkhs.data.columns import are_dates
from rkhs.data.dataset import Dataset
from rkhs.data.formats import TABLES, is_table
from rkhs.data.readers import checked_options, column_values, open_columns

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
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    comment: str | None = None,
    skip_rows: int | None = None,
    key: str | None = None,
) -> Dataset:
    """Read a table whose columns hold numbers or texts, with missing cells, for the kernel ``MixedTable``.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.xlsx``, ``.parquet`` or ``.feather`` file.
    columns : sequence of str or int, default=None
        Columns to read, by name or position from 0; None: all but `index_column`.
    index_column : str or int, default=None
        Column of row names; None takes a first column without a name.
    header : bool, default=None
        Whether the first row holds column names; None as in :func:`read_table`.
    delimiter : str, default=None
        One character; None as in :func:`read_table`.
    encoding : str, default="utf-8"
    kinds : sequence of {"number", "text"}, default=None
        What each column holds; None: numbers if every known cell is one.
    drop_columns : sequence of str or int, default=None
        Columns to leave out, in place of `columns`.
    missing, decimal, comment, skip_rows, key : optional
        As in :func:`read_table`.

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
    given = dict(locals())
    del given["path"], given["kinds"]
    source = as_path(path)
    if not is_table(source):
        raise InputError(
            f"`path` of a mixed table must end in {', '.join(TABLES)}; got {source.name!r}; read others with pandas"
        )
    file, _, options = checked_options(path, given)
    found = next(open_columns(file, options))
    positions, index = found.chosen(options.columns, options.drop_columns, index_column)
    known = _known_kinds(kinds, len(positions), file)
    raw = [(j, "columns") for j, kind in zip(positions, known, strict=True) if kind == "text"]
    if raw:  # a column of texts may hold numbers alone in a new file
        found = next(open_columns(file, options, *raw))
    values = [column_values(found, j, kind) for j, kind in zip(positions, known, strict=True)]
    titles = found.titles(positions)
    _refuse_dates(titles or positions, values, known, file)
    names, title = found.row_names(index)
    return Dataset(np.column_stack(values), "table", names, titles, str(file), row_title=title, guessed=found.guessed)


def _known_kinds(kinds: Any, width: int, file: Path) -> list[str | None]:
    """What each column holds, None where the file is to say it."""
    if kinds is None:
        return [None] * width
    if not set(check_list(kinds, "kinds", "words")) <= {"number", "text"}:
        raise InputError(f"kinds must hold 'number' or 'text' for each column; got {shown(kinds)}")
    if len(kinds) != width:
        raise InputError(f"{file}: expected {len(kinds)} columns, as in the training file; got {width}")
    return list(kinds)


def _refuse_dates(names: Sequence[str | int], columns: list[Any], kinds: list[str | None], file: Path) -> None:
    read = [(name, cells) for name, cells, kind in zip(names, columns, kinds, strict=True) if not kind]
    texts = {name: list(dict.fromkeys(c for c in cells if isinstance(c, str))) for name, cells in read}
    dates = [name for name, found in texts.items() if are_dates(found)]
    if dates:
        s, named = "s" if len(dates) > 1 else "", ", ".join(map(shown, map(str, dates)))
        raise InputError(
            f"{file}: column{s} {named} must hold numbers or texts; got dates, such as {shown(texts[dates[0]][0])}; "
            f"write the days since a start as numbers, or leave the column{s} out with drop_columns={dates!r}"
        )
