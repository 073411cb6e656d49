"""Results of long studies, kept line by line in a file, so that a stopped run goes on where it was."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

__all__ = ["Finished"]


class Finished:
    """Rows by key, each a JSON line of a file; a line that a crash cut short counts as not written.

    Parameters
    ----------
    path : Path, optional
        Read now if it exists, and appended to; without one, rows are kept in memory only.

    Attributes
    ----------
    rows : dict of str to dict
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        text = path.read_text() if path is not None and path.exists() else ""
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                row = json.loads(line)
                self.rows[row.pop("key")] = row

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row."""
        self.rows[key] = row
        if self.path is None:
            return
        with self.path.open("a") as file:
            file.write(("\n" if self._torn else "") + json.dumps({"key": key, **row}) + "\n")
        self._torn = False
