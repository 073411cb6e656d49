"""What a model makes of items, and what it says of itself, as numbers and sentences."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rkhs._core.errors import InputError, RkhsError
from rkhs.data.columns import as_numbers
from rkhs.estimators import KernelEstimator, KernelMap, diagnose
from rkhs.evaluation import Reconstruction, reconstruction
from rkhs.reports.items import Items

_MAX_DIAGNOSED = 5_000  # items: 2 n^3 is a quarter of a minute
_MAX_LEFT_OUT = 500  # items of a diagnosis, whose refined codes cost most of it


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Errors of items, and what is rebuilt of them if these are vectors."""

    errors: np.ndarray  # (n,)
    share: float  # share of the variance that is rebuilt
    space: str  # "input" or "feature"
    vectors: np.ndarray | None  # (n, d)
    units: np.ndarray | float = 1.0  # (d,): in which errors count differences of columns


def rebuild(model: KernelEstimator, items: Items, codes: np.ndarray) -> Rebuilt | None:
    """Rebuild items from their codes; None if the model cannot."""
    chosen = getattr(model, "estimator_", model)
    units, vectors = _units(model, items), _vectors(chosen, items, codes)
    try:
        found = _measured(chosen, items, codes)
    except RkhsError:
        if vectors is None or items.numbers is None:
            return None
        X = np.ma.masked_invalid(items.numbers)
        errors, spread = (((X - back) / units) ** 2 for back in (np.ma.masked_invalid(vectors), X.mean(0)))
        found = Reconstruction(errors.sum(1).filled(0.0), spread.sum(1).filled(0.0), "input")
    if found.space != "input":
        vectors = None
    return Rebuilt(np.asarray(found.errors, dtype=np.float64), found.share, found.space, vectors, units)


def _units(model: KernelEstimator, items: Items) -> np.ndarray | float:
    """Scales of the columns that the model standardises; 1 where it does not."""
    if items.numbers is None or getattr(model, "columns", "raw") not in ("scaled", "filled", "ranked"):
        return 1.0
    spread = np.ma.masked_invalid(items.numbers).std(0).filled(0.0)
    return np.where(spread > 0.0, spread, 1.0)


def _vectors(model: KernelEstimator, items: Items, codes: np.ndarray) -> np.ndarray | None:
    """Codes decoded to rows like those of the items, NaN for texts; None if the model cannot decode to rows."""
    if items.numbers is None or items.kind == "gram" or not hasattr(model, "inverse_transform"):
        return None
    try:
        back = np.asarray(model.inverse_transform(codes))
    except RkhsError:
        return None
    if back.dtype == object:
        back = as_numbers(back)
    return back.astype(np.float64).reshape(items.numbers.shape) if back.size == items.numbers.size else None


def _measured(model: KernelEstimator, items: Items, codes: np.ndarray) -> Reconstruction:
    diag = None
    if items.is_gram and items.numbers is not None:
        diag = items.numbers.diagonal().copy()
    if items.kind == "molecules":  # reals between bits mean nothing
        with suppress(InputError):
            return reconstruction(model, items.X, space="feature", diag=diag, codes=codes)
    return reconstruction(model, items.X, diag=diag, codes=codes)


def diagnosis(model: KernelEstimator) -> tuple[list[str], float | None]:
    """What is wrong with the model, and the share of the variance that new items lose; None if it is not known."""
    if isinstance(model, KernelMap):
        return [], model.held_out_error_
    n = len(model.codes_) if hasattr(model, "codes_") else 0
    if n == 0 or n > _MAX_DIAGNOSED:
        return [], None
    try:
        found = diagnose(model, at_most=_MAX_LEFT_OUT)
    except (AttributeError, RkhsError):
        return [], None
    estimates = [share for share in (found.leave_one_out_error, found.held_out_error) if share is not None]
    return [text[0].upper() + text[1:] + "." for text in found.warnings], max(estimates, default=None)
