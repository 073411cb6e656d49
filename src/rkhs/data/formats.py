"""Which files hold tables, by the ends of their names; how their text is opened; what converts the others."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rkhs._core.errors import InputError
from rkhs._core.files import check_readable

TABLES = (".csv", ".tsv", ".xlsx", ".parquet", ".feather")
KINDS = ("curves", "graphs", "sequences", "series", "spectra", "texts", "vectors")
SPECTRA = (".mgf", ".msp")
SDF = (".sdf", ".mol")
FASTA = (".fasta", ".fa", ".faa", ".fna", ".afa")
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
_MATRIX = "import numpy as np; import scipy; np.save({new!r}, scipy.io.mmread({old!r}).toarray())"
_PICKLED = (
    "from joblib import load; import pandas; pandas.DataFrame(load({old!r})).to_csv({new!r}) (only of a source that "
    "you trust: a pickled file can run code)"
)
_PAJEK = "import networkx as nx; nx.write_graphml(nx.Graph(nx.read_pajek({old!r})), {new!r})"
_SERIES = (
    "import numpy as np; from aeon.datasets import load_from_ts_file; X, y = load_from_ts_file({old!r}); "
    "np.savez({new!r}, *[one.T for one in X]); np.savetxt('classes.csv', y, fmt='%s', header='class', comments='')"
)
_READERS = {"excel": (".xls", ".ods", ".xlsb", ".xlsm"), "json": (".json",), "stata": (".dta",), "spss": (".sav",)}
# One line of Python that makes a file of another format one that is read.
_CONVERT = {
    **{end: (_FRAME.format(reader=reader), ".csv") for reader, ends in _READERS.items() for end in ends},
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), (_SPARSE, ".npz")),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), (_PICKLED, ".csv")),
    ".mtx": (_MATRIX, ".npy"),
    ".net": (_PAJEK, ".graphml"),
    ".ts": (_SERIES, ".npz"),  # of aeon and the UEA archive
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


def extension_of(path: str | os.PathLike[str]) -> str:
    """The end of the name of a file that says its format, in small letters."""
    name = Path(path).name.lower()
    plain = name.removesuffix(".gz")
    return Path(plain).suffix


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether pandas reads a file."""
    return extension_of(path) in TABLES


def has_columns(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table, or of molecules or spectra with tags, which are columns too."""
    return extension_of(path) in (*TABLES, *SDF, *SPECTRA)


def advice(path: Path) -> str:
    """What to do with a file of another format: the line of Python that converts it, if one is known."""
    line, end = _CONVERT.get(extension_of(path), ("", ""))
    if line:
        return f"convert it with Python: {line.format(old=str(path), new=str(path.with_suffix(end)))}"
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


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name says that it is packed; no pipe or device is opened."""
    check_readable(path)
    packed = path.suffix.lower() == ".gz"
    try:
        with (gzip.open if packed else open)(path, "rb") as handle:
            yield handle  # type: ignore[misc]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: expected a complete .gz file; got one that cannot be unpacked ({error})") from error
