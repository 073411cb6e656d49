"""Rows from an argument: an array, a memory map, a file, a Dask collection, batches of a loader."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from rkhs._core.arrays import as_numpy, read_values
from rkhs._core.errors import InputError
from rkhs._core.files import UNREADABLE, check_readable, old_headers
from rkhs.engines.rows import ArrayRows, DaskRows, FileRows, ParquetRows, Rows


def is_stream(X: Any) -> bool:
    """Whether data are read block by block: memory maps, open rows and Dask collections."""
    return isinstance(X, (Rows, np.memmap)) or _of_dask(X)


def _of_dask(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def are_batches(X: Any) -> bool:
    """Whether an object yields batches of rows: an iterator, a loader; no array, frame, list or text."""
    known = (list, tuple, str, bytes, dict, type)
    shaped = any(hasattr(X, name) for name in ("__array__", "shape", "columns"))
    return hasattr(X, "__iter__") and not isinstance(X, known) and not shaped


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
        rows = FileRows(path, np.dtype(np.float64).str, (n, columns), 0)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows


def as_rows(X: Any, name: str = "X") -> Rows:
    """Open the rows that an argument names.

    Parameters
    ----------
    X : array of shape (n, d), or where to find one
        An array, tensor, frame or NumPy memory map; the path of a ``.npy`` file, of a ``.parquet`` file or of a folder
        of such; a Dask array or dataframe (not a persisted one: its rows must be computable anywhere); an iterator or
        loader of batches, which is read once into a temporary file.
    name : str, default="X"
        The argument, for messages.

    Returns
    -------
    Rows

    Raises
    ------
    InputError
        For anything else, and for what is not a matrix with rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import as_rows
    >>> as_rows([[1, 2], [3, 4]]).read()
    array([[1., 2.],
           [3., 4.]])
    >>> as_rows(iter([np.ones((2, 3)), np.ones((4, 3))])).shape
    (6, 3)
    """
    rows = _find_rows(X, name)
    if 0 in rows.shape:
        raise InputError(f"{name} must have rows and columns; got n_samples={rows.shape[0]}, shape {rows.shape}")
    return rows


def _find_rows(X: Any, name: str) -> Rows:
    if isinstance(X, Rows):
        return X
    if isinstance(X, (str, os.PathLike)):
        return _from_path(os.fspath(X), name)
    if _of_dask(X):
        return _from_dask(X, name)
    if are_batches(X):
        return spool(X, name)
    mapped = _from_map(X) if isinstance(X, np.ndarray) else None
    if mapped is not None:
        return mapped
    array = read_values(X, name)
    if array.ndim != 2:
        raise InputError(f"{name} must be a 2-D array (n samples, d inputs); got shape {array.shape}")
    return ArrayRows(array)


def _from_path(path: str, name: str) -> Rows:
    check_readable(path)
    if os.path.isdir(path) or path.lower().endswith((".parquet", ".pq")):
        return ParquetRows.of(path)
    if not path.lower().endswith(".npy"):
        raise InputError(f"{name} must name a .npy file, a .parquet file or a folder of them; got {path!r}")
    try:
        with old_headers():
            table = np.lib.format.open_memmap(path, mode="r")
    except UNREADABLE as error:
        # NumPy's message would suggest to load a file that can run code.
        reason = "it holds Python objects" if "pickle" in str(error) or "objects" in str(error) else error
        raise InputError(
            f"{name}: cannot read {path!r} ({reason}); check the name, and that it is a .npy file of numbers"
        ) from None
    if table.ndim != 2:
        raise InputError(f"{name} must be a 2-D array (n samples, d inputs); {path!r} has shape {table.shape}")
    rows = _from_map(table)
    assert rows is not None
    return rows


def _from_map(X: np.ndarray) -> Rows | None:
    """Find where in which file the rows of a memory map lie; None if they are no such rows."""
    root: Any = X
    while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or X.ndim != 2 or root.mode not in ("r", "r+", "c"):
        return None
    if root.mode == "c" or not (X.flags.c_contiguous or X.flags.f_contiguous):
        return None  # copy-on-write: the file does not hold what was written; other strides: not a stretch of rows
    offset = int(root.offset) + X.ctypes.data - root.ctypes.data
    fortran = not X.flags.c_contiguous
    return FileRows(os.path.abspath(os.fspath(root.filename)), X.dtype.str, (X.shape[0], X.shape[1]), offset, fortran)


def _from_dask(X: Any, name: str) -> Rows:
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if not hasattr(X, "chunks") or X.ndim != 2:
        raise InputError(f"{name} must be a Dask dataframe or a 2-D Dask array; got {type(X).__name__}")
    if any(size != size for sizes in X.chunks for size in sizes):
        X = X.compute_chunk_sizes()
    return DaskRows(X)
