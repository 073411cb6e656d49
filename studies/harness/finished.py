"""Results of long studies, kept line by line in a file, so that a stopped run goes on where it was."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Finished"]


class Finished:
    """Rows by key, each a JSON line of a file; a line that a crash cut short counts as not written.

    Parameters
    ----------
    path : Path, optional
        Read now if it exists, and appended to; without one, rows are kept in memory only.
    fields : sequence of str, default=()
        Columns that make the key of a row, where the rows hold it themselves.

    Attributes
    ----------
    rows : dict of str to dict
    """

    def __init__(self, path: Path | None, fields: Sequence[str] = ()) -> None:
        self.path = path
        self.fields = fields
        self.rows: dict[str, dict[str, Any]] = {}
        text = path.read_text() if path is not None and path.exists() else ""
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                row = json.loads(line)
                self.rows[self.key_of(row) if fields else row.pop("key")] = row

    def key_of(self, row: dict[str, Any]) -> str:
        """The key that the columns of a row make."""
        return json.dumps([row[name] for name in self.fields])

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row."""
        self.rows[key] = row
        if self.path is None:
            return
        with self.path.open("a") as file:
            file.write(("\n" if self._torn else "") + json.dumps(row if self.fields else {"key": key, **row}) + "\n")
        self._torn = False
