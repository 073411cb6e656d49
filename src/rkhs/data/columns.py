"""What the columns of a table look like: whether they share a unit, and which of them say nothing of an item.

The rules and their thresholds were set on public sets; ``studies/bench/columns.py`` checks them on others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs.data import dataset

TENFOLD = 10.0
"""Spreads that differ by more are of columns in different units, or may be."""

_FEW = 10  # rows; with fewer, nothing is said of what all values have in common
_USUAL = 5.0  # robust standard deviations from the median; what is farther out is a spike
_WIDE = 500  # columns of a wide table
_LARGEST_LOG = 30.0  # of counts and intensities, by two


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
    return _neighbours_are_alike(X, sd, ratio)


def _neighbours_are_alike(X: np.ndarray, sd: np.ndarray, ratio: float) -> bool:
    """Whether columns next to each other go together, and their deviations change little or smoothly."""
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


def column_remarks(X: np.ndarray, names: Sequence[str], dates: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Say which columns are constant, names or counters of rows, or dates; and list those to leave out."""
    import pandas

    columns = [
        (str(name), pandas.Series(cells).dropna().infer_objects()) for name, cells in zip(names, X.T, strict=True)
    ]
    constant = [name for name, cells in columns if cells.nunique() == 1]
    of_rows = [name for name, cells in columns if _is_of_rows(cells)]
    remarks = []
    if constant:
        remarks.append(f"{many(len(constant), 'column is', 'columns are')} constant ({listed(constant)}).")
    if of_rows:
        text = "all values differ or count the rows, so they do not describe items; leave them out"
        remarks.append(f"{listed(of_rows)}: {text}.")
    if dates:
        remarks.append(f"{listed(list(dates))}: dates, read as days since the first of January 1970.")
    return remarks, of_rows


def _is_of_rows(cells: Any) -> bool:
    """Whether the known cells of a column are texts that all differ, or numbers that rise or fall by one."""
    if len(cells) < _FEW:
        return False
    if cells.dtype.kind not in "biuf":
        return bool(cells.nunique() == len(cells))
    steps = np.diff(cells.to_numpy(dtype=float))
    return bool((steps == 1.0).all() or (steps == -1.0).all())


ON_BOTH_SIDES = "copies on both sides of a split make errors look too small"
COPIES = "row is a copy of an earlier one", "rows are copies of earlier ones", ON_BOTH_SIDES
TWINS = (
    "molecule has the fingerprint of an earlier one",
    "molecules have the fingerprint of an earlier one",
    "a map or model of fingerprints takes them for copies",
)


def row_copies(X: np.ndarray, wording: tuple[str, str, str] = COPIES, *, least: float = 0.05) -> str:
    """A sentence about rows that are copies of earlier ones, if they are this share of all; else nothing."""
    cells = X.tolist() if X.dtype == object else (row.tobytes() for row in np.ascontiguousarray(X))
    copies = len(X) - len({tuple(row) if isinstance(row, list) else row for row in cells})
    if copies < max(1.0, least * len(X)):
        return ""
    return f"{many(copies, *wording[:2])}: {wording[2]}."


def repeats_items(kind: str, X: np.ndarray | None) -> bool:
    """Whether equal items are one item measured again, not a combination of a few values that new rows have too."""
    if kind not in ("vectors", "table") or X is None:
        return True
    from rkhs._core.copies import are_measured

    return are_measured(as_numbers(X) if X.dtype == object else X)


def as_numbers(cells: np.ndarray) -> np.ndarray:
    """Numbers of a table of objects, shape (n, d); NaN for texts and gaps."""
    return np.array([[_number(cell) for cell in row] for row in cells]).reshape(cells.shape)


def _number(cell: Any) -> float:
    return float(cell) if isinstance(cell, (int, float, np.integer, np.floating)) else float("nan")


def many(count: int, one: str, more: str) -> str:
    """A number with its noun and verb."""
    return f"{count} {one if count == 1 else more}"


def listed(names: Sequence[str] | np.ndarray) -> str:
    """The first five names, each at most 40 letters long, and how many more there are."""
    return dataset.listed([name if len(name) <= 40 else f"{name[:37]}..." for name in map(str, names)])
