"""Columns of parquet and feather files, through pandas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional
from rkhs.data.dataset import as_numbers, check_unique_names
from rkhs.data.tables import Column, Columns, located, typed


def open_parquet(
    path: Path, missing: Collection[str] = (), rows: int | None = None, raw: Sequence[tuple[Any, str]] = ()
) -> Iterator[Columns]:
    """A parquet or feather file as columns, with the names of rows that it stores; parquet some rows at a time."""
    import pandas

    start = 0
    for frame in _stored_frames(path, rows):
        if frame.shape[1] == 0 or not (start or len(frame)):
            raise InputError(
                f"{path}: expected at least one row and one column; got shape {frame.shape}; check the file"
            )
        names = tuple(str(name) for name in frame.columns)
        check_unique_names(names, str(path))
        stored = None if isinstance(frame.index, pandas.RangeIndex) else tuple(str(name) for name in frame.index)
        title = None if stored is None or frame.index.name is None else str(frame.index.name)
        texts = located(raw, names, len(names))
        cells = [
            _parquet_column(frame.iloc[:, j], f"{path}, column {names[j]!r}", frozenset(missing), raw=j in texts)
            for j in range(len(names))
        ]
        yield Columns(str(path), names, cells, stored=stored, stored_title=title, start=start)
        start += len(frame)


def _stored_frames(path: Path, rows: int | None) -> Iterator[Any]:
    import pandas

    parquet = optional("pyarrow.parquet")
    form = path.suffix.lower()[1:]
    try:
        if form == "feather":
            yield pandas.read_feather(path)
        elif rows is None:
            yield pandas.read_parquet(path, engine="pyarrow")
        else:
            with parquet.ParquetFile(path) as file:
                batches = file.iter_batches(rows) if file.metadata.num_rows else [file.schema_arrow.empty_table()]
                yield from (batch.to_pandas() for batch in batches)
    except InputError:
        raise
    except Exception as error:  # pandas takes the file's own notes on its types as they are, so anything can be raised
        raise InputError(
            f"{path}: expected a complete {form} file; got one that cannot be read ({error}); write it again"
        ) from error


def _parquet_column(series: Any, where: str, missing: frozenset[str], *, raw: bool) -> Column:
    from pandas.api.types import is_numeric_dtype

    gone = series.isna().to_numpy()
    if is_numeric_dtype(series.dtype):
        array = series.to_numpy(dtype=np.float64, na_value=np.nan) if gone.any() else series.to_numpy()
        return as_numbers(np.asarray(array), where)
    cells = [None if empty else str(cell) for cell, empty in zip(series.tolist(), gone, strict=True)]
    return np.array(cells, dtype=object) if raw else typed(cells, ".", missing)
