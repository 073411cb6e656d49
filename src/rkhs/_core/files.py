"""Files that are either the old one or the new one, never half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rkhs._core.errors import InputError

__all__ = ["atomic_path"]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and move it onto `path` when the block ends without an error.

    Parameters
    ----------
    path : str or path
        The file to write. A symbolic link is followed, so the link stays and its target changes.

    Yields
    ------
    pathlib.Path
        A path that does not exist yet, with the same extension; the block writes it and closes it.

    Raises
    ------
    InputError
        If `path` is a folder or its folder does not exist.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"expected the name of a file to write; got the folder {os.fspath(path)!r}; add a file name")
    if not target.parent.is_dir():
        raise InputError(
            f"expected a file in an existing folder; got {os.fspath(path)!r}, whose folder does not exist; "
            f"create {os.fspath(target.parent)!r} first"
        )
    # The process number keeps two writers apart and lets leftovers of a killed process be recognised.
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.{os.urandom(4).hex()}.tmp{target.suffix}")
    try:
        yield temporary
        with open(temporary, "rb+") as handle:
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    # The new name itself is only on disk once the folder is. Windows cannot open folders and needs no such call.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
