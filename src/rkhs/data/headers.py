"""Rows above the data of a table: which of them names the columns, and names that are made of several of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rkhs._core.errors import InputError, quote
from rkhs.data.dataset import listed
from rkhs.data.text import WEAK, is_grouped_number, is_id_name, number_in, unescape_formula

Row = list[str]
TEXT, NUMBER, GAP, BLANK = "tn-_"
"""Kinds of cells."""
MIN_GRID = 10
"""Numbers of a first row from which rounded, descending and unequal grids are recognised."""
_HEAD, _FOOT = 60, 40  # rows above the data, and rows that show what the data are
_UNDER_NAMES = 3  # rows of units and the like
_IMPORT_ID = re.compile(r'\s*\{"ImportId":')
_ENDS_IN_NUMBER = re.compile(r"(?:^|[\s;|])[-+]?\d+$")
_UNIT = re.compile(  # or the format of a column
    r"[(\[].*[)\]]|\d+[a-z]|[%°\u00b5\u03bc]\S{0,3}|\S{1,4}[/\u00b7]\S{1,6}"
    r"|[cdknpu\u00b5m]?(?:[mgslALVWKJNM]|mol|Pa|Hz|min|h|d)|pp[bmt]|bar|counts?|AU|a\.u\.|RFU|U"
)


def kinds_of(row: Row) -> str:
    """A letter for each cell: whether it is a text, a number, a word for a gap, or blank."""
    return "".join(map(_kind, row))


@lru_cache(2**14)
def _kind(cell: str) -> str:
    if not cell or cell.isspace():
        return BLANK
    value = number_in(cell)
    if value is None:
        return GAP if cell.strip().lower() in WEAK else NUMBER if is_grouped_number(cell) else TEXT
    return GAP if math.isnan(value) else NUMBER


def widths(rows: Sequence[Row]) -> set[int]:
    """Numbers of cells of the rows that are not blank."""
    return {len(row) for row in rows if row}


class _Data(NamedTuple):
    """What the last rows of a sample show of the data."""

    width: int
    numbers: list[int]  # columns
    whole: list[int]  # columns without a blank cell
    rows: list[Row]

    def texts_over_numbers(self, row: Row) -> list[str]:
        """Texts of a row over most columns of numbers, which none of these holds; none where they are fewer."""
        cells = ["", *row] if len(row) == self.width - 1 else row
        if len(cells) != self.width:
            return []
        texts = [j for j in self.numbers if _kind(cells[j]) == TEXT]
        new = [cells[j].strip() for j in texts if all(cells[j] != below[j] for below in self.rows)]
        return new if 2 * len(new) > len(self.numbers) else []

    def holds(self, row: Row) -> bool:
        """Whether a row has a number, and a cell in each column without blank cells."""
        found = kinds_of(row)
        return len(row) == self.width and NUMBER in found and all(found[j] != BLANK for j in self.whole)

    def names_all(self, row: Row) -> bool:
        """Whether no name repeats, and each column without blank cells has one, but perhaps the first."""
        names = [*filter(None, map(str.strip, row))]
        return len(row) == self.width and len(set(names)) == len(names) and all(row[j] for j in self.whole if j)


def _data(rows: Sequence[Row]) -> _Data | None:
    """What the last rows show; None where they hold no numbers."""
    filled = list(filter(any, rows))
    last = filled[-min(_FOOT, max(2, len(filled) // 3)) :] if len(filled) > 2 else []
    width = max(Counter(map(len, last)).items(), key=lambda pair: pair[1], default=(0, 0))[0]
    last = [row for row in last if len(row) == width and sum(map(bool, row)) > min(2, width - 1)]
    columns = list(enumerate(zip(*map(kinds_of, last), strict=True)))
    numbers = [j for j, column in columns if column.count(NUMBER) > 4 * column.count(TEXT)]
    return _Data(width, numbers, [j for j, column in columns if BLANK not in column], last) if numbers else None


def find_names(rows: Sequence[Row]) -> int | None:
    """The row of names above the data: the first with one for each column, else the last; None where none is clear."""
    data = _data(rows)
    found = [] if data is None else _candidates(rows, data)
    named = (i for i in found if data is not None and data.names_all(rows[i]))
    return next(named, max((i for i in found if not _are_units(rows[i])), default=max(found, default=None)))


def _candidates(rows: Sequence[Row], data: _Data) -> list[int]:
    """Rows above the first one of the data with texts over its numbers, or else the first with an axis."""
    found: list[int] = []
    for i, row in enumerate(rows[:_HEAD]):
        if len(set(data.texts_over_numbers(row))) > (len(data.numbers) > 1):
            found.append(i)
        elif not found and _is_axis(row, data.rows):
            return [i]
        elif data.holds(row):
            break
    return found


def _are_units(row: Row) -> bool:
    """Whether most cells of a row look like units or formats of columns."""
    cells = [*filter(None, map(str.strip, row))]
    return 2 * sum(_UNIT.fullmatch(cell) is not None for cell in cells) > len(cells)


def _is_axis(row: Row, below: Sequence[Row]) -> bool:
    """Whether many numbers rise or fall strictly behind one or two words, where those of most rows below do not."""
    start = len(re.match(f"[{TEXT}{BLANK}]*", kinds_of(row))[0])  # type: ignore[index]
    return start in (1, 2) and rises(row[start:]) and 2 * sum(rises(one[start:]) for one in below) <= len(below)


def rises(cells: Sequence[str]) -> bool:
    """Whether cells, but blank ones at the end, are many numbers in their order."""
    values = [number_in(cell) for cell in cells[: len(kinds_of([*cells]).rstrip(BLANK))]]
    steps = np.diff(np.array(values, dtype=np.float64))  # None is NaN
    return len(values) >= MIN_GRID and bool((steps > 0.0).all() or (steps < 0.0).all())


def full_names(names: Sequence[str], above: Sequence[Row], blank: Iterable[int], guessed: list[str]) -> tuple[str, ...]:
    """Names of all columns, that differ: with cells of the rows above, numbers behind them, or their places."""
    united = [name if j not in blank else "" for j, name in enumerate(_united(names, above))]
    _note("names of columns are united from several rows", _others(united, names), guessed)
    placed = [name or f"column {j}" * (j > 0 and j not in blank) for j, name in enumerate(united)]
    _note("columns without a name are called by their places, from 0", _others(placed, united), guessed)
    found = numbered(placed)
    _note("names that repeat have numbers behind them", _others(found, placed), guessed)
    return tuple(found)


def _others(names: Sequence[str], before: Sequence[str]) -> list[str]:
    """Names that are not what they were."""
    return [name for name, old in zip(names, before, strict=True) if name != old]


def _united(names: Sequence[str], above: Sequence[Row]) -> list[str]:
    """Names with the cells of the row above, or of all rows above, with which most of them differ."""
    tops = [_filled_right(row, len(names)) for row in above if kinds_of(row[1:]).strip(BLANK)]
    choices = [[], *([row] for row in tops[::-1]), tops]
    return max((_with_cells(names, few) for few in choices), key=lambda some: len({*some} - {""}))


def _note(what: str, names: list[str], guessed: list[str]) -> None:
    """Add a sentence about names, if there are any."""
    if names:
        guessed.append(f"{what}: {listed([*map(quote, names)], 3)}")


def _filled_right(row: Row, width: int) -> Row:
    """A row of titles of groups, each over all columns up to the next title."""
    cells, title = [*[""] * (len(row) == width - 1), *map(str.strip, row), *[""] * width][:width], ""
    return [title := cell or title for cell in cells]


def _with_cells(names: Sequence[str], tops: Sequence[Row]) -> list[str]:
    """Names that repeat or are empty with the cells of other rows before them."""
    counts = Counter(names)
    above = [" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*tops, strict=True)] or [""] * len(names)
    return [
        name if name and counts[name] == 1 else f"{top} {name}".strip() for name, top in zip(names, above, strict=True)
    ]


def numbered(names: Sequence[str]) -> list[str]:
    """Names of columns, later ones of the same name with a number, as pandas gives them."""
    given, earlier, found = set(names), Counter[str](), []
    for name in names:
        new = name
        while name and earlier[name] and (new in given):
            new = f"{name}.{earlier[name]}"
            earlier[name] += 1
        given.add(new)
        earlier[name] += not earlier[name]
        found.append(new)
    return found


def split_header(
    path: Path,
    delimiter: str,
    rows: list[Row],
    over: Row,
    asked: bool | None,
    guessed: list[str],
    *,
    found: bool,
    several: bool,
) -> tuple[tuple[str, ...] | None, list[Row]]:
    """Names of the columns, None without them, and the rows below; `over` is the last line of comments.

    The first row is `found` to hold names. Where several rows do, another one may hold that of the first column alone.
    """
    (first, *body), header, width = rows, found or asked, Counter(map(len, filter(None, rows))).most_common(1)[0][0]
    behind = None if asked is False else _names_in_comment(over, first, width)
    if behind is not None:
        guessed.append("the last line that begins with # names the columns")
        return tuple(behind), _without_units(rows, guessed)
    if header is None:
        header = _is_names(path, first, body)
    if not header:
        return None, rows
    names = tuple(unescape_formula(cell.strip()) for cell in first)
    if (title := _title_of_rows(names, body)) and several:
        names, body = (title, *names[1:]), body[1:]
    if len(names) == width - 1 and widths(body) == {width}:
        names = _with_missing_name(path, delimiter, names, [*filter(None, body)], asked, guessed)
    return names, _without_units(body, guessed)


def _title_of_rows(names: Sequence[str], body: list[Row]) -> str:
    """The name of a first column without one, which stands alone in the row below, as pandas writes it."""
    return body[0][0] if body and body[0] and not names[0] and not any(body[0][1:]) else ""


def _with_missing_name(
    path: Path, delimiter: str, names: tuple[str, ...], body: list[Row], asked: bool | None, guessed: list[str]
) -> tuple[str, ...]:
    """Names one short of the rows: the first column has none, as R writes it, or every row ends with a delimiter."""
    if not any(row[-1] for row in body):
        guessed.append("every row ends with a delimiter")
        return (*names, "")
    if asked is None:
        _check_short_header(path, delimiter, names, body)
    guessed.append("the first column, without a name, names the rows")
    return ("", *names)


def _check_short_header(path: Path, delimiter: str, names: Sequence[str], body: list[Row]) -> None:
    """Refuse a header one cell short above a column that does not name rows, and a second header."""
    column, below = [row[0] for row in body], set(kinds_of(body[0])) == {TEXT} != set(kinds_of(body[-1]))
    numbers = all(number_in(cell) is not None for cell in column)
    whole = len(set(column)) == len(column) and all(cell.strip().isdecimal() for cell in column)
    commas = delimiter == "," and len(names) == 1 and any(map(_ENDS_IN_NUMBER.search, column))
    if any((numbers and not whole, commas, below)):
        raise InputError(
            f"{path}: expected a name for each of {1 + len(names)} columns; got {listed([*map(quote, names)])} "
            f"over cells such as {quote(column[0])} in the first one; pass skip_rows= if this is a title, header=True "
            "if the first column names the rows, delimiter=';' and decimal=',' if commas are decimal ones"
        )


def _names_in_comment(row: Row, first: Row, width: int) -> list[str] | None:
    """Names of columns in the line behind # right above a table of numbers, as NumPy writes them."""
    if not row or not row[0].lstrip().startswith("#") or set(kinds_of(first)) == {TEXT}:
        return None
    cells = [cell.strip() for cell in row]
    cells = cells[1:] if cells[0] == "#" and len(cells) == width + 1 else [cells[0].lstrip("# "), *cells[1:]]
    return numbered(cells) if kinds_of(cells) == width * TEXT else None


def _questions(body: list[Row]) -> int:
    """Count the first rows of Qualtrics, which end with one of ImportIds."""
    return next((i for i, row in enumerate(body[:3], 1) if row and all(map(_IMPORT_ID.match, row))), 0)


def _without_units(body: list[Row], guessed: list[str]) -> list[Row]:
    """The rows without the first, if it holds texts alone where all later rows hold numbers."""
    if questions := _questions(body):
        guessed.append(f"rows of questions and ImportIds of Qualtrics below the names left out: {questions}")
        return body[questions:]
    filled, data = list(filter(None, body)), _data(body)
    if len(filled) < 3 or len(widths(body)) > 1 or data is None:
        return body
    under = list(
        takewhile(lambda row: NUMBER not in kinds_of(row) and data.texts_over_numbers(row), filled[:_UNDER_NAMES])
    )
    for row in under:
        guessed.append(f"the row below the names, {listed([*filter(None, row)], 3)}, is taken for units")
    return body[body.index(under[-1]) + 1 :] if under else body


def _is_names(path: Path, cells: Row, body: Sequence[Row]) -> bool:
    """Whether the first row holds names of columns."""
    form, values = kinds_of(cells), list(map(number_in, cells))
    if re.fullmatch(f"{TEXT}|[{TEXT}{BLANK}]+{TEXT}{BLANK}*", form):  # a text alone, or one beyond the first cell
        return True
    unnamed = len(cells) > 1 and is_id_name(cells[0].strip())
    short = len(body) > 1 and widths(body) == {len(cells) + 1}
    grid = is_grid(values[unnamed:])
    if grid and (unnamed or short):
        return True
    if not any((TEXT in form, unnamed, grid)):
        return False
    raise InputError(
        f"{path}: expected a first row that is clearly names or clearly data; got "
        f"{listed(list(map(quote, cells)))}; pass header=True if these are column names, header=False if they are "
        "data, skip_rows= if rows stand above the "
        f"table{_times_advice(values[1:])}"
    )


def _last_digit(grid: np.ndarray) -> float:
    """The unit of the last digit that numbers are written with; 0 where there are more than six."""
    return next((10.0**-d for d in range(7) if np.allclose(grid, np.round(grid, d), rtol=0.0, atol=1e-9)), 0.0)


def _times_advice(values: Sequence[float | None]) -> str:
    rise = len(values) > 1 and bool((np.diff(np.array(values, dtype=np.float64)) > 0.0).all())
    return ", kind='curves' if these are the times of curves" if rise else ""


def is_grid(values: Sequence[float | None] | np.ndarray) -> bool:
    """Whether numbers could be the names of columns: 0, two that follow each other, or an equally spaced grid."""
    grid = np.array(values, dtype=np.float64)  # None is NaN
    if len(grid) < 3:
        return bool(np.array_equal(grid, (grid[0] if len(grid) > 1 else 0.0) + np.arange(len(grid))))
    with np.errstate(invalid="ignore", over="ignore"):  # of two infinities in a row, and of roundings of large numbers
        steps = np.diff(grid)
        many = len(grid) >= MIN_GRID
        steps = -steps if many and steps[0] < 0.0 else steps
        mean = float(steps.mean())
        unit = _last_digit(grid)
        rounding = 1.001 * unit if many and 2.0 * unit <= mean else 0.0  # half of the last digit at each end
        return bool(np.all(steps > 0) and np.allclose(steps, mean, rtol=1e-2 if many else 1e-6, atol=rounding))
