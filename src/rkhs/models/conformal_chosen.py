"""Full conformal sets of a machine whose setting (kernel and regulariser) is chosen with the new row included.

A setting that was chosen on the n training rows depends on them and not on the new row. Here each candidate output y of
the new row chooses its setting: the one of largest likelihood of n of the n + 1 rows, over which row is left out. It
minimises ``D^(1 / n) tr S`` over rows and settings, with the determinant D of the regularised Gram matrix of the n
rows. Each term is a quadratic function of y, constant where the new row is left out, so that an output far off chooses
the setting of the training rows. The set holds y if the exact set of the setting that y chooses holds it. Neither
setting nor scores depend on the order of the n + 1 rows. By the likelihood of all n + 1 rows, outputs far off would
choose settings that smooth or interpolate more: intervals of noise-free data were 23 to 91 times as wide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from rkhs.models.conformal import Calibration, NewItems

_TIE = 1.0 + 1e-9  # relative tolerance of comparisons: differences by rounding are ties
_POINTS = 17  # grid points on the interval of each setting, and on the bracket of each end that is refined

Setting = tuple["Calibration", "NewItems"]


def chosen_interval(settings: Sequence[Setting], coverage: float) -> np.ndarray:
    """Ends (m, 2) of the smallest intervals around the exact sets of one output; infinite if no output is excluded."""
    # The choice is evaluated on a grid; an end at which it changes is rounded outwards.
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
    """Which candidates of coordinates (c, r) a set holds; ``squares``: squared distances (c,) to each prediction."""
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
    """Which settings have the least error, along the first axis; ties count."""
    return errors <= errors.min(0) * _TIE


def _hull(functions: np.ndarray, values: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """Least and largest output y inside the interval, with ends (s, 2), of the setting that y chooses."""
    # The error of a setting is the least of n + 1 quadratic functions (s, n + 1, 3) of ``y`` minus its prediction.

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
