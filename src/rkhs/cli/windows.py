"""Windows of rows that follow each other, as items: by the clock of the file, with short gaps filled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.corrections import quiet
from rkhs.data.columns import as_numbers, column_remarks
from rkhs.data.dataset import Dataset, is_table, listed, titles_of
from rkhs.data.known_columns import times_of_rows
from rkhs.data.text import Mendable, Note

_REGULAR, _SPARSE, _OFF = 0.95, 2.0, 0.05  # share of equal steps, places for each row at most, part of a step of error
_RUN, _RARE = 4, 0.05  # equal values in a row that are noted at least; share of windows that may have as many
_STILL = 1 / 3  # of the spread that all but the rarest windows exceed: below it a column of a window stands still
_FILLED = 0.1  # share of the cells of a window, and of its length in a row, that may be filled


def windows(
    data: Dataset, length: int, step: int, options: dict[str, Any], read: Sequence[str] | None = None
) -> Dataset:
    """Items of rows that follow each other, of one long series: all values of a column, then those of the next."""
    check_count(length, "--window", at_least=2)
    check_count(step, "--step", at_least=1)
    names, X = _columns_cut(data, read)
    _note_columns(data, names, X, read)
    X, numbers, times = _with_gaps(X, data, options, math.gcd(length, step))
    if len(X) < length + step:
        raise InputError(f"--window and --step must leave at least two windows; got {len(X)} rows; take smaller values")
    starts = np.arange(0, len(X) - length + 1, step)
    lacking, cut = _cut(X, starts, length)
    known = np.isfinite(cut).all(axis=1) & (lacking.mean(axis=1) <= _FILLED)
    ranges = np.array([f"{numbers[i]}-{numbers[i + length - 1]}" for i in starts.tolist()], object)
    labels = _all_different(times[starts], ranges)
    if not known.all():
        lost = labels[~known].tolist()
        cells = f"cells without a number{', and times that are missing or stand twice' * (labels is not ranges)}"
        why = f"for {cells}, in more than a tenth of a window or of its length in a row"
        gone = f"{len(lost)} of {len(starts)} windows left out {why}: {listed(lost, 10)}"
        if known.sum() < 2:
            _refuse_windows(f"{data.source}: --window must leave at least two windows; got {gone}", cut, names)
        warn(f"{data.source}: {gone}")
    _note_filled(data, lacking, known)
    if rest := len(X) - int(starts[-1]) - length:
        warn(Note(f"{data.source}: rows at the end that make no whole window: {rest}"))
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


def with_spreads(windows: Dataset, known: Dataset | None) -> Dataset:
    """Windows with logarithms of the spread of each column and of its steps, by which constant ones are unlike others.

    Distances alone do not tell these: a mean is near to all. Nor are nearly constant ones to vouch for each other: a
    column of these becomes the stillest of the known windows, so that they are one item. None: windows as they are.
    """
    if known is None:
        return windows
    cut, of_known = _by_columns(windows), _by_columns(known)
    spreads = of_known.std(axis=2)
    limits = _STILL * np.quantile(spreads, _RARE, axis=0, method="lower")
    limits *= spreads.min(axis=0) < limits  # where no known window stands still, new ones are as they are
    stillest = of_known[spreads.argmin(axis=0), np.arange(len(limits))]  # (d, t)
    cut = np.where((cut.std(axis=2) < limits)[:, :, None], stillest, cut)
    both = np.hstack([cut.std(axis=2), np.abs(np.diff(cut, axis=2)).mean(axis=2)])
    names = [name.removesuffix("+0") for name in windows.column_names or () if name.endswith("+0")]
    titles = [f"{what} of {name}" for what in ("spread", "steps") for name in names]
    floors = 1e-3 * of_known.std(axis=(0, 2))
    X = np.hstack([cut.reshape(windows.X.shape), np.log(both + np.tile(floors, 2))])
    return replace(windows, X=X, column_names=(*(windows.column_names or ()), *titles))


def _by_columns(windows: Dataset) -> np.ndarray:
    """Windows (w, d, t) of d columns of a file."""
    count = sum(name.endswith("+0") for name in windows.column_names or ())
    return windows.X.reshape(windows.n_samples, count, -1)


def as_series(data: Dataset) -> tuple[Dataset, int]:
    """The series of several columns that windows were cut from, and rows of a window; other data, and 1."""
    names = data.column_names or ()
    columns = [name.removesuffix("+0") for name in names if name.endswith("+0")]
    width = len(names) // max(len(columns), 1)
    if len(columns) < 2 or names[-1] != f"{columns[-1]}+{width - 1}":
        return data, 1
    X = _by_columns(data).swapaxes(1, 2).reshape(-1, len(columns))
    return replace(data, X=X, column_names=tuple(columns)), width


def _note_columns(data: Dataset, names: Sequence[str], X: np.ndarray, read: Any) -> None:
    """Note what is to know of the columns of a file before they are cut, with the command without some."""
    for remark in column_remarks(X, names) if read is None else ():
        text, does, options = f"{data.source}: {remark.text}", "leaves them out", {"drop_columns": [*remark.leave_out]}
        if remark.stand_in is not None:
            shares = np.mean(remark.stand_in == X, axis=0)
            others = shares[np.isin(names, remark.columns, invert=True)].any()
            does, options = "takes it as a gap", {"missing": [f"{remark.stand_in:.10g}"]}
            if others or shares.max() > _FILLED:
                why = "other columns hold it too" if others else "windows would have too many gaps"
                text += f" Leave {'it' if len(remark.columns) == 1 else 'them'} out, as {why}."
                does, options = "leaves them out", {"drop_columns": [*remark.columns]}
        warn(Note(text, does, None, **options))


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
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        times = np.full(len(full), "", object)
        times[at] = texts
        return full, numbers, times
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


def _all_different(texts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Texts that are all different, none of them empty; others in their place where they are not."""
    return texts if len({*texts, ""}) > len(texts) else others


def _to_midnight(first: float, step: float, whole: int) -> int:
    """Steps to the first midnight, or equal part of a day, where so many steps are days or such parts; else none."""
    days = whole * step
    period, count = min(days, 1.0), max(round(days), 1) / max(round(1.0 / days), 1)
    if abs(days - count) > _OFF * step or first % period < (1.0 - _OFF) * step:
        return 0
    return math.ceil((period - first % period) / step - _OFF)


def _times(data: Dataset, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """Times of the rows as their file writes them, and in days by its clock; empty, and None, without a clock."""
    with quiet():  # the file is read for itself too
        found = times_of_rows(data.source, options) if is_table(data.source) and data.n_samples > 2 else None
    rows = np.array(data.row_numbers) - 1
    if found is not None and len(found[2]) > 1:
        warn(Note(f"{data.source}: {' and '.join(found[2])} are read as one time"))
    return (np.full(len(rows), ""), None) if found is None else (found[0][rows], found[1][rows])


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
