"""Files read a few thousand rows at a time, for libraries of candidates that do not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs._core.files import UNREADABLE, old_headers
from rkhs.data.dataset import Dataset, as_numbers
from rkhs.data.formats import is_text_table
from rkhs.data.table_reader import Options, checked_options, read_parts, read_table


def read_chunks(path: str | os.PathLike[str], *, rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
    """Read a file in chunks of rows, each a data set as :func:`read_table` returns it.

    The first chunk shows whether the first column holds row names. Later chunks follow it: a text among the numbers of
    that column, or a number among the names, is then an error.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv``, ``.smi``, ``.parquet`` and ``.npy`` files are read as they are needed; others are read whole
        and handed out in chunks.
    rows : int, default=10000
        Rows of a chunk; the last may have fewer. Rows that are left out (``on_error="skip"``) are missing from it, and
        where all of them are, the chunk is left out and another lists them in `skipped`.
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

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rkhs.data import read_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.ones((5, 3)))
    ...     [chunk.X.shape for chunk in read_chunks(f"{folder}/rows.npy", rows=2)]
    [(2, 3), (2, 3), (1, 3)]
    """
    count = check_count(rows, "rows")
    unknown = set(options) - set(vars(Options()))
    if unknown:
        raise InputError(f"read_chunks has no option {sorted(unknown)[0]!r}; it has those of read_table")
    file, extension, settings = checked_options(path, options)
    if settings.gram is True:
        raise InputError("read_chunks reads rows: a square Gram matrix is read by read_table; got gram=True")
    if extension in (".smi", ".parquet") or is_text_table(file):
        start = 0
        for part in read_parts(file, extension, settings, count):
            yield replace(part, start=start)
            start += part.n_samples + len(part.skipped)
    else:
        whole = _mapped(file, settings) if extension == ".npy" else read_table(path, **options)
        for start in range(0, len(whole.X), count):
            yield _part(whole, start, start + count)


def _part(whole: Dataset, start: int, stop: int) -> Dataset:
    names, smiles = (None if c is None else c[start:stop] for c in (whole.row_names, whole.smiles))
    X = whole.X[start:stop]
    if isinstance(X, np.memmap):
        X = as_numbers(np.array(X), whole.source)
        if not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise InputError(f"{whole.source}: expected finite numbers; got NaN or infinity in row {row + 1}")
    return replace(whole, X=X, row_names=names, smiles=smiles, start=start, skipped=() if start else whole.skipped)


def _mapped(file: Path, settings: Options) -> Dataset:
    """A matrix of real numbers that stays on the disk; anything else is read, or refused, by read_table."""
    try:
        with old_headers():
            X: np.ndarray = np.lib.format.open_memmap(file, mode="r")
    except UNREADABLE:
        X = np.empty(0)
    chosen: Any = {"columns": settings.columns, "drop_columns": settings.drop_columns}
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size or any(v is not None for v in chosen.values()):
        return read_table(file, gram=settings.gram, **chosen)
    return Dataset(X, "gram" if settings.gram else "vectors", None, None, str(file))
