"""The median of all pairs, found from half of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs.kernels.distances import pair_median, squared_distances, weighted_median


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
