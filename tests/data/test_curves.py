"""Curves with gaps and with times of their own on one grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import FunctionalKernelRegressor, KernelAutoencoder
from rkhs.data import curves_on_grid
from rkhs.errors import InputError

RNG = np.random.default_rng(0)
T = np.linspace(0.0, 2.0, 21)
FULL = np.sin(T + RNG.uniform(0.0, 3.0, (20, 1)))


def gapped() -> np.ndarray:
    X = FULL.copy()
    X[:, 1:-1][RNG.random((20, 19)) < 0.3] = np.nan
    return X


def test_known_values_stay_and_gaps_are_on_the_line_between_their_neighbours() -> None:
    X = gapped()
    found = curves_on_grid(X, T)
    values = found.data_matrix[:, :, 0]
    np.testing.assert_array_equal(values[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_array_equal(found.grid_points[0], T)
    row, column = np.argwhere(np.isnan(X))[0]
    a = np.flatnonzero(~np.isnan(X[row, :column]))[-1]
    b = column + np.flatnonzero(~np.isnan(X[row, column:]))[0]
    share = (T[column] - T[a]) / (T[b] - T[a])
    assert values[row, column] == pytest.approx((1.0 - share) * X[row, a] + share * X[row, b])


def test_pairs_arrays_and_scikit_fda_agree() -> None:
    X = gapped()
    pairs = [(T[~np.isnan(x)], x[~np.isnan(x)]) for x in X]
    same = curves_on_grid(X, T).data_matrix
    np.testing.assert_array_equal(curves_on_grid(pairs, at=T).data_matrix, same)
    assert len(curves_on_grid(pairs).grid_points[0]) == 100
    skfda = pytest.importorskip("skfda", reason="scikit-fda is not installed")
    starts = np.cumsum([0, *(len(t) for t, _ in pairs[:-1])])
    points, values = (np.concatenate([pair[i] for pair in pairs])[:, None] for i in (0, 1))
    irregular = skfda.FDataIrregular(starts, points, values)
    np.testing.assert_array_equal(curves_on_grid(irregular, at=T).data_matrix, same)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        KernelAutoencoder(1).fit(irregular)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        FunctionalKernelRegressor().fit(irregular, FULL)
    with pytest.raises(InputError, match=r"rkhs\.data\.curves_on_grid"):
        KernelAutoencoder(1, kernel="functional_gaussian").fit(pairs)


def test_estimators_take_them_with_their_grid() -> None:
    found = curves_on_grid(gapped(), T)
    model = KernelAutoencoder(2, columns="integral").fit(found)
    assert model.reconstruction_error(FULL).mean() < 0.1 * (FULL - FULL.mean(0)).var(0).sum() * 0.1
    FunctionalKernelRegressor(reg=1e-3).fit(found, found)
    kernel = KernelAutoencoder(1, kernel="functional_gaussian").fit(found).kernel_
    np.testing.assert_array_equal(kernel.times, T)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([([0.0, 1.0], [1.0, 2.0]), ([0.5, 1.0], [1.0, 2.0])], {"at": [0.0, 1.0]}, "curve 1 is known from 0.5 to 1"),
        ([([0.0, 1.0], [1.0, 2.0]), ([2.0, 3.0], [1.0, 2.0])], {}, "share an interval"),
        ([([1.0, 0.0], [1.0, 2.0])], {}, "increasing times; curve 0"),
        ([([0.0, 1.0], [1.0, 2.0]), 3.0], {}, "item 1 is not one"),
        ([([0.0, 1.0], [1.0])], {}, "as many times as values"),
        ([[np.nan, 1.0, np.nan]], {}, "has 1 known values"),
        ([[np.nan, 1.0, 2.0]], {}, "curve 0 is known from 0.5 to 1"),
        ([[0.0, 1.0, 2.0]], {"times": [0.0, 1.0]}, "times must be 3 numbers"),
        ([([0.0, 1.0], [1.0, 2.0])], {"at": [1.0, 0.0]}, "at must hold two or more increasing"),
    ],
)
def test_what_is_refused(given: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        curves_on_grid(given, **options)
