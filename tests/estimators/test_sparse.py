"""Sparse matrices in every estimator: the model of the same rows written out, without writing them out."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import rkhs
from rkhs import (
    DeepRKM,
    GramTransformer,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core.errors import ColumnWarning, InputError
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import ArcCosine, Gaussian, Tanimoto


def counts(n: int, d: int = 90, seed: int = 0) -> sp.csr_array:
    """Counts of words of six topics."""
    rng = np.random.default_rng(7)
    topics = rng.random((6, d)) * (rng.random((6, d)) < 0.2)
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.poisson(3.0 * rng.dirichlet(np.full(6, 0.3), n) @ topics).astype(float))


X, NEW = counts(60), counts(15, seed=1)
Y = np.random.default_rng(2).normal(size=(90, 2))
Y = X @ Y
FEATURES = RandomFeatures(60, orthogonal=False)  # independent directions: those of dense rows are orthogonal by default

MODELS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    name: (make, lambda model, rows: model.transform(rows))
    for name, make in {
        "KernelPCA": lambda: KernelPCA(3),
        "KernelPCA, cosine": lambda: KernelPCA(3, kernel="cosine"),
        "KernelPCA, L1": lambda: KernelPCA(3, kernel="laplacian"),
        "KernelPCA, blocked": lambda: KernelPCA(3, storage="blocked"),
        "KernelPCA, Nystroem": lambda: KernelPCA(3, storage=Nystroem(30)),
        "KernelPCA, leverage": lambda: KernelPCA(3, kernel="minmax", storage=Nystroem(30, "leverage")),
        "KernelPCA, k-means++": lambda: KernelPCA(3, storage=Nystroem(30, "kmeans++")),
        "KernelPCA, random features": lambda: KernelPCA(3, storage=FEATURES),
        "KernelPCA, layer": lambda: KernelPCA(3, kernel=ArcCosine(bias=True), storage=FEATURES),
        "KernelPCA, sketch": lambda: KernelPCA(3, kernel="minmax", storage=FEATURES),
        "Nystroem": lambda: Nystroem(30),
        "RandomFeatures": lambda: RandomFeatures(30, orthogonal=False),
        "GramTransformer": lambda: GramTransformer("tanimoto"),
        "DeepRKM": lambda: DeepRKM((3, 2)),
        "KernelContrastive": lambda: KernelContrastive(2),
        "autoencoder of features": lambda: KernelAutoencoder(
            2, kernel="tanimoto", output_kernel="same", tol=1e-8, reg=1e-2
        ),
        "autoencoder on landmarks": lambda: KernelAutoencoder(
            2, kernel="gaussian", storage=Nystroem(30), output_kernel="same", tol=1e-8, reg=1e-2
        ),
    }.items()
} | {
    name: (make, lambda model, rows: model.predict(rows))
    for name, make in {
        "OperatorKernelRegressor": lambda: OperatorKernelRegressor(),
        "OperatorKernelRegressor, sum": lambda: OperatorKernelRegressor([("gaussian", None), ("linear", np.eye(2))]),
        "OperatorKernelRegressor, landmarks": lambda: OperatorKernelRegressor(storage=Nystroem(30)),
        "OperatorKernelRegressorCV": lambda: OperatorKernelRegressorCV(gammas=["median", 0.01]),
        "InputOutputKernelRegressor": lambda: InputOutputKernelRegressor(output_kernel="gaussian"),
    }.items()
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_the_dense_rows(name: str, tmp_path: Path) -> None:
    make, act = MODELS[name]
    sparse, dense = make().fit(X, Y), make().fit(X.toarray(), Y)
    found, expected = act(sparse, NEW), act(dense, NEW.toarray())
    iterated = {"autoencoder of features": 1e-8, "autoencoder on landmarks": 1e-3, "DeepRKM": 1e-6}
    tol = iterated.get(name, 1e-12)  # rounding decides where an iteration stops
    assert np.abs(found - expected).max() <= tol * max(1.0, np.abs(expected).max())
    assert np.allclose(act(sparse, NEW.toarray()), found, rtol=0, atol=1e-12)  # a model of sparse rows reads dense ones
    assert sparse.n_features_in_ == 90
    rkhs.save(sparse, tmp_path / "model.rkhs")
    assert np.array_equal(act(rkhs.load(tmp_path / "model.rkhs"), NEW), found)


@pytest.mark.sample(1)
@pytest.mark.usefixtures("all_candidates")
@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelAutoencoder(2, tol=1e-8),
        pytest.param(lambda: KernelAutoencoder(4, tol=1e-8), marks=pytest.mark.slow),
        pytest.param(lambda: KernelAutoencoder(3, linear_part="kernel", tol=1e-8), marks=pytest.mark.slow),
        lambda: KernelAutoencoder(2, kernel="gaussian", loss="huber", tol=1e-8),
    ],
    ids=["default, two", "default, four", "kernel parts", "huber"],
)
def test_an_autoencoder_rebuilds_the_rows(make: Callable[[], Any], tmp_path: Path) -> None:
    sparse, dense = make().fit(X), make().fit(X.toarray())
    assert sparse.reg_ == dense.reg_  # one choice
    assert np.allclose(sparse.transform(NEW), dense.transform(NEW.toarray()), rtol=1e-6, atol=1e-7)
    errors = sparse.reconstruction_error(NEW)
    assert np.allclose(errors, dense.reconstruction_error(NEW.toarray()), rtol=1e-7)
    rebuilt = sparse.inverse_transform(sparse.codes_[:5])
    assert np.allclose(rebuilt, dense.inverse_transform(dense.codes_[:5]), atol=1e-6)
    assert np.allclose(
        sparse.reconstruction_error(NEW), ((sparse.inverse_transform(sparse.transform(NEW)) - NEW) ** 2).sum(1)
    )
    rkhs.save(sparse, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    assert np.array_equal(again.transform(NEW), sparse.transform(NEW))
    assert np.array_equal(again.inverse_transform(sparse.codes_[:5]), rebuilt)
    assert (again.decode(sparse.codes_[:5], X[:20]).indices[:, 0] < 20).all()


@pytest.mark.slow
def test_copies_of_a_row_are_held_out_together() -> None:
    twice, w = sp.vstack([X[:30], X[:15]]).tocsr(), np.r_[np.full(15, 2.0), np.ones(15)]
    weighted, repeated = KernelAutoencoder(3).fit(X[:30], sample_weight=w), KernelAutoencoder(3).fit(twice)
    assert weighted.reg_ == repeated.reg_
    assert np.allclose(weighted.candidate_errors_, repeated.candidate_errors_, rtol=1e-3)


def test_weights_and_targets() -> None:
    w = np.arange(60.0) % 3
    for kernel in ("matern", "laplacian"):
        sparse = KernelPCA(3, kernel=kernel).fit(X, sample_weight=w)
        dense = KernelPCA(3, kernel=kernel).fit(X.toarray(), sample_weight=w)
        assert np.allclose(sparse.transform(NEW), dense.transform(NEW.toarray()), rtol=0, atol=1e-12)
    model = KernelAutoencoder(2, kernel="gaussian").fit(X, targets=Y)
    assert model.inverse_transform(model.codes_).shape == Y.shape
    with pytest.raises(InputError, match="targets must be a dense array"):
        KernelAutoencoder(2, kernel="gaussian").fit(X, targets=X)


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
def test_fit_robust_and_diagnose_read_sparse_rows() -> None:
    model = KernelAutoencoder(2)
    found, other = rkhs.fit_robust(model, X), rkhs.fit_robust(model, X.toarray())
    assert np.array_equal(found.inliers, other.inliers)
    assert rkhs.diagnose(found.model, X) is not None


def test_texts_in_a_pipeline_and_a_search() -> None:
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "round", "square", "old", "new", "large", "small", "odd"])
    texts = [" ".join(rng.choice(words, 6)) for _ in range(40)]
    codes = make_pipeline(TfidfVectorizer(), KernelPCA(3, kernel="cosine")).fit_transform(texts)
    assert codes.shape == (40, 3)
    search = GridSearchCV(KernelPCA(kernel="cosine"), {"n_components": [1, 3]}, cv=2)
    assert search.fit(TfidfVectorizer().fit_transform(texts)).best_params_ == {"n_components": 3}


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_no_row_is_written_out() -> None:
    n, d = 50, 150_000
    rng = np.random.default_rng(0)
    where = (np.repeat(np.arange(n), 20), rng.integers(0, d, 20 * n))
    wide = sp.csr_array((rng.random(20 * n), where), shape=(n, d))
    KernelPCA(2).fit(wide[:10])
    tracemalloc.start()
    KernelPCA(2).fit(wide).transform(wide[:20])
    KernelAutoencoder(2).fit(wide).transform(wide[:20])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8 / 10


def test_rows_of_float32_give_float32() -> None:
    assert KernelPCA(2).fit(X.astype(np.float32)).transform(NEW).dtype == np.float32


def test_a_fit_owns_its_rows() -> None:
    mine = X.copy()
    model = KernelPCA(2).fit(mine)
    before = model.transform(NEW)
    mine.data[:] = 9.0
    mine.indices[:] = 0
    assert np.array_equal(model.transform(NEW), before)


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (lambda: KernelPCA(2, columns="scaled").fit(X), InputError, "a sparse matrix, whose zeros a mean would fill"),
        (
            lambda: KernelPCA(2).fit(X).transform(X[:, :5]),
            ValueError,
            "X has 5 features, but KernelPCA is",
        ),
        (lambda: KernelPCA(2).fit(X[:0]), InputError, "X must have rows and columns"),
        (lambda: KernelPCA(2).fit(X * np.nan), InputError, "X must hold finite numbers"),
        (lambda: KernelPCA(2).fit(X * 1e200), InputError, "X must hold values of modulus under"),
        (lambda: KernelPCA(2).fit(X * 1e-170), InputError, "X must vary by more than"),
        (lambda: KernelPCA(2).fit(X.toarray()).transform(X), TypeError, "Sparse data was passed for X"),
        (lambda: KernelPCA(2, kernel="precomputed").fit(X[:, :60]), TypeError, "Sparse data was passed for X"),
        (lambda: KernelPCA(2, kernel="functional_gaussian").fit(X), InputError, "does not read sparse matrices"),
        (
            lambda: KernelPCA(2, kernel="linear", storage=FEATURES).fit(X),
            InputError,
            "RandomFeatures knows no features",
        ),
        (lambda: KernelAutoencoder(2, storage=Nystroem(9)).fit(X), InputError, "use output_kernel='same'"),
        (lambda: rkhs.FunctionalKernelRegressor().fit(X, Y), TypeError, "Sparse data was passed"),
        (lambda: KernelPCA(2).fit(X).preimages(np.zeros((1, 2))), InputError, "preimages makes vectors"),
    ],
)
def test_what_sparse_rows_do_not_have_is_said(act: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        act()


def test_one_column_that_holds_the_variance_is_named() -> None:
    wide = X.tolil()
    wide[:, [4]] = np.arange(60.0)[:, None] * 50.0
    with pytest.warns(ColumnWarning, match="column 4 holds 9"):
        KernelPCA(2).fit(wide.tocsr())


@pytest.mark.parametrize("model", [KernelAutoencoder(2), KernelAutoencoder(2, storage=Nystroem(30)), KernelPCA(2)])
def test_the_tag_says_whether_sparse_rows_are_read(model: Any) -> None:
    reads = model.__sklearn_tags__().input_tags.sparse
    assert reads == ("Nystroem" not in repr(model))
    if reads:
        model.fit(X)
    else:
        with pytest.raises(InputError, match="rebuilt with storage='dense'"):
            model.fit(X)


def test_landmarks_keep_no_more_than_their_rows(tmp_path: Path) -> None:
    few = KernelPCA(2, kernel=Tanimoto(), storage=Nystroem(10)).fit(X)
    assert len(few.map_.landmarks) == 10
    assert few.kernel_.row_width == 90
    many = RandomFeatures(40, kernel=Gaussian(0.1)).fit(X)
    assert many.transform(NEW).shape == (15, 40)


def test_a_deep_machine_of_random_features_keeps_sparse_rows(tmp_path: Path) -> None:
    model = DeepRKM((2, 1), kernel=Gaussian(0.5), storage=RandomFeatures(30), random_state=0).fit(X)
    assert np.isfinite(model.transform(NEW)).all()
    rkhs.save(model, tmp_path / "model.rkhs")
    assert np.array_equal(rkhs.load(tmp_path / "model.rkhs").transform(NEW), model.transform(NEW))


def test_weighted_sparse_rows_go_through_tiles_in_single_precision() -> None:
    w = np.arange(1.0, 61.0)
    found = KernelPCA(2, dtype="float32", storage="blocked").fit(X, sample_weight=w).transform(NEW)
    expected = KernelPCA(2).fit(X, sample_weight=w).transform(NEW)
    assert np.abs(np.abs(found) - np.abs(expected)).max() < 1e-4
