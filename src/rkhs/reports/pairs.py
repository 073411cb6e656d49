"""Pairs of columns that go together: rank correlations, Cramér's V, and correlation ratios."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.stats import chi2, rankdata

from rkhs.data.columns import Column, as_numbers
from rkhs.reports.audit import class_name, cut, is_class, sorted_by
from rkhs.reports.items import Items
from rkhs.reports.pictures import share_bar

_MOST_ROWS, _MOST_COLUMNS, _MOST_CLASSES, _MOST_PAIRS, _FEWEST = 5_000, 100, 100, 10, 10  # at last rows of a pair
_LEAST, _WHOLE, _CHANCE = 0.5, 0.9995, 0.01  # strengths of pairs and copies; risk of a pair of independent columns
_MEASURES = ("Spearman", "correlation ratio", "Cramér's V")  # of numbers, of both, and of classes


def strongest_pairs(items: Items, target: tuple[str, np.ndarray] | None) -> tuple[str, list[list[str]]]:
    """Give a sentence on pairs of columns, and cells of HTML of the strongest; nothing where there are no pairs."""
    columns = [] if items.are_curves else _columns(items, target)
    found = [(one[0], other[0], *_strength(*one[1:], *other[1:])) for one, other in combinations(columns, 2)]
    sure = [pair[:4] for pair in found if abs(pair[2]) > _LEAST and pair[4] * len(found) < _CHANCE]
    rows = [
        [cut(one), cut(other), sorted_by(abs(strength), f"{strength:.3f}{share_bar(abs(strength))}"), measure]
        for one, other, strength, measure in sorted(sure, key=lambda pair: -abs(pair[2]))[:_MOST_PAIRS]
    ]
    first = f"{'The strongest pairs' if rows else 'No pair is'} above {_LEAST} and beyond chance"
    measures = "rank correlation of numbers, Cramér's V of classes, correlation ratio of ranks in classes"
    return f"{first}: {measures}." * bool(found), rows


def _columns(items: Items, target: tuple[str, np.ndarray] | None) -> list[tuple[str, np.ndarray, bool]]:
    """Give names, numbers or codes of classes, NaN for gaps, and which they are, of columns that name no rows."""
    given = [(name, cells, False) for name, cells in items.named_columns[:_MOST_COLUMNS]]
    given += [] if target is None else [(f"{target[0]} (the target)", target[1], is_class(target[1]))]
    found = []
    for name, whole, classed in given:
        cells = whole[np.linspace(0, len(whole) - 1, min(len(whole), _MOST_ROWS)).round().astype(int)]
        column, texts = Column(cells, name, dated=name in items.dates), np.array([*map(class_name, cells.tolist())])
        codes = np.where(texts == "", np.nan, np.unique(texts, return_inverse=True)[1])
        coded = classed or column.is_text
        if column.kind not in ("identifier", "name", "free") and coded * column.different <= _MOST_CLASSES:
            found.append((name, codes if coded else as_numbers(cells[:, None])[:, 0], coded))
    return found


def _strength(x: np.ndarray, x_coded: bool, y: np.ndarray, y_coded: bool) -> tuple[float, str, float]:
    """Give the strength of a pair, its measure, and how often chance does as much."""
    # The squares of canonical correlations of ranks and classes, added up, are those of Spearman and Pearson, and of
    # Cramér before the division. From those of classes is taken what chance adds (Bergsma, 2013).
    known = np.isfinite(x) & np.isfinite(y)
    x, y, n, kind = x[known], y[known], int(known.sum()), x_coded + y_coded
    if n < _FEWEST:
        return 0.0, "", 1.0
    P, Q = _directions(x, x_coded), _directions(y, y_coded)
    few, more = sorted((P.shape[1] - x_coded, Q.shape[1] - y_coded))
    squares = float(((P.T @ Q) ** 2).sum()) - (kind == 2)
    most = max(few * (1.0 - (more if kind == 1 else few) / (n - 1)), 1e-300)
    corrected = min(max(squares - few * more / (n - 1), 0.0) / most, 1.0) ** 0.5
    strength = corrected if kind else float(P[:, 0] @ Q[:, 0])
    copied = abs(strength) > _WHOLE and len({*zip(x.tolist(), y.tolist(), strict=True)}) == len({*x}) == len({*y})
    copied = copied and 2 * n >= len(known) and (kind > 0 or abs(np.corrcoef(x, y)[0, 1]) > _WHOLE)
    measure = "a copy, or the same in other units or names" if copied else _MEASURES[kind]
    return strength, measure, float(chi2.sf((n - 1) * squares, max(few * more, 1)))


def _directions(values: np.ndarray, coded: bool) -> np.ndarray:
    """Return centred ranks, or indicators of classes, of norm one."""
    if coded:
        _, places, sizes = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray(np.eye(len(sizes))[places] / sizes**0.5)
    ranks = rankdata(values) - (len(values) + 1) / 2
    return np.asarray(ranks[:, None] / max(float(np.linalg.norm(ranks)), 1e-300))
