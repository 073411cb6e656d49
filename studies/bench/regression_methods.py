"""Methods of regression, each tuned on the training rows alone: a name gives a model that is not yet fitted."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

_FOLDS = 3


def ours() -> Any:
    from rkhs import OperatorKernelRegressorCV

    return OperatorKernelRegressorCV()


def one_family() -> Any:
    from rkhs import OperatorKernelRegressorCV

    return OperatorKernelRegressorCV("gaussian")


def lightgbm() -> Any:
    """500 trees at a rate of 0.05, with part of the rows and columns for each."""
    from lightgbm import LGBMRegressor

    return each_output(
        LGBMRegressor(
            n_estimators=500,
            learning_rate=0.05,
            subsample=0.8,
            subsample_freq=1,
            colsample_bytree=0.8,
            n_jobs=1,
            verbose=-1,
            random_state=0,
        )
    )


def lightgbm_tuned() -> Any:
    """Numbers of trees and of leaves by three folds."""
    from lightgbm import LGBMRegressor
    from sklearn.model_selection import GridSearchCV

    model = LGBMRegressor(learning_rate=0.05, min_child_samples=10, n_jobs=1, verbose=-1, random_state=0)
    return GridSearchCV(model, {"n_estimators": [100, 300], "num_leaves": [4, 31]}, cv=_FOLDS)


def histogram_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return each_output(HistGradientBoostingRegressor(random_state=0))


def support_vectors() -> Any:
    """Penalty, bandwidth and width of the tube by three folds; the target in its standard deviations."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    def search(d: int) -> Any:
        model = TransformedTargetRegressor(SVR(cache_size=500), transformer=StandardScaler())
        grid = {"C": [1.0, 10.0, 100.0], "gamma": bandwidths(d), "epsilon": [0.03, 0.3]}
        return GridSearchCV(model, {f"regressor__{name}": values for name, values in grid.items()}, cv=_FOLDS)

    return PerColumn(search)


def landmarks() -> Any:
    """scikit-learn's Nystroem with RidgeCV, bandwidth by three folds."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    def search(d: int) -> Any:
        model = make_pipeline(Nystroem(n_components=300, random_state=0), RidgeCV(10.0 ** np.arange(-6.0, 3.0)))
        return GridSearchCV(model, {"nystroem__gamma": bandwidths(d)}, cv=_FOLDS)

    return PerColumn(search)


def bandwidths(d: int) -> list[float]:
    """Multiples of one over the number of columns."""
    return [factor / d for factor in (0.03, 0.1, 0.3, 1.0)]


class PerColumn:
    """A model that is made for the number of columns."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def fit(self, X: np.ndarray, y: np.ndarray) -> PerColumn:
        self.model = self.make(X.shape[1]).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)


def each_output(model: Any) -> Any:
    """A model of several outputs, one of each."""
    from sklearn.multioutput import MultiOutputRegressor

    class Each:
        def fit(self, X: np.ndarray, Y: np.ndarray) -> Each:
            self.model = (model if Y.ndim == 1 else MultiOutputRegressor(model)).fit(X, Y)
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.model.predict(X)

    return Each()


SMALL: dict[str, Callable[[], Any]] = {
    "ours": ours,
    "Gaussian": one_family,
    "LightGBM": lightgbm,
    "LightGBM, tuned": lightgbm_tuned,
    "hist. boosting": histogram_boosting,
    "SVR, tuned": support_vectors,
    "Nystroem": landmarks,
}
LARGE = {name: SMALL[name] for name in ("ours", "LightGBM", "hist. boosting")}


def present(methods: dict[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """The methods that are installed; a line is printed where LightGBM is not."""
    if importlib.util.find_spec("lightgbm") is not None:
        return methods
    print("LightGBM is left out: it is not installed")
    return {name: make for name, make in methods.items() if not name.startswith("LightGBM")}
