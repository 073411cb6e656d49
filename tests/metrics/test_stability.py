"""Stability constants: the closed forms of the paper's table, and what random data never exceed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import InputOutputKernelRegressor, KernelPCA, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Loss, MaximumMargin, Squared, SquaredEpsilonInsensitive
from rkhs.metrics import bound, stability_constants

LOSSES = [Squared(), SquaredEpsilonInsensitive(0.2), EpsilonInsensitive(0.2), Huber(0.3)]


def test_table_of_the_paper() -> None:
    Y, gamma, reg, n = 1.3, 1.7, 0.05, 40
    root = gamma / math.sqrt(reg)

    def constants(loss: Loss) -> Any:
        return stability_constants(loss, n, reg, kernel_bound=gamma**2, output_bound=Y)

    found = constants(Squared())
    assert pytest.approx((0.5 * Y**2 * (1 + root) ** 2, Y * (1 + root))) == (found.M, found.C)
    found = constants(SquaredEpsilonInsensitive(0.2))
    assert pytest.approx((0.5 * (Y - 0.2) ** 2 * (1 + root) ** 2, (Y - 0.2) * (1 + root))) == (found.M, found.C)
    found = constants(EpsilonInsensitive(0.2))
    assert pytest.approx((math.sqrt(Y - 0.2) * (math.sqrt(2) * root + math.sqrt(Y - 0.2)), 1.0)) == (found.M, found.C)
    found = constants(Huber(0.3))
    half = math.sqrt(Y - 0.15)
    assert pytest.approx((0.3 * half * (math.sqrt(0.6) * root + half), 0.3)) == (found.M, found.C)
    assert found.beta == pytest.approx(0.09 * gamma**2 / (reg * n))
    collapsed = constants(EpsilonInsensitive(2.0))
    assert (collapsed.M, collapsed.C, collapsed.beta) == (0.0, 0.0, 0.0)


@pytest.mark.sample(2)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_one_sample_never_moves_a_loss_by_more_than_beta(loss: Loss, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, reg = 8, 0.3
    X, new = rng.standard_normal((n, 2)), rng.standard_normal((40, 2))
    Y, others = (in_ball(rng.standard_normal((m, 3))) for m in (n, 40))

    def fitted(rows: np.ndarray) -> OperatorKernelRegressor:
        # The product of reg and the number of samples stays as it was.
        model = OperatorKernelRegressor(Gaussian(0.5), loss=loss, reg=reg * n / len(rows), center=False, tol=1e-10)
        return model.fit(X[rows], Y[rows])

    def losses(model: OperatorKernelRegressor) -> np.ndarray:
        residuals = np.concatenate([model.predict(new) - others, model.predict(X) - Y])
        return loss.value(torch.as_tensor(residuals)).numpy()

    model = fitted(np.arange(n))
    known = {"kernel_bound": model.kernel_bound_, "output_bound": 1.0}
    constants, whole = stability_constants(loss, n, reg, **known), losses(model)
    moved = max(float(np.abs(losses(fitted(np.delete(np.arange(n), i))) - whole).max()) for i in range(n))
    assert 0.0 < moved <= constants.beta
    assert whole.max() <= constants.M
    assert model.training_loss_ == pytest.approx(whole[-n:].mean(), rel=1e-6)
    found = bound(model, delta=0.1, output_bound=1.0)
    assert whole[:40].mean() <= model.training_loss_ + found.total
    deviation = (4 * n * constants.beta + constants.M) * math.sqrt(math.log(10) / (2 * n))
    assert found.total == pytest.approx(2 * constants.beta + deviation)


def in_ball(V: np.ndarray) -> np.ndarray:
    return V / np.maximum(1.0, np.linalg.norm(V, axis=1, keepdims=True))


def test_a_sum_of_kernels_adds_its_bounds() -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((10, 2)), rng.standard_normal((10, 2))
    pairs = [(Gaussian(1.0), np.diag([2.0, 0.5])), (2.0 * Gaussian(0.1), None)]
    model = OperatorKernelRegressor(kernel=pairs, reg=0.1, center=False).fit(X, Y)
    assert model.kernel_bound_ == pytest.approx(4.0)
    assert model.output_bound_ == pytest.approx(np.linalg.norm(Y, axis=1).max())


@pytest.mark.parametrize(
    "model",
    [
        OperatorKernelRegressor(center=False),
        OperatorKernelRegressorCV(center=False),
        InputOutputKernelRegressor(center=False),
        OperatorKernelRegressor(center=False, reg=0.1, loss=Huber(0.3), storage=Nystroem(5)),
    ],
    ids=repr,
)
def test_constants_are_those_of_the_regulariser_that_was_chosen_and_of_all_rows(model: Any) -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    model.fit(X, Y)
    known = {"kernel_bound": 1.0, "output_bound": float(np.linalg.norm(Y, axis=1).max())}
    assert bound(model).terms == pytest.approx(stability_constants(model.loss_, 30, model.reg_, **known).bound().terms)


@pytest.mark.parametrize("model", [OperatorKernelRegressor(), KernelPCA()], ids=repr)
def test_other_models_are_refused(model: Any) -> None:
    with pytest.raises(InputError, match="model must be a fitted"):
        bound(model)


def test_losses_without_a_profile_are_refused() -> None:
    with pytest.raises(InputError, match="norm of the residual"):
        stability_constants(MaximumMargin(), 10, 0.1, kernel_bound=1.0, output_bound=1.0)
