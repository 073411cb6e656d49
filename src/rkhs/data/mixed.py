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
from rkhs.data.layout import TextOptions
from rkhs.data.readers import checked_options, column_values, open_columns

__all__ = ["OF_MIXED", "read_mixed"]

OF_MIXED = frozenset({"columns", "drop_columns", "index_column", *TextOptions._fields})
"""Options of `read_table` that it takes too."""


def read_mixed(path: str | os.PathLike[str], *, kinds: Sequence[str] | None = None, **options: Any) -> Dataset:
    """Read a table whose columns hold numbers or texts, with missing cells, for the kernel ``MixedTable``.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.xlsx``, ``.parquet`` or ``.feather`` file.
    kinds : sequence of {"number", "text"}, default=None
        What each column holds; None: numbers if every known cell is one.
    **options
        Those of :func:`read_table` that are for tables of any cells: `columns`, `drop_columns`, `index_column` (None
        takes a first column without a name) and those of its layout.

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
    source = as_path(path)
    if not is_table(source):
        raise InputError(
            f"`path` of a mixed table must end in {', '.join(TABLES)}; got {source.name!r}; read others with pandas"
        )
    if refused := sorted(set(options) - OF_MIXED):
        raise InputError(f"a mixed table takes no {', '.join(map('`{}`'.format, refused))}; leave it out")
    file, _, given = checked_options(path, options)
    found = next(open_columns(file, given))
    positions, index = found.chosen(given.columns, given.drop_columns, given.index_column)
    known = _known_kinds(kinds, len(positions), file)
    raw = [(j, "columns") for j, kind in zip(positions, known, strict=True) if kind == "text"]
    if raw:  # a column of texts may hold numbers alone in a new file
        found = next(open_columns(file, given, *raw))
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
