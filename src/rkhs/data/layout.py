"""Format of a text table: encoding, delimiter, lines above the table, names of columns."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, filterfalse, islice, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

from rkhs._core.errors import InputError, quote
from rkhs.data import formats
from rkhs.data.comments import foot_lines, is_rule, mark_of, rows_among, table_lines, without_comments
from rkhs.data.dataset import column_label, listed, refuse_empty
from rkhs.data.encodings import encoding_of, other_encoding
from rkhs.data.formats import extension_of
from rkhs.data.headers import (
    BLANK,
    GAP,
    MIN_GRID,
    NUMBER,
    TEXT,
    Row,
    find_names,
    full_names,
    kinds_of,
    rises,
    split_header,
    widths,
)
from rkhs.data.points import decimal_mark, may_have_commas, month_columns, pointed_lines, points_in_doubt
from rkhs.data.text import WEAK, Mendable, is_gap, is_grouped_number, is_id_name, number_in

_SAMPLE_ROWS = 200  # rows that the format is detected from
_SAMPLE_CHARACTERS = 2**16
_SEPARATOR = re.compile(r"(?i)sep=(\S|\t)\s*")  # of Excel
_MARKS = (",", ";", "\t", "|")  # that may stand between cells
_DELIMITER_NAMES = {" ": "white space", "\t": "tabs"}
_NO_DECIMAL = re.compile(r"(?<!\d),|,(?!\d)")  # a comma that is no decimal one
LAYOUT = (
    "header",
    "delimiter",
    "encoding",
    "decimal",
    "thousands",
    "comment",
    "skip_rows",
    "missing",
    "key",
)
"""Options of `read_table` for the format of a text table; None: detected from the file."""


@dataclass(frozen=True)
class Layout:
    """Where the rows of a file begin and how they are split."""

    path: Path
    encoding: str
    delimiter: str  # a space: any white space
    comment: str | None
    missing: frozenset[str]  # cells that count as gaps, besides the usual ones
    decimal: str = "."
    thousands: str | None = None
    skip: int = 0  # lines, or quoted rows of several lines, above the first row
    names: tuple[str, ...] | None = None  # of all columns, empty ones for row names and blank columns
    width: int = 0
    blank: frozenset[int] = frozenset()  # columns without name and cells
    numbers: frozenset[int] = frozenset()  # columns known to hold numbers
    words: frozenset[int] = frozenset()  # columns with texts among their first cells
    guessed: tuple[str, ...] = ()  # what was detected, in sentences
    sheet: str | None = None  # of a workbook; None: the first
    points: bool = False  # those of numbers may separate thousands
    foot: frozenset[str] = frozenset()  # lines below the table
    ruled: bool = False  # lines of dashes stand between rows

    @contextmanager
    def lines(self) -> Iterator[TextIO]:
        """The open file; what is wrong with its bytes becomes an error that says so."""
        try:
            with formats.open_lines(self.path, self.encoding, self.sheet) as handle:
                yield handle
        except UnicodeError as error:
            raise other_encoding(self.path, self.encoding, error) from error

    def split(self, handle: Iterable[str]) -> Iterator[tuple[int, Row]]:
        """Last line and cells of each row, none of a blank line."""
        number = 0

        def lines() -> Iterator[str]:
            nonlocal number
            for line in handle:
                number += 1
                if not self.is_comment(line):
                    yield line.strip().replace("\t", " ") + "\n" if self.delimiter == " " else line

        reader = csv.reader(lines(), delimiter=self.delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                yield number, cells
        except csv.Error as error:
            raise InputError(
                f"{self.path}: expected a table with {self.delimiter!r} between cells; got one that cannot be split "
                f"({error}, line {number}); check its quotation marks"
            ) from error

    def is_comment(self, line: str) -> bool:
        """Whether a line is no row, or begins with the mark of comments, and not with an error of Excel."""
        if (self.ruled and is_rule(line)) or (self.foot and line.strip() in self.foot):
            return True
        start = line.lstrip(' "')
        marked = self.comment is not None and start.startswith(self.comment)
        return marked and not is_gap(start.partition(self.delimiter)[0])

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Line and cells of each row below the names, blank lines too."""
        with self.lines() as handle:
            yield from islice(self.split(handle), self.skip, None)

    def is_blank(self, cells: Row) -> bool:
        """Whether a row holds no known cell."""
        return all(
            is_gap(cell) or cell in self.missing or (j in self.numbers and cell.strip().lower() in WEAK)
            for j, cell in enumerate(cells)
        )

    def place(self, number: int) -> tuple[int, Row]:
        """Line and cells of a row that is counted from 1, without rows that hold nothing."""
        return next(islice((row for row in self.rows() if not self.is_blank(row[1])), number - 1, None))

    @cached_property
    def doubtful(self) -> dict[int, str]:
        """Columns, each with a cell, whose points may separate thousands: no number of the file has decimal ones."""
        with self.lines() as handle:
            return points_in_doubt(self.split(pointed_lines(handle))) if self.points else {}

    def check_rows(self) -> tuple[str, ...]:
        """Refuse rows of another width; a sentence about rows that hold nothing, if there are any."""
        empty = pending = number = 0
        for line, cells in self.rows():
            if cells and len(cells) != self.width:
                got = (
                    f"{self.path}: expected {self.width} cells in every row, as in the first one; got {len(cells)} in "
                    f"row {number + 1} (line {line}); correct that row, or pass"
                )
                if mark := mark_of(cells):
                    raise Mendable(f"{got} comment={mark!r} if such lines are comments", comment=mark)
                raise InputError(
                    f"{got} delimiter= if {self.delimiter!r} does not separate the cells, or skip_rows= if rows stand "
                    "above the table"
                )
            if not self.is_blank(cells):
                number, empty, pending = number + 1, empty + pending, 0
            elif cells:
                empty += 1
            else:
                pending += 1  # blank lines at the end are harmless
        return (f"rows without a known cell are left out: {empty}",) if empty else ()


def find_layout(path: Path, options: SimpleNamespace) -> Layout:
    """Detect the format from the first rows of a file; errors name the argument to pass."""
    state, given = path.stat(), [(name, getattr(options, name)) for name in LAYOUT]
    asked = ((name, tuple(value) if isinstance(value, (list, set)) else value) for name, value in given)
    return _known_layout(path, (state.st_mtime_ns, state.st_size), tuple(asked))


@lru_cache(maxsize=16)  # a file is opened for its columns, its names, and its cells
def _known_layout(path: Path, _: tuple[int, int], asked: tuple[tuple[str, Any], ...]) -> Layout:
    options, start = SimpleNamespace(**dict(asked)), 0
    try:
        layout = _found_layout(path, options)
        if layout.width == 1 and not (options.delimiter or options.skip_rows):
            start = _rows_over(layout)
    except Mendable:
        raise
    except InputError:
        encoding = encoding_of(path, options.encoding)
        start = _rows_over(Layout(path, encoding, options.delimiter or ",", None, frozenset()))
        if not start or options.skip_rows:
            raise
    if start:
        layout = _found_layout(path, SimpleNamespace(**vars(options) | {"skip_rows": start}))
        layout = replace(layout, guessed=(f"rows above the table left out: {start}", *layout.guessed))
    return layout


def _in_front_of_axis(names: Sequence[str], guessed: list[str]) -> set[int]:
    """The second column, where neither it nor the first has a name, and the others are named by an axis."""
    if not names or any(names[:2]) or not rises(names[2:]):
        return set()
    guessed.append("the second column, without a name in front of an axis, is left out")
    return {1}


def _all_names(names: tuple[str, ...], groups: list[Row], blank: Iterable[int], guessed: list[str]) -> tuple[str, ...]:
    """Names of all columns, that differ; counts the rows above that are no part of them."""
    found = full_names(names, groups, blank, guessed)
    _count_above(sum(map(any, groups)) * (found[1:] == names[1:]), guessed)
    return found


def _count_above(more: int, guessed: list[str]) -> None:
    """Say how many rows above the table are left out, with more of them than are said to be."""
    what = "rows above the table left out: "
    counts = [int(text.removeprefix(what)) for text in guessed if text.startswith(what)]
    if more:
        guessed[:] = [f"{what}{sum(counts) + more}", *(text for text in guessed if not text.startswith(what))]


def _rows_over(layout: Layout) -> int:
    """How many rows of another width stand above names and rows as wide."""
    with layout.lines() as handle:
        head = [*filterfalse(is_rule, _first_lines(handle))]
    for mark in dict.fromkeys((layout.delimiter, *_MARKS)):
        rows: list[Row] = []
        with suppress(InputError):
            rows = [cells for _, cells in replace(layout, delimiter=mark).split(head)]
        if (start := _start_of_table(rows)) and len(rows[start]) != layout.width:
            return start
    return 0


def _start_of_table(rows: list[Row]) -> int:
    """Where names of columns stand over rows as wide, the first of this width; 0 for no such place."""
    start = next((i for i, row in enumerate(rows) if len(row) == len(rows[-1])), 0)
    start += sum(1 for _ in takewhile(lambda row: row[:2] == ["", ""], rows[start:]))  # titles of samples alone
    names, *below = map(kinds_of, rows[start:] or [[]])
    named = len(names) > 1 and set(names) <= {TEXT, BLANK} and NUMBER in "".join(below)
    return start if named and len(widths(rows[start:])) == 1 else 0


def _last_with_letters(rows: list[Row]) -> Row:
    return next((row for row in reversed(rows) if any(map(str.isalpha, "".join(row)))), [])


def _found_layout(path: Path, options: SimpleNamespace) -> Layout:
    """The format of a file by its first rows."""
    guessed: list[str] = []
    layout, rows, above = _first_rows(path, options, guessed)
    if options.skip_rows is None and options.header is not False:
        _refuse_counts(layout, rows)
    above = _rows_above(rows, above, guessed)
    table, over = rows[above:], rows[:above]
    last = _last_with_letters(over)  # may name the columns
    mark, over, table = without_comments(layout.comment, over, table)
    layout = replace(layout, comment=mark)
    refuse_empty(any(table), path, "a table")
    start = find_names(table) if options.header is not False else None
    groups, table = table[:start] if start else [], table[start:]
    names, body = split_header(
        path,
        layout.delimiter,
        table,
        last,
        options.header,
        guessed,
        found=start is not None,
        several=bool(groups),
    )
    body = _from_first_row(layout, body, path)
    kinds = list(map(kinds_of, filter(None, body)))
    width = len(kinds[0]) if names is None else len(names)
    blank = _blank_columns(names, kinds, width)
    if blank:
        guessed.append(f"columns without name and cells are left out: {len(blank)}")
    blank |= _in_front_of_axis(names or (), guessed)
    guessed += _leading_zero_notes(names, body, width)
    names = names and _all_names(names, groups, blank, guessed)
    return replace(
        layout,
        skip=len(over) + len(groups) + len(table) - len(body),
        names=names,
        width=width,
        blank=blank,
        words=_columns_with(TEXT, kinds, width) | month_columns(body, width),
        guessed=tuple(guessed),
    )


def _refuse_counts(layout: Layout, rows: list[Row]) -> None:
    """Refuse a file of scikit-learn: numbers of rows and columns and names of classes over a table without names."""
    first, second = ([cell.strip() for cell in layout.delimiter.join(row).split(",")] for row in [*rows, [], []][:2])
    counts = [*map(str.isdecimal, first)]
    if counts[:2] == [True, True] and len(first) > 2 and not any(counts[2:]) and len(second) == int(first[1]) + 1:
        what = "the first row holds numbers of rows and columns, and names of classes, over columns without names"
        raise Mendable(f"{layout.path}: {what}; pass skip_rows=1 header=False", skip_rows=1, header="no")


def _from_first_row(layout: Layout, body: list[Row], path: Path) -> list[Row]:
    """The rows without blank lines between them and the names; refuses none."""
    if all(map(layout.is_blank, body)):
        raise InputError(
            f"{path}: expected data rows below the column names; got the names only; "
            "check the file, or pass header=False if its one row is data"
        )
    return body[next(i for i, row in enumerate(body) if row) :]


def _leading_zero_notes(names: Sequence[str] | None, body: list[Row], width: int) -> Iterator[str]:
    """Notes on columns that look like codes with leading zeros, which numbers do not keep."""
    titled = names is not None and is_id_name(names[0])
    for j in range(titled, width):
        cells = [row[j].strip() for row in body if j < len(row) and row[j].strip()]
        code = next((cell for cell in cells if re.fullmatch(r"0\d+", cell)), None)
        if code is not None and all(map(str.isdigit, cells)):
            yield (
                f"{column_label(names, j)} looks like codes with leading zeros, such as {quote(code)}, and is read as "
                "numbers; leave it out, or put a letter before each code to read it as texts"
            )


def _first_rows(path: Path, options: SimpleNamespace, guessed: list[str]) -> tuple[Layout, list[Row], int | None]:
    """How a file is split, its first rows with points in their numbers, and how many of these to skip."""
    encoding, missing = encoding_of(path, options.encoding), frozenset(options.missing or ())
    usual = "\t" if extension_of(path).startswith(".tsv") else ","
    layout = Layout(path, encoding, usual, options.comment, missing, sheet=options.key, thousands=options.thousands)
    layout = replace(layout, foot=_foot(layout, guessed))
    with layout.lines() as handle:
        head = list(_first_lines(handle))
    head = [line for line in head if line.strip() not in layout.foot]
    layout = replace(layout, ruled=any(map(is_rule, head)))
    formats.refuse_sparse_lines(path, head)
    declared = None if options.skip_rows else _SEPARATOR.fullmatch("".join(head[:1]))
    given = declared[1] if declared and not options.delimiter else options.delimiter
    layout = replace(layout, delimiter=_delimiter_of(layout, given, head[options.skip_rows :], guessed))
    skip = rows_among(head, options.skip_rows, layout.is_comment)
    with layout.lines() as handle:
        rows = [cells for _, cells in islice(layout.split(handle), len(head))]
    if declared:
        rows[0] = []
    return *_with_decimal_points(layout, rows, options.decimal, guessed), skip


def _foot(layout: Layout, guessed: list[str]) -> frozenset[str]:
    """Notes below the table, counted."""
    foot = foot_lines(formats.last_lines(layout.path, layout.encoding, layout.sheet))
    if foot:
        guessed.append(f"rows below the table left out: {len(foot)}, the first {quote(foot[0].strip(',;|'))}")
    return frozenset(foot)


def _with_decimal_points(
    layout: Layout, rows: list[Row], decimal: str | None, guessed: list[str]
) -> tuple[Layout, list[Row]]:
    """The layout with its decimal mark, and the rows with decimal points in place of it."""
    cells = [cell.strip() for row in rows for cell in row]
    mark = decimal or decimal_mark(cells, layout.delimiter, layout.thousands)
    points = decimal != "." and layout.thousands is None and may_have_commas(cells, layout.delimiter)
    layout = replace(layout, points=points)
    if mark == ".":
        return layout, rows
    if decimal is None:
        guessed.append("numbers are read with decimal commas")
    return replace(layout, decimal=mark), [[_pointed(cell, mark) for cell in row] for row in rows]


def _pointed(cell: str, mark: str) -> str:
    """A number with a point for its decimal mark; another cell as it is."""
    return cell if number_in(cell, mark) is None else cell.replace(mark, ".")


def _delimiter_of(layout: Layout, given: str | None, head: list[str], guessed: list[str]) -> str:
    """The character between the cells: a comma in a workbook, the one that is given, or what the first lines show."""
    if extension_of(layout.path) == ".xlsx":
        _, name, others = formats.sheet_of(layout.path, layout.path.stat().st_mtime_ns, layout.sheet)
        if others and layout.sheet is None:
            guessed.append(f"the first sheet, {quote(name)}, is read; `key` names another: {listed(others)}")
        if formats.lacks_values(layout.path):
            guessed.append(
                "formulas without a value are read as gaps; a spreadsheet stores values when it saves the file"
            )
        return layout.delimiter
    mark = given or _delimiter(layout, head)
    if not given and mark != layout.delimiter:
        guessed.append(f"cells are split at {_DELIMITER_NAMES.get(mark, mark)}")
    return mark


def _first_lines(handle: Iterable[str]) -> Iterator[str]:
    """Enough lines to see the layout, few of a wide table."""
    seen = wide = 0
    for line in islice(handle, _SAMPLE_ROWS):
        yield line
        seen += len(line)
        wide += 100 * len(line) > _SAMPLE_CHARACTERS
        if seen > _SAMPLE_CHARACTERS and wide > 8:
            return


def _delimiter(layout: Layout, head: list[str]) -> str:
    """The usual character where it splits all first rows alike, or else the one that does into the most numbers."""
    lines = table_lines(head)
    shares = _shares(layout, lines)
    most = max(shares.values())
    if most[0] <= 0.0 and not most[1] and _numeric_share(replace(layout, delimiter=" "), lines)[0] > -math.inf:
        return " "
    best = [mark for mark, share in shares.items() if share == most]
    if most[0] > 0.0 and len(best) > 1 and layout.delimiter in best:
        raise InputError(
            f"{layout.path}: expected one character that splits the lines into numbers; got "
            f"{quote(lines[-1].strip())}, which {' and '.join(map(repr, best))} split alike; pass delimiter="
        )
    return best[0] if len(best) == 1 else layout.delimiter


def _shares(layout: Layout, lines: list[str]) -> dict[str, tuple[float, bool]]:
    """Scores of the characters that split all rows alike, the usual one alone among these; of all where none does."""
    marks = dict.fromkeys((layout.delimiter, *_MARKS))
    shares = {mark: _numeric_share(replace(layout, delimiter=mark), lines) for mark in marks}
    alike = {mark: share for mark, share in shares.items() if share[1]}
    decimal = layout.delimiter == "," and not any(map(_NO_DECIMAL.search, lines[1:]))
    usual = {} if decimal else {mark: alike[mark] for mark in alike if mark == layout.delimiter}
    return usual or alike or shares


def _share_of_numbers(cells: list[str]) -> float:
    return sum(number_in(cell) is not None or is_grouped_number(cell) for cell in cells) / len(cells)


def _numeric_share(layout: Layout, lines: list[str]) -> tuple[float, bool]:
    """Score of a delimiter: the share of numeric cells, less a half below a title; and whether no row precedes it."""
    try:
        rows = [cells for _, cells in layout.split(lines)]
    except InputError:
        return -math.inf, False
    above = _ragged_rows(rows)
    if above is None or _splits_too_much(layout, rows, lines):
        return -math.inf, False
    share = _share_of_numbers(list(chain.from_iterable(rows[max(above, 1) :])))
    if layout.delimiter == " " and share < 0.5:
        return -math.inf, False
    short = above == 0 or len(rows[above - 1]) == len(rows[-1]) - 1  # R leaves out the name of the first column
    return share if short else max(share - 0.5, 1e-3 * share), above == 0


def _splits_too_much(layout: Layout, rows: list[Row], lines: list[str]) -> bool:
    """Whether a quoted name is cut in two, or commas below one name may be decimal ones: R quotes the names of rows."""
    cut = '""' not in lines[0] and any(cell.count('"') % 2 for cell in rows[0])
    below = layout.delimiter == "," and len(rows[0]) == 1 and number_in(rows[1][-1]) is not None
    return cut or (below and not all(line.startswith('"') for line in lines[1:]))


def _ragged_rows(rows: list[Row]) -> int | None:
    """How many rows stand above those of the width of the last one; None if these are no table."""
    width = len(rows[-1]) if rows else 1
    above = len(rows) - len([*takewhile(lambda row: len(row) == width, reversed(rows))])
    if width == 1 or len(rows) < 2:
        return None
    last = len(kinds_of(rows[above - 1]).rstrip(BLANK))  # cells right above
    many = width >= MIN_GRID and len(rows) - above > 3
    if above and (last not in (1, width - 1) or (2 * above > len(rows) and not many) or len(rows) == 2):
        return None
    return above


def _rows_above(rows: Sequence[Row], skip_rows: int | None, guessed: list[str]) -> int:
    """How many rows stand above the table: blank ones, comments behind # and titles alone in their row."""
    filled = [i for i in range(skip_rows or 0, len(rows)) if any(rows[i])]
    found: Counter[str] = Counter()
    while skip_rows is None and filled[1:] and (what := _preamble_kind(rows[filled[0]], [rows[i] for i in filled[1:]])):
        found[what] += 1
        filled = filled[1:]
    guessed.extend(f"{what} left out: {count}" for what, count in found.items())
    return filled[0] if filled else len(rows)


def _preamble_kind(row: Row, later: Sequence[Row]) -> str:
    """What a row above a table is, for a sentence; nothing for a row of the table."""
    if _is_comment(row, later):
        return f"lines above the table that begin with {mark_of(row)}"
    return "rows above the table" if _is_title(row, later) else ""


def _is_comment(row: Row, later: Sequence[Row]) -> bool:
    """Whether a row begins with a mark of comments and is no row of names or numbers with the width of the next."""
    mark, below = mark_of(row), later[0]
    if not mark or len(row) != len(below):
        return bool(mark)
    numbers = mark == "#" and set(kinds_of(below)) != {TEXT}
    doubled = mark_of(below) == mark and (mark == "#" or (len(later) > 1 and _is_comment(below, later[1:])))
    return doubled or (numbers and number_in(row[0].lstrip("# ")) is None)


def _is_title(row: Row, later: Sequence[Row]) -> bool:
    """Whether a row holds one text alone, above two or more names and their rows."""
    if (
        not re.fullmatch(f"{TEXT}({BLANK}{BLANK}+)?", kinds_of(row))
        or len(later) < 2
        or len(later[0]) == len(later[-1]) == 1
    ):
        return False
    below = kinds_of(later[0]).replace(BLANK, "")
    return _is_title(later[0], later[1:]) or (len(below) > 1 and set(below) == {TEXT})


def _blank_columns(names: Sequence[str] | None, kinds: Sequence[str], width: int) -> frozenset[int]:
    """Columns without a name whose cells are all empty; of a table without names those at its end."""
    filled = set().union(*(_columns_with(kind, kinds, width) for kind in (TEXT, NUMBER, GAP, "")))
    if names is None:
        found = frozenset(range(max(filled, default=-1) + 1, width))
    else:
        found = frozenset(j for j, name in enumerate(names) if not name and j not in filled)
    return found if len(found) < width else frozenset()


def _columns_with(kind: str, kinds: Sequence[str], width: int) -> frozenset[int]:
    """Columns with a cell of this kind among the first ones."""
    return frozenset(j for j in range(width) if any(row[j : j + 1] == kind for row in kinds))
