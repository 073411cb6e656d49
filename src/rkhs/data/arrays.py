"""Tables stored as NumPy arrays: npy and npz. Pickled content is never executed."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from rkhs._core.errors import InputError, quote
from rkhs._core.files import UNREADABLE, old_headers
from rkhs._core.memory import available_bytes, readable
from rkhs.data.dataset import as_numbers, check_finite, check_size, existing_path, listed


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array, as its header says."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _check_header(path: Path, file: IO[bytes], size: int) -> None:
    """Compare what the header of an array declares with the bytes that are there and with the memory."""
    shape, dtype = _header(file)
    wanted, there = math.prod(shape) * dtype.itemsize, size - file.seek(0, os.SEEK_CUR)
    if wanted > there and not dtype.hasobject:
        raise InputError(
            f"{path}: expected an array of {readable(wanted)}, as its header says; got {readable(there)}; the file is "
            "cut off or damaged: copy or write it again"
        )
    if wanted > available_bytes():
        raise InputError(
            f"{path}: expected arrays that fit into memory; got {readable(wanted)}, with {readable(available_bytes())} "
            "there; read the file block by block (a stream or a memory map), or take fewer rows"
        )


def load_arrays(path: Path, choose: Callable[[list[str]], list[str]] = list) -> dict[str, np.ndarray]:
    """Arrays of a npz file, those whose names are chosen, or the array of a npy file under an empty name."""
    try:
        # Opened here, because NumPy leaves its own handle open on some damaged files.
        with path.open("rb") as handle, old_headers():
            if not zipfile.is_zipfile(handle):
                handle.seek(0)
                _check_header(path, handle, path.stat().st_size)
                handle.seek(0)
                return {"": np.load(handle, allow_pickle=False)}
            handle.seek(0)
            with np.load(handle, allow_pickle=False) as archive:
                names = choose(list(archive.files))
                for name in names:
                    entry = archive.zip.getinfo(f"{name}.npy")
                    with archive.zip.open(entry) as member:
                        _check_header(path, member, entry.file_size)
                return {name: archive[name] for name in names}
    except InputError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def load_npy(path: str | Path) -> np.ndarray:
    """The array of an npy file, of any shape."""
    return load_arrays(existing_path(path))[""]


def read_array(path: Path, key: str | None = None, *, finite: bool = True) -> np.ndarray:
    """Read the matrix of an npy file, or one of an npz file."""
    source = str(path)
    if path.suffix.lower() == ".npy":
        array = load_npy(path)
    else:
        ((name, array),) = load_arrays(path, lambda names: [choose_array(path, names, key)]).items()
        source = f"{path}[{name!r}]"
    values = as_numbers(array, source)
    check_size(values, source)
    if finite:
        check_finite(values, source)
    return values


def array_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shape of each array of a npz file, by its header; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive, old_headers():
            return {name.removesuffix(".npy"): _header(archive.open(name))[0] for name in archive.namelist()}
    except UNREADABLE:
        return {}


def choose_array(path: Path, names: list[str], key: str | None) -> str:
    """The name of the array that is asked for, or of the only one."""
    if key is None and len(names) == 1:
        return names[0]
    if isinstance(key, str) and key in names:
        return key
    raise InputError(
        f"{path}: expected one array, or the name of one with --read key=NAME; got {quote(key)} and the arrays "
        f"{listed(list(map(quote, names)), 10) or 'none'}"
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
