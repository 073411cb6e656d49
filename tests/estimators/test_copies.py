"""Rows are left out with their copies, whatever tells them apart but the kernel; repeats are warned of."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import KernelAutoencoder, OperatorKernelRegressor, OperatorKernelRegressorCV, fit_robust
from rkhs._core.copies import copies, copies_last, same_items
from rkhs._core.errors import RepeatWarning
from rkhs.data.columns import repeats_items
from rkhs.evaluation import compare_codes
from rkhs.features import Nystroem
from rkhs.kernels import MoleculeKernel

RNG = np.random.default_rng(0)
ONCE, NOISE = RNG.normal(size=(60, 4)), RNG.normal(size=60)
THRICE = np.repeat(ONCE, 3, 0)
Y = np.repeat(NOISE, 3)


@pytest.mark.sample(1)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_rows_that_differ_by_rounding_are_copies(loss: str) -> None:
    X = THRICE + 1e-9 * RNG.normal(size=THRICE.shape)
    regs = None if loss == "squared" else [1e-1, 1e-3, 1e-5]
    model = OperatorKernelRegressorCV(loss=loss, criterion="squared", regs=regs).fit(X, Y)
    assert -model.best_score_ > 0.8 * Y.var()


def test_sets_leave_copies_out_together() -> None:
    X = THRICE + 1e-9 * RNG.normal(size=THRICE.shape)
    model = OperatorKernelRegressor().fit(X, Y)
    sets = model.predict_set(RNG.normal(size=(50, 4)))
    assert np.median(sets.upper - sets.lower) > 2.0


def test_spellings_of_a_molecule_are_copies() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    smiles = ["C" * k + end for k in range(3, 13) for end in ("O", "N", "Cl", "C(=O)O")]
    spelled = [s for one in smiles for s in chem.MolToRandomSmilesVect(chem.MolFromSmiles(one), 3, randomSeed=1)]
    y = np.repeat(RNG.normal(size=len(smiles)), 3)
    model = OperatorKernelRegressor(MoleculeKernel()).fit(spelled, y)
    assert model.leave_one_out_error_ > 0.8


def test_repeats_of_measurements_are_warned_of() -> None:
    X = THRICE + 0.01 * RNG.normal(size=THRICE.shape)
    with pytest.warns(RepeatWarning, match="180 of 180 different rows look like repeats of 60 items.*groups="):
        OperatorKernelRegressor().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        OperatorKernelRegressor().fit(X, Y, groups=np.repeat(np.arange(60), 3))
        OperatorKernelRegressor().fit(RNG.normal(size=(180, 4)), Y)


def test_compare_keeps_copies_and_groups_on_one_side() -> None:
    rows, y = THRICE[:36], Y[:36]
    X = rows + 1e-9 * RNG.normal(size=rows.shape)
    found = compare_codes(X, y, n_components=2, n_splits=2)
    assert max(row.mean for row in found.rows) < 0.5
    X = rows + 0.01 * RNG.normal(size=rows.shape)
    found = compare_codes(X, y, n_components=2, n_splits=2, groups=np.repeat(np.arange(12), 3))
    assert max(row.mean for row in found.rows) < 0.5


def test_twenty_rows_of_two_kinds_are_named_so() -> None:
    X = np.arange(20)[:, None] % 2.0
    K = np.exp(-np.abs(X - X.T))
    model = OperatorKernelRegressor("precomputed", reg=0.1).fit(K, X[:, 0])
    with pytest.raises(ValueError, match="at least 3 distinct rows.*got 2 among 20"):
        model.predict_set(K, gram=K)
    sets = OperatorKernelRegressor(reg=0.1).fit(X, X[:, 0]).predict_set(X)  # a table of yes and no has no copies
    assert sets.guarantee == "at least"
    assert sets.contains(X[:, 0]).all()


def combinations(rng: np.random.Generator, n: int) -> np.ndarray:
    """One-hot columns of three categories that go together."""
    level = rng.integers(0, 3, n)
    other = np.where(rng.random(n) < 0.8, level, rng.integers(0, 3, n))
    return np.hstack([np.eye(3)[level], np.eye(3)[other], np.eye(4)[rng.integers(0, 4, n)]])


@pytest.mark.parametrize("storage", ["dense", Nystroem(60)], ids=repr)
def test_combinations_of_few_values_are_held_out_as_new_rows_are(storage: Any) -> None:
    rng, ratios = np.random.default_rng(1), []
    for _ in range(4):
        X, new = combinations(rng, 150), combinations(rng, 600)
        model = KernelAutoencoder(2, storage=storage, max_iter=60).fit(X)
        errors = ((model.inverse_transform(model.transform(new)) - new) ** 2).sum()
        ratios.append(model.held_out_error_ / (errors / ((new - X.mean(0)) ** 2).sum()))
    assert np.mean(ratios) < 4.0  # of combinations that are held out with all their rows: above 8


@pytest.mark.parametrize("cls", [OperatorKernelRegressor, partial(OperatorKernelRegressorCV, "gaussian")])
def test_a_function_of_few_values_is_learned_and_its_sets_keep_their_guarantee(cls: Any) -> None:
    rng, errors, inside = np.random.default_rng(2), [], []
    for _ in range(10):
        X, new = combinations(rng, 120), combinations(rng, 40)
        y, truth = (np.sin(7.0 * one @ np.arange(10.0)).round() for one in (X, new))
        model = cls().fit(X, y)
        sets = model.predict_set(new)
        assert sets.guarantee == "at least"
        errors.append(((model.predict(new) - truth) ** 2).mean() / truth.var())
        inside.append(sets.contains(truth).mean())
    assert np.mean(errors) < 0.5  # each combination held out with all its rows: 1
    assert np.mean(inside) > 0.9 - 3.0 * np.std(inside) / 10**0.5


def test_a_table_that_was_written_twice_is_one_of_copies() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    once, twice = (
        OperatorKernelRegressor().fit(np.tile(X, (k, 1)), np.tile(y, k)).leave_one_out_error_ for k in (1, 2)
    )
    assert twice == pytest.approx(once, rel=0.02)


def test_equal_rows_with_other_targets_are_no_copies() -> None:
    K = torch.ones(4, 4, dtype=torch.float64)
    targets = torch.tensor([[0.0], [1.0], [1e-9], [1.0]], dtype=torch.float64)
    np.testing.assert_array_equal(copies([K]), [0, 0, 0, 0])
    np.testing.assert_array_equal(copies([K], targets), [0, 1, 0, 1])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("storage", "noise"),
    [
        ("dense", 1e-9),
        (Nystroem(60), 0.0),
        pytest.param("dense", 0.0, marks=pytest.mark.slow),
        pytest.param(Nystroem(60), 1e-9, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_an_autoencoder_chooses_by_rows_that_have_no_copy_in_the_fit(storage: Any, noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 8)) + 0.7 * rng.normal(size=(60, 8))
    thrice = (np.repeat(X, 3, 0) + noise * rng.normal(size=(180, 8)))[rng.permutation(180)]
    once = KernelAutoencoder(3, storage=storage, max_iter=60).fit(X).held_out_error_
    model = KernelAutoencoder(3, storage=storage, max_iter=60).fit(thrice)
    assert model.held_out_error_ == pytest.approx(once, rel=0.35)


def test_copies_come_last_in_an_order_and_others_keep_theirs() -> None:
    X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0 + 1e-9], [5.0, 6.0], [3.0, 4.0], [1.0, 2.0]])
    X = X.to(torch.float64)
    order, different = copies_last(X, np.array([5, 3, 4, 0, 2, 1]))
    assert different == 3
    np.testing.assert_array_equal(order, [5, 3, 4, 0, 2, 1])
    order, different = copies_last(X, np.array([0, 2, 5, 1, 4, 3]))
    np.testing.assert_array_equal(order, [0, 1, 3, 2, 5, 4])
    far = X + 1e6  # rows stay different however far from the origin
    assert copies_last(far, np.arange(6))[1] == 3


@pytest.mark.parametrize(("dtype", "same", "other"), [("float64", 2e-13, 1e-11), ("float32", 3e-7, 1e-4)])
def test_items_are_one_up_to_rounding_of_kernel_values(dtype: str, same: float, other: float) -> None:
    ones = torch.ones(2, dtype=getattr(torch, dtype))
    K = torch.tensor([[1.0 - same, 1.0 - other]], dtype=ones.dtype)
    assert same_items(K, ones[:1], ones).tolist() == [[True, False]]


def test_an_item_that_is_alike_to_a_copy_alone_is_another_one() -> None:
    x = torch.tensor([0.0, 1.0, 2.0, 9.0], dtype=torch.float64) * 1.5e-12**0.5
    np.testing.assert_array_equal(copies([1.0 - (x[:, None] - x) ** 2 / 2.0]), [0, 0, 2, 3])


def test_items_that_one_of_several_kernels_tells_apart_are_no_copies() -> None:
    K = torch.ones(3, 3, dtype=torch.float64)
    np.testing.assert_array_equal(copies([K, torch.eye(3, dtype=torch.float64)]), [0, 1, 2])


def test_near_rows_with_other_targets_and_a_few_near_rows_are_no_repeats() -> None:
    near = THRICE + 0.01 * RNG.normal(size=THRICE.shape)
    pairs = ONCE.copy()
    pairs[1:8:2] = pairs[:8:2] + 0.01 * RNG.normal(size=(4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        OperatorKernelRegressor().fit(near, RNG.normal(size=180))
        OperatorKernelRegressor().fit(pairs, np.r_[np.repeat(NOISE[:8:2], 2), NOISE[8:]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:KernelAutoencoder. the largest number")
def test_a_heavy_tailed_table_of_nearly_equal_rows_alone_is_fitted() -> None:
    X = np.concatenate([np.ones((1100, 5)), np.random.default_rng(0).normal(size=(20, 5))])
    model = KernelAutoencoder(2, max_iter=5).fit(X)
    assert 0.03 < model.held_out_error_ < 3.0  # a share of the variance of the different rows


def measured_again(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Items whose property says little of that of others, two thirds of them measured twice with small errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 1.5 * rng.normal(size=n)
    again = np.append(np.arange(n), np.arange(2 * n // 3))
    return X[again], y[again] + 0.1 * rng.normal(size=len(again))


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")  # of noise
def test_items_measured_again_are_left_out_with_all_their_rows() -> None:
    true, by_items, by_rows, inside = [], [], [], []
    for seed in range(10):
        X, y = measured_again(60, seed)
        rng = np.random.default_rng(100 + seed)
        new = rng.normal(size=(300, 3))
        truth = new[:, 0] + 1.5 * rng.normal(size=300)
        model = OperatorKernelRegressorCV(cv="items").fit(X, y)
        assert len(np.unique(model.groups_)) == 60
        sets = model.predict_set(new)
        true.append(((model.predict(new) - truth) ** 2).mean())
        by_items.append(-model.best_score_)
        inside.append(((sets.lower <= truth) & (truth <= sets.upper)).mean())
        with pytest.warns(RepeatWarning, match="40 of 100 different rows have the item of an earlier row.*groups="):
            by_rows.append(-OperatorKernelRegressorCV().fit(X, y).best_score_)
    assert np.mean(by_items) == pytest.approx(np.mean(true), rel=0.15)
    assert np.mean(by_rows) < 0.8 * np.mean(true)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)


def test_a_robust_fit_finds_an_item_that_is_wrong_in_both_measurements() -> None:
    X, y = measured_again(60, 0)
    y = X.sum(1) + 0.05 * y
    y[[0, 60]] += 8.0
    found = fit_robust(OperatorKernelRegressorCV(cv="items"), X, y)
    assert np.flatnonzero(found.outlier_score > 1.0).tolist() == [0, 60]


def test_combinations_of_a_few_values_are_no_items_measured_again() -> None:
    rng = np.random.default_rng(0)
    assert repeats_items("vectors", np.tile(rng.normal(size=(6, 2)), (2, 1)))  # of six rows, each measured
    assert not repeats_items("vectors", rng.integers(2, size=(12, 5)).astype(float))
    assert repeats_items("vectors", rng.normal(size=(60, 2)))
    assert not repeats_items("vectors", rng.integers(5, size=(60, 3)).astype(float))
    assert repeats_items("sequences", None)
