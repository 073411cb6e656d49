"""The median of all pairs, found from half of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.kernels import ArcCosine, FromSklearn, FunctionalGaussian, Gaussian, GaussianOf, Linear, Normalized, Tanimoto
from rkhs.kernels.vectors.distances import median_squared_distance, pair_median, squared_distances, weighted_median


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 31])
@pytest.mark.parametrize("seed", range(3))
def test_pair_median_is_the_median_of_all_entries(n: int, seed: int) -> None:
    X = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 2)).round(seed))  # seed 0: many ties
    D = squared_distances(X)
    D = (D + D.mT) / 2
    assert pair_median(D) == np.median(D.numpy())


def test_weights_count_like_repeated_values() -> None:
    values = torch.tensor([3.0, 1.0, 2.0, 5.0], dtype=torch.float64)
    weights = torch.tensor([1.0, 2.0, 1.0, 2.0], dtype=torch.float64)
    repeated = np.repeat(values.numpy(), weights.numpy().astype(int))
    assert weighted_median(values, weights / weights.sum()) == np.median(repeated)


@pytest.mark.parametrize("n", [1024, 1025, 1500, 2051])
@pytest.mark.parametrize("groups", [1, 3])
def test_the_bracketed_median_is_that_of_all_pairs(n: int, groups: int) -> None:
    rng = np.random.default_rng(n)
    X = torch.from_numpy(rng.normal(size=(n, 3)) + 20.0 * rng.integers(groups, size=(n, 1)))
    assert median_squared_distance(X) == pytest.approx(float(np.median(squared_distances(X).numpy())), rel=1e-12)


def test_a_sample_that_misleads_costs_time_and_not_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rkhs.kernels.vectors.distances._MARGIN", 0.0)
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(1300, 2)))
    assert median_squared_distance(X) == pytest.approx(float(np.median(squared_distances(X).numpy())), rel=1e-12)


def test_most_points_on_top_of_each_other_have_a_median_of_zero() -> None:
    X = torch.zeros(1200, 2, dtype=torch.float64)
    X[:50] = 1.0
    assert median_squared_distance(X) == 0.0


def test_rounding_in_feature_space_is_no_bandwidth() -> None:
    near = 1e9 + np.random.default_rng(0).integers(-3, 4, (7, 3))
    for base in (Tanimoto(), ArcCosine(), Normalized(Linear(1.0))):
        for rows in (near, near.astype("f4")):
            K = GaussianOf(base)(rows)
            np.testing.assert_array_equal(K, 1.0)
            np.testing.assert_array_equal(GaussianOf(base).resolve(torch.from_numpy(rows))(rows[:2], rows), 1.0)
    spread = GaussianOf(Linear(1.0))(near[:, :1] - 1e9)
    assert len(np.unique(np.round(spread, 6))) > 2


def test_curves_that_repeat_are_alike_though_most_pairs_coincide() -> None:
    curves = np.array([[-1000.06373735, -999.68980605, -998.41488776], [-1000.52715809, -998.20537361, -1000.73818484]])
    which = np.array([0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0])
    for copies in (curves[which], curves[which] * 1e3 + 1e6):
        K = FunctionalGaussian()(copies)
        np.testing.assert_array_equal(K[which[:, None] == which], 1.0)
        assert 0.01 < K[0, 2] < 0.9
        np.testing.assert_allclose(K, Gaussian()(copies * np.sqrt([0.25, 0.5, 0.25])), rtol=1e-6)


def test_values_of_scikit_learn_that_overflow_are_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        FromSklearn("polynomial", {"degree": 3, "gamma": 1.0})(np.full((2, 1), 1e150))


def test_the_median_of_the_largest_numbers_is_finite() -> None:
    D = torch.full((4, 4), 1.5e308, dtype=torch.float64).fill_diagonal_(0.0)
    assert pair_median(D) == 1.5e308
