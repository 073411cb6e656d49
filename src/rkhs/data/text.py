"""Tables in text files (csv, tsv), read row by row with the standard library alone.

One parser is used whatever is installed, so a file gives the same numbers and the same errors everywhere.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs._core.files import text_encoding
from rkhs.data.dataset import Table, check_unique_names, column_label, listed, locate, locate_all
from rkhs.data.fast_text import Columns

__all__ = ["TextFile", "found_delimiter", "open_text", "read_numbers", "read_text_columns"]

MIXED = "keep texts and gaps with read_mixed and kernel='mixed_table'"
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
# Digits with separators between them, perhaps a decimal part, a sign, and a unit before or behind.
_GROUPED = re.compile(r"[-+]?[$€£¥]?\s?[-+]?(?:\d{1,3}(?:[,.'’\s]\d{3})+|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?\s?[%‰$€£¥]?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_SMILES = re.compile(r"(?:Cl|Br|[BCNOPSFIbcnops]|\[[^\]\s]+\]|[0-9%=#+()/\\.:@-])+")
_LOOKED_AT = 2**16  # characters that say which character is between the cells
_MANY = 10  # numbers of a first row, from which rounded and falling grids are told too
_BLOCK = 8192  # rows turned into one array at a time, so that the Python floats of a long file are never all alive


class Row(NamedTuple):
    """A data row: its number among the data rows and its last line in the file, both from 1, and its cells."""

    number: int
    line: int
    cells: list[str]


@dataclass(frozen=True)
class TextFile:
    """An open table, read from its first data row on."""

    source: str  # the path
    names: tuple[str, ...] | None  # the column names; None without a header
    width: int  # number of columns
    rows: Iterator[Row]  # the data rows still to be read
    has_row_names: bool | None = None
    whole: Callable[[Collection[int], Collection[str]], Columns | None] | None = None


@dataclass
class _Cells:
    """Cells of one column, and where they stand: rows are numbered without a gap, lines are not."""

    texts: list[str] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    start: int = 1

    def add(self, row: Row, position: int) -> None:
        if not self.texts:
            self.start = row.number
        self.texts.append(row.cells[position].strip())
        self.lines.append(row.line)

    def place(self, i: int) -> str:
        return f"row {self.start + i} (line {self.lines[i]})"


def number_in(text: str) -> float | None:
    """Return the number a cell spells (NaN for a missing value), or None if it spells none."""
    if text.strip().lower() in MISSING:
        return math.nan
    if "_" in text:  # Python would read 1_000 as a number; in a table it is a name
        return None
    try:
        return float(text)
    except ValueError:
        return None


def is_grouped_number(text: str) -> bool:
    """Whether a cell is a number written for people: ``1,101``, ``1 101``, ``1.234.567,8``, ``12 %``, ``$5``."""
    return _GROUPED.fullmatch(text.strip()) is not None and number_in(text) is None


def grouped_advice(text: str) -> str:
    """What to do with a number written for people."""
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        return "write points for decimal commas; pandas reads such files with decimal=','"
    return "remove these"


def are_smiles(cells: Sequence[str]) -> bool:
    """Whether texts look like SMILES: atoms and bonds alone, and a branch or a double bond in half of them."""
    return all(map(_SMILES.fullmatch, cells)) and 2 * sum("(" in cell or "=" in cell for cell in cells) >= len(cells)


def escape_formula(text: str) -> str:
    """A text as a csv cell that no spreadsheet runs: a quote before what begins like a formula, numbers excepted."""
    return f"'{text}" if _begins_formula(text) else text


def csv_line(cells: Iterable[object]) -> str:
    """A row of a csv file: numbers to the last bit, texts that no spreadsheet runs, quoted where that is needed."""
    texts = [escape_formula(cell) if isinstance(cell, str) else repr(cell) for cell in cells]
    quoted = ['"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text for text in texts]
    return ",".join(quoted) + "\n"


def unescape_formula(cell: str) -> str:
    """The name that a cell stands for."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell) else cell


def _begins_formula(text: str) -> bool:
    plain = text.lstrip("'")
    return plain.startswith(("=", "+", "-", "@", "\t", "\r")) and number_in(plain) is None


def found_delimiter(path: Path, usual: str, encoding: str) -> str:
    """The character between the cells: the usual one of the suffix, or another that splits the first lines alike."""
    try:
        with open(path, encoding=text_encoding(encoding), newline="") as handle:
            head = handle.read(_LOOKED_AT)
    except (LookupError, UnicodeError, OSError):  # the reader of the file says what is wrong
        return usual
    lines = [line for line in head.splitlines()[: -1 if len(head) == _LOOKED_AT else None] if line.strip()]
    widths = {mark: _widths(lines, mark) for mark in (usual, ",", ";", "\t", "|")}
    split = widths.pop(usual)
    if (len(split) == 1 and split != {1}) or len(lines) < 2:
        return usual
    others = [mark for mark, found in widths.items() if len(found) == 1 and found != {1}]
    return others[0] if len(others) == 1 else usual


def _widths(lines: list[str], mark: str) -> set[int]:
    """How many cells the lines have; none where they cannot be split."""
    try:
        return {len(cells) for cells in csv.reader(lines, delimiter=mark, strict=True)}
    except csv.Error:
        return set()


def open_text(path: Path, *, delimiter: str, header: bool | None, encoding: str) -> TextFile:
    """Open a delimited file and decide whether its first row holds column names."""
    source = str(path)
    lines = _lines(path, delimiter, encoding)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{source}: expected a table; got an empty file; check that it was written to the end")
    cells = first[1]
    width = len(cells)
    has_names = _first_row_is_names(cells, source) if header is None else header
    if has_names:
        names = tuple(unescape_formula(cell.strip()) for cell in cells)
        check_unique_names(names, source)
        rows = _rows(lines, None, width, source, delimiter)
    else:
        names = None
        rows = _rows(lines, first, width, source, delimiter)
    second = next(rows, None)
    if second is None:
        raise InputError(
            f"{source}: expected data rows below the column names; got the names only; "
            "check the file, or pass header=False if its one row is data"
        )
    return TextFile(source, names, width, chain([second], rows))


def read_numbers(
    file: TextFile,
    *,
    columns: Sequence[object] | None,
    index_column: str | int | None,
    drop_columns: Sequence[object] | None = None,
) -> Table:
    """Read the numeric columns of an open table."""
    wanted = locate_all(columns, file.names, file.width)
    dropped = locate_all(drop_columns, file.names, file.width, "drop_columns") or []
    index = _index_position(file, wanted if wanted is not None else dropped, index_column)
    positions = wanted if wanted is not None else [i for i in range(file.width) if i != index and i not in dropped]
    maybe_index = index is None and (wanted is not None or len(positions) > 1) and 0 not in (*(wanted or []), *dropped)
    if maybe_index and wanted is None:
        positions = positions[1:]
    if not positions:
        raise InputError(f"{file.source}: expected a column besides the row names; got none; check `index_column`")
    if file.whole is not None:
        first = next(file.rows)
        file = replace(file, rows=chain([first], file.rows))
        fast = _at_once(file, first, positions, index, maybe_index=maybe_index, required=wanted is None)
        if fast is not None:
            return fast
    first_cells, numbers = _parse(file, positions, 0 if maybe_index else index)
    row_names = tuple(map(unescape_formula, first_cells.texts)) if index is not None else None
    if maybe_index:
        row_names = _text_index(first_cells, file, required=wanted is None)
        if row_names is None and wanted is None:
            column = _first_column(first_cells, file)
            numbers = np.concatenate([column[:, None], numbers], axis=1)
            positions = [0, *positions]
    return _table(file, numbers, positions, row_names, index)


def _table(
    file: TextFile, numbers: np.ndarray, positions: list[int], row_names: tuple[str, ...] | None, index: int | None
) -> Table:
    column_names = None if file.names is None else tuple(file.names[i] for i in positions)
    title = None if file.names is None or row_names is None else file.names[index or 0] or None
    return Table(numbers, row_names, column_names, title)


def _at_once(
    file: TextFile, first: Row, positions: list[int], index: int | None, *, maybe_index: bool, required: bool
) -> Table | None:
    """The table of :func:`read_numbers` from all columns at once; None where the rows have to be looked at."""
    assert file.whole is not None
    named = maybe_index and number_in(first.cells[0]) is None
    read = [0, *positions] if maybe_index and not named else positions
    found = file.whole([j for j in range(file.width) if j not in read], ())
    if found is None:
        return None
    names = None if index is None else tuple(map(unescape_formula, found.texts[index]))
    if named:
        try:
            names = _text_index(_Cells(found.texts[0]), file, required=required)
        except (InputError, IndexError):  # the rows say where
            return None
    kept = read if required else positions
    return _table(file, np.column_stack([found.numbers[j] for j in kept]), kept, names, index)


def read_text_columns(
    file: TextFile, *, column: str | int, index_column: str | int | None, argument: str
) -> tuple[list[str], tuple[str, ...] | None]:
    """Read one column as text, and the row names."""
    position = locate(column, file.names, file.width, argument)
    index = _index_position(file, [position], index_column)
    texts, names = [], _Cells()
    for row in file.rows:
        texts.append(row.cells[position].strip())
        names.add(row, index or 0)
    if index is not None:
        return texts, tuple(map(unescape_formula, names.texts))
    return texts, None if position == 0 else _text_index(names, file, required=False)


def _lines(path: Path, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    try:
        with open(path, encoding=text_encoding(encoding), newline="") as handle:
            reader = csv.reader(handle, delimiter=delimiter, strict=True)
            for cells in reader:
                yield reader.line_num, cells
    except LookupError as error:
        raise InputError(
            f"`encoding` must be one that Python knows; got {encoding!r}; try 'utf-8' or 'latin-1'"
        ) from error
    except UnicodeError as error:
        raise InputError(
            f"{path}: expected text in {encoding}; got bytes that are not ({error}); pass encoding=, for example "
            "'latin-1', or check that this is a text file"
        ) from error
    except csv.Error as error:
        raise InputError(
            f"{path}: expected a table with {delimiter!r} between cells; got one that cannot be split ({error}, line "
            f"{reader.line_num}); check its quotation marks"
        ) from error


def _rows(
    lines: Iterator[tuple[int, list[str]]], first: tuple[int, list[str]] | None, width: int, source: str, delimiter: str
) -> Iterator[Row]:
    number, blank = 0, 0
    if first is not None:
        number = 1
        yield Row(1, *first)
    for line, cells in lines:
        if not cells:
            blank = blank or line  # blank lines at the end are harmless; between rows they may stand for a lost row
            continue
        if blank or len(cells) != width:
            got = f"a blank line {blank}" if blank else f"{len(cells)} in row {number + 1} (line {line})"
            raise InputError(
                f"{source}: expected {width} cells in every row, as in the first one; got {got}; correct that row, "
                f"or pass delimiter= if {delimiter!r} does not separate the cells"
            )
        number += 1
        yield Row(number, line, cells)


def _first_row_is_names(cells: list[str], source: str) -> bool:
    if not cells:
        raise InputError(f"{source}: expected a table; got a blank first line; remove it")
    values = [number_in(cell) for cell in cells]
    text = [value is None for value in values]
    unnamed_index = not cells[0].strip() and len(cells) > 1
    if all(text[1:]) and (text[0] or unnamed_index):
        return True
    if unnamed_index and _is_grid(values[1:]):
        return True
    if not any(text) and not unnamed_index and not _is_grid(values):
        return False
    raise InputError(
        f"{source}: expected a first row that is clearly names or clearly data; got {listed(list(map(shown, cells)))}; "
        "pass header=True if these are column names, header=False if they are data"
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


def _index_position(file: TextFile, wanted: list[int] | None, index_column: str | int | None) -> int | None:
    if index_column is not None:
        index = locate(index_column, file.names, file.width, "index_column")
        if index in (wanted or []):
            raise InputError(
                f"`index_column` must not be among the columns read or left out; got {index_column!r} in both; remove "
                "it from one of them"
            )
        return index
    unnamed = file.names is not None and file.width > 1 and not file.names[0]
    return 0 if unnamed and 0 not in (wanted or []) else None


def _parse(file: TextFile, positions: list[int], index: int | None) -> tuple[_Cells, np.ndarray]:
    index_cells = _Cells()
    blocks: list[np.ndarray] = []
    block: list[list[float]] = []
    troubles = _Troubles(file)
    for row in file.rows:
        cells = [row.cells[i] for i in positions]
        if index is not None:
            index_cells.add(row, index)
        try:
            numbers = [float(cell) for cell in cells]
        except ValueError:
            troubles.note(row, positions)
            continue
        if not math.isfinite(sum(numbers)) or any("_" in cell for cell in cells):
            troubles.note(row, positions)
        block.append(numbers)
        if len(block) == _BLOCK:
            blocks.append(np.array(block, dtype=np.float64))
            block = []
    troubles.raise_if_any()
    blocks.append(np.array(block, dtype=np.float64).reshape(len(block), len(positions)))
    return index_cells, np.concatenate(blocks)


class _Troubles:
    """The cells that are no finite number, gathered over the file so that one message can name every text column."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.text: dict[int, tuple[Row, str, int]] = {}
        self.missing: tuple[Row, int, str] | None = None
        self.n_missing = 0

    def note(self, row: Row, positions: Sequence[int]) -> None:
        for position in positions:
            cell = row.cells[position]
            value = number_in(cell)
            if value is None:
                where, example, count = self.text.get(position, (row, cell, 0))
                self.text[position] = (where, example, count + 1)
            elif not math.isfinite(value):
                self.n_missing += 1
                self.missing = self.missing or (row, position, cell)

    def raise_if_any(self) -> None:
        names, source = self.file.names, self.file.source
        if self.text:
            described = [
                f"{column_label(names, i)} ({count} cells, first {shown(example)} in row {row.number}, line {row.line})"
                for i, (row, example, count) in sorted(self.text.items())
            ]
            raise InputError(
                f"{source}: expected numbers in every column read; got text in {listed(described)}; {MIXED}, or leave "
                "columns out with drop_columns=[...]; index_column= is for row names, smiles_column= for molecules, "
                "delimiter= if the cells were not split"
            )
        if self.missing is not None:
            row, position, cell = self.missing
            raise InputError(
                f"{source}: expected a finite number in every cell; got {shown(cell)} in row {row.number} (line "
                f"{row.line}), "
                f"{column_label(names, position)} ({self.n_missing} such cells in all); drop these rows, fill the "
                f"cells, or {MIXED}"
            )


def _text_index(cells: _Cells, file: TextFile, *, required: bool) -> tuple[str, ...] | None:
    """The first column as row names if it holds text; `required` says that it must then be usable."""
    numeric = [number_in(cell) is not None for cell in cells.texts]
    known = file.has_row_names
    if (known is None and all(numeric)) or (known is False and (all(numeric) or not required)):
        return None
    label = column_label(file.names, 0)
    grouped = next((cell for cell in cells.texts if is_grouped_number(cell)), None)
    if required and grouped is not None:
        # A column of data must not be lost because its numbers are written for people.
        raise InputError(
            f"{file.source}: expected a number or a name in every cell of {label}; got {shown(grouped)}, a number with "
            f"separators or a unit; {grouped_advice(grouped)}, or pass index_column=0 if the cells are names"
        )
    if required and (any(numeric) or known is False):
        # One mistyped number must not turn a column of data into names.
        position = numeric.index(known is True)
        raise InputError(
            f"{file.source}: expected the first column to be all numbers or all names; got both, "
            f"{shown(cells.texts[position])} in {cells.place(position)} of {label}; correct it, or pass index_column=0 "
            "if they are names"
        )
    if required and not known and are_smiles(cells.texts):
        raise InputError(
            f"{file.source}: a first column of text is taken for row names; got {shown(cells.texts[0])} in {label}, "
            f"which looks like SMILES; read molecules with smiles_column=, or pass index_column=0 if they are names"
        )
    repeated = _first_repeated(cells.texts)
    if repeated is None or (known and not required):
        return tuple(map(unescape_formula, cells.texts))
    if not required:
        return None
    molecules = "read molecules with smiles_column=, " if "smiles" in label.lower() else ""
    raise InputError(
        f"{file.source}: a first column of text is taken for row names, which must differ; got {shown(repeated)} more "
        f"than once in {label}; {molecules}{MIXED}, leave it out with drop_columns=[...], or "
        "pass index_column=0 to use it nevertheless"
    )


def _first_repeated(cells: list[str]) -> str | None:
    seen: set[str] = set()
    for cell in cells:
        if cell in seen:
            return cell
        seen.add(cell)
    return None


def _first_column(cells: _Cells, file: TextFile) -> np.ndarray:
    values = np.array([number_in(cell) for cell in cells.texts], dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"{file.source}: expected a finite number in every cell; got {shown(cells.texts[bad[0]])} in "
            f"{cells.place(int(bad[0]))}, {column_label(file.names, 0)} ({bad.size} such cells in all); drop these "
            f"rows, fill the cells, or {MIXED}"
        )
    return values
