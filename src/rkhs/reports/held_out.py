"""Held-out errors of predicted numbers, and rows that bring most of them, as the command line and the report print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rkhs.estimators import OperatorKernelRegressorCV


OUTLIER_FACTOR = 5.0  # times the median residual: of a normal law one in a thousand is larger
SHARED = (5.0 / 25.0 + 5.0 / 4.0) ** 0.5  # of an error by fits that share rows: Nadeau and Bengio, 25 splits of a fifth
_TAIL = 3.317  # log(log(1000) / log(2)) / log(2)


def held_out_errors(
    model: OperatorKernelRegressorCV, Y: np.ndarray, nested: np.ndarray | None = None
) -> dict[str, Any]:
    """The held-out error in the units of the targets, with its standard error, and that of the mean of the targets.

    ``nested``: residuals by settings that other rows chose; None: the choice has many rows, and is not corrected.
    """
    centred, error = Y - np.nanmean(Y, axis=0), -model.best_score_
    parts = model.cv_errors_.reshape(-1, model.cv_errors_.shape[-1])
    best = parts[parts.mean(1).argmin()]
    if nested is not None:
        best = row_norms(nested) ** (2.0 if model.criterion_ == "squared" else 1.0)
        error = float(best.mean())
    spread = float(best.std(ddof=1)) / len(best) ** 0.5 * (1.0 if nested is None else SHARED)
    if model.criterion_ != "squared":
        of_mean = float(row_norms(centred).mean())
        return {"held-out error": error, "standard error": spread, "error of the mean": of_mean, "measure": "mean norm"}
    share = len(Y) / np.isfinite(Y).sum()  # from rows to cells
    root, of_mean = float(np.sqrt(share * error)), float(np.sqrt(np.nanmean(centred**2)))
    found = {
        "held-out error": root,
        "standard error": share * spread / (2.0 * root) if root > 0.0 else 0.0,
        "error of the mean": of_mean,
        "measure": "root mean square",
    }
    varies = of_mean > 1e-12 * float(np.nanmax(np.abs(Y)))
    return found | {"R^2": 1.0 - (root / of_mean) ** 2} if varies else found


def outlier_factor(residuals: np.ndarray) -> float:
    """How many times the median a residual is outlying: a Weibull law with these quartiles passes it once in 1,000."""
    middle, upper = np.quantile(residuals, (0.5, 0.75))
    return max(OUTLIER_FACTOR, float(upper / middle) ** _TAIL) if middle > 0.0 else OUTLIER_FACTOR


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Norms of rows without their gaps."""
    return np.asarray(np.linalg.norm(np.where(np.isnan(rows), 0.0, rows), axis=1))


def target_notes(names: Sequence[str], Y: np.ndarray) -> Iterator[str]:
    """Say which targets (n, q) do not vary."""
    for name, column in zip(names, Y.T, strict=True):
        if np.nanmin(column) == np.nanmax(column):
            yield f"all values of {name} are equal, so there is nothing to learn: every prediction is this value"
