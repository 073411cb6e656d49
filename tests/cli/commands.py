"""Words of commands that messages print, and files to read."""

import shlex
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def printed(text: str) -> list[str]:
    """Words of the last command that a message prints."""
    return shlex.split(text.rpartition("\n\n  rkhs ")[2].partition("\n")[0])


def table(path: str, rows: list[str], encoding: str = "utf-8") -> None:
    """Write rows as lines."""
    Path(path).write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))
