"""Columns that contain what is predicted: in another unit, or as a factor or a part of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from rkhs.data.columns import as_numbers

_MOST_COLUMNS, _FEWEST_COLUMNS = 60, 3
_CLOSE, _SHARE = 0.01, 0.9  # relative error of a formula, and share of the rows within it
_FEWEST_ROWS, _MOST_ROWS = 10, 1_000
_FEWEST_OF_CLASSES, _OF_CLASSES = 20, 0.99  # rows, and share of these in which a column gives the class
_SAME_ORDER = 0.9999  # rank correlation
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]{2,}|[A-Z]{2,}")  # of a name such as priceByArea


_FORMULAS = (1, 1, "times", "plus"), (1, -1, "divided by", "minus"), (-1, 1, "divided by", "minus")


def answer_in_columns(cells: np.ndarray, names: Sequence[str], y: np.ndarray, target: str) -> tuple[str, list[str]]:
    """What is said of one column, or two, that give the target y (n,), and which to leave out; else nothing."""
    if y.dtype == object:
        return _classes_in_columns(cells, names, y, target)
    X = as_numbers(cells) if cells.dtype == object else np.asarray(cells, dtype=float)
    places = np.flatnonzero(np.isfinite(X).mean(0) >= _SHARE)
    varied = np.flatnonzero(_but_for_the_usual(y))  # most of a sparse column is equal to any other
    if (
        X.shape[1] < _FEWEST_COLUMNS
        or len(places) > _MOST_COLUMNS
        or len(varied) < _FEWEST_ROWS
        or np.ptp(y[varied]) == 0.0
    ):
        return "", []
    some = varied[:: -(-len(varied) // _MOST_ROWS)]
    X, y = X[some], y[some]
    formula, columns = next(_formulas(X[:, places], [names[j] for j in places.tolist()], y), ("", []))
    parts = {word.lower() for word in _WORD.findall(target)}
    alike = [name for name in columns if parts & {word.lower() for word in _WORD.findall(name)}]
    dropped = alike if len(alike) == 1 and " the order of" not in formula else columns
    are = "is" if len(dropped) == 1 else "are"
    what = f"{formula} {target} in nearly all rows: if {' and '.join(dropped)} {are} known only with it"
    return what * bool(columns), dropped


def _classes_in_columns(cells: np.ndarray, names: Sequence[str], y: np.ndarray, target: str) -> tuple[str, list[str]]:
    """What is said of columns with a value for each class y (n,), in nearly all rows, and their names; else nothing."""
    count, found = len({*y.tolist()}), []
    few = len(y) < _FEWEST_OF_CLASSES or len(names) > _MOST_COLUMNS
    for name, column in () if few else zip(names, cells.T.tolist(), strict=True):
        pairs, rows = zip(*Counter(zip(map(str, column), y.tolist(), strict=True)).most_common(count), strict=True)
        different = {len(set(values)) for values in zip(*pairs, strict=True)}
        if different == {count} and sum(rows) >= _OF_CLASSES * len(y):
            found.append(name)
    given, known = ("has", "is") if len(found) == 1 else ("have", "are")
    which = " and ".join(found)
    what = (
        f"{which} {given} a value for each class of {target} in nearly all rows: if {which} {known} known only with it"
    )
    return what * bool(found), found


def _but_for_the_usual(y: np.ndarray) -> np.ndarray:
    """Rows (n,) whose number is not the most frequent one."""
    values, counts = np.unique(y[np.isfinite(y)], return_counts=True)
    return np.isfinite(y) & (y != values[counts.argmax()] if len(values) else False)


def _in_order(X: np.ndarray, names: list[str], y: np.ndarray) -> list[str]:
    """Columns whose known numbers rise, or fall, with y."""
    from scipy.stats import spearmanr

    known = np.isfinite(X)
    varied = [j for j in range(len(names)) if np.ptp(X[known[:, j], j]) > 0.0]
    return [names[j] for j in varied if abs(spearmanr(X[known[:, j], j], y[known[:, j]])[0]) > _SAME_ORDER]


def _formulas(X: np.ndarray, names: list[str], y: np.ndarray) -> Iterator[tuple[str, list[str]]]:
    """Formulas of one column or two that give y, with their columns."""
    same = [name for name, x in zip(names, X.T, strict=True) if (abs(y - x) <= _CLOSE * abs(y)).mean() >= _SHARE]
    if same:
        yield f"{' and '.join(same)} {'is' if len(same) == 1 else 'are'}", same
    if alike := _in_order(X, names, y):
        yield f"{' and '.join(alike)} {'has' if len(alike) == 1 else 'have'} the order of", alike
    near = _CLOSE * min(y.std(), float(np.ptp(np.quantile(y, (0.25, 0.75)))))  # a tail is no spread of most rows
    yield from _means(X, names, y, near)
    logs, log_y = (np.log(np.where(part > 0.0, part, np.nan)) for part in (X, y))
    for i, j in combinations(range(len(names)), 2):
        for p, q, product, total in _FORMULAS:
            first, second = (names[i], names[j]) if p > 0 else (names[j], names[i])
            factor = _constant(log_y - p * logs[:, i] - q * logs[:, j])
            if factor is not None:
                scaled = ", up to a factor," if abs(factor) > _CLOSE else ""
                yield f"{first} {product} {second}{scaled} is", [names[i], names[j]]
            if (abs(y - p * X[:, i] - q * X[:, j]) <= near).mean() >= _SHARE:
                yield f"{first} {total} {second} is", [names[i], names[j]]


def _means(X: np.ndarray, names: list[str], y: np.ndarray, near: float) -> Iterator[tuple[str, list[str]]]:
    """Two columns whose mean is y in nearly all rows."""
    for i, j in combinations(range(len(names)), 2):
        if (abs(y - (X[:, i] + X[:, j]) / 2.0) <= near).mean() >= _SHARE:
            yield f"the mean of {names[i]} and {names[j]} is", [names[i], names[j]]


def _constant(values: np.ndarray) -> float | None:
    """The number that most values are; NaN are none of them."""
    if np.isfinite(values).mean() < _SHARE:
        return None
    middle = float(np.nanmedian(values))
    return middle if (abs(values - middle) <= _CLOSE).mean() >= _SHARE else None
