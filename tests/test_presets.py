"""Published configurations against arrays computed slowly from the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import presets
from rkhs._core.errors import InputError
from rkhs.losses import Huber, Squared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
BITS = (RNG.uniform(size=(20, 30)) < 0.3).astype(float)


def gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    return np.array([[np.exp(-gamma * float(((a - b) ** 2).sum())) for b in B] for a in A])


def tanimoto(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.array([[a @ b / (a @ a + b @ b - a @ b) for b in B] for a in A])


def least(G: np.ndarray, K: np.ndarray, Z: np.ndarray, reg: float, decoder: np.ndarray) -> float:
    """Half of the objective of two layers at codes ``Z``: outputs with Gram matrix ``G``, best decoder and encoder."""
    n = len(K)
    C = np.linalg.solve(decoder + n * reg * np.eye(n), np.eye(n))
    R = np.eye(n) - decoder @ C
    J = np.trace(R @ G @ R.T) / n + reg * np.trace(decoder @ C @ G @ C.T)
    return float(0.5 * (J + reg * np.trace(Z.T @ np.linalg.solve(K, Z))))


@pytest.mark.filterwarnings("ignore:.*")
def test_the_autoencoders_of_2019() -> None:
    model = presets.kae_2019(2, 0.5, 1.5, 1e-2).fit(X)
    K, Z = gaussian(X, X, 0.5), model.codes_
    value = least(X @ X.T, K, Z, 1e-2, gaussian(Z, Z, 1.5))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    G = tanimoto(BITS, BITS)
    model = presets.kae_2019_molecules(2, 0.7).fit(BITS)
    value = least(G, np.exp(-0.7 * (2.0 - 2.0 * G)), model.codes_, 1e-2, gaussian(model.codes_, model.codes_, 1.0))
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    model = presets.kae_2019(1, gram=True, reg=1e-2).fit(G)
    assert model.objective_ == pytest.approx(
        least(G, G, model.codes_, 1e-2, gaussian(model.codes_, model.codes_, 1.0)), rel=1e-8
    )
    model = presets.kpca_2019(2).fit(X @ X.T)
    assert model.objective_ == pytest.approx(0.5 * np.linalg.svd(X, compute_uv=False)[2] ** 2 / 20, rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*")
def test_the_deep_machines_of_2021() -> None:
    for model, gamma in (
        (presets.drkm_2021((2, 1), 2.0, n=50, init="random").set_params(random_state=0), 0.01),
        (presets.drkm_2021_denoising(0.5, n=50), 1.0),
    ):
        H1, H2 = model.fit(X).layer_codes_
        K, K1 = gaussian(X, X, gamma), gaussian(H1, H1, gamma)
        first = np.trace(H1.T @ K @ H1) / (2.0 * model.eta[0])
        assert model.objective_ == pytest.approx(-first - 0.5 * np.trace(H2.T @ K1 @ H2), rel=1e-8)
        h1 = gaussian(X[:4] + 0.1, X, gamma) @ H1 / model.eta[0]
        np.testing.assert_allclose(model.transform(X[:4] + 0.1, layer=2), gaussian(h1, H1, gamma) @ H2, rtol=1e-8)
    solver = presets.drkm_2021_table1("cayley_adam").solver
    assert (solver.learning_rate, presets.drkm_2021_table1("penalty").solver.tau) == (5e-5, 1e-5)
    assert [presets.drkm_2021(n=n).solver.max_outer for n in (50, 100, 200, 400, 800)] == [2, 2, 4, 7, 7]
    with pytest.raises(InputError, match="algorithm must be one of"):
        presets.drkm_2021_table1("adam")


@pytest.mark.filterwarnings("ignore:.*")
def test_the_contrastive_models_of_2024() -> None:
    positives, negatives = X + 0.1, X[::-1]
    given = {"positives": positives, "negatives": negatives}
    for model in (presets.krl_2024_simple(2), presets.krl_2024_spectral(2)):
        model.fit(X, **given)
        z, p, q = (model.transform(one) for one in (X, positives, negatives))
        simple = (z * (q - p)).sum()
        spectral = (-2.0 * (z * p).sum(1) + (z * q).sum(1) ** 2).sum()
        value = simple if model.loss == "simple" else spectral + model.reg_ * model.map_norm_**2
        assert model.objective_ == pytest.approx(value, rel=1e-8)
    model = presets.krl_2024_autoencoder(2, reg=1e-2).fit(X)
    Z = model.codes_
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0, rtol=1e-8)
    K = gaussian(X, X, 1.0) + 1e-8 * np.eye(20)
    assert model.objective_ == pytest.approx(least(X @ X.T, K, Z, 1e-2, gaussian(Z, Z, 1.0)), rel=1e-8)
    noise = presets.krl_2024_denoising(std=0.2, copies=3).noise
    assert (noise.std, noise.relative, noise.copies) == (0.2, False, 3)


def _residuals_explain(model: Any, h: np.ndarray, Y: np.ndarray, alpha: np.ndarray) -> None:
    """The condition of the Huber machine: coefficients are the residuals, cut at kappa."""
    R = Y - h
    cut = R * np.minimum(1.0, model.loss.kappa / np.linalg.norm(R, axis=1, keepdims=True))
    np.testing.assert_allclose(alpha, cut, atol=2e-4)


def test_the_machines_of_2020() -> None:
    Y, K, n = RNG.normal(size=(20, 2)), gaussian(X, X, 1.0), 20
    model = presets.dual_2020_regression(Squared(), 1e-2).fit(X, Y)
    h = gaussian(X[:3] + 0.1, X, 1.0) @ np.linalg.solve(K + n * 1e-2 * np.eye(n), Y)
    np.testing.assert_allclose(model.predict(X[:3] + 0.1), h, rtol=1e-8)
    model = presets.dual_2020_regression(Huber(0.5), 1e-2).set_params(tol=1e-12).fit(X, Y)
    _residuals_explain(model, model.predict(X), Y, n * 1e-2 * np.linalg.solve(K, model.predict(X)))
    G = np.exp(-2.0 * 0.72 * (1.0 - tanimoto(BITS, BITS)))
    ranked = presets.dual_2020_metabolites(Squared(), 1e-3).fit(K, G).scores(K[:3], G)
    C = np.linalg.solve(K + n * 1e-3 * np.eye(n), K[:3].T)
    np.testing.assert_allclose(ranked, -(1.0 - 2.0 * C.T @ G + np.diag(C.T @ G @ C)[:, None]), rtol=1e-8)


@pytest.mark.filterwarnings("ignore:.*")
def test_the_robust_autoencoder_and_the_curves_of_2020() -> None:
    G = tanimoto(BITS, BITS)
    model = presets.dual_2020_autoencoder(0.0, 2, 1e-2).fit(G)
    Z = model.codes_
    assert model.objective_ == pytest.approx(least(G, G, Z, 1e-2, gaussian(Z, Z, 1.0)), rel=1e-6)
    t, curves = np.linspace(0.0, 1.0, 12), RNG.normal(size=(10, 12))
    model = presets.dual_2020_lip(2, 1e6, 1e-2).set_params(tol=1e-12).fit(curves[::-1].copy(), curves)
    inputs = curves[::-1]
    K = np.array([[np.exp(-7.0 * np.abs(a - b)).mean() for b in inputs] for a in inputs])
    pairs = [2.0**0.5 * wave(2.0 * np.pi * i * t) for i in (0, 1) for wave in (np.cos, np.sin)]
    psi, a = np.array(pairs), np.array([1.0, 1.0, 0.25, 0.25])
    R = curves @ psi.T / 12
    columns = [K @ np.linalg.solve(a[j] * K + 10 * 1e-2 * np.eye(10), R[:, j]) * a[j] for j in range(4)]
    np.testing.assert_allclose(model.predict(inputs), np.array(columns).T @ psi, atol=1e-7)


def test_every_parameter_is_marked() -> None:
    for name in presets.__all__:
        if name == "describe":
            continue
        lines = presets.describe(name).splitlines()
        assert all(line.endswith((": printed", ": from the authors' code", ": ours, left open")) for line in lines)
        assert any(line.endswith(": printed") for line in lines), name
    assert "kernel__gamma = 7.0: from the authors' code" in presets.describe("dual_2020_lip")
    told = presets.describe("kae_2019")
    assert all(f"{line}: printed" in told for line in ("center = False", "loss = 'squared'", "operators = None"))
    assert "init = 'kpca': ours, left open" in presets.describe("drkm_2021")  # deflated, where the paper's is not
    assert "kernel__gamma = 1.0: ours, left open" in presets.describe("kae_2019")
    with pytest.raises(InputError, match="name must be one of 'kae_2019'"):
        presets.describe("kae")


def test_marks_are_of_parameters_that_exist() -> None:
    for name, (make, marks) in presets._MARKS.items():
        assert set(marks) <= set(make().get_params()), name
        assert name in presets.__all__
