"""Where rows come from: memory, memory-mapped files, parquet files, Dask collections; read block by block."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional


class Rows(ABC):
    """A matrix that is read a few rows at a time.

    A part holds only what it needs, and reading it twice gives the same numbers, so that the work of a lost worker can
    be repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Rows, as_rows
    >>> rows = as_rows(np.arange(6.0).reshape(3, 2))
    >>> isinstance(rows, Rows), rows.shape, rows.part(0, 1).read()
    (True, (3, 2), array([[0., 1.]]))
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def random_access(self) -> bool:
        """Whether a few rows anywhere can be read at little cost; otherwise rows are read in groups of thousands."""
        return True

    @abstractmethod
    def part(self, start: int, stop: int) -> Rows:
        """Rows ``start:stop``, small to send to another process."""

    @abstractmethod
    def _read(self, start: int, stop: int) -> np.ndarray:
        """Rows ``start:stop`` in their own dtype."""

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Read rows as float64.

        Parameters
        ----------
        start, stop : int
            Default: all rows.

        Returns
        -------
        ndarray of shape (stop - start, d)
            A copy, contiguous and aligned to 64 bytes: matrix products may round differently on other alignments.

        Raises
        ------
        InputError
            For entries that are not finite real numbers.
        """
        stop = self.shape[0] if stop is None else stop
        raw = self._read(start, stop)
        if raw.dtype.kind not in "biuf":
            raise InputError(f"X must hold real numbers; got dtype {raw.dtype}. Encode the columns as numbers")
        out = aligned((stop - start, self.shape[1]))
        out[...] = raw
        finite = np.isfinite(out)
        if not finite.all():
            row = start + int(np.argmin(finite.all(axis=1)))
            raise InputError(f"X must be finite; got NaN or infinity in row {row} of its part. Fill or drop such rows")
        return out


def aligned(shape: tuple[int, int]) -> np.ndarray:
    """Uninitialised float64 matrix that starts at a multiple of 64 bytes."""
    size = shape[0] * shape[1]
    buffer = np.empty(size + 8)
    offset = (-buffer.ctypes.data % 64) // 8
    return buffer[offset : offset + size].reshape(shape)


class ArrayRows(Rows):
    """Rows of an array in memory; a part carries its rows.

    Parameters
    ----------
    array : ndarray of shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import ArrayRows
    >>> rows = ArrayRows(np.arange(6).reshape(3, 2))
    >>> rows.shape, rows.read(1, 3)
    ((3, 2), array([[2., 3.],
           [4., 5.]]))
    """

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self._array.shape[0], self._array.shape[1])

    def part(self, start: int, stop: int) -> Rows:
        """View of some rows; only they are sent to another process."""
        return ArrayRows(self._array[start:stop])

    def _read(self, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop]


class FileRows(Rows):
    """Rows of a file of numbers that every process can open: a ``.npy`` file or any memory map.

    Parameters
    ----------
    path : str
        Absolute, and the same for all processes.
    dtype : str
    shape : tuple of int
        Shape of the array in the file.
    offset : int
        Bytes before the first number.
    fortran : bool, default=False
        Whether the array is in Fortran order.
    first : int, default=0
        First row that belongs to these rows.
    count : int, optional
        Number of rows; default: all.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rkhs.engines import as_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.arange(6.0).reshape(3, 2))
    ...     rows = as_rows(f"{folder}/rows.npy")
    ...     type(rows).__name__, rows.part(1, 3).read()
    ('FileRows', array([[2., 3.],
           [4., 5.]]))
    """

    def __init__(
        self,
        path: str,
        dtype: str,
        shape: tuple[int, int],
        offset: int,
        fortran: bool = False,
        first: int = 0,
        count: int | None = None,
    ) -> None:
        self._layout = (path, dtype, shape, offset, fortran)
        self._first, self._count = first, shape[0] - first if count is None else count

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self._count, self._layout[2][1])

    def part(self, start: int, stop: int) -> Rows:
        """Return where to read some rows."""
        path, dtype, shape, offset, fortran = self._layout
        return FileRows(path, dtype, shape, offset, fortran, self._first + start, stop - start)

    def _read(self, start: int, stop: int) -> np.ndarray:
        path, dtype, shape, offset, fortran = self._layout
        try:
            # Reopened each time: pages of rows that were read do not stay counted as this process's memory.
            table = np.memmap(path, np.dtype(dtype), "r", offset, shape, "F" if fortran else "C")
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot read rows from {path!r} ({error}); every worker needs the file under that path, unchanged"
            ) from None
        return np.array(table[self._first + start : self._first + stop])


class ParquetRows(Rows):
    """Rows of a parquet file, or of the files of a folder in the order of their names.

    Parameters
    ----------
    files : sequence of (str, int)
        Paths and numbers of rows.
    columns : sequence of str
        The numeric columns to read.
    first : int, default=0
    count : int, optional

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from rkhs.engines import as_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]}).to_parquet(f"{folder}/rows.parquet")
    ...     rows = as_rows(f"{folder}/rows.parquet")
    ...     type(rows).__name__, rows.read(1, 3)
    ('ParquetRows', array([[2., 5.],
           [3., 6.]]))
    """

    def __init__(
        self, files: tuple[tuple[str, int], ...], columns: tuple[str, ...], first: int = 0, count: int | None = None
    ) -> None:
        self._files, self._columns = files, columns
        self._first = first
        self._count = sum(n for _, n in files) - first if count is None else count

    @classmethod
    def of(cls, path: str, columns: tuple[str, ...] | None = None) -> ParquetRows:
        """Open a file or a folder.

        Parameters
        ----------
        path : str
        columns : tuple of str, optional
            Default: all columns.

        Returns
        -------
        ParquetRows
        """
        parquet = optional("pyarrow.parquet")
        names = [path] if os.path.isfile(path) else sorted(str(p) for p in Path(path).rglob("*.parquet"))
        if not names:
            raise InputError(f"expected a parquet file or a folder of .parquet files; got {path!r}, which holds none")
        tables = list(map(parquet.ParquetFile, names))
        known = tuple(tables[0].schema_arrow.names)
        wanted = known if columns is None else columns
        for name, table in zip(names, tables, strict=True):
            lacking = [c for c in wanted if c not in table.schema_arrow.names]
            if lacking:
                raise InputError(f"{name} must have the columns {list(wanted)}; it lacks {lacking}")
        return cls(tuple((os.path.abspath(n), t.metadata.num_rows) for n, t in zip(names, tables, strict=True)), wanted)

    @property
    def random_access(self) -> bool:
        """False: a row group is decoded as a whole."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self._count, len(self._columns))

    def part(self, start: int, stop: int) -> Rows:
        """Return where to read some rows."""
        return ParquetRows(self._files, self._columns, self._first + start, stop - start)

    def _read(self, start: int, stop: int) -> np.ndarray:
        parquet = optional("pyarrow.parquet")
        start, stop = self._first + start, self._first + stop
        pieces, offset = [], 0
        for path, n in self._files:
            low, high = max(start - offset, 0), min(stop - offset, n)
            if low < high:
                pieces.append(self._read_file(parquet.ParquetFile(path), low, high))
            offset += n
        return np.concatenate(pieces)

    def _read_file(self, table: Any, start: int, stop: int) -> np.ndarray:
        """Read the row groups that hold the rows, and no others."""
        sizes = [table.metadata.row_group(i).num_rows for i in range(table.metadata.num_row_groups)]
        ends = np.cumsum(sizes)
        groups = [i for i in range(len(sizes)) if ends[i] > start and ends[i] - sizes[i] < stop]
        base = int(ends[groups[0]] - sizes[groups[0]])
        part = table.read_row_groups(groups, columns=list(self._columns)).slice(start - base, stop - start)
        columns = []
        for name in self._columns:
            column = part.column(name)
            if column.null_count:
                raise InputError(f"column {name!r} must have no missing values; got {column.null_count} in a block")
            columns.append(column.to_numpy())
        return np.column_stack(columns)


class DaskRows(Rows):
    """Rows of a Dask array; a part carries the graph of its rows, and is computed where it is read.

    Parameters
    ----------
    array : dask.array.Array of shape (n, d)
        With known chunk sizes.

    Examples
    --------
    >>> import dask.array
    >>> from rkhs.engines import DaskRows
    >>> rows = DaskRows(dask.array.arange(6).reshape(3, 2))
    >>> rows.part(0, 2).read()
    array([[0., 1.],
           [2., 3.]])
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def random_access(self) -> bool:
        """False: a chunk is computed as a whole."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (int(self._array.shape[0]), int(self._array.shape[1]))

    def part(self, start: int, stop: int) -> Rows:
        """Some rows, with the graph that computes them and nothing else."""
        import dask

        (small,) = dask.optimize(self._array[start:stop])
        return DaskRows(small)

    def _read(self, start: int, stop: int) -> np.ndarray:
        part = self._array if (start, stop) == (0, self.shape[0]) else self._array[start:stop]
        return np.asarray(part.compute(scheduler="synchronous"))
