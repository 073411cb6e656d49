"""Several views as one Gram matrix: features side by side."""

from __future__ import annotations

import numpy as np
import pytest

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.grams import Views


def two(n: int = 20) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 3)), 100.0 * rng.normal(size=(n, 2))]


def test_the_sum_is_features_side_by_side() -> None:
    parts = two()
    views = Views.of([V @ V.T for V in parts], weights=[3.0, 1.0])
    scaled = [V / np.sqrt((V**2).sum(1).mean()) for V in parts]
    beside = np.hstack([np.sqrt(0.75) * scaled[0], np.sqrt(0.25) * scaled[1]])
    np.testing.assert_allclose(views.gram, beside @ beside.T, rtol=1e-12, atol=1e-12)
    assert views.gram.diagonal().mean() == pytest.approx(1.0)
    np.testing.assert_allclose(views.rows([V[:4] @ V.T for V in parts]), beside[:4] @ beside.T, atol=1e-12)
    np.testing.assert_allclose(views.rows([(V**2).sum(1) for V in parts]), (beside**2).sum(1), atol=1e-12)


def test_views_are_inputs_and_targets() -> None:
    parts = two()
    views, other = Views.of([V @ V.T for V in parts]), Views.of([parts[0] @ parts[0].T])
    options = {"kernel": "precomputed", "reg": 1e-2}
    model = KernelAutoencoder(2, **options).fit(views.gram)
    beside = np.hstack([V / np.sqrt(2.0 * (V**2).sum(1).mean()) for V in parts])
    twin = KernelAutoencoder(2, kernel="linear", output_kernel="same", reg=1e-2).fit(beside)
    assert model.objective_ == pytest.approx(twin.objective_, rel=1e-6)
    across = KernelAutoencoder(2, **options).fit(views.gram, targets=other.gram)
    assert across.objective_ < model.objective_


@pytest.mark.parametrize(
    ("grams", "weights", "word"),
    [
        ([], None, "at least one"),
        ([np.eye(3), np.eye(4)], None, "same items"),
        ([np.eye(3)], [1.0, 2.0], "one a view"),
        ([np.eye(3), np.zeros((3, 3))], None, r"grams\[1\]"),
        ([np.eye(3)], [-1.0], "weights"),
    ],
)
def test_bad_views(grams: list[np.ndarray], weights: list[float] | None, word: str) -> None:
    with pytest.raises(InputError, match=word):
        Views.of(grams, weights)


def test_bad_rows() -> None:
    with pytest.raises(InputError, match="one a view"):
        Views.of([np.eye(3), np.eye(3)]).rows([np.eye(3)])
