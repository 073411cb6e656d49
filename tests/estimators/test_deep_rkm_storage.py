"""Deep restricted kernel machines in finite features: the dense machine with all landmarks, and what is refused."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

from rkhs import DeepRKM, load, save
from rkhs._core.errors import InputError
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial
from rkhs.problems.code_ridge import ridge_coefs, ridge_features
from rkhs.problems.drkm import ExactGram, TiledGram

R = np.random.default_rng(0)
X = np.sin(R.normal(size=(50, 2)) @ R.normal(size=(2, 4))) + 0.1 * R.normal(size=(50, 4))
NEW = X[:7] + 0.1


def fit(storage: Any, n_components: Any = (3, 2), **options: Any) -> DeepRKM:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the encoder reproduces the training codes")
        return DeepRKM(n_components, kernel=Gaussian(0.3), storage=storage, **options).fit(X)


@cache
def random_machine() -> DeepRKM:
    """Of random features, for tests that leave it as it is."""
    return fit(RandomFeatures(20))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [{}, {"n_components": 3, "center": False}],
    ids=str,
)
def test_all_landmarks_give_the_dense_machine(options: dict[str, Any]) -> None:
    dense, near = fit("dense", tol=1e-8, **options), fit(Nystroem(50), tol=1e-8, **options)
    assert near.objective_ == pytest.approx(dense.objective_, rel=1e-8)
    np.testing.assert_array_equal(near.ridge_, dense.ridge_)
    tol = 1e-4 if "center" in options else 1e-5
    np.testing.assert_allclose(near.leave_one_out_error_, dense.leave_one_out_error_, rtol=1e-3)
    np.testing.assert_allclose(near.in_sample_defect_, dense.in_sample_defect_, rtol=1e-3, atol=1e-8)
    signs = np.sign((near.codes_ * dense.codes_).sum(0))
    np.testing.assert_allclose(near.codes_ * signs, dense.codes_, atol=tol)
    np.testing.assert_allclose(near.transform(NEW) * signs, dense.transform(NEW), atol=tol)
    np.testing.assert_allclose(near.inverse_transform(near.codes_), dense.inverse_transform(dense.codes_), atol=1e-3)
    for layer in range(1, len(dense.layer_codes_) + 1):
        np.testing.assert_allclose(near.denoise(NEW, layer=layer), dense.denoise(NEW, layer=layer), atol=1e-3)
    errors = [model.reconstruction_error(NEW, space="feature") for model in (near, dense)]
    np.testing.assert_allclose(errors[0], errors[1], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("storage", [Nystroem(20), RandomFeatures(400)], ids=repr)
def test_fewer_features_come_near_and_are_saved(storage: Any, tmp_path: Path) -> None:
    dense, near = fit("dense"), fit(storage)
    assert near.objective_ == pytest.approx(dense.objective_, rel=0.1)
    assert near.infeasibility_ < 1e-10
    assert near.score(X) > 3.0 * dense.score(X)  # decoded by a regression on 20 landmarks
    save(near, tmp_path / "m.rkhs")
    again = load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(again.transform(NEW), near.transform(NEW))
    np.testing.assert_array_equal(again.inverse_transform(near.codes_), near.inverse_transform(near.codes_))
    assert near.traverse(1, layer=2).shape == (7, 4)


def test_gram_matrices_are_read() -> None:
    K = Gaussian(0.3)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DeepRKM((3, 2), kernel="precomputed", storage=Nystroem(20)).fit(K)
    np.testing.assert_allclose(np.abs(model.transform(K[:4])), np.abs(fit(Nystroem(20)).transform(X[:4])), atol=1e-5)
    assert model.inverse_transform(model.codes_[:4]).shape == (4, 20)


@pytest.mark.parametrize("ridges", [{}, {"ridges": (1e-3,)}])
@pytest.mark.parametrize("center", [True, False])
def test_ridge_on_features_is_ridge_on_their_gram_matrix(center: bool, ridges: Any) -> None:
    F, T = torch.as_tensor(R.normal(size=(30, 8))), torch.as_tensor(R.normal(size=(30, 2)))
    if center:
        F, T = F - F.mean(0), T - T.mean(0)
    w, chosen, error = ridge_features(F, T, center, **ridges)
    B, there, other = ridge_coefs(F @ F.mT, T, center, **ridges)
    assert (chosen, error) == (there, pytest.approx(other, rel=1e-6))
    np.testing.assert_allclose(w, F.mT @ B, atol=1e-6)


KERNELS = [
    Gaussian(0.7),
    Matern(1.5, 0.6) + 0.3 * Linear(),
    2.0 * Gaussian(0.2) + Matern(2.5, 0.5),
    Polynomial(2, 0.5),
    Laplacian("l1", 0.4),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tiles_are_the_whole_matrix(kernel: Kernel) -> None:
    Z, T, V = (torch.as_tensor(R.normal(size=(23, k))) for k in (2, 3, 2))
    whole, tiled = ExactGram(kernel, Z), TiledGram(kernel, Z, rows=5)
    np.testing.assert_allclose(tiled.times(V), whole.times(V), atol=1e-12)
    np.testing.assert_allclose(tiled.pullback(T), whole.pullback(T), atol=1e-10)
    one, other = whole.linear_pullback(T), tiled.linear_pullback(T)
    assert (one is None) == (other is None) == isinstance(kernel, Laplacian)
    if one is not None and other is not None:
        np.testing.assert_allclose(other(V), one(V), atol=1e-10)
        np.testing.assert_allclose(other(Z), tiled.pullback(T), atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"out_of_sample": "block"},
            r"out_of_sample='block' needs storage='dense'; use out_of_sample='ridge'",
        ),
        ({"bandwidths": "joint"}, r"bandwidths='joint' needs storage='dense'; use bandwidths='fixed' with Nystroem"),
        ({"storage": "blocked"}, r"storage of DeepRKM must be one of 'dense', rkhs"),
        ({"storage": RandomFeatures(20), "decoder_kernel": Polynomial(2)}, r"Use Nystroem"),
    ],
)
def test_what_features_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(**{"storage": Nystroem(10), **options})
    with pytest.raises(InputError, match=r"random features keep no items"):
        random_machine().denoise(X)


@pytest.mark.slow
def test_scikit_learn_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(DeepRKM(2, storage=Nystroem(20)), on_fail=None, on_skip=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")] == []
