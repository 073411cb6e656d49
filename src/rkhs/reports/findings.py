"""What a model makes of items, and what it says of itself, as numbers and sentences."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata

import numpy as np

import rkhs
from rkhs._core.errors import InputError, RkhsError
from rkhs.data.columns import as_numbers
from rkhs.estimators import KernelEstimator, KernelMap, diagnose
from rkhs.estimators.robust_fit import spread_limits
from rkhs.evaluation import Reconstruction, reconstruction
from rkhs.reports.items import Items

MOST_DIAGNOSED = 5_000
"""Items of a diagnosis: 2 n^3 is a quarter of a minute."""
_TRIM, _LEFT_OUT = 4.0, 500  # as in fit_robust; items, the refined codes of which cost most of a diagnosis
_FOLLOWED = 0.01  # of the mean error of new items; items with smaller ones are learnt by heart


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Errors of items, and what is rebuilt of them if these are vectors."""

    errors: np.ndarray  # (n,)
    share: float  # share of the variance that is rebuilt
    space: str  # "input" or "feature"
    vectors: np.ndarray | None  # (n, d)
    units: np.ndarray | float = 1.0  # (d,): in which errors count differences of columns


def rebuild(model: KernelEstimator, items: Items, codes: np.ndarray) -> Rebuilt | str:
    """Rebuild items from their codes; a sentence that says why not if the model cannot."""
    chosen = model.estimator_ if hasattr(model, "estimator_") else model
    X = np.ma.masked_invalid(np.zeros((len(items), 1)) if items.numbers is None else items.numbers)
    units = _units(model, X)
    try:
        found = _measured(chosen, items, codes)
    except RkhsError as error:
        vectors = _vectors(chosen, items, codes)
        if vectors is None:
            return f"Reconstructions were not measured: {error}."
        sums = [(((X - np.ma.masked_invalid(rows)) / units) ** 2).mean(1) for rows in (vectors, X.mean(0))]
        errors, spread = (X.shape[1] * each.filled(0.0) for each in sums)
        found = Reconstruction(errors, spread, "input")
    else:
        vectors = _vectors(chosen, items, codes) if found.space == "input" else None
    return Rebuilt(np.asarray(found.errors, dtype=np.float64), found.share, found.space, vectors, units)


def _units(model: KernelEstimator, X: np.ma.MaskedArray) -> np.ndarray | float:
    """Scales of the columns that the model standardises; 1 where it does not."""
    scaled = getattr(model, "columns", "raw") in ("scaled", "filled", "ranked")
    return np.where(X.std(0).filled(0.0) > 0.0, X.std(0).filled(1.0), 1.0) if scaled else 1.0


def far_above(found: Rebuilt, lost: float | None) -> np.ndarray:
    """Items whose errors are far above the others', largest first, by the rule of :class:`RobustFit`.

    Errors far below those of new items, which lose this share of the variance, are those of a fit that follows each
    item.
    """
    roots = np.sqrt(found.errors.clip(0.0))
    score = roots / max(_TRIM * float(np.quantile(roots, 0.75)), 1e-300)
    order = np.argsort(score, kind="stable")[::-1]
    least = _FOLLOWED * (lost or 0.0) * found.errors.mean()  # (1 - share) times an error of new items
    return order[(score[order] > spread_limits(score)[1]) & ((1.0 - found.share) * found.errors[order] >= least)]


def _vectors(model: KernelEstimator, items: Items, codes: np.ndarray) -> np.ndarray | None:
    """Codes decoded to rows like those of the items, NaN for texts; None if the model cannot decode to rows."""
    if items.numbers is None or items.kind == "gram" or not hasattr(model, "inverse_transform"):
        return None
    try:
        back = np.asarray(model.inverse_transform(codes))
    except RkhsError:
        return None
    back = as_numbers(back) if back.dtype == object else back.astype(np.float64)
    return back.reshape(items.numbers.shape) if back.size == items.numbers.size else None


def _measured(model: KernelEstimator, items: Items, codes: np.ndarray) -> Reconstruction:
    diag, X = None, items.numbers
    if items.kind == "gram" and X is not None and X.shape[0] == X.shape[1] and np.allclose(X, X.T):
        diag = X.diagonal().copy()
    if items.kind == "molecules":  # reals between bits mean nothing
        with suppress(InputError):
            return reconstruction(model, items.X, space="feature", diag=diag, codes=codes)
    return reconstruction(model, items.X, diag=diag, codes=codes)


def diagnosis(model: KernelEstimator) -> tuple[list[str], float | None]:
    """What is wrong with the model, and the share of the variance that new items lose; None if it is not known."""
    if isinstance(model, KernelMap):
        return [], model.held_out_error_
    n = len(model.codes_) if hasattr(model, "codes_") else 0
    if n == 0 or n > MOST_DIAGNOSED:
        return [], None
    try:
        found = diagnose(model, at_most=_LEFT_OUT)
    except (AttributeError, RkhsError):
        return [], None
    estimates = [share for share in (found.leave_one_out_error, found.held_out_error) if share is not None]
    return [text[0].upper() + text[1:] + "." for text in found.warnings], max(estimates, default=None)


def versions() -> str:
    """The versions that made the page, in one line."""
    needed = (f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn", "torch"))
    return ", ".join([f"rkhs {rkhs.__version__}", *needed, f"Python {platform.python_version()}"])
