"""Sets of a machine whose setting is chosen with the new row among the others: exact, however few rows there are.

A setting that was chosen on the n training rows knows them and not the new row. Here each output y that the new row
could have chooses the setting under which all n + 1 rows are the most likely. With the determinant D of their Gram
matrix, ``D^(1 / (n + 1)) (tr S + ||y - h||^2 / d)`` is then the least of all settings: a quadratic function of y. Of
the outputs that choose a setting the set holds those that the exact set of this setting holds. Neither setting nor
scores depend on the order of the n + 1 rows. The left-out error is a quadratic function too, but an output that is far
off then chooses machines that interpolate, whose sets reach far: intervals of 19 to 59 rows were 3 to 9 times as wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    from rkhs.models.calibration import Calibration, NewItems

_TIE = 1.0 + 1e-9  # errors that differ by rounding alone are equal

Setting = tuple["Calibration", "NewItems"]


def chosen_interval(settings: Sequence[Setting], coverage: float) -> np.ndarray:
    """Ends (m, 2) of the smallest intervals that hold the exact sets of one output; infinite where none is left out."""
    needed = settings[0][0].needed(coverage)
    if needed < 1:
        return np.array([[-np.inf, np.inf]]).repeat(len(settings[0][1].shares), 0)
    ends = [machine.row_ends(new) for machine, new in settings]
    lower, upper = (np.stack(part, 1) for part in zip(*ends, strict=True))  # (m, s, n)
    parts = [(*machine.unlikelihood(new), new.values[:, 0]) for machine, new in settings]
    constant, curvature, values = (np.stack(part, 1) for part in zip(*parts, strict=True))  # (m, s)
    rows = zip(constant, curvature, values, lower, upper, strict=True)
    return np.array([_hull(*row, needed) for row in rows])


def chosen_members(
    settings: Sequence[Setting], row: int, E: Tensor, squares: Sequence[Tensor], coverage: float
) -> np.ndarray:
    """Which candidates of coordinates (c, r), at squared distances (c,) from each setting's value, a set holds."""
    errors, inside = [], []
    for (machine, new), near in zip(settings, squares, strict=True):
        constant, curvature = machine.unlikelihood(new)
        errors.append((constant[row] + curvature[row] * near.double()).numpy())
        inside.append(machine.holds(new, row, E, near, coverage))
    return np.asarray((np.stack(inside) & _least(np.stack(errors))).any(0))


def _least(errors: np.ndarray) -> np.ndarray:
    """Which settings (s, c) have the least error of their column."""
    return errors <= errors.min(0) * _TIE


def _hull(
    c: np.ndarray, a: np.ndarray, h: np.ndarray, lower: np.ndarray, upper: np.ndarray, needed: int
) -> tuple[float, float]:
    """The least and the largest output of the set: ends of intervals of rows, or points where the choice changes."""

    def errors(y: np.ndarray) -> np.ndarray:
        return c[:, None] + a[:, None] * (y - h[:, None]) ** 2

    # Within the ends of its intervals a setting is not chosen if it is nowhere as good as the best is everywhere.
    reach = np.maximum(errors(lower.min(1)), errors(upper.max(1))).min(0)
    first, second = np.triu_indices(len(c), 1)
    found, changes = [], _roots(np.stack([a, -2.0 * a * h, c + a * h * h], 1)[[first, second]])
    for setting in np.flatnonzero(c <= reach * _TIE):
        begins, ends = np.sort(lower[setting]), np.sort(upper[setting])
        y = np.concatenate([begins, ends, changes])
        alike = np.searchsorted(begins, y, side="right") - np.searchsorted(ends, y, side="left")
        y = y[alike >= needed]
        found.append(y[_least(errors(y))[setting]])
    points = np.concatenate(found)
    return (float(points.min()), float(points.max())) if len(points) else (np.inf, -np.inf)


def _roots(pairs: np.ndarray) -> np.ndarray:
    """Where two quadratic functions of coefficients (2, k, 3), the highest power first, are equal."""
    a, b, c = (pairs[0] - pairs[1]).T
    with np.errstate(all="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        roots = np.concatenate([half / a, c / half])
    return roots[np.isfinite(roots)]
