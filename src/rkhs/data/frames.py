"""Tables as pandas reads them: a file becomes a frame, and a frame items.

A column is what pandas says. Two checks refuse what pandas reads in silence and nobody wants: a column that is mostly
numbers, or whose texts begin like numbers, and a row that is shorter or longer than the header.
"""

from __future__ import annotations

import csv
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rkhs._core.dates import Day, are_dates
from rkhs._core.errors import InputError, RkhsError, nearest, optional, quote
from rkhs.data.cells import column_cells, look_like_numbers, names_of, refuse_infinite, row_names, row_title
from rkhs.data.dataset import (
    NOTHING_KNOWN,
    Dataset,
    Kind,
    check_finite,
    column_label,
    keep_rows,
    listed,
    locate,
    locate_all,
)
from rkhs.data.formats import SDF, SPECTRA, extension_of, open_bytes
from rkhs.data.text import number_in

_READERS = {".parquet": "read_parquet", ".feather": "read_feather", ".xlsx": "read_excel"}
_OURS = {"filepath_or_buffer", "io", "path", "chunksize", "iterator", "dtype_backend"}
_BLOCK = 2**20  # bytes read at a time
_OTHER_LINES = ("names", "usecols", "skiprows", "header", "comment", "engine", "quotechar", "quoting", "skipfooter")
_HEAD = 2**16  # bytes that show the character between cells

Frame = Any
"""A pandas.DataFrame."""


def read_frame(path: Path, read: Mapping[str, Any], *, named: bool = False) -> Frame:
    """All columns of a table; of molecules and spectra their tags. ``read``: options of pandas by their names.

    ``named``: the first row holds names even if all are numbers, as times of curves.
    """
    frame = _read(path, dict(read), named)
    _refuse_uneven_rows(path, frame, read)
    return _checked(frame, path)


def frame_blocks(path: Path, read: Mapping[str, Any], rows: int) -> Iterator[Frame]:
    """The frame of a text table or a parquet file, some rows at a time; any other in one piece."""
    end = extension_of(path)
    if end == ".parquet":
        yield from _parquet_blocks(path, rows)
    elif end in _READERS or end in (*SDF, *SPECTRA):
        yield read_frame(path, read)
    else:
        yield from _text_blocks(path, dict(read), rows)


def _text_blocks(path: Path, read: dict[str, Any], rows: int) -> Iterator[Frame]:
    looked = False
    with _errors_of_pandas(path, read), _read(path, read, chunksize=rows) as blocks:
        for block in blocks:
            if not looked:
                _refuse_uneven_rows(path, block, read)
                looked = block.iloc[:, -1:].isna().to_numpy().any()
            yield _checked(block, path)


def _parquet_blocks(path: Path, rows: int) -> Iterator[Frame]:
    parquet = optional("pyarrow.parquet")
    with _errors_of_pandas(path, {}), parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(rows):
            yield _checked(batch.to_pandas(), path)


def _read(path: Path, read: dict[str, Any], named: bool = False, **part: int) -> Frame:
    """What pandas makes of a file, its first rows with ``nrows``, or frames one by one with ``chunksize``."""
    if extension_of(path) in SDF:
        from rkhs.data.molecule_files import read_sdf

        return read_sdf(path)
    if extension_of(path) in SPECTRA:
        from rkhs.data.spectra_files import read_tags

        return read_tags(path, read.get("encoding", "utf-8"))
    reader = _reader_of(path)
    _check_options(reader, read, path)
    with _errors_of_pandas(path, read):
        if extension_of(path) not in _READERS:
            return reader(path, **_of_text(path, read, named), **part)
        optional("openpyxl" if extension_of(path) == ".xlsx" else "pyarrow")
        frame = reader(path, **read, **part)
        guessed = extension_of(path) == ".xlsx" and not named and "header" not in read
        if guessed and _are_numbers([*map(str, frame.columns)]):
            return reader(path, header=None, **read, **part)
        return frame


def _reader_of(path: Path) -> Any:
    """The function of pandas that reads a file, by the end of its name."""
    import pandas

    return getattr(pandas, _READERS.get(extension_of(path), "read_csv"))


@contextmanager
def _errors_of_pandas(path: Path, read: Mapping[str, Any]) -> Iterator[None]:
    """Errors of pandas, and of the parsers that it calls, which raise anything, as those of the file."""
    import pandas

    try:
        yield
    except (RkhsError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: expected text in {read.get('encoding', 'utf-8')}; got other bytes ({error}); pass the encoding "
            "of the file, such as --read encoding=cp1252"
        ) from error
    except pandas.errors.EmptyDataError as error:
        raise InputError(
            f"{path}: expected a table; got an empty file; check that it was written to the end"
        ) from error
    except Exception as error:
        raise InputError(
            f"{path}: expected a complete {extension_of(path)} file that pandas.{_reader_of(path).__name__} reads; it "
            f"does not ({' '.join(str(error).split())}); pass its options with --read OPTION=VALUE, or write a plain "
            "table (the page 'Read any file' has a line for each mess)"
        ) from error


def _of_text(path: Path, read: dict[str, Any], named: bool) -> dict[str, Any]:
    """Options that read a text table: the character between cells, and whether its first row holds names."""
    encoding = read.get("encoding", "utf-8")
    if not encoding.lower().startswith(("utf-16", "utf_16", "utf16", "utf-32", "utf_32", "utf32")):
        _refuse_nul(path, encoding)
    sep = read.get("sep") or read.get("delimiter") or _delimiter(path, encoding)
    found = ({} if "delimiter" in read else {"sep": sep}) | read
    if read.get("engine", "c") == "c":
        found.setdefault("low_memory", False)
    if {"header", "names", "skiprows", "comment"} & read.keys():
        return found
    names = _first_cells(path, sep, encoding)
    if names and not named and _are_numbers(names):  # as NumPy writes a table
        return found | {"header": None}
    _refuse_repeated(path, names)
    return found


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Refuse names of columns that occur twice, which pandas would number in silence."""
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise InputError(
            f"{path}: names of columns must differ; got {listed(list(map(quote, repeated)))} more than once; rename "
            "them, or pass --read header=None if the first row is data"
        )


def _refuse_nul(path: Path, encoding: str) -> None:
    """Refuse NUL characters, at which pandas ends a cell in silence."""
    with open_bytes(path) as handle:
        blocks = iter(lambda: handle.read(_BLOCK), b"")
        if any(b"\0" in block for block in blocks):
            raise InputError(
                f"{path}: expected text in {encoding}; got a NUL character; pass --read encoding=utf-16 if the text is "
                "stored so, or check that this is a text file"
            )


def _lines(handle: BinaryIO, encoding: str) -> TextIOWrapper:
    """Lines of a text, whose ends are those of any system."""
    return TextIOWrapper(handle, encoding=encoding, errors="replace")


def _first_cells(path: Path, sep: str, encoding: str) -> list[str]:
    """Cells of the first line of a text table that is not blank."""
    with open_bytes(path) as handle, _lines(handle, encoding) as text:
        lines = (line.lstrip("\ufeff") for line in text if line.strip("\ufeff\r\n\t "))
        if len(sep) == 1:
            return [cell.strip() for cell in next(csv.reader(lines, delimiter=sep), [])]
        return re.split(sep, next(lines, "").strip())


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether all cells of a header are numbers, as in a table without names."""
    return all(name.strip() != "" and number_in(name) is not None for name in names)


def _check_options(reader: Any, read: Mapping[str, Any], path: Path) -> None:
    """Refuse options that the reader of pandas for this file does not have."""
    known = set(inspect.signature(reader).parameters) - _OURS
    for name in read.keys() - known:
        near = nearest(name, known)
        meant = f"; did you mean {near}?" if near else ""
        raise InputError(f"{path}: pandas.{reader.__name__} has no option {quote(name)} that may be given{meant}")


def _delimiter(path: Path, encoding: str) -> str:
    """A tab of .tsv, a comma where the first line has one, else what ``csv.Sniffer`` finds."""
    if extension_of(path) == ".tsv":
        return "\t"
    with open_bytes(path) as handle:
        head = handle.read(_HEAD).decode(encoding, "replace")
    if "," in head.partition("\n")[0]:
        return ","
    try:
        found = csv.Sniffer().sniff(head, ";\t| ").delimiter
    except csv.Error:
        return ","
    return r"\s+" if found == " " else found


def _checked(frame: Frame, path: Path) -> Frame:
    """The frame, its rows named by a first column without a title; an empty table and repeated names are errors."""
    if 0 in frame.shape:
        raise InputError(
            f"{path}: expected at least one row and one column below the header; got {frame.shape[0]} rows and "
            f"{frame.shape[1]} columns; check the file"
        )
    if frame.columns.nlevels > 1:
        raise InputError(
            f"{path}: expected one row of names; got {frame.columns.nlevels}; name one with --read header=0"
        )
    _refuse_repeated(path, [*map(str, frame.columns)])
    return _index_of_first(frame) if str(frame.columns[0]).startswith("Unnamed: 0") else frame


def _index_of_first(frame: Frame) -> Frame:
    """The frame with its rows named by its first column, numbers as texts: those of an index only count."""
    if frame.shape[1] == 1:
        return frame
    frame = frame.set_index(frame.columns[0]).rename_axis(None)
    return frame.set_axis(frame.index.map(str), axis=0) if frame.index.dtype.kind in "iu" else frame


def _refuse_uneven_rows(path: Path, frame: Frame, read: Mapping[str, Any]) -> None:
    """Refuse a row that is longer than the header, of which pandas makes a name in silence, or shorter: gaps."""
    encoding, is_text = read.get("encoding", "utf-8"), extension_of(path) not in (*_READERS, *SDF, *SPECTRA)
    sep = read.get("sep") or read.get("delimiter") or (_delimiter(path, encoding) if is_text else "")
    if not is_text or len(sep) != 1 or not read.keys().isdisjoint(_OTHER_LINES):
        return
    csv.field_size_limit(_BLOCK * 2**10)  # Python's own limit is shorter than long texts
    with open_bytes(path) as handle, _lines(handle, encoding) as text:
        rows = csv.reader((line.lstrip("\ufeff") for line in text), delimiter=sep)
        filled = filter(None, rows)
        width = len(next(filled, []))
        looked = filled if frame.iloc[:, -1:].isna().to_numpy().any() else islice(filled, 1)
        uneven = next(
            (row for row in looked if len(row) < width or (len(row) > width and "index_col" not in read)), None
        )
        if uneven is not None:
            raise InputError(
                f"{path}: expected {width} cells in each row, as in the first; got {len(uneven)} in line "
                f"{rows.line_num}; correct the row, or pass --read index_col=0 if the header lacks the column that "
                "names the rows"
            )


def with_index(frame: Frame, column: str | int | None, read: Sequence[str | int] = ()) -> Frame:
    """The frame with its rows named by a column: the given one, or a first one of texts that all differ.

    ``read``: columns that mean something else.
    """
    if column is None:
        if not _first_names_rows(frame, read):
            return frame
        frame = frame.set_index(frame.columns[0])
        return frame if isinstance(frame.index.name, str) else frame.rename_axis(None)
    return frame.set_index(frame.columns[locate(column, names_of(frame), frame.shape[1], "index_column")])


def _first_names_rows(frame: Frame, read: Sequence[str | int]) -> bool:
    """Whether the first column of a frame without names of rows holds texts that all differ."""
    if frame.shape[1] < 2 or row_names(frame) is not None or {0, frame.columns[0]} & set(read):
        return False
    cells = frame.iloc[:, 0].tolist()
    texts = [cell for cell in cells if isinstance(cell, str)]
    return len(texts) == len(cells) == len(set(texts)) > 1 and not (are_dates(texts) or look_like_numbers(texts))


def selected(frame: Frame, columns: Sequence[str | int] | None, dropped: Sequence[str | int] | None) -> Frame:
    """Some of the columns in the order wanted, or all but some."""
    names = names_of(frame)
    kept = locate_all(columns, names, frame.shape[1])
    if kept is not None:
        return frame.iloc[:, kept]
    out = locate_all(dropped, names, frame.shape[1], "drop_columns") or []
    return frame.iloc[:, [j for j in range(frame.shape[1]) if j not in out]]


def to_dataset(frame: Frame, source: str, *, kinds: Sequence[str] | None = None) -> Dataset:
    """Rows of numbers, or where there are texts or gaps rows of any cells, None for a gap.

    ``kinds`` are those of the columns of a table that a model was fitted to: "number", "text" or "date".
    """
    known = frame.notna().any(axis=1).to_numpy()
    if known.all() or not known.any():
        return _rows_of(frame, source, kinds)
    whole = Dataset(np.zeros((len(frame), 1)), "vectors", row_names(frame), None, source)
    rows = _rows_of(frame[known], source, kinds)
    return replace(rows, skipped=keep_rows(whole, known, NOTHING_KNOWN).skipped)


def _rows_of(frame: Frame, source: str, kinds: Sequence[str] | None) -> Dataset:
    """Rows of a frame of which none is empty."""
    names, dates = names_of(frame), list[str]()
    if kinds is None and _is_numbers(frame):
        X = np.require(frame.to_numpy(dtype=np.float64), requirements=["C", "W"])
    else:
        X, dates = _cells_of(frame, source, kinds)
    kind: Kind = "table" if X.dtype == object else "vectors"
    if kind == "vectors":
        check_finite(X, source, names)
    return Dataset(X, kind, row_names(frame), names, source, row_title=row_title(frame), dates=tuple(dates))


def _cells_of(frame: Frame, source: str, kinds: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    """Numbers where all columns hold them and nothing is missing, else objects; and the names of columns of dates."""
    names, dates = names_of(frame), []
    labels = [f"{source}: {column_label(names, j)}" for j in range(frame.shape[1])]
    columns = []
    for j, label in enumerate(labels):
        cells = column_cells(frame.iloc[:, j], label, kinds[j] if kinds else None)
        if cells.dtype == object and any(isinstance(cell, Day) for cell in cells.tolist()):
            dates.append(str(frame.columns[j]))
        columns.append(cells)
    if kinds is None and all(cells.dtype != object and not np.isnan(cells).any() for cells in columns):
        return np.column_stack(columns), dates
    found = [_with_none(cells, label) for cells, label in zip(columns, labels, strict=True)]
    return np.column_stack(found), dates


def _is_numbers(frame: Frame) -> bool:
    """Whether every cell is a number or a truth value of NumPy."""
    return all(kind.kind in "biuf" for kind in set(frame.dtypes)) and not frame.isna().to_numpy().any()


def _with_none(cells: np.ndarray, where: str) -> np.ndarray:
    """Cells of one column as objects, None in place of NaN."""
    if cells.dtype == object:
        return cells
    refuse_infinite(cells, where)
    found = cells.astype(object)
    found[np.isnan(cells)] = None
    return found
