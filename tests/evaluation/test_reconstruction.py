"""Shares of variance are one minus error over spread around the training mean, in every space."""

from __future__ import annotations

import numpy as np
import pytest

import rkhs
from rkhs._core.errors import InputError
from rkhs.evaluation import reconstruction
from rkhs.kernels import Gaussian, Linear


def test_vectors(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(9, 4)) + 0.3
    for model in (rkhs.KernelAutoencoder(2).fit(X), rkhs.KernelPCA(2).fit(X)):
        found = reconstruction(model, Y)
        assert found.space == "input"
        spread = ((Y - X.mean(axis=0)) ** 2).sum(axis=1)
        np.testing.assert_allclose(found.spread, spread)
        assert found.share == pytest.approx(
            1 - ((Y - model.inverse_transform(model.transform(Y))) ** 2).sum(1).mean() / spread.mean()
        )


def test_features_of_the_linear_kernel_are_vectors(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(9, 4)) + 0.3
    spread = ((Y - X.mean(axis=0)) ** 2).sum(axis=1)
    model = rkhs.KernelAutoencoder(2, kernel=Linear(), output_kernel="same").fit(X)
    found = reconstruction(model, Y)
    assert found.space == "feature"
    np.testing.assert_allclose(found.spread, spread)
    pca = reconstruction(rkhs.KernelPCA(4, kernel="linear").fit(X), Y, space="feature")
    np.testing.assert_allclose(pca.spread, spread)
    assert pca.share == pytest.approx(1.0)


@pytest.mark.slow
def test_gram_matrices_agree_with_their_kernel(rng: np.random.Generator) -> None:
    X, Y, k = rng.normal(size=(20, 3)), rng.normal(size=(7, 3)), Gaussian(0.3)
    for cls, options in ((rkhs.KernelAutoencoder, {"output_kernel": "same"}), (rkhs.KernelPCA, {})):
        direct = reconstruction(cls(2, kernel=k, **options).fit(X), Y, space="feature")
        gram = reconstruction(cls(2, kernel="precomputed").fit(k(X)), k(Y, X))
        np.testing.assert_allclose(gram.spread, direct.spread, rtol=1e-8)
        np.testing.assert_allclose(gram.errors, direct.errors, rtol=1e-4, atol=1e-6)


def test_what_cannot_be_measured_is_refused(rng: np.random.Generator) -> None:
    X = rng.normal(size=(12, 3))
    with pytest.raises(InputError, match="rebuilds in the input space"):
        reconstruction(rkhs.KernelAutoencoder(2).fit(X), X, space="feature")
    with pytest.raises(InputError, match="model must be"):
        reconstruction(object(), X)
    with pytest.raises(InputError, match="targets"):
        reconstruction(rkhs.KernelAutoencoder(2).fit(X, targets=X**2), X)


def test_known_codes_are_not_computed_again(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, new = rng.normal(size=(25, 3)), rng.normal(size=(6, 3))
    for kernel in ("same", "none"):
        options = {"output_kernel": "same"} if kernel == "same" else {}
        model = rkhs.KernelAutoencoder(2, **options).fit(X)
        whole = reconstruction(model, new)
        codes = model.transform(new)
        with monkeypatch.context() as patch:
            patch.setattr(type(model), "_encode", lambda *_, **__: pytest.fail("codes are computed again"))
            again = reconstruction(model, new, codes=codes)
        np.testing.assert_allclose(again.errors, whole.errors, rtol=1e-9)
    with pytest.raises(InputError, match=r"^codes must have one row for each row of X, 6; got 5"):
        model.reconstruction_error(new, codes=codes[:5])
    assert not np.allclose(model.reconstruction_error(new, codes=codes + 1.0), whole.errors)
