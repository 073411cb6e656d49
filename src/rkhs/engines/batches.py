"""Batches of rows from an iterator or a loader, as rows of a temporary file."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError
from rkhs.engines.rows import FileRows

__all__ = ["are_batches", "spool"]


def are_batches(X: Any) -> bool:
    """Whether an object yields batches of rows: an iterator, a loader; no array, frame, list or text."""
    known = (list, tuple, str, bytes, dict, type)
    return hasattr(X, "__iter__") and not isinstance(X, known) and not hasattr(X, "__array__") and not _has_shape(X)


def _has_shape(X: Any) -> bool:
    return hasattr(X, "shape") or hasattr(X, "columns")


def spool(batches: Iterable[Any], name: str = "X") -> FileRows:
    """Write batches to a temporary file, once; it is deleted with the rows that are returned."""
    folder = tempfile.mkdtemp(prefix="rkhs-")
    try:
        path, n, columns = os.path.join(folder, "rows"), 0, 0
        with open(path, "wb") as file:
            for number, batch in enumerate(batches):
                part = np.asarray(as_numpy(batch[0] if isinstance(batch, (list, tuple)) else batch, name))
                if part.ndim != 2 or part.dtype.kind not in "biuf" or (number and part.shape[1] != columns):
                    wanted = f"of {columns} columns" if number else "(rows, columns)"
                    raise InputError(
                        f"{name} must yield matrices {wanted} of real numbers; batch {number} has shape {part.shape}, "
                        f"dtype {part.dtype}"
                    )
                n, columns = n + part.shape[0], part.shape[1]
                file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        if not n * columns:
            raise InputError(f"{name} must yield batches of rows; got none. An iterator can be read once only")
        rows = FileRows(path, "<f8" if np.little_endian else ">f8", (n, columns), 0)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows
