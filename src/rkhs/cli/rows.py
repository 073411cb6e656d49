"""How rows of a file are named in what is printed and written: by their names, or by numbers from 1."""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress
from typing import Any, TypeVar

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.dates import day_numbers
from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.corrections import quiet
from rkhs.cli.frames import pandas_call as pandas_call, written as written
from rkhs.data import writers
from rkhs.data.columns import as_numbers, column_remarks, unlike_columns
from rkhs.data.dataset import (
    LEFT_OUT as LEFT_OUT,
    Dataset,
    column_label,
    is_table,
    keep_rows as keep_rows,
    listed,
    titles_of,
)
from rkhs.data.known_columns import read_column, short_names, times_of_rows
from rkhs.data.series_files import AXES_NOTE
from rkhs.data.text import Doubtful, Mendable, Note
from rkhs.data.written_dates import written_dates

_REGULAR, _SPARSE, _OFF = 0.95, 2.0, 0.05  # share of equal steps, places for each row at most, part of a step of error
_RUN, _RARE = 4, 0.05  # equal values in a row that are noted at least; share of windows that may have as many
_FILLED = 0.1  # share of the cells of a window, and of its length in a row, that may be filled
T = TypeVar("T")

_TOTAL = re.compile(r"(?i)\W*(?:grand[\s-]|sub-?)?(?:totals?|sums?|summe|gesamt|suma|totale)\W*")
_GAPS = 0.1  # share of the rows of a table that are left out for their gaps where its columns are the items
_AXIS, _DECADES = 8, 1000.0  # numbers of a column that may be an axis; range of numbers whose logarithm is usual
PER_MILLION, PER_MILLION_WORDS = "numpy.log2(1 + 1e6 * {})", "logarithms, log2 of 1 + counts per million of the item,"
_BELOW = 3  # rows at the end of a table, one of which may hold totals
_SUMS = 0.5  # share of the columns of numbers of a row of totals that are sums
_OF_GENES = ("Chr", "Start", "End", "Strand", "Length")
APART = "apart"  # in place of rows: those that fit_robust says stand apart


def row_labels(data: Dataset) -> list[str]:
    """What a row is called in sentences."""
    names = data.row_names or data.smiles
    return [f"row {number}" for number in data.row_numbers] if names is None else list(names)


def short_labels(data: Dataset) -> tuple[str, ...]:
    """What a row is called in a picture."""
    return short_names(row_labels(data))


def named_rows(data: Dataset) -> str:
    """What to put behind a list of rows: from which number they count, where they have no names."""
    return "" if data.row_names or data.smiles else " (rows count from 1)"


def label_columns(data: Dataset) -> tuple[tuple[str, ...], str | None]:
    """What stands next to the rows of a file, and its title: names, else SMILES, else numbers from 1."""
    if data.row_names is not None:
        return data.row_names, data.row_title
    return (tuple(map(str, data.row_numbers)), "row_from_1") if data.smiles is None else (data.smiles, "smiles")


def write_number_parts(
    path: str | None,
    parts: Iterable[tuple[np.ndarray, Dataset]],
    titles: Sequence[str] | None = None,
    *,
    numbered: bool = False,
) -> tuple[int, int]:
    """Write numbers by the names of their rows, or what numbers these, or print them; how many rows, and columns."""
    first, parts = peeked(parts)
    if path is not None and path.lower().endswith(".npy"):
        return writers.write_parts(path, ((X, None) for X, _ in parts))

    def names(data: Dataset) -> tuple[tuple[str, ...] | None, str | None]:
        return label_columns(data) if numbered or data.smiles is not None else (data.row_names, data.row_title)

    return writers.write_parts(path, ((X, names(data)[0]) for X, data in parts), titles, names(first[1])[1])


def peeked(parts: Iterable[T]) -> tuple[T, Iterator[T]]:
    """The first of several, and all of them."""
    rest = iter(parts)
    first = next(rest)
    return first, chain([first], rest)


def warn_of_totals(args: argparse.Namespace, data: Dataset) -> None:
    """Warn of a row of totals at the end of a table, and those below it, that no flag leaves out."""
    word, rows = _total_rows(data)
    out = [*filter(None, (getattr(args, "leave_out", None) or "").split(","))]
    if set(rows) - set(out):
        what = f"{data.source}: the row {quote(word)} holds the sums of those above it: delete it in the file, with"
        warn(Doubtful(f"{what} all below, if it is no item", "leaves it out", leave_out=[*out, *rows]))


def _total_rows(data: Dataset) -> tuple[str, list[str]]:
    """The word for a total in a row at the end that holds sums, and that row and those below, as flags name them."""
    some = data.kind in ("table", "vectors") and data.n_samples > _BELOW
    for i in range(data.n_samples - _BELOW, data.n_samples) if some else ():
        if (word := _total(data, i)) and _holds_sums(as_numbers(data.X[: i + 1])):
            return word, [*map(str, (data.row_names or data.row_numbers)[i:])]
    return "", []


def _holds_sums(X: np.ndarray) -> bool:
    """Whether the last row holds the sums of the others in half of the columns."""
    sums = np.nansum(X[:-1], axis=0)
    known = np.isfinite(X[-1]) & (sums != 0.0)
    return bool(known.any() and np.isclose(X[-1], sums, rtol=1e-4)[known].mean() >= _SUMS)


def _total(data: Dataset, row: int) -> str:
    """The word for a total in a row; empty without one."""
    texts = [*(data.row_names or ())[row : row + 1], *(cell for cell in data.X[row].tolist() if isinstance(cell, str))]
    return next(filter(_TOTAL.fullmatch, texts), "")


def with_progress(parts: Iterable[T], done: Callable[[T], int], n: int | None = None) -> Iterator[T]:
    """Parts of a file, with a line for people that says how many rows are done, of ``n`` where that is known."""
    from rkhs.protocols import hide, show

    quote, started = sys.stderr.isatty(), time.perf_counter()
    for part in parts:
        yield part
        count = done(part)
        if quote:
            of = "" if n is None else f" of {n}"
            show(f"{count}{of} rows", time.perf_counter() - started, 0.0 if n is None else count / n)
    if quote:
        hide()


def transposed(data: Dataset, args: argparse.Namespace) -> Dataset:
    """A table whose columns are the items, without its few rows with gaps, or series whose last axis is time."""
    if data.kind == "series" and data.source.endswith((".npy", ".npz")):
        turned = [np.ascontiguousarray(one.T) for one in data.items]
        note = AXES_NOTE.replace("that of channels", "time").format(*turned[0].shape)
        return replace(data, X=np.fromiter(turned, object), guessed=(note,))
    if data.kind not in ("vectors", "table"):
        raise InputError(
            f"--transpose is for tables of numbers and for arrays of series; got {data.kind}; leave it out"
        )
    if getattr(args, "of_model", None) is None or data.kind == "table":
        _check_described(data)
    names, X = _of_each_name(data, as_numbers(data.X) if data.kind == "table" else data.X)
    read: Sequence[str] | None = getattr(args, "of_model", None)
    kept = _without_gaps(data, names, X, read, filled=getattr(args, "filled", None))
    if read is None:
        _note_decades(data, args, X)
    columns = None if names is None else tuple(compress(names, kept.tolist()))
    found = replace(data, column_names=columns)
    return _turned(found, data.column_names, X[kept].T.copy(), filled=getattr(args, "filled", None))


def _turned(data: Dataset, row_names: tuple[str, ...] | None, items: np.ndarray, *, filled: bool | None) -> Dataset:
    """Items that were columns of a file: numbers, or a table where some are unknown."""
    whole = bool(np.isfinite(items).all()) and not filled
    return replace(
        data,
        X=items if whole else np.where(np.isfinite(items), items, np.array(None)),
        kind="vectors" if whole else "table",
        row_names=row_names,
        skipped=(),
        blank=(),
        row_title=None,
        places=(),
        column_title=data.row_title or "",
    )


def names_of_rows(data: Dataset) -> tuple[str | int | None, str]:
    """The column that names the rows of a table whose columns are the items, and why; None where no column does."""
    titles = data.column_names
    if data.row_names is not None or data.kind not in ("vectors", "table") or not is_table(data.source):
        return None, ""
    if (name := _names_in_texts(data)) is not None:
        return name, f"column {quote(name)} names the rows of the file, as its texts hardly repeat"
    if data.n_samples < _AXIS or data.X.shape[1] < 2 or not _holds_axis(data):
        return None, ""
    label = column_label(titles, 0)
    return (titles or (0,))[0], f"{label} names the rows of the file, as its numbers are those of an axis"


def _names_in_texts(data: Dataset) -> str | None:
    """The first column of texts that hardly repeat."""
    if data.kind != "table" or data.column_names is None:
        return None
    columns = zip(data.column_names, data.X.T.tolist(), strict=True)
    return next((name for name, cells in columns if _hardly_repeat(cells)), None)


def _hardly_repeat(cells: list[Any]) -> bool:
    """Whether all cells are texts, most of them different."""
    return set(map(type, cells)) == {str} and len(cells) < 2 * len(set(cells))


def _holds_axis(data: Dataset) -> bool:
    """Whether numbers of the first column rise or fall, in equal steps or below a title unlike the others."""
    titles = data.column_names or ("", "")
    steps = np.diff(as_numbers(data.X[:, :1])[:, 0])
    shapes = [re.sub(r"\d+", "0", title) for title in titles]
    unlike = shapes[0] not in shapes[1:] or np.allclose(steps, steps.mean(), rtol=1e-3)
    return titles[0] not in data.dates and unlike and bool((steps > 0.0).all() or (steps < 0.0).all())


def _of_each_name(data: Dataset, X: np.ndarray) -> tuple[tuple[str, ...] | None, np.ndarray]:
    """Names of rows and numbers, NaN for gaps; means of the rows whose names repeat, which no other file can match."""
    names = data.row_names
    places = {name: i for i, name in enumerate(dict.fromkeys(names or ()))}
    if names is None or len(places) == len(names):
        return names, X
    name, count = Counter(names).most_common(1)[0]
    what = f"{len(names) - len(places)} rows of the file repeat the name of another, as {quote(name)}, of {count} rows"
    warn(f"{data.source}: {what}: the means of such rows are read")
    rows, known = [places[name] for name in names], np.isfinite(X)
    sums, counts = np.zeros((2, len(places), X.shape[1]))
    np.add.at(sums, rows, np.where(known, X, 0.0))
    np.add.at(counts, rows, known)
    return tuple(places), np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0.0)


def _without_gaps(
    data: Dataset, names: Sequence[str] | None, X: np.ndarray, read: Sequence[str] | None, *, filled: bool | None
) -> np.ndarray:
    """Which rows are read: those without gaps where few have some, or else all, whose gaps are filled."""
    gaps = ~np.isfinite(X).all(axis=1)
    lacking = list(compress(names or map("row {}".format, data.row_numbers), gaps.tolist()))
    needed = [name for name in lacking if name in set(read)] if read and names else lacking
    if filled:
        return np.ones(len(X), bool)
    if not needed:
        return ~gaps
    what = f"{data.source}: {len(needed)} of {len(gaps)} rows of the file have cells without a number"
    if read is not None:
        raise InputError(f"{what}, which the model reads: {listed(needed, 3)}; fill these cells")
    many = len(lacking) > _GAPS * len(gaps)
    warn(f"{what} and are {('left out', 'filled from the nearest items')[many]}: {listed(lacking, 3)}")
    return ~gaps | many


def _note_decades(data: Dataset, args: argparse.Namespace, X: np.ndarray) -> None:
    """Note positive numbers over several decades, as intensities and counts are, of items that are columns."""
    values = X[np.isfinite(X)]
    positive = values[values > 0.0]
    if values.min() < 0.0 or positive.max(initial=0.0) <= _DECADES * positive.min(initial=np.inf):
        return
    if values.mean() > 2.0 * np.median(values):
        log = f"numpy.{'log1p' if values.min() == 0.0 else 'log2'}(t[n])"
        what, whose = f"from {positive.min():.3g} to {positive.max():.3g}, as intensities", "logarithms"
        if (values == np.round(values)).all():
            log, what, whose = PER_MILLION.format("t[n] / t[n].sum()"), "over decades, as counts", PER_MILLION_WORDS
        what = f"its numbers run {what} do, whose {whose} are usually read"
        warn(Note(f"{data.source}: {what}; {written(data, args, log)}"))


def _check_described(data: Dataset) -> None:
    """Refuse columns of texts, dates and gaps, with others that are no items; warn of these alone."""
    names, X = data.column_names or [*map(str, data.places or range(data.X.shape[1]))], as_numbers(data.X)
    texts = _columns_of_texts(data, names, X) if data.kind == "table" else []
    genes = [*filter(names.__contains__, _OF_GENES)] if "Chr" in texts else []
    items = [name not in {*texts, *genes} for name in names]
    others = [*_repeated(names), *unlike_columns([*compress(names, items)], X[:, items])] if data.column_names else []
    out = list(dict.fromkeys([*texts, *genes, *others]))
    if texts:
        every, found = len(out) == len(names), listed([*map(quote, texts)])
        what = f"--transpose is for tables of numbers; got columns of texts or gaps, {found}{'; leave it out' * every}"
        raise Mendable(what, "reads the others", drop_columns=out * (not every))
    if others:
        what = f"{data.source}: columns that may describe the rows of the file, and are read as items"
        warn(Doubtful(f"{what}: {listed([*map(quote, others)])}", "leaves them out", drop_columns=others))


def _repeated(names: Sequence[str]) -> list[str]:
    """Names that stand in the file more than once, where these are less than half: later ones have a number behind."""
    base = {name: re.sub(r"\.\d+$", "", name) for name in names}
    found = {base[name] for name in names if base[name] != name and base[name] in base}
    repeated = [name for name in names if base[name] in found]
    return repeated if 2 * len(repeated) < len(names) else []


def _columns_of_texts(data: Dataset, names: Sequence[str], X: np.ndarray) -> list[str]:
    """Names of the columns that hold texts, dates or nothing."""
    known = np.isfinite(X).any(axis=0)
    return [
        name
        for name, some, cells in zip(names, known, data.X.T.tolist(), strict=True)
        if name in data.dates or not some or any(isinstance(cell, str) for cell in cells)
    ]


def windows(
    data: Dataset, length: int, step: int, options: dict[str, Any], read: Sequence[str] | None = None
) -> Dataset:
    """Items of rows that follow each other, of one long series: all values of a column, then those of the next."""
    check_count(length, "--window", at_least=2)
    check_count(step, "--step", at_least=1)
    names, X = _columns_cut(with_clock(data), read)
    _note_columns(data, names, X, read)
    X, numbers, times = _with_gaps(X, data, options, math.gcd(length, step))
    if len(X) < length + step:
        raise InputError(f"--window and --step must leave at least two windows; got {len(X)} rows; take smaller values")
    starts = np.arange(0, len(X) - length + 1, step)
    lacking, cut = _cut(X, starts, length)
    known = np.isfinite(cut).all(axis=1) & (lacking.mean(axis=1) <= _FILLED)
    ranges = np.array([f"{numbers[i]}-{numbers[i + length - 1]}" for i in starts.tolist()], object)
    labels = ranges if times is None else times[starts]
    if not known.all():
        lost = labels[~known].tolist()
        cells = f"cells without a number{'' if times is None else ', and times that are missing or stand twice'}"
        why = f"for {cells}, in more than a tenth of a window or of its length in a row"
        gone = f"{len(lost)} of {len(starts)} windows left out {why}: {listed(lost, 10)}"
        if known.sum() < 2:
            _refuse_windows(f"{data.source}: --window must leave at least two windows; got {gone}", cut, names)
        warn(f"{data.source}: {gone}")
    _note_filled(data, lacking, known)
    if rest := len(X) - int(starts[-1]) - length:
        warn(Note(f"{data.source}: rows at the end that make no whole window: {rest}"))
    _note_runs(data, names, cut[known].reshape(known.sum(), len(names), -1), labels[known], read)
    titles = tuple(f"{name}+{t}" for name in names for t in range(length))
    return replace(
        data,
        X=cut[known],
        kind="vectors",
        row_names=tuple(labels[known].tolist()),
        aliases=(tuple(ranges[known].tolist()),),
        column_names=titles,
        skipped=(),
        blank=(),
        dates=(),
        row_title=None,
    )


def _note_runs(data: Dataset, names: Sequence[str], cut: np.ndarray, labels: np.ndarray, read: Any) -> None:
    """Note windows (w, d, t) in which a column has one value far longer than in nearly all others, as a fault does."""
    run, runs = np.ones((2, *cut.shape[:2]), int)
    for t in range(1, cut.shape[2]):
        run = np.where(cut[:, :, t] == cut[:, :, t - 1], run + 1, 1)
        runs = np.maximum(runs, run)
    usual = np.quantile(runs, 1.0 - _RARE, axis=0, method="lower")
    for j, name in enumerate(names if read is None else ()):
        places = np.flatnonzero(runs[:, j] >= max(_RUN, 3 * usual[j]))
        if places.size:
            found = [f"{labels[i]} ({runs[i, j]} times)" for i in places]
            what = f"{quote(name)} has one value many times in a row, in other windows at most {usual[j]} times"
            warn(Note(f"{data.source}: {what}: {listed(found)}: a fault, or nothing to measure?"))


def with_spreads(windows: Dataset, floors: Sequence[float]) -> Dataset:
    """Windows with logarithms of the spread of each column and of its steps, by which constant ones are unlike others.

    Distances alone do not tell these: a mean is near to all. The floors are those of :func:`spread_floors`.
    """
    if not floors:
        return windows
    cut = windows.X.reshape(windows.n_samples, len(floors), -1)
    both = np.hstack([cut.std(axis=2), np.abs(np.diff(cut, axis=2)).mean(axis=2)])
    names = [name.removesuffix("+0") for name in windows.column_names or () if name.endswith("+0")]
    titles = [f"{what} of {name}" for what in ("spread", "steps") for name in names]
    X = np.hstack([windows.X, np.log(both + np.tile(floors, 2))])
    return replace(windows, X=X, column_names=(*(windows.column_names or ()), *titles))


def spread_floors(windows: Dataset) -> list[float]:
    """A thousandth of the standard deviation of each column of windows."""
    count = sum(name.endswith("+0") for name in windows.column_names or ())
    return (1e-3 * windows.X.reshape(windows.n_samples, count, -1).std(axis=(0, 2))).tolist()


def with_clock(data: Dataset) -> Dataset:
    """A table of numbers whose days written as 20240131, and hours next to these, are dates; others as they are."""
    if data.kind not in ("vectors", "table") or not is_table(data.source):
        return data
    X, titles = data.X.copy(), titles_of(data)
    found = written_dates(list((as_numbers(X) if X.dtype == object else X).T))
    for j, texts in found.items():
        X[:, j] = day_numbers(texts.tolist())
    return replace(data, X=X, dates=(*data.dates, *(titles[j] for j in found)))


def _note_columns(data: Dataset, names: Sequence[str], X: np.ndarray, read: Any) -> None:
    """Note what is to know of the columns of a file before they are cut, with the command without some."""
    for remark in column_remarks(X, names) if read is None else ():
        warn(Note(f"{data.source}: {remark.text}", "leaves them out", drop_columns=[*remark.leave_out]))


def _cut(X: np.ndarray, starts: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells that windows lack, and the windows with straight lines in short gaps, (w, d length) each."""
    both = np.isnan(X), _without_short_gaps(X, int(_FILLED * length))
    lacking, cut = (np.lib.stride_tricks.sliding_window_view(cells, length, axis=0)[starts] for cells in both)
    return lacking.reshape(len(starts), -1), cut.reshape(len(starts), -1)


def _note_filled(data: Dataset, lacking: np.ndarray, known: np.ndarray) -> None:
    """Count the cells of windows that were filled."""
    if (mended := known & lacking.any(axis=1)).any():
        what = f"{mended.sum()} of {len(known)} windows lack {lacking[mended].sum()} cells of {lacking[mended].size}"
        warn(Note(f"{data.source}: {what}, which are filled by straight lines between the times before and after"))


def _without_short_gaps(X: np.ndarray, longest: int) -> np.ndarray:
    """Columns of a series (n, d), with straight lines in gaps of at most so many rows."""
    filled = X.copy()
    for column in filled.T:
        gaps = np.isnan(column)
        known = np.flatnonzero(~gaps)
        ends = np.flatnonzero(np.diff(gaps, prepend=False, append=False)).reshape(-1, 2)
        for start, stop in ends[np.ptp(ends, axis=1) <= longest].tolist() if known.size else ():
            column[start:stop] = np.interp(np.arange(start, stop), known, column[known])
    return filled


def _with_gaps(
    X: np.ndarray, data: Dataset, options: dict[str, Any], whole: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows with gaps for those that the file or its clock lacks or has twice, their numbers in the file, and times."""
    n = data.n_samples + len(data.skipped) + len(data.blank)
    rows = np.delete(np.arange(n), data.blank)[np.array(data.row_numbers) - 1]  # numbers count rows with known cells
    texts, days = _times(data, options)
    steps = None if days is None else _steps(days)
    at = rows if steps is None else rows[0] + steps
    full = np.full((at.max() + 1, X.shape[1]), np.nan, X.dtype)  # blank lines at the end are harmless
    numbers = np.zeros(len(full), np.int64)
    full[at], numbers[at] = X, rows + 1
    full[np.bincount(at) > 1] = np.nan
    numbers = np.maximum.accumulate(numbers)
    if days is None or steps is None:
        if days is not None or data.row_names is not None:
            why = "no time of its rows is read" if days is None else "its times repeat, or differ in steps"
            shifted = "missing or doubled hours shift the windows behind them"
            warn(Note(f"{data.source}: {why}: windows are cut by rows, and {shifted}"))
        return full, numbers, None
    step = np.ptp(days) / steps.max()
    clock = days.min() + step * (np.arange(len(full)) - rows[0])
    times = np.char.replace(np.datetime_as_string((clock * 86400.0).round().astype("M8[s]")), "T", " ").astype(object)
    times[at] = texts
    ending = " 24:00" in " ".join(texts)  # a day of hours named by their ends begins after midnight
    start = _to_midnight(clock[0] - ending * step, step, whole)
    start = start if len(full) - start >= 2 * whole else 0
    if start:
        warn(Note(f"{data.source}: windows begin at {times[start]} by the clock of the file; rows before: {start}"))
    return full[start:], numbers[start:], times[start:]


def _to_midnight(first: float, step: float, whole: int) -> int:
    """Steps to the first midnight, or equal part of a day, where so many steps are days or such parts; else none."""
    days = whole * step
    period, count = min(days, 1.0), max(round(days), 1) / max(round(1.0 / days), 1)
    if abs(days - count) > _OFF * step or first % period < (1.0 - _OFF) * step:
        return 0
    return math.ceil((period - first % period) / step - _OFF)


def _times(data: Dataset, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """Times of the rows as their file writes them, and in days by its clock; None if it has no column of dates."""
    with quiet():  # the file is read for itself too
        found = times_of_rows(data.source, options) if is_table(data.source) and data.n_samples > 2 else None
    rows = np.array(data.row_numbers) - 1
    if found is not None and len(found[2]) > 1:
        warn(Note(f"{data.source}: {' and '.join(found[2])} are read as one time"))
    return (rows, None) if found is None else (found[0][rows], found[1][rows])


def _steps(days: np.ndarray) -> np.ndarray | None:
    """Times of rows as whole numbers of steps from the first; None if they are not those of one series."""
    intervals = np.diff(days)
    usual = float(np.median(intervals))
    if not usual > 0.0:
        return None
    steps = (days - days.min()) / usual
    places = np.round(steps).astype(np.int64)
    equal = np.abs(intervals - usual) < _OFF * usual  # of working days four steps of five
    regular = (
        min(equal.mean(), len(np.unique(places)) / len(places)) >= _REGULAR
    )  # a clock that is set back repeats few
    whole = np.abs(steps - places).max() < _OFF
    return places if regular and whole and places.max() <= _SPARSE * len(places) else None


def _columns_cut(data: Dataset, read: Sequence[str] | None) -> tuple[list[str], np.ndarray]:
    """Names and numbers of the columns that are cut into windows: all but dates and constants, or those of a model."""
    if data.kind not in ("table", "vectors"):
        raise InputError(f"--window cuts tables of numbers and dates; got {data.kind}; leave it out")
    names = data.column_names or tuple(map(str, data.places or range(data.X.shape[1])))
    kept = np.flatnonzero([title not in data.dates for title in titles_of(data)]).tolist()
    if read:
        kept = np.flatnonzero(np.isin([f"{name}+0" for name in names], read)).tolist() or kept
    else:
        kept = _without_constants(data, names, kept)
    titles, X = [names[j] for j in kept], data.X[:, kept]
    if data.kind == "vectors":
        return titles, X
    _refuse_texts(titles, X)
    return titles, as_numbers(X)


def _without_constants(data: Dataset, names: Sequence[str], positions: list[int]) -> list[int]:
    """Columns whose known cells differ, or that have none, with a note of the others; all where none is left."""
    import pandas

    constant = [*compress(positions, (pandas.DataFrame(data.X[:, positions]).nunique() == 1).tolist())]
    if not 0 < len(constant) < len(positions):
        return positions
    warn(Note(f"{data.source}: constant, and left out of the windows: {listed([quote(names[j]) for j in constant])}"))
    return [j for j in positions if j not in constant]


def _refuse_texts(names: list[str], X: np.ndarray) -> None:
    """Refuse columns of texts."""
    texts = [name for name, cells in zip(names, X.T.tolist(), strict=True) if any(isinstance(c, str) for c in cells)]
    numeric = [name for name in names if name not in texts]
    if texts:
        found = f"{listed([*map(quote, texts)])}{'' if numeric else '; no column of numbers is left'}"
        raise Mendable(
            f"--window cuts tables of numbers and dates; got texts in {found}", "cuts the others", columns=numeric
        )


def _refuse_windows(what: str, cut: np.ndarray, names: list[str]) -> None:
    """Refuse windows with gaps, with the columns that have none in most of them."""
    often = np.isnan(cut.reshape(len(cut), len(names), -1)).any(axis=2).mean(axis=0) > 0.5
    if often.all() or not often.any():
        raise InputError(f"{what}; take a smaller value")
    found = f"{what} ({listed([*compress(names, often)])} in most)"
    raise Mendable(found, "cuts the others", columns=[*compress(names, ~often)])


def without_rows(data: Dataset, text: str) -> Dataset:
    """A file without some of its rows, which are skipped as rows that cannot be read are."""
    numbers = data.row_numbers
    places = {name: i for i, name in reversed(list(enumerate(data.row_names or map(str, numbers))))}
    wanted = [part.strip() for part in text.split(",")]
    for part in wanted:
        if part not in places:
            known = "names of rows" if data.row_names else f"row numbers from 1 to {numbers[-1]}"
            more = f", or {APART} with --robust" if part == APART else ""
            raise InputError(f"--leave-out must be {known}, separated by commas{more}; got {quote(part)}")
    kept = np.isin(np.arange(data.n_samples), [places[part] for part in wanted], invert=True)
    if kept.sum() < 2:
        out = data.n_samples - int(kept.sum())
        raise InputError(f"--leave-out must leave two rows at least; got {out} of {data.n_samples} rows; name fewer")
    return keep_rows(data, kept, LEFT_OUT)


def selected_rows(args: argparse.Namespace, data: Dataset, path: str, options: dict[str, Any]) -> Dataset:
    """The rows of ``--only`` without those of ``--leave-out``."""
    if getattr(args, "only", None) is not None:
        data = _only_rows(data, args.only, path, options)
    out = getattr(args, "leave_out", None)
    return data if out is None or out == APART else without_rows(data, out)


def _only_rows(data: Dataset, text: str, path: str, options: dict[str, Any]) -> Dataset:
    """The rows of a file whose column holds a text, ``COLUMN=VALUE``; the others are skipped."""
    name, _, wanted = text.partition("=")
    column = read_column(path, name, argument="--only", **options)
    cells = [*map(str, np.delete(column, [bad.row - 1 for bad in data.skipped]).tolist())]
    kept = np.array([cell == wanted for cell in cells])
    if kept.sum() < 2:
        most = listed([quote(cell) for cell, _ in Counter(cells).most_common(_BELOW)])
        raise InputError(f"--only {text} must keep two rows at least; got {kept.sum()}; the column holds {most}")
    return keep_rows(data, kept, LEFT_OUT)
