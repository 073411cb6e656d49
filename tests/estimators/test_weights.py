"""Only ratios of sample weights count: eight times the weights are the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rkhs import (
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.features import Nystroem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
Y = np.tanh(X @ RNG.normal(size=(3, 3))) + 0.1 * RNG.normal(size=(12, 3))
Y[:3] *= 10.0
LOSSES = ("squared", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
REGRESSORS = [
    *(OperatorKernelRegressor(loss=loss) for loss in LOSSES),
    *(OperatorKernelRegressor(loss=loss, storage=Nystroem(10)) for loss in ("squared", "huber")),
    *(OperatorKernelRegressorCV(loss=loss, regs=[0.01, 0.1], gammas=None, cv=2) for loss in LOSSES[:3]),
    OperatorKernelRegressorCV(),
    *(InputOutputKernelRegressor(loss=loss) for loss in ("squared", "huber")),
    *(FunctionalKernelRegressor(loss=loss) for loss in ("squared", "huber")),
    FunctionalKernelRegressor("gaussian", trim=None),
]
CODERS = [
    KernelAutoencoder(2, refine=False, max_iter=3),
    *(KernelAutoencoder(2, loss=loss, reg=1e-2, refine=False, max_iter=3) for loss in LOSSES[1:]),
    KernelAutoencoder(2, loss="huber", storage=Nystroem(10), refine=False, max_iter=3),
    KernelAutoencoder((2, 1), reg=1e-2, max_iter=3),
    KernelPCA(2),
    KernelPCA(2, loss="huber"),
]


@pytest.mark.sample(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "weights"),
    [
        pytest.param(model, weights, marks=pytest.mark.slow if (i + j) % 2 else ())
        for i, model in enumerate([*REGRESSORS, *CODERS])
        for j, weights in enumerate(["equal", "unequal"])
    ],
    ids=repr,
)
def test_only_ratios_of_weights_count(model: Any, weights: str) -> None:
    w = np.ones(12) if weights == "equal" else np.random.default_rng(1).integers(1, 4, 12).astype(float)
    regressor = any(model is one for one in REGRESSORS)
    given = (X, Y) if regressor else (X,)
    one, eight = (clone(model).fit(*given, sample_weight=k * w) for k in (1.0, 8.0))
    found = [fitted.predict(X) if regressor else fitted.transform(X) for fitted in (one, eight)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    if weights == "equal":
        none = clone(model).fit(*given)
        np.testing.assert_allclose(none.predict(X) if regressor else none.transform(X), found[0], rtol=1e-6, atol=1e-6)


def test_a_weight_that_vanishes_in_single_precision_is_none() -> None:
    w = np.array([1e30, 2.0, *[1e28] * 9, 1e-20])
    model = KernelPCA(2, loss="huber", dtype="float32").fit(X, sample_weight=w)
    assert np.isfinite(model.transform(X)).all()
