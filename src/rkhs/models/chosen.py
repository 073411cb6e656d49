"""Sets of a machine whose setting is chosen with the new row among the others: exact, however few rows there are.

A setting that was chosen on the n training rows knows them and not the new row. Here each output y that the new row
could have chooses the setting under which n of the n + 1 rows are the most likely, whichever row is left out: the least
``D^(1 / n) tr S`` of all rows and settings, with the determinant D of the Gram matrix of the n rows. Each is a
quadratic function of y, and for an output that is far off the new row is left out, so that the setting of the training
rows stays. Of the outputs that choose a setting the set holds those that the exact set of this setting holds. Neither
setting nor scores depend on the order of the n + 1 rows. With all n + 1 rows, outputs that are far off choose settings
that smooth or interpolate more, whose sets reach far: intervals of noise-free data were 23 to 91 times as wide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from rkhs.models.calibration import Calibration, NewItems

_TIE = 1.0 + 1e-9  # errors that differ by rounding alone are equal
_POINTS = 17  # of the interval of each setting at which all are compared, and again between two where a choice ends

Setting = tuple["Calibration", "NewItems"]


def chosen_interval(settings: Sequence[Setting], coverage: float) -> np.ndarray:
    """Ends (m, 2) of the smallest intervals that hold the exact sets of one output; infinite where none is left out."""
    # The choice is made at points, and an end where it changes lies a little outside.
    values = np.stack([new.values.numpy() for _, new in settings], 1)  # (m, s, 1)
    ends = values + np.stack([machine.interval(new, coverage) for machine, new in settings], 1)
    if not np.isfinite(ends).all():
        return np.array([[-np.inf, np.inf]]).repeat(len(ends), 0)
    parts = []
    for machine, new in settings:
        constant, slope, curvature = machine.loo_likelihood_terms(new)
        slope[:, :-1] *= machine.residuals[:, 0]
        parts.append(np.stack([constant, slope, curvature], 2))
    return np.array([_hull(*row) for row in zip(np.stack(parts, 1), values, ends, strict=True)])


def chosen_members(
    settings: Sequence[Setting], row: int, E: Tensor, squares: Sequence[Tensor], coverage: float
) -> np.ndarray:
    """Which candidates of coordinates (c, r), at squared distances (c,) from each setting's value, a set holds."""
    errors, inside = [], []
    for (machine, new), near in zip(settings, squares, strict=True):
        constant, slope, curvature = (part[row][:, None] for part in machine.loo_likelihood_terms(new))
        along = machine.residuals @ (E.double() - new.values[row]).mT
        found = constant + curvature * near.double()
        found[:-1] += slope[:-1] * along
        errors.append(found.min(0).values.numpy())
        inside.append(machine.contains(new, row, E, near, coverage))
    return np.asarray((np.stack(inside) & _least(np.stack(errors))).any(0))


def _least(errors: np.ndarray) -> np.ndarray:
    """Which settings have the least error, along the first axis."""
    return errors <= errors.min(0) * _TIE


def _hull(functions: np.ndarray, values: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """The least and the largest output between the ends (s, 2) of the setting that it chooses."""
    # The error of a setting is the least of quadratic functions (s, n + 1, 3) of the distance from its value (s, 1).

    def chosen(y: np.ndarray) -> np.ndarray:
        t = (y.ravel() - values)[:, None]
        errors = (functions[:, :, :1] + functions[:, :, 1:2] * t + functions[:, :, 2:] * t * t).min(1)
        return _least(errors).reshape(len(values), *y.shape)

    y = np.sort(np.linspace(ends[:, 0], ends[:, 1], _POINTS).ravel())
    inside = chosen(y) & (ends[:, :1] <= y) & (y <= ends[:, 1:])
    some = np.flatnonzero(inside.any(1))
    if not len(some):
        return np.inf, -np.inf
    found = []
    for sign, bound in ((-1, ends[some, 0]), (1, ends[some, 1])):
        points, flags = np.broadcast_to(y[::sign], (len(some), len(y))), inside[some, ::sign]
        last, beyond = _last(points, flags)
        near = np.linspace(last, sign * np.minimum(sign * beyond, sign * bound), _POINTS, axis=1)
        found.append(sign * (sign * _last(near, chosen(near)[some, np.arange(len(some))])[1]).max())
    return found[0], found[1]


def _last(points: np.ndarray, flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find for each row of points (k, p) the last one with a flag, and the next one."""
    place = flags.shape[1] - 1 - flags[:, ::-1].argmax(1)
    rows = np.arange(len(points))
    return points[rows, place], points[rows, np.minimum(place + 1, flags.shape[1] - 1)]
