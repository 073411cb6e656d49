"""Journals: records appended to a file, each with its checksum, from which a run that was cut off goes on."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rkhs._core.containers import pack, unpack
from rkhs._core.errors import CheckpointError, ModelFileError

_VERSION = (1, 0)
_HEAD = struct.Struct("<8sQ32s")  # mark, number of bytes, SHA-256 of them
_MARK = b"rkhs-rec"
_MAX_TASK = 2**20 + 8  # bytes of the first record, which names the task: until it is read, nothing is known of the file


def fingerprint(*parts: Any) -> str:
    """SHA-256 of JSON values, arrays and texts: what must be equal for a run to go on.

    Parameters
    ----------
    *parts : JSON values or arrays

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from rkhs.engines import fingerprint
    >>> fingerprint({"reg": 0.1}, "x")[:8]
    '066f7be1'
    """
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole = np.ascontiguousarray(part)
            total.update(f"array {whole.dtype.str} {whole.shape} ".encode())
            total.update(whole.tobytes())
        else:
            text = json.dumps(part, sort_keys=True, default=repr)
            total.update(f"json {len(text)} {text}".encode())
    return total.hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """Name of a checkpoint whose owner deletes it: a fit leaves it where it is, also when it ended well.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> from rkhs.engines import Checkpoint
    >>> Checkpoint("fit.journal").exists()
    False
    """

    path: str | os.PathLike[str]

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def check(self) -> None:
        """Make sure that the path can hold a checkpoint, without changing what is there.

        Raises
        ------
        CheckpointError
            If something stands there that no fit of this library wrote: it is never written to and never deleted.
        """
        place = Path(self.path)
        if place.exists() and not place.is_file():
            raise CheckpointError(f"a checkpoint is a file; got {str(place)!r}, which is none; name another")
        try:
            with open(place, "rb") as file:
                start = file.read(_HEAD.size)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _no_access(place, error) from None
        # The size in the first record tells it from a text that begins with the same word.
        ours = start[: len(_MARK)] == _MARK[: len(start)] and (len(start) < 16 or start[14:16] == b"\0\0")
        if not ours:
            raise CheckpointError(
                f"a checkpoint begins with {_MARK.decode()!r}; got {str(place)!r}, which holds something else and is "
                "left as it is; name another file"
            )

    def exists(self) -> bool:
        """Whether there is such a file."""
        return Path(self.path).exists()

    def remove(self) -> None:
        """Delete the file, if it is a checkpoint.

        Raises
        ------
        CheckpointError
            As for :meth:`check`.
        """
        self.check()
        Path(os.path.realpath(self.path)).unlink(missing_ok=True)


def _no_access(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"cannot write the checkpoint {str(path)!r} ({error.strerror}); name a file in a folder that exists and that "
        "you may write to"
    )


class Journal:
    """A file of records that only grows; a record that a crash cut short is dropped, those before it stay.

    Parameters
    ----------
    path : str or path
        Made if it is not there.
    task : str
        Fingerprint of data, parameters and version: a journal of another task is refused.
    interval : float, default=30.0
        Seconds between two records of a sum.

    Raises
    ------
    CheckpointError
        If the file belongs to another task, is no journal (it is then left as it is), or cannot be written.

    Notes
    -----
    Every record is on disk (``fsync``) before :meth:`add` returns. A journal belongs to one process at a time.
    """

    def __init__(self, path: str | os.PathLike[str], task: str, interval: float = 30.0) -> None:
        self._path, self._task, self._interval = Path(os.path.realpath(path)), task, interval
        self._places: dict[str, tuple[int, int]] = {}
        self._file = self._open()
        try:
            self._read_places()
        except BaseException:
            self._file.close()
            raise
        self._written = time.monotonic()

    def _open(self) -> BinaryIO:
        Checkpoint(self._path).check()
        try:
            return open(self._path, "r+b" if self._path.exists() else "x+b")
        except OSError as error:
            raise _no_access(self._path, error) from None

    def _read_places(self) -> None:
        """Find the last record of every stage, and cut off what a crash left behind."""
        end, first = 0, True
        for start, data in self._records():
            content, _ = self._unpack(data)
            if first and content.get("task") != self._task:
                raise CheckpointError(
                    f"the checkpoint {str(self._path)!r} belongs to other data, other parameters or another version of "
                    "rkhs; fit with those again, or delete the file to start anew"
                )
            first = False
            if "stage" in content:
                self._places[content["stage"]] = (start, len(data))
            end = start + len(data)
        self._file.truncate(end)
        if first:
            self._append({"task": self._task}, {})

    def _records(self) -> Iterator[tuple[int, bytes]]:
        self._file.seek(0)
        position = 0
        while len(head := self._file.read(_HEAD.size)) == _HEAD.size:
            mark, size, digest = _HEAD.unpack(head)
            left = os.fstat(self._file.fileno()).st_size - position - _HEAD.size
            if mark != _MARK or size > left:
                return
            whole = position > 0 or size <= _MAX_TASK
            data = self._file.read(size) if whole else b""
            if hashlib.sha256(data).digest() != digest:
                if position == 0:  # no crash leaves this, and what follows may be days of work
                    raise CheckpointError(f"the checkpoint {str(self._path)!r} is damaged; delete it to start anew")
                return
            yield position + _HEAD.size, data
            position += _HEAD.size + size
            self._file.seek(position)

    def _unpack(self, data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        try:
            container = unpack(data, f"the checkpoint {str(self._path)!r}", _VERSION)
        except ModelFileError as error:
            raise CheckpointError(f"{error}, or delete the file to start anew") from None
        shapes = container.content.get("scalars", [])
        return container.content, {k: v.reshape(()) if k in shapes else v for k, v in container.arrays.items()}

    def last(self, stage: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the content and arrays of the last record of a stage, or None."""
        if stage not in self._places:
            return None
        start, size = self._places[stage]
        self._file.seek(start)
        content, arrays = self._unpack(self._file.read(size))
        return content["content"], arrays

    def add(self, stage: str, content: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Append a record; it is on disk when this returns.

        Parameters
        ----------
        stage : str
            What :meth:`last` finds it by.
        content : dict
            JSON values.
        arrays : mapping of str to ndarray of shape (...)

        Raises
        ------
        CheckpointError
            If it cannot be written.
        """
        scalars = [name for name, array in arrays.items() if np.ndim(array) == 0]
        table = {name: np.atleast_1d(array) for name, array in arrays.items()}
        self._places[stage] = self._append({"stage": stage, "content": content, "scalars": scalars}, table)
        self._written = time.monotonic()

    def _append(self, content: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[int, int]:
        data = pack(content, arrays, _VERSION)
        start = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(_HEAD.pack(_MARK, len(data), hashlib.sha256(data).digest()))
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            os.truncate(self._path, start)  # half a record would hide those after it
            raise CheckpointError(
                f"cannot write the checkpoint {str(self._path)!r} ({error.strerror}); make room, or fit without one"
            ) from None
        return start + _HEAD.size, len(data)

    def is_due(self) -> bool:
        """Whether the interval since the last record has passed."""
        return time.monotonic() - self._written >= self._interval

    def close(self) -> None:
        """Close the file; it stays if there is anything in it to go on from."""
        self._file.close()
        if not self._places:
            self.remove()

    def remove(self) -> None:
        """Close and delete the file: the run is complete."""
        self._file.close()
        Checkpoint(self._path).remove()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
