"""Columns of large text tables through pandas, where it is installed; the reader does all else.

What is read here, :mod:`rkhs.data.text` reads to the same bits: it is the one that knows errors.
"""

from __future__ import annotations

import codecs
import csv
import importlib
import mmap
import sys
import warnings
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rkhs._core.files import text_encoding

__all__ = ["Columns", "columns_of_large_file"]

_LEAST = 2**23  # bytes below which importing pandas takes longer than it saves
_LEAST_IMPORTED = 2**16
_MOST = 2**31
_BLOCK = 2**20  # bytes counted at a time
_DELIMITERS = ",;|\t"
_ENCODINGS = ("utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252")  # those where a delimiter is a byte of its own


class Columns(NamedTuple):
    """Columns by position: finite numbers with NaN for gaps, and texts without the white space around them."""

    numbers: dict[int, np.ndarray]
    texts: dict[int, list[str]]


def columns_of_large_file(
    path: Path,
    texts: Collection[int],
    gaps: Collection[str],
    *,
    header: bool,
    width: int,
    delimiter: str,
    encoding: str,
) -> Columns | None:
    """All columns below the header: some as texts, the others as numbers."""
    size = path.stat().st_size
    least = _LEAST_IMPORTED if "pandas" in sys.modules else _LEAST
    if not least <= size <= _MOST or delimiter not in _DELIMITERS or find_spec("pandas") is None:
        return None
    if codecs.lookup(text_encoding(encoding)).name not in _ENCODINGS or (width == 1 and (texts or gaps)):
        return None  # a blank line is no cell, but pandas would say so
    delimiters = _plain_delimiters(path, delimiter)
    frame = None if delimiters is None else _frame(path, texts, _spellings(gaps), header, width, delimiter, encoding)
    # Short rows come filled up. No row is longer, so none is shorter if the file has all delimiters.
    if frame is None or frame.shape[1] != width or delimiters != (len(frame) + header) * (width - 1):
        return None
    numbers = {j: frame[j].to_numpy(dtype=np.float64) for j in range(width) if j not in texts}
    if any(np.isinf(column).any() or (not gaps and np.isnan(column).any()) for column in numbers.values()):
        return None
    cells = {j: frame[j].tolist() for j in texts}
    if any(len(cell) > csv.field_size_limit() for column in cells.values() for cell in column):
        return None  # the reader refuses it
    return Columns(numbers, {j: [cell.strip() for cell in column] for j, column in cells.items()})


def _frame(
    path: Path, texts: Collection[int], gaps: list[str], header: bool, width: int, delimiter: str, encoding: str
) -> Any:
    """The file as pandas reads it; None if it does not."""
    pandas = importlib.import_module("pandas")
    # Later versions round correctly by default, and warn if they are asked to.
    exact = {} if int(pandas.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    numbers = [j for j in range(width) if j not in texts]
    missing = {"na_values": dict.fromkeys(numbers, gaps), "keep_default_na": False} if gaps else {"na_filter": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return pandas.read_csv(
                path,
                header=None,
                skiprows=int(header),
                dtype={j: object if j in texts else np.float64 for j in range(width)},
                engine="c",
                low_memory=False,
                sep=delimiter,
                encoding=text_encoding(encoding),
                skip_blank_lines=False,
                **missing,
                **exact,
            )
    except Exception:  # whatever it is, the reader has the words for it
        return None


def _spellings(words: Iterable[str]) -> list[str]:
    """Words in small and capital letters, and in every mixture of them."""
    return ["".join(letters) for word in words for letters in product(*({c, c.upper()} for c in word))]


def _plain_delimiters(path: Path, delimiter: str) -> int | None:
    """How many delimiters a file has; None if it has quotation marks or zero bytes, which parsers read differently."""
    with open(path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(b'"') >= 0 or data.find(b"\0") >= 0:
            return None
        blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
        return sum(block.count(delimiter.encode()) for block in blocks)
