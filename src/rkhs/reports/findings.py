"""What a model makes of items, and what it says of itself, as numbers and sentences."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

import rkhs
from rkhs._core.errors import InputError, RkhsError, brief
from rkhs.data.columns import as_numbers
from rkhs.estimators import Diagnostics, diagnose
from rkhs.estimators.robust_fit import spread_limits
from rkhs.evaluation import Reconstruction, reconstruction
from rkhs.plots import SelectionDisplay
from rkhs.reports.items import Items

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator


_MUCH = 0.3  # share of the variance; a loss beyond it is explained
MOST_DIAGNOSED = 5_000
"""Items of a diagnosis: 2 n^3 is a quarter of a minute."""
_TRIM = 4.0  # as in fit_robust
_LEFT_OUT = 500  # items, the refined codes of which cost most of a diagnosis


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Errors of items, and what is rebuilt of them if these are vectors."""

    errors: np.ndarray  # (n,)
    share: float  # share of the variance that is rebuilt
    space: str  # "input" or "feature"
    vectors: np.ndarray | None  # (n, d)

    @property
    def far_above(self) -> np.ndarray:
        """Items to look at, the largest error first."""
        return far_above(self.errors)


def rebuild(model: KernelEstimator, items: Items, codes: np.ndarray) -> Rebuilt | str:
    """Rebuild items from their codes; a sentence that says why not if the model cannot."""
    chosen = model.estimator_ if hasattr(model, "estimator_") else model
    try:
        found = _measured(chosen, items, codes)
    except RkhsError as error:
        vectors, X = _vectors(chosen, items, codes), items.numbers
        if vectors is None or X is None or not np.isfinite(X).all():
            return f"Reconstructions were not measured: {error}."
        found = Reconstruction(((X - vectors) ** 2).sum(1), ((X - X.mean(0)) ** 2).sum(1), "input")
    else:
        vectors = _vectors(chosen, items, codes) if found.space == "input" else None
    return Rebuilt(np.asarray(found.errors, dtype=np.float64), found.share, found.space, vectors)


def far_above(errors: np.ndarray) -> np.ndarray:
    """Items whose errors are far above the others', largest first, by the rule of :class:`RobustFit`."""
    roots = np.sqrt(errors.clip(0.0))
    score = roots / max(_TRIM * float(np.quantile(roots, 0.75)), 1e-300)
    order = np.argsort(score, kind="stable")[::-1]
    return order[score[order] > spread_limits(score)[1]]


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


def spectrum(model: KernelEstimator, codes: np.ndarray) -> tuple[np.ndarray, str]:
    """Shares of the variance by component, and what they are shares of."""
    if getattr(model, "explained_variance_ratio_", None) is not None:
        return np.asarray(model.explained_variance_ratio_), "explained variance, as shares of that of the features"
    variances = codes.var(0)
    return variances / max(variances.sum(), 1e-300), "variance of each code, as a share of that of all codes"


def selection(model: KernelEstimator) -> SelectionDisplay | None:
    """The settings that the fit compared; None if it compared none."""
    try:
        return SelectionDisplay.from_estimator(model)
    except (AttributeError, InputError):
        return None


def diagnosis(model: KernelEstimator) -> tuple[list[str], str, list[str]]:
    """What is wrong with the model, what new items lose, and its numbers in words."""
    n = len(model.codes_) if hasattr(model, "codes_") else 0
    if n == 0 or n > MOST_DIAGNOSED:
        sentences = f"it takes minutes beyond {MOST_DIAGNOSED} training items. Call rkhs.diagnose(model)"
        return [], "", [f"No diagnosis was made: {sentences}."]
    try:
        found = diagnose(model, at_most=_LEFT_OUT)
    except (AttributeError, RkhsError) as error:
        return [], "", [f"No diagnosis was made ({error})."]
    expected = _expected([found.leave_one_out_error, found.held_out_error], model.codes_.shape[1])
    return [text[0].upper() + text[1:] + "." for text in found.warnings], expected, _numbers(found, n)


def _numbers(found: Diagnostics, n: int) -> list[str]:
    """The numbers of a diagnosis of n items in words."""
    drawn = f" of {_LEFT_OUT} of the {n} items, evenly spaced" if n > _LEFT_OUT else ""
    numbers = [
        (found.training_error, "Training items lose {} of the variance when they are rebuilt."),
        (found.leave_one_out_error, f"An item that is left out of the fit loses {{}} (leave-one-out estimate{drawn})."),
        (found.held_out_error, "Held-out items lost {} when the regulariser was chosen."),
        (found.effective_rank, "{:.1f} components count (effective rank of the codes)."),
        (found.degrees_of_freedom, f"The decoder has {{:.0f}} degrees of freedom for {n} items."),
        (found.in_sample_defect, "Coding the training items again misses their codes by {}."),
        (found.saturated, "The loss is linear on {} of the training items."),
        (found.near_duplicates, "{} of the training items have a twin."),
    ]
    facts = [text.format(percent(value) if "{}" in text else value) for value, text in numbers if value is not None]
    if found.converged is not None:
        facts.append("The solver converged." if found.converged else "The solver did not converge.")
    return facts


def _expected(estimates: list[float | None], width: int) -> str:
    """What new items lose by the larger of the estimates; empty without one."""
    most = max((share for share in estimates if share is not None), default=None)
    if most is None:
        return ""
    sentences = f"Expect new items to lose about {percent(most)} of the variance."
    if most > _MUCH:
        short = "one number" if width == 1 else f"{width} numbers"
        sentences += f" So much is lost because a code has only {short}, or because the items have little in common."
        sentences += " It is no fault of the fit. Codes of more components usually lose less."
    return sentences


def percent(share: float) -> str:
    """A share in percent, with two digits of what is missing to 0 or 100."""
    if 0.0 < abs(share) < 1e-6:
        return "less than 0.0001 %"
    least = min(abs(share), abs(1.0 - share))
    digits = 1 if least == 0.0 else int(np.clip(-np.floor(np.log10(least)) - 1, 1, 6))
    return f"{100.0 * share:.{digits}f} %"


def settings(model: KernelEstimator) -> list[tuple[str, str]]:
    """Parameters that differ from their defaults, and what the fit resolved."""
    default = type(model)().get_params(deep=False)
    given = {k: v for k, v in model.get_params(deep=False).items() if repr(v) != repr(default[k])}
    rows = [(name, brief(value)) for name, value in given.items()]
    for name in ("kernel_", "decoder_kernel_", "output_kernel_", "reg_", "n_iter_", "objective_", "reason_"):
        value = getattr(model, name, None)
        if value is not None:
            rows.append((name, brief(value)))
    return rows


def versions() -> str:
    """The versions that made the page, in one line."""
    needed = [f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn", "torch")]
    return ", ".join([f"rkhs {rkhs.__version__}", *needed, f"Python {platform.python_version()}"])
