"""An estimator on the parts of the library. The page quotes this file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data
from torch import Tensor

from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.encoders import UnconstrainedCodes
from rkhs.problems.last_layers import ItemsLayer
from rkhs.solvers import LBFGS


# [the estimator]
class CodesOfClasses(ClassifierMixin, BaseEstimator):
    """Codes of ``p`` numbers from which a kernel machine predicts classes: the encoder knows ``y``.

    Least ``1/2 mean ||y_i - g(f(x_i))||^2 + reg[0] / 2 ||f||^2 + reg[1] / 2 ||g||^2`` with indicators ``y_i``.
    """

    def __init__(self, p: int = 1, gamma: float = 0.2, gamma_codes: float = 1.0, reg: Any = (1e-3, 1e-3)) -> None:
        self.p = p
        self.gamma = gamma
        self.gamma_codes = gamma_codes
        self.reg = reg

    def fit(self, X: Any, y: Any) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_ = np.unique(y)
        self.items_ = torch.as_tensor(X)
        Y = torch.as_tensor(1.0 * (y[:, None] == self.classes_))
        self.kernel_, self.head_ = Gaussian(self.gamma), Gaussian(self.gamma_codes)
        factor = factorize(self.kernel_._gram(self.items_))  # F F^T = K
        encoder = UnconstrainedCodes(factor, self.reg[0])  # f = F V
        problem = Autoencoder(encoder, ItemsLayer(Y - Y.mean(0), self.head_, self.reg[1]))  # g is eliminated
        solution = LBFGS().solve(problem, encoder.start([self.items_[:, : self.p]], 1.0))
        self.objective_ = solution.value
        self.codes_ = factor.codes(solution.point)
        self.coefficients_ = factor.coefficients(solution.point)  # f(x) = k(x, X) C
        self.head_coefficients_ = problem.last_layer.solve(self.codes_).coefficients
        self.shares_ = Y.mean(0)
        return self

    def transform(self, X: Any) -> Tensor:
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.kernel_._gram(torch.as_tensor(X), self.items_) @ self.coefficients_

    def predict(self, X: Any) -> np.ndarray:
        scores = self.head_._gram(self.transform(X), self.codes_) @ self.head_coefficients_ + self.shares_
        return self.classes_[scores.argmax(1).numpy()]


# [the end]


X, y = load_iris().data / load_iris().data.std(0), load_iris().target_names[load_iris().target]


def test_codes_of_one_number_tell_the_classes() -> None:
    train, test = np.arange(150) % 3 > 0, np.arange(150) % 3 == 0
    model = CodesOfClasses().fit(X[train], y[train])
    assert_allclose(model.transform(X[train]), model.codes_, atol=1e-6)
    assert np.mean(model.predict(X[test]) == y[test]) > 0.9


def test_it_is_an_estimator_of_scikit_learn() -> None:
    model = make_pipeline(StandardScaler(), CodesOfClasses(reg=(1e-2, 1e-2)))
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.9
