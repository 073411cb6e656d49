"""Points of the numbers of a text table: decimal ones, or marks between thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rkhs._core.dates import are_months, is_month_number
from rkhs.data.text import is_gap, number_in

_ENOUGH = 10_000  # lines with points, of which some have a decimal one if any has
_NO_THOUSAND = re.compile(r"(?![-+]?[1-9]\d{0,2},\d{3}$)[^,]*,.*")  # a comma that can only be a decimal one
_POINT = re.compile(r"\.(?<!\.\d\.)(?<!\.\d\d\.)\d+(?![\d.])")  # the last of a number, none of a date
_POINTED = re.compile(r"[-+]?\d*\.\d")  # the start of a number with a point
# A number whose points can all separate thousands, and perhaps a unit.
_POINTED_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?:\s*[^\d\s.,].*)?")


def decimal_mark(cells: Sequence[str], delimiter: str, thousands: str | None) -> str:
    """A comma where cells of a table without comma delimiters are numbers with one that cannot separate thousands."""
    if delimiter == "," or thousands is not None:
        return "," if thousands == "." else "."
    if _has_decimal_points(cells):
        return "."
    return "," if any(_NO_THOUSAND.fullmatch(cell) and number_in(cell, ",") is not None for cell in cells) else "."


def _has_decimal_points(cells: Iterable[str]) -> bool:
    """Whether a point of some number cannot separate thousands; those of months such as 03.2019 say nothing."""
    pointed = (c for c in cells if "." in c and not is_month_number(c.strip()))
    numbers = (c for c in pointed if number_in(c) is not None and not is_gap(c))
    return not all(map(_POINTED_THOUSANDS.fullmatch, numbers))


def month_columns(rows: Sequence[list[str]], width: int) -> frozenset[int]:
    """Columns whose numbers are months such as 03.2019."""
    columns = {j: [row[j].strip() for row in rows if j < len(row) and not is_gap(row[j])] for j in range(width)}
    numbers = {j: [cell for cell in cells if number_in(cell) is not None] for j, cells in columns.items()}
    return frozenset(j for j, cells in numbers.items() if are_months(cells))


def may_have_commas(cells: Sequence[str], delimiter: str) -> bool:
    """Whether numbers of a table may have decimal commas: some has one, or semicolons stand between cells."""
    return delimiter == ";" or (delimiter != "," and any(re.match(r"[-+]?\d+,\d", cell) for cell in cells))


def pointed_lines(lines: Iterable[str]) -> Iterator[str]:
    """The first lines in which a number has points, none that begin or end within quotation marks."""
    return islice((one for one in lines if "." in one and _POINT.search(one) and one.count('"') % 2 == 0), _ENOUGH)


def points_in_doubt(rows: Iterable[tuple[int, list[str]]]) -> dict[int, str]:
    """Columns, each with a cell, whose points may all separate thousands; none where some number has a decimal one."""
    first: dict[int, str] = {}
    decimal: set[int] = set()
    for _, cells in rows:
        found = {j: cell.strip() for j, cell in enumerate(cells) if _POINTED.match(cell.strip())}
        if _has_decimal_points(found.values()):
            return {}
        decimal |= {j for j, cell in found.items() if not _POINTED_THOUSANDS.fullmatch(cell)}
        first = found | first
    return {j: first[j] for j in sorted(first.keys() - decimal)}
