"""Kernel PCA: definitions, scikit-learn's numbers, pre-images, Gram and object inputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA as Peer

from rkhs import KernelPCA
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Linear, Matern, Polynomial


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:150] / 16.0


@pytest.fixture(scope="module")
def new() -> np.ndarray:
    return load_digits().data[150:200] / 16.0


def shared(s: str, t: str) -> float:
    """Number of distinct letters that two words share: positive semi-definite."""
    return float(len(set(s) & set(t)))


WORDS = ["kernel", "colonel", "gram", "grammar", "hilbert", "space", "spaces", "codes", "decode", "encode"]


@pytest.mark.parametrize("p", [1, 3, 10])
@pytest.mark.parametrize("gamma", [0.01, 0.1])
def test_values_are_those_of_scikit_learn(X: np.ndarray, new: np.ndarray, p: int, gamma: float) -> None:
    ours = KernelPCA(p, kernel=Gaussian(gamma)).fit(X)
    peer = Peer(p, kernel="rbf", gamma=gamma).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, peer.eigenvalues_, rtol=1e-9)
    theirs = peer.transform(new)
    signs = np.sign((ours.transform(new) * theirs).sum(0))
    np.testing.assert_allclose(ours.transform(new) * signs, theirs, atol=1e-9)


def test_linear_kernel_is_pca(X: np.ndarray, new: np.ndarray) -> None:
    ours, peer = KernelPCA(5, kernel="linear").fit(X), PCA(5).fit(X)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(peer.transform(new)), atol=1e-9)
    errors = ((new - peer.inverse_transform(peer.transform(new))) ** 2).sum(1)
    np.testing.assert_allclose(ours.reconstruction_error(new, space="feature"), errors, atol=1e-9)


def test_linear_kernel_without_centring_is_the_singular_value_decomposition(X: np.ndarray) -> None:
    model = KernelPCA(4, kernel="linear", center=False).fit(X)
    _, s, right = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(model.eigenvalues_, s[:4] ** 2, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.codes_), np.abs(X @ right[:4].T), atol=1e-9)


@pytest.mark.parametrize("center", [True, False])
def test_codes_have_the_reported_variance_and_shares_sum_to_one(X: np.ndarray, center: bool) -> None:
    model = KernelPCA(None, kernel=Gaussian(0.05), center=center).fit(X)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-12)
    second = model.codes_.T @ model.codes_ / len(X)
    np.testing.assert_allclose(second, np.diag(model.explained_variance_), atol=1e-12)
    if center:
        np.testing.assert_allclose(model.codes_.mean(0), 0.0, atol=1e-12)
        assert model.n_components_ == len(X) - 1
    np.testing.assert_allclose(model.reconstruction_error(X, space="feature"), 0.0, atol=1e-10)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_share_takes_the_fewest_components_that_reach_it(X: np.ndarray, share: float) -> None:
    model = KernelPCA(share, kernel=Gaussian(0.05)).fit(X)
    ratios = KernelPCA(None, kernel=Gaussian(0.05)).fit(X).explained_variance_ratio_
    assert model.n_components_ == int(np.searchsorted(np.cumsum(ratios), share)) + 1
    assert model.transform(X).shape == (len(X), model.n_components_)


def test_more_components_than_rank_are_zero(X: np.ndarray) -> None:
    flat = np.outer(X[:, 20], [1.0, 2.0])
    model = KernelPCA(4, kernel="linear").fit(flat)
    assert model.explained_variance_[0] > 0
    np.testing.assert_array_equal(model.explained_variance_[1:], 0.0)
    np.testing.assert_array_equal(model.transform(flat)[:, 1:], 0.0)
    assert KernelPCA(None, kernel="linear").fit(flat).n_components_ == 1


def test_two_rows() -> None:
    two = KernelPCA(1, kernel="linear").fit([[0.0], [2.0]])
    np.testing.assert_allclose(np.sort(two.codes_[:, 0]), [-1.0, 1.0])


def test_fewer_rows_than_columns(X: np.ndarray, new: np.ndarray) -> None:
    model = KernelPCA(3).fit(X[:10])
    assert model.inverse_transform(model.transform(new)).shape == new.shape


@pytest.mark.parametrize("center", [True, False])
def test_gram_matrix_and_vectors_agree(X: np.ndarray, new: np.ndarray, center: bool) -> None:
    kernel = Gaussian(0.05)
    explicit = KernelPCA(3, kernel=kernel, center=center).fit(X)
    implicit = KernelPCA(3, kernel="precomputed", center=center).fit(kernel(X))
    rows = kernel(new, X)
    np.testing.assert_allclose(implicit.transform(rows), explicit.transform(new), atol=1e-9)
    for diag in (None, 1.0, np.ones(len(new))):
        np.testing.assert_allclose(
            implicit.reconstruction_error(rows, diag=diag),
            explicit.reconstruction_error(new, space="feature"),
            atol=1e-9,
        )
    codes = explicit.transform(new)
    first, second = explicit.decode(codes, new, n_best=3), implicit.decode(codes, rows, n_best=3)
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_allclose(first.distances, second.distances, atol=1e-9)


def test_decode_ranks_by_the_distance_in_the_feature_space(X: np.ndarray, new: np.ndarray) -> None:
    """With a linear kernel features are the vectors themselves."""
    model = KernelPCA(3, kernel="linear").fit(X)
    peer = PCA(3).fit(X)
    codes = model.transform(new)
    projected = peer.inverse_transform(peer.transform(new))
    D = ((projected[:, None] - new[None]) ** 2).sum(-1)
    ranking = model.decode(codes, new, by="features")
    np.testing.assert_allclose(ranking.distances, np.sort(D, 1), atol=1e-9)
    np.testing.assert_array_equal(ranking.indices[:, 0], D.argmin(1))
    np.testing.assert_array_equal(model.decode(model.codes_, n_best=1).distances.shape, (len(X), 1))


def test_all_components_decode_to_the_item_itself(X: np.ndarray) -> None:
    model = KernelPCA(None, kernel=Gaussian(0.05)).fit(X)
    ranking = model.decode(model.codes_, n_best=1)
    np.testing.assert_array_equal(ranking.indices[:, 0], np.arange(len(X)))
    np.testing.assert_allclose(ranking.distances, 0.0, atol=1e-9)


def test_an_unknown_diagonal_is_asked_for(X: np.ndarray, new: np.ndarray) -> None:
    kernel = Linear()
    model = KernelPCA(2, kernel="precomputed").fit(kernel(X))
    rows = kernel(new, X)
    with pytest.raises(InputError, match="diag must be given"):
        model.reconstruction_error(rows)
    exact = KernelPCA(2, kernel="linear").fit(X).reconstruction_error(new, space="feature")
    np.testing.assert_allclose(model.reconstruction_error(rows, diag=(new**2).sum(1)), exact, atol=1e-9)


@pytest.mark.parametrize("preimage", ["ridge", "fixed_point", "nearest"])
def test_preimages_of_many_components_are_close_to_the_items(X: np.ndarray, preimage: str) -> None:
    model = KernelPCA(100, kernel=Gaussian(0.02), preimage=preimage).fit(X)
    errors = model.reconstruction_error(X)
    np.testing.assert_allclose(errors, ((X - model.inverse_transform(model.codes_)) ** 2).sum(1), atol=1e-7)
    assert errors.mean() < 0.05 * X.var(0).sum()
    assert model.score(X) == pytest.approx(-errors.mean())


@pytest.mark.sample(2)
@pytest.mark.parametrize("kernel", [Gaussian(0.02), Matern(2.5, 0.2), Polynomial(2)])
def test_fixed_point_is_never_further_in_feature_space_than_the_nearest_item(
    X: np.ndarray, new: np.ndarray, kernel: Any
) -> None:
    def distances(points: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return np.array([model.decode(c[None], x[None]).distances[0, 0] for c, x in zip(codes, points, strict=True)])

    model = KernelPCA(5, kernel=kernel, preimage="fixed_point").fit(X)
    nearest = KernelPCA(5, kernel=kernel, preimage="nearest").fit(X)
    codes = model.transform(new[:12])
    found, items = model.inverse_transform(codes), nearest.inverse_transform(codes)
    assert all((item == X).all(1).any() for item in items)
    assert (distances(found, codes) <= distances(items, codes) + 1e-9).all()


def test_ridge_preimage_with_another_kernel(X: np.ndarray) -> None:
    for decoder in ("gaussian", Linear()):
        model = KernelPCA(8, decoder_kernel=decoder, reg=1e-3).fit(X)
        assert model.reconstruction_error(X).mean() < 0.6 * X.var(0).sum()


def test_objects_with_a_python_function(X: np.ndarray) -> None:
    model = KernelPCA(3, kernel=shared).fit(WORDS)
    K = np.array([[shared(s, t) for t in WORDS] for s in WORDS])
    gram = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(model.codes_, gram.codes_, atol=1e-9)
    np.testing.assert_allclose(model.transform(WORDS), model.codes_, atol=1e-9)
    assert model.inverse_transform(model.codes_).shape == (10, 10)
    assert not hasattr(model, "n_features_in_")
    ranking = KernelPCA(None, kernel=shared).fit(WORDS)
    found = ranking.decode(ranking.codes_, ["zzz", *WORDS], n_best=1)
    np.testing.assert_allclose(found.distances, 0.0, atol=1e-9)
    with pytest.raises(InputError, match="X must be a list of objects, one per item; got a str"):
        model.transform("kernel")


def test_weights_on_the_features_rebuild_the_projection(X: np.ndarray, new: np.ndarray) -> None:
    kernel = Gaussian(0.05)
    K, rows = kernel(X), kernel(new, X)
    model = KernelPCA(4, kernel="precomputed").fit(K)
    B = model.inverse_transform(model.transform(rows))
    errors = 1.0 - 2.0 * (B * rows).sum(1) + ((B @ K) * B).sum(1)
    np.testing.assert_allclose(model.reconstruction_error(rows), errors, atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian("scale"), Matern(1.5, "median"), Linear("mean_norm", "mean")])
@pytest.mark.parametrize("center", [True, False])
def test_weights_are_repeated_rows_bandwidth_included(
    X: np.ndarray, new: np.ndarray, kernel: Any, center: bool
) -> None:
    X = X[:40]
    w = np.arange(40) % 4
    weighted = KernelPCA(3, kernel=kernel, center=center).fit(X, sample_weight=0.37 * w)
    repeated = KernelPCA(3, kernel=kernel, center=center).fit(np.repeat(X, w, 0))
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-8)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
    codes = weighted.transform(new)
    np.testing.assert_allclose(weighted.inverse_transform(codes), repeated.inverse_transform(codes), atol=1e-7)


def test_rows_of_weight_zero_of_a_gram_matrix(X: np.ndarray, new: np.ndarray) -> None:
    kernel, w = Gaussian(0.05), np.arange(len(X)) % 3
    rows = kernel(new, X)
    model = KernelPCA(3, kernel="precomputed").fit(kernel(X), sample_weight=w)
    explicit = KernelPCA(3, kernel=kernel).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.transform(rows), explicit.transform(new), atol=1e-9)
    np.testing.assert_allclose(
        model.decode(model.codes_, rows).distances, explicit.decode(explicit.codes_, new).distances, atol=1e-9
    )
    assert model.n_features_in_ == len(X)


def test_float32_agrees_with_float64_to_five_digits(X: np.ndarray, new: np.ndarray) -> None:
    wide, narrow = KernelPCA(3).fit(X), KernelPCA(3, dtype="float32").fit(X)
    scale = np.abs(wide.transform(new)).max()
    assert np.abs(narrow.transform(new) - wide.transform(new)).max() < 1e-5 * scale
    back, exact = narrow.inverse_transform(wide.codes_), wide.inverse_transform(wide.codes_)
    assert np.abs(back - exact).max() < 1e-3


def test_rotations_and_permutations_change_nothing(X: np.ndarray, new: np.ndarray) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 64)))[0]
    order = np.random.default_rng(1).permutation(len(X))
    plain = KernelPCA(3).fit(X).transform(new)
    np.testing.assert_allclose(np.abs(KernelPCA(3).fit(X @ Q).transform(new @ Q)), np.abs(plain), atol=1e-8)
    np.testing.assert_allclose(np.abs(KernelPCA(3).fit(X[order]).transform(new)), np.abs(plain), atol=1e-8)


def test_no_warning_on_ordinary_data(X: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(5).fit(X).reconstruction_error(X)
