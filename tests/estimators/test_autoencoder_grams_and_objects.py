"""The kernel autoencoder on Gram matrices, and on objects and targets that only a kernel reads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.kernels import FromFunction, Gaussian, GaussianOf, Precomputed
from tests.estimators.unfinished_fits import fit

WORDS = ["kernel", "colonel", "gram", "grammar", "hilbert", "space", "spaces", "codes", "decode", "encode"]


def shared(s: str, t: str) -> float:
    """Number of distinct letters that two words share: positive semi-definite."""
    return float(len(set(s) & set(t)))


@pytest.fixture(scope="module")
def small() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((30, 4))


@pytest.mark.parametrize("center", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_gram_matrix_and_vectors_agree(small: np.ndarray, center: bool) -> None:
    kernel = Gaussian(0.2)
    X, new = small[:22], small[22:]
    explicit = fit(KernelAutoencoder(2, kernel=kernel, output_kernel="same", center=center, reg=1e-3), X)
    implicit = fit(KernelAutoencoder(2, kernel="precomputed", center=center, reg=1e-3), kernel(X))
    rows = kernel(new, X)
    assert implicit.objective_ == pytest.approx(explicit.objective_, rel=1e-9)
    np.testing.assert_allclose(implicit.transform(rows), explicit.transform(new), atol=1e-6)
    codes = explicit.transform(new)
    np.testing.assert_allclose(implicit.inverse_transform(codes), explicit.inverse_transform(codes), atol=1e-6)
    for diag in (None, 1.0, np.ones(len(new))):
        np.testing.assert_allclose(
            implicit.reconstruction_error(rows, diag=diag), explicit.reconstruction_error(new), atol=1e-6
        )
        first, second = (
            implicit.decode(codes, rows, diag=diag, by="features"),
            explicit.decode(codes, new, by="features"),
        )
        np.testing.assert_array_equal(first.indices, second.indices)
        np.testing.assert_allclose(first.distances, second.distances, atol=1e-6)


@pytest.mark.slow
def test_weights_on_the_features_give_the_distances(small: np.ndarray) -> None:
    kernel = Gaussian(0.2)
    X, new = small[:22], small[22:]
    K, rows = kernel(X), kernel(new, X)
    model = fit(KernelAutoencoder(2, kernel="precomputed"), K)
    codes = model.transform(rows)
    B = model.inverse_transform(codes)
    D = 1.0 - 2.0 * B @ rows.T + ((B @ K) * B).sum(1)[:, None]
    np.testing.assert_allclose(model.decode(codes, rows, by="features").distances, np.sort(D, 1), atol=1e-9)
    np.testing.assert_allclose(model.reconstruction_error(rows), np.diag(D), atol=1e-9)


def test_an_unknown_diagonal_is_asked_for(small: np.ndarray) -> None:
    X, new = small[:22], small[22:]
    model = fit(KernelAutoencoder(2, kernel="precomputed"), X @ X.T)
    for ask in (model.reconstruction_error, model.score, lambda K: model.decode(model.codes_, K, by="features")):
        with pytest.raises(InputError, match="diag must be given: .* of the 8 items"):
            ask(new @ X.T)
    assert (model.reconstruction_error(new @ X.T, diag=(new**2).sum(1)) > 0.0).all()


def test_a_kernel_on_a_gram_matrix(small: np.ndarray) -> None:
    X, new = small[:22], small[22:]
    derived = fit(KernelAutoencoder(2, kernel=GaussianOf(Precomputed(), 0.2), reg=1e-3), Gaussian(0.1)(X))
    direct = fit(KernelAutoencoder(2, kernel="precomputed", reg=1e-3), GaussianOf(Gaussian(0.1), 0.2)(X))
    rows, values = Gaussian(0.1)(new, X), GaussianOf(Gaussian(0.1), 0.2)(new, X)
    np.testing.assert_allclose(derived.transform(rows), direct.transform(values), atol=1e-6)
    np.testing.assert_allclose(derived.reconstruction_error(rows), direct.reconstruction_error(values), atol=1e-6)
    first, second = derived.decode(derived.codes_[:3], rows), direct.decode(derived.codes_[:3], values)
    np.testing.assert_allclose(first.distances, second.distances, atol=1e-6)


def test_objects_with_a_python_function() -> None:
    model = fit(KernelAutoencoder(2, kernel=shared), WORDS)
    K = np.array([[shared(s, t) for t in WORDS] for s in WORDS])
    gram = fit(KernelAutoencoder(2, kernel="precomputed"), K)
    np.testing.assert_allclose(model.codes_, gram.codes_, atol=1e-6)
    assert not hasattr(model, "n_features_in_")
    codes = model.transform(["spaced", "ogre"])
    assert codes.shape == (2, 2)
    candidates = ["space", "gram", "zzz"]
    rows = np.array([[shared(s, t) for t in WORDS] for s in candidates])
    first = model.decode(codes, candidates, by="features")
    second = gram.decode(codes, rows, diag=[shared(s, s) for s in candidates])
    np.testing.assert_allclose(first.distances, second.distances, atol=1e-5)
    np.testing.assert_array_equal(first.indices, second.indices)
    assert model.decode(codes, n_best=4).indices.shape == (2, 4)
    assert model.inverse_transform(codes).shape == (2, 10)
    assert model.reconstruction_error(["spaced"]).shape == (1,)
    with pytest.raises(InputError, match="candidates must be a list of objects, one per item; got a str"):
        model.decode(codes, "space")


def test_vectors_to_objects(small: np.ndarray) -> None:
    model = fit(KernelAutoencoder(2, output_kernel=shared), small[:10], targets=WORDS)
    ranking = model.decode(model.codes_, n_best=3)
    assert ranking.indices.shape == (10, 3)
    errors = model.reconstruction_error(small[:10], targets=WORDS)
    full = model.decode(model.codes_, WORDS)
    own = [full.distances[i][full.indices[i] == i][0] for i in range(10)]
    np.testing.assert_allclose(errors, own, atol=1e-8)
    with pytest.raises(InputError, match="targets must have one row for each row of X, 10; got 9"):
        model.reconstruction_error(small[:10], targets=WORDS[:9])


@pytest.mark.parametrize("case", ["vectors", "objects", "gram"])
def test_targets_of_their_own_are_read_where_both_kernels_are_one_object(small: np.ndarray, case: str) -> None:
    X, goal = {
        "vectors": (small[:10], small[10:20] ** 2),
        "objects": (WORDS, WORDS[::-1]),
        "gram": (Gaussian(0.1)(small[:10]), Gaussian(0.3)(small[10:20])),
    }[case]
    kernel = {"vectors": Gaussian(0.5), "objects": FromFunction(shared), "gram": Precomputed()}[case]
    model = fit(KernelAutoencoder(2, kernel=kernel, output_kernel="same", reg=1e-2), X, targets=goal)
    twin = fit(KernelAutoencoder(2, kernel=kernel, output_kernel=clone(kernel), reg=1e-2), X, targets=goal)
    assert model.objective_ == twin.objective_
    np.testing.assert_array_equal(model.output_.cholesky, twin.output_.cholesky)


def test_rows_of_weight_zero_of_a_gram_matrix(small: np.ndarray) -> None:
    kernel, w = Gaussian(0.2), (np.arange(22) % 3).astype(float)
    X, new = small[:22], small[22:]
    rows = kernel(new, X)
    model = fit(KernelAutoencoder(2, kernel="precomputed"), kernel(X), sample_weight=w)
    explicit = fit(KernelAutoencoder(2, kernel=kernel, output_kernel="same"), X, sample_weight=w)
    codes = explicit.transform(new)
    np.testing.assert_allclose(model.transform(rows), codes, atol=1e-6)
    np.testing.assert_allclose(model.decode(codes, rows).distances, explicit.decode(codes, new).distances, atol=1e-6)
    np.testing.assert_allclose(model.reconstruction_error(rows), explicit.reconstruction_error(new), atol=1e-6)


def test_vectors_as_targets_of_a_gram_matrix_lose_rows_of_weight_zero_and_no_columns(small: np.ndarray) -> None:
    X, Y, w = small[:, :2], small[:, 2:], np.ones(30)
    w[:3] = 0.0
    model = KernelAutoencoder(2, kernel="precomputed", output_kernel=Gaussian(0.5), reg=1e-2)
    kept = fit(model, Gaussian(0.1)(X[3:]), targets=Y[3:])
    np.testing.assert_allclose(fit(clone(model), Gaussian(0.1)(X), targets=Y, sample_weight=w).codes_, kept.codes_)
