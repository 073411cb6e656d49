"""Sequences and texts, one a line of a text file or in a column of a table."""

from __future__ import annotations

import os
from pathlib import Path

from rkhs._core.errors import InputError
from rkhs.data.dataset import existing, listed, read_text
from rkhs.data.formats import TABLES, extension_of, is_table, refuse_sparse_lines
from rkhs.data.readers import Options, check_path, read_texts
from rkhs.data.sequences import Sequences, read_fasta
from rkhs.data.text import number_in


def read_strings(
    path: str | os.PathLike[str],
    *,
    column: str | int | None = None,
    index_column: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Sequences:
    """Read sequences or texts: the lines of a text file, a column of a table, or a FASTA file.

    Parameters
    ----------
    path : str or path
        ``.txt``: a text a line; blank lines are left out. ``.csv``, ``.tsv``, ``.parquet``: the texts stand in
        `column`. ``.fasta``, ``.fa``: see :func:`read_fasta`.
    column : str or int, default=None
        Column of a table, by name or position from 0.
    index_column, header, delimiter, encoding : optional
        Of a table or text file, as in :func:`read_table`.

    Returns
    -------
    Sequences

    Raises
    ------
    InputError
        If the file is missing, empty or of another format, a cell is empty, or the lines hold only numbers.
    """
    file = existing(path)
    extension = file.suffix.lower()
    tabular = extension_of(file) in TABLES or (column is not None and is_table(file))
    if tabular != (column is not None):
        raise InputError(
            f"`column` names the texts of a table, and of a table only; got {column!r} for {file.name!r}; "
            f"{'name the column' if tabular else 'leave it out'}"
        )
    if extension in (".fasta", ".fa"):
        return read_fasta(file)
    if not tabular:
        return _read_lines(file, encoding)
    check_path(file)
    options = Options(index_column=index_column, header=header, delimiter=delimiter, encoding=encoding)
    assert column is not None
    texts, (names, _) = read_texts(file, column, options, "column")
    empty = [i + 1 for i, text in enumerate(texts) if not text]
    if empty:
        raise InputError(
            f"{file}: expected a text in every cell of column {column!r}; got none in rows {listed(empty)}"
        )
    return Sequences(texts, names, str(file))


def _read_lines(file: Path, encoding: str) -> Sequences:
    if file.suffix.lower() != ".txt":
        raise InputError(
            f"`path` must be a .txt, .fasta, .fa, {', '.join(TABLES)} file for strings; got {file.name!r}; rename it"
        )
    texts = [line.strip() for line in read_text(file, encoding).splitlines() if line.strip()]
    if not texts:
        raise InputError(f"{file}: expected a text a line; got an empty file; check that it was written to the end")
    refuse_sparse_lines(file, texts)
    if all(number_in(cell) is not None for text in texts for cell in text.replace(",", " ").replace(";", " ").split()):
        raise InputError(
            f"{file}: expected a text a line; got numbers only, such as {texts[0][:30]!r}; save a table as .csv or .tsv"
        )
    return Sequences(texts, None, str(file))
