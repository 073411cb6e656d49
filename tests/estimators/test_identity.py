"""What belongs to a model beside its numbers: the grid of curves, names of columns; and data that are no numbers."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    GramTransformer,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
    fit_robust,
)
from rkhs._core.errors import InputError
from rkhs.features import Nystroem

TIMES = np.array([0.0, 0.1, 0.15, 0.4, 0.8, 1.0])
OTHER = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
RNG = np.random.default_rng(0)
X = np.sin(3.0 * TIMES + RNG.uniform(0, 3, (24, 1))) + 0.1 * RNG.normal(size=(24, 6))
Y = X[:, :2]

MODELS: dict[str, Any] = {
    "dense": KernelAutoencoder(1, max_iter=5),
    "landmarks": KernelAutoencoder(1, storage=Nystroem(8), max_iter=5, random_state=0),
    "pca": KernelPCA(1),
    "deep": DeepRKM((1, 1), max_iter=5),
    "contrastive": KernelContrastive(1),
    "gram": GramTransformer(),
    "vectors": OperatorKernelRegressor(),
    "vectors_cv": OperatorKernelRegressorCV(cv=2),
    "curves": FunctionalKernelRegressor(reg=1e-2),
    "outputs": InputOutputKernelRegressor(),
}
QUIET = pytest.mark.filterwarnings("ignore")


def carried(values: np.ndarray, times: np.ndarray = TIMES) -> Any:
    """What scikit-fda's FDataGrid carries."""
    return SimpleNamespace(data_matrix=values[:, :, None], grid_points=(times,))


def basis() -> Any:
    """What scikit-fda's FDataBasis carries."""
    return SimpleNamespace(basis=None, coefficients=np.ones((24, 3)), to_grid=None)


def fitted(name: str, items: Any, y: Any = Y) -> Any:
    return copy.deepcopy(MODELS[name]).fit(items, y)


@pytest.mark.sample(5)
@QUIET
@pytest.mark.parametrize("name", MODELS)
def test_the_grid_of_curves_belongs_to_the_model(name: str, tmp_path: Path) -> None:
    model = fitted(name, carried(X))
    rkhs.save(model, tmp_path / "m.rkhs")
    for one in (model, rkhs.load(tmp_path / "m.rkhs")):
        for method in ("transform", "predict", "reconstruction_error"):
            if hasattr(one, method):
                result = getattr(one, method)(carried(X))
                np.testing.assert_array_equal(result, getattr(one, method)(X))
                with pytest.raises(InputError, match=r"X must hold curves on the grid of .* such as 0.2 in place"):
                    getattr(one, method)(carried(X, OTHER))
        if hasattr(one, "decode") and name != "deep":
            with pytest.raises(InputError, match="must hold curves on the grid of"):
                one.decode(one.codes_[:2], carried(X, OTHER))
    assert fitted(name, X).reader_.grid is None


@QUIET
def test_the_grid_of_targets_belongs_to_the_model_too() -> None:
    for name in ("vectors", "vectors_cv", "curves", "outputs"):
        model = fitted(name, X, carried(X))
        assert model.score(X, carried(X)) == model.score(X, X)
        with pytest.raises(InputError, match="must hold curves on the grid of"):
            model.score(X, carried(X, OTHER))
    autoencoder = KernelAutoencoder(1, max_iter=5).fit(carried(X), targets=carried(X, OTHER))
    autoencoder.reconstruction_error(carried(X), targets=carried(X, OTHER))
    with pytest.raises(InputError, match="targets must hold curves on the grid of"):
        autoencoder.reconstruction_error(carried(X), targets=carried(X))


@QUIET
def test_times_that_are_given_and_parts_of_rows() -> None:
    model = FunctionalKernelRegressor(input_times=TIMES, reg=1e-2).fit(X, Y)
    np.testing.assert_array_equal(model.predict(carried(X)), model.predict(X))
    shifted = FunctionalKernelRegressor(input_times=3.0 * TIMES, reg=1e-2).fit(carried(X), Y)
    np.testing.assert_array_equal(shifted.predict(carried(X)), shifted.predict(X))
    parts: list[Any] = [KernelAutoencoder(1, max_iter=5), KernelPCA(1, storage=Nystroem(8))]
    for other in (model, shifted, *[part.partial_fit(carried(X)) for part in parts]):
        with pytest.raises(InputError, match="must hold curves on the grid of"):
            getattr(other, "predict", getattr(other, "partial_fit", None))(carried(X, OTHER))
    with pytest.raises(InputError, match="must hold curves on the grid of"):
        fit_robust(KernelAutoencoder(1, max_iter=5), carried(X)).model.transform(carried(X, OTHER))
    with pytest.raises(InputError, match="on the grid of FunctionalLaplacian, 6 times from 0 to 1"):
        FunctionalKernelRegressor(reg=1e-2).fit(X, Y).predict(carried(X))


@pytest.mark.parametrize("name", MODELS)
def test_coefficients_of_functions_and_missing_cells_are_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=r"X must hold values of curves .* Pass X.to_grid\(times\)"):
        fitted(name, basis())
    cells = X.astype(object)
    cells[3, 1] = pd.NA
    for items in (cells, cells.tolist(), pd.DataFrame(cells), pd.DataFrame(cells).convert_dtypes()):
        with pytest.raises(InputError, match="(pd.NA|NaN), which stands for a gap; "):
            fitted(name, items)
        if name in ("vectors", "vectors_cv", "curves", "outputs") and isinstance(items, list):
            with pytest.raises(InputError, match="y must hold real numbers; got pd.NA"):
                fitted(name, X, items)
    if name in ("vectors", "vectors_cv", "curves", "outputs"):
        with pytest.raises(InputError, match=r"y must hold values of curves .* Pass y.to_grid\(times\)"):
            fitted(name, X, basis())


@QUIET
def test_frames_of_kernel_values_keep_their_columns() -> None:
    K = pd.DataFrame(X @ X.T + np.eye(24), columns=[f"i{i}" for i in range(24)])
    moved = K.iloc[:, ::-1]
    others = K.rename(columns={"i3": "other"})
    pca = KernelPCA(1, kernel="precomputed").fit(K)
    several = KernelPCA(1, kernel="precomputed").fit([K, K])
    np.testing.assert_allclose(several.transform([K, K]), several.codes_, atol=1e-8)
    outputs = InputOutputKernelRegressor(output_kernel="precomputed").fit(X, K)
    outputs.predict(X, K)
    for new in (moved, others):
        for call in (
            lambda new=new: pca.transform(new),
            lambda new=new: pca.decode(pca.codes_[:2], new),
            lambda new=new: pca.decode(pca.codes_[:2], new, by="codes"),
            lambda new=new: several.transform([new, new]),
            lambda new=new: several.transform([K, new]),
            lambda new=new: outputs.predict(X, new),
            lambda new=new: OperatorKernelRegressor("precomputed").fit(K, Y).predict(new),
        ):
            with pytest.raises(ValueError, match="feature names|same columns|training outputs in their order"):
                call()
