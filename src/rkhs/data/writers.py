"""Writing codes to a file that is complete or not there."""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rkhs._core.errors import InputError, optional, quote
from rkhs._core.files import as_path, atomic_file
from rkhs.data.dataset import as_numbers, check_finite, check_size
from rkhs.data.text import csv_line, escape_formula

WRITTEN = (".csv", ".xlsx", ".parquet", ".npy")
_SHEET = 1_048_576, 16_384  # rows and columns of an Excel sheet
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # control characters that it does not hold


def rounded(value: Any, error: float = 0.0) -> Any:
    """A number of six significant digits, and of at least four of its error; texts and integers as they are."""
    if not isinstance(value, float) or not np.isfinite(value) or value == 0.0:
        return value
    places = 5 - math.floor(math.log10(abs(value)))
    return round(float(value), max(places, 3 - math.floor(math.log10(error))) if 0.0 < error < math.inf else places)


def write_codes(
    path: str | os.PathLike[str],
    codes: Any,
    row_names: Sequence[str] | None = None,
    column_names: Sequence[str] | None = None,
    row_title: str | None = None,
) -> None:
    """Write codes to a csv, xlsx, parquet or npy file; pandas reads back the same numbers and names.

    In xlsx numbers have 16 digits.

    The file is written under another name in the same folder and then moved into place, so a crash leaves the old file
    or none.

    Parameters
    ----------
    path : str or path
        Ends in ``.csv``, ``.xlsx``, ``.parquet`` or ``.npy``.
    codes : array-like of shape (n, p)
        Numbers without gaps.
    row_names : sequence of str, default=None
        n names; written as a first column without a header in csv and xlsx and as the index in parquet. In csv and xlsx
        a name that begins like a formula of a spreadsheet (``=``, ``+``, ``-``, ``@``, tabulator, carriage return) has
        a quote ``'`` before it, unless it is a number.
    column_names : sequence of str, default=None
        p names; None writes ``code0``, ``code1``, ... (nothing in npy).
    row_title : str, default=None
        Header of the column of row names; None leaves it empty.

    Raises
    ------
    InputError
        For another extension, codes that are not numbers of shape (n, p), names that do not fit, names for npy,
        which cannot hold them, more rows or columns than a sheet of xlsx has, and a folder that does not exist.
    MissingExtraError
        If parquet or xlsx is asked for without the extra ``tables``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas
    >>> from rkhs.data import write_codes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_codes(f"{folder}/codes.csv", np.array([[0.1, 0.2], [0.3, 0.4]]), ["a", "b"], ["first", "second"])
    ...     frame = pandas.read_csv(f"{folder}/codes.csv", index_col=0)
    >>> frame.index.tolist(), frame["second"].tolist()
    (['a', 'b'], [0.2, 0.4])
    """
    target = as_path(path)
    if target.suffix.lower() not in WRITTEN:
        raise InputError(f"`path` must end in {', '.join(WRITTEN)}; got {target.name!r}; change the file name")
    values = _check_codes(codes)
    parts = [(values, _names(row_names, values.shape[0], "row_names"))]
    write_parts(target, parts, _names(column_names, values.shape[1], "column_names"), row_title)


def write_parts(
    path: str | os.PathLike[str] | None,
    parts: Iterable[tuple[np.ndarray, Sequence[str] | None]],
    columns: Sequence[str] | None = None,
    row_title: str | None = None,
) -> tuple[int, int]:
    """Write rows that come some at a time, each part with the names of its rows; how many they are, and columns."""
    written = _Written(parts)
    end = "" if path is None else as_path(path).suffix.lower()
    if path is not None and end == ".npy":
        _write_numbers(as_path(path), written, columns)
        return written.n, written.width
    titles = [f"code{i}" for i in range(written.width)] if columns is None else list(columns)
    _check_titles(titles)
    title = row_title if row_title not in titles else None
    if path is not None and end == ".parquet":
        _write_parquet(as_path(path), written, titles, title)
    else:
        write_rows(path, _lines(written, titles, title))
    return written.n, written.width


def _check_titles(titles: list[str]) -> None:
    if "" in titles or len(set(titles)) < len(titles):
        raise InputError(f"`column_names` must be names that differ; got {quote(titles)}; name every column")


class _Written:
    """Parts of a table, counted as they are written."""

    def __init__(self, parts: Iterable[tuple[np.ndarray, Sequence[str] | None]]) -> None:
        self._parts = iter(parts)
        self._first = next(self._parts)
        self.n, (_, self.width) = 0, self._first[0].shape
        self.dtype, self.named = self._first[0].dtype, self._first[1] is not None

    def __iter__(self) -> Iterator[tuple[np.ndarray, Sequence[str] | None]]:
        for values, names in chain([self._first], self._parts):
            self.n += len(values)
            yield np.ascontiguousarray(values, dtype=self.dtype), names


def _write_numbers(path: Path, written: _Written, columns: Sequence[str] | None) -> None:
    """A .npy file; NumPy's own writer takes the last bytes of a full disk for written."""
    if written.named or columns is not None:
        raise InputError("a npy file holds numbers only; got row_names or column_names; leave them out or write csv")
    with atomic_file(path) as handle:
        _write_head(handle, written)
        for values, _ in written:
            handle.write(values.data if values.size else b"")
        handle.seek(0)
        _write_head(handle, written)  # with the number of rows, for which NumPy leaves blanks


def _write_head(handle: BinaryIO, written: _Written) -> None:
    descr = np.lib.format.dtype_to_descr(written.dtype)
    shape = (written.n, written.width)
    np.lib.format.write_array_header_1_0(handle, {"descr": descr, "fortran_order": False, "shape": shape})


def _lines(written: _Written, columns: list[str], title: str | None) -> Iterator[Sequence[object]]:
    yield [title or "", *columns] if written.named else columns
    for values, names in written:  # Python floats, whose text form reads back to the same bits, for float32 too
        rows = values.tolist()
        yield from rows if names is None else ([name, *row] for name, row in zip(names, rows, strict=True))


def write_rows(path: str | os.PathLike[str] | None, rows: Iterable[Sequence[object]]) -> None:
    """Write rows of texts and numbers, titles first, as .xlsx or .csv: complete, or not at all; None prints csv."""
    if path is None:
        for line in map(csv_line, rows):
            print(line, end="")
        return
    with atomic_file(path) as handle:
        if os.fspath(path).lower().endswith(".xlsx"):
            _write_sheet(handle, [list(map(_in_sheet, row)) for row in rows])
        else:
            for line in map(csv_line, rows):
                handle.write(line.encode())


def _write_sheet(handle: BinaryIO, rows: list[list[object]]) -> None:
    if len(rows) > _SHEET[0] or len(rows[0]) > _SHEET[1]:
        raise InputError(f"a sheet of .xlsx has {_SHEET[0]} rows and {_SHEET[1]} columns at most; write .csv")
    book = optional("openpyxl").Workbook(write_only=True)
    sheet = book.create_sheet()
    try:
        for row in rows:
            sheet.append(row)
        book.save(handle)
    except Exception as error:
        if type(error).__name__ != "SerialisationError":  # lxml's of a full disk is no OSError
            raise
        with suppress(Exception):
            sheet._writer.xf.close()
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({error})") from error


def _in_sheet(cell: object) -> object:
    if not isinstance(cell, str):
        return str(cell) if isinstance(cell, float) and np.isinf(cell) else cell
    if _UNSEEN.search(cell):
        raise InputError(f"a sheet of .xlsx holds no control characters; got {quote(cell)}; write .csv")
    return escape_formula(cell)


def _check_codes(codes: Any) -> np.ndarray:
    from rkhs._core.arrays import read_values  # which imports torch

    try:
        array = read_values(codes, "codes")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`codes` must be an array of shape (n, p); got a {type(codes).__name__} that is none ({error}); "
            "give every row the same length, and move tensors to the CPU"
        ) from error
    values = as_numbers(array, "codes")
    check_size(values, "codes")
    check_finite(np.where(np.isinf(values), 0.0, values), "codes")
    return values


def _names(names: Sequence[str] | None, expected: int, argument: str) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(
            f"`{argument}` must be a list of {expected} names; got the string {quote(names)}; write a list"
        )
    texts = [str(name) for name in names]
    if len(texts) != expected:
        raise InputError(f"`{argument}` must hold {expected} names; got {len(texts)}; give one a {argument[:-6]}")
    return texts


def _write_parquet(target: Path, written: _Written, columns: list[str], title: str | None) -> None:
    import pandas

    pa, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    with ExitStack() as stack:
        handle, writer = stack.enter_context(atomic_file(target)), None
        for values, names in written:
            index = None if names is None else pandas.Index(names, dtype="str", name=title)
            table = pa.Table.from_pandas(pandas.DataFrame(values, columns=columns, index=index))
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(handle, table.schema))
            writer.write_table(table.replace_schema_metadata(writer.schema.metadata))
