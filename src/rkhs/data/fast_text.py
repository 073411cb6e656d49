"""Large text tables of numbers, and names of rows, through pandas, where it is installed; the reader does all else.

What is read here, :mod:`rkhs.data.text` reads to the same bits: it is the one that knows gaps and errors.
"""

from __future__ import annotations

import importlib
import mmap
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from rkhs._core.files import text_encoding

__all__ = ["numbers_of_large_file"]

_LEAST = 2**23  # bytes below which importing pandas takes longer than it saves
_LEAST_IMPORTED = 2**16
_MOST = 2**31
_DELIMITERS = ",;|\t"


def numbers_of_large_file(
    path: Path, names: int | None, *, header: bool, width: int, delimiter: str, encoding: str
) -> tuple[np.ndarray, list[str]] | None:
    """All cells below the header as numbers, but for those of a column of names.

    Parameters
    ----------
    path : Path
    names : int or None
        Position of the column of names.
    header : bool
        Whether the first line holds names.
    width : int
        Number of columns.
    delimiter : str
    encoding : str

    Returns
    -------
    (ndarray of shape (n, width), list of str) or None
        Zeros and texts for the names. None if pandas is missing, the file is small, or another cell is anything but a
        finite number.
    """
    size = path.stat().st_size
    least = _LEAST_IMPORTED if "pandas" in sys.modules else _LEAST
    if not least <= size <= _MOST or delimiter not in _DELIMITERS or find_spec("pandas") is None or _is_odd(path):
        return None
    pandas = importlib.import_module("pandas")
    # Later versions round correctly by default, and warn if they are asked to.
    exact = {} if int(pandas.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    options = {"sep": delimiter, "encoding": text_encoding(encoding), "skip_blank_lines": False, "na_filter": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pandas.read_csv(
                path,
                header=None,
                skiprows=int(header),
                dtype={i: object if i == names else np.float64 for i in range(width)},
                engine="c",
                low_memory=False,
                **options,
                **exact,
            )
    except Exception:  # whatever it is, the reader has the words for it
        return None
    texts: list[str] = []
    if names is not None and names in frame:
        texts = [cell.strip() for cell in frame[names]]
        frame[names] = 0.0
    values = np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    return (values, texts) if values.shape[1] == width and bool(np.isfinite(values).all()) else None


def _is_odd(path: Path) -> bool:
    """Whether a file has quotation marks or zero bytes, which two parsers may read differently."""
    with open(path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(b'"') >= 0 or data.find(b"\0") >= 0
