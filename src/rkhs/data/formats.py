"""Which files hold tables, by the ends of their names; how their text is opened; what converts the others."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from zipfile import ZipFile

from rkhs._core.errors import InputError, optional, quote
from rkhs.data.text import WEAK, number_in

TEXT_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx")
TABLES = (*TEXT_TABLES, ".parquet", ".feather")
KINDS = ("curves", "graphs", "sequences", "series", "spectra", "texts", "vectors")
SPECTRA = (".mgf", ".msp", ".ms")
SDF = (".sdf", ".sdf.gz", ".mol")
_SEQUENCES = (".fasta", ".fa", ".faa", ".fna", ".afa")
FASTA = (*_SEQUENCES, *(f"{end}.gz" for end in _SEQUENCES))
FINGERPRINTS = ("morgan", "path", "maccs", "counts")  # kinds of fingerprints
_FRAME = "import pandas; pandas.read_{reader}({{old!r}}).to_csv({{new!r}}, index=False)"
_PEAKS = (
    "from matchms.importing import load_spectra; from matchms.exporting import save_as_mgf; "
    "save_as_mgf(list(load_spectra({old!r})), {new!r})"
)
_SPARSE = (
    "import numpy as np; from sklearn.datasets import load_svmlight_file; X, y = load_svmlight_file({old!r}); "
    "np.savez({new!r}, X=X.toarray())"
)
_TAGS = (
    "import re; from pathlib import Path; t = Path({old!r}).read_text('utf-8'); "
    r"Path({new!r}).write_text(re.sub(r'(?s)<([a-z -]+)>.*?</\1>\s*', '', t), 'utf-8')"
)
_MATRIX = "import scipy; scipy.sparse.save_npz({new!r}, scipy.sparse.csr_array(scipy.io.mmread({old!r})))"
_PICKLED = (
    "from joblib import load; import pandas; pandas.DataFrame(load({old!r})).to_csv({new!r}) (only of a source that "
    "you trust: a pickled file can run code)"
)
_PAJEK = (
    "import networkx as nx; from glob import glob; [nx.write_graphml(nx.Graph(nx.read_pajek(file)), file[:-4] + "
    "'.graphml') for file in glob({folder!r} + '/*.net')]"
)
_READERS = {"excel": (".xls", ".ods", ".xlsb", ".xlsm"), "json": (".json",), "stata": (".dta",), "spss": (".sav",)}
# One line of Python that makes a file of another format one that is read.
_CONVERT = {
    **{end: (_FRAME.format(reader=reader), ".csv") for reader, ends in _READERS.items() for end in ends},
    ".dwar": (_TAGS, ".tsv"),  # of DataWarrior: a table between tags
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), (_SPARSE, ".npz")),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), (_PICKLED, ".csv")),
    ".mtx": (_MATRIX, ".npz"),
    ".net": (_PAJEK, ".graphml"),
    **dict.fromkeys((".mzml", ".mzxml"), (_PEAKS, ".mgf")),
}
# How files begin that are no text, and what they are.
_FORMS = {
    b"\x1f\x8b": "a file packed by gzip; rename it to end in .csv.gz",
    b"PAR1": "a parquet file; rename it to end in .parquet",
    b"PK\x03\x04": "an archive; rename it to end in .npz if NumPy wrote it, in .xlsx if a spreadsheet did",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save the sheet as .csv",
    b"\x93NUMPY": "a NumPy array; rename it to end in .npy",
    b"%PDF": "a PDF; copy its table to a sheet",
    **dict.fromkeys((b"<!DOCTYPE", b"<html"), "a web page; download the file that it links to"),
}
_OWN = {".gz": b"\x1f\x8b", ".parquet": b"PAR1", ".xlsx": b"PK\x03\x04", ".npz": b"PK\x03\x04", ".npy": b"\x93NUMPY"}
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_FIRST_LINES = 200  # lines of a text that say whether it is a table
LAST_LINES = 40
_NO_VALUE = re.compile(rb"</f>(?:<v ?/>|<v></v>)?</c>")  # a formula in a sheet of a workbook
_BETWEEN = re.compile(r'[\s,;|"]+')
_SPARSE_LINE = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?(?:\s+\d+:\S+)+\s*(?:#.*)?")


def extension_of(path: str | os.PathLike[str]) -> str:
    """The end of the name of a file that says its format, in small letters."""
    name = Path(path).name.lower()
    end = next((end for end in (*TABLES, *SDF, *FASTA) if name.endswith(end)), Path(name).suffix)
    others = (".asc", ".dat", ".data", ".dist", ".dpt", ".pim", ".tab", ".xy")  # of instruments, alignments, archives
    return ".tsv" if end == ".gct" else ".txt" if end in others else end


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds columns with names, or could."""
    return extension_of(path) in TABLES or is_text_table(path)


def has_columns(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table, or of molecules or spectra with tags, which are columns too."""
    return extension_of(path) in (*SDF, *SPECTRA) or is_table(path)


def is_text_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table whose cells are read as text; a .txt file is one if most of its cells are numbers."""
    extension = extension_of(path)
    return extension in TEXT_TABLES or (extension == ".txt" and _holds_numbers(Path(path)))


def can_convert(path: Path) -> bool:
    """Whether a line of Python is known that makes the file one that is read."""
    return extension_of(path) in _CONVERT


def advice(path: Path) -> str:
    """What to do with a file of another format: the line of Python that converts it, if one is known."""
    line, end = _CONVERT.get(extension_of(path), ("", ""))
    if line:
        names = {"old": str(path), "new": str(path.with_suffix(end)), "folder": str(path.parent)}
        return f"convert it with Python: {line.format(**names)}"
    return "convert the file, or rename it if its content is one of these"


def check_form(path: Path) -> None:
    """Refuse a file that begins as those of another format than its name says."""
    with open(path, "rb") as handle:
        start = handle.read(9)
    end = path.suffix.lower()
    form = next((form for form in _FORMS if start.startswith(form)), None)
    if form is not None and form != _OWN.get(end):
        raise InputError(f"{path}: expected a {end or 'text'} file; got {_FORMS[form]}")
    if end in (".npy", ".npz") and start and form is None and not start.startswith(b"PK"):
        raise InputError(f"{path}: expected a {end} file; got one that NumPy did not write; rename it to what it is")


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a byte order mark says, as Excel writes one."""
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)


def refuse_sparse_lines(path: Path, lines: list[str]) -> None:
    """Raise if the lines of a text file are those of libsvm: a label, and pairs of a column and a value."""
    if lines and all(_SPARSE_LINE.fullmatch(line.strip()) for line in lines):
        line = _SPARSE.format(old=str(path), new=str(path.with_suffix(".npz")))
        raise InputError(
            f"{path}: expected a table or texts; got rows of libsvm, such as {quote(lines[0].strip()[:40])}; convert "
            f"them with Python: {line}"
        )


def _first_lines(path: Path) -> list[str]:
    """Return the first lines of a text in any encoding, in which only numbers are looked for."""
    with open(path, "rb") as handle:
        encoding = marked_encoding(handle.read(4)) or "latin-1"
    with open_lines(path, encoding, None) as text:
        return list(islice(text, _FIRST_LINES))


def _holds_numbers(path: Path) -> bool:
    """Whether at least half of what stands below the first line of a text is numbers, or a column of its cells."""
    try:
        head = _first_lines(path)
    except (OSError, UnicodeError):
        return False
    lines = [line for line in head[1:] if not line.startswith(("#", "%"))] or head
    cells = [*filter(None, chain.from_iterable(map(_BETWEEN.split, lines)))]
    numbers = sum(number_in(cell) is not None or cell.lower() in WEAK for cell in cells)
    return _has_cells(lines) or 2 * numbers >= max(len(cells), 1)


def _has_cells(lines: list[str]) -> bool:
    """Whether the same mark stands equally often in all lines, with numbers alone between two of these."""
    for mark in "\t;,":
        rows = [line.strip("\r\n").split(mark) for line in lines if line.strip()]
        if len(rows) > 2 and {*map(len, rows)} == {max(3, len(rows[-1]))}:
            return any(
                all(number_in(cell) is not None and cell for cell in column[2:]) for column in zip(*rows, strict=True)
            )
    return False


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name says that it is packed."""
    packed = path.suffix.lower() == ".gz"
    try:
        with (gzip.open if packed else open)(path, "rb") as handle:
            yield handle  # type: ignore[misc]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: expected a complete .gz file; got one that cannot be unpacked ({error})") from error


def begins_in_utf8(path: str, most: int = 2**20) -> bool:
    """Whether the first bytes of a file, or all for -1, are text in UTF-8, which text in another encoding hardly is."""
    with open_bytes(Path(path)) as handle, suppress(UnicodeError):
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(handle.read(most))
    return False


@contextmanager
def open_lines(path: Path, encoding: str, sheet: str | None) -> Iterator[TextIO]:
    """The text of a table; of a workbook that of one sheet, with commas between the cells."""
    if path.suffix.lower() == ".xlsx":
        yield io.StringIO(sheet_of(path, path.stat().st_mtime_ns, sheet)[0], newline="")
        return
    with open_bytes(path) as handle, io.TextIOWrapper(handle, encoding=encoding, newline="") as lines:
        yield lines


def last_lines(path: Path, encoding: str, sheet: str | None) -> list[str]:
    """The last lines of a table; none of a packed file, or of one in which a byte may be a part of a letter."""
    if path.suffix.lower() == ".xlsx":
        return sheet_of(path, path.stat().st_mtime_ns, sheet)[0].splitlines()[-LAST_LINES:]
    if path.suffix.lower() == ".gz" or encoding.startswith(("utf-16", "utf-32")):
        return []
    with open(path, "rb") as handle:
        handle.seek(max(0, path.stat().st_size - 2**16))
        return handle.read().decode(encoding, "replace").splitlines()[-LAST_LINES:]


@lru_cache(maxsize=1)  # a table is opened several times
def sheet_of(path: Path, changed: int, sheet: str | None) -> tuple[str, str, list[str]]:
    """A sheet of a workbook as text, its name, and the names of the others."""
    openpyxl = optional("openpyxl")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        with closing(book):
            known = {one.title: one for one in book.worksheets}
            chosen = known.get(sheet or "", book.worksheets[0])
            chosen.reset_dimensions()  # some programs write too small ones
            rows = [list(map(_cell, row)) for row in chosen.iter_rows(values_only=True)]
    except Exception as error:  # of zip files, XML and openpyxl
        raise InputError(
            f"{path}: expected a complete .xlsx file; got one that cannot be read ({error}); save it again"
        ) from error
    if sheet not in (None, chosen.title):
        raise InputError(
            f"{path}: `key` must name a sheet; got {sheet!r}; the sheets are {', '.join(map(quote, known))}"
        )
    text, width = io.StringIO(), max(map(len, rows), default=0)
    csv.writer(text, lineterminator="\n").writerows(row + [""] * (width - len(row)) for row in rows)
    return text.getvalue(), chosen.title, [name for name in known if name != chosen.title]


def lacks_values(path: Path) -> bool:
    """Whether a workbook holds formulas whose values no spreadsheet has stored."""
    with ZipFile(path) as book:
        return any(_NO_VALUE.search(book.read(name)) for name in book.namelist() if name.startswith("xl/worksheets/"))


def _cell(value: Any) -> str:
    """A cell as a text file would have it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return repr(value) if isinstance(value, float) else str(value)
