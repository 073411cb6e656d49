"""Fitted attributes are read from the model that an estimator holds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.features import Nystroem

X = np.random.default_rng(0).normal(size=(20, 3))


def test_they_are_there_after_fit_only() -> None:
    model = KernelPCA(2)
    assert not hasattr(model, "codes_")
    model.fit(X)
    assert np.shares_memory(model.codes_, model.model_.codes)
    assert not hasattr(clone(model), "codes_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).codes_, model.codes_)


def test_a_pickle_lacks_what_follows_from_the_training_items() -> None:
    model = KernelAutoencoder(2, reg=1e-2).fit(X)
    copied = pickle.loads(pickle.dumps(model))
    assert model.model_.penalty.cholesky is not None
    assert copied.model_.penalty.cholesky is None
    new = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(copied.transform(new), model.transform(new), atol=1e-9)


@pytest.mark.parametrize("cls", [KernelContrastive, KernelPCA])
def test_a_model_that_was_not_fitted_says_so(cls: Any) -> None:
    with pytest.raises(NotFittedError):
        cls().transform(X)


def test_they_are_never_assigned() -> None:
    model = KernelPCA(2).fit(X)
    with pytest.raises(AttributeError, match="'codes_' belongs to model_"):
        model.codes_ = X
    with pytest.raises(AttributeError):
        model.model_.codes = X  # type: ignore[misc]


def test_parts_that_a_model_lacks_are_none_or_not_there() -> None:
    model = KernelPCA(2, preimage="nearest").fit(X)
    assert model.decoder_coef_ is None
    with pytest.raises(AttributeError, match="this KernelPCA has no 'reg_'"):
        _ = model.reg_


@pytest.mark.parametrize("storage", ["dense", "blocked", Nystroem(20)])
def test_a_fit_leaves_an_earlier_model_as_it_was(storage: object) -> None:
    model = KernelPCA(2, storage=storage).fit(X)
    earlier = model.model_
    codes = earlier.codes.copy()
    model.fit(X[:12])
    np.testing.assert_array_equal(earlier.codes, codes)
    assert len(model.codes_) == 12
