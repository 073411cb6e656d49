"""``partial_fit`` adds rows to what it began; where a fit left nothing to add to, it says so in our words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rkhs import KernelAutoencoder, KernelMap, KernelPCA
from rkhs.errors import InputError
from rkhs.features import Nystroem, RandomFeatures
from tests.contracts.estimator_examples import estimators

X = np.random.default_rng(0).normal(size=(60, 3))
PARTS = [
    KernelPCA(2, storage=Nystroem(20)),
    KernelPCA(2, storage=RandomFeatures(20)),
    KernelAutoencoder(2, reg=1e-2, max_iter=5),
]


def test_every_estimator_with_parts_is_here() -> None:
    found = {kind for kind in estimators() if hasattr(kind, "partial_fit")}
    assert found == {KernelPCA, KernelAutoencoder, KernelMap}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", PARTS, ids=repr)
def test_rows_after_a_fit_are_refused_and_the_model_stays(model: Any) -> None:
    fitted = clone(model).fit(X[:40])
    before = fitted.transform(X)
    with pytest.raises(InputError, match=r"fitted by fit, whose rows it would forget\. Take an unfitted copy"):
        fitted.partial_fit(X[40:])
    np.testing.assert_array_equal(fitted.transform(X), before)
    again = clone(fitted).partial_fit(X[:40]).partial_fit(X[40:])
    assert again.transform(X).shape == (60, 2)
    again.fit(X)
    with pytest.raises(InputError, match="fitted by fit"):
        again.partial_fit(X)


def test_a_map_takes_more_items_after_a_fit() -> None:
    assert len(KernelMap().fit(X[:40]).partial_fit(X[40:]).codes_) == 60


def test_few_first_rows_name_the_landmarks() -> None:
    with pytest.raises(InputError, match=r"at least as many as the landmarks .* 20; got 5\. Give more rows first"):
        KernelPCA(2, storage=Nystroem(20)).partial_fit(X[:5])
    assert KernelPCA(2, storage=RandomFeatures(20)).partial_fit(X[:1]).partial_fit(X[1:]).model_.n == 60


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (KernelPCA(), r"needs storage=Nystroem\(m\) or RandomFeatures\(m\) of rkhs.features, .* got storage='dense'"),
        (KernelPCA(storage="blocked"), "got storage='blocked'"),
        (KernelPCA(kernel="precomputed", storage=Nystroem(5)), "a Gram matrix grows with its rows"),
        (KernelAutoencoder(kernel="spectrum"), "needs a kernel that reads rows of numbers; got 'spectrum'"),
        (KernelMap(kernel="precomputed"), "needs the items themselves"),
    ],
    ids=repr,
)
def test_what_takes_no_more_rows_says_what_it_lacks(model: Any, match: str) -> None:
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=match):
        model.partial_fit(X)
