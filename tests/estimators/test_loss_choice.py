"""Losses by name: their parameters from leave-one-out residuals, and what that is worth beside wrong rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine

from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor, load, save
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear
from rkhs.losses import EpsilonInsensitive, Huber, as_loss
from rkhs.selection.loss_scale import typical_norm


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(0)) / X.std(0)


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    X, y = load_diabetes(return_X_y=True)
    wine = standardised(load_wine().data)
    return {"diabetes": (standardised(X)[:240], standardised(y)[:240, None]), "wine": (wine[:, :7], wine[:, 7:])}


def split(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.random.default_rng(0).permutation(len(X))
    cut = len(X) * 2 // 3
    return X[order[:cut]], Y[order[:cut]], X[order[cut:]], Y[order[cut:]]


def spoiled(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rng, bad = np.random.default_rng(1), np.zeros(len(Y), dtype=bool)
    bad[rng.permutation(len(Y))[: len(Y) // 10]] = True
    Y = Y.copy()
    Y[bad] += 10.0 * Y.std(0) * rng.standard_normal((int(bad.sum()), Y.shape[1]))
    return Y, bad


@pytest.mark.parametrize("name", ["diabetes", "wine"])
def test_gross_errors_in_a_tenth_of_the_targets_cost_a_regressor_at_most_five_percent(name: str) -> None:
    A, T, B, U = split(*sets()[name])
    dirty, bad = spoiled(T)

    def error(loss: Any, X: np.ndarray, Y: np.ndarray) -> float:
        model = OperatorKernelRegressor(Gaussian() + Linear("mean_norm"), loss=loss, reg=1e-2).fit(X, Y)
        return float(((np.asarray(model.predict(B)).reshape(U.shape) - U) ** 2).sum(1).mean())

    clean = error("squared", A[~bad], T[~bad])
    assert error("squared", A, dirty) > 1.2 * clean
    assert error("huber", A, dirty) < 1.05 * clean
    whole = error("squared", A, T)
    assert error("huber", A, T) == pytest.approx(whole, rel=0.05)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        assert error(loss, A, T) == pytest.approx(whole, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diabetes", "wine"])
def test_gross_errors_in_a_tenth_of_the_targets_of_an_autoencoder(name: str) -> None:
    A, _, B, _ = split(*sets()[name])
    dirty, bad = spoiled(A)
    options: dict[str, Any] = {"linear_part": "kernel", "reg": (1e-2, 1e-3)}

    def error(loss: Any, X: np.ndarray, targets: np.ndarray) -> float:
        model = KernelAutoencoder(2, loss=loss, **options).fit(X, targets=targets)
        return float(model.reconstruction_error(B, targets=B).mean())

    clean = error("squared", A[~bad], A[~bad])
    assert error("huber", A, dirty) < 1.05 * clean
    assert error("huber", A, A) == pytest.approx(error("squared", A, A), rel=0.05)


def test_a_tenth_of_far_rows_turns_principal_axes_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) * np.array([3.0, 2.0, 0.3, 0.3, 0.3, 0.3])
    dirty = X.copy()
    dirty[:15] = rng.normal(size=(15, 6)) * 12.0

    def lost(loss: str) -> float:
        model = KernelPCA(2, kernel="linear", center=False, loss=loss).fit(dirty)
        axes = np.linalg.qr(dirty.T @ model.dual_coef_)[0]
        return float(((X[15:] - X[15:] @ axes @ axes.T) ** 2).sum(1).mean())

    assert lost("huber") < 0.5 * lost("squared")


def test_the_parameter_is_the_median_leave_one_out_residual_of_refits() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(21, 2)), rng.normal(size=(21, 3))
    model = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-2).fit(X, Y)
    K, T = Gaussian(0.5)(X), Y - Y.mean(0)
    norms = []
    for i in range(21):
        rest = np.arange(21) != i
        said = K[i, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + 0.21 * np.eye(20), T[rest])
        norms.append(np.linalg.norm(T[i] - said))
    assert model.loss_.kappa == pytest.approx(np.median(norms), rel=1e-8)
    half = OperatorKernelRegressor(Gaussian(0.5), loss="epsilon_insensitive", reg=1e-2).fit(X, Y)
    assert half.loss_.epsilon == pytest.approx(np.median(norms) / 2, rel=1e-8)
    counts = 1 + np.arange(21) % 3
    weighted = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-2).fit(X, Y, counts)
    repeated = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-2)
    repeated.fit(np.repeat(X, counts, 0), np.repeat(Y, counts, 0))
    assert weighted.loss_.kappa == pytest.approx(repeated.loss_.kappa, rel=1e-8)
    dropped = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-2)
    weights = np.r_[np.ones(20), 0.0]
    assert dropped.fit(X, Y, weights).loss_.kappa == pytest.approx(dropped.fit(X[:20], Y[:20]).loss_.kappa, rel=1e-8)


def sizes_of_refits(K: np.ndarray, Y: np.ndarray, reg: float, fitted: np.ndarray) -> np.ndarray:
    """Norms of the residuals of ridge regressions on the rows that are ``fitted``, without the row itself."""
    n, T = len(K), Y - Y[fitted].mean(0)
    norms = []
    for i in range(n):
        rest = np.flatnonzero(fitted & (np.arange(n) != i))
        said = K[i, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + n * reg * np.eye(len(rest)), T[rest])
        norms.append(np.linalg.norm(T[i] - said))
    return np.array(norms)


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", ["dense", Nystroem(60, random_state=0)])
def test_wrong_rows_do_not_widen_the_parameter(storage: Any) -> None:
    """The machine of the median residual is fitted again without rows beyond three medians, while that helps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.sin(X) + 0.05 * rng.normal(size=(60, 2))
    Y[:9] += 30.0
    model = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-4, storage=storage).fit(X, Y)
    K, fitted = Gaussian(0.5)(X), np.ones(60, dtype=bool)
    norms = sizes_of_refits(K, Y, 1e-4, fitted)
    size = first = np.median(np.sort(norms)[:-1])  # the lower of the two middle ones
    for _ in range(5):
        fitted = norms <= 3.0 * size
        norms = sizes_of_refits(K, Y, 1e-4, fitted)
        if np.median(np.sort(norms)[:-1]) > 0.9 * size:
            break
        size = np.median(np.sort(norms)[:-1])
    assert size < 0.3 * first
    assert model.loss_.kappa == pytest.approx(size, rel=1e-6)
    counts = 1 + np.arange(60) % 3
    weighted = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-3, storage=storage).fit(X, Y, counts)
    repeated = OperatorKernelRegressor(Gaussian(0.5), loss="huber", reg=1e-3)
    repeated.fit(np.repeat(X, counts, 0), np.repeat(Y, counts, 0))
    assert weighted.loss_.kappa == pytest.approx(repeated.loss_.kappa, rel=1e-6)


@pytest.mark.slow
def test_weighted_rows_of_an_autoencoder_are_repeated_rows() -> None:
    X, counts = np.random.default_rng(0).random((15, 20)), 1 + np.arange(15) % 3
    weighted = KernelAutoencoder(loss="huber", tol=1e-8).fit(X, sample_weight=counts)
    repeated = KernelAutoencoder(loss="huber", tol=1e-8).fit(np.repeat(X, counts, 0))
    assert weighted.loss_.kappa == pytest.approx(repeated.loss_.kappa, rel=1e-8)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-4)


def test_numbers_stay_and_words_are_for_estimators(tmp_path: Any) -> None:
    X, Y = split(*sets()["wine"])[:2]
    assert OperatorKernelRegressor(loss=Huber(0.7)).fit(X, Y).loss_ == Huber(0.7)
    assert as_loss("huber") == Huber("auto")
    assert not EpsilonInsensitive(0.2).automatic
    with pytest.raises(InputError, match="Huber.kappa must be > 0"):
        Huber("auto").value(torch.zeros(1, 1))
    with pytest.raises(InputError, match="kappa"):
        KernelAutoencoder(loss=Huber("median")).fit(X)
    model = KernelAutoencoder(2, loss=Huber("auto"), reg=1e-2).fit(X[:40])
    save(model, tmp_path / "m.rkhs")
    assert load(tmp_path / "m.rkhs").loss_ == model.loss_
    path = OperatorKernelRegressor(loss="huber").path(X, Y, regs=[1e-2, 1e-1])
    assert path.losses[0] == OperatorKernelRegressor(loss="huber").fit(X, Y).loss_


def test_typical_norms() -> None:
    rows = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    assert typical_norm(rows) == 2.0
    assert typical_norm(rows, torch.tensor([0.8, 0.1, 0.1], dtype=torch.float64)) == 5.0
    assert typical_norm(torch.zeros(3, 2)) == 1.0
    assert typical_norm(torch.cat([rows, torch.zeros(4, 2)])) == 2.0
