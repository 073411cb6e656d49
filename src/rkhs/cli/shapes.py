"""Items that are not all rows of a file: some of these, its columns, pairs of columns, or windows of rows."""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.corrections import as_curves, read_whole
from rkhs.cli.frames import in_python as in_python, note_counts as note_counts, note_logarithms
from rkhs.cli.options import reading_options
from rkhs.cli.rows import (
    APART as APART,
    row_labels as row_labels,
    short_labels as short_labels,
    warn_of_totals as warn_of_totals,
    with_progress as with_progress,
)
from rkhs.cli.windows import (
    as_series as as_series,
    windows,
    with_spreads as with_spreads,
)
from rkhs.data.columns import as_numbers, unlike_columns
from rkhs.data.curves import on_one_axis
from rkhs.data.dataset import LEFT_OUT, Dataset, column_label, is_table, keep_rows, listed
from rkhs.data.known_columns import read_column
from rkhs.data.series_files import AXES_NOTE
from rkhs.data.text import Doubtful, Mendable

_GAPS = 0.1  # share of the rows of a table that are left out for their gaps where its columns are the items
_AXIS, _DECADES = 8, 1000.0  # numbers of a column that may be an axis; range of numbers whose logarithm is usual
_OF_GENES = ("Chr", "Start", "End", "Strand", "Length")


def whole(args: argparse.Namespace, path: str, options: dict[str, Any]) -> Dataset:
    """Items of any kind; with ``--transpose`` a column of texts, or of an axis, names their rows."""
    if {"index_column", "columns"} & options.keys():
        return read_whole(args, path, options)
    if not getattr(args, "transpose", False):
        data = read_whole(args, path, options)
        if args.kind is None and on_one_axis(data) is not None:
            what = "the first of each pair of columns is an axis, and the second an item: --transpose reads these"
            raise Mendable(f"{path}: {what}", transpose=True)
        return data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read_whole(args, path, options)
    if (paired := on_one_axis(data)) is not None:
        return paired
    name, why = _names_of_rows(data)
    if name is not None:
        data = read_whole(args, path, options | {"index_column": name})
        return replace(data, guessed=(*data.guessed, why))
    for one in caught:
        warnings.warn(one.message, stacklevel=2)
    return data


def reshaped(args: argparse.Namespace, data: Dataset) -> Dataset:
    """A table whose columns, or windows of rows, are the items."""
    if getattr(args, "transpose", False):
        data = _transposed(data, args)
        data = as_curves(data) if args.kind == "curves" else data
    if getattr(args, "window", None) is not None:
        step = args.window if args.step is None else args.step
        data = windows(data, args.window, step, reading_options(args), getattr(args, "of_model", None))
        data = with_spreads(data, getattr(args, "known_windows", None))
    return data


def _transposed(data: Dataset, args: argparse.Namespace) -> Dataset:
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


def _names_of_rows(data: Dataset) -> tuple[str | int | None, str]:
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
    return next((name for name, c in columns if {*map(type, c)} == {str} and len(c) < 2 * len({*c})), None)


def _holds_axis(data: Dataset) -> bool:
    """Whether numbers of the first column rise or fall, in equal steps or below a title unlike the others."""
    titles = data.column_names or ("", "")
    steps = np.diff(as_numbers(data.X[:, :1])[:, 0])
    shapes = [re.sub(r"\d+", "0", title) for title in titles]
    unlike = shapes[0] not in shapes[1:] or np.allclose(steps, steps.mean(), rtol=1e-3)
    return titles[0] not in data.dates and unlike and bool((steps > 0.0).all() or (steps < 0.0).all())


def _of_each_name(data: Dataset, X: np.ndarray) -> tuple[tuple[str, ...] | None, np.ndarray]:
    """Names of rows and numbers, NaN for gaps; means of the rows whose names repeat, which no other file can match."""
    import pandas

    names = data.row_names
    different = tuple(dict.fromkeys(names or ()))
    if names is None or len(different) == len(names):
        return names, X
    name, count = Counter(names).most_common(1)[0]
    repeated = f"{len(names) - len(different)} rows of the file repeat the name of another"
    warn(f"{data.source}: {repeated}, as {quote(name)}, of {count} rows: the means of such rows are read")
    return different, pandas.DataFrame(X, names).groupby(level=0, sort=False).mean().to_numpy()


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
    if not is_table(data.source) or values.mean() <= 2.0 * np.median(values):
        return
    if (values == np.round(values)).all():
        note_counts(data, args, "t[n] / t[n].sum()")
    else:
        log = f"numpy.{'log1p' if values.min() == 0.0 else 'log2'}(t[n])"
        note_logarithms(data, args, log, f"from {positive.min():.3g} to {positive.max():.3g}, as intensities")


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
        most = listed([quote(cell) for cell, _ in Counter(cells).most_common(3)])
        raise InputError(f"--only {text} must keep two rows at least; got {kept.sum()}; the column holds {most}")
    return keep_rows(data, kept, LEFT_OUT)
