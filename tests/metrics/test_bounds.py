"""Bounds as computable terms: scaling, exact identities, and a simulation that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.kernels import Gaussian
from rkhs.metrics.bounds import autoencoder_bound, contrastive_bound, downstream_bound, sphere_autoencoder_bound

SIZES: dict[str, Any] = {
    "input_norm": 2.0,
    "encoder_norm": 3.0,
    "decoder_norm": 5.0,
    "encoder_trace": 7.0,
    "decoder_lipschitz": 0.5,
}


def test_autoencoder_terms_by_hand() -> None:
    terms = autoencoder_bound(100, **SIZES, decoder_origin=4.0, C0=2.0, delta=0.1).terms
    assert terms["complexity"] == pytest.approx(2 * 0.5 * 2 * 3 * 5 * np.sqrt(0.07))
    assert terms["origin"] == pytest.approx(16 * np.sqrt(np.pi) * 2 * 5 * 0.2)
    assert terms["deviation"] == pytest.approx(24 * 4 * np.sqrt(np.log(20) / 200))
    assert not autoencoder_bound(100, **SIZES).exact


def test_contrastive_terms_by_hand() -> None:
    shared: dict[str, Any] = {"n_components": 3, "map_norm": 2.0, "traces": (50, 60, 70), "n": 50, "kernel_bound": 1.5}
    simple = contrastive_bound("simple", operator_norm=1.0, delta=0.2, **shared).terms
    assert simple["complexity"] == pytest.approx(2 * np.sqrt(2) * 3 * 2 * np.sqrt(540) / 50)
    assert simple["deviation"] == pytest.approx(3 * 6 * np.sqrt(np.log(10) / 100))
    spectral = contrastive_bound("spectral", operator_norm=1.0, delta=0.2, **shared).terms
    lipschitz = np.sqrt((2 * 1.5**0.5 + 2 * 1.5**1.5) ** 2 + 6 + 4 * 1.5**3)
    assert spectral["complexity"] == pytest.approx(2 * np.sqrt(2) * lipschitz * 2 * np.sqrt(540) / 50)
    assert spectral["deviation"] == pytest.approx(3 * 8.25 * np.sqrt(np.log(10) / 100))
    # The order omega^4 kappa^(3/2) in the norm of the map, not omega^3.
    large = [
        contrastive_bound("spectral", n_components=1, map_norm=w, traces=(1, 1, 1), n=1, kernel_bound=1.0).terms
        for w in (100.0, 200.0)
    ]
    assert large[1]["complexity"] / large[0]["complexity"] == pytest.approx(16.0, rel=1e-3)


def test_sphere_terms_by_hand() -> None:
    terms = sphere_autoencoder_bound(
        400, n_outputs=9, encoder_norm=2.0, decoder_norm=3.0, reg=0.1, decoder_bound=4.0, delta=0.5
    ).terms
    assert terms["penalty"] == pytest.approx(1.3)
    assert terms["complexity"] == pytest.approx(3 * 0.3)
    assert terms["deviation"] == pytest.approx(np.sqrt(np.log(2) / 400))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_contrastive_bound_holds_on_fresh_data(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 2))
        return X, X + 0.3 * rng.normal(size=X.shape), rng.normal(size=X.shape)

    X, plus, minus = sample(200)
    model = KernelContrastive(kernel=Gaussian(0.3)).fit(X, positives=plus, negatives=minus)

    def mean_loss(X: np.ndarray, plus: np.ndarray, minus: np.ndarray) -> float:
        return float((model.transform(X) * (model.transform(minus) - model.transform(plus))).sum(1).mean())

    assert mean_loss(X, plus, minus) == pytest.approx(model.objective_ / 200, rel=1e-8)
    assert model.map_norm_ == pytest.approx(np.sqrt(2), rel=1e-6)  # two orthonormal columns
    bound = contrastive_bound(
        "simple",
        n_components=2,
        map_norm=model.map_norm_,
        traces=(200,) * 3,
        n=200,
        kernel_bound=1.0,
        operator_norm=1.0,
    )
    gap = mean_loss(*sample(20000)) - model.objective_ / 200
    assert gap <= bound.total


def test_the_linear_downstream_loss_is_exact() -> None:
    rng = np.random.default_rng(0)
    rho = np.array([0.2, 0.3, 0.5])
    mu = rng.normal(size=(3, 4))  # class means of the codes
    unsupervised = float(sum(r * q * mu[c] @ (mu[k] - mu[c]) for c, r in enumerate(rho) for k, q in enumerate(rho)))
    assert unsupervised == pytest.approx(-(rho @ (mu**2).sum(1) - ((rho @ mu) ** 2).sum()))
    pairs = [(c, k) for c in range(3) for k in range(3) if c != k]
    weights = np.array([rho[c] * rho[k] for c, k in pairs])
    supervised = sum(w * mu[c] @ (mu[k] - mu[c]) for w, (c, k) in zip(weights / weights.sum(), pairs, strict=True))
    assert downstream_bound(unsupervised, rho) == pytest.approx(supervised)
    assert downstream_bound(0.9, [0.5, 0.5], loss="normalized") == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: autoencoder_bound(10, **{**SIZES, "decoder_lipschitz": np.inf}), "decoder_lipschitz must be >= 0"),
        (lambda: autoencoder_bound(0, **SIZES), "n must be an integer >= 1"),
        (lambda: autoencoder_bound(10**400, **SIZES), "n must be an integer that a machine can count to"),
        (lambda: autoencoder_bound(10, **{**SIZES, "input_norm": 1e200}), "the bound is not finite .*deviation"),
        (
            lambda: contrastive_bound(
                "spectral", n_components=1, map_norm=1e99, traces=(1, 1, 1), n=5, kernel_bound=1e99
            ),
            "the bound is not finite",
        ),
        (lambda: downstream_bound(0.1, ["a", 1.0]), "class_shares must hold real numbers"),
        (lambda: autoencoder_bound(10, **SIZES, delta=1.0), "delta must be > 0 and < 1"),
        (lambda: downstream_bound(0.1, [1.0]), "class_shares must be a distribution"),
        (lambda: downstream_bound(0.1, [0.7, 0.7]), "class_shares must be a distribution"),
        (
            lambda: contrastive_bound("simple", n_components=1, map_norm=1.0, traces=(1, 1), n=5, kernel_bound=1.0),
            "traces must be three numbers",
        ),
        (
            lambda: contrastive_bound(
                "simple", n_components=1, map_norm=1.0, traces=(1, 1, 1), n=5, kernel_bound=1.0, operator_norm=2.0
            ),
            "operator_norm must be at most map_norm",
        ),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_class_of_hardly_any_share_is_a_class() -> None:
    assert downstream_bound(1e-17, [1.0, 1e-17]) == pytest.approx(1.0)
