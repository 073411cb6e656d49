"""Curves: read from tables whose columns are times, and brought to one grid by straight lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, quote, warn
from rkhs.data.arrays import load_arrays, read_array
from rkhs.data.cells import names_of, number_columns, row_names, row_title
from rkhs.data.dataset import NOTHING_KNOWN, Curves, Dataset, check_finite, keep_rows
from rkhs.data.text import number_in

_POINTS = 100  # of a grid that nobody gave
_TIMES = ("times", "t")


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


def curves_of(frame: Any, source: str) -> Dataset:
    """Curves as rows of a frame whose columns are named by their times; gaps are filled by straight lines."""
    names = names_of(frame)
    if names is not None and number_in(names[0]) is None and frame.shape[1] > 1:  # a column of names
        frame = frame.set_index(frame.columns[0])
        names = names_of(frame)
    times = None if names is None else _times_named(names, source)
    X = np.column_stack(number_columns(frame, source, "curves"))
    data = Dataset(X, "curves", row_names(frame), names, source, row_title=row_title(frame))
    return _on_times(data, times)


def _on_times(data: Dataset, times: np.ndarray | None) -> Dataset:
    """Curves with their times, without those of no known value, and with their gaps filled."""
    source = data.source
    if times is not None and (times.shape != data.X.shape[1:] or not (np.diff(times) > 0.0).all()):
        raise InputError(
            f"{source}: curves need {data.X.shape[1]} increasing times, one per column; got {times.tolist()!r:.60}; "
            "sort the columns, or pass --read header=None if the first row is a curve"
        )
    check_finite(np.where(np.isnan(data.X), 0.0, data.X), source, data.column_names)  # gaps may be
    data = keep_rows(data, ~np.isnan(data.X).all(axis=1), NOTHING_KNOWN)
    gaps = int(np.isnan(data.X).sum())
    if gaps:
        try:
            data = replace(data, X=curves_on_grid(data.X, times).data_matrix[:, :, 0])
        except InputError as error:
            raise InputError(f"{source}: {error}; or leave out the columns at the ends") from error
        warn(f"{source}: {gaps} empty cells of curves are filled by straight lines between their neighbours")
    return replace(data, times=times)


def _times_named(names: tuple[str, ...], source: str) -> np.ndarray:
    """The numbers that names of columns spell."""
    times = [number_in(name) for name in names]
    bad = [name for name, time in zip(names, times, strict=True) if time is None]
    if bad:
        raise InputError(
            f"{source}: the columns of curves are named by their times, which are numbers; got the name "
            f"{quote(bad[0])}; rename the columns, or leave it out"
        )
    return np.array(times, dtype=np.float64)


def read_curve_arrays(file: Path, key: str | None) -> Dataset:
    """Curves of an array, with the times that a .npz file holds beside it."""
    arrays = load_arrays(file)
    times = [arrays[name].astype(np.float64).ravel() for name in _TIMES if name in arrays]
    tables = [name for name, array in arrays.items() if array.ndim == 2 and name not in _TIMES]
    chosen = tables[0] if key is None and len(tables) == 1 else key
    data = Dataset(read_array(file, chosen, finite=False), "curves", None, None, str(file))
    return _on_times(data, times[0] if times else None)
