"""Machines on landmarks: with all items as landmarks they are the dense ones, whatever the loss and the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rkhs import OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.estimators.regression import rows_in_features
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian
from rkhs.losses import Huber, Power
from rkhs.spaces import feature_gram, source
from tests.reference.losses import CoordinateHuber

A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.7]])


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    Y = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2], X.sum(1)] + 0.1 * rng.normal(size=(70, 3))
    Y[::9] += 20.0
    w = rng.uniform(0.0, 3.0, 70)
    w[5] = 0.0
    return X, Y, w


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("loss", "operator", "weighted"),
    [
        pytest.param(loss, operator, weighted, marks=pytest.mark.slow if (i + j + weighted) % 3 else ())
        for i, loss in enumerate(["huber", "squared_epsilon_insensitive", Huber(0.3), Power(1.5), "squared"])
        for j, operator in enumerate([None, "covariance", A])
        for weighted in (False, True)
    ],
    ids=str,
)
def test_all_landmarks_are_the_dense_machine(data: Any, loss: Any, operator: Any, weighted: bool) -> None:
    X, Y, w = data
    options: dict[str, Any] = {"loss": loss, "operator": operator, "reg": 1e-3, "tol": 1e-9}
    exact, near = (
        OperatorKernelRegressor(storage=s, **options).fit(X, Y, w if weighted else None)
        for s in ("dense", Nystroem(70))
    )
    np.testing.assert_allclose(near.predict(X), exact.predict(X), atol=1e-7)
    assert near.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    if loss != "squared":
        assert near.gap_ <= 1e-7 * exact.objective_
        np.testing.assert_array_equal(near.saturated_, exact.saturated_)
        np.testing.assert_allclose(near.certificates_, exact.certificates_, atol=1e-6)
        assert near.kernel_bound_ == pytest.approx(exact.kernel_bound_, rel=1e-6)


def test_features_that_are_not_held_give_the_same_machine(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, w = data
    model = OperatorKernelRegressor(loss="huber", storage=RandomFeatures(20, random_state=0), tol=1e-9)
    held = model.fit(X, Y, w).predict(X)
    monkeypatch.setattr(rows_in_features, "HELD", 0)
    monkeypatch.setattr(source, "BLOCK", 16)  # several blocks
    np.testing.assert_allclose(model.fit(X, Y, w).predict(X), held, atol=1e-8)


def test_strips_of_held_features_give_the_same_machine(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, w = data
    model = OperatorKernelRegressor(loss="huber", storage=Nystroem(20, random_state=0), tol=1e-9)
    whole = model.fit(X, Y, w).predict(X)
    monkeypatch.setattr(feature_gram, "STRIP", 16)
    np.testing.assert_allclose(model.fit(X, Y, w).predict(X), whole, atol=1e-8)


def test_few_landmarks_resist_outliers(data: Any) -> None:
    X, Y, _ = data
    wrong = np.zeros(70, bool)
    wrong[::9] = True
    errors = {}
    for loss in ("squared", "huber"):
        model = OperatorKernelRegressor(loss=loss, reg=1e-2, storage=Nystroem(25, random_state=0)).fit(X, Y)
        errors[loss] = float(((model.predict(X) - Y)[~wrong] ** 2).mean())
    assert errors["huber"] < 0.3 * errors["squared"]


def test_a_loss_of_the_columns_sees_the_columns(data: Any) -> None:
    X, Y, _ = data
    loss, kernel = CoordinateHuber(), Gaussian(0.5)
    model = OperatorKernelRegressor(kernel, operator=A, loss=loss, reg=0.05, center=False).fit(X, Y)
    K, C = kernel(X), model.dual_coef_
    by_hand = float(loss.value(torch.from_numpy(K @ C @ A - Y)).mean()) + 0.025 * float(((K @ C @ A) * C).sum())
    assert model.objective_ == pytest.approx(by_hand, rel=1e-10)
    assert model.gap_ <= 1e-5 * by_hand
    wide = np.hstack([Y + i for i in range(15)])[:40]  # more columns than rows
    few = OperatorKernelRegressor(kernel, loss=loss, reg=0.05, center=False).fit(X[:40], wide)
    off = torch.from_numpy(few.predict(X[:40]) - wide)
    assert few.training_loss_ == pytest.approx(float(loss.value(off).mean()), rel=1e-8)


def test_what_a_loss_of_the_columns_cannot_have_is_refused(data: Any) -> None:
    X, Y, _ = data
    with pytest.raises(InputError, match="not isotropic, needs storage='dense'"):
        OperatorKernelRegressor(operator=A, loss=CoordinateHuber(), storage=Nystroem(10)).fit(X, Y)


def test_a_solver_that_needs_the_matrix_is_refused(data: Any) -> None:
    X, Y, _ = data
    with pytest.raises(InputError, match="solver must be 'auto' or 'admm'.*got 'fista'"):
        OperatorKernelRegressor(loss="huber", solver="fista", storage=Nystroem(10)).fit(X, Y)
    with pytest.raises(InputError, match="solver must be 'auto' or 'direct'.*got 'admm'"):
        OperatorKernelRegressor(solver="admm", storage=Nystroem(10)).fit(X, Y)


def test_a_path_does_not_take_dense_storage_in_silence(data: Any) -> None:
    X, Y, _ = data
    with pytest.raises(InputError, match="path needs storage='dense'"):
        OperatorKernelRegressor(loss="huber", storage=Nystroem(10)).path(X, Y, regs=[1e-2, 1e-3])
