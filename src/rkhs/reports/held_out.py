"""Held-out errors of predicted numbers, and rows that bring most of them, as the command line and the report print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs.data.columns import lone_values

if TYPE_CHECKING:
    from rkhs.estimators import OperatorKernelRegressorCV


_MOST_DECISIVE, _DECISIVE, _ROWS_EACH = 3, 0.5, 10  # rows, their share of the squared error, and rows for each
OUTLIER_FACTOR = 5.0  # times the median residual: of a normal law one in a thousand is larger
SHARED = (5.0 / 25.0 + 5.0 / 4.0) ** 0.5  # of an error by fits that share rows: Nadeau and Bengio, 25 splits of a fifth
_TAIL = 3.317  # log(log(1000) / log(2)) / log(2)
_DECADES, _SKEWED = 2.0, 1.1  # of a target whose logarithm is the better one; mean over median
# Decades of the middle 80 % from which that of an about symmetric logarithm is too, and how uneven its halves may be.
# Errors of the decimal point in 6 % of the rows do not make a normal law such a one.
_SYMMETRIC_DECADES, _UNEVEN = 0.8, 2.0
_CODES = 20  # different whole numbers that may stand for classes


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


def logarithm_note(name: str, values: np.ndarray) -> list[str]:
    """The advice to predict the logarithm of positive, skewed numbers over decades."""
    known = values[np.isfinite(values)]
    if len(known) < _ROWS_EACH or not (known > 0.0).all() or known.mean() < _SKEWED * np.median(known):
        return []
    least, low, middle, high, most = np.log10(np.quantile(known, (0.05, 0.1, 0.5, 0.9, 0.95))).tolist()
    even = max(high - middle, middle - low) <= _UNEVEN * min(high - middle, middle - low)
    wide = most - least >= _DECADES or (even and high - low >= _SYMMETRIC_DECADES)
    what = f"{name} is positive and nine tenths of its values span {most - least:.1f} decades"
    return [f"{what}, so that its largest values decide the fit"] * wide


def decisive_rows(residuals: np.ndarray) -> tuple[list[int], float]:
    """The fewest rows, of three and outlying, that bring more than half of the squared error, and their share."""
    order = np.argsort(-residuals, kind="stable")[: min(_MOST_DECISIVE, len(residuals) // _ROWS_EACH)]
    shares = np.cumsum(residuals[order] ** 2) / max(float((residuals**2).sum()), 1e-300)
    count = int(np.argmax(shares > _DECISIVE)) + 1 if (shares > _DECISIVE).any() else 0
    if count and residuals[order[count - 1]] <= outlier_factor(residuals) * np.median(residuals):
        count = 0  # of a skewed target the largest values
    return order[:count].tolist(), float(shares[count - 1]) if count else 0.0


def decisive_notes(residuals: np.ndarray, names: Sequence[str], robust: str = "") -> list[str]:
    """What is said of a few rows that bring most of the squared error; ``robust``: what leaves wrong ones out."""
    rows, share = decisive_rows(residuals)
    named = ",".join(re.sub(r"^(?:.* \()?row (\d+)\)?$", r"\1", names[i]) for i in rows)
    one = len(rows) == 1
    which = f"row {named} brings" if one else f"rows {named.replace(',', ', ')} bring"
    does = robust or f"pass --robust or --leave-out {shlex.quote(named)}"
    wrong = f"if {'it is' if one else 'they are'} wrong, {does}"
    return [f"{which} {share:.0%} of the squared error: {wrong}"] if rows else []


def outlier_factor(residuals: np.ndarray) -> float:
    """How many times the median a residual is outlying: a Weibull law with these quartiles passes it once in 1,000."""
    middle, upper = np.quantile(residuals, (0.5, 0.75))
    return max(OUTLIER_FACTOR, float(upper / middle) ** _TAIL) if middle > 0.0 else OUTLIER_FACTOR


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Norms of rows without their gaps."""
    return np.asarray(np.linalg.norm(np.where(np.isnan(rows), 0.0, rows), axis=1))


def target_notes(names: Sequence[str], Y: np.ndarray, way: str | None = None) -> Iterator[str]:
    """Say which targets (n, q) do not vary, may be classes, and the way to these, or hold one value far from others."""
    for name, column in zip(names, Y.T, strict=True):
        different, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        if 1 < len(different) <= min(_CODES, counts.sum() / 3) and (different == np.round(different)).all():
            many = f"{name} holds {len(different)} different whole numbers, and is predicted as a number"
            yield f"{many}: if they stand for classes, {way or f'write them as texts, such as class_{different[0]:g}'}"
        if np.nanmin(column) == np.nanmax(column):
            yield f"all values of {name} are equal, so there is nothing to learn: every prediction is this value"
        yield from (one.text for one in lone_values(name, column[np.isfinite(column)]))
