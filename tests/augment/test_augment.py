"""Augmentations: shapes, randomness as a function of (seed, step), and what each one keeps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from rkhs import KernelContrastive
from rkhs._core.errors import InputError
from rkhs.augment import (
    Augmentation,
    GaussianNoise,
    RandomShift,
    as_augmentation,
    augmented,
)
from rkhs.kernels import MeanEmbedding

EVERY = [
    GaussianNoise(0.3),
    RandomShift(2),
]


@pytest.mark.parametrize("augment", EVERY, ids=lambda a: type(a).__name__)
def test_a_view_is_a_function_of_seed_and_step(augment: Augmentation) -> None:
    X = np.random.default_rng(0).random((12, 64))
    before = X.copy()
    view = augmented(augment, X, 7, 3)
    assert view.shape == X.shape
    assert view.dtype == X.dtype
    assert np.array_equal(X, before)
    assert (view == augmented(clone(augment), X, 7, 3)).all()
    assert (view != augmented(augment, X, 7, 4)).any()
    assert (view != augmented(augment, X, 8, 3)).any()
    assert augmented(augment, X.astype(np.float32), 7, 3).dtype == np.float32


@pytest.mark.parametrize("name", ["gaussian_noise", "jitter", "random_shift"])
def test_every_name(name: str) -> None:
    assert augmented(name, np.random.default_rng(0).random((5, 36)), 0, 0).shape == (5, 36)


def test_noise_is_relative_to_the_data() -> None:
    X = 100.0 * np.random.default_rng(0).normal(size=(2000, 3))
    assert np.std(GaussianNoise(0.1)(X, np.random.default_rng(1)) - X) == pytest.approx(10.0, rel=0.05)
    assert (GaussianNoise(0.0)(X, np.random.default_rng(1)) == X).all()


def test_shift_moves_pixels_and_fills_with_zeros() -> None:
    image = np.zeros((1, 5, 5, 1))
    image[0, 2, 2] = 1.0
    seen = set()
    for step in range(60):
        view = augmented(RandomShift(1), image.reshape(1, -1), 0, step).reshape(5, 5)
        assert view.sum() == 1.0
        seen.add(tuple(int(i) for i in np.argwhere(view)[0]))
    assert seen == {(i, j) for i in (1, 2, 3) for j in (1, 2, 3)}


def test_a_function_that_writes_where_it_should_not_changes_no_data() -> None:
    X, items = np.ones((4, 2)), [np.ones(2), np.ones(2)]
    assert (augmented(lambda rows, rng: np.multiply(rows, 0.0, out=rows), X, 0, 0) == 0.0).all()
    augmented(lambda arrays, rng: [np.multiply(one, 0.0, out=one) for one in arrays], items, 0, 0)
    assert (X == 1.0).all()
    assert all((one == 1.0).all() for one in items)


def test_lists_and_functions() -> None:
    assert augmented(lambda items, rng: [s.upper() for s in items], ["a", "b"], 0, 0) == ["A", "B"]
    with pytest.raises(InputError, match="list of 2 items"):
        augmented(lambda items, rng: items[:1], ["a", "b"], 0, 0)
    with pytest.raises(InputError, match=r"finite values of shape \(2, 3\)"):
        augmented(lambda X, rng: X[:, :2], np.ones((2, 3)), 0, 0)


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        (GaussianNoise(-1.0), "GaussianNoise.std must be >= 0; got -1.0"),
        (GaussianNoise(0.1, relative=None), "GaussianNoise.relative must be True or False"),
        (RandomShift(10**9, shape=(3, 4)), "RandomShift.pixels must be an integer from 0 to 4 .the side of an image."),
        (RandomShift(1, shape=(3, 3)), r"RandomShift.shape must be .* with product 12"),
        (RandomShift(), "RandomShift.shape must be given: 6"),
        ("blur", "augment must be a function"),
    ],
)
def test_errors_name_the_argument(augment: object, message: str) -> None:
    X = np.ones((2, 6)) if message.endswith(": 6") else np.ones((2, 12))
    with pytest.raises(InputError, match=message):
        as_augmentation(augment)(X, np.random.default_rng(0))


def test_noise_on_items_that_are_no_numbers_is_refused() -> None:
    bags = [np.full((n, 2), float(n)) for n in (1, 2, 3, 4)]  # of different lengths: no array
    with pytest.raises(InputError, match="GaussianNoise needs numbers, not sparse; got items of dtype object"):
        KernelContrastive(1, kernel=MeanEmbedding(), augment="gaussian_noise", pairs="augment").fit(bags)
    with pytest.raises(InputError, match="GaussianNoise needs numbers, not sparse; got items of dtype <U3"):
        GaussianNoise()(np.array(["CCO", "CC"]), np.random.default_rng(0))
