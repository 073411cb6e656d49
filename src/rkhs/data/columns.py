"""What the columns of a table look like: whether they share a unit, and which of them say nothing of an item.

The rules and their thresholds were set on public sets; ``studies/bench/columns.py`` checks them on others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from rkhs._core.dates import are_dates, day_numbers
from rkhs._core.errors import InputError
from rkhs.data import dataset

COUNTS = (
    "The numbers are counts: write log2(1 + x) of each sample divided by its sum, times 1e6, in their place (tutorial "
    '"Expression data").'
)
TENFOLD = 10.0
"""Spreads that differ by more are of columns in different units, or may be."""

_NAMED = 3  # columns with a value far from all others
_FEW = 10  # rows; with fewer, nothing is said of what all values have in common
_CLASSES = 20
_UNIQUE = 0.9  # share of different values among identifiers, some of which may be entered twice
_COMPARED = 500  # columns whose correlations are computed
_USUAL = 5.0  # robust standard deviations from the median; what is farther out is a spike
_APART, _APART_OF_USUAL = 50.0, 3.0  # times as far from the median as any other value; where no other is a spike
_ENOUGH = 100  # values that show what is usual
_CODES = [
    *("9" * digits + end for digits in range(2, 6) for end in ("", "9", "00", ".9", ".99")),
    *("999.25", "9999.25"),
]
_STAND_INS = [
    float(sign + code)
    for sign in ("", "-")
    for code in (*_CODES, *("7" * d for d in range(3, 7)), *("8" * d for d in range(3, 7)))
]
_ROWS_A_SAMPLE, _SAME_SCALE = 20, 3.0  # rows per column, and the ratio of spreads, of tables with samples in columns
_MOST_EMPTY = 20  # columns that are named one by one
_WIDE, _GENES = 500, 50  # columns of a wide table, and of one with more columns than rows, as of transposed genes
_LARGEST_LOG = 30.0  # of counts and intensities, by two
_COUNT = 1000.0  # the largest of counts of reads exceeds it; that of ratings and pixels does not
_SATURATED = 0.05  # share of columns with the largest value of all, as pixels have that are white in some image
_ALIKE, _ROUNDING = 0.999, 0.1  # correlation of copies that are rounded; rounding in standard deviations
_LOOKED_AT = 2000  # rows that show at once that values are too many, or columns not alike

_ID_NAME = re.compile(
    r"(?:^|[\s_.-])(?:id|ID|ids|uid|uuid|guid|key|index|idx|number|code)$|[a-z](?:ID|Id)$"
    r"|(?i:(?:^|[\s_.-])no\.?$|(?:nr|nummer)\.?$)"
    r"|(?i:^(?:account|client|customer|invoice|order|patient|sample|serial|subject|ticket)s?$)"
)
_CLASS_NAME = re.compile(
    r"(?i)(?:^|[\s_.-])(?:class|classes|label|labels|target|species|diagnosis|category|outcome|y)$"
)
_LONG_CODE, _ROUNDED = 1e9, 0.3  # least whole number of a long code; share of multiples of ten of measured numbers
_MANY_ALIKE, _OTHER_SCALE = 10, 3.0  # columns of one pattern of names, and rows; ratio of medians of another scale
_DESCRIBES = re.compile(
    r"(?i)(?:^|[\W_])(?:abundance|anova|average|charge|cv|fill|fold|m/?z|mean|p|q|retention|rt|score|stdev|width)"
    r"(?:[\W_]|$)"
)
_PIXEL = re.compile(r"(?i)(?:(?:column|pixel|px|x|v)?[\s_.-]?\d+(?:x\d+)?)?")  # the name of a pixel, or of a place


@dataclass(frozen=True)
class Spreads:
    """The widest and the narrowest column, by their standard deviations."""

    widest: int  # positions of the columns; constant ones do not count
    narrowest: int
    most: float  # their standard deviations
    least: float

    @property
    def ratio(self) -> float:
        """How many times the one spreads as the other."""
        return self.most / self.least


def spreads(X: np.ndarray) -> Spreads | None:
    """The widest and the narrowest column; None if fewer than two columns vary."""
    known = np.isfinite(X)
    each = [float(X[known[:, j], j].std()) if known[:, j].any() else 0.0 for j in range(X.shape[1])]
    varies = [j for j, one in enumerate(each) if one > 0.0 and np.ptp(X[known[:, j], j]) > 0.0]
    if len(varies) < 2:
        return None
    sd = np.array(each)[varies]
    low, high = int(sd.argmin()), int(sd.argmax())
    return Spreads(varies[high], varies[low], float(sd[high]), float(sd[low]))


def wants_scaling(X: np.ndarray) -> bool:
    """Whether the columns of a table are to be standardised: they differ in spread more than tenfold, and in unit."""
    found = spreads(X)
    return found is not None and found.ratio > TENFOLD and not share_a_unit(X)


def share_a_unit(X: np.ndarray) -> bool:
    """Whether columns look like values of one thing: pixels, points of curves or spectra, steps of series, bits."""
    X = _without_far_rows(X[:, np.ptp(X, axis=0) > 0.0])
    X = X[:, np.ptp(X, axis=0) > 0.0]
    d = X.shape[1]
    if d < 3 or len(X) < 3:
        return False
    bounded = min(_most_common(X.min(0)), _most_common(X.max(0))) >= 0.6
    X = _without_spikes(X)
    sd = X.std(0)
    low, high = np.quantile(sd, [0.1, 0.9])
    ratio = float(np.log10(high / low))
    if bounded and ratio <= 1.5:
        return True
    if d < 13:
        return False
    if d >= max(_WIDE, len(X)) and np.abs(X).max() <= _LARGEST_LOG:
        return True
    centred = X - X.mean(0)
    products = (centred[:, 1:] * centred[:, :-1]).mean(0)
    alike = float(np.median(2.0 * products / (sd[1:] ** 2 + sd[:-1] ** 2)))
    log, steps = np.log(sd), np.diff(np.log(sd))
    smooth = 1.0 if log.var() <= 0.0 else 1.0 - float((steps**2).mean()) / (2.0 * float(log.var()))
    return alike >= 0.5 and (ratio <= 1.0 or smooth >= 0.5)


def _without_far_rows(X: np.ndarray) -> np.ndarray:
    if not X.size:
        return X
    norms = (((X - X.mean(0)) / X.std(0)) ** 2).sum(1)
    return X[norms <= np.quantile(norms, 0.95)]


def _without_spikes(X: np.ndarray) -> np.ndarray:
    """Cut off five robust standard deviations from the median; columns of mostly one value stay as they are."""
    median = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - median), axis=0)
    reach = np.where(spread > 0.0, _USUAL * spread, np.inf)
    return np.clip(X, median - reach, median + reach)


def _most_common(values: np.ndarray) -> float:
    return float(np.unique(values, return_counts=True)[1].max()) / len(values)


class Remark(NamedTuple):
    """A sentence about columns, the names of those that may better be left out, or a number that may be no number."""

    text: str
    leave_out: tuple[str, ...] = ()
    stand_in: float | None = None  # of an empty cell, in these columns
    columns: tuple[str, ...] = ()


class Column:
    """A column: its known cells, texts or numbers, how many of them differ, and what it looks like."""

    def __init__(self, cells: np.ndarray, title: str, *, dated: bool = False) -> None:
        self.title, self.rows, self.is_text, self.places = title, len(cells), False, np.arange(len(cells))
        if cells.dtype == object:
            import pandas

            self.places = np.flatnonzero(pandas.notna(cells))
            known = cells[self.places].tolist()
            self.is_text = any(isinstance(cell, str) for cell in known)
            cells = np.array([_number(cell) for cell in known])
        self.known: Any = known if self.is_text else cells[np.isfinite(cells)]
        self.places = self.places if self.is_text else self.places[np.isfinite(cells)]
        self.different = len(set(self.known)) if self.is_text else len(np.unique(self.known))
        self.kind = "days" if dated else self._text_kind() if self.is_text else self._number_kind()

    def _text_kind(self) -> str:
        if are_dates(self.known):
            return "days"
        if len(self.known) < _FEW or len(self.known) >= 2 * self.different:
            return ""
        return "name" if len(self.known) == self.different else "free"

    def _number_kind(self) -> str:
        if _is_counter(self.known) or (_ID_NAME.search(self.title) and _share_of_different(self.known) >= _UNIQUE):
            return "identifier"
        return "date" if _is_date(self.known) else "identifier" * _are_long_codes(self.known)

    @property
    def is_sparse(self) -> bool:
        """Whether most cells are empty, of a column that is neither an identifier nor of texts that are dates."""
        return 2 * len(self.known) < self.rows >= _FEW and self.kind not in ("identifier", "name", "days")

    @cached_property
    def is_few(self) -> bool:
        """Whether the known cells are a few texts or whole numbers, each of them often."""
        return 2 <= self.different <= _CLASSES if self.is_text else _are_classes(self.known)


# Words for one column of a kind, for several, and then for both.
_WORDS_OF_KINDS = {
    ("identifier", "name"): (
        "looks like identifiers",
        "look like identifiers",
        ": {counted}. They do not describe items; leave them out.",
    ),
    ("date",): (
        "looks like a date",
        "look like dates",
        " and will be read as plain numbers. Leave such columns out, or count days from a start if time matters.",
    ),
    ("days",): (
        "holds dates",
        "hold dates",
        ", read as days since the first of January 1970, or as parts of a day.",
    ),
    ("free",): (
        "holds texts that hardly repeat",
        "hold texts that hardly repeat",
        ": each is a category with hardly any rows, so it predicts nothing about new ones.",
    ),
}


def column_remarks(
    X: np.ndarray, names: Sequence[str], dates: Collection[str] = (), rows: Sequence[str] = ()
) -> list[Remark]:
    """Say which columns look like identifiers, dates, classes, constants or copies of others, or are mostly empty.

    Nothing is said of times of windows, whose file is looked at before it is cut.
    """
    if len(names) and str(names[0]).endswith("+0"):
        return []
    columns = [Column(cells, str(name), dated=name in dates) for cells, name in zip(X.T, names, strict=True)]
    X, titles = as_numbers(X) if X.dtype == object else X, np.array(names, dtype=object)
    remarks = [remark for kinds in _WORDS_OF_KINDS for remark in _of_kind(columns, kinds)]
    remarks += _of_empty([column for column in columns if column.is_sparse])
    remarks += [*_classes(columns), *([] if are_counts(X, names) else _stand_ins(columns, rows))]
    return [*remarks, *_constants(columns), *_copies(X, titles)]


def _constants(columns: list[Column]) -> Iterator[Remark]:
    constant = [column.title for column in columns if column.different == 1]
    if constant:
        yield Remark(f"{many(len(constant), 'column is', 'columns are')} constant ({listed(constant)}).")


def _of_kind(columns: list[Column], kinds: tuple[str, ...]) -> Iterator[Remark]:
    """One remark on all columns of these kinds, if there are any."""
    found = [column for column in columns if column.kind in kinds]
    if not found:
        return
    of_one, of_several, text = _WORDS_OF_KINDS[kinds]
    titles = tuple(column.title for column in found)
    text = text.format(counted=_how_different(found))
    harmful = () if kinds == ("days",) else titles
    yield Remark(f"{listed(titles)} {of_one if len(found) == 1 else of_several}{text}", harmful)


def _how_different(columns: list[Column]) -> str:
    """Whether no value of columns of identifiers stands there twice, and whether they count the rows."""
    if any(column.different < len(column.known) for column in columns):
        return "hardly a value repeats"
    counted = all(column.kind == "identifier" and _is_counter(column.known) for column in columns)
    return "all values differ and count the rows" if counted else "all values differ"


def curve_remarks(X: np.ndarray, names: Sequence[str]) -> list[Remark]:
    """Say which columns beside the values of curves, spectra or images are none of them."""
    columns = [Column(values, str(name)) for values, name in zip(X.T, names, strict=True)]
    known = [j for j, column in enumerate(columns) if column.kind == "identifier"]
    remarks = [Remark(f"{names[j]} looks like an identifier: hardly a value repeats.", (names[j],)) for j in known]
    remarks += list(_classes([column for column in columns if _CLASS_NAME.search(column.title)]))
    shares = X.var(0) / max(float(X.var(0).sum()), 1e-300)
    widest = int(shares.argmax())
    if len(shares) >= 13 and shares[widest] > 0.5 and widest not in known:
        text = f"{names[widest]} holds {shares[widest]:.0%} of the variance, so the model depends mainly on this column"
        remarks.append(Remark(f"{text}. Leave it out if it is no value of the curves.", (names[widest],)))
    return remarks


COPIES = ("row is a copy of an earlier one", "rows are copies of earlier ones")
TWINS = ("molecule has the fingerprint of an earlier one", "molecules have the fingerprint of an earlier one")
ON_BOTH_SIDES = "copies on both sides of a split make errors look too small"
_OF_TWINS = "a map or model of fingerprints takes them for copies"


def row_copies(X: np.ndarray, wording: tuple[str, str] = COPIES, *, least: float = 0.05) -> str:
    """A sentence about rows that are copies of earlier ones, if they are this share of all; else nothing."""
    cells = X.tolist() if X.dtype == object else (row.tobytes() for row in np.ascontiguousarray(X))
    copies = len(X) - len({tuple(row) if isinstance(row, list) else row for row in cells})
    if copies < max(1.0, least * len(X)):
        return ""
    harm = _OF_TWINS if wording is TWINS else ON_BOTH_SIDES
    return f"{many(copies, *wording)}: {harm}."


def repeats_items(kind: str, X: np.ndarray | None) -> bool:
    """Whether equal items are one item measured again, not a combination of a few values that new rows have too."""
    if kind not in ("vectors", "table") or X is None:
        return True
    from rkhs._core.copies import are_measured

    return are_measured(as_numbers(X) if X.dtype == object else X)


def are_counts(X: np.ndarray, names: Sequence[str]) -> bool:
    """Whether a wide table holds counts, as of reads of genes, and no pixels."""
    n, d = X.shape
    if (d < _WIDE and d <= max(n, _GENES)) or 2 * sum(_PIXEL.fullmatch(name) is not None for name in names) > d:
        return False
    known = X[np.isfinite(X)]
    largest = known.max(initial=0.0)
    saturated = (largest == X).any(0).mean() > _SATURATED
    return bool((known >= 0.0).all() and largest > _COUNT and not saturated and (known == np.round(known)).all())


def _stand_ins(columns: list[Column], rows: Sequence[str]) -> Iterator[Remark]:
    """Numbers of nines that are far from all others, as -999 for an empty cell; and a single value far from others."""
    stand_ins: dict[tuple[float, str], list[str]] = {}
    alone: list[Lone] = []
    for column in columns:
        if column.is_text or column.kind in ("identifier", "date", "days") or len(column.known) < _FEW:
            continue
        known, others, labels = (
            column.known,
            column.known[~np.isin(column.known, _STAND_INS)],
            np.array(rows or [""])[column.places * (len(rows) > 0)],
        )
        for value in np.intersect1d(known, _STAND_INS).tolist():
            repeated = "9" in f"{value}" or (known == value).sum() > 1  # a single 8888 is a mistake of typing
            if repeated and (place := _place_of_stand_in(value, others)):
                stand_ins.setdefault((value, place), []).append(column.title)
                known, labels = known[known != value], labels[known != value]
        alone += lone_values(column.title, known, labels)
    yield from _lone(alone)
    for (value, place), found in stand_ins.items():
        text = (
            f"{value:.10g} in {listed(found)} is {place}. If it stands for an empty cell, write an empty cell, or name"
        )
        text = f"{text} it as the file does, --missing={value:.10g}: the model reads it as a number."
        yield Remark(text, stand_in=value, columns=tuple(found))


class Lone(NamedTuple):
    """A single value far from all others of a column, perhaps with its row."""

    title: str
    value: str
    row: str

    @property
    def place(self) -> str:
        """The value and its row."""
        return f"{self.value} in {self.row}" if self.row else self.value

    @property
    def text(self) -> str:
        """A sentence on the value."""
        return f"{self.title} holds one value far from all others, {self.place}: is it a mistake of typing?"


def lone_values(title: str, known: np.ndarray, rows: Sequence[str] | np.ndarray = ()) -> Iterator[Lone]:
    """A single value far from all others, or far in the logarithm where all are positive."""
    logs = np.log(known) if (known > 0.0).all() else known
    for end in (known.min(), known.max()) if len(known) >= _FEW else ():
        if (known == end).sum() == 1 and any(_is_alone(values, known != end) for values in (known, logs)):
            yield Lone(title, f"{end:,.7g}", rows[int(np.argmax(known == end))] if len(rows) else "")


def _lone(found: list[Lone]) -> Iterator[Remark]:
    """One sentence of a row with values far from all others in several columns, and a few of the other values."""
    of_rows: dict[str, list[Lone]] = {}
    for one in found:
        of_rows.setdefault(one.row or one.title, []).append(one)
    single: list[Lone] = []
    for row, some in of_rows.items():
        if len(some) <= _NAMED:
            single += some
            continue
        titles = listed([one.title for one in some])
        yield Remark(f"{row} holds values far from all others in {len(some)} columns ({titles}): is the row wrong?")
    yield from (Remark(one.text) for one in single[:_NAMED])
    if rest := [f"{one.title} ({one.place})" for one in single[_NAMED:]]:
        yield Remark(f"{len(rest)} more values stand far from all others of their columns: {listed(rest)}.")


def _is_alone(values: np.ndarray, others: np.ndarray) -> bool:
    """Whether the value that is none of the others is many times as far from the median as any of them."""
    from_median = np.abs(values - np.median(values))
    farthest = float(from_median[others].max(initial=0.0))
    usual = len(values) >= _ENOUGH and farthest <= _USUAL * 1.4826 * np.median(from_median)
    return bool(from_median[~others].max() > (_APART_OF_USUAL if usual else _APART) * farthest > 0.0)


def _place_of_stand_in(value: float, others: np.ndarray) -> str:
    """Where a number of nines stands, if it is alone there: far from all others, which vary, or below zero."""
    if not len(others) or not np.ptp(others) > 0.0:
        return ""
    if np.abs(others - value).min() > 0.5 * np.ptp(others):
        return "far from all other values"
    return "the only value below zero" if value < 0.0 <= others.min() else ""


def as_numbers(cells: np.ndarray) -> np.ndarray:
    """Numbers of a table of objects, shape (n, d); NaN for texts and gaps."""
    return np.array([[_number(cell) for cell in row] for row in cells]).reshape(cells.shape)


def _number(cell: Any) -> float:
    return float(cell) if isinstance(cell, (int, float, np.integer, np.floating)) else float("nan")


def _of_empty(columns: list[Column]) -> list[Remark]:
    """What is said of columns that are mostly empty, of very many by one sentence."""
    if len(columns) <= _MOST_EMPTY:
        return [_mostly_empty(column) for column in columns]
    return [Remark(f"{len(columns)} columns are mostly empty: {listed([column.title for column in columns])}.")]


def _mostly_empty(column: Column) -> Remark:
    n, few = column.rows, 2 <= column.different <= _CLASSES
    what = "looks like a class that is known for few rows" if few else "is mostly empty"
    return _may_be_wanted(column.title, f"{what}: {n - len(column.known)} of {n} cells are empty")


def _may_be_wanted(name: str, reason: str) -> Remark:
    text = f"{name} {reason}. The model reads it like any other column; leave it out if it is what you want to predict."
    return Remark(text, (name,))


def _is_counter(values: np.ndarray) -> bool:
    """Whole numbers, all different, in order or without large holes."""
    if _share_of_different(values) < 1.0:
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all() or values.max() - values.min() < 1.5 * len(values))


def identifier(X: np.ndarray, names: Sequence[str]) -> str:
    """The first column, by name, of whole numbers that is named as one of identifiers and hardly repeats one; or ''."""
    columns = zip(names, X.T, strict=True)
    named = (Column(cells, name) for name, cells in columns if _ID_NAME.search(name))
    return next((column.title for column in named if column.kind == "identifier"), "")


def clock(days: Mapping[int, np.ndarray]) -> list[int]:
    """The first column of dates, by position, and one of times of the day next to it if it has none itself."""
    timed = [j for j, one in days.items() if np.nanmin(one) >= 0.0 and np.nanmax(one) <= 1.0]  # 24:00 is 1
    first = sorted(days.keys() - timed, key=[*days].index)[:1]
    whole = [j for j in first if np.nanmax(days[j] % 1.0) == 0.0]
    return first + [k for j in whole for k in (j + 1, j - 1) if k in timed][:1]


def named_times(names: Sequence[str]) -> np.ndarray | None:
    """Days of names that are all dates; None of others, or where a day could be a month."""
    with suppress(InputError):
        found = day_numbers(names) if names and are_dates(names[:_FEW]) else None
        return None if found is None else np.array(found)
    return None


def _share_of_different(values: np.ndarray) -> float:
    """The share of different values among many whole numbers; zero for others."""
    whole = len(values) >= _FEW and bool((values == np.round(values)).all())
    return len(np.unique(values)) / len(values) if whole else 0.0


def _are_long_codes(values: np.ndarray) -> bool:
    """Whether whole numbers of ten digits or more all differ, are about as large, and are not rounded."""
    if _share_of_different(values) < 1.0 or values.min() < _LONG_CODE:
        return False
    return bool(values.max() < 100.0 * values.min() and (values % 10.0 == 0.0).mean() < _ROUNDED)


def _is_date(values: np.ndarray) -> bool:
    """Whether whole numbers are days written as 20240131, or seconds or milliseconds since 1970, after 1990."""
    if len(values) < _FEW or (values != np.round(values)).any() or len(np.unique(values)) < 3:
        return False
    return _are_written(values) or any(
        bool(((values > 631e6 * unit) & (values < 2.2e9 * unit)).all()) for unit in (1.0, 1e3)
    )


def _are_written(values: np.ndarray) -> bool:
    """Whether whole numbers are days written as 20240131."""
    days, months = values % 100, values // 100 % 100
    written = (values >= 19000101) & (values <= 21001231) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool(written.all())


def _classes(columns: list[Column]) -> Iterator[Remark]:
    """A column of few values that is named for a class, or may be one without such a name."""
    others = [column for column in columns if column.kind in ("", "free") and not column.is_sparse]
    unnamed = _unnamed_class(others)
    for column in others:
        if column.is_few and (_CLASS_NAME.search(column.title) or column is unnamed):
            values = f"{column.different} different {'texts' if column.is_text else 'whole numbers'}"
            yield _may_be_wanted(column.title, f"looks like a class: {values}")


def _unnamed_class(columns: list[Column]) -> Column | None:
    """The only column of a few whole numbers, nearly all in a row, if it is the first or the last of three or more."""
    found = [column for column in columns if column.is_few and not column.is_text]
    at_an_end = len(found) == 1 and len(columns) > 2 and found[0] in (columns[0], columns[-1])
    return found[0] if at_an_end and np.ptp(found[0].known) < 2 * found[0].different else None


def _are_classes(values: np.ndarray) -> bool:
    """Whether many values are a few whole numbers."""
    start = np.unique(values[:_LOOKED_AT])
    if len(values) < _FEW or len(start) > _CLASSES or (start != np.round(start)).any():
        return False
    different = np.unique(values)
    return 2 <= len(different) <= _CLASSES and bool((different == np.round(different)).all())


def _copies(X: np.ndarray, titles: np.ndarray) -> Iterator[Remark]:
    """Columns that are a multiple of an earlier one, and a constant."""
    whole = np.flatnonzero(np.isfinite(X).all(0))
    varies = whole[np.ptp(X[:, whole], axis=0) > 0.0] if len(X) >= _FEW else whole[:0]
    if not 2 <= len(varies) <= _COMPARED:
        return
    with np.errstate(invalid="ignore"):  # columns that vary in later rows alone
        alike = np.triu(np.abs(np.corrcoef(X[:_LOOKED_AT, varies].T)) > _ALIKE, 1)
    pairs = [(int(varies[j]), int(varies[alike[:, j].argmax()])) for j in np.flatnonzero(alike.any(0))]
    copies = [pair for pair in pairs if _is_copy(*X[:, pair].T)]
    for copy, first in copies[:_FEW]:
        how = "a copy of" if np.array_equal(X[:, copy], X[:, first]) else "a copy in another unit of"
        text = f"{titles[copy]} is {how} {titles[first]}, which then counts twice. Leave one of them out."
        yield Remark(text, (titles[copy],))
    if len(copies) > _FEW:
        yield Remark(f"{len(copies) - _FEW} more columns are copies of others.")


def _is_copy(y: np.ndarray, x: np.ndarray) -> bool:
    """Whether a column is a multiple of another and a constant, up to the rounding of both."""
    slope = np.sign(np.corrcoef(x, y)[0, 1]) * y.std() / x.std()
    off = float(np.abs(y - y.mean() - slope * (x - x.mean())).max())
    return off <= 1e-5 * y.std() or (off <= _rounding(y) + abs(slope) * _rounding(x) and off < _ROUNDING * y.std())


def _rounding(values: np.ndarray) -> float:
    """Half of the last decimal place of numbers with at most four; zero for others."""
    steps = (10.0**-k for k in range(5))
    return next((0.51 * step for step in steps if np.allclose(values / step, np.round(values / step), 0, 1e-6)), 0.0)


def samples_remark(X: np.ndarray, rows: Sequence[str] | None, names: Sequence[str] | None) -> str:
    """What is said of a table with many named rows and a few columns on one scale that rise together."""
    n, d = X.shape
    if n < _ROWS_A_SAMPLE * d or d < 4 or rows is None or names is None:
        return ""
    found = spreads(X)
    if found is None or found.ratio > _SAME_SCALE or np.median(np.corrcoef(X.T)) < 0.5:
        return ""
    return (
        f"the {n} rows have names, and the {d} columns look like samples, such as {', '.join(names[:3])}: if these are "
        "the items, as where genes stand in rows, pass --transpose (in Python: the transposed table)"
    )


def many(count: int, one: str, more: str) -> str:
    """A number with its noun and verb."""
    return f"{count} {one if count == 1 else more}"


def rounded(number: float) -> str:
    """Two digits, without an exponent where it can be read without."""
    return f"{float(f'{number:.2g}'):,.0f}" if number < 1e6 else f"{number:.1e}"


def listed(names: Sequence[str] | np.ndarray) -> str:
    """The first five names, each at most 40 letters long, and how many more there are."""
    return dataset.listed([name if len(name) <= 40 else f"{name[:37]}..." for name in map(str, names)])


def _named_alike(names: Sequence[str]) -> np.ndarray:
    """Which names share the first or the last part that most have, digits aside; none where these are a minority."""
    parts = [re.split(r"[\W_]+", re.sub(r"\d+", "0", name)) for name in names]
    places = [np.array([part[k] for part in parts]) for k in (0, -1)]
    shared = [place == Counter(place.tolist()).most_common(1)[0][0] for place in places]
    alike = max(shared, key=np.sum) & np.array([any(part) for part in parts])
    return alike & (2 * alike.sum() >= len(names))


def unlike_columns(names: Sequence[str], X: np.ndarray) -> list[str]:
    """Columns named unlike the many of one pattern, which hold other numbers than these or have a usual title."""
    from scipy.stats import rankdata

    if min(len(names), len(X)) <= _MANY_ALIKE or not (alike := _named_alike(names)).any():
        return []
    numbers = np.abs(np.nan_to_num(X))
    centres, ranks = np.median(numbers, axis=0), rankdata(numbers, axis=0)
    with np.errstate(invalid="ignore"):
        related = np.nan_to_num(np.corrcoef(ranks.T, np.median(ranks[:, alike], axis=1))[-1, :-1])
    low, high = centres[alike].min() / _OTHER_SCALE, centres[alike].max() * _OTHER_SCALE
    other = (centres < low) | (centres > high) | (related < related[alike].min() / 2.0)
    titled = np.array([bool(_DESCRIBES.search(name)) for name in names])
    return [*compress(names, ~alike & (other | titled))]
