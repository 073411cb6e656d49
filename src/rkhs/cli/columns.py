"""Columns of tables on the command line: which are standardised, and what is said of them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress, permutations
from typing import Any

import numpy as np

from rkhs import estimators, kernels
from rkhs._core.errors import InputError, warn
from rkhs.cli.shapes import as_series, in_python, note_counts, row_labels, short_labels as short_labels
from rkhs.cli.wording import in_flags, quoted_cells
from rkhs.data.columns import (
    COPIES,
    ON_BOTH_SIDES as ON_BOTH_SIDES,
    TENFOLD,
    TWINS,
    Remark,
    are_counts,
    as_numbers,
    clock,
    column_remarks,
    curve_remarks,
    listed,
    named_times,
    repeats_items as repeats_items,
    rounded,
    row_copies,
    samples_remark,
    share_a_unit,
    spreads,
    wants_scaling,
)
from rkhs.data.dataset import Dataset, is_table, titles_of
from rkhs.data.molecule_files import molecule_remarks
from rkhs.data.text import Mendable, Note

_LONG, _EQUAL = 60, 0.95  # rows, and share of equal steps, from which dates are those of a series
_ORDERED, _APART, _ALIKE, _CORRELATED = 200, 8, 0.25, 0.8  # rows, lag, share of differences, correlation of a series
_FEW, _KINDS = 16, 20  # columns of a table in long form; its items, or columns that are curves, at least
_PIVOTED = 200_000  # rows of a table whose form is looked at: each column is sorted as texts
_PERIODIC, _LONGEST = 10, 400  # columns, and lags, in which a period is looked for
_COMPARED = 10_000  # rows that show whether neighbours are alike
_MANY_TIMES = 2_000  # of a series, of which all pairs take long
_HARDLY, _FAR_BELOW, _NAMED = 0.01, 3.0 * 1.4826, 5  # share of the usual sum; of the deviation, as scater has; named
_SLOW = 5_000  # rows that are hardly items, of which a fit takes minutes
_AS_THEY_ARE: tuple[str, dict[str, Any]] = ("takes each row for an item", {"window": 1})
_NOT_ASKED = dict.fromkeys(
    ("skip_rows", "window", "rows", "transpose", "predict", "plan", "robust", "columns", "drop_columns")
)
_MANY_CLASSES = 20  # texts of a column, from which their number is worth a word
_OF_ANY_NUMBERS = ("laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")  # of scikit-learn's kernels


def column_setting(args: argparse.Namespace, data: Dataset, kernel: Any) -> dict[str, Any]:
    """The parameter ``columns`` that the arguments and the data ask for."""
    asked = getattr(args, "scale_columns", None) or "auto"
    if data.kind == "curves" and asked == "auto":
        return {"columns": "integral"} if _unequal(data.times) and _sees_units(kernel) else {}
    if data.kind == "table":
        if asked != "auto":
            raise InputError(
                f"--scale-columns {asked} is for tables of numbers; one with texts or gaps is always standardised; "
                "leave it out"
            )
        return {"columns": "filled"} if _reads_vectors(kernel) else {}
    return {"columns": "scaled"} if _scaled(args, as_series(data)[0], kernel, asked) else {}


def column_change(args: argparse.Namespace, known: Dataset, kernel: Any) -> Callable[[Any], Any]:
    """What the parameter ``columns`` does with rows, where no estimator does it; scales are those of known rows."""
    from rkhs.estimators.reader import ColumnScaling
    from rkhs.features import FilledTable
    from rkhs.kernels.vectors.functional import quadrature_weights

    asked = column_setting(args, known, kernel).get("columns")
    if asked == "filled":
        return FilledTable().fit(known.X).transform
    if asked == "integral":
        return ColumnScaling.of_weights(quadrature_weights(known.times, known.X.shape[1])).apply
    return (lambda X: X) if asked is None else ColumnScaling.of(known.X).apply


def _scaled(args: argparse.Namespace, data: Dataset, kernel: Any, asked: str) -> bool:
    """Whether columns of numbers are standardised: on demand, or in a table whose columns have several units."""
    in_memory = _in_memory(data) and getattr(args, "engine", None) is None
    if asked == "yes":
        if not in_memory:
            block = "--engine and --stream read a file block by block" if data.kind == "vectors" else f"got {data.kind}"
            raise InputError(f"--scale-columns yes is for rows of numbers in memory; {block}; leave it out")
        return True
    return asked == "auto" and in_memory and is_table(data.source) and _sees_units(kernel) and wants_scaling(data.X)


def _in_memory(data: Dataset) -> bool:
    return data.kind == "vectors" and hasattr(data.X, "std")


def _unequal(times: np.ndarray | None) -> bool:
    """Whether curves have times that are not equally spaced."""
    return times is not None and not np.allclose(np.diff(times), np.diff(times).mean(), rtol=1e-3)


def _reads_vectors(kernel: Any) -> bool:
    return kernel == "auto" or kernels.as_kernel(kernel).domain == "vectors"


def _sees_units(kernel: Any) -> bool:
    """Whether a kernel means distances or products of rows of any numbers; one of bits, counts or curves does not."""
    parts = [kernels.as_kernel("gaussian" if kernel == "auto" else kernel)]
    for part in parts:
        known = isinstance(
            part, (kernels.ArcCosine, kernels.Composite, kernels.DotProduct, kernels.NTK, kernels.Stationary)
        )
        borrowed = (
            isinstance(part, kernels.FromSklearn) and isinstance(part.kernel, str) and part.kernel in _OF_ANY_NUMBERS
        )
        if isinstance(part, kernels.ScaledInputs) or not (known or borrowed):
            return False
        parts += getattr(part, "parts", ())
    return True


def column_sentences(estimator: estimators.KernelEstimator, data: Dataset) -> list[str]:
    """What is to know of the columns of a table: their scales, and those that say nothing of an item."""
    read = getattr(estimator, "columns", "raw")
    if read in ("filled", "ranked") and data.kind == "table":
        return [_filling_sentence(data, read), *column_notes(data)]
    if not _in_memory(data):
        return column_notes(data)  # the kernel of mixed tables divides each column by its own spread
    series, _ = as_series(data)
    names = titles_of(series)
    found, notes = spreads(series.X), []
    scaled = read == "scaled"
    if found is not None and (scaled or (found.ratio > TENFOLD and not share_a_unit(series.X))):
        how = (
            "standardised; codes and errors count standard deviations, and decoding gives the units of the file. "
            "--scale-columns no leaves them as they are"
            if scaled
            else "not standardised, so wide columns count most. --scale-columns yes standardises them"
        )
        notes.append(
            f"columns: {how}. The spread of {names[found.widest]} is {found.most:.3g}, that of "
            f"{names[found.narrowest]} {found.least:.3g}, {rounded(found.ratio)} times less"
        )
    return notes + column_notes(data)


def _filling_sentence(data: Dataset, read: str) -> str:
    texts = _most_texts_first(data)
    gaps = sum(cell is None for cell in data.X.ravel().tolist())
    cells = "1 empty cell is" if gaps == 1 else f"{gaps} empty cells are"
    changes = [f"{cells} filled from the nearest rows"] if gaps else []
    changes += [f"texts become columns of zeros and ones ({listed(texts)})"] if texts else []
    units = "all are standardised" if read == "filled" else "numbers become normal scores of their ranks"
    return (
        f"columns: {', '.join([*changes, units])}; decoding gives cells of the table. "
        "--kernel mixed_table compares rows as they are"
    )


def _most_texts_first(data: Dataset) -> list[str]:
    """Names of the columns of texts, those of most different ones first, and how many these are where they are many."""
    different = {name: {*filter(_is_text, cells)} for name, cells in zip(titles_of(data), data.X.T, strict=True)}
    counts = sorted(((len(texts), name) for name, texts in different.items()), key=lambda pair: -pair[0])
    return [f"{name} with {count}" if count > _MANY_CLASSES else name for count, name in counts if count]


def _is_text(cell: Any) -> bool:
    """Whether a cell of a table holds a text."""
    return isinstance(cell, str)


def column_notes(data: Dataset) -> list[str]:
    """What was guessed of the file, and what is said of its columns."""
    return [f"file: {in_flags(text)}" for text in data.guessed] + _notes_of_columns(data)


def _notes_of_columns(data: Dataset) -> list[str]:
    """What is said of columns that may do harm, and the flag that leaves them out; nothing of pixels and curves."""
    if data.smiles is not None:
        same = row_copies(data.items, (TWINS, COPIES)[data.as_smiles], least=0.0)
        return [*map("note: {}".format, filter(None, [*molecule_remarks(data.smiles, data.skipped), same]))]
    if note := _matrix_note(data):
        return [note]
    if not (_in_memory(data) or data.kind == "table") or not is_table(data.source):
        return []
    if data.kind == "vectors" and share_a_unit(data.X):
        return _remarks(data, curve_remarks(data.X, titles_of(data)))
    rows = data.row_names or [*map("row {}".format, data.row_numbers)]
    return _remarks(data, column_remarks(data.X, titles_of(data), data.dates, rows))


def _remarks(data: Dataset, remarks: list[Remark]) -> list[str]:
    """Sentences of a table, and the flag that leaves its harmful columns out."""
    texts = (row_copies(data.X), *(remark.text for remark in remarks))
    notes = [*map("note: {}".format, filter(None, texts))]
    names = _of_file([name for remark in remarks for name in remark.leave_out], titles_of(data))
    notes += _index_note(data, names)
    if names and data.column_title is None:  # rows of the file are no columns to leave out
        written = shlex.quote(quoted_cells(names if data.column_names else [name[7:] for name in names]))
        notes.append(f"note: --drop-columns {written} leaves {('them', 'it')[len(names) == 1]} out")
    return notes


def _of_file(names: list[str], titles: Sequence[str]) -> dict[str, None]:
    """Keep names that are columns of the file: those of windows, as load+47, are none."""
    return dict.fromkeys(names if not any(title.endswith("+0") for title in titles) else ())


def _index_note(data: Dataset, names: dict[str, None]) -> list[str]:
    """The flag for a first column of texts that may name the rows, which leaves those to be left out."""
    first = titles_of(data)[0]
    if data.row_names is not None or first not in names or not _is_text(data.X[0, 0]):
        return []
    del names[first]
    return [f"note: --index-column {shlex.quote(first)} names the rows by it"]


def warn_of_series(args: argparse.Namespace, data: Dataset) -> None:
    """Say before a fit that rows are hardly items; refuse very many, or many of a series where all are compared."""
    args, times = argparse.Namespace(**(_NOT_ASKED | vars(args))), _times(data)
    _warn_of_counts(args, data)
    found = None if args.window or args.transpose or args.rows else _hardly_items(args, data, times)
    if found is None:
        return
    does, advice = _compared(args, data, found[1])
    if not _takes_long(args, data, times):
        slow = f"; a fit of {data.n_samples} single rows takes minutes" * (data.n_samples > _MANY_TIMES)
        warn(Note(f"{data.source}: {found[0]}{slow}", does, **advice))
    elif advice:
        does = f"{does}, the second one {_AS_THEY_ARE[0]}"
        raise Mendable(f"{data.source}: {found[0]}", does, _AS_THEY_ARE[1], **advice)
    else:
        raise Mendable(f"{data.source}: {found[0]}", _AS_THEY_ARE[0], **_AS_THEY_ARE[1])


def _warn_of_counts(args: argparse.Namespace, data: Dataset) -> None:
    """Note counts of items, with the command that writes their logarithms, and warn of items that have nearly none."""
    if not _in_memory(data) or not is_table(data.source) or not are_counts(data.X, titles_of(data)):
        return
    if not args.transpose:  # of which it was noted
        note_counts(data, args, "t[n].div(t[n].sum(axis=1), axis=0)")
    sums, logs = data.X.sum(axis=1), np.log1p(data.X).mean(axis=1)  # controls hide a failed item in its sum
    below = np.median(logs) - logs
    low = (sums < _HARDLY * np.median(sums)) | (below > max(_FAR_BELOW * float(np.median(np.abs(below))), np.log(2.0)))
    if low.any():
        rows, called = ([*compress(some, low.tolist())] for some in (row_labels(data), short_labels(data)))
        usual = f"{np.median(sums):,.0f}"
        what = f"{data.source}: nearly no counts in {listed(called)}, where the others have {usual} in all"
        warn(f"{what}: a failed measurement? --leave-out {shlex.quote(','.join(rows[:_NAMED]))} leaves such items out")


def _takes_long(args: argparse.Namespace, data: Dataset, times: np.ndarray | None) -> bool:
    """Whether a fit of rows that are hardly items takes minutes, or compares many times of a series in pairs."""
    pairs = times is not None and (args.words[0] == "novelty" or args.robust)
    fits = not (args.predict or args.plan or args.words[0] == "compare")
    return data.n_samples > (_MANY_TIMES if pairs else _SLOW if fits else data.n_samples)


def _hardly_items(args: argparse.Namespace, data: Dataset, times: np.ndarray | None) -> tuple[str, int | None] | None:
    """What is said of rows that are times of a series, cells in long form, or points of curves, and rows of a window.

    No rows, 0, where the columns are curves; None of the long form.
    """
    series = _series_note(data, times)
    form = "" if series else _long_form(args, data)
    return (form, None) if form else series or _order_note(data)


def _long_form(args: argparse.Namespace, data: Dataset) -> str:
    """What is said of a table of which each value of one column stands with each of another; how to pivot it."""
    few = data.kind == "table" and 2 < data.X.shape[1] <= _FEW
    if not few or not _ORDERED <= len(data.X) <= _PIVOTED:
        return ""
    title = data.row_title  # the first column may name the rows
    names = [*filter(None, [title]), *titles_of(data)]
    X = np.column_stack([np.array(data.row_names, object), data.X]) if title else data.X
    texts = [j for j, cells in enumerate(X.T) if any(map(_is_text, cells[:_APART].tolist()))]
    texts += list(map(names.index, data.dates))
    found = next(_long_forms(X, texts), None) if len(texts) > 1 else None
    return "" if found is None else _pivoting(data, args, [names[j] for j in found[:3]], found[3:])


def _pivoting(data: Dataset, args: argparse.Namespace, names: list[str], counts: tuple[int, ...]) -> str:
    """What is said of a table in long form with columns of items, of their columns and of values."""
    row, column, value = names
    pivot = f"t.pivot_table({value!r}, {row!r}, {column!r}, sort=False).to_csv('wide.csv')"
    return (
        f"a table in long form: each of {counts[0]} values of {row} stands with each of {counts[1]} of {column}, so "
        f"rows of one {row} are alike, and errors of left-out rows look too small; this writes a row of each {row} "
        f"to wide.csv:{in_python(data, args, pivot)}"
    )


def _long_forms(X: np.ndarray, texts: list[int]) -> Iterator[tuple[int, int, int, int, int]]:
    """Columns of items, of their columns and of values of a table in long form, and how many items and columns."""
    n, codes = len(X), [np.unique(cells.astype(str), return_inverse=True)[1] for cells in X.T]
    kinds = [int(one.max()) + 1 for one in codes]
    several = [j for j in texts if 1 < kinds[j] < n]
    for i, j in permutations(several, 2):
        pairs = len(np.unique(codes[i] * kinds[j] + codes[j]))
        if kinds[i] >= max(_KINDS, kinds[j]) and kinds[i] * kinds[j] <= n / _EQUAL and pairs >= _EQUAL * n:
            values = filter(partial(_varies, codes, kinds, (i, j)), {*range(len(codes))} - {*texts})
            yield from ((i, j, k, kinds[i], kinds[j]) for k in sorted(values)[-1:])


def _varies(codes: list[np.ndarray], kinds: list[int], within: tuple[int, int], k: int) -> bool:
    """Whether a column has several values next to one value of each of two others."""
    return all(len(np.unique(codes[k] * kinds[m] + codes[m])) > 1.1 * kinds[m] for m in within)


def _compared(args: argparse.Namespace, data: Dataset, length: int | None) -> tuple[str, dict[str, Any]]:
    """What a command compares instead of rows, windows without columns of texts or the columns, and its options."""
    if args.predict or not length:
        return "compares the columns", {} if args.predict or length is None else {"transpose": True}
    texts = [name for name, cells in zip(titles_of(data), data.X.T, strict=True) if any(map(_is_text, cells.tolist()))]
    return "compares windows", {"window": length, "drop_columns": texts if args.columns is None else []}


def _order_note(data: Dataset) -> tuple[str, int] | None:
    """What is said of rows without dates of which neighbours differ far less than rows apart, and rows of a window.

    No rows, 0, where the columns are curves over the first one.
    """
    if not (_in_memory(data) or data.kind == "table") or not is_table(data.source) or len(data.X) < _ORDERED:
        return None
    X = as_numbers(data.X[:_COMPARED])
    steps = np.diff(X, axis=0)
    Z = X[:, (steps < 0.0).any(axis=0) & (steps > 0.0).any(axis=0)][:, :_PERIODIC]
    Z = Z / np.nanstd(Z, axis=0)
    near, far = (float(np.median(_differences(Z, lag))) if Z.size else 2.0 for lag in (1, _APART))
    if near >= min(_ALIKE * far, 2.0 * (1.0 - _CORRELATED)):
        return None
    if _are_curves(X):
        return (
            f"the {X.shape[1] - 1} columns behind {titles_of(data)[0]} look like curves over it: its numbers ascend or "
            "descend in equal steps, and the columns are alike; --transpose makes an item of each"
        ), 0
    lags = np.arange(_APART, min(_LONGEST, len(Z) // 10) + 1)
    means = np.array([_differences(Z, lag).mean() for lag in lags.tolist()])
    later = np.arange(len(lags)) >= np.argmax(means >= means.mean())  # near rows are alike in all series
    length = int(lags[later][means[later].argmin()])
    return (
        f"the {len(data.X)} rows look like times of one long series: rows next to each other are alike (correlation "
        f"{1.0 - near / 2.0:.2f}), so errors of left-out rows look too small; --window "
        f"{length} makes an item of each {length} rows"
    ), length


def _are_curves(X: np.ndarray) -> bool:
    """Whether many columns have one shape over the first one, an axis."""
    steps = np.diff(X[:, 0])
    if X.shape[1] <= _KINDS or not 0.0 < float(np.ptp(steps)) + abs(float(steps[0])) <= 1.02 * abs(float(steps[0])):
        return False
    Z = X[:, 1:] - X[:, 1:].mean(axis=0)
    Z /= np.maximum(np.linalg.norm(Z, axis=0), 1e-300)
    mean = Z.mean(axis=1)
    return float(np.median(Z.T @ mean)) > _CORRELATED * float(np.linalg.norm(mean))


def _differences(Z: np.ndarray, lag: int) -> np.ndarray:
    """Mean squared differences (d,) of rows that are some rows apart."""
    return np.asarray(np.nanmean((Z[lag:] - Z[:-lag]) ** 2, axis=0))


def _times(data: Dataset) -> np.ndarray | None:
    """Days of the rows, by columns of dates or by names that are dates."""
    if data.n_samples < _LONG:
        return None
    if not data.dates:
        return named_times(data.row_names or ())
    names = list(titles_of(data))
    days = {j: as_numbers(data.X[:, [j]])[:, 0] for j in map(names.index, data.dates)}
    positions = clock(days)
    return np.sum([days[j] for j in positions], axis=0) if positions else None


def _series_note(data: Dataset, times: np.ndarray | None) -> tuple[str, int] | None:
    """What is said of rows that are times of one series, as dates at mostly equal steps say, and rows of a window."""
    if times is None:
        return None
    steps = np.diff(times)
    step = float(np.median(steps))
    if not step > 0.0 or np.mean(np.abs(steps - step) <= 1e-6 * step + 1e-9) < _EQUAL:
        return None
    a_day = round(1.0 / step) if step < 1.0 else 0
    length, of = (a_day, "a day") if a_day > 1 else (7, "7 rows")
    new = (
        f", and the time is read as a column in which all later rows are new; --window {length} makes an item of each, "
        f"without {listed(data.dates)}; --drop-columns {shlex.quote(','.join(data.dates))} leaves the time out of "
        "single rows"
    )
    return (
        f"the {data.n_samples} rows are times of one long series, {data.n_samples // length} windows of {of}: rows "
        "next to each other are alike, so errors of left-out rows look too small"
        + (new if data.dates else f"; --window {length} makes an item of each")
    ), length


def _matrix_note(data: Dataset) -> str:
    """What is said of a table that is a matrix between more than a handful of items; nothing of any other."""
    X = data.X
    if not (_in_memory(data) and len(X) == X.shape[1] > 5 and np.allclose(X, X.T, rtol=1e-6, atol=0.0)):
        note = samples_remark(X, data.row_names, data.column_names) if _in_memory(data) else ""
        return note and f"note: {note}"
    if (np.diag(X) == 0.0).all() and (X >= 0.0).all():
        return (
            "note: the table is symmetric with zeros on the diagonal, as distances between items are: --gram reads "
            "them as such"
        )
    return "note: the table is symmetric, as a Gram matrix is: read kernel values of pairs of items by --gram"
