"""Loadings: known columns are told from noise, and both measures are what their formulas say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.errors import InputError
from rkhs.evaluation import column_loadings, loadings

RNG = np.random.default_rng(0)
T = RNG.uniform(-1.0, 1.0, 60)
X = np.column_stack([T, 2.0 * T**2, np.sin(3.0 * T), 0.1 * RNG.normal(size=(60, 4)), np.ones(60)])


@pytest.mark.usefixtures("long_fits")
def test_columns_of_one_latent_are_recovered_and_noise_is_not() -> None:
    found = loadings(KernelAutoencoder(1, reg=1e-3).fit(X), X)
    assert found.recovered[:3].min() > 0.6 > 0.3 > found.recovered[3:].max()
    assert found.recovered[-1] == 0.0
    assert found.slopes.shape == (1, 8)
    assert not found.slopes[:, -1].any()


def test_both_measures_are_those_of_a_linear_model() -> None:
    model = KernelPCA(2, kernel="linear").fit(X)
    found = loadings(model, X)
    direction = np.linalg.lstsq(X - X.mean(0), model.codes_, rcond=None)[0]
    expected = direction.T**2 * X.var(0) / model.codes_.var(0)[:, None]
    np.testing.assert_allclose(found.slopes, expected, rtol=1e-5, atol=1e-9)
    scaled = loadings(KernelPCA(2, kernel="linear", columns="scaled").fit(X), X)
    np.testing.assert_allclose(loadings(model, X, at_most=5).slopes, expected, rtol=1e-5, atol=1e-9)
    assert not np.allclose(scaled.slopes, expected, rtol=0.1)


def test_a_frame_keeps_its_names_and_its_numbers() -> None:
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    model = KernelPCA(2).fit(frame)
    for one, same in zip(loadings(model, frame), loadings(KernelPCA(2).fit(X), X), strict=True):
        np.testing.assert_allclose(one, same)
    with pytest.raises(ValueError, match="feature names"):
        loadings(model, frame[frame.columns[::-1]])


def test_a_component_that_does_not_vary_depends_on_nothing() -> None:
    found = loadings(FunctionTransformer(lambda rows: np.column_stack([rows[:, 0], np.full(len(rows), 1e10)])), X)
    np.testing.assert_allclose(found.slopes[0, 0], 1.0, rtol=1e-6)
    assert not found.slopes[1].any()
    assert np.isfinite(found.recovered).all()


def test_what_has_no_loadings_is_refused() -> None:
    model = KernelPCA(2).fit(X)
    for rows in (X[:2], X[0], np.full((5, 8), np.nan)):
        with pytest.raises(InputError, match="X must be finite rows of numbers, at least 3"):
            loadings(model, rows)
    with pytest.raises(InputError, match="codes that differ between the rows of X"):
        loadings(FunctionTransformer(lambda rows: np.ones((len(rows), 2))), X)
    with pytest.raises(InputError, match="transform"):
        loadings(object(), X)  # type: ignore[arg-type]


def test_the_ridge_of_many_rows_is_that_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(301, 3))
    model = KernelPCA(2).fit(X)
    whole = loadings(model, X[::3]).recovered
    monkeypatch.setattr(column_loadings, "_MOST_ROWS", 101)
    np.testing.assert_allclose(loadings(model, X).recovered, whole, atol=0.05)
    sizes = []
    fit = column_loadings.OperatorKernelRegressor.fit
    monkeypatch.setattr(
        column_loadings.OperatorKernelRegressor, "fit", lambda self, Z, Y: sizes.append(len(Z)) or fit(self, Z, Y)
    )
    loadings(model, X)
    assert sizes == [101]
