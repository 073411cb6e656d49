"""Tables stored as NumPy arrays: npy and npz. Pickled content is never executed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rkhs._core.errors import InputError
from rkhs.data.dataset import Table, as_numbers, check_finite, check_size, listed, locate_all

__all__ = ["read_npy", "read_npz"]


def read_npy(path: Path, *, columns: Sequence[object] | None) -> Table:
    """Read the array of an npy file.

    Parameters
    ----------
    path : Path
    columns : sequence of int, or None
        Positions of the columns to keep; None keeps all.

    Returns
    -------
    Table
        ``(n, d)`` float64, or float32 if the file holds float32.

    Raises
    ------
    InputError
        If the file is damaged, or is not a finite, real, two-dimensional array.
    """
    try:
        with path.open("rb") as handle:  # opened here, because NumPy leaves its own handle open on some damaged files
            array = np.load(handle, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise _unreadable(path, "npy", error) from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path}: expected a npy file with one array; got a npz archive; rename it to end in .npz")
    return _table(array, str(path), columns)


def read_npz(path: Path, *, key: str | None, columns: Sequence[object] | None) -> Table:
    """Read one array of an npz file.

    Parameters
    ----------
    path : Path
    key : str or None
        Name of the array; None if the file holds only one.
    columns : sequence of int, or None
        Positions of the columns to keep; None keeps all.

    Returns
    -------
    Table
        ``(n, d)`` float64, or float32 if the file holds float32.

    Raises
    ------
    InputError
        If the file is damaged, the array is not there or not named among several, or is not a finite, real table.
    """
    try:
        with path.open("rb") as handle:
            archive = np.load(handle, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"{path}: expected a npz archive; got a single npy array; rename it to end in .npy")
            with archive:
                name = _choose(path, list(archive.files), key)
                array = archive[name]
    except InputError:
        raise
    except (ValueError, EOFError, OSError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, "npz", error) from error
    return _table(array, f"{path}[{name!r}]", columns)


def _choose(path: Path, names: list[str], key: str | None) -> str:
    if key is not None:
        if key in names:
            return key
        raise InputError(
            f"{path}: `key` must name an array of the file; got {key!r}; the arrays are {listed(names, 10)}"
        )
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"{path}: expected a file with one array, or key= naming one of several; got {len(names)} arrays and no key; "
        f"the arrays are {listed(names, 10) or 'none'}"
    )


def _unreadable(path: Path, form: str, error: Exception) -> InputError:
    if "allow_pickle" in str(error):
        return InputError(
            f"{path}: expected an array of numbers; got Python objects, which would have to be unpickled and so "
            "could run code; save it again as an array of numbers, for example array.astype(float)"
        )
    return InputError(
        f"{path}: expected a complete {form} file written by NumPy; got one that cannot be read ({error}); write it "
        "again"
    )


def _table(array: np.ndarray, source: str, columns: Sequence[object] | None) -> Table:
    values = as_numbers(array, source)
    check_size(values, source)
    positions = locate_all(columns, None, values.shape[1])
    table = Table(values if positions is None else np.ascontiguousarray(values[:, positions]), None, None)
    check_finite(table, source)
    return table
