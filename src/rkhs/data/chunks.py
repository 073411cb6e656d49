"""Files read a few thousand rows at a time, for libraries of candidates that do not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.data.dataset import Dataset, Table
from rkhs.data.molecule_files import molecule_dataset
from rkhs.data.readers import _check_options, _check_path, _delimiter, _Options, read_table
from rkhs.data.text import TextFile, open_text, read_numbers, read_text_columns

__all__ = ["read_chunks"]


def read_chunks(path: str | os.PathLike[str], *, rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
    """Read a file in chunks of rows, each a data set as :func:`read_table` returns it.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv``, ``.smi`` and ``.npy`` files are read as they are needed; ``.npz`` and ``.parquet`` files
        are read whole and handed out in chunks.
    rows : int, default=10000
        Rows of a chunk; the last may have fewer.
    **options
        Those of :func:`read_table`; ``gram`` must be False or ``"cross"``.

    Yields
    ------
    Dataset

    Raises
    ------
    InputError
        As :func:`read_table`; a bad row is found when its chunk is read.
    MissingExtraError
        If molecules need the extra ``chem``.
    """
    count = check_count(rows, "rows")
    unknown = set(options) - set(vars(_Options()))
    if unknown:
        raise InputError(f"read_chunks has no option {sorted(unknown)[0]!r}; it has those of read_table")
    settings = _Options(**options)
    if settings.gram is True:
        raise InputError("read_chunks reads rows: a square Gram matrix is read by read_table; got gram=True")
    file, extension = _check_path(path)
    _check_options(settings, extension)
    if extension == ".smi":
        yield from _smiles_lines(file, count, settings)
    elif extension in (".csv", ".tsv"):
        header = True if settings.header is None and isinstance(settings.smiles_column, str) else settings.header
        opened = open_text(file, delimiter=_delimiter(settings, extension), header=header, encoding=settings.encoding)
        yield from _text_rows(opened, count, settings)
    else:
        whole = _mapped(file, settings) if extension == ".npy" else read_table(path, **options)
        for start in range(0, len(whole.X), count):
            yield _part(whole, start, start + count)


def _part(whole: Dataset, start: int, stop: int) -> Dataset:
    names, smiles = (None if c is None else c[start:stop] for c in (whole.row_names, whole.smiles))
    X = whole.X[start:stop]
    if isinstance(X, np.memmap):
        X = np.array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        if not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise InputError(f"{whole.source}: expected finite numbers; got NaN or infinity in row {row + 1}")
    return replace(whole, X=X, row_names=names, smiles=smiles, skipped=() if start else whole.skipped)


def _mapped(file: Path, settings: _Options) -> Dataset:
    """A matrix of real numbers that stays on the disk; anything else is read, or refused, by read_table."""
    try:
        X = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError):
        X = np.empty(0)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape or settings.columns is not None:
        return read_table(file, columns=settings.columns, gram=settings.gram)
    return Dataset(X, "gram" if settings.gram else "vectors", None, None, str(file))


def _smiles_lines(file: Path, count: int, settings: _Options) -> Iterator[Dataset]:
    encoding = "utf-8-sig" if settings.encoding.lower() in ("utf-8", "utf8") else settings.encoding
    try:
        with file.open(encoding=encoding) as handle:
            wanted = (line.split(maxsplit=1) for line in handle if line.strip() and not line.startswith("#"))
            done = 0
            while parts := list(islice(wanted, count)):
                names = tuple(part[1].strip() for part in parts) if all(len(part) == 2 for part in parts) else None
                yield _molecules([part[0] for part in parts], names, str(file), settings, done)
                done += len(parts)
    except (LookupError, UnicodeError) as error:
        raise InputError(f"{file}: expected text in {settings.encoding}; got {error}; pass encoding=") from error
    if not done:
        raise InputError(f"{file}: expected one SMILES a line; got an empty file; check that it was written to the end")


def _molecules(smiles: list[str], names: Any, source: str, settings: _Options, done: int) -> Dataset:
    """Fingerprints of a chunk; rows that are named in messages are counted from the start of the file."""
    where = f"{source} (rows from {done + 1})" if done else source
    found = molecule_dataset(smiles, names, source=where, on_error=settings.on_error, recipe=settings.recipe)
    return replace(found, skipped=tuple(replace(bad, row=bad.row + done) for bad in found.skipped))


def _text_rows(opened: TextFile, count: int, settings: _Options) -> Iterator[Dataset]:
    index, done = settings.index_column, 0
    while (first := next(opened.rows, None)) is not None:
        part = replace(opened, rows=chain([first], islice(opened.rows, count - 1)))
        if settings.smiles_column is not None:
            column = settings.smiles_column
            smiles, names = read_text_columns(part, column=column, index_column=index, argument="smiles_column")
            index = 0 if index is None and names is not None else index
            yield _molecules(smiles, names, opened.source, settings, done)
            done += len(smiles)
            continue
        table: Table = read_numbers(part, columns=settings.columns, index_column=index)
        if index is None and table.row_names is not None:
            index = 0  # the first chunk has found the names of the rows in the first column
        kind: Any = "gram" if settings.gram else "vectors"
        yield Dataset(table.values, kind, table.row_names, table.column_names, opened.source)
