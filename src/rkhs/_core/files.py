"""Files that are either the old one or the new one, never half of one; and the container of model files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, ModelFileError

__all__ = ["Container", "atomic_path", "check_writable", "pack", "read_container", "unpack", "write_container"]

_MAX_HEADER = 2**20
_STALE_SECONDS = 60.0
_SHOWN = 40  # letters of a name that stand in that of its temporary file, which may not be too long
_KEY = "rkhs"
_FIRST_LINE = re.compile(r"rkhs-model (\d{1,4})\.(\d{1,4}) ([0-9a-f]{64})")


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and move it onto `path` when the block ends without an error.

    What a killed process left behind for the same file is removed first.

    Parameters
    ----------
    path : str or path
        The file to write. A symbolic link is followed, so the link stays and its target changes.

    Yields
    ------
    pathlib.Path
        An empty file with the same extension; the block writes it and closes it. In the end it has the permissions of
        the file that it replaces, and of a new file (``umask``) if there was none.

    Raises
    ------
    InputError
        As :func:`check_writable`, and if writing fails: the old file then stays as it was.
    """
    target, old = _target(path)
    _sweep(target)
    try:
        temporary = _create(target, old)
        try:
            yield temporary
            with open(temporary, "rb+") as handle:
                handle.flush()
                os.fsync(handle.fileno())
            if old is not None:
                _keep_access(temporary, old)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that :func:`atomic_path` could not write, without touching what is there.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If `path` is a folder, a device, a pipe or write-protected, or its folder is missing or not open to writing.
    """
    target, old = _target(path)
    try:
        _create(target, old).unlink()
    except OSError as error:
        raise _cannot_write(path, error) from error


def _target(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file behind the links, and what is there now; what is no file, or protected, is refused."""
    shown = os.fspath(path)
    advice = f"expected the name of a file to write; got {shown!r}"
    if not shown or "\0" in shown or shown.endswith(("/", os.sep)):
        raise InputError(f"{advice}, which is none; give a file name")
    try:
        old = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        old = None
    except OSError as error:
        raise _cannot_write(path, error) from error
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise InputError(f"expected the name of a file to write; got the folder {shown!r}; add a file name")
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise InputError(f"{advice}, which is a device, a pipe or a socket; give the name of a file")
    if old is not None and not old.st_mode & 0o222:
        raise InputError(f"{advice}, which is protected against writing; choose another name, or chmod u+w it")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(
            f"expected a file in an existing folder; got {shown!r}, whose folder does not exist; "
            f"create {os.fspath(target.parent)!r} first"
        )
    return target, old


def _cannot_write(path: str | os.PathLike[str], error: OSError) -> InputError:
    return InputError(
        f"cannot write {os.fspath(path)!r} ({error.strerror or error}); choose a folder that exists, that you may "
        "write to, and with room for the file"
    )


def _create(target: Path, old: os.stat_result | None) -> Path:
    """An empty file beside the target; one that takes the place of another is private until it has its permissions."""
    # The process number keeps two writers apart and lets leftovers of a killed process be recognised.
    name = f".{target.stem[:_SHOWN]}.{os.getpid()}.{os.urandom(4).hex()}.tmp{target.suffix}"
    temporary = target.with_name(name)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if old is None else 0o600))
    return temporary


def _keep_access(temporary: Path, old: os.stat_result) -> None:
    """Owner, where that is allowed, and permissions of the file that is replaced."""
    new = os.stat(temporary)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode) & 0o777)


def _sweep(target: Path) -> None:
    """Remove temporary files of this target whose process is gone; a minute's grace, for writers on other hosts."""
    if os.name == "nt":  # asking after a process by signal 0 would end it there
        return
    stem, suffix = re.escape(target.stem[:_SHOWN]), re.escape(target.suffix)
    pattern = re.compile(rf"\.{stem}\.(\d+)\.[0-9a-f]{{8}}\.tmp{suffix}")
    try:
        found = [(entry, pattern.fullmatch(entry.name)) for entry in target.parent.iterdir()]
    except OSError:  # a folder that may be written to but not listed
        return
    for entry, match in found:
        if match is None or _is_running(int(match.group(1))):
            continue
        try:
            if time.time() - entry.stat().st_mtime > _STALE_SECONDS:
                entry.unlink()
        except OSError:  # another process swept it first
            continue


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _sync_folder(folder: Path) -> None:
    # The new name itself is only on disk once the folder is. Windows cannot open folders and needs no such call.
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not read
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, eq=False)
class Container:
    """What a model file holds.

    Parameters
    ----------
    content : dict
        JSON types.
    arrays : dict of str to ndarray
        The arrays that the content names.
    version : tuple of int
        Major and minor version of the format.
    checksum : str
        SHA-256 over content and arrays, 64 hexadecimal digits.
    """

    content: dict[str, Any]
    arrays: dict[str, np.ndarray]
    version: tuple[int, int]
    checksum: str


def _digest(version: str, text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over all that has a meaning; each part is preceded by its length, so that none can borrow bytes."""
    total = hashlib.sha256()

    def add(part: bytes | memoryview) -> None:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)

    add(version.encode())
    add(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        add(f"{name} {array.dtype.str} {array.shape}".encode())
        add(array.tobytes() if array.size == 0 else array.data.cast("B"))
    return total.hexdigest()


def pack(content: dict[str, Any], arrays: Mapping[str, np.ndarray], version: tuple[int, int]) -> bytes:
    """Put JSON and arrays into the bytes of one safetensors file, and read them back once.

    Parameters
    ----------
    content : dict
        JSON types.
    arrays : mapping of str to array
        None of them 0-d.
    version : tuple of int
        Of the format.

    Returns
    -------
    bytes
        The same for the same arguments.

    Raises
    ------
    InputError
        If the header would exceed 1 MiB, or an array has a dtype that cannot be stored.
    """
    import safetensors.numpy

    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    number = f"{version[0]}.{version[1]}"
    # safetensors writes the memory of an array as it lies: without this, other orders would be stored transposed.
    table = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    checksum = _digest(number, text, table)
    data = safetensors.numpy.save(table, metadata={_KEY: f"rkhs-model {number} {checksum}\n{text}"})
    size = int.from_bytes(data[:8], "little")
    if size > _MAX_HEADER:
        raise InputError(
            f"the description of the model takes {size / 2**20:.1f} MiB, more than the 1 MiB that a model file may use "
            "beside its arrays; store the items as texts or arrays, or fit on the Gram matrix with kernel='precomputed'"
        )
    unpack(data, "the file just written", version)
    return data


def unpack(data: bytes, source: str, version: tuple[int, int]) -> Container:
    """Read what :func:`pack` made, the checksum before anything else.

    Parameters
    ----------
    data : bytes
    source : str
        Where they come from, for messages.
    version : tuple of int
        Of the format that this library reads: any later minor version is read too, a later major one is refused.

    Returns
    -------
    Container

    Raises
    ------
    ModelFileError
        If anything is damaged, or the format is of a later major version.
    """
    import safetensors.numpy

    try:
        text = _header_text(data, source)
        first, _, body = text.partition("\n")
        match = _FIRST_LINE.fullmatch(first)
        if match is None:
            raise ModelFileError(
                f"{source}: expected a model file of rkhs; got a safetensors file without a model in it"
            )
        major, minor, checksum = int(match.group(1)), int(match.group(2)), match.group(3)
        if major > version[0]:
            raise ModelFileError(
                f"{source}: the model file has format {major}.{minor}; this version of rkhs reads formats up to "
                f"{version[0]}.x. Install a later version: pip install --upgrade rkhs"
            )
        arrays = {name: np.array(array, order="C", copy=True) for name, array in safetensors.numpy.load(data).items()}
        if _digest(f"{major}.{minor}", body, arrays) != checksum:
            raise ModelFileError(
                f"{source}: the checksum does not fit the content: the file was changed or damaged after it was "
                "written; get it again from where it came from"
            )
        content = json.loads(body, object_pairs_hook=_unique)
    except ModelFileError:
        raise
    except Exception as error:  # parsers of damaged bytes raise all kinds; users meet one
        raise ModelFileError(f"{source}: the model file is damaged ({error}); get or write it again") from error
    if not isinstance(content, dict):
        raise ModelFileError(f"{source}: the model file is damaged: its description is not an object")
    return Container(content, arrays, (major, minor), checksum)


def _header_text(data: bytes, source: str) -> str:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 10 or data[8:9] != b"{":
        raise ModelFileError(f"{source}: expected a model file of rkhs; got {_kind_of(data)}")
    if size > _MAX_HEADER:
        raise ModelFileError(f"{source}: expected a header of at most 1 MiB; got one of {size} bytes: damaged")
    if len(data) < 8 + size:
        raise ModelFileError(
            f"{source}: the model file is cut off: {len(data)} bytes of at least {8 + size}; copy it again"
        )
    header = json.loads(data[8 : 8 + size], object_pairs_hook=_unique)
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or list(metadata) != [_KEY] or not isinstance(metadata[_KEY], str):
        raise ModelFileError(f"{source}: expected a model file of rkhs; got a safetensors file without a model in it")
    return metadata[_KEY]


def _kind_of(data: bytes) -> str:
    if not data:
        return "an empty file"
    if data[:1] == b"\x80":
        return "a pickle file, which is never loaded because it can run code"
    if data[:2] == b"PK":
        return "a zip archive (perhaps of torch, NumPy or skops)"
    return "a file of another kind"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ModelFileError("the model file is damaged: a name stands twice in its header")
    return table


def write_container(
    path: str | os.PathLike[str], content: dict[str, Any], arrays: Mapping[str, np.ndarray], version: tuple[int, int]
) -> None:
    """Write a model file: complete, or the old one stays.

    Parameters
    ----------
    path : str or path
    content : dict
    arrays : mapping of str to array
    version : tuple of int

    Raises
    ------
    InputError
        If the file cannot be written there.
    """
    data = pack(content, arrays, version)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def read_container(path: str | os.PathLike[str], version: tuple[int, int]) -> Container:
    """Read a model file; see :func:`unpack`.

    Parameters
    ----------
    path : str or path
    version : tuple of int

    Returns
    -------
    Container

    Raises
    ------
    ModelFileError
        Also if there is no such file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"cannot read the model file {os.fspath(path)!r} ({error.strerror or error}); check folder and spelling"
        ) from error
    return unpack(data, os.fspath(path), version)
