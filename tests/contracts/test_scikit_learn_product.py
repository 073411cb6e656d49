"""The checks of scikit-learn on every estimator with every storage, on inputs in single precision, and computing in it.

Short fits (``QUICK``); the defaults run in ``test_scikit_learn_checks``. ``-m slow`` runs the whole product.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from rkhs._core.errors import InputError
from rkhs.features import Nystroem, RandomFeatures
from tests.contracts.estimator_examples import QUICK, estimators, fitted
from tests.contracts.test_scikit_learn_checks import check_all

FEATURES = [Nystroem(200), RandomFeatures(50)]
STORAGES: dict[str, list[Any]] = {
    "DeepRKM": FEATURES,
    "KernelAutoencoder": FEATURES,
    "KernelContrastive": FEATURES,
    "KernelPCA": ["blocked", *FEATURES],
    "OperatorKernelRegressor": FEATURES,
    "OperatorKernelRegressorCV": [],  # Leaves take no sparse rows, and no folds that are given
}


# They ask for 1e-7, which single precision has not: see docs/user/precision.md and test_single_precision.
ROUNDED = frozenset(
    {
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    }
)

# With features the autoencoder puts its rows in a random order, which takes samples and anchors of them. One row of
# weight two and two equal rows are another number of rows, so they are in another order.
DRAWN = frozenset(f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse"))

# Landmarks of a Gram matrix keep the diagonal of the landmarks alone, so scores of codes ask for that of all items.
NEEDS_DIAGONAL = {"check_fit_score_takes_y": "diag must be given"}


def single(X: Any) -> Any:
    if type(X).__name__ == "_NotAnArray":  # of the checks: only NumPy's protocol
        X = np.asarray(X)
    if hasattr(X, "columns") and hasattr(X, "astype"):  # pandas
        return X.astype(dict.fromkeys(X.select_dtypes("float64").columns, np.float32))
    return X.astype(np.float32) if isinstance(X, np.ndarray) and X.dtype == np.float64 else X


@functools.cache
def reads_single(kind: type[BaseEstimator]) -> type[BaseEstimator]:
    """The estimator behind a border that rounds inputs in double precision to single, and returns double for them."""

    def rounded(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            result = method(self, single(X), *args, **kwargs)
            widen = single(X) is not X and isinstance(result, np.ndarray) and result.dtype == np.float32
            return result.astype(np.float64) if widen else result

        return call

    names = ("fit", "fit_transform", "predict", "score", "transform")
    methods = {name: rounded(getattr(kind, name)) for name in names if hasattr(kind, name)}
    made = type(kind.__name__, (kind,), {**methods, "__module__": __name__})
    globals()[kind.__name__] = made  # where pickle looks for it
    return made


def products() -> list[Any]:
    """Every estimator, on inputs and Gram matrices, with every storage, in every precision."""
    made = []
    for kind in estimators():
        few = QUICK.get(kind.__name__, {})
        stored = [{}, *({"storage": storage} for storage in STORAGES.get(kind.__name__, []))]
        on_grams = [one for one in stored if isinstance(one.get("storage"), (Nystroem, type(None)))]
        grams = [{"kernel": "precomputed", **one} for one in on_grams]
        for params in stored + (grams if "kernel" in kind().get_params() else []):
            options = {**few, **params}
            made.append(pytest.param(kind(**options), id=f"{kind(**options)!r}"))
            made.append(pytest.param(reads_single(kind)(**options), id=f"float32 inputs, {kind(**options)!r}"))
            if "dtype" in kind().get_params():
                single_precision = kind(**options, dtype="float32")
                made.append(pytest.param(single_precision, id=f"{single_precision!r}"))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("estimator", products())
def test_check_estimator_passes_in_every_storage_and_precision(estimator: BaseEstimator) -> None:
    params = estimator.get_params()
    single_precision = params["dtype"] == "float32" or type(estimator).__module__ == __name__
    drawn = type(estimator).__name__ == "KernelAutoencoder" and not isinstance(params["storage"], str)
    rounded = (ROUNDED if single_precision else frozenset()) | (DRAWN if drawn else frozenset())
    on_landmarks = params.get("kernel") == "precomputed" and isinstance(params.get("storage"), Nystroem)
    rebuilds = on_landmarks and type(estimator).__name__ in ("DeepRKM", "KernelAutoencoder", "KernelPCA")
    check_all(estimator, rounded, NEEDS_DIAGONAL if rebuilds else None)


def test_every_other_storage_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    for kind in estimators():
        if "storage" in kind().get_params():
            for storage in ("blocked", *FEATURES):
                if not any(storage is one for one in STORAGES[kind.__name__]):
                    with pytest.raises(InputError, match=r"storage of .* must be one of"):
                        fitted(kind(storage=storage), X)
