"""Atomic writes: a file is either the old or the new one, never a part."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import shlex
import stat
import time
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from rkhs._core.errors import InputError, filtering_warnings

_STALE_SECONDS = 60.0
_MAX_STEM = 40  # characters of a name in the name of its temporary file, which may not be too long


# What NumPy raises on damaged files. It splits headers as Python code, so errors of Python's own parser are among them.
UNREADABLE = (
    *(ValueError, EOFError, OSError, KeyError, OverflowError, RuntimeError),
    *(SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


@contextmanager
def old_headers() -> Iterator[None]:
    """Read arrays whose headers Python 2 wrote without a word from NumPy: the numbers are the same."""
    with filtering_warnings("ignore", UserWarning, "Reading `.npy` or `.npz` file required"):
        yield


def as_path(path: object, name: str = "path") -> Path:
    """Return the name of a file or folder as a path, else raise :class:`InputError`."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise InputError(f"`{name}` must be a file name; got {type(path).__name__}; give arrays to the estimator")
    return Path(path)


def shell_word(path: str) -> str:
    """A file name as a line for the shell takes it, whatever is in it."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)  # else it reads as an option


def text_encoding(encoding: object) -> str:
    """Return the encoding of a text file, for UTF-8 the one that takes a mark of the byte order away."""
    try:
        known = codecs.lookup(encoding).name if isinstance(encoding, str) else None
    except (LookupError, ValueError):
        known = None
    if known is None:
        raise InputError(f"`encoding` must be one that Python knows; got {encoding!r}; try 'utf-8' or 'latin-1'")
    return "utf-8-sig" if known == "utf-8" else known


UNFINISHED: set[Path] = set()
"""Temporary files that are being written."""


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and move it onto `path` when the block has written and synced it."""
    target, old = _target(path)
    _remove_stale(target)
    try:
        temporary = _create(target, old)
        UNFINISHED.add(temporary)
        try:
            yield temporary
            if old is not None:
                _keep_access(temporary, old)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
            UNFINISHED.discard(temporary)
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error


class _Counted(io.BufferedWriter):
    """A file to write that knows how many bytes it must have in the end."""

    size = 0

    def write(self, data: Any) -> int:
        """Write bytes; a disk without space for them raises, here or in the end."""
        count = super().write(data)
        self.size = max(self.size, self.seek(0, os.SEEK_CUR))
        return count


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield an open file that takes the place of `path` once all its bytes are on the disk; else the old one stays."""
    with atomic_path(path) as temporary, _Counted(io.FileIO(temporary, "w")) as handle:
        yield handle
        handle.flush()
        os.fsync(handle.fileno())
        if (found := os.fstat(handle.fileno()).st_size) != handle.size:
            raise OSError(errno.EIO, f"{found} of {handle.size} bytes are on the disk")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that :func:`atomic_path` could not write, without changing what is there."""
    target, old = _target(path)
    try:
        _create(target, old).unlink()
    except OSError as error:
        raise _cannot_write(path, error) from error


def check_readable(path: str | os.PathLike[str]) -> None:
    """Refuse what would be read for ever, or not at all: devices, pipes, and files that are closed to this user."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise InputError(
            f"expected a file to read; got {os.fspath(path)!r}, which is {_kind(found)}; copy what it gives into a "
            "file first"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"expected a file to read; got {os.fspath(path)!r}, which you may not read; chmod u+r it")


def _target(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file behind the links, and what is there now; what is no file, or protected, is refused."""
    filename = os.fspath(path)
    advice = f"expected the name of a file to write; got {filename!r}"
    if not filename or "\0" in filename or filename.endswith(("/", os.sep)):
        raise InputError(f"{advice}, which is none; give a file name")
    try:
        old = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        old = None
    except OSError as error:
        raise _cannot_write(path, error) from error
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise InputError(f"expected the name of a file to write; got the folder {filename!r}; add a file name")
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise InputError(f"{advice}, which is {_kind(old)}; give the name of a file")
    if old is not None and not old.st_mode & 0o222:
        raise InputError(f"{advice}, which is protected against writing; choose another name, or chmod u+w it")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(
            f"expected a file in an existing folder; got {filename!r}, whose folder does not exist; "
            f"create {os.fspath(target.parent)!r} first"
        )
    return target, old


def _cannot_write(path: str | os.PathLike[str], error: OSError) -> InputError:
    return InputError(
        f"cannot write {os.fspath(path)!r} ({error.strerror or error}); choose a folder that exists, that you may "
        "write to, and with space for the file"
    )


def _create(target: Path, old: os.stat_result | None) -> Path:
    """An empty file next to the target; one that takes the place of another is private until it has its permissions."""
    # The process number keeps two writers apart and lets leftovers of a killed process be recognised.
    name = f".{target.stem[:_MAX_STEM]}.{os.getpid()}.{os.urandom(4).hex()}.tmp{target.suffix}"
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


def _remove_stale(target: Path) -> None:
    """Remove temporary files of this target whose process is gone; a minute's grace, for writers on other hosts."""
    if os.name == "nt":  # asking after a process by signal 0 would end it there
        return
    stem, suffix = re.escape(target.stem[:_MAX_STEM]), re.escape(target.suffix)
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


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read it; a pipe is refused without waiting, a device without opening it."""
    _refuse_special(os.stat(path))
    names = ("O_RDONLY", "O_NONBLOCK", "O_NOCTTY", "O_BINARY")  # each where the system has it
    handle = os.open(path, sum(getattr(os, name, 0) for name in names))
    try:
        _refuse_special(os.fstat(handle))  # it may have been exchanged in between
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _refuse_special(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"expected a regular file; it is {_kind(found)}")


def _kind(found: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
