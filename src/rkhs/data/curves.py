"""Curves: read from tables whose columns are times, and brought to one grid by straight lines."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, quote
from rkhs.data.arrays import load_arrays
from rkhs.data.columns import as_numbers
from rkhs.data.dataset import NOTHING_KNOWN, Curves, Dataset, keep_rows, listed, locate_all
from rkhs.data.formats import extension_of, is_text_table, open_lines
from rkhs.data.headers import is_grid
from rkhs.data.known_columns import read_numbers
from rkhs.data.mixed import OF_MIXED
from rkhs.data.table_reader import column_titles, read_table
from rkhs.data.text import MIXED, Mendable, MixedCells, number_in, with_unit

_POINTS = 100  # of a grid that nobody gave
_ROWS, _OFF = 8, 0.05  # of an axis at least; part of its least step by which equal axes may differ
_TIMES = ("times", "t")
_NUMBERS = "correct the cells that are not numbers: a cell of a curve is a number or empty"  # no kernel of mixed tables


def curves_on_grid(curves: Any, times: ArrayLike | None = None, *, at: ArrayLike | None = None) -> Curves:
    """Put curves with gaps or with times of their own on one grid: straight lines join the known values.

    ``x(t) = x(a) + (t - a) / (b - a) (x(b) - x(a))`` with a and b the known times around t. Noise stays in the values,
    and nothing is filled in before the first or after the last known time.

    Parameters
    ----------
    curves : array of shape (n, T) with NaN, sequence of n pairs (t, y), or FDataIrregular of scikit-fda
    times : array of shape (T,), default=None
        Times of the columns of an array. None: equally spaced on [0, 1].
    at : array of shape (g,), default=None
        The grid: increasing times that all curves cover. None: the times of the columns; of other curves 100 equally
        spaced times on the interval that all of them cover.

    Returns
    -------
    Curves
        What estimators and `FunctionalKernelRegressor` take, with the grid.

    Raises
    ------
    InputError
        For times that are not increasing, curves of fewer than two values, and curves that do not cover the grid.

    References
    ----------
    Ramsay and Silverman (2005), section 1.5, for curves as functions of discrete values.

    Examples
    --------
    >>> from rkhs.data import curves_on_grid
    >>> found = curves_on_grid([([0.0, 2.0], [0.0, 4.0]), ([0.0, 1.0, 2.0], [1.0, 1.0, 0.0])], at=[0.0, 1.0, 2.0])
    >>> found.data_matrix[:, :, 0]
    array([[0., 2., 4.],
           [1., 1., 0.]])
    """
    pairs, columns = _pairs(curves, times)
    first, last = max(t[0] for t, _ in pairs), min(t[-1] for t, _ in pairs)
    grid = _grid(at, columns, first, last)
    for row, (t, _) in enumerate(pairs):
        if t[0] > grid[0] or t[-1] < grid[-1]:
            raise InputError(
                f"curves must cover the grid from {grid[0]:g} to {grid[-1]:g}; curve {row} is known from {t[0]:g} to "
                f"{t[-1]:g}. Pass a shorter grid as at=, or leave it out; all curves cover {first:g} to {last:g}"
            )
    return Curves(np.stack([np.interp(grid, t, y) for t, y in pairs])[:, :, None], (grid,))


def _grid(at: ArrayLike | None, columns: np.ndarray | None, first: float, last: float) -> np.ndarray:
    """The grid that was asked for, or else the times of the columns, or else equal steps where all curves are known."""
    if at is not None:
        grid = real_array(at, "at").astype(np.float64)
        if grid.ndim != 1 or len(grid) < 2 or not np.isfinite(grid).all() or not (np.diff(grid) > 0).all():
            raise InputError(f"at must hold two or more increasing times; got shape {grid.shape}")
        return grid
    if columns is not None:
        return columns
    if not first < last:
        raise InputError(f"curves must share an interval of times; one begins at {first:g} and one ends at {last:g}")
    return np.linspace(first, last, _POINTS)


def _pairs(curves: Any, times: ArrayLike | None) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray | None]:
    """Known times and values of each curve, and the times of the columns of an array."""
    from rkhs._core.arrays import is_irregular  # which imports torch

    if is_irregular(curves):
        return [_checked(t, y, row) for row, (t, y) in enumerate(_of_irregular(curves))], None
    if isinstance(curves, (list, tuple)) and curves and _is_pair(curves[0]):
        if times is not None:
            raise InputError("times are those of the columns of an array; pairs carry their own; leave times out")
        return [_checked(*_pair(one, row), row) for row, one in enumerate(curves)], None
    X, t = _of_array(curves, times)
    return [_checked(t, y, row) for row, y in enumerate(X)], _checked(t, t, 0)[0]


def _of_array(curves: Any, times: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Curves as rows of an array, and the times of its columns."""
    from rkhs._core.arrays import as_numpy

    X = real_array(as_numpy(curves, "curves"), "curves").astype(np.float64)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] < 2:
        raise InputError(f"curves must be an array of shape (n, T) or pairs (t, y); got shape {X.shape}")
    t = np.linspace(0.0, 1.0, X.shape[1]) if times is None else real_array(times, "times").astype(np.float64)
    if t.shape != X.shape[1:]:
        raise InputError(f"times must be {X.shape[1]} numbers, one per column of the curves; got shape {t.shape}")
    return X, t


def _of_irregular(curves: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Times and values of each curve of an FDataIrregular."""
    points, values = np.asarray(curves.points), np.asarray(curves.values)
    if points.shape[1] != 1 or values.shape[1] != 1:
        raise InputError("curves must be real functions of one variable; got several coordinates or values")
    cuts = np.asarray(curves.start_indices)[1:]
    return list(zip(np.split(points[:, 0], cuts), np.split(values[:, 0], cuts), strict=True))


def _is_pair(one: Any) -> bool:
    return isinstance(one, (list, tuple)) and len(one) == 2


def _pair(one: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
    if not _is_pair(one):
        raise InputError(f"curves must all be pairs (t, y); item {row} is not one")
    from rkhs._core.arrays import as_numpy

    t, y = (real_array(as_numpy(part), f"curves[{row}]").astype(np.float64) for part in one)
    return t, y


def _checked(t: np.ndarray, y: np.ndarray, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and values without gaps."""
    if t.ndim != 1 or t.shape != y.shape:
        raise InputError(f"curves must have as many times as values; curve {row} has shapes {t.shape} and {y.shape}")
    known = ~np.isnan(y)
    t, y = t[known], y[known]
    if len(t) < 2 or not np.isfinite(t).all() or not np.isfinite(y).all() or not (np.diff(t) > 0).all():
        raise InputError(
            f"curves must have two or more finite values at increasing times; curve {row} has {len(t)} known values. "
            "Sort its times, or leave it out"
        )
    return t, y


def read_curve_file(file: Path, options: dict[str, Any]) -> Dataset:
    """Curves on one grid of times: rows of a table, whose empty cells are filled; see ``rkhs.data.read_items``."""
    return _read_curve_folder(file, options) if file.is_dir() else _read_curve_table(file, options)


def _read_curve_table(file: Path, options: dict[str, Any]) -> Dataset:
    """Curves as rows of a table, on one grid of times."""
    given, times = dict(options), None
    if file.suffix.lower() == ".npz":
        times, key = _times_from_file(file)
        given = key | given
    named = _named_by_titles(file, given)
    data = _table_with_gaps(file, given | named)
    if named and "index_column" not in named:
        data = replace(data, guessed=(*data.guessed, "the first row, numbers in equal steps, holds the times"))
    if data.kind != "vectors":
        raise InputError(f"{file}: expected curves as rows of numbers; got {data.kind}; leave out what asks for these")
    if data.column_names is not None:
        times = _times_named(data.column_names, file, data.X[:, 0])
    if times is not None and (times.shape != data.X.shape[1:] or not _increase(times)):
        raise InputError(
            f"{file}: curves need {data.X.shape[1]} finite, increasing times, one per column; got "
            f"{times.tolist()!r:.60}; sort the columns"
        )
    data = keep_rows(data, ~np.isnan(data.X).all(axis=1), NOTHING_KNOWN)
    gaps = np.isnan(data.X)
    if gaps.any():
        _check_ends(data, ~gaps, file)
        data = replace(data, X=curves_on_grid(data.X, times).data_matrix[:, :, 0], filled=int(gaps.sum()))
    return replace(data, kind="curves", times=times)


def on_one_axis(data: Dataset) -> Dataset | None:
    """Pairs of columns, an axis and an item, as items on the first axis, which names the rows; None for other tables.

    Values at other places of an axis of the same title are put there by straight lines.
    """
    pairs, names = _pairs_of_columns(data), data.column_names or ()
    if not len(pairs):
        return None
    titles, items = zip(*map(_parts_of_pair, names[::2], names[1::2]), strict=True)
    at, values, moved = _on_first([*pairs])
    if moved and (len({*titles}) > 1 or 2 * len(at) < data.n_samples):
        return None
    notes = ["the first of each pair of columns is an axis, which names the rows of the file", *moved]
    found = replace(data, X=values.T.copy(), kind="vectors", guessed=(*data.guessed, *notes))
    rows = tuple(map("{:.10g}".format, at))
    return replace(found, row_names=rows, column_names=items, skipped=(), blank=(), places=())


def _pairs_of_columns(data: Dataset) -> np.ndarray:
    """Numbers (d / 2, 2, n) of a table of pairs of columns, of which the first ones rise or fall; else none of them."""
    named = data.column_names is not None and data.kind in ("vectors", "table") and data.n_samples >= _ROWS
    count = data.X.shape[1] // 2 if named and data.X.shape[1] % 2 == 0 else 0
    pairs = as_numbers(data.X).T.reshape(count, 2, -1) if count > 1 else np.empty((0, 2, 0))
    return pairs if all(map(_is_axis, pairs[:, 0])) else pairs[:0]


def _on_first(pairs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The first axis of pairs (2, n) of an axis and values, all values on it, and a note where these were moved."""
    at, off = pairs[0][0], _OFF * np.abs(np.diff(pairs[0][0])).min()
    if all(x.shape == at.shape and np.abs(x - at).max() <= off for x, _ in pairs):
        return at, np.array([y for _, y in pairs]), []
    at = at[(at >= max(x.min() for x, _ in pairs)) & (at <= min(x.max() for x, _ in pairs))]
    values = np.array([np.interp(at, *pair[:, np.argsort(pair[0])]) for pair in pairs])
    return at, values, ["the axes differ: all are put on the first one by straight lines"]


def curve_files(folder: Path) -> list[Path]:
    """The files of a folder that may hold a curve each; none where it has few, or graphs."""
    files = sorted(file for file in folder.iterdir() if extension_of(file) in (".csv", ".tsv", ".txt"))
    return (
        files if len(files) > 1 and not any(file.name.endswith(("_A.txt", "_indicator.txt")) for file in files) else []
    )


def _read_curve_folder(folder: Path, options: dict[str, Any]) -> Dataset:
    """Curves of a folder, each two columns of a file of its name: an axis and values; on the axis of the first."""
    pairs = []
    for file in (files := curve_files(folder)):
        data = read_table(file, **options)
        if data.kind != "vectors" or data.X.shape[1] != 2 or not _is_axis(data.X[:, 0]):
            raise InputError(f"{file}: expected two columns, an axis that rises or falls, and values; correct the file")
        pairs.append(data.X.T)
    at, values, notes = _on_first(pairs)
    if len(at) < 3:
        raise InputError(f"{folder}: curves must share an interval of their axes; got none; take some files out")
    order, names = np.argsort(at), tuple(file.stem for file in files)
    return Dataset(values[:, order], "curves", names, None, str(folder), times=at[order], guessed=tuple(notes))


def _parts_of_pair(axis: str, item: str) -> tuple[str, str]:
    """The title of an axis, and an item, by two names of columns that begin with that of the item, or not."""
    words, others = (re.sub(r"\.\d+$", "", name).split(" ") for name in (axis, item))
    k = next((i for i, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), min(len(words), len(others)))
    return " ".join(words[k:]), " ".join(others[:k]) if k else item


def as_curves(data: Dataset) -> Dataset:
    """Rows of numbers as curves, whose columns are named by their times, which rise or fall, or are not named."""
    if (named := data.column_names) is None:
        return replace(data, kind="curves")
    times = _times_named(named, Path(data.source))
    order = np.argsort(times)
    if not _increase(times[order]):
        raise InputError(f"{data.source}: curves need different times; got {quote(times.tolist())}; correct the file")
    names = tuple(named[j] for j in order)
    return replace(data, X=data.X[:, order], column_names=names, kind="curves", times=times[order])


def _check_ends(data: Dataset, known: np.ndarray, file: Path) -> None:
    bad = np.flatnonzero(~(known[:, 0] & known[:, -1]))
    if not len(bad):
        return
    names, whole = data.column_names or tuple(map(str, range(known.shape[1]))), np.flatnonzero(known.all(axis=0))
    ends = [] if not len(whole) else [*names[: whole[0]], *names[whole[-1] + 1 :]]  # all are known between these
    columns = f"drop_columns={ends!r} leaves out the ends; or " if len(ends) in range(1, len(names) - 1) else ""
    labels = [f"row {i + 1}" if data.row_names is None else data.row_names[i] for i in bad]
    raise InputError(
        f"{file}: gaps of curves are filled between known values; got {len(bad)} curves with gaps at an end: "
        f"{listed(labels, 10)}; {columns}take these curves out of the file; or pass header=True in place of "
        "kind='curves', which fills gaps from the nearest rows"
    )


def _increase(times: np.ndarray) -> bool:
    """Whether times are finite and each is later than the one before."""
    return bool(np.isfinite(times).all() and (np.diff(times) > 0.0).all())


def _is_axis(numbers: np.ndarray) -> bool:
    """Whether several numbers rise or fall."""
    return len(numbers) > 2 and (_increase(numbers) or _increase(-numbers))


def _times_named(names: tuple[str, ...], file: Path, axis: Any = ()) -> np.ndarray:
    """The numbers that names of columns spell, all without a unit or with the same one; R writes X before them.

    Where they spell none and the first column, an axis, rises or falls, the curves stand in the columns.
    """
    names = tuple(re.sub(r"^X(?=\d)", "", name) for name in names)
    spelled = [[number_in(name, mark) for name in names] for mark in ".,"]
    spelled += [[*found[0]] for found in (with_unit(names, mark) for mark in ".,") if found is not None]
    times = next((found for found in spelled if None not in found), None)
    if times is None:
        bad = min(names, key=lambda name: name[:1].isdecimal())
        raise Mendable(
            f"{file}: the columns of curves are named by their times, which are numbers; got the name {quote(bad)}; "
            "write numbers, with one unit or none, name the other columns with columns=[...], or read vectors",
            "reads each column as a curve over the first one",
            transpose=_is_axis(np.array(axis)),
        )
    return np.array(times, dtype=np.float64)


def _named_by_titles(file: Path, options: dict[str, Any]) -> dict[str, Any]:
    """How to read a text file whose first line holds times: numbers in equal steps, or a title and increasing ones."""
    named = {name: value for name, value in options.items() if value is not None}
    dropped = named.pop("drop_columns", None)
    asked = named.pop("header", None)
    if not is_text_table(file) or set(named) - {"delimiter", "encoding", "skip_rows"} or asked is False:
        return {}
    kept, times = _first_times(file, named, dropped)
    if len(times) > 2 and math.isnan(times[0]) and _increase(times[1:]):
        return {"header": True, "index_column": kept[0]}
    return {"header": True} if asked is None and len(times) > 2 and is_grid(times) else {}


def _first_times(file: Path, options: dict[str, Any], dropped: Any) -> tuple[list[int], np.ndarray]:
    """Places in the first line that are not left out, and the numbers there, NaN for texts."""
    titles = _first_cells(file, options)
    kept = np.setdiff1d(range(len(titles)), locate_all(dropped, titles, len(titles), "drop_columns") or []).tolist()
    return kept, np.array([number_in(titles[j]) for j in kept], dtype=np.float64)  # None is NaN


def _first_cells(file: Path, options: dict[str, Any]) -> list[str]:
    """Cells of the first line, also where the column of names has no title."""
    with suppress(UnicodeError), open_lines(file, options.get("encoding", "utf-8-sig"), None) as lines:
        line = next(islice(lines, options.get("skip_rows", 0), None), "").rstrip("\r\n")
        if line.startswith((",", ";", "\t")):
            return line.split(line[0])
    return list(column_titles(file, **options))


def _table_with_gaps(file: Path, options: dict[str, Any]) -> Dataset:
    """A table of numbers with NaN for gaps; a first column of texts holds names of curves."""
    if set(options) - OF_MIXED:
        return read_table(file, **options)
    try:
        return read_numbers(file, names_first=True, **options)
    except MixedCells as error:
        message = str(error).replace(MIXED, _NUMBERS)
        if not error.columns:
            raise InputError(message) from error
        raise Mendable(message, "leaves them out", drop_columns=[*error.columns]) from error


def _times_from_file(file: Path) -> tuple[np.ndarray | None, dict[str, str]]:
    """Times that a .npz file holds, and the key of its only table."""
    try:
        arrays = load_arrays(file)
    except InputError:  # the reader of tables says what is wrong
        return None, {}
    times = next((arrays[name] for name in _TIMES if name in arrays), None)
    tables = [name for name, array in arrays.items() if array.ndim == 2 and name not in _TIMES]
    numbers = None if times is None or times.dtype.kind not in "biuf" else times.astype(np.float64).ravel()
    return numbers, {"key": tables[0]} if len(tables) == 1 else {}
