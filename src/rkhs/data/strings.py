"""Sequences and texts, one per line of a text file or in a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs.data.dataset import Dataset, RowNames, listed, read_text
from rkhs.data.fasta import read_fasta
from rkhs.data.formats import FASTA, TABLES, extension_of, is_table, refuse_sparse_lines
from rkhs.data.table_reader import Options, column_list, open_columns, text_column
from rkhs.data.text import number_in


def read_strings(file: Path, kind: Any, *, columns: Sequence[Any] | None = None, **options: Any) -> Dataset:
    """Sequences or texts: the lines of a text file, a column of a table, or a FASTA file; see `read_items`."""
    column = _column(file, kind, columns)
    if extension_of(file) in FASTA:
        return read_fasta(file, kind)
    names = None
    if column is None:
        texts = _lines(file, **options)
    else:
        texts, (names, _) = _cells(file, column, Options(**options))
    spaced = any(len(text.split()) > 1 for text in texts)
    return Dataset(np.array(texts, object), kind or ("texts" if spaced else "sequences"), names, None, str(file))


def _column(file: Path, kind: Any, columns: Sequence[Any] | None) -> Any:
    """The column of a table that holds the texts; None for another file."""
    columns = column_list(columns)
    if columns is not None and len(columns) != 1:
        raise InputError(f"{file}: {kind or 'sequences'} stand in one column; got {len(columns)} in columns=; name one")
    column = None if columns is None else columns[0]
    tabular = extension_of(file) in TABLES or (column is not None and is_table(file))
    if tabular != (column is not None):
        raise InputError(
            f"`column` names the texts of a table, and of a table only; got {column!r} for {file.name!r}; "
            f"{'name the column' if tabular else 'leave it out'}"
        )
    return column


def _cells(file: Path, column: Any, options: Options) -> tuple[list[str], RowNames]:
    found = next(open_columns(file, options, (column, "column")))
    texts, names = text_column(found, column, options.index_column, "column")
    empty = [i + 1 for i, text in enumerate(texts) if not text]
    if empty:
        raise InputError(
            f"{file}: expected a text in every cell of column {column!r}; got none in rows {listed(empty)}"
        )
    return texts, names


def _lines(file: Path, encoding: str = "utf-8", **_: Any) -> list[str]:
    if file.suffix.lower() != ".txt":
        raise InputError(
            f"`path` must be a .txt, {', '.join((*FASTA, *TABLES))} file for strings; got {file.name!r}; rename it"
        )
    texts = [line.strip() for line in read_text(file, encoding).splitlines() if line.strip()]
    if not texts:
        raise InputError(f"{file}: expected a text per line; got an empty file; check that it was written to the end")
    refuse_sparse_lines(file, texts)
    if all(number_in(cell) is not None for text in texts for cell in text.replace(",", " ").replace(";", " ").split()):
        raise InputError(
            f"{file}: expected a text per line; got numbers only, such as {texts[0][:30]!r}; save a table as .csv"
        )
    return texts
