"""Tables in parquet files (needs pandas and pyarrow, extra `tables`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, missing_extra, shown
from rkhs.data.dataset import (
    Table,
    as_numbers,
    check_finite,
    check_size,
    check_unique_names,
    listed,
    locate,
    locate_all,
)
from rkhs.data.text import Row, TextFile, is_grouped_number

__all__ = ["import_pandas", "parquet_cells", "parquet_titles", "read_parquet_numbers", "read_parquet_text"]


def import_pandas() -> Any:
    """Return the module pandas, after making sure that it can read and write parquet."""
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("pandas", "tables") from error
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise missing_extra("pyarrow", "tables") from error
    return pandas


def read_parquet_numbers(
    path: Path,
    *,
    columns: Sequence[object] | None,
    index_column: str | int | None,
    drop_columns: Sequence[object] | None = None,
) -> Table:
    """Read the numeric columns of a parquet file."""
    pandas = import_pandas()
    frame, names, row_names = _frame(pandas, path)
    positions = locate_all(columns, names, len(names))
    dropped = locate_all(drop_columns, names, len(names), "drop_columns") or []
    index = None if index_column is None else locate(index_column, names, len(names), "index_column")
    chosen = positions if positions is not None else dropped or None
    if index is None and row_names is None and _is_text_index(pandas, frame, chosen):
        index = 0
        if positions is None and any(map(is_grouped_number, frame.iloc[:, 0])):
            index = None  # numbers written for people: data, refused below
    title = None if frame.index.name is None or row_names is None else str(frame.index.name)
    if index is not None:
        row_names, title = tuple(str(name) for name in frame.iloc[:, index]), names[index]
    kept = positions if positions is not None else [i for i in range(len(names)) if i != index and i not in dropped]
    text = [i for i in kept if not pandas.api.types.is_numeric_dtype(frame.dtypes.iloc[i])]
    if text:
        raise InputError(
            f"{path}: expected numbers in every column read; got other types in "
            f"{listed([f'column {shown(names[i])} ({frame.dtypes.iloc[i]})' for i in text])}; name the numeric columns "
            "with columns=[...], turn them into numbers first, or pass index_column= for row names, smiles_column= for "
            "molecules"
        )
    values = _values(frame, kept, str(path))
    check_size(values, str(path))
    table = Table(values, row_names, tuple(names[i] for i in kept), title)
    check_finite(table, str(path))
    return table


def read_parquet_text(
    path: Path, *, column: str | int, index_column: str | int | None, argument: str
) -> tuple[list[Any], tuple[str, ...] | None]:
    """Read one column of a parquet file as text, and the row names."""
    pandas = import_pandas()
    frame, names, row_names = _frame(pandas, path)
    position = locate(column, names, len(names), argument)
    index = None if index_column is None else locate(index_column, names, len(names), "index_column")
    if index is None and row_names is None and _is_text_index(pandas, frame, [position]):
        index = 0
    if index is not None:
        row_names = tuple(str(name) for name in frame.iloc[:, index])
    cells = frame.iloc[:, position]
    return ["" if missing else cell for cell, missing in zip(cells, cells.isna(), strict=True)], row_names


def parquet_cells(path: Path) -> tuple[TextFile, tuple[str, ...] | None]:
    """A parquet file as a table of cells in words, an empty one where a value is missing, and its stored row names."""
    pandas = import_pandas()
    frame, names, row_names = _frame(pandas, path)
    columns = [
        [
            "" if gone else str(value)
            for value, gone in zip(frame.iloc[:, j].tolist(), frame.iloc[:, j].isna(), strict=True)
        ]
        for j in range(len(names))
    ]
    rows = (Row(i, i, list(cells)) for i, cells in enumerate(zip(*columns, strict=True), 1))
    return TextFile(str(path), tuple(names), len(names), rows), row_names


def parquet_titles(path: Path) -> list[str]:
    """Names of the columns of a parquet file."""
    import_pandas()
    from pyarrow.parquet import read_schema

    try:
        schema = read_schema(path)
    except Exception:  # the reader of the file says what is wrong
        return []
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    return [str(name) for name in schema.names if name not in stored]


def _frame(pandas: Any, path: Path) -> tuple[Any, list[str], tuple[str, ...] | None]:
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pandas takes the file's own notes on its types as they are, so anything can be raised
        raise InputError(
            f"{path}: expected a complete parquet file; got one that cannot be read ({error}); write it again"
        ) from error
    if 0 in frame.shape:
        raise InputError(f"{path}: expected at least one row and one column; got shape {frame.shape}; check the file")
    names = [str(name) for name in frame.columns]
    check_unique_names(names, str(path))
    stored = not isinstance(frame.index, pandas.RangeIndex)
    return frame, names, tuple(str(name) for name in frame.index) if stored else None


def _is_text_index(pandas: Any, frame: Any, positions: list[int] | None) -> bool:
    """Whether the first column is not among those asked for, holds text and no value twice."""
    first = frame.iloc[:, 0]
    if (positions is not None and 0 in positions) or (positions is None and frame.shape[1] == 1):
        return False
    is_text = pandas.api.types.infer_dtype(first, skipna=False) == "string"
    return bool(is_text and first.is_unique)


def _values(frame: Any, kept: list[int], source: str) -> np.ndarray:
    columns = []
    for position in kept:
        column = frame.iloc[:, position]
        # Columns of pandas' own types mark a missing cell with NA, which becomes NaN here and is refused later by name.
        array = column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy()
        columns.append(as_numbers(np.asarray(array), f"{source}, column {frame.columns[position]!r}"))
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))
