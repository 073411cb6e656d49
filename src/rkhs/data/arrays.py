"""Tables stored as NumPy arrays: npy and npz. Pickled content is never executed."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from rkhs._core.errors import InputError, quote
from rkhs._core.files import UNREADABLE, old_headers
from rkhs._core.memory import Estimate, available_bytes, check_memory, readable
from rkhs.data.dataset import as_numbers, check_finite, check_size, existing_path, listed

OF_SPARSE = {"data", "format", "shape"}  # what scipy.sparse.save_npz writes


def _check_arrays(path: Path, names: Sequence[str] | None = None) -> None:
    """Compare what the headers of a npy or npz file declare with the file and with the memory, before it is read."""
    found = []
    try:
        with path.open("rb") as handle, old_headers():
            if names is None:
                found.append(_declared(handle, path.stat().st_size))
            else:
                with zipfile.ZipFile(handle) as archive:
                    for entry in archive.infolist():
                        if entry.filename.removesuffix(".npy") in names:
                            with archive.open(entry) as member:
                                found.append(_declared(member, entry.file_size))
    except UNREADABLE:
        return
    short = next((lacks for _, lacks in found if lacks is not None), None)
    total = sum(size for size, _ in found)
    if short is not None:
        raise InputError(
            f"{path}: expected an array of {readable(short[0])}, as its header says; got {readable(short[1])}; the "
            "file is cut off or damaged: copy or write it again"
        )
    if total > available_bytes():
        raise InputError(
            f"{path}: expected arrays that fit into memory; got {readable(total)}, with {readable(available_bytes())} "
            "there; read the file block by block (a stream or a memory map), or take fewer rows"
        )


def _declared(file: IO[bytes], size: int) -> tuple[int, tuple[int, int] | None]:
    """Bytes that the header of an array declares; these and those that are there, if these are fewer."""
    shape, dtype = _header(file)
    wanted, there = math.prod(shape) * dtype.itemsize, size - file.seek(0, os.SEEK_CUR)
    return wanted, (wanted, there) if wanted > there and not dtype.hasobject else None


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array, as its header says."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def load_arrays(path: Path, choose: Callable[[list[str]], list[str]] = list) -> dict[str, np.ndarray]:
    """Arrays of a npz file, those whose names are chosen, or the array of a npy file under an empty name."""
    try:
        # Opened here, because NumPy leaves its own handle open on some damaged files.
        with path.open("rb") as handle, old_headers():
            if zipfile.is_zipfile(handle):
                handle.seek(0)
                with np.load(handle, allow_pickle=False) as archive:
                    names = choose(list(archive.files))
                    _check_arrays(path, names)
                    return {name: archive[name] for name in names}
            _check_arrays(path)
            handle.seek(0)
            return {"": np.load(handle, allow_pickle=False)}
    except InputError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def load_npy(path: str | Path) -> np.ndarray:
    """The array of an npy file, of any shape."""
    return load_arrays(existing_path(path))[""]


def read_array(path: Path, key: str | None = None, *, square: bool = False, finite: bool = True) -> np.ndarray:
    """Read the matrix of an npy file, one of an npz file, or the matrix that scipy.sparse wrote."""
    source = str(path)
    if path.suffix.lower() == ".npy":
        array = load_npy(path)
    elif key is None and array_names(path) >= OF_SPARSE:
        array = _dense(path)
    else:
        ((name, array),) = load_arrays(path, lambda names: [choose_array(path, names, key)]).items()
        source = f"{path}[{name!r}]"
    values = _squared(as_numbers(array, source)) if square else as_numbers(array, source)
    check_size(values, source)
    if finite:
        check_finite(values, source)
    return values


def _squared(values: np.ndarray) -> np.ndarray:
    """The matrix of distances that pdist of SciPy gives as one row, each pair once; other arrays as they are."""
    from scipy.spatial.distance import is_valid_y, squareform

    return squareform(values) if values.ndim == 1 and is_valid_y(values) else values


def _dense(path: Path) -> np.ndarray:
    """The matrix of scipy.sparse in a file, with its zeros."""
    from scipy.sparse import load_npz

    try:
        matrix = load_npz(path)
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    size = math.prod(matrix.shape) * matrix.dtype.itemsize
    check_memory(Estimate("the matrix with its zeros", size, f"shape {matrix.shape}"), "Pass the sparse matrix to fit.")
    return matrix.toarray()


def array_names(path: Path) -> set[str]:
    """Names of the arrays of a npz file; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except UNREADABLE:
        return set()


def array_types(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of each array of a npz file, by its header; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive, old_headers():
            return {name.removesuffix(".npy"): _header(archive.open(name)) for name in archive.namelist()}
    except UNREADABLE:
        return {}


def choose_array(path: Path, names: list[str], key: str | None) -> str:
    """The name of the array that is asked for, or of the only one."""
    if key is not None:
        if isinstance(key, str) and key in names:
            return key
        raise InputError(
            f"{path}: key must name an array of the file; got {key!r}; the arrays are "
            f"{listed(list(map(quote, names)), 10)}"
        )
    if len(names) == 1:
        return names[0]
    curves = ", kind='curves' if they are curves and their times" if {"t", "times"} & set(names) else ""
    raise InputError(
        f"{path}: expected a file with one array, or one named with --read key=NAME{curves}; got "
        f"{len(names)} arrays and no key; the arrays are {listed(list(map(quote, names)), 10) or 'none'}"
    )


def _unreadable(path: Path, error: Exception) -> InputError:
    if "allow_pickle" in str(error):
        return InputError(
            f"{path}: expected an array of numbers; got Python objects, which would have to be unpickled and so "
            "could run code; save it again as an array of numbers, for example array.astype(float)"
        )
    return InputError(
        f"{path}: expected a complete {path.suffix[1:]} file written by NumPy; got one that cannot be read ({error}); "
        "write it again"
    )
