"""Columns of delimited files and of parquet files, through pandas: numbers with gaps, texts, names of rows."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rkhs._core.dates import Day, are_dates, are_months, day_numbers
from rkhs._core.errors import InputError, filtering_warnings, quote, warn
from rkhs.data.columns import many
from rkhs.data.comments import uncommented
from rkhs.data.dataset import Dataset, column_label, listed, locate, locate_all
from rkhs.data.layout import Layout, find_layout
from rkhs.data.text import (
    BOTH_MARKS,
    GAPS,
    MIXED,
    OF_TEXTS,
    SPACES,
    WEAK,
    Doubtful,
    FewWords,
    Measurements,
    Mendable,
    MixedCells,
    are_smiles,
    beyond_range,
    grouped_advice,
    grouped_error,
    is_bound,
    is_gap,
    is_grouped_number,
    is_id_name,
    is_measurement,
    measurements,
    names_rows,
    number_in,
    unescape_formula,
    ungrouped,
    with_unit,
    without_about,
)

_UNITS = "; write the unit in all cells of a column, or in none"
_FILLED = (
    "; a model fills them from the nearest rows: where a word stands for a number, write it in the file; missing=[...] "
    "names words for gaps"
)
_FEW_COLUMNS, _MOST_LISTED = 2, 6  # of which a warning each is no flood; odd texts that a message names to copy
Column = np.ndarray  # numbers with NaN for gaps, or an array of objects: texts, and None for gaps


@dataclass(frozen=True)
class Columns:
    """All columns of a table, or of some of its rows."""

    source: str
    names: tuple[str, ...] | None  # of the columns; None without a header
    cells: list[Column]
    layout: Layout | None = None  # of a text file
    stored: tuple[str, ...] | None = None  # names of rows that a parquet file keeps next to the columns
    stored_title: str | None = None
    start: int = 0  # rows of the file before these
    guessed: tuple[str, ...] = ()
    blank: tuple[int, ...] = ()  # places, from 0, of rows without a known cell, which no number counts

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.cells)

    @property
    def unnamed_first(self) -> bool:
        """Whether a first column without a name holds the names of the rows."""
        blank = self.layout is not None and 0 in self.layout.blank
        return self.names is not None and self.width > 1 and not self.names[0] and not blank

    def chosen(
        self, columns: Any, dropped: Any, index_column: str | int | None, *, named: bool = False
    ) -> tuple[list[int], int | None]:
        """Positions of the columns to read and of that with the names of the rows."""
        positions = self._named(columns, dropped)
        index = self._index(index_column, positions, named=named)
        blank = () if self.layout is None else self.layout.blank
        wanted = (
            positions if columns is not None else [j for j in range(self.width) if j not in {index, *positions, *blank}]
        )
        if not wanted:
            raise InputError(
                f"{self.source}: expected a column besides the row names and those left out; got none; check "
                "`drop_columns` and `index_column`"
            )
        self._refuse_doubtful(wanted)
        if 0 in wanted and self.unnamed_first and self.cells[0].dtype == object:  # texts so far, and data after all
            self.cells[0] = typed(self.cells[0].tolist(), *self._spelling)
        return wanted, index

    def _refuse_doubtful(self, positions: Sequence[int]) -> None:
        """Refuse columns of numbers whose points may separate thousands."""
        for j, cell in () if self.layout is None else self.layout.doubtful.items():
            if j in positions:
                raise Mendable(
                    f"{self.source}: {column_label(self.names, j)}: numbers such as {quote(cell)} are ambiguous; pass "
                    "thousands='.' if points separate thousands, or decimal='.' if they are decimal points",
                    BOTH_MARKS,
                    {"decimal": "."},
                    thousands=".",
                )

    def _index(self, asked: str | int | None, positions: list[int], *, named: bool) -> int | None:
        """Position of the column with the names of the rows: the one asked for, or a first one that nothing else is."""
        if asked is None:
            return 0 if 0 not in positions and (self.unnamed_first or named) else None
        index = locate(asked, self.names, self.width, "index_column")
        if index in positions:
            raise InputError(
                f"`index_column` must not be among the columns read or left out; got {asked!r} in both; remove it "
                "from one of them"
            )
        return index

    def _named(self, columns: Any, dropped: Any) -> list[int]:
        """Positions of the columns that are asked for, or else of those that are to be left out."""
        asked, argument = (dropped, "drop_columns") if columns is None else (columns, "columns")
        return locate_all(asked, self.names, self.width, argument) or []

    @property
    def _spelling(self) -> tuple[str, Collection[str]]:
        """The decimal mark, and the cells that stand for nothing."""
        return (".", ()) if self.layout is None else (self.layout.decimal, self.layout.missing)

    @property
    def _marks(self) -> tuple[str, str | None]:
        """The decimal mark, and that between thousands."""
        return self._spelling[0], None if self.layout is None else self.layout.thousands

    def with_unit(self, cells: Sequence[str | None]) -> tuple[list[float], str] | None:
        """Numbers and the unit that cells of this file have in common."""
        return with_unit(cells, *self._marks)

    def measured(self, position: int) -> Measurements | None:
        """Numbers with a unit and the few other cells of a column, where other arguments are needed to read it."""
        cells = self.cells[position]
        texts = [cell for cell in cells.tolist() if cell is not None] if cells.dtype == object else []
        found = measurements(texts, *self._marks, commas=self.layout is not None and self.layout.delimiter != ",")
        return found if found is not None and (found.others or found.marks) else None

    def refuse_few_words(self, position: int) -> None:
        """Refuse many numbers with one unit among which a few cells are words: they are no classes."""
        if (found := self.measured(position)) is not None:
            raise FewWords(self.source, self.names[position] if self.names else column_label(None, position), found)

    def drop_units(self, positions: Sequence[int]) -> None:
        """Read columns of numbers that all have one unit as numbers, and warn of it."""
        for j in positions:
            found = self.with_unit(self.cells[j].tolist()) if self.cells[j].dtype == object else None
            if found is not None and not are_dates([*filter(None, self.cells[j].tolist())]):  # as 0100 UTC is
                self.cells[j] = np.array(found[0])
                what = f"{column_label(self.names, j)} is read as numbers in {found[1]!r}"
                warn(f"{self.source}: {what}, the unit of all its cells")

    def warn_of_left_out(self, positions: Iterable[int], missing: Iterable[str] | None) -> None:
        """Warn of bounds that are gaps by name, among values to be predicted."""
        gaps = [text for text in missing or () if is_bound(text)]
        if gaps and any(_gaps(self.cells[j], gaps).any() for j in positions):
            sides = " or ".join(sorted({"below" if text[0] in "<\u2264" else "above" for text in gaps}))
            warn(
                f"{self.source}: bounds such as {listed(list(map(quote, gaps)), 3)} are taken as gaps: the model knows "
                f"no values {sides} them, and its errors and intervals say nothing of such items{_other_words(missing)}"
            )

    def titles(self, positions: Sequence[int]) -> tuple[str, ...] | None:
        """Names of some columns, if they have names."""
        return None if self.names is None else tuple(self.names[j] for j in positions)

    def places(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Positions of some columns, if they have no names and are not all."""
        return () if self.names is not None or len(positions) == self.width else tuple(positions)

    def row_names(self, index: int | None) -> tuple[tuple[str, ...] | None, str | None]:
        """Names of the rows and the title of their column."""
        if index is None:
            return self.stored, self.stored_title
        names = tuple(unescape_formula("" if cell is None else str(cell)) for cell in self.cells[index].tolist())
        return names, None if self.names is None else self.names[index] or None

    def may_name_rows(self, columns: Any, dropped: Any, index_column: str | int | None) -> bool:
        """Whether nothing says yet what the first column is, and it is not the only one that could be read."""
        named = {*self._named(columns, dropped), *(() if self.layout is None else self.layout.blank)}
        others = columns is not None or self.width > 1 + len(named)
        positions = index_column is not None or self.stored is not None or self.unnamed_first
        return others and not positions and 0 not in named

    def _first(self) -> tuple[list[Any], bool, int | None]:
        """Texts of the first column, whether it is named as one of names, and the first cell that is no name."""
        texts = self.cells[0].tolist() if self.cells[0].dtype == object else [None]
        titled = self.names is not None and is_id_name(self.names[0])
        strays = (i for i, cell in enumerate(texts) if cell is None or not (titled or number_in(cell) is None))
        return texts, titled, next(strays, None)

    def holds_names(self, *, required: bool, known: bool | None = None) -> bool:
        """Whether the first column is one of row names; an error where measurements would be lost as such."""
        texts, titled, stray = self._first()
        if required and stray is None and known is not False:
            self._refuse_measurements(texts, titled, known)
        if known is None:
            return stray is None and len(set(texts)) == len(texts) and names_rows(texts, titled)
        if known and stray is not None:
            raise InputError(
                f"{self.source}: expected the first column to be all numbers or all names; got both, "
                f"{self.cell(stray, 0)}; correct it, or pass index_column=0 if they are names"
            )
        return known

    def names_first(self) -> bool:
        """Whether the first column is one of row names; a warning where it would be if none of its texts repeated."""
        texts, titled, _ = self._first()
        if None in texts or len(set(texts)) == len(texts) or not names_rows(texts, titled):
            return self.holds_names(required=False)
        name, repeated = self.names[0] if self.names else 0, Counter(texts).most_common(1)[0][0]
        warn(
            Doubtful(
                f"{self.source}: {column_label(self.names, 0)} does not name the rows, since {quote(repeated)} stands "
                f"there more than once; index_column={name!r} takes names that repeat",
                "does so",
                index_column=name,
            )
        )
        return False

    def _refuse_measurements(self, texts: list[Any], titled: bool, known: bool | None) -> None:
        """Refuse a first column of texts that is no column of names."""
        label, advice = column_label(self.names, 0), "pass index_column=0 if they are names"
        start = f"{self.source}: a first column of text is taken for row names"
        measured = not titled and len(texts) < 2 * len(set(texts))  # texts that repeat are classes
        values = [*filter(is_measurement, texts)] if measured else []
        if not known and are_smiles(texts):
            raise InputError(
                f"{start}; got {quote(texts[0])} in {label}, which looks like SMILES; read molecules with "
                f"smiles_column=, or {advice}"
            )
        if values:
            first = ", ".join(map(quote, [*dict.fromkeys(values)][:3]))
            raise MixedCells(
                f"{start} where no cell starts like a number; got {first} "
                f"in {label}, which may be numbers with separators or a unit",
                f"{MIXED if are_dates(values) else grouped_advice(values[0])}, take cells that stand for nothing as "
                f"gaps with missing=[...], leave the column out with drop_columns=[...], or {advice}",
            )
        if not known and len(set(texts)) < len(texts):
            repeated = Counter(texts).most_common(1)[0][0]
            molecules = "; read molecules with smiles_column=" if "smiles" in label.lower() else ""
            raise MixedCells(
                f"{start}, which must differ; got {quote(repeated)} more than once in {label}{molecules}",
                f"{MIXED}, leave it out with drop_columns=[...], or pass index_column=0 to use it nevertheless",
            )

    def numbers(
        self,
        columns: Any = None,
        dropped: Any = None,
        index_column: str | int | None = None,
        known: bool | None = None,
        *,
        gaps: bool = False,
    ) -> Dataset:
        """The numeric columns, all cells known unless gaps are allowed, and the names of the rows."""
        free = self.may_name_rows(columns, dropped, index_column)
        named = free and self.holds_names(required=columns is None, known=known)
        positions, index = self.chosen(columns, dropped, index_column, named=named)
        texts = [j for j in positions if self.cells[j].dtype == object]
        if texts:
            self.refuse_texts(texts, [] if gaps else [j for j in positions if j not in texts])
        self.refuse_gaps(positions, gaps=not gaps)
        values = np.column_stack([self.cells[j] for j in positions])
        names, title = self.row_names(index)
        notes = (f"{column_label(self.names, 0)} names the rows",) if named and known is None else ()
        return Dataset(
            np.ascontiguousarray(values),
            "vectors",
            names,
            self.titles(positions),
            self.source,
            row_title=title,
            guessed=self.guessed + notes,
            blank=self.blank,
            places=self.places(positions),
        )

    def odd_cells(self, position: int) -> list[int]:
        """Rows of a column of texts whose cells are neither numbers nor gaps; all months, such as 03.2019, are none."""
        decimal, cells = self._spelling[0], self.cells[position].tolist()
        months = are_months([cell for cell in cells if cell is not None])
        return [i for i, cell in enumerate(cells) if cell is not None and (months or number_in(cell, decimal) is None)]

    def mostly_numbers(self, position: int) -> bool:
        """Whether most cells of a column of texts are numbers, or some are and all others bounds of numbers."""
        odd, cells = self.odd_cells(position), self.cells[position]
        known = sum(cell is not None for cell in cells.tolist())
        return 2 * len(odd) < known or (len(odd) < known and all(map(is_bound, cells[odd])))

    def days(self, position: int) -> Column | None:
        """A column of texts that all are dates, as days since the first of January 1970; None for other texts."""
        cells = self.cells[position].tolist()
        texts = [cell for cell in cells if cell is not None and cell.lower() not in WEAK]
        try:
            found = day_numbers(texts)
        except InputError as error:
            raise InputError(f"{self.source}: {column_label(self.names, position)}: {error}") from error
        if found is None:
            return None
        self._warn_of_spellings(texts, found, position)
        number = dict(zip(texts, map(Day, found), strict=True))
        return np.array([number.get(cell) for cell in cells], dtype=object)

    def _warn_of_spellings(self, texts: Sequence[str], days: Sequence[float], position: int) -> None:
        """Say how dates in several spellings are read."""
        spellings = {re.sub(r"\d+", "0", re.sub("[A-Za-z]+", "a", text)): text for text in reversed(texts)}
        if len(spellings) > 1:
            read = dict(zip(texts, np.floor(days).astype("int64").astype("datetime64[D]").astype(str), strict=True))
            positions = ", ".join(
                f"{quote(text)} as {read[text]}" for text in sorted(spellings.values(), key=texts.index)
            )
            warn(f"{self.source}: {column_label(self.names, position)}: dates in several spellings: {positions}")

    def _strays(self, position: int) -> list[int]:
        """Rows of a column of numbers whose cells are no numbers, and no marks for gaps."""
        return [i for i in self.odd_cells(position) if self.cells[position][i].lower() not in WEAK]

    def without_strays(self, position: int) -> Column:
        """Numbers of a column, None for its gaps and for its few other cells."""
        strays, decimal = self._strays(position), self._spelling[0]
        label = column_label(self.names, position)
        grouped = [i for i in strays if "pass" in grouped_advice(self.cells[position][i])]
        if grouped:
            i = grouped[0]
            got = f"{len(grouped)} with separators, first {self.cell(i, position, brief=True)}"
            raise grouped_error(f"{self.source}: {label}: expected numbers; got {got}", self.cells[position][i])
        return np.array(
            [c if c is None else number_in(c, decimal) for c in self.cells[position].tolist()], dtype=object
        )

    def of_texts(self, positions: Sequence[int]) -> list[int]:
        """Those of some columns that hold texts, unless all do."""
        texts = [j for j in positions if self.cells[j].dtype == object and not self.mostly_numbers(j)]
        return [] if len(texts) == len(positions) else texts

    def warn_of_strays(self, positions: Sequence[int]) -> None:
        """Warn of cells among numbers that become gaps, of many columns by one sentence."""
        found = {j: strays for j in positions if (strays := self._strays(j))}
        plain = {j: self.cells[j][strays].tolist() for j, strays in found.items() if not self._unit_of(strays, j)}
        together = len(plain) > _FEW_COLUMNS
        for j in found.keys() - plain.keys() if together else found:
            self._warn_of_strays(found[j], j)
        if together:
            counts = Counter(chain.from_iterable(plain.values())).most_common()
            columns = Counter(chain.from_iterable(map(set, plain.values())))
            words = [
                f"{quote(word)} ({many(count, 'cell', 'cells')} in {many(columns[word], 'column', 'columns')})"
                for word, count in counts
            ]
            limits = beyond_range(chain.from_iterable(plain.values())) or _FILLED
            warn(f"{self.source}: cells that are no numbers are read as gaps: {listed(words, 3)}{limits}")

    def _warn_of_strays(self, strays: Sequence[int], position: int) -> None:
        """Warn of cells of a column that become gaps, and of their unit."""
        cells = listed([self.cell(i, position, brief=True) for i in strays], 3)
        unit, label = self._unit_of(strays, position), column_label(self.names, position)
        one, more = (f"cell{unit or ' that is no number'} is", f"cells{unit or ' that are no numbers'} are")
        what = f"{many(len(strays), one, more)} read as gaps: {cells}"
        warn(
            f"{self.source}: {label}: {what}{_UNITS if unit else beyond_range(self.cells[position][strays]) or _FILLED}"
        )

    def refuse_texts(self, positions: Sequence[int], gaps: Sequence[int] = ()) -> None:
        """Raise the error that names columns of text, first those of numbers but for few cells, and those of gaps."""
        nearly = [j for j in positions if self.mostly_numbers(j)]
        others = [j for j in positions if j not in nearly]
        named = [self._described(j, few=j in nearly) for j in [*nearly, *others]]
        units = _UNITS if any(" with the unit " in text for text in named) else self._thousands(others)
        what = f"{self.source}: expected numbers in every column read; got text in {listed(named, 10)}"
        what, leave_out = f"{what}{self._counted_gaps(gaps)}{units}", "or leave columns out with drop_columns=[...]"
        odd = list(dict.fromkeys(chain.from_iterable(self.cells[j][self.odd_cells(j)] for j in nearly)))
        if odd:
            raise MixedCells(what, f"{_of_odd_cells(odd)}, {MIXED}, {leave_out}{OF_TEXTS * bool(others)}", odd)
        names: Any = self.names or range(self.width)
        raise MixedCells(what, f"{MIXED}, {leave_out}{OF_TEXTS}", columns=[names[j] for j in others])

    def _described(self, position: int, *, few: bool) -> str:
        """A column of texts, how many cells hold one, and the first; `few` among numbers."""
        odd = self.odd_cells(position)
        odd = [i for i in odd if self.cells[position][i].lower() not in WEAK] if few else odd
        unit = self._unit_of(odd, position) if few else ""
        first = self.cell(odd[0], position, brief=True)
        others = list(dict.fromkeys(quote(self.cells[position][i]) for i in odd))[1:] if few and not unit else []
        then = f", then {listed(others, 2)}" if others else ""
        return f"{column_label(self.names, position)} ({len(odd)} cells{unit}, first {first}{then})"

    def _unit_of(self, rows: Sequence[int], position: int) -> str:
        """What is said of the unit of several cells of a column of numbers, where they have one."""
        cells = self.cells[position]
        found = self.with_unit([cells[i] for i in rows]) if len(rows) > 1 else None
        return "" if found is None else f" of {len(cells)} with the unit {found[1]!r}"

    def _thousands(self, positions: Sequence[int]) -> str:
        """What reads a column of numbers with marks between thousands and one unit, where there is such a one."""
        for j, mark in product(positions, ",.'’ "):
            cells = [cell for cell in self.cells[j].tolist() if cell is not None]
            if any(mark in cell for cell in cells) and with_unit(cells, self._spelling[0], mark) is not None:
                return f"; pass thousands={mark!r} to read numbers such as {quote(cells[0])}"
        return ""

    def _counted_gaps(self, positions: Sequence[int]) -> str:
        """What is said of columns of numbers with gaps."""
        counts = [(j, int(np.isnan(self.cells[j]).sum())) for j in positions]
        found = [f"{column_label(self.names, j)} ({count})" for j, count in counts if count]
        return f", and gaps in {listed(found, 10)}" if found else ""

    def refuse_gaps(self, positions: list[int], *, gaps: bool = True) -> None:
        """Raise the error that shows the first cell that is missing, where gaps count, or infinite."""
        bad = [np.isinf(self.cells[j]) | (np.isnan(self.cells[j]) & gaps) for j in positions]
        count = sum(int(column.sum()) for column in bad)
        if not count:
            return
        row, j = min((int(column.argmax()), j) for column, j in zip(bad, positions, strict=True) if column.any())
        named = "name them with missing= to take them as gaps" if self.layout is not None else "write gaps for them"
        got = f"got {self.cell(row, j)} ({count} such cells in all)"
        what = f"{self.source}: expected a finite number in every cell; {got}"
        advice = "drop these rows, fill the cells, or"
        if np.isnan(self.cells[j][row]):
            raise MixedCells(what, f"{advice} {MIXED}")
        raise InputError(f"{what}; {advice} {named}")

    def cell(self, row: int, column: int, *, brief: bool = False) -> str:
        """A cell and where it stands."""
        number, label = self.start + row + 1, column_label(self.names, column)
        if self.layout is None:
            names = self.stored
            where = f"row {number}" if names is None else f"row {number} ({quote(names[row])})"
            text = str(self.cells[column][row])
            return f"{quote(text)} in {where}" if brief else f"{text} in {where}, {label}"
        line, cells = self.layout.place(number)
        text = quote(cells[column].strip())
        return f"{text} in row {number}, line {line}" if brief else f"{text} in row {number} (line {line}), {label}"

    def texts(self, position: int) -> list[str]:
        """A column that was read as texts; an empty one where a cell is missing."""
        return ["" if cell is None else str(cell) for cell in self.cells[position].tolist()]


def _of_odd_cells(texts: list[str]) -> str:
    """What to do with the few cells of columns of numbers that are none."""
    listed_texts = texts if len(texts) <= _MOST_LISTED else ""
    grouped = "".join([f"{grouped_advice(text)}, " for text in texts if is_grouped_number(text)][:1])
    return f"{grouped}correct them, name them with missing={listed_texts} to take them as gaps"


def located(raw: Sequence[tuple[Any, str]], names: Sequence[str] | None, width: int) -> set[int]:
    """Positions of columns that are named by these arguments."""
    return {locate(name, names, width, argument) for name, argument in raw if name is not None}


def text_chunks(
    path: Path, options: SimpleNamespace, raw: Sequence[tuple[Any, str]] = (), rows: int | None = None
) -> Iterator[Columns]:
    """A text table, some rows at a time or all at once; columns of `raw`, named by these arguments, are texts."""
    layout = find_layout(path, options)
    texts = located(raw, layout.names, layout.width)
    whole = Columns(str(path), layout.names, [None] * layout.width, layout)  # type: ignore[list-item]
    texts |= {0} if whole.unnamed_first else set()
    guessed, checked, done = layout.guessed, False, 0
    for frame in _frames(layout, texts, rows):
        cells = [_column(frame[j], layout, j, raw=j in texts) for j in range(layout.width)]
        blank = _blank_rows(cells, layout.missing)
        if not checked and (len(blank) or frame[layout.width - 1].isna().any()):
            layout = replace(layout, numbers=frozenset(j for j, c in enumerate(cells) if c.dtype != object))
            guessed, checked = guessed + layout.check_rows(), True  # pandas fills short rows
        if len(frame) > len(blank):
            cells = [np.delete(column, blank) for column in cells]
            yield replace(whole, cells=cells, layout=layout, start=done, guessed=guessed, blank=tuple(blank.tolist()))
            guessed = ()
        done += len(frame) - len(blank)
    if not done:
        raise InputError(f"{path}: expected a number or text in some cell; all cells are empty; check the file")


def _blank_rows(cells: list[np.ndarray], missing: Any) -> np.ndarray:
    """Rows without a known cell."""
    blank = np.flatnonzero(_gaps(cells[-1], missing))
    for column in cells[:-1]:
        blank = blank[_gaps(column[blank], missing)]
    return blank


def _other_words(missing: Iterable[str] | None) -> str:
    """What is said of words for gaps next to bounds; nothing without one."""
    words = [quote(text) for text in missing or () if not is_bound(text)]
    what = f"; the words {listed(words, 3)} are gaps too: one that says so, as inactive does, is such a bound"
    return what if words else ""


def _gaps(cells: Column, missing: Collection[str]) -> np.ndarray:
    """Find where cells hold nothing."""
    if cells.dtype != object:
        return np.isnan(cells)
    return np.array([is_gap(cell) or cell in missing for cell in cells.tolist()], dtype=bool)


def _of_pandas(layout: Layout, texts: Collection[int]) -> dict[str, Any]:
    """How pandas reads a table below its names."""
    import pandas

    # Later versions round correctly by default, and warn if they are asked to.
    exact = {} if int(pandas.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    gaps = [*GAPS, *layout.missing]
    return exact | {
        "header": None,
        "dtype": dict.fromkeys((*texts, *layout.words), object),
        "na_values": {j: gaps for j in range(layout.width) if j not in texts} if texts else gaps,
        "keep_default_na": False,
        "sep": r"\s+" if layout.delimiter == " " else layout.delimiter,
        "decimal": layout.decimal,
        "skip_blank_lines": False,
        "skipinitialspace": True,
        "low_memory": False,
    }


def _frames(layout: Layout, texts: Collection[int], rows: int | None) -> Iterator[Any]:
    import pandas

    with layout.lines() as handle:
        above = layout.split(handle)
        deque(islice(above, layout.skip), maxlen=0)
        source = uncommented(handle, (layout.comment, *layout.foot, layout.ruled), layout.is_comment)
        try:
            found = _strictly(lambda: pandas.read_csv(source, chunksize=rows, **_of_pandas(layout, texts)))
            parts = iter([found] if rows is None else found)
            while (frame := _strictly(lambda: next(parts, None))) is not None:
                if frame.shape[1] != layout.width:
                    layout.check_rows()
                yield frame
        except UnicodeError:
            raise
        except Exception as error:  # rows of another width come first
            layout.check_rows()
            raise InputError(
                f"{layout.path}: expected a table with {layout.delimiter!r} between cells; got one that cannot be "
                f"split ({str(error).strip()}); check its quotation marks"
            ) from error


def _strictly(read: Callable[[], Any]) -> Any:
    """What a function returns; its warnings are errors."""
    with filtering_warnings("error"):
        return read()


def _column(series: Any, layout: Layout, position: int, *, raw: bool) -> Column:
    if series.dtype.kind in "iuf" and series.dtype != object:
        return np.asarray(series.to_numpy(dtype=np.float64))
    cells = [None if cell != cell else str(cell).strip().translate(SPACES) for cell in series.tolist()]
    if layout.thousands is not None and not raw:
        cells = [ungrouped(cell, layout.thousands) for cell in cells]
    where = f"{layout.path}: {column_label(layout.names, position)}"
    return np.array(cells, dtype=object) if raw else typed(cells, layout.decimal, layout.missing, where)


def typed(
    texts: Sequence[str | None], decimal: str = ".", missing: Collection[str] = (), where: str | None = None
) -> Column:
    """Texts as numbers where all are numbers, approximate ones of a file among them, or gaps; no months as 03.2019."""
    texts = texts if where is None else without_about(texts, where, decimal)
    different: set[Any] = set(texts)
    gaps = {*filter(is_gap, different), *different.intersection(missing)}
    numbers = {cell: number_in(cell, decimal) for cell in different - gaps if cell.lower() not in WEAK}
    if None in numbers.values() or are_months([*numbers]):
        return np.array([None if cell in gaps else cell for cell in texts], dtype=object)
    return np.array([numbers.get(cell or "", np.nan) for cell in texts], dtype=np.float64)
