"""Lines of comments of a text table, which begin with a mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse, islice
from typing import Any, TextIO

from rkhs.data.text import is_gap, number_in

MARKS = ("#", "%", "//")
"""What lines of comments begin with."""
_MARK = re.compile(r"[,;\t|]")  # between cells
_LINES = 200  # that are read at once


def table_lines(lines: list[str]) -> list[str]:
    """Lines that are neither blank nor begin as comments do."""
    return [line for line in lines if line.strip() and not line.startswith(MARKS) and not is_rule(line)]


def is_rule(line: str) -> bool:
    """Whether a line holds only a rule, as printed lists have between rows: dashes, perhaps with bars."""
    return "---" in line and not line.strip("-+|\t\r\n ")


def _is_row(line: str) -> bool:
    cells = [cell.strip(' "') for cell in _MARK.split(line.rstrip(",;\t| "))]
    return len(cells) > 2 or any(map(holds_number, cells))


def foot_lines(lines: list[str]) -> list[str]:
    """The last of these lines that are no rows: one or two texts below a blank line, or several words alone."""
    found: list[str] = []
    pending: list[str] = []
    bare = [line.strip() for line in lines if not line.startswith(MARKS)]
    for above, line in zip(bare[-2::-1], bare[:0:-1], strict=True):
        marks = len(_MARK.findall(line))
        if line.count('"') % 2:
            return []
        if _is_row(line):
            return found if marks == len(_MARK.findall(above)) else []
        if not line.strip(',;\t| "'):
            found, pending = [*pending, *found], []
        elif not marks and " " in line:
            found, pending = [line, *pending, *found], []
        else:
            pending = [line, *pending]
    return []


def holds_number(cell: str) -> bool:
    """Whether a cell holds a number."""
    return bool(cell) and number_in(cell) is not None


def rows_among(lines: list[str], count: int | None, is_comment: Callable[[str], bool]) -> int | None:
    """How many of the first lines are no comments; None without a count."""
    return None if count is None else sum(not is_comment(line) for line in lines[:count])


def mark_of(row: list[str]) -> str:
    """The mark of comments that a row begins with, unless it begins with an error of Excel; nothing without one."""
    start = row[0].lstrip() if row and not is_gap(row[0]) else ""
    return next((mark for mark in MARKS if start.startswith(mark)), "")


def without_comments(
    given: str | None, above: list[list[str]], table: list[list[str]]
) -> tuple[str | None, list[list[str]], list[list[str]]]:
    """The mark of comments above a table, and the other rows; the given one where rows of it may begin with that."""
    mark = next(filter(None, map(mark_of, above)), None) if given is None else None
    kept, comments = ([row for row in table if (mark_of(row) == mark) is is_one] for is_one in (False, True))
    alike = {*map(len, filter(None, kept))} & {*map(len, comments)}
    if mark is None or (alike and not _of_numbers(kept)):
        return given, above, table
    return mark, [row for row in above if mark_of(row) != mark], kept


def _of_numbers(rows: list[list[str]]) -> bool:
    """Whether no cell of some rows is a text."""
    return any(rows) and all(is_gap(cell) or holds_number(cell) for row in rows for cell in row)


def uncommented(lines: TextIO, marks: Iterable[str | bool | None], is_comment: Callable[[str], bool]) -> Any:
    """A file without its lines of comments, where these or others have a mark, as pandas reads it."""
    return _Uncommented(filterfalse(is_comment, lines)) if any(marks) else lines


class _Uncommented:
    """Lines of a file, read as a file is."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def read(self, _: int) -> str:
        """Read some lines; nothing at the end."""
        return "".join(islice(self._lines, _LINES))
