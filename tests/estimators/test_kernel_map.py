"""Maps that keep neighbours: order and company of rows, weights, kinds of input, quality, added rows, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.datasets import load_digits, load_iris

import rkhs
from rkhs import KernelMap, KernelNovelty, KernelPCA
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Spectrum
from rkhs.models.neighbour_map import fixed_sums

DIGITS = np.random.default_rng(0).permutation(load_digits().data / 16.0)
IRIS = load_iris().data


@pytest.fixture(scope="module")
def digits(few_candidates: dict[str, Any]) -> KernelMap:
    """A map whose decoder is the best of all that are compared."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in few_candidates.items():
            patch.setattr(name, value)
        return KernelMap().fit(DIGITS[:250])


@pytest.fixture(scope="module")
def iris() -> KernelMap:
    return KernelMap().fit(IRIS)


def sum_on_a_grid(patch: pytest.MonkeyPatch, above: int) -> None:
    """Maps of more rows than this take the grid, single precision, and the start from a map of so many rows."""
    for module in ("fit", "model"):
        patch.setattr(f"rkhs.estimators.maps.{module}.MAX_ALL_PAIRS", above)


def neighbours_kept(X: np.ndarray, Z: np.ndarray, new: np.ndarray, places: np.ndarray) -> float:
    """Share of the ten nearest rows of new rows that are the ten nearest in the map."""
    near = [((one[:, None] - other) ** 2).sum(2).argsort(1)[:, :10] for one, other in ((new, X), (places, Z))]
    return float(np.mean([len(set(a) & set(b)) / 10.0 for a, b in zip(*near, strict=True)]))


@pytest.mark.sample(1)
@pytest.mark.parametrize(("n", "pairs"), [(90, 1000), (90, 50), pytest.param(1300, 1000, marks=pytest.mark.slow)])
def test_rows_in_another_order_have_the_same_map(n: int, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sum_on_a_grid(monkeypatch, pairs)
    X, order = DIGITS[:n], np.random.default_rng(0).permutation(n)
    model, other = KernelMap(n_neighbors=10).fit(X), KernelMap(n_neighbors=10).fit(X[order])
    np.testing.assert_array_equal(other.codes_, model.codes_[order])
    np.testing.assert_array_equal(other.row_recall_, model.row_recall_[order])
    at, sums = torch.tensor(model.codes_), model.model_.sums  # those of the fit
    computed = fixed_sums(torch.as_tensor(model.model_.places), torch.as_tensor(model.model_.weights))
    assert torch.equal(sums.at(at)[1], computed.at(at)[1])


def test_columns_in_another_order_have_the_same_map(iris: KernelMap) -> None:
    np.testing.assert_allclose(KernelMap().fit(IRIS[:, ::-1]).codes_, iris.codes_, atol=1e-3)


def test_a_gram_matrix_in_another_order_has_the_same_map() -> None:
    K, order = DIGITS[:120] @ DIGITS[:120].T, np.random.default_rng(0).permutation(120)
    model = KernelMap(kernel="precomputed").fit(K)
    other = KernelMap(kernel="precomputed").fit(K[np.ix_(order, order)])
    np.testing.assert_array_equal(other.codes_, model.codes_[order])
    assert other.decode(other.codes_[:3], n_best=1).indices[:, 0].tolist() == [0, 1, 2]
    assert not hasattr(other, "inverse_transform")


def test_new_rows_have_the_same_place_in_any_company(digits: KernelMap) -> None:
    new = DIGITS[400:405]
    together = digits.transform(new)
    alone = np.concatenate([digits.transform(row[None]) for row in new])
    np.testing.assert_allclose(alone, together, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(digits.transform(new[::-1])[::-1], together, rtol=0.0, atol=1e-12)


def test_training_rows_have_their_places(digits: KernelMap, iris: KernelMap) -> None:
    np.testing.assert_array_equal(digits.transform(DIGITS[:250]), digits.codes_)
    np.testing.assert_array_equal(KernelMap().fit_transform(IRIS), iris.codes_)


def test_new_rows_keep_their_neighbours_and_are_decoded(digits: KernelMap) -> None:
    rows, new = DIGITS[:250], DIGITS[400:600]
    places = digits.transform(new)
    kept = neighbours_kept(rows, digits.codes_, new, places)
    plain = KernelPCA(2, kernel="linear").fit(rows)
    assert kept > neighbours_kept(rows, plain.codes_, new, plain.transform(new)) + 0.2
    assert digits.recall_ - 0.1 < kept < digits.recall_ + 0.05
    lost = ((digits.inverse_transform(places) - new) ** 2).sum() / ((new - rows.mean(0)) ** 2).sum()
    assert lost == pytest.approx(digits.held_out_error_, abs=0.1)
    assert 0.4 < digits.correlation_ < 1.0


def test_two_fits_have_the_same_bits(iris: KernelMap) -> None:
    np.testing.assert_array_equal(KernelMap().fit(IRIS).codes_, iris.codes_)


def test_rows_far_from_all_others_are_novel_wherever_the_map_places_them(digits: KernelMap) -> None:
    rows, drawn = DIGITS[:250], np.random.default_rng(0).normal(size=(20, 64))
    size = np.linalg.norm(rows - rows.mean(0), axis=1).mean()
    far = rows.mean(0) + 2.0 * size * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    assert np.isfinite(digits.transform(far)).all()
    assert KernelNovelty().fit(rows).p_values(far).max() <= 0.05


def test_row_recall_is_the_share_of_neighbours_that_the_map_keeps(digits: KernelMap) -> None:
    for i in (0, 17, 233):
        near = [((A - A[i]) ** 2).sum(1) for A in (DIGITS[:250], digits.codes_)]
        first, second = (set(np.argsort(np.where(np.arange(250) == i, np.inf, d))[:10]) for d in near)
        assert digits.row_recall_[i] == pytest.approx(len(first & second) / 10.0)


def test_weights_are_copies() -> None:
    X = IRIS[:60]
    repeated = KernelMap().fit(np.concatenate([X, X[:20], X[:20]]))
    weighted = KernelMap().fit(X, sample_weight=np.where(np.arange(60) < 20, 3.0, 1.0))
    np.testing.assert_array_equal(repeated.codes_[:60], weighted.codes_)
    np.testing.assert_array_equal(repeated.codes_[60:80], repeated.codes_[:20])


def test_labels_are_ignored(iris: KernelMap) -> None:
    np.testing.assert_array_equal(KernelMap().fit(IRIS, load_iris().target).codes_, iris.codes_)


@pytest.mark.sample(2)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_dimensions(p: int) -> None:
    model = KernelMap(p).fit(IRIS[::3])
    assert model.codes_.shape == (50, p)
    assert model.transform(IRIS[1::15]).shape == (10, p)


@pytest.mark.usefixtures("all_candidates")
def test_objects_and_sparse_rows(digits: KernelMap) -> None:
    words = ["kernel", "kennel", "matrix", "tricks", "metric", "panel", "channel", "colonel"]
    model = KernelMap(kernel=lambda x, y: float(len(set(x) & set(y)))).fit(words)
    assert model.transform(["kernels"]).shape == (1, 2)
    sparse = KernelMap().fit(scipy.sparse.csr_array(DIGITS[:250]))
    assert sparse.objective_ == pytest.approx(digits.objective_, abs=3e-3)  # many steps of descent
    assert sparse.held_out_error_ is None


def test_many_objects_are_compared_by_landmarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("acgt"), 12)) for _ in range(110)]
    whole = KernelMap(kernel=Spectrum(2)).fit(words)
    monkeypatch.setattr("rkhs.estimators.maps.distinct_items._WHOLE", 100)
    monkeypatch.setattr("rkhs.estimators.maps.distinct_items._LANDMARKS", 60)
    model, order = KernelMap(kernel=Spectrum(2)).fit(words), rng.permutation(110)
    assert len(model.support_items_) <= 60
    assert abs(model.recall_ - whole.recall_) < 0.1
    np.testing.assert_array_equal(model.transform(words[:5]), model.codes_[:5])
    shuffled = KernelMap(kernel=Spectrum(2)).fit([words[i] for i in order])
    np.testing.assert_array_equal(shuffled.codes_, model.codes_[order])
    path, new = tmp_path / "map.rkhs", ["acgtacgtacgg"]
    rkhs.save(model, path)
    other: Any = rkhs.load(path)
    np.testing.assert_array_equal(other.transform(new), model.transform(new))
    with pytest.raises(InputError, match="keeps no training items"):
        model.partial_fit(new)


def test_a_kernel_with_the_distances_of_another_has_its_map(iris: KernelMap) -> None:
    wide = KernelMap(kernel=Gaussian(1e-4)).fit(IRIS)  # 2 - 2 k is then the squared distance, up to a factor
    assert wide.recall_ == pytest.approx(iris.recall_, abs=0.02)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("n", "added", "pairs"),
    [
        (100, 10, 1000),
        (100, 10, 105),
        *(pytest.param(n, 200, 1000, marks=pytest.mark.slow) for n in (500, 900)),
    ],
)
def test_added_rows_leave_the_others_near_their_places(
    n: int, added: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sum_on_a_grid(monkeypatch, pairs)
    monkeypatch.setattr("rkhs.estimators.maps.fit._FROM_COMPONENTS", ((4.0, 10), (1.0, 20)))
    model = KernelMap(n_neighbors=10).fit(DIGITS[:n])
    old = model.codes_.copy()
    model.partial_fit(DIGITS[n : n + added])
    moved = np.sqrt(((model.codes_[:n] - old) ** 2).sum() / ((old - old.mean(0)) ** 2).sum())
    assert 0.0 < moved < 0.06
    assert model.row_recall_.mean() > KernelMap(n_neighbors=10).fit(DIGITS[: n + added]).row_recall_.mean() - 0.02
    np.testing.assert_array_equal(model.transform(DIGITS[: n + added]), model.codes_)


def test_a_start_of_ones_own_is_kept_to(iris: KernelMap) -> None:
    turned = iris.codes_ @ np.array([[0.0, -1.0], [1.0, 0.0]])
    other = KernelMap(init=turned).fit(IRIS)
    assert np.abs(other.codes_ - turned).max() < 0.2 * np.ptp(turned)
    with pytest.raises(InputError, match="init"):
        KernelMap(init=turned[:5]).fit(IRIS)


def test_files_give_the_same_map(digits: KernelMap, tmp_path: Path) -> None:
    rkhs.save(digits, tmp_path / "map.rkhs")
    other: Any = rkhs.load(tmp_path / "map.rkhs")
    np.testing.assert_array_equal(other.transform(DIGITS[400:420]), digits.transform(DIGITS[400:420]))
    np.testing.assert_array_equal(other.row_recall_, digits.row_recall_)


@pytest.mark.parametrize("bad", [{"n_components": 4}, {"n_neighbors": 0}, {"weight": -1.0}, {"device": "cuda"}])
def test_parameters_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        KernelMap(**bad).fit(IRIS)


def test_copies_of_two_rows_have_a_map_and_a_decoder(all_candidates: None) -> None:
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 6, axis=0)
    model = KernelMap().fit(X)
    assert model.codes_.shape == (12, 2)
    assert np.isfinite(model.inverse_transform(model.codes_)).all()
