"""Regressors in searches of scikit-learn, and their files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import rkhs
from rkhs import (
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.losses import Huber

ESTIMATORS = [
    OperatorKernelRegressor(),
    OperatorKernelRegressor(loss="huber", operator="covariance", tol=1e-10),
    OperatorKernelRegressorCV(regs=[1e-3, 1e-1], cv=2),
    InputOutputKernelRegressor(),
    FunctionalKernelRegressor(),
]


def test_grid_search_reaches_nested_parameters():
    X = np.linspace(-1, 1, 30)[:, None]
    Y = np.hstack([np.sin(3 * X), X**2])
    grid = {"reg": [1e-4, 1.0], "loss__kappa": [0.1, 1.0]}
    search = GridSearchCV(OperatorKernelRegressor(loss=Huber(1.0)), grid, cv=3).fit(X, Y)
    assert search.best_params_["reg"] == 1e-4
    assert clone(search.best_estimator_).loss.kappa == search.best_params_["loss__kappa"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_model_files_give_the_same_predictions(estimator, tmp_path):
    r = np.random.default_rng(0)
    X, Y = r.normal(size=(20, 3)), r.normal(size=(20, 2))
    model = clone(estimator).fit(X, Y)
    rkhs.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "model.safetensors").predict(X), model.predict(X))
