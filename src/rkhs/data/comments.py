"""Lines of comments of a text table, which begin with a mark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rkhs.data.text import is_gap

MARKS = ("#", "%", "//")
"""What lines of comments begin with."""
_LINES = 200  # that are read at once


def mark_of(row: list[str]) -> str:
    """The mark of comments that a row begins with, unless it begins with an error of Excel; nothing without one."""
    start = row[0].lstrip() if row and not is_gap(row[0]) else ""
    return next((mark for mark in MARKS if start.startswith(mark)), "")


def without_comments(
    above: list[list[str]], table: list[list[str]]
) -> tuple[str | None, list[list[str]], list[list[str]]]:
    """The mark of comments above a table, and the other rows; None where rows of the table may begin with it."""
    mark = next(filter(None, map(mark_of, above)), None)
    kept = [row for row in table if mark_of(row) != mark]
    widths = {len(row) for row in kept if row}
    if any(len(row) in widths for row in table if mark_of(row) == mark):
        return None, above, table
    return mark, [row for row in above if mark_of(row) != mark], kept


class Uncommented:
    """A file without its lines of comments, as pandas reads it."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def read(self, _: int) -> str:
        """Read some lines; nothing at the end."""
        return "".join(islice(self._lines, _LINES))
