"""Every public estimator, as the contracts check it.

Estimators are discovered; a new one is tested at its defaults without a line here. ``VARIANTS`` adds configurations.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

import rkhs.estimators
from rkhs._core.errors import (
    CollapseWarning,
    ColumnWarning,
    JitterWarning,
    NotPositiveSemidefiniteWarning,
    RoundingWarning,
)
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Polynomial
from rkhs.losses import Huber

CHOSEN = (
    CollapseWarning,
    ColumnWarning,
    ConvergenceWarning,
    JitterWarning,
    NotPositiveSemidefiniteWarning,
    RoundingWarning,
)

# Beside the defaults of every estimator, and kernel="precomputed" where it has a kernel.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "KernelAutoencoder": [
        {"n_components": (3, 2)},
        {"output_kernel": "same", "reg": 1e-2},
        {"center": False, "scale": False, "n_init": 2, "random_state": 0},
        {"kernel": Polynomial(2), "decoder_kernel": Gaussian(1.0), "n_components": 1, "operators": ([[2.0]], None)},
        {"kernel": "laplacian", "reg": (1e-3, 1e-2)},
        {"loss": Huber(1.0)},  # "huber" cuts residuals, and is solved to a gap: see test_loss_choice.py
    ],
    "FunctionalKernelRegressor": [{"kernel": "precomputed", "loss": "squared"}],
    "InputOutputKernelRegressor": [{"kernel": "precomputed", "output_kernel": "gaussian"}],
    "OperatorKernelRegressor": [
        {"loss": "huber", "operator": "covariance", "tol": 1e-10},
        {"storage": Nystroem(200)},
        {"storage": RandomFeatures(50)},
    ],
    "KernelPCA": [
        {"n_components": 0.9},
        {"n_components": None},
        {"center": False, "kernel": "linear"},
        {"preimage": "nearest", "kernel": Gaussian("scale")},
        {"preimage": "fixed_point", "n_components": 1},
        {"loss": "huber"},
        {"storage": "blocked"},
        {"storage": Nystroem(200), "n_components": 0.9},
        {"storage": RandomFeatures(50), "n_components": 1},
    ],
}

# A search is checked on a small one: every check fits several times.
SMALL: dict[str, dict[str, Any]] = {}

# Short fits: where a check fits many times it asks these the same, and of the defaults only with -m slow.
QUICK: dict[str, dict[str, Any]] = {
    "DeepRKM": {"n_components": (2, 1), "tol": 1e-1},
    "FunctionalKernelRegressor": {"max_iter": 100},
    "KernelAutoencoder": {"reg": 1e-2, "max_iter": 2},
    "KernelNovelty": {"columns": "raw"},
}

# Their codes are unknowns of their own, and transform predicts them with a chosen shrinkage, as documented.
SHRUNK = {"DeepRKM"}


def estimators() -> list[type[BaseEstimator]]:
    """Every public class of ``rkhs.estimators`` that can be fitted."""
    named = [getattr(rkhs.estimators, name) for name in rkhs.estimators.__all__]
    return [c for c in named if inspect.isclass(c) and issubclass(c, BaseEstimator) and hasattr(c, "fit")]


def plain(settings: dict[str, dict[str, Any]] = SMALL) -> list[BaseEstimator]:
    """Every estimator at its defaults but for ``settings``, and with kernel="precomputed"."""
    made = [(kind, settings.get(kind.__name__, {})) for kind in estimators()]
    grams = [kind(kernel="precomputed", **few) for kind, few in made if "kernel" in kind().get_params()]
    return [kind(**few) for kind, few in made] + grams


def configurations(settings: dict[str, dict[str, Any]] = SMALL) -> list[BaseEstimator]:
    """The plain ones and the variants."""
    kinds = {kind.__name__: kind for kind in estimators()}
    few = [(kinds[name], {**settings.get(name, {}), **params}) for name, many in VARIANTS.items() for params in many]
    return plain(settings) + [kind(**params) for kind, params in few]


COSTLY_GRAMS = ("DeepRKM", "FunctionalKernelRegressor", "KernelMap", "OperatorKernelRegressorCV")


def costly_grams_last(made: list[BaseEstimator]) -> list[Any]:
    """The estimators, as slow the Gram matrices of classes that fit by iteration: quicker ones read them alike."""
    slow = [is_pairwise(one) and type(one).__name__ in COSTLY_GRAMS for one in made]
    return [pytest.param(one, marks=pytest.mark.slow) if late else one for one, late in zip(made, slow, strict=True)]


def transformers(settings: dict[str, dict[str, Any]] = SMALL) -> list[BaseEstimator]:
    return [e for e in configurations(settings) if hasattr(e, "transform")]


def is_pairwise(estimator: BaseEstimator) -> bool:
    return bool(estimator.__sklearn_tags__().input_tags.pairwise)


def refuses_parts(result: dict[str, Any]) -> bool:
    """Whether a check called partial_fit after fit, or with fewer rows than landmarks, which is refused.

    Models of a fit keep no sums that rows could be added to, and landmarks are chosen once: both would lose in silence.
    """
    calls = ("check_fit_score_takes_y", "check_n_features_in_after_fitting")
    refusals = ("partial_fit adds rows to a", "the first rows of partial_fit must be at least as many")
    return result["check_name"] in calls and any(words in str(result["exception"]) for words in refusals)


def hands_rows(estimator: BaseEstimator, check: str) -> bool:
    """Whether a check of scikit-learn hands rows to an estimator of Gram matrices, as those of outliers do."""
    return is_pairwise(estimator) and check.startswith("check_outlier")


def for_estimator(estimator: BaseEstimator, data: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Training and new data in the form that the estimator reads."""
    if not is_pairwise(estimator):
        return data
    X, new = data
    return Gaussian(0.2)(X), Gaussian(0.2)(new, X)


def fitted(estimator: BaseEstimator, X: np.ndarray, **fit: Any) -> Any:
    if estimator.__sklearn_tags__().target_tags.required:
        fit.setdefault("y", np.asarray(X)[:, 0])
    with warnings.catch_warnings():
        for kind in CHOSEN:
            warnings.simplefilter("ignore", kind)
        return clone(estimator).fit(X, **fit)
