"""What the theory says a fitted kernel autoencoder must satisfy, seen through its public surface."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian, Linear, Matern, Polynomial
from rkhs.solvers import Adam, Alternating, GradientDescent, Solver

LITERAL: dict[str, Any] = {
    "center": False,
    "scale": False,
    "kernel": Linear(),
    "decoder_kernel": Linear(),
    "tol": 1e-13,
}
CURVED: dict[str, Any] = {
    "kernel": Gaussian(0.2),
    "decoder_kernel": Gaussian(0.5),
    "reg": (0.01, 0.01),
    "tol": 1e-12,
    "max_iter": 3000,
}


def data(seed: int = 0, n: int = 30, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2.0, 0.5, d)


def gram_of_codes(model: KernelAutoencoder) -> np.ndarray:
    return model.codes_ @ model.codes_.T


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("reg", [(0.2, 0.3), (1e-3, 0.05)])
def test_penalised_linear_closed_form(seed: int, reg: tuple[float, float]) -> None:
    X, p = data(seed), 2
    model = KernelAutoencoder(p, reg=reg, max_iter=3000, **LITERAL).fit(X)
    s2 = np.linalg.svd(X, compute_uv=False) ** 2
    n, lam = len(X), (reg[0] * reg[1]) ** 0.5
    printed = (s2.sum() - (np.maximum(s2[:p] - n * lam, 0.0) ** 2 / s2[:p]).sum()) / n
    assert model.objective_ == pytest.approx(0.5 * printed, rel=1e-8)
    Q, _ = np.linalg.qr(model.codes_)
    U = np.linalg.svd(X, full_matrices=False)[0][:, :p]
    np.testing.assert_allclose(Q @ Q.T, U @ U.T, atol=1e-4)


def test_features_of_a_linear_kernel_are_the_vectors() -> None:
    """K2AE on ``X X^T`` is KAE on ``X``: objective, codes and test distortion."""
    X, new = data(0), data(7, 5)
    vectors = KernelAutoencoder(2, center=False, scale=False, **CURVED).fit(X)
    features = KernelAutoencoder(2, center=False, scale=False, output_kernel=Linear(), **CURVED).fit(X)
    assert features.objective_ == pytest.approx(vectors.objective_, rel=1e-9)
    np.testing.assert_allclose(gram_of_codes(features), gram_of_codes(vectors), atol=1e-4)
    np.testing.assert_allclose(features.reconstruction_error(new), vectors.reconstruction_error(new), rtol=1e-4)


def test_gram_input_is_the_linear_model() -> None:
    X, new = data(0), data(7, 5)
    # Codes of a Gram matrix whose diagonal varies cannot be refined.
    settings = {**LITERAL, "reg": (0.1, 0.05), "max_iter": 3000, "refine": False}
    vectors = KernelAutoencoder(2, **settings).fit(X)
    gram = KernelAutoencoder(2, **{**settings, "kernel": "precomputed"}).fit(X @ X.T)
    assert gram.objective_ == pytest.approx(vectors.objective_, rel=1e-9)
    np.testing.assert_allclose(gram_of_codes(gram), gram_of_codes(vectors), atol=1e-4)
    diag = (new**2).sum(1)
    np.testing.assert_allclose(
        gram.reconstruction_error(new @ X.T, diag=diag), vectors.reconstruction_error(new), rtol=1e-5
    )


@pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # two columns of different spread
def test_explicit_features_of_a_polynomial_kernel() -> None:
    X = data(0, 20, 2)
    x, y = X.T
    F = np.stack([x * x, y * y, 2**0.5 * x * y, 2**0.5 * x, 2**0.5 * y, np.ones(20)], 1)
    implicit = KernelAutoencoder(2, output_kernel=Polynomial(2, 1.0, 1.0), **CURVED).fit(X)
    explicit = KernelAutoencoder(2, **CURVED).fit(X, targets=F)
    assert implicit.objective_ == pytest.approx(explicit.objective_, rel=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("output_kernel", [None, Gaussian(0.3)])
@pytest.mark.parametrize("options", [{}, {"center": False, "scale": False}])
def test_mean_distortion_is_n_reg_squared_trace_of_n(output_kernel: Any, options: dict[str, bool]) -> None:
    X = data(1)
    model = KernelAutoencoder(2, output_kernel=output_kernel, **CURVED, **options).fit(X)
    trace = (model.decoder_coef_**2).sum()
    expected = len(X) * CURVED["reg"][1] ** 2 * trace * model.output_.scale**2
    # The errors are those of new items that happen to be the training items.
    assert model.reconstruction_error(X).mean() == pytest.approx(expected, rel=1e-7)
    assert model.score(X) == pytest.approx(-expected, rel=1e-7)


@pytest.mark.parametrize("widths", [2, (3, 1, 3)])
def test_training_points_encode_to_their_codes(widths: Any) -> None:
    X = data(1)
    model = KernelAutoencoder(widths, kernel=Gaussian(0.2), reg=0.01, tol=1e-4).fit(X)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-8)


def test_permuted_rows_give_permuted_codes() -> None:
    X = data(2)
    order = np.random.default_rng(0).permutation(len(X))
    plain, moved = (KernelAutoencoder(2, **CURVED).fit(rows) for rows in (X, X[order]))
    assert moved.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(gram_of_codes(moved), gram_of_codes(plain)[order][:, order], atol=1e-4)


def test_rotated_inputs_give_the_same_codes() -> None:
    X = data(2)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    plain, turned = (KernelAutoencoder(2, **CURVED).fit(rows) for rows in (X, X @ Q))
    assert turned.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(gram_of_codes(turned), gram_of_codes(plain), atol=1e-4)


@pytest.mark.parametrize(
    ("c", "metric"),
    [
        pytest.param(c, metric, marks=pytest.mark.slow if (i + j) % 2 else ())
        for i, c in enumerate([0.5, 4.0])
        for j, metric in enumerate([0.0, 0.5, 1.0])
    ],
)
def test_scale_law(c: float, metric: float) -> None:
    X = data(3)
    plain = KernelAutoencoder(2, code_metric=metric, **CURVED).fit(X)
    settings = {**CURVED, "code_metric": metric, "decoder_kernel": Gaussian(0.5 / c**2), "reg": (0.01 / c**2, 0.01)}
    scaled = KernelAutoencoder(2, **settings).fit(X)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    factor = c ** (2.0 - 2.0 * metric)  # in the metric of what they decode to, codes have no scale of their own
    np.testing.assert_allclose(gram_of_codes(scaled), factor * gram_of_codes(plain), atol=1e-2 * factor)


def test_scaling_of_the_data_is_undone() -> None:
    X = data(3)
    small, large = (
        KernelAutoencoder(2, **{**CURVED, "kernel": Gaussian("median")}).fit(rows) for rows in (X, 1000.0 * X + 5.0)
    )
    assert large.objective_ == pytest.approx(small.objective_, rel=1e-7)
    np.testing.assert_allclose(
        large.reconstruction_error(1000.0 * X + 5.0), 1e6 * small.reconstruction_error(X), rtol=1e-2
    )


@pytest.mark.parametrize("lam", [0.04, 0.25])
def test_scalar_case(lam: float) -> None:
    # Two equal points are one point of the same weight.
    model = KernelAutoencoder(1, reg=(lam, lam), max_iter=2000, init="random", random_state=0, **LITERAL)
    assert model.fit(np.ones((2, 1))).objective_ == pytest.approx(0.5 * (2 * lam - lam**2), rel=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_decoder_is_kernel_ridge_regression(seed: int) -> None:
    X, reg = data(seed), 0.003
    literal = {"reg": (0.01, reg), "center": False, "scale": False, "code_metric": 0.0}
    model = KernelAutoencoder(2, **{**CURVED, **literal}).fit(X)
    ridge = KernelRidge(alpha=len(X) * reg, kernel="rbf", gamma=0.5).fit(model.codes_, X)
    codes = np.random.default_rng(1).normal(size=(6, 2))
    np.testing.assert_allclose(model.inverse_transform(codes), ridge.predict(codes), rtol=1e-7, atol=1e-9)


def test_labels_of_a_pipeline_are_ignored() -> None:
    X = data(0)
    y = (X[:, 0] > 0).astype(int)
    pipeline = Pipeline([("codes", KernelAutoencoder(2)), ("forest", RandomForestClassifier(5, random_state=0))])
    pipeline.fit(X, y)
    np.testing.assert_array_equal(pipeline[0].codes_, KernelAutoencoder(2).fit(X).codes_)
    assert pipeline.score(X, y) > 0.8


@pytest.mark.parametrize("center", [True, False])
def test_weights_are_repeated_rows(center: bool) -> None:
    X = data(4, 14)
    counts = np.random.default_rng(0).integers(0, 4, size=14)
    settings = {**CURVED, "kernel": Gaussian("median"), "center": center}
    weighted = KernelAutoencoder(2, **settings).fit(X, sample_weight=counts)
    repeated = KernelAutoencoder(2, **settings).fit(np.repeat(X, counts, axis=0))
    assert weighted.kernel_.gamma == pytest.approx(repeated.kernel_.gamma, rel=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    new = data(5, 6)
    np.testing.assert_allclose(weighted.reconstruction_error(new), repeated.reconstruction_error(new), rtol=1e-3)


OPERATOR = np.array([[1.0, 0.3], [0.3, 0.5]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "max_iter"),
    [
        (Adam(0.02), 3000),
        (Alternating(), 3000),
        (Alternating(1.0), 3000),
        (GradientDescent(), 3000),
    ],
)
@pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # two columns of different spread
@pytest.mark.parametrize("operators", [None, (OPERATOR, None)])
def test_solvers_agree(solver: Solver, max_iter: int, operators: Any) -> None:
    X = data(0, 15, 2)
    settings: dict[str, Any] = {
        "kernel": Gaussian(0.2),
        "decoder_kernel": Gaussian(0.3),
        "reg": (0.05, 0.05),
        "operators": operators,
    }
    best = KernelAutoencoder(2, **settings, tol=1e-12, max_iter=3000).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAutoencoder(2, **settings, solver=solver, tol=1e-9, max_iter=max_iter).fit(X)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)
    assert model.objective_ >= best.objective_ * (1.0 - 1e-8)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-7)
    np.testing.assert_allclose(model.inverse_transform(model.codes_), best.inverse_transform(best.codes_), atol=0.1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("widths", "with_operators"),
    [
        *[(2, True), ((3, 2, 3), False)],
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((2, False), ((3, 2, 3), True))),
    ],
)
@pytest.mark.parametrize("solver", ["lbfgs", pytest.param("alternating", marks=pytest.mark.slow)])
def test_warm_start_goes_on(widths: Any, with_operators: bool, solver: str) -> None:
    X = data(6, 25)
    sizes = widths if isinstance(widths, tuple) else (widths,)
    made = [np.diag(np.linspace(1.0, 0.5, p)) + 0.1 for p in sizes]
    model = KernelAutoencoder(
        widths,
        kernel=Gaussian(0.2),
        decoder_kernel=Matern(2.5, 0.7),
        reg=0.02,
        operators=(*made, None) if with_operators else None,
        solver=solver,
        tol=1e-5 if solver == "lbfgs" else 1e-3,
        max_iter=3000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cold = clone(model).fit(X)
        warm = clone(model).set_params(warm_start=True, max_iter=5).fit(X)
        before = warm.objective_
        warm.set_params(max_iter=3000).fit(X)
    assert warm.history_[0]["value"] == pytest.approx(before, rel=1e-6), "it begins where it stopped"
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-2)
    first, before = warm.n_iter_, warm.objective_
    warm.fit(X)
    assert warm.n_iter_ <= max(4, first // 2), "little is left to do"
    assert warm.objective_ <= before * (1.0 + 1e-9)


@pytest.mark.usefixtures("long_fits")
def test_a_deep_model_beats_its_collapse_and_converges() -> None:
    X = data(8, 60)
    model = KernelAutoencoder((4, 2, 4), reg=(1e-2, 1e-3, 1e-3, 1e-3), linear_part="kernel").fit(X)
    assert model.converged_
    assert model.objective_ < 0.05
    assert model.codes_.shape == (60, 2)
    assert model.history_[0]["value"] < 0.5


@pytest.mark.parametrize("options", [{}, {"constraint": "sphere"}, {"linear_part": "kernel"}])
def test_the_objective_is_attained_at_the_least_regulariser(options: dict[str, Any]) -> None:
    X = np.random.default_rng(0).normal(size=(40, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelAutoencoder(2, reg=1e-24, max_iter=20, **options).fit(X)
    lost = model.reconstruction_error(X, codes=model.codes_).mean() / X.var(0).sum()
    assert model.objective_ >= 0.5 * lost
