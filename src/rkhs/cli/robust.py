"""``rkhs fit --robust``: rows that look wrong are named, scored and left out."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError
from rkhs.cli.options import refuse_flags
from rkhs.cli.rows import named_rows, row_labels
from rkhs.data.dataset import LEFT_OUT, Dataset, keep_rows, listed

_SHOWN, _LARGEST = 30, 5
_SIDES = (("stand apart above", 1), ("stand apart below", -1))


def check_robust(args: argparse.Namespace) -> None:
    """Refuse flags that contradict ``--robust``."""
    if args.robust:
        why = "does not go with --robust, which fits single rows in memory; leave one out"
        refuse_flags(args, ("stream", "engine", "groups"), why)


class Fitted(NamedTuple):
    """A model, the codes of all rows, and what a fit in rounds found."""

    model: Any
    codes: Any
    found: estimators.RobustFit[Any] | None = None

    def sentences(self, data: Dataset) -> list[str]:
        """Which rows look wrong and which stand apart, the farthest first, and from where on a new row does."""
        found = self.found
        if found is None:
            return []
        score, names, counted = found.outlier_score, row_labels(data), named_rows(data)
        wrong, out = np.flatnonzero(score > 1.0), np.flatnonzero(~found.inliers)
        sentences = [wrong_rows(found, wrong, names, counted)]
        rest = np.setdiff1d(out, wrong)
        if len(rest):
            more = "more " if len(wrong) else ""
            sentences.append(
                f"{len(rest)} {more}rows stood apart and were left out: {_listed(-score, rest, names)}{counted}"
            )
        outliers = _outlying_rows(found, names)
        if outliers[0] and not found.too_many:
            sentences.append(f"{outliers[0]} rows stand apart and are in the fit; look at them: {outliers[1]}{counted}")
        sentences.append(
            f"a new row stands apart if its error by rkhs compare --errors is above {_greatest_error(found):.6g}"
        )
        return [f"robust: {sentence}" for sentence in sentences]

    def rows(self, data: Dataset) -> Dataset:
        """The rows of the fit."""
        return data if self.found is None else keep_rows(data, self.found.inliers, LEFT_OUT)

    def facts(self, data: Dataset) -> dict[str, Any]:
        """Return names and numbers: for ``--json``, and for the model file, where ``rkhs compare`` reads them."""
        if self.found is None:
            return {}
        names, sides = row_labels(data), self.found.outlier_sign
        outliers = {side: [names[i] for i in range(len(names)) if sides[i] == sign] for side, sign in _SIDES}
        return outliers | {"largest error of a good row": _greatest_error(self.found)}


def fit_items(
    args: argparse.Namespace, estimator: estimators.KernelEstimator, data: Dataset, rows: Any = None
) -> Fitted:
    """Fit the rows, or in rounds with ``--robust``; then rows that the fit left out get codes too."""
    if not args.robust:
        return Fitted(estimator, estimator.fit(data.items if rows is None else rows).codes_)
    if not isinstance(estimator, estimators.KernelAutoencoder):
        raise InputError(f"--robust fits a KernelAutoencoder; got {type(estimator).__name__}; leave --robust out")
    check_robust(args)
    found = estimators.fit_robust(estimator, data.items)
    codes = found.model.codes_ if found.inliers.all() else found.model.transform(data.items)
    return Fitted(found.model, codes, found)


def wrong_rows(found: estimators.RobustFit[Any], wrong: np.ndarray, names: list[str], counted: str) -> str:
    """Which rows have a score above 1, and whether they were left out."""
    score = found.outlier_score
    many = f"{len(wrong)} of {len(score)} rows"
    if not len(wrong):
        near = np.argsort(-score, kind="stable")[:_LARGEST].tolist()
        largest = ", ".join(f"{names[i]} ({score[i]:.2f})" for i in near)
        return (
            f"no row is wrong enough to be left out (none has a score above 1); the largest scores: {largest}{counted}"
        )
    if found.too_many:
        return f"no row was left out: {many} look wrong, too many to be mistakes"
    if found.inliers.all():
        far = _listed(-score, wrong, names)
        return f"no row was left out: {many} have a score above 1, {far}{counted}, and the fit is the same with them"
    kept = int(found.inliers[wrong].sum())
    if kept:
        out = np.flatnonzero(~found.inliers)
        stay = f"; {many} have a score above 1, and {kept} of them stay in the fit"
        return f"{len(out)} rows were left out of the fit: {_listed(-score, out, names)}{counted}{stay}"
    return f"{many} look wrong and were left out of the fit: {_listed(-score, wrong, names)}{counted}"


def _outlying_rows(found: estimators.RobustFit[Any], names: list[str]) -> tuple[int, str]:
    """How many rows of the fit stand apart, and which, above and below the others."""
    score, (low, high) = found.outlier_score, found.limits
    outliers = np.where(found.inliers, found.outlier_sign, 0)
    above, below = np.flatnonzero(outliers > 0), np.flatnonzero(outliers < 0)
    parts = []
    if len(above):
        parts.append(f"{len(above)} above the others (score above {high:.2g}): {_listed(-score, above, names)}")
    if len(below):
        why = f"score below {low:.2g}: weak, flat or copied rows are rebuilt so well"
        parts.append(f"{len(below)} below ({why}): {_listed(score, below, names)}")
    return len(above) + len(below), "; ".join(parts)


def _listed(order: np.ndarray, rows: np.ndarray, names: list[str]) -> str:
    """Names of rows, least first, and how many were not named."""
    return listed([names[i] for i in rows[order[rows].argsort(kind="stable")].tolist()], _SHOWN)


def _greatest_error(found: estimators.RobustFit[Any]) -> float:
    """Return the greatest error of an ordinary row; no least one: rows of the fit have smaller errors than new ones."""
    return (found.limits[1] * found.threshold) ** 2


def outlier_sentence(errors: np.ndarray, known: dict[str, Any], data: Dataset) -> str:
    """Which rows stand apart above those of the fit."""
    high = known["largest error of a good row"]
    rows = (errors > high).nonzero()[0]
    if not len(rows):
        return f"no row stands apart from those of the fit (error at most {high:.6g})"
    named = f"{_listed(-errors, rows, row_labels(data))}{named_rows(data)}"
    return f"rows that stand apart from those of the fit: {len(rows)} with an error above {high:.6g}: {named}"


def errors_of_all_rows(found: estimators.RobustFit[Any], Y: np.ndarray) -> dict[str, Any]:
    """Held-out errors of all rows, with those that were left out, which the model has not seen."""
    cells = np.isfinite(Y).sum()
    squares = float(((found.outlier_score * found.threshold) ** 2).sum())
    spread = float(np.nansum((Y - np.nanmean(Y, axis=0)) ** 2))
    errors = {"error": (squares / cells) ** 0.5, "error of the mean": (spread / cells) ** 0.5}
    return errors | {
        "R^2": 1.0 - squares / max(spread, 1e-300),
        "rows": len(Y),
        "left out": int((~found.inliers).sum()),
    }
