"""Contrastive codes in finite features: the dense solution with all landmarks, for every loss and kind of pairs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

from rkhs import KernelContrastive, load, save
from rkhs._core.errors import InputError
from rkhs.estimators.contrastive.pairs import _smallest
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import FromFunction, Gaussian
from rkhs.problems.pairs import Groups

R = np.random.default_rng(0)
X = np.sin(R.normal(size=(60, 2)) @ R.normal(size=(2, 4))) + 0.1 * R.normal(size=(60, 4))
Y = np.arange(60) % 3
NEW = X[:7] + 0.1
KINDS: list[dict[str, Any]] = [
    {},
    {"loss": "spectral"},
    {"negatives": "permutation"},
    {"loss": "spectral", "negatives": "permutation"},
    {"pairs": "class"},
]


def fit(storage: Any, **options: Any) -> KernelContrastive:
    model = KernelContrastive(2, kernel=Gaussian(0.3), random_state=0, storage=storage, **options)
    return model.fit(X, Y)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_all_landmarks_give_the_dense_solution(options: dict[str, Any]) -> None:
    dense, near = fit("dense", **options), fit(Nystroem(60), **options)
    assert near.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    assert near.map_norm_ == pytest.approx(dense.map_norm_, rel=1e-6)
    np.testing.assert_allclose(near.eigenvalues_ is None, dense.eigenvalues_ is None)
    signs = np.sign((near.codes_ * dense.codes_).sum(0))
    np.testing.assert_allclose(near.codes_ * signs, dense.codes_, atol=1e-7)
    np.testing.assert_allclose(near.transform(NEW) * signs, dense.transform(NEW), atol=1e-6)
    if dense.lambda_bounds_ is not None:
        np.testing.assert_allclose(near.lambda_bounds_, dense.lambda_bounds_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("storage", [Nystroem, RandomFeatures])
@pytest.mark.parametrize("options", [{}, {"pairs": "augment", "augment": "jitter"}], ids=str)
def test_fewer_features_come_near(storage: Any, options: dict[str, Any]) -> None:
    exact = fit("dense", **options).codes_
    near = [fit(storage(m), **options).codes_ for m in (4, 400)]
    few, many = (np.linalg.norm(Z @ Z.T - exact @ exact.T) / np.linalg.norm(exact @ exact.T) for Z in near)
    assert many < 0.15 < few


@pytest.mark.parametrize("storage", [Nystroem(20), RandomFeatures(30)], ids=repr)
def test_models_are_saved_and_tiles_agree(storage: Any, tmp_path: Path) -> None:
    model = fit(storage)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-12)
    save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(load(tmp_path / "m.rkhs").transform(NEW), model.transform(NEW))
    assert model.announced_bytes_ > 0
    single = KernelContrastive(2, kernel=Gaussian(0.3), storage=storage, dtype="float32").fit(X)
    np.testing.assert_allclose(np.abs(single.codes_), np.abs(model.codes_), atol=1e-2)


def test_gram_matrices_and_objects() -> None:
    K = Gaussian(0.3)(X)
    near, there = (
        KernelContrastive(2, kernel=k, storage=Nystroem(25)).fit(A) for k, A in (("precomputed", K), (Gaussian(0.3), X))
    )
    np.testing.assert_allclose(near.transform(K[:5]), there.transform(X[:5]), atol=1e-9)
    words = [a + b + c for a in "abcd" for b in "uvwx" for c in "mn"]
    overlap = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    dense, full = (KernelContrastive(2, kernel=overlap, storage=s).fit(words) for s in ("dense", Nystroem(32)))
    assert full.objective_ == pytest.approx(dense.objective_, rel=1e-9)


def test_what_features_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match=r"strict=True needs storage='dense'; use strict=False with storage=Nystroem"):
        fit(Nystroem(5), strict=True)
    with pytest.raises(InputError, match=r"storage of KernelContrastive must be one of 'dense', rkhs"):
        fit("blocked")
    with pytest.raises(InputError, match="at least two different items"):
        KernelContrastive(storage=Nystroem(3), kernel=Gaussian(1.0)).fit(np.ones((5, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("storage", [Nystroem(20), RandomFeatures(40)], ids=repr)
def test_scikit_learn_checks(storage: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(KernelContrastive(storage=storage), on_fail=None, on_skip=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")] == []


def test_groups_are_links_to_all_other_members() -> None:
    points, groups = torch.tensor([1, 2, 4, 5, 7]), torch.tensor([0, 1, 0, 1, 1])
    given = Groups(points, groups, 9)
    same = (groups[:, None] == groups[None, :]).double() - torch.eye(5).double()
    links = torch.zeros(5, 9, dtype=torch.float64).index_copy(1, points, same / same.sum(1, keepdim=True))
    F, A = torch.as_tensor(R.normal(size=(9, 3))), torch.as_tensor(R.normal(size=(5, 3)))
    np.testing.assert_allclose(given.average(F), links @ F)
    np.testing.assert_allclose(given.spread(A), links.mT @ A)
    np.testing.assert_allclose(given.totals(), links.sum(0))


def test_nearest_columns_are_those_of_a_stable_sort() -> None:
    D = torch.as_tensor(R.integers(0, 6, size=(40, 30)).astype(float))
    for count in (1, 5, 30):
        np.testing.assert_allclose(_smallest(D, count), D.argsort(dim=1, stable=True)[:, :count])
