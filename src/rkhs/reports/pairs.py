"""Pairs of columns that go together: rank correlations, Cramér's V, and correlation ratios."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rkhs.data.columns import Column, as_numbers
from rkhs.reports.audit import class_name, cut, is_class, sorted_by
from rkhs.reports.items import Items
from rkhs.reports.pictures import share_bar

_LEAST = 0.5  # strength of pairs that are listed
_MOST_ROWS, _MOST_COLUMNS, _MOST_CLASSES, _MOST_PAIRS, _FEWEST = 5_000, 100, 100, 10, 10  # at last rows of a pair
_CHANCE, _WHOLE = 0.01, 0.9995  # of a pair as strong where all columns are independent; strength of a copy
_MEASURES = ("Spearman", "correlation ratio", "Cramér's V")  # of numbers, of both, and of classes


def strongest_pairs(items: Items, target: tuple[str, np.ndarray] | None) -> tuple[str, list[list[str]]]:
    """A sentence on pairs of columns, and cells of HTML of the strongest; nothing where columns make no pairs."""
    columns = [] if items.are_curves else _columns(items, target)
    found = [(one[0], other[0], *_strength(*one[1:], *other[1:])) for one, other in combinations(columns, 2)]
    sure = [pair[:4] for pair in found if abs(pair[2]) > _LEAST and pair[4] * len(found) < _CHANCE]
    rows = [
        [cut(one), cut(other), sorted_by(abs(strength), f"{strength:.3f}{share_bar(abs(strength))}"), measure]
        for one, other, strength, measure in sorted(sure, key=lambda pair: -abs(pair[2]))[:_MOST_PAIRS]
    ]
    first = f"The strongest pairs of all above {_LEAST} and beyond chance" if rows else f"No pair is above {_LEAST}"
    measures = "rank correlation of numbers, Cramér's V of classes, correlation ratio of ranks in classes"
    return f"{first}: {measures}." * bool(found), rows


def _columns(items: Items, target: tuple[str, np.ndarray] | None) -> list[tuple[str, np.ndarray, bool]]:
    """Names, numbers or codes of classes, NaN for gaps, and which they are, of columns that name no rows."""
    given = [(name, cells, False) for name, cells in items.named_columns[:_MOST_COLUMNS]]
    given += [] if target is None else [(f"{target[0]} (the target)", target[1], is_class(target[1]))]
    found = []
    for name, whole, classed in given:
        cells = whole[np.linspace(0, len(whole) - 1, min(len(whole), _MOST_ROWS)).round().astype(int)]
        column = Column(cells, name, dated=name in items.dates)
        values, coded = as_numbers(cells[:, None])[:, 0], classed or column.is_text
        if coded:
            texts = np.array([*map(class_name, cells.tolist())])
            values = np.where(texts == "", np.nan, np.unique(texts, return_inverse=True)[1])
        if column.kind not in ("identifier", "name", "free") and (not coded or column.different <= _MOST_CLASSES):
            found.append((name, values, coded))
    return found


def _strength(x: np.ndarray, x_coded: bool, y: np.ndarray, y_coded: bool) -> tuple[float, str, float]:
    """Strength of a pair, its measure, and how often chance does as much.

    The squares of canonical correlations of ranks and classes, added up, are those of Spearman and Pearson, and of
    Cramér before the division. From those of classes is taken what chance adds (Bergsma, 2013).
    """
    from scipy.stats import chi2

    known = np.isfinite(x) & np.isfinite(y)
    x, y, n = x[known], y[known], int(known.sum())
    (P, a), (Q, b) = _directions(x, x_coded), _directions(y, y_coded)
    if n < _FEWEST or not a * b:
        return 0.0, "", 1.0
    products, kind, few = P.T @ Q, x_coded + y_coded, min(a, b)
    squares, strength = float((products**2).sum()) - (kind == 2), float(products[0, 0])
    if kind:
        most = few * max(1.0 - (max(a, b) if kind == 1 else few) / (n - 1), 1e-300)
        strength = min(max(squares - a * b / (n - 1), 0.0) / most, 1.0) ** 0.5
    copied = abs(strength) > _WHOLE and len({*zip(x.tolist(), y.tolist(), strict=True)}) == len({*x}) == len({*y})
    measure = "a copy, or the same in other units or names" if copied else _MEASURES[kind]
    return strength, measure, float(chi2.sf((n - 1) * squares, a * b))


def _directions(values: np.ndarray, coded: bool) -> tuple[np.ndarray, int]:
    """Centred ranks, or indicators of classes, of norm one, and in how many directions they vary."""
    from scipy.stats import rankdata

    if coded:
        _, places, sizes = np.unique(values, return_inverse=True, return_counts=True)
        return np.eye(len(sizes))[places] / sizes**0.5, len(sizes) - 1
    ranks = rankdata(values) - (len(values) + 1) / 2
    norm = float(np.linalg.norm(ranks))
    return ranks[:, None] / max(norm, 1e-300), int(norm > 0.0)
