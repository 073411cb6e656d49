"""Kernel values as a step of a Pipeline, and every kernel in a support vector machine."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA as TheirPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, OneClassSVM

import rkhs
from rkhs import GramTransformer, KernelPCA
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs.kernels import FromFunction, Gaussian, Matern


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3))
    return X, rng.normal(size=(20, 3)), (X[:, 0] > 0).astype(int)


def test_every_precomputed_estimator_behaves_as_on_vectors() -> None:
    X, new, y = data()
    pipe = make_pipeline(GramTransformer(Gaussian(0.3)), SVC(kernel="precomputed")).fit(X, y)
    np.testing.assert_array_equal(pipe.predict(new), SVC(gamma=0.3).fit(X, y).predict(new))
    ridge = make_pipeline(GramTransformer(Gaussian(0.3)), KernelRidge(kernel="precomputed")).fit(X, X[:, 1])
    twin = KernelRidge(kernel="rbf", gamma=0.3).fit(X, X[:, 1])
    np.testing.assert_allclose(ridge.predict(new), twin.predict(new), atol=1e-9)
    pca = make_pipeline(GramTransformer(Gaussian(0.3)), TheirPCA(2, kernel="precomputed")).fit(X)
    expected = TheirPCA(2, kernel="rbf", gamma=0.3).fit(X).transform(new)
    np.testing.assert_allclose(np.abs(pca.transform(new)), np.abs(expected), atol=1e-9)
    ours = make_pipeline(GramTransformer(Gaussian(0.3)), KernelPCA(2, kernel="precomputed")).fit(X)
    np.testing.assert_allclose(ours.transform(new), KernelPCA(2, kernel=Gaussian(0.3)).fit(X).transform(new), atol=1e-9)
    make_pipeline(GramTransformer(), OneClassSVM(kernel="precomputed")).fit(X).predict(new)
    spectral = SpectralClustering(2, affinity="precomputed", random_state=0)
    assert set(make_pipeline(GramTransformer(), spectral).fit_predict(X)) == {0, 1}


def test_grid_search_reaches_the_bandwidth() -> None:
    X, _, y = data()
    pipe = make_pipeline(GramTransformer(Matern(1.5, 1.0)), SVC(kernel="precomputed"))
    search = GridSearchCV(pipe, {"gramtransformer__kernel__gamma": [1e-3, 1.0], "svc__C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


def test_objects_and_model_files(tmp_path: object) -> None:
    words = ["kernel", "kennel", "matrix", "tricks"]
    with pytest.raises(InputError, match="must be a list of objects"):
        GramTransformer(lambda x, y: float(len(set(x) & set(y)))).fit("kernel")
    X, new, _ = data()
    model = GramTransformer("laplacian").fit(X)
    rkhs.save(model, f"{tmp_path}/gram.rkhs")
    np.testing.assert_array_equal(rkhs.load(f"{tmp_path}/gram.rkhs").transform(new), model.transform(new))
    gram = GramTransformer(FromFunction(lambda x, y: float(len(set(x) & set(y)))))
    np.testing.assert_array_equal(gram.fit_transform(words), gram.transform(words))


def test_indefinite_kernels_are_clipped_with_a_warning() -> None:
    X, _, _ = data()
    sigmoid = FromFunction(lambda A, B: np.tanh(3.0 * A @ B.T + 1.0), vectorized=True, inputs="vectors")
    with pytest.warns(NotPositiveSemidefiniteWarning, match="negative eigenvalues were set to zero"):
        K = GramTransformer(sigmoid).fit_transform(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-9


def test_dask_frames_and_arrays() -> None:
    dask = pytest.importorskip("dask.array", reason="needs the extra 'cluster'")
    X, new, _ = data()
    model = KernelPCA(2).fit(dask.from_array(X, chunks=(20, 3)))
    expected = KernelPCA(2).fit(X)
    np.testing.assert_array_equal(model.transform(dask.from_array(new, chunks=7)), expected.transform(new))
    np.testing.assert_array_equal(Gaussian(0.3)(dask.from_array(X, chunks=10)), Gaussian(0.3)(X))
    pandas = pytest.importorskip("pandas", reason="needs the extra 'tables'")
    frames = pytest.importorskip("dask.dataframe", reason="needs Dask's frames")
    frame = frames.from_pandas(pandas.DataFrame(X, columns=list("abc")), npartitions=3)
    model = KernelPCA(2).fit(frame)
    assert list(model.feature_names_in_) == list("abc")
    np.testing.assert_array_equal(model.codes_, expected.codes_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_kernels_read_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    X, _, _ = data()
    frame = frames.DataFrame(dict(zip("abc", X.T, strict=True)))
    np.testing.assert_allclose(Gaussian(0.3)(frame), Gaussian(0.3)(X), rtol=1e-14)
