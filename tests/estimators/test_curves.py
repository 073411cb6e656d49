"""Curves to curves: L2 errors by quadrature, grids that the data carry, scikit-fda."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import GramTransformer, KernelAutoencoder, KernelPCA, OperatorKernelRegressorCV
from rkhs._core.errors import InputError
from rkhs.kernels import FunctionalGaussian, FunctionalLaplacian, Gaussian, Linear, quadrature_weights
from rkhs.kernels.vectors.functional import grid_weights, on_grid

TIMES = np.array([0.0, 0.1, 0.15, 0.4, 0.8, 2.0])


def curves(n: int = 30, seed: int = 0, times: np.ndarray = TIMES) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.sin(times + rng.uniform(0, 3, (n, 1))) + rng.normal(size=(n, 1)) + 0.05 * rng.normal(size=(n, len(times)))


def carried(X: np.ndarray, times: np.ndarray = TIMES) -> Any:
    """What scikit-fda's FDataGrid carries."""
    return SimpleNamespace(data_matrix=X[:, :, None], grid_points=(times,), __len__=lambda: len(X))


@pytest.mark.parametrize("cls", [KernelAutoencoder, KernelPCA])
def test_integral_columns_are_those_of_weighted_curves(cls: type, tmp_path: Path) -> None:
    X, new, w = curves(), curves(7, 1), quadrature_weights(TIMES, 6)
    model, twin = cls(2, columns="integral").fit(carried(X)), cls(2).fit(X * w**0.5)
    np.testing.assert_allclose(model.transform(carried(new)), twin.transform(new * w**0.5), rtol=1e-6, atol=1e-8)
    back = model.inverse_transform(model.transform(new))
    np.testing.assert_allclose(
        back * w**0.5, twin.inverse_transform(twin.transform(new * w**0.5)), rtol=1e-6, atol=1e-8
    )
    if cls is KernelAutoencoder:
        np.testing.assert_allclose(model.reconstruction_error(new), ((back - new) ** 2) @ w, rtol=1e-9)
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_allclose(rkhs.load(tmp_path / "m.rkhs").transform(new), model.transform(new), rtol=1e-9)
    with pytest.raises(InputError, match="on the grid of .*, 6 times from 0 to 2; got 6 times from 0 to 3"):
        model.transform(carried(new, TIMES * 1.5))


def test_integral_columns_need_times_and_a_kernel_that_does_not_integrate() -> None:
    with pytest.raises(InputError, match="columns='integral' is for curves that carry their times"):
        KernelAutoencoder(1, columns="integral").fit(curves())
    with pytest.raises(InputError, match="is for kernels that do not integrate"):
        KernelAutoencoder(1, kernel="functional_gaussian", columns="integral").fit(carried(curves()))
    with pytest.raises(InputError, match="columns='integral' is for rows of numbers in memory; got a Gram matrix"):
        KernelPCA(1, kernel="precomputed", columns="integral").fit(carried(np.eye(6)))


def test_searches_keep_the_times_of_curves() -> None:
    X, w = curves(), quadrature_weights(TIMES, 6)
    y = X[:, 0] + np.random.default_rng(2).normal(size=len(X))
    model = OperatorKernelRegressorCV(columns="integral").fit(carried(X), y)
    np.testing.assert_allclose(model.predict(X), OperatorKernelRegressorCV().fit(X * w**0.5, y).predict(X * w**0.5))


def test_the_error_is_that_of_the_integral() -> None:
    X, new = curves(), curves(7, 1)
    model = KernelAutoencoder(1, kernel=FunctionalGaussian(times=TIMES)).fit(X)
    w = quadrature_weights(TIMES, 6)
    np.testing.assert_allclose(model.output_.column_weights, w)
    back = model.inverse_transform(model.transform(new))
    np.testing.assert_allclose(model.reconstruction_error(new), ((back - new) ** 2) @ w, rtol=1e-9)
    ranking = model.decode(model.transform(new), X, n_best=30)
    distances = ((back[:, None] - X[None]) ** 2) @ w
    np.testing.assert_allclose(np.sort(distances, 1), ranking.distances, rtol=1e-9)


def test_it_is_the_autoencoder_of_weighted_columns() -> None:
    X = curves()
    root = np.sqrt(quadrature_weights(TIMES, 6))
    curve = KernelAutoencoder(2, kernel=FunctionalGaussian(0.3, times=TIMES)).fit(X)
    plain = KernelAutoencoder(2, kernel=Gaussian(0.3)).fit(X * root)
    assert curve.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(
        curve.inverse_transform(curve.codes_), plain.inverse_transform(plain.codes_) / root, atol=1e-4
    )


def test_more_times_than_curves_and_model_files(tmp_path: Path) -> None:
    times = np.linspace(0.0, 1.0, 80) ** 2
    X = curves(20, times=times)
    model = KernelAutoencoder(2, kernel=FunctionalLaplacian(times=times)).fit(X)
    rkhs.save(model, tmp_path / "curves.rkhs")
    back = rkhs.load(tmp_path / "curves.rkhs")
    np.testing.assert_array_equal(back.inverse_transform(model.codes_), model.inverse_transform(model.codes_))
    np.testing.assert_array_equal(back.reconstruction_error(X), model.reconstruction_error(X))


@pytest.mark.parametrize("kind", [KernelAutoencoder, KernelPCA, GramTransformer])
def test_the_grid_of_the_data_is_taken(kind: Any) -> None:
    X = curves()
    model = kind(kernel="functional_gaussian").fit(carried(X))
    np.testing.assert_array_equal(model.kernel_.times, TIMES)
    expected = kind(kernel=FunctionalGaussian(times=TIMES)).fit(X)
    np.testing.assert_allclose(model.transform(carried(X[:4])), expected.transform(X[:4]), rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match=r"on the grid of .*, 6 times from 0 to 2; got 6 times from 0 to 4"):
        model.transform(carried(X, 2.0 * TIMES))


def test_grids_inside_composite_kernels() -> None:
    X = carried(curves())
    kernel = on_grid(FunctionalGaussian() + 0.5 * FunctionalLaplacian() * Linear(), X)
    np.testing.assert_array_equal(kernel.terms[0].times, TIMES)
    np.testing.assert_allclose(grid_weights(kernel, 6), quadrature_weights(TIMES, 6))
    assert grid_weights(Gaussian(), 6) is None
    own = FunctionalGaussian(times=TIMES + 1.0)
    assert on_grid(own, X) is own
    with pytest.raises(InputError, match="Resample the curves, or pass times="):
        FunctionalGaussian()(X)
    two = SimpleNamespace(data_matrix=np.zeros((3, 4, 5, 1)), grid_points=(np.arange(4.0), np.arange(5.0)))
    with pytest.raises(InputError, match="real functions of one variable"):
        KernelPCA(2).fit(two)


def test_scikit_fda() -> None:
    fda = pytest.importorskip("skfda", reason="needs the extra 'fda'")
    X = curves()
    model = KernelAutoencoder(2, kernel="functional_laplacian").fit(fda.FDataGrid(X, TIMES))
    np.testing.assert_array_equal(model.kernel_.times, TIMES)
    assert model.transform(fda.FDataGrid(X[:3], TIMES)).shape == (3, 2)
