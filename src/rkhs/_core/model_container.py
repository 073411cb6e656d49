"""The container of model files: JSON and arrays in one safetensors file, checked before objects are built."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from rkhs._core.errors import InputError, ModelFileError
from rkhs._core.files import atomic_file, open_regular
from rkhs._core.memory import readable

FORMAT = (2, 0)
"""Of model files: major and minor version."""

LARGEST = 2**30
"""Largest size of a model file in bytes, unless the caller allows more."""

_MAX_HEADER = 2**20
_MAX_AXES = 32
_PIECE = 2**20
_KEY = "rkhs"
_FIRST_LINE = re.compile(r"rkhs-model (\d{1,4})\.(\d{1,4}) ([0-9a-f]{64})")
_DTYPES = {
    name: np.dtype(dtype)
    for name, dtype in {
        **{"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32"},
        **{"I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32", "F64": "float64"},
    }.items()
}


@dataclass(frozen=True, eq=False)
class Container:
    """What a model file holds."""

    content: dict[str, Any]  # JSON types
    arrays: dict[str, np.ndarray]  # the arrays that the content names
    version: tuple[int, int]  # major and minor version of the format
    checksum: str  # SHA-256 over content and arrays, 64 hexadecimal digits
    n_bytes: int  # size of the file


@dataclass(frozen=True)
class _Place:
    """Where an array stands in the file."""

    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    n_bytes: int


def _pieces(handle: BinaryIO, start: int, n_bytes: int) -> Iterator[bytes]:
    handle.seek(start)
    while n_bytes:
        piece = handle.read(min(_PIECE, n_bytes))
        if not piece:
            raise ModelFileError("it became shorter while it was read")
        n_bytes -= len(piece)
        yield piece


def _digest(
    version: str,
    text: str,
    places: Mapping[str, _Place],
    content_of: Callable[[str], Iterable[bytes | memoryview]],
) -> str:
    """SHA-256 of version, text and arrays; each part is preceded by its length, so that parts cannot shift."""
    total = hashlib.sha256()

    def add(n_bytes: int, pieces: Iterable[bytes | memoryview]) -> None:
        total.update(n_bytes.to_bytes(8, "little"))
        for piece in pieces:
            total.update(piece)

    for head in (version.encode(), text.encode()):
        add(len(head), [head])
    for name, place in sorted(places.items(), key=lambda item: item[0]):
        head = f"{name} {place.dtype.str} {place.shape}".encode()
        add(len(head), [head])
        add(place.n_bytes, content_of(name))
    return total.hexdigest()


def _sha256(pieces: Iterable[bytes | memoryview]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def pack(content: dict[str, Any], arrays: Mapping[str, np.ndarray], version: tuple[int, int]) -> bytes:
    """Put JSON and arrays into the bytes of one safetensors file, and read them back once."""
    import safetensors.numpy

    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    number = f"{version[0]}.{version[1]}"
    # safetensors writes the memory of an array as it lies: without this, other orders would be stored transposed.
    table = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in table.items():
        if array.dtype not in _DTYPES.values():
            raise InputError(f"a model file holds arrays of real numbers and of bool; got dtype {array.dtype} ({name})")
    places = {name: _Place(array.dtype, array.shape, 0, array.nbytes) for name, array in table.items()}
    checksum = _digest(number, text, places, lambda name: _bytes_of(table[name]))
    data = safetensors.numpy.save(table, metadata={_KEY: f"rkhs-model {number} {checksum}\n{text}"})
    size = int.from_bytes(data[:8], "little")
    if size > _MAX_HEADER:
        raise InputError(
            f"the description of the model takes {size / 2**20:.1f} MiB, more than the 1 MiB that a model file may use "
            "next to its arrays; store items as texts or arrays, or fit on the Gram matrix with kernel='precomputed'"
        )
    unpack(data, "the file just written", version)
    return data


def unpack(data: bytes, source: str, version: tuple[int, int]) -> Container:
    """Read what :func:`pack` made; see :func:`read_container`."""
    return _read(io.BytesIO(data), len(data), source, version)


def _read(handle: BinaryIO, size: int, source: str, version: tuple[int, int], digest: str | None = None) -> Container:
    """Header, places, checksum, and only then arrays: a wrong file takes no memory."""
    # What was read is checked at the end: another process may write to the file, and checksums must be the model's.
    try:
        head, first, body, places = _header(handle, size)
        match = _FIRST_LINE.fullmatch(first)
        if match is None:
            raise ModelFileError("expected a model file of rkhs; got a safetensors file without a model in it")
        major, minor, checksum = int(match.group(1)), int(match.group(2)), match.group(3)
        if major != version[0]:
            raise ModelFileError(
                f"the model file has format {major}.{minor}; this version of rkhs reads format {version[0]}.x. Install "
                "the version that wrote it"
            )
        found = _digest(
            f"{major}.{minor}", body, places, lambda name: _pieces(handle, places[name].start, places[name].n_bytes)
        )
        if found != checksum:
            raise ModelFileError(
                "the checksum does not fit the content: the file was changed or damaged after it was written; get it "
                "again from where it came from"
            )
        content = json.loads(body, object_pairs_hook=_unique)
        if not isinstance(content, dict):
            raise ModelFileError("the model file is damaged: its description is not an object")
        arrays = {name: _array(handle, place) for name, place in places.items()}
        known = found == _digest(f"{major}.{minor}", body, places, lambda name: _bytes_of(arrays[name]))
        if digest is not None:  # places are in the order of the file
            known &= digest == _sha256(itertools.chain([head], *map(_bytes_of, arrays.values())))
        if not known:
            raise ModelFileError("the file was changed while it was read; read it again")
        return Container(content, arrays, (major, minor), checksum, size)
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except Exception as error:  # parsers of damaged bytes raise all kinds; users meet one
        raise ModelFileError(f"{source}: the model file is damaged ({error}); get or write it again") from error


def _header(handle: BinaryIO, file_size: int) -> tuple[bytes, str, str, dict[str, _Place]]:
    """Bytes of the header, first line, JSON text, and places of the arrays."""
    handle.seek(0)
    start = handle.read(10)
    size = int.from_bytes(start[:8], "little")
    if len(start) < 10 or start[8:9] != b"{":
        raise ModelFileError(f"expected a model file of rkhs; got {_kind_of(start)}")
    if size > _MAX_HEADER:
        raise ModelFileError(f"expected a header of at most 1 MiB; got one of {size} bytes: damaged")
    if file_size < 8 + size:
        raise ModelFileError(f"the model file is cut off: {file_size} bytes of at least {8 + size}; copy it again")
    # Decoded here: of bytes, json would guess another encoding by their zeros, and import what reads it.
    text = b"".join(_pieces(handle, 8, size))
    header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or list(metadata) != [_KEY] or not isinstance(metadata[_KEY], str):
        raise ModelFileError("expected a model file of rkhs; got a safetensors file without a model in it")
    places, end = {}, 8 + size
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        places[name] = _place(name, entry, 8 + size, end)
        end += places[name].n_bytes
    if end != file_size:
        raise ModelFileError(
            f"the model file is damaged: it has {file_size} bytes, and its header speaks of {end}; copy it again"
        )
    first, _, body = metadata[_KEY].partition("\n")
    return start[:8] + text, first, body, places


def _place(name: str, entry: dict[str, Any], base: int, expected_start: int) -> _Place:
    """One array of the header: it must begin where the previous one ends, with the bytes of its shape."""
    dtype, shape, offsets = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    if len(shape) > _MAX_AXES or any(type(number) is not int or number < 0 for number in (*shape, *offsets)):
        raise ModelFileError(f"the model file is damaged: shape or place of {name}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if offsets != [expected_start - base, expected_start - base + n_bytes]:
        raise ModelFileError(f"the model file is damaged: {name} has not the place that its shape asks for")
    return _Place(dtype, tuple(shape), expected_start, n_bytes)


def _bytes_of(array: np.ndarray) -> list[memoryview]:
    return [array.data.cast("B")] if array.size else []


def _array(handle: BinaryIO, place: _Place) -> np.ndarray:
    array = np.empty(place.shape, dtype=place.dtype)
    if array.size:
        flat, done = array.data.cast("B"), 0
        for piece in _pieces(handle, place.start, place.n_bytes):
            flat[done : done + len(piece)] = piece
            done += len(piece)
    if place.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError("the model file is damaged: a truth value is neither 0 nor 1")
    return array


def _kind_of(start: bytes) -> str:
    if not start:
        return "an empty file"
    if start[:1] == b"\x80":
        return "a pickle file, which is never loaded because it can run code"
    return "a zip archive (perhaps of torch, NumPy or skops)" if start[:2] == b"PK" else "a file of another kind"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ModelFileError("the model file is damaged: a name occurs twice in its header")
    return table


def write_container(
    path: str | os.PathLike[str], content: dict[str, Any], arrays: Mapping[str, np.ndarray], version: tuple[int, int]
) -> None:
    """Write a model file: complete, or the old one stays."""
    data = pack(content, arrays, version)
    with atomic_file(path) as handle:
        handle.write(data)


def file_sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of the bytes of a regular file, as ``sha256sum`` prints it."""
    with open_regular(path) as handle:
        return _sha256(_pieces(handle, 0, os.fstat(handle.fileno()).st_size))


def read_container(
    path: str | os.PathLike[str],
    version: tuple[int, int],
    max_bytes: int | None,
    expected_sha256: str | None = None,
) -> Container:
    """Read a model file: its size first, then its header, then its checksum, then the rest."""
    largest, digest = _limits(max_bytes, expected_sha256)
    try:
        source = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path must be a text or a path; got {path!r}") from None
    try:
        with open_regular(path) as handle:
            before = os.fstat(handle.fileno())
            size = before.st_size
            if size > largest:
                raise ModelFileError(
                    f"{source}: the file has {readable(size)}, more than the {readable(largest)} that it may have; "
                    f"if you trust it, pass a larger max_bytes"
                )
            found = None if digest is None else _sha256(_pieces(handle, 0, size))
            if found != digest:
                raise ModelFileError(
                    f"{source}: expected a file with SHA-256 {digest}; got {found}: it is another file, or it "
                    "was changed; get it again from where the number came from"
                )
            container = _read(handle, size, source, version, digest)
            after = os.fstat(handle.fileno())
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise ModelFileError(f"{source}: the file was changed while it was read; read it again")
            return container
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:  # a ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot read the model file {source!r} ({reason}); check folder and spelling") from error


def _limits(max_bytes: int | None, expected_sha256: str | None) -> tuple[int, str | None]:
    """The largest size and the SHA-256 in small letters, or None; what is no number of bytes or digits is refused."""
    whole = isinstance(max_bytes, (int, np.integer)) and not isinstance(max_bytes, bool)
    if max_bytes is not None and not (whole and max_bytes > 0):
        raise InputError(f"max_bytes must be a positive integer, or None; got {max_bytes!r}")
    if expected_sha256 is not None and not (
        isinstance(expected_sha256, str) and re.fullmatch("[0-9a-fA-F]{64}", expected_sha256)
    ):
        raise InputError(f"expected_sha256 must be 64 hexadecimal digits, or None; got {expected_sha256!r}")
    return LARGEST if max_bytes is None else max_bytes, expected_sha256 and expected_sha256.lower()
