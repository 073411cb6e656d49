"""Sets of candidates that hold the item of a code with a guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from rkhs import KernelAutoencoder
from rkhs.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian

ROWS = load_digits().data[:400]


def test_a_set_holds_what_is_nearer_than_the_conformal_quantile_of_held_out_errors() -> None:
    model = KernelAutoencoder(3, reg=(1e-4, 1e-4)).fit(ROWS[:60])
    held, new = ROWS[60:79], ROWS[79:120]
    found = model.decode_set(model.transform(new), new, held, coverage=0.8)
    limit = np.sort(model.reconstruction_error(held))[15]  # the 16th of 19: ceil(0.8 (19 + 1))
    rebuilt = model.inverse_transform(model.transform(new))
    near = ((rebuilt[:, None] - new) ** 2).sum(2) <= limit
    np.testing.assert_array_equal(np.array(found.members), near)
    np.testing.assert_array_equal(found.sizes, near.sum(1))
    assert 0 < near.mean() < 0.5
    assert found.guarantee == "at least"
    assert not model.decode_set(model.transform(new), new, held[:18], coverage=0.95).informative.any()


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", ["dense", "landmarks"])
def test_the_item_is_inside_as_often_as_promised(storage: str) -> None:
    inside = []
    for seed in range(3):
        X = ROWS[np.random.default_rng(seed).permutation(400)]
        chosen = {"storage": Nystroem(30)} if storage == "landmarks" else {}
        model = KernelAutoencoder(3, kernel=Gaussian(0.001), output_kernel="same", reg=1e-4, **chosen).fit(X[:60])
        sets = model.decode_set(model.transform(X[160:]), X[160:], X[60:160])
        inside.append(sets.contains(np.arange(240)).mean())
    assert abs(np.mean(inside) - 0.9) < 0.04


def test_a_coverage_that_is_none_is_refused() -> None:
    model = KernelAutoencoder(2, reg=1e-3).fit(ROWS[:30])
    with pytest.raises(InputError, match="coverage must be"):
        model.decode_set(model.codes_, ROWS[:30], ROWS[30:60], coverage=1.5)
