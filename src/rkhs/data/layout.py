"""How a text table is laid out: encoding, character between the cells, what stands above the rows, names of columns."""

from __future__ import annotations

import csv
import math
import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs._core.files import text_encoding
from rkhs.data.dataset import check_unique_names, listed
from rkhs.data.text import GAPS, number_in, unescape_formula

__all__ = ["Layout", "TextOptions", "find_layout"]

_LOOKED_AT = 200  # rows that say how the file is laid out
_CHARACTERS = 2**16
_SPOKEN = {" ": "white space", "\t": "tabulators"}
_MANY = 10  # numbers of a first row, from which rounded and falling grids are told too
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_FORMS = {
    b"\x1f\x8b": "compressed by gzip; gunzip it",
    b"PAR1": "a parquet file; rename it to end in .parquet",
    b"PK\x03\x04": "an archive, as .xlsx, .ods and .zip are; save the sheet as .csv",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save the sheet as .csv",
    b"\x93NUMPY": "a NumPy array; rename it to end in .npy",
    b"%PDF": "a PDF",
}
Row = list[str]


class TextOptions(NamedTuple):
    """What a user says of a text table; None where the file is to say it."""

    header: bool | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str | None = None
    comment: str | None = None
    skip_rows: int | None = None
    missing: Sequence[str] | None = None


@dataclass(frozen=True)
class Layout:
    """Where the rows of a file begin and how they are split."""

    path: Path
    encoding: str
    delimiter: str  # a blank: any white space
    comment: str | None
    missing: frozenset[str]  # cells that stand for nothing, besides the usual ones
    decimal: str = "."
    skip: int = 0  # lines, or quoted rows of several lines, above the first row
    names: tuple[str, ...] | None = None  # of all columns, empty ones for row names and blank columns
    width: int = 0
    blank: frozenset[int] = frozenset()  # columns without name and cells
    words: frozenset[int] = frozenset()  # columns with texts among their first cells
    guessed: tuple[str, ...] = ()  # what was not said by the user, in sentences

    @contextmanager
    def lines(self) -> Iterator[TextIO]:
        """The open file; what is wrong with its bytes becomes an error that says so."""
        try:
            with open(self.path, encoding=self.encoding, newline="") as handle:
                yield handle
        except UnicodeError as error:
            raise InputError(
                f"{self.path}: expected text in {self.encoding.removesuffix('-sig')}; got bytes that are not "
                f"({error}); pass encoding=, for example 'latin-1', or check that this is a text file"
            ) from error

    def split(self, handle: TextIO) -> Iterator[tuple[int, Row]]:
        """Last line and cells of each row, none of a blank line."""
        mark = self.comment
        uncommented = handle if mark is None else (_without_comment(line, mark) for line in handle)
        space = self.delimiter == " "
        source = (line.strip().replace("\t", " ") for line in uncommented) if space else uncommented
        reader = csv.reader(source, delimiter=self.delimiter, skipinitialspace=space, strict=True)
        try:
            for cells in reader:
                yield reader.line_num, cells
        except csv.Error as error:
            raise InputError(
                f"{self.path}: expected a table with {self.delimiter!r} between cells; got one that cannot be split "
                f"({error}, line {reader.line_num}); check its quotation marks"
            ) from error

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Line and cells of each row below the names, blank lines too."""
        with self.lines() as handle:
            yield from islice(self.split(handle), self.skip, None)

    def is_blank(self, cells: Row) -> bool:
        """Whether a row holds no known cell."""
        return all(not cell or cell.isspace() or cell in GAPS or cell in self.missing for cell in cells)

    def place(self, number: int) -> tuple[int, Row]:
        """Line and cells of a row that is counted from 1, without rows that hold nothing."""
        return next(islice((row for row in self.rows() if not self.is_blank(row[1])), number - 1, None))

    def is_even(self) -> bool:
        """Whether all lines have as many delimiters, and no quotation marks: nothing then is to be looked at."""
        if self.delimiter == " " or self.comment is not None or self.width == 1:
            return False
        mark, count = self.delimiter, self.width - 1
        with self.lines() as handle:
            return all(line.count(mark) == count and '"' not in line for line in islice(handle, self.skip, None))

    def check_rows(self) -> int:
        """Refuse rows of another width; the number of rows that hold nothing."""
        empty = pending = number = 0
        for line, cells in self.rows():
            if cells and len(cells) != self.width:
                advice = f"or pass delimiter= if {self.delimiter!r} does not separate the cells"
                if cells[0].startswith("#"):
                    advice = "or pass comment='#' if such lines are comments"
                raise InputError(
                    f"{self.path}: expected {self.width} cells in every row, as in the first one; got {len(cells)} in "
                    f"row {number + 1} (line {line}); correct that row, {advice}, or skip_rows= if rows stand above "
                    "the table"
                )
            if not self.is_blank(cells):
                number, empty, pending = number + 1, empty + pending, 0
            elif cells:
                empty += 1
            else:
                pending += 1  # blank lines at the end are harmless
        return empty


def _without_comment(line: str, mark: str) -> str:
    head = line.partition(mark)[0]
    return line if head == line else head.rstrip() + "\n"


def find_layout(path: Path, options: TextOptions) -> Layout:
    """Look at the first rows of a file; an error says which argument leads on."""
    start, rows, above, guessed = _first_rows(path, options)
    names, body, said = _split_names(rows[above:], rows[above - 1] if above else [], options.header, path)
    guessed += said
    filled = [row for row in body if row]
    if all(map(start.is_blank, filled)):
        raise InputError(
            f"{path}: expected data rows below the column names; got the names only; "
            "check the file, or pass header=False if its one row is data"
        )
    width = len(filled[0]) if names is None else len(names)
    if names is not None and _is_units(filled):
        guessed.append(
            f"the row below the names, {listed([cell for cell in filled[0] if cell], 3)}, is taken for units"
        )
        body = body[body.index(filled[0]) + 1 :]
        filled = filled[1:]
    blank = _blank_columns(names, filled, width)
    if blank:
        guessed.append(f"columns without name and cells are left out: {len(blank)}")
    if names is not None:
        names = [unescape_formula(name) for name in names]
        check_unique_names([name for j, name in enumerate(names) if j not in blank], str(path))
    return replace(
        start,
        skip=len(rows) - len(body),
        names=None if names is None else tuple(names),
        width=width,
        blank=blank,
        words=frozenset(j for row in filled for j, cell in enumerate(row[:width]) if number_in(cell) is None),
        guessed=tuple(guessed),
    )


def _first_rows(path: Path, options: TextOptions) -> tuple[Layout, list[Row], int, list[str]]:
    """The first rows of a file, how they are split, and how many of them stand above the table."""
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    encoding, missing = _encoding(path, options.encoding), frozenset(options.missing or ())
    start = Layout(path, encoding, options.delimiter or usual, options.comment, missing)
    with start.lines() as handle:
        head = list(_first_lines(handle))
    above = options.skip_rows or 0
    if not above and head and head[0].lower().startswith("sep=") and len(head[0].strip()) == 5:
        start, above = replace(start, delimiter=options.delimiter or head[0].strip()[-1]), 1
    elif options.delimiter is None:
        start = replace(start, delimiter=_delimiter(start, head[above:], usual))
    with start.lines() as handle:
        rows = [cells for _, cells in islice(start.split(handle), len(head))]
    start = replace(start, decimal=options.decimal or _decimal(start, rows))
    if start.decimal != ".":  # what follows looks at numbers with points
        rows = [[_with_point(cell, start.decimal) for cell in row] for row in rows]
    sure = options.delimiter is not None or start.delimiter == usual or above > (options.skip_rows or 0)
    split = [] if sure else [f"cells are split at {_SPOKEN.get(start.delimiter, start.delimiter)}"]
    above, said = _rows_above(rows, above) if options.skip_rows is None else (above, [])
    said = split + said + ["numbers are read with decimal commas"] * (options.decimal is None and start.decimal == ",")
    if not any(rows[above:]):
        raise InputError(f"{path}: expected a table; got an empty file; check that it was written to the end")
    return start, rows, above, said


def _split_names(
    rows: list[Row], over: Row, header: bool | None, path: Path
) -> tuple[list[str] | None, list[Row], list[str]]:
    """Names of the columns, the rows below them, and what was guessed."""
    first, width = rows[0], Counter(len(row) for row in rows if row).most_common(1)[0][0]
    behind = _names_behind_mark(over, first, width)
    if header is None and behind is not None:
        return behind, rows, ["the last line that begins with # names the columns"]
    if not (_is_names(first, rows[1:], path) if header is None else header):
        return None, rows, []
    names, body = [cell.strip() for cell in first], rows[1:]
    if len(names) != width - 1 or not all(len(row) == width for row in body if row):
        return names, body, []
    if all(row[-1:] in ([], [""]) for row in body):
        return [*names, ""], body, ["every row ends with a delimiter"]
    return ["", *names], body, ["the first column, without a name, names the rows"]


def _first_lines(handle: TextIO) -> Iterator[str]:
    """Enough lines to see the layout, few of a wide table."""
    seen = 0
    for i, line in enumerate(islice(handle, _LOOKED_AT)):
        yield line
        seen += len(line)
        if seen > _CHARACTERS and i >= 8:
            return


def _encoding(path: Path, asked: str) -> str:
    """The encoding, of a byte order mark first; what is no text is said to be what it is."""
    encoding = text_encoding(asked)
    with open(path, "rb") as handle:
        start = handle.read(8)
        for form, what in _FORMS.items():
            if start.startswith(form):
                raise InputError(f"{path}: expected a text table; got {what}")
        marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
        if marked is not None:
            return marked
        if encoding.startswith(("utf-16", "utf-32")) or not start:
            return encoding
        with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.find(b"\0")
    if place >= 0:
        raise InputError(
            f"{path}: expected text in {asked}; got a NUL character at byte {place}; pass encoding='utf-16-le' if the "
            "text is stored so, or check that this is a text file"
        )
    return encoding


def _delimiter(start: Layout, head: list[str], usual: str) -> str:
    """The character that splits the first rows alike into the most numbers; the usual one where that is no help."""
    found: dict[str, float] = {}
    lines = [line for line in head if line.strip() and not line.startswith("#")]
    for mark in dict.fromkeys((usual, ",", ";", "\t", "|", " ")):
        if found if mark == " " else not any(mark in line for line in lines):
            continue
        try:
            rows = [cells for _, cells in replace(start, delimiter=mark).split(lines)]  # type: ignore[arg-type]
        except InputError:
            continue
        widths = [len(row) for row in rows]
        width = widths[-1] if widths else 1
        above = next((i for i in range(len(widths), 0, -1) if widths[i - 1] != width), 0)
        short = above > 0 and widths[above - 1] in (1, width - 1) and 2 * above <= len(rows) and len(rows) > 2
        if width > 1 and len(rows) > 1 and (above == 0 or (short and above < len(rows))):
            body = [cell for row in rows[max(above, 1) :] for cell in row]
            comma = mark in (",", " ")
            numbers = sum(number_in(c) is not None or (not comma and number_in(c, ",") is not None) for c in body)
            if mark != " " or 2 * numbers >= len(body):
                found[mark] = numbers / len(body) - (0.5 if above and widths[above - 1] != width - 1 else 0.0)
    if not found:
        return usual
    best = [mark for mark, share in found.items() if share == max(found.values())]
    return usual if usual in best or len(best) > 1 else best[0]


def _rows_above(rows: Sequence[Row], above: int) -> tuple[int, list[str]]:
    """How many rows stand above the table: blank ones, comments behind # and titles alone in their row."""
    titles = comments = 0
    while above < len(rows) - 1:
        row, later = rows[above], [row for row in rows[above + 1 :] if any(row)]
        if not later:
            break
        if any(row) and row[0].lstrip().startswith("#") and _is_comment(row, later[0]):
            comments += 1
        elif any(row) and _is_title(row, later):
            titles += 1
        elif any(row):
            break
        above += 1
    said = [f"rows above the table left out: {titles}"] if titles else []
    return above, said + ([f"lines that begin with # left out: {comments}"] if comments else [])


def _is_comment(row: Row, below: Row) -> bool:
    """Whether a row behind # is no row of names or numbers with the width of the next."""
    numbers = any(number_in(cell) is not None for cell in below)
    return len(row) != len(below) or below[0].startswith("#") or (numbers and number_in(row[0].lstrip("# ")) is None)


def _is_title(row: Row, later: Sequence[Row]) -> bool:
    """Whether a row holds one text alone, above two or more names and their rows."""
    filled, below = ([cell for cell in cells if cell.strip()] for cells in (row, later[0]))
    if len(filled) != 1 or not row[0] or number_in(row[0]) is not None or len(later) < 2 or len(later[0]) < 2:
        return False
    alone = len(row) == 1 or len(row) > 2
    return alone and (
        _is_title(later[0], later[1:]) or (len(below) > 1 and all(number_in(cell) is None for cell in below))
    )


def _names_behind_mark(row: Row, first: Row, width: int) -> list[str] | None:
    """Names of columns in the line behind # right above a table of numbers, as NumPy writes them."""
    if not row or not row[0].lstrip().startswith("#") or all(number_in(cell) is None for cell in first):
        return None
    cells = [cell.strip() for cell in row]
    cells = cells[1:] if cells[0] == "#" and len(cells) == width + 1 else [cells[0].lstrip("# "), *cells[1:]]
    return cells if len(cells) == width and all(number_in(cell) is None for cell in cells) else None


def _is_units(body: Sequence[Row]) -> bool:
    """Whether the first row holds texts alone where all later rows hold numbers."""
    if len(body) < 3 or len({len(row) for row in body}) > 1:
        return False
    first, later = body[0], list(zip(*body[1:], strict=True))
    numeric = [j for j, cells in enumerate(later) if all(number_in(cell) is not None for cell in cells)]
    numeric = [j for j in numeric if any(number_in(cell) == number_in(cell) for cell in later[j])]
    texts = [j for j in numeric if number_in(first[j]) is None]
    return bool(texts) and all(j in texts or not first[j].strip() for j in numeric) and 2 * len(texts) > len(numeric)


def _blank_columns(names: list[str] | None, body: Sequence[Row], width: int) -> frozenset[int]:
    """Columns without a name whose cells are all empty; of a table without names those at its end."""
    empty = [j for j in range(width) if all(j < len(row) and not row[j].strip() for row in body if row)]
    if names is None:
        empty = [j for j in empty if set(range(j, width)) <= set(empty)]
    found = frozenset(j for j in empty if names is None or not names[j])
    return found if len(found) < width else frozenset()


def _decimal(start: Layout, body: Sequence[Row]) -> str:
    """A comma where cells of a table that no comma splits are numbers with one, which can be no thousands."""
    if start.delimiter == ",":
        return "."
    cells = [cell.strip() for row in body for cell in row]
    with_comma = [cell for cell in cells if "," in cell and number_in(cell, ",") is not None]
    with_point = any("." in cell and number_in(cell) is not None for cell in cells)
    sure = any(len(cell.partition(",")[2]) != 3 or cell.lstrip("+-").startswith("0,") for cell in with_comma)
    return "," if sure and not with_point else "."


def _with_point(cell: str, decimal: str) -> str:
    return cell.replace(decimal, ".") if number_in(cell, decimal) is not None else cell


def _is_names(cells: Row, body: Sequence[Row], path: Path) -> bool:
    """Whether the first row holds names of columns."""
    values = [number_in(cell) for cell in cells]
    text = [value is None for value in values]
    empty = [not cell.strip() for cell in cells]
    unnamed = empty[0] and len(cells) > 1
    short = bool(body) and all(len(row) == len(cells) + 1 for row in body if row)
    if all(text) or (any(text[1:]) and all(t or e for t, e in zip(text, empty, strict=True))):
        return True
    if (unnamed and _is_grid(values[1:])) or (short and len(body) > 1 and _is_grid(values)):
        return True
    if not any(text) and not unnamed and not _is_grid(values):
        return False
    raise InputError(
        f"{path}: expected a first row that is clearly names or clearly data; got {listed(list(map(shown, cells)))}; "
        "pass header=True if these are column names, header=False if they are data, skip_rows= if rows stand above the "
        "table"
    )


def _is_grid(values: Sequence[float | None]) -> bool:
    """Whether numbers could be the names of columns: 0, 1, 2... or any other equally spaced, increasing grid."""
    grid = np.array([math.nan if value is None else value for value in values])
    if len(grid) < 3:
        return bool(np.array_equal(grid, np.arange(len(grid))))
    with np.errstate(invalid="ignore", over="ignore"):  # of two infinities in a row, and of roundings of large numbers
        steps = np.diff(grid)
        many = len(grid) >= _MANY
        steps = -steps if many and steps[0] < 0.0 else steps
        mean = float(steps.mean())
        unit = next((10.0**-d for d in range(7) if np.allclose(grid, np.round(grid, d), rtol=0.0, atol=1e-9)), 0.0)
        rounding = 1.001 * unit if many and 2.0 * unit <= mean else 0.0  # half of the last digit at each end
        return bool(np.all(steps > 0) and np.allclose(steps, mean, rtol=1e-2 if many else 1e-6, atol=rounding))
