"""The kernel autoencoder as users meet it: odd shapes, targets, decoding, weights, depth, operators, units."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import CollapseWarning, InputError
from rkhs.kernels import Gaussian, Linear, Matern
from tests.estimators.unfinished_fits import fit, fit_once


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:80] / 16.0


@pytest.fixture(scope="module")
def new() -> np.ndarray:
    return load_digits().data[80:100] / 16.0


@pytest.fixture(scope="module")
def small() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((30, 4))


# ---------------------------------------------------------------- shapes


def test_fewer_rows_than_columns(X: np.ndarray, new: np.ndarray) -> None:
    model = fit(KernelAutoencoder(3), X[:12])
    assert model.inverse_transform(model.transform(new)).shape == new.shape
    rotated = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 64)))[0]
    turned = fit(KernelAutoencoder(3), X[:12] @ rotated)
    assert turned.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_more_components_than_rank(small: np.ndarray) -> None:
    flat = np.outer(small[:, 0], [1.0, -1.0, 2.0])
    model = fit(KernelAutoencoder(6, kernel="linear", decoder_kernel="linear", reg=1e-6), flat)
    assert model.codes_.shape == (30, 6)
    assert np.linalg.matrix_rank(model.codes_, tol=1e-6) == 1
    assert model.reconstruction_error(flat).mean() < 1e-3 * flat.var(0).sum()


@pytest.mark.parametrize("options", [{}, {"constraint": "sphere"}, {"center": False}, {"output_kernel": "same"}])
@pytest.mark.parametrize("widths", [9, 5, (9, 2), (2, 9)])
def test_more_components_than_rows_are_refused(widths: int | tuple[int, int], options: dict, small: np.ndarray) -> None:
    with pytest.raises(InputError, match="n_components must be at most 4 for n_samples=5, whose centred codes"):
        KernelAutoencoder(widths, **options).fit(small[:5])
    assert fit(KernelAutoencoder(4, **options), small[:5]).codes_.shape == (5, 4)


def test_two_rows_are_told_apart() -> None:
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    model = fit(KernelAutoencoder(1, reg=(1e-4, 1e-6)), X)
    assert abs(model.codes_[0, 0] - model.codes_[1, 0]) > 0.1
    np.testing.assert_allclose(model.inverse_transform(model.codes_), X, atol=0.05)


def test_duplicated_rows_have_one_code(small: np.ndarray) -> None:
    model = fit(KernelAutoencoder(2), np.r_[small, small[:3]])
    np.testing.assert_allclose(model.codes_[30:], model.codes_[:3], atol=1e-8)


# ---------------------------------------------------------------- the ways back


def test_denoising_rebuilds_the_targets(X: np.ndarray) -> None:
    noise = np.random.default_rng(2).standard_normal(X.shape)
    noisy = X + 0.3 * noise
    plain, denoising = fit(KernelAutoencoder(5), noisy), fit(KernelAutoencoder(5), noisy, targets=X)
    rebuilt = denoising.inverse_transform(denoising.transform(noisy))
    assert ((rebuilt - X) ** 2).mean() < 0.8 * ((plain.inverse_transform(plain.codes_) - X) ** 2).mean()
    np.testing.assert_allclose(denoising.reconstruction_error(noisy, targets=X), ((rebuilt - X) ** 2).sum(1), atol=1e-9)
    with pytest.raises(InputError, match="targets must be given"):
        denoising.score(noisy)


def test_denoising_without_noise_is_the_plain_model(small: np.ndarray) -> None:
    first = fit(KernelAutoencoder(2, reg=1e-3), small)
    second = fit(KernelAutoencoder(2, reg=1e-3), small, targets=small)
    np.testing.assert_array_equal(first.codes_, second.codes_)


@pytest.mark.parametrize("q", [1, 7, 50])
def test_targets_of_another_width(small: np.ndarray, q: int) -> None:
    T = np.sin(small @ np.random.default_rng(q).standard_normal((4, q)))
    model = fit(KernelAutoencoder(3, operators=(None, np.diag(np.linspace(1.0, 2.0, q)))), small, targets=T)
    back = model.inverse_transform(model.transform(small))
    assert back.shape == T.shape
    assert ((back - T) ** 2).sum(1).mean() < 0.5 * T.var(0).sum()
    ranking = model.decode(model.codes_, T, n_best=2)
    np.testing.assert_allclose(ranking.distances[:, 0], ((back[:, None] - T[None]) ** 2).sum(-1).min(1), atol=1e-8)


def test_decode_of_vectors(X: np.ndarray, new: np.ndarray) -> None:
    model = fit_once(KernelAutoencoder(5), X)
    codes = model.transform(new)
    D = ((model.inverse_transform(codes)[:, None] - new[None]) ** 2).sum(-1)
    ranking = model.decode(codes, new)
    np.testing.assert_allclose(ranking.distances, np.sort(D, 1), atol=1e-9)
    own = model.decode(codes, n_best=1)
    np.testing.assert_array_equal(own.indices[:, 0], model.decode(codes, X, n_best=1).indices[:, 0])
    assert ((X[own.indices[:, 0]] - model.inverse_transform(codes)) ** 2).sum(1) == pytest.approx(own.distances[:, 0])


def test_features_of_a_linear_kernel_are_the_vectors(small: np.ndarray) -> None:
    kernels: dict[str, Any] = {"kernel": Gaussian(0.2), "reg": 1e-3}
    explicit = fit(KernelAutoencoder(2, **kernels), small)
    features = fit(KernelAutoencoder(2, output_kernel="linear", **kernels), small)
    assert features.objective_ == pytest.approx(explicit.objective_, rel=1e-6)
    np.testing.assert_allclose(features.codes_, explicit.codes_, atol=1e-4)
    np.testing.assert_allclose(features.reconstruction_error(small), explicit.reconstruction_error(small), rtol=1e-2)
    np.testing.assert_allclose(
        features.inverse_transform(features.codes_) @ small, explicit.inverse_transform(explicit.codes_), atol=1e-3
    )


# ---------------------------------------------------------------- weights


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_components", [2, (3, 2)])
def test_weights_are_repeated_rows_bandwidth_included(small: np.ndarray, n_components: Any) -> None:
    w = np.arange(30) % 4
    few = 500 if n_components == 2 else 20  # a long path of a deep model amplifies rounding
    options: dict[str, Any] = {"n_components": n_components, "max_iter": few, "linear_part": "kernel"}
    scaled = fit(KernelAutoencoder(**options), small, sample_weight=0.3 * w)
    weighted = fit(KernelAutoencoder(**options), small, sample_weight=w)
    np.testing.assert_allclose(scaled.codes_, weighted.codes_, atol=1e-4)
    repeated = fit(KernelAutoencoder(**options), np.repeat(small, w, 0))
    gamma = [model.kernel_.terms[0].gamma for model in (weighted, repeated)]
    assert gamma[0] == pytest.approx(gamma[1], rel=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_allclose(weighted.transform(small), repeated.transform(small), atol=1e-4)
    np.testing.assert_allclose(weighted.reconstruction_error(small), repeated.reconstruction_error(small), atol=1e-4)


def test_equal_weights_change_nothing(small: np.ndarray) -> None:
    first, second = (
        fit_once(KernelAutoencoder(2), small),
        fit(KernelAutoencoder(2), small, sample_weight=np.full(30, 7.0)),
    )
    np.testing.assert_array_equal(first.codes_, second.codes_)


# ---------------------------------------------------------------- depth, operators, starts


def test_deep_codes_and_layers(X: np.ndarray, new: np.ndarray) -> None:
    model = fit(KernelAutoencoder((6, 2, 6), reg=1e-4, max_iter=20), X)
    assert model.transform(new).shape == (20, 2)
    assert [model.transform(new, layer=k).shape[1] for k in (1, 2, 3)] == [6, 2, 6]
    np.testing.assert_array_equal(model.transform(new), model.transform(new, layer=2))
    for k in (1, 2, 3):
        np.testing.assert_allclose(model.transform(X, layer=k), model.layer_codes_[k - 1], atol=1e-6)
    back = model.inverse_transform(model.transform(new))
    np.testing.assert_allclose(model.reconstruction_error(new), ((new - back) ** 2).sum(1), rtol=1e-9)
    assert model.reconstruction_error(X).mean() < 0.6 * X.var(0).sum()
    assert list(model.get_feature_names_out()) == ["kernelautoencoder0", "kernelautoencoder1"]


def test_the_first_of_equally_narrow_layers_holds_the_codes(small: np.ndarray) -> None:
    model = fit(KernelAutoencoder((3, 2, 2), max_iter=5, reg=1e-3), small)
    np.testing.assert_array_equal(model.transform(small), model.transform(small, layer=2))


def test_operators_agree_with_their_definition(small: np.ndarray) -> None:
    """``f_l`` lives in the space of ``k_l A_l``: stored coefficients include A, and its range bounds the codes."""
    A, B = np.array([[1.0, 1.0], [1.0, 1.0]]), np.diag([2.0, 1.0, 0.5, 1.0])
    model = fit(KernelAutoencoder(2, operators=(A, B), reg=1e-3), small)
    np.testing.assert_allclose(model.codes_[:, 0], model.codes_[:, 1], atol=1e-8)
    assert not np.allclose(model.codes_, 0.0)
    silent = fit(KernelAutoencoder(2, operators=(None, np.diag([1.0, 0.0, 1.0, 1.0])), reg=1e-3), small)
    back = silent.inverse_transform(silent.transform(small))
    np.testing.assert_allclose(back[:, 1], small[:, 1].mean(), atol=1e-9)
    plain = fit(KernelAutoencoder(2, operators=(np.eye(2), np.eye(4)), reg=1e-3), small)
    same = KernelAutoencoder(2, reg=1e-3, linear_part="kernel")
    assert plain.objective_ == pytest.approx(fit(same, small).objective_, rel=1e-4)


def test_more_starts_are_never_worse_and_repeatable(small: np.ndarray) -> None:
    options: dict[str, Any] = {"init": "random", "reg": 1e-3, "max_iter": 30}
    one = fit(KernelAutoencoder(2, random_state=3, **options), small)
    many = fit(KernelAutoencoder(2, n_init=4, random_state=3, **options), small)
    again = fit(KernelAutoencoder(2, n_init=4, random_state=np.random.RandomState(3), **options), small)
    assert many.objective_ <= one.objective_
    np.testing.assert_array_equal(many.codes_, again.codes_)
    other = fit(KernelAutoencoder(2, random_state=4, **options), small)
    assert not np.array_equal(one.codes_, other.codes_)


def test_warm_start_begins_where_the_last_fit_ended(small: np.ndarray) -> None:
    model = fit(KernelAutoencoder(2, warm_start=True), small)
    first = model.n_iter_
    fit(model, small)
    assert model.n_iter_ < max(first / 3, 4)
    fit(model, small[:10])  # another number of rows: a fresh start
    assert model.codes_.shape == (10, 2)


def test_collapse_is_reported(small: np.ndarray) -> None:
    with pytest.warns(
        CollapseWarning, match=r"the codes collapsed to a point: .* Lower reg \(now \(1000.0, 1000.0\)\)"
    ):
        model = KernelAutoencoder(2, reg=1000.0, linear_part="kernel").fit(small)
    np.testing.assert_allclose(model.inverse_transform(model.codes_), np.tile(small.mean(0), (30, 1)), atol=0.05)


def test_few_iterations_are_reported(small: np.ndarray) -> None:
    with pytest.warns(
        ConvergenceWarning, match="KernelAutoencoder: the largest number of iterations was reached; raise max_iter"
    ):
        model = KernelAutoencoder(2, max_iter=2).fit(small)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert [row["iteration"] for row in model.history_] == [0, 1, 2]


# ---------------------------------------------------------------- numbers


@pytest.mark.sample(1)
@pytest.mark.usefixtures("all_candidates")
@pytest.mark.parametrize("n_components", [2, (3, 2)])
def test_float32_agrees_with_float64_to_three_digits(small: np.ndarray, n_components: Any) -> None:
    part: Any = "auto" if n_components == 2 else "kernel"  # depth beside free parts ends where rounding says
    wide, narrow = (
        fit(KernelAutoencoder(n_components, dtype=name, linear_part=part), small) for name in ("float64", "float32")
    )
    assert narrow.objective_ == pytest.approx(wide.objective_, rel=2e-2)
    options: dict[str, Any] = {"linear_part": part, "max_iter": 1, "reg": 1e-3}
    same, twin = (KernelAutoencoder(n_components, dtype=name, **options) for name in ("float32", "float64"))
    a, b = fit(same, small), fit(twin, small)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-3)
    assert np.abs(a.transform(small) - b.transform(small)).max() < 1e-3 * np.abs(b.codes_).max()


@pytest.mark.sample(1)
@pytest.mark.parametrize("factor", [1e-8, *(pytest.param(f, marks=pytest.mark.slow) for f in (1e-3, 1e5)), 1e8])
def test_units_do_not_matter(small: np.ndarray, factor: float) -> None:
    plain, scaled = fit_once(KernelAutoencoder(2), small), fit(KernelAutoencoder(2), factor * small)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(scaled.transform(factor * small), plain.transform(small), atol=1e-4)
    np.testing.assert_allclose(
        scaled.reconstruction_error(factor * small) / factor**2, plain.reconstruction_error(small), rtol=1e-2, atol=1e-5
    )


def test_without_centring_and_scaling_the_objective_is_that_of_the_paper(small: np.ndarray) -> None:
    model = fit(
        KernelAutoencoder(
            2, center=False, scale=False, kernel=Gaussian(0.3), decoder_kernel=Matern(1.5, 1.0), reg=(1e-3, 1e-2)
        ),
        small,
    )
    K1, K2 = Gaussian(0.3)(small), Matern(1.5, 1.0)(model.layer_codes_[0])
    C, D = model.encoder_coefs_[0], model.decoder_coef_
    loss = 0.5 * ((small - K2 @ D) ** 2).sum(1).mean()
    penalty = 0.5 * 1e-3 * np.sum(C * (K1 @ C)) + 0.5 * 1e-2 * np.sum(D * (K2 @ D))
    assert model.objective_ == pytest.approx(loss + penalty, rel=1e-8)
    np.testing.assert_allclose(K1 @ C, model.layer_codes_[0], atol=1e-8)
    assert loss == pytest.approx(0.5 * model.reconstruction_error(small).mean(), rel=1e-9)
    assert loss == pytest.approx(0.5 * 30 * 1e-4 * np.sum(D * D), rel=1e-6), "n reg^2 tr N is the mean distortion"


def test_labels_of_a_pipeline_change_nothing(X: np.ndarray) -> None:
    y = load_digits().target[:80]
    pipe = Pipeline(
        [("codes", KernelAutoencoder(4, reg=1e-3, max_iter=10)), ("forest", RandomForestClassifier(5, random_state=0))]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipe.fit(X, y)
    np.testing.assert_array_equal(pipe[0].codes_, fit(KernelAutoencoder(4, reg=1e-3, max_iter=10), X).codes_)


@pytest.mark.slow
def test_grid_search_reaches_into_kernels(small: np.ndarray) -> None:
    search = GridSearchCV(
        KernelAutoencoder(2, kernel=Gaussian()), {"kernel__gamma": [1e-3, 0.2], "reg": [1e-2, 1e-4]}, cv=3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning))
        warnings.simplefilter("ignore", CollapseWarning)
        search.fit(small)
    assert search.best_score_ < 0.0
    assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]


def test_better_than_kernel_pca_in_the_same_dimension(X: np.ndarray, new: np.ndarray) -> None:
    model, peer = fit_once(KernelAutoencoder(5), X), KernelPCA(5).fit(X)
    assert model.score(new) > peer.score(new)
    assert model.score(new) == pytest.approx(-model.reconstruction_error(new).mean())


def test_linear_offset_kernel_ignores_the_origin(small: np.ndarray) -> None:
    kernel = Linear("mean_norm", "mean")
    near, far = (fit(KernelAutoencoder(2, kernel=kernel), small + c) for c in (0.0, 1e6))
    np.testing.assert_allclose(near.transform(small), far.transform(small + 1e6), atol=1e-4)
