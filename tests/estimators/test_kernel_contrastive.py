"""KernelContrastive as users meet it: pairs, Pipelines, Gram inputs, warnings and errors."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rkhs._core.errors import CollapseWarning, InputError
from rkhs.augment import GaussianNoise
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.kernels import FromFunction, Gaussian, Linear
from rkhs.persistence import load, save

X, Y = load_iris(return_X_y=True)
SMALL = [
    {},
    {"loss": "spectral"},
    {"negatives": "permutation"},
    {"loss": "spectral", "negatives": "permutation"},
    {"pairs": "augment", "augment": "jitter"},
    {"pairs": "augment", "augment": GaussianNoise(0.3), "loss": "spectral"},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kernel": "precomputed"},
        {"loss": "spectral"},
        {"loss": "spectral", "negatives": "permutation", "random_state": 0},
        {"pairs": "augment", "augment": "jitter", "random_state": 0},
        {"pairs": "class"},
    ],
    ids=str,
)
def test_check_estimator(params: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(KernelContrastive(**params), on_fail=None, on_skip=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")] == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("params", SMALL, ids=str)
def test_labels_change_nothing_and_codes_agree(params: dict[str, Any]) -> None:
    model = KernelContrastive(kernel=Gaussian(0.3), random_state=3, **params)
    codes = model.fit_transform(X)
    np.testing.assert_allclose(model.codes_, codes, atol=1e-9)
    np.testing.assert_array_equal(clone(model).fit(X, Y).codes_, model.codes_)
    pipe = make_pipeline(StandardScaler(), clone(model))
    np.testing.assert_array_equal(pipe.fit_transform(X, Y), clone(pipe).fit_transform(X))
    assert codes.shape == (150, 2)
    assert np.isfinite(codes).all()
    assert model.converged_
    assert model.n_components_ == 2


@pytest.mark.parametrize("params", [p for p in SMALL if "augment" not in p], ids=str)
def test_a_gram_matrix_is_enough(params: dict[str, Any]) -> None:
    kernel = Gaussian(0.3)
    there = KernelContrastive(kernel=kernel, random_state=0, **params).fit(X[:100])
    K = kernel(X[:100])
    here = KernelContrastive(kernel="precomputed", random_state=0, **params).fit(K)
    assert here.objective_ == pytest.approx(there.objective_, rel=1e-9)
    np.testing.assert_allclose(here.transform(kernel(X[100:], X[:100])), there.transform(X[100:]), atol=1e-6)
    assert here.__sklearn_tags__().input_tags.pairwise


def test_given_rows_vectors_and_gram_are_the_same_pairs() -> None:
    rng = np.random.default_rng(0)
    plus, minus = rng.integers(0, 150, (150, 3)), rng.integers(0, 150, 150)
    model = KernelContrastive(kernel=Gaussian(0.3))
    rows = clone(model).fit(X, positives=plus, negatives=minus)
    vectors = clone(model).fit(X, positives=X[plus], negatives=X[minus])
    gram = KernelContrastive(kernel="precomputed").fit(Gaussian(0.3)(X), positives=plus, negatives=minus)
    assert vectors.objective_ == pytest.approx(rows.objective_, rel=1e-9)
    assert gram.objective_ == pytest.approx(rows.objective_, rel=1e-12)
    np.testing.assert_allclose(np.abs(vectors.transform(X)), np.abs(rows.transform(X)), atol=1e-6)
    mixed = clone(model).fit(X, positives=torch.as_tensor(X[plus]))
    assert mixed.objective_ != rows.objective_


def test_self_positives_against_the_pool_are_kernel_pca() -> None:
    model = KernelContrastive(3, kernel=Gaussian(0.3)).fit(X, positives=np.arange(150))
    pca = KernelPCA(3, kernel=Gaussian(0.3)).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, pca.eigenvalues_, rtol=1e-8)
    C = model.codes_ - model.codes_.mean(0)
    np.testing.assert_allclose(C @ C.T, pca.codes_ @ pca.codes_.T, atol=1e-8)


def test_objects_with_a_kernel() -> None:
    words = ["kernel", "kernels", "colonel", "gram", "grams", "programme", "code", "codes", "decode", "encode"]

    def share(a: str, b: str) -> float:
        letters = "abcdefghijklmnopqrstuvwxyz"
        return float(sum(a.count(c) * b.count(c) for c in letters))

    model = KernelContrastive(kernel=FromFunction(share), n_neighbors=2).fit(words)
    assert model.transform(["kernel", "decoder"]).shape == (2, 2)
    plus = KernelContrastive(kernel=FromFunction(share), pairs="augment", augment=_drop_last, random_state=0)
    assert plus.fit(words).transform(words).shape == (10, 2)
    with pytest.raises(InputError, match="integer row numbers"):
        model.fit(words, positives=words)


def _drop_last(words: list[str], rng: np.random.Generator) -> list[str]:
    return [word[:-1] for word in words]


def test_classes_are_read_and_unlabelled_rows_are_no_anchors() -> None:
    circles, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    model = KernelContrastive(1, kernel=Gaussian(1.0), pairs="class")
    hidden = np.where(np.arange(200) % 4 == 0, y, -1)
    Z = model.fit_transform(circles, hidden)
    seen = np.arange(200) % 4 == 0
    assert KNeighborsClassifier(3).fit(Z[seen], y[seen]).score(Z[~seen], y[~seen]) > 0.98
    names = clone(model).fit(circles, np.where(y == 1, "inner", "outer"))
    numbers = clone(model).fit(circles, y)
    np.testing.assert_allclose(names.codes_, numbers.codes_)
    assert names.objective_ != model.objective_


def test_a_class_of_one_row_is_skipped_with_a_warning() -> None:
    y = Y.copy()
    y[0] = 7
    with pytest.warns(UserWarning, match="1 classes have a single row and are skipped"):
        model = KernelContrastive(pairs="class").fit(X, y)
    assert np.isfinite(model.codes_).all()


def test_random_state_decides() -> None:
    model = KernelContrastive(negatives="permutation", random_state=1)
    first = model.fit(X).objective_
    assert first == model.fit(X).objective_
    assert first != model.set_params(random_state=2).fit(X).objective_


def test_too_many_components_are_zero_columns_and_reported() -> None:
    with pytest.warns(CollapseWarning, match="positive eigenvalues, fewer than n_components=6"):
        model = KernelContrastive(6, kernel="linear").fit(X)
    q = model.n_components_
    assert q <= 4
    assert not model.representer_holds_
    assert (model.codes_[:, q:] == 0).all()
    assert (np.abs(model.codes_[:, :q]).sum(0) > 0).all()
    assert KernelContrastive(2).fit(X).representer_holds_


def test_strict_takes_components_as_printed() -> None:
    with pytest.warns(CollapseWarning, match="because strict=True"):
        model = KernelContrastive(3, kernel=Linear(), strict=True).fit(X, positives=np.arange(150)[::-1])
    assert model.n_components_ == 3
    assert model.objective_ == pytest.approx(-model.eigenvalues_.sum())
    assert (model.eigenvalues_ < 0).any()


@pytest.mark.sample(1)
@pytest.mark.parametrize("negatives", ["pool", "permutation"])
def test_spectral_window(negatives: str) -> None:
    model = KernelContrastive(kernel=Gaussian(0.3), loss="spectral", negatives=negatives, random_state=0)
    low, high = model.fit(X).lambda_bounds_
    assert low < model.reg_ < high
    with pytest.warns(CollapseWarning, match="2 of 2 components are zero"):
        collapsed = clone(model).set_params(reg=1.05 * high).fit(X)
    assert collapsed.objective_ == pytest.approx(0.0, abs=1e-6)
    assert collapsed.n_components_ == 0


def test_explosion_is_an_error_and_below_the_bound_a_warning() -> None:
    rng = np.random.default_rng(0)
    minus = rng.normal(size=X.shape) * 3
    model = KernelContrastive(1, kernel=Gaussian(0.3), loss="spectral")
    fitted = model.fit(X, negatives=minus)
    low, high = fitted.lambda_bounds_
    assert 0 < low < fitted.reg_ < high
    with (
        pytest.warns(UserWarning, match="under which the spectral loss is unbounded"),
        pytest.raises(InputError, match=r"reg=.* is too small: the codes grew without limit"),
    ):
        clone(model).set_params(reg=0.1 * low).fit(X, negatives=minus)


@pytest.mark.parametrize(
    ("params", "data", "message"),
    [
        ({}, {"positives": X[:7]}, "positives must have one entry per row of X, 150; got 7"),
        ({}, {"negatives": X[:, :2]}, r"negatives must be finite, of shape \(150, 4\)"),
        ({}, {"negatives": np.full_like(X, np.nan)}, "negatives must be finite"),
        ({}, {"positives": np.full(150, 150)}, "positives as row numbers must be from 0 to 149; got 150 to 150"),
        ({}, {"positives": np.full(150, -1)}, "got -1 to -1"),
        ({}, {"positives": np.ones((150, 4), dtype=int)}, "could be vectors or row numbers"),
        ({}, {"positives": 3}, "got a single value"),
        ({"pairs": "class"}, {"y": np.zeros(150, dtype=int)}, "y must have at least two classes"),
        ({"pairs": "class"}, {"y": np.full(150, -1)}, "y must have at least two classes"),
        ({"pairs": "class"}, {"y": np.arange(7)}, "y must have one label per row of X"),
        ({"pairs": "class"}, {}, "requires y to be passed"),
        ({"pairs": "augment"}, {}, "augment must be given for pairs='augment'"),
        ({"loss": "triplet"}, {}, "loss must be one of 'simple', 'spectral'; got 'triplet'"),
        ({"pairs": "friends"}, {}, "pairs must be one of"),
        ({"negatives": "all"}, {}, "negatives must be one of"),
        ({"reg": -1.0, "loss": "spectral"}, {}, "reg must be >= 0 or 'auto'; got -1.0"),
        ({"n_components": 0}, {}, "n_components must be an integer >= 1; got 0"),
        ({"n_neighbors": 1.5}, {}, "n_neighbors must be an integer"),
    ],
)
def test_bad_input_is_a_typed_error(params: dict[str, Any], data: dict[str, Any], message: str) -> None:
    with pytest.warns() if "arange" in message else _nothing(), pytest.raises(InputError, match=message):
        KernelContrastive(**params).fit(X, **data)


def _nothing() -> Any:
    return warnings.catch_warnings()


def test_identical_items_one_sample_and_a_gram_matrix_that_cannot_be_augmented() -> None:
    with pytest.raises(InputError, match=re.escape("X must hold at least two different items")):
        KernelContrastive(kernel=Gaussian(1.0)).fit(np.ones((6, 3)))
    with pytest.raises(ValueError, match="at least 2 rows"):
        KernelContrastive().fit(X[:1])
    with pytest.raises(InputError, match="pairs='augment' needs items, not a Gram matrix"):
        KernelContrastive(kernel="precomputed", pairs="augment", augment="jitter").fit(np.eye(5))
    with pytest.raises(InputError, match="must be a square Gram matrix"):
        KernelContrastive(kernel="precomputed").fit(X)


def test_equal_positives_and_negatives_warn() -> None:
    with pytest.warns(CollapseWarning, match="0 positive eigenvalues"):
        model = KernelContrastive().fit(X, positives=np.arange(150), negatives=np.arange(150))
    assert (model.codes_ == 0).all()


def test_float32_and_tensors() -> None:
    model = KernelContrastive(kernel=Gaussian(0.3), dtype="float32").fit(X.astype(np.float32))
    assert model.codes_.dtype == np.float32
    reference = KernelContrastive(kernel=Gaussian(0.3)).fit(X)
    np.testing.assert_allclose(model.codes_, reference.codes_, atol=1e-3)
    assert isinstance(reference.transform(torch.as_tensor(X)), torch.Tensor)


@pytest.mark.parametrize("params", SMALL, ids=str)
def test_a_saved_model_gives_the_same_codes(params: dict[str, Any], tmp_path: Path) -> None:
    model = KernelContrastive(random_state=0, **params).fit(X)
    save(model, tmp_path / "model.rkhs")
    np.testing.assert_array_equal(load(tmp_path / "model.rkhs").transform(X), model.transform(X))


def test_neighbours_are_the_nearest_others_in_the_feature_space() -> None:
    Z = np.random.default_rng(0).normal(size=(40, 3))
    near = NearestNeighbors(n_neighbors=4).fit(Z).kneighbors(return_distance=False)
    ours = KernelContrastive(kernel=Gaussian(0.3), n_neighbors=4).fit(Z)
    given = KernelContrastive(kernel=Gaussian(0.3)).fit(Z, positives=near)
    assert ours.objective_ == pytest.approx(given.objective_, rel=1e-12)
    # With all others as positives every anchor is nearer to the pool than to its positives: nothing to learn.
    with pytest.warns(CollapseWarning, match="0 positive eigenvalues"):
        KernelContrastive(n_neighbors=50).fit(Z[:6])
