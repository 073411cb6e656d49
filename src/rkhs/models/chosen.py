"""Sets of a machine whose setting is chosen with the new row among the others: exact, however few rows there are.

A setting that was chosen on the n training rows knows them and not the new row. Here each output y that the new row
could have chooses the setting with the least left-out error of all n + 1 rows. With ``t = y - h`` the left-out
residuals of one setting are ``t`` itself and ``(A_ii e_i - b_i t / d) / (A_ii + b_i^2 / d)``, so that its error is
``c + <g, t> + a <t, t>``, and the outputs that choose it are those where this is the least. Of these the set holds those
that the exact set of this setting holds. Setting and scores do not depend on the order of the n + 1 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from rkhs.models.calibration import rows_at_least

if TYPE_CHECKING:
    from rkhs.models.calibration import Calibration, NewItems

_TIE = 1.0 + 1e-9  # errors that differ by rounding alone are equal

Setting = tuple["Calibration", "NewItems"]


def chosen_interval(settings: Sequence[Setting], coverage: float) -> np.ndarray:
    """Ends (m, 2) of the smallest intervals that hold the exact sets of one output; infinite where none is left out."""
    m, n = settings[0][1].shares.shape
    needed = rows_at_least(coverage, n)
    if needed < 1:
        return np.array([[-np.inf, np.inf]]).repeat(m, 0)
    ends = [machine.row_ends(new) for machine, new in settings]
    lower, upper = (np.sort(np.stack(part, 1), 2) for part in zip(*ends, strict=True))  # (m, s, n)
    errors = np.stack([_polynomials(*setting) for setting in settings], 1)  # (m, s, 3)
    return np.array([_hull(*row, needed) for row in zip(errors, lower, upper, strict=True)])


def chosen_members(
    settings: Sequence[Setting], row: int, E: Tensor, squares: Sequence[Tensor], coverage: float
) -> np.ndarray:
    """Which candidates of coordinates (c, r), at squared distances (c,) from each setting's value, a set holds."""
    errors, inside = [], []
    for (machine, new), near in zip(settings, squares, strict=True):
        constant, slope, curvature = machine.left_out_error(new)
        t = E.double() - new.values[row]
        errors.append((constant[row] + t @ slope[row] + curvature[row] * near.double()).numpy())
        inside.append(machine.holds(new, row, E, near, coverage))
    return np.asarray((np.stack(inside) & _least(np.stack(errors))).any(0))


def _least(errors: np.ndarray) -> np.ndarray:
    """Which settings (s, c) have the least error of their column."""
    return errors <= errors.min(0) * _TIE


def _polynomials(machine: Calibration, new: NewItems) -> np.ndarray:
    """Coefficients (m, 3), the highest power first, of left-out errors as functions of the one output."""
    c, g, a = (part.numpy().reshape(-1) for part in machine.left_out_error(new))
    h = new.values[:, 0].numpy()
    return np.stack([a, g - 2.0 * a * h, c - g * h + a * h * h], 1)


def _hull(errors: np.ndarray, lower: np.ndarray, upper: np.ndarray, needed: int) -> tuple[float, float]:
    """The least and the largest output of the set: ends of intervals of rows, or points where the choice changes."""
    first, second = np.triu_indices(len(errors), 1)
    found, changes = [], _roots(errors[first] - errors[second])
    for setting, (begins, ends) in enumerate(zip(lower, upper, strict=True)):
        y = np.concatenate([begins, ends, changes])
        alike = np.searchsorted(begins, y, side="right") - np.searchsorted(ends, y, side="left")
        y = y[alike >= needed]
        found.append(y[_least(errors @ np.stack([y * y, y, np.ones_like(y)]))[setting]])
    points = np.concatenate(found)
    return (float(points.min()), float(points.max())) if len(points) else (np.inf, -np.inf)


def _roots(quadratics: np.ndarray) -> np.ndarray:
    """Real roots of polynomials (k, 3)."""
    a, b, c = quadratics.T
    with np.errstate(all="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        roots = np.concatenate([half / a, c / half])
    return roots[np.isfinite(roots)]
