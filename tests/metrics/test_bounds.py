"""Bounds as computable terms: scaling, exact identities, and a simulation that they hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial
from rkhs.losses import Huber
from rkhs.metrics import bound, contrastive_bound, downstream_bound
from rkhs.metrics.fitted_bounds import _squared_slope

MOONS = np.random.default_rng(0).normal(size=(60, 2)) @ np.array([[1.0, 0.5, 0.2], [0.0, 0.3, -0.4]]) + 1.0
LAYERS: dict[str, Any] = {
    "kernel": Gaussian(0.3),
    "decoder_kernel": Gaussian(1.0),
    "linear_part": "kernel",
    "reg": 1e-2,
}


def fitted(X: np.ndarray = MOONS, **settings: Any) -> KernelAutoencoder:
    return KernelAutoencoder(**{**LAYERS, "tol": 1e-2, **settings}).fit(X)


def slow_norm(k: Any, points: np.ndarray, coefs: np.ndarray) -> float:
    """``||f||`` by its definition, ``sum_ij k(x_i, x_j) <c_i, c_j>``."""
    pairs = [(i, j) for i in range(len(points)) for j in range(len(points))]
    return sum(k(points[i], points[j]) * coefs[i] @ coefs[j] for i, j in pairs) ** 0.5


def gaussian(gamma: float) -> Any:
    return lambda x, y: np.exp(-gamma * ((x - y) ** 2).sum())


def units(X: np.ndarray) -> np.ndarray:
    """Rows as the fit reads them: centred, of total variance one."""
    centred = X - X.mean(0)
    return centred / (centred**2).sum(1).mean() ** 0.5


def test_terms_of_two_layers_are_those_of_slow_formulas() -> None:
    model = fitted()
    s = slow_norm(gaussian(0.3), MOONS, model.encoder_coefs_[0])
    t = slow_norm(gaussian(1.0), model.layer_codes_[0], model.decoder_coef_)
    rebuilt = model.inverse_transform(model.codes_) - MOONS.mean(0)
    rebuilt /= ((MOONS - MOONS.mean(0)) ** 2).sum(1).mean() ** 0.5
    M = max(np.linalg.norm(units(MOONS), axis=1).max(), np.linalg.norm(rebuilt, axis=1).max())
    terms, L = bound(model, C0=2.0, delta=0.1).terms, (3 * 2.0) ** 0.5
    assert terms["complexity"] == pytest.approx(2 * L * M * s * t * (2 / 60) ** 0.5, rel=1e-8)
    assert terms["origin"] == pytest.approx(16 * np.sqrt(np.pi) * M * t * (3 / 60) ** 0.5, rel=1e-8)
    assert terms["deviation"] == pytest.approx(24 * M**2 * (np.log(20) / 120) ** 0.5, rel=1e-8)
    known = bound(model, C0=2.0, kernel_bound=4.0, output_bound=2.0 * M).terms
    assert known["complexity"] == pytest.approx(4.0 * terms["complexity"])
    assert not bound(model).exact


def test_reconstructions_count_where_they_are_larger_than_the_rows() -> None:
    model = fitted()
    before, layer = bound(model).terms, model.model_.layers[0]
    model.model_ = replace(model.model_, layers=(replace(layer, coefficients=10.0 * layer.coefficients),))
    assert bound(model).terms["deviation"] > 9.0 * before["deviation"]


def test_terms_on_the_sphere_are_those_of_slow_formulas() -> None:
    kernel = Polynomial(2, 1.0, 1.0)
    model = fitted(constraint="sphere", decoder_kernel=kernel, reg=(1e-2, 1e-1))
    s = slow_norm(gaussian(0.3), MOONS, model.encoder_coefs_[0])
    t = slow_norm(lambda x, y: (x @ y + 1.0) ** 2, model.layer_codes_[0], model.decoder_coef_)
    terms = bound(model, delta=0.5).terms
    assert terms["penalty"] == pytest.approx(60 * (1e-2 * s**2 + 1e-1 * t**2), rel=1e-8)
    assert terms["complexity"] == pytest.approx(t * (3 * 4.0 / 60) ** 0.5, rel=1e-8)  # (1 + 1)^2 at unit codes
    assert terms["deviation"] == pytest.approx((np.log(2) / 60) ** 0.5)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.7), Matern(1.5, 0.7), Matern(2.5, 0.7), 2.0 * Gaussian(0.2) + 0.5 * Linear()], ids=repr
)
def test_the_steepest_slope_is_that_of_near_codes(kernel: Kernel) -> None:
    Z = np.random.default_rng(1).normal(size=(40, 2))
    for h, least in ((1e-3, 0.999), (1.0, 0.0)):
        both = np.concatenate([Z, Z + h * np.array([0.6, 0.8])])
        K = np.asarray(kernel(both))
        slopes = (np.diag(K)[:40] + np.diag(K)[40:] - 2.0 * np.diag(K[:40, 40:])) / h**2
        assert least * _squared_slope(kernel) <= slopes.max() <= (1.0 + 1e-6) * _squared_slope(kernel)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bound_of_an_autoencoder_holds_on_drawn_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 3))
    X, new = (np.tanh(rng.normal(size=(n, 2)) @ A) for n in (80, 4000))
    model = fitted(X, center=False, scale=False, refine=False)
    gap = model.reconstruction_error(new).mean() - ((model.inverse_transform(model.codes_) - X) ** 2).sum(1).mean()
    assert 0.0 < gap <= bound(model, output_bound=3.0**0.5).total


@pytest.mark.parametrize(
    ("settings", "lacking"),
    [
        ({"n_components": (2, 1)}, "one hidden layer"),
        ({"kernel": "auto", "decoder_kernel": "auto", "linear_part": "free"}, "linear_part='kernel', since a free one"),
        ({"output_kernel": "same"}, "the identity on features has no trace"),
        ({"loss": Huber(0.5)}, "the squared loss"),
        ({"noise": GaussianNoise(0.1)}, "no targets and no noise"),
        ({"operators": (np.eye(2), None)}, "no operators"),
        ({"constraint": "ball"}, "constraint 'none' or 'sphere'"),
        ({"storage": Nystroem(20)}, "storage='dense'"),
        ({"decoder_kernel": Laplacian("l2", 1.0)}, "decoder_kernel whose features have a Lipschitz constant"),
        ({"decoder_kernel": Gaussian(1.0) + Matern(0.5, 1.0)}, "decoder_kernel whose features have a Lipschitz"),
        ({"decoder_kernel": Polynomial(2, scale=1.0)}, "decoder_kernel whose features have a Lipschitz constant"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_without_a_theorem_are_refused(settings: dict[str, Any], lacking: str) -> None:
    with pytest.raises(InputError, match=re.escape(lacking)):
        bound(fitted(**settings))


def test_weights_are_refused() -> None:
    model = KernelAutoencoder(**LAYERS, tol=1e-2).fit(MOONS, sample_weight=np.arange(1.0, 61.0))
    with pytest.raises(InputError, match="equal weights"):
        bound(model)


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


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
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
        (lambda: bound(fitted(), output_bound=1e200), "the bound is not finite .*deviation"),
        (lambda: bound(fitted(), C0=-1.0), "C0 must be >= 0"),
        (lambda: bound(fitted(), kernel_bound=np.inf), "kernel_bound must be >= 0"),
        (lambda: bound(fitted(), delta=1.0), "delta must be > 0 and < 1"),
        (
            lambda: contrastive_bound(
                "spectral", n_components=1, map_norm=1e99, traces=(1, 1, 1), n=5, kernel_bound=1e99
            ),
            "the bound is not finite",
        ),
        (lambda: downstream_bound(0.1, ["a", 1.0]), "class_shares must hold real numbers"),
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
