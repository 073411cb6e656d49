"""Regression that chooses for itself: metric, kernel, leaves, sets, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rkhs
from rkhs import OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs._core.errors import InputError
from rkhs.features import Leaves
from rkhs.kernels import Gaussian, MappedInputs

LEAVES = Leaves(160, 20)


def friedman(n: int, seed: int = 0, columns: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + rng.normal(size=n)


X, Y = friedman(300)
NEW, TRUE = friedman(500, 1)
FITTED = OperatorKernelRegressorCV().fit(X, Y)


def test_the_default_learns_weights_of_columns_and_predicts_better_with_them() -> None:
    plain = OperatorKernelRegressorCV(metric=None).fit(X, Y)
    assert (FITTED.metric_, plain.metric_) == ("columns", None)
    assert 1.0 - FITTED.score(NEW, TRUE) < 0.7 * (1.0 - plain.score(NEW, TRUE))
    assert FITTED.importances_[:5].sum() > 0.95
    assert -FITTED.best_score_ == pytest.approx(((FITTED.predict(NEW) - TRUE) ** 2).mean(), rel=0.4)


@pytest.mark.parametrize("metric", ["columns", "full"])
def test_a_metric_that_is_asked_for_is_the_only_one_compared(metric: Any) -> None:
    kinds = {name.split(",")[0] for name in OperatorKernelRegressorCV(metric=metric).fit(X, Y).metric_errors_}
    assert kinds <= {"none", "scaled", metric}


@pytest.mark.parametrize("given", [{"kernel": "gaussian"}, {"regs": [1e-3]}, {"cv": 3}, {"loss": "huber"}], ids=str)
def test_what_is_given_is_obeyed_by_a_grid(given: dict[str, Any]) -> None:
    model = OperatorKernelRegressorCV(**given).fit(X[:60], Y[:60])
    assert not hasattr(model, "metric_")
    with pytest.raises(InputError, match="metric='full' needs kernel='auto'"):
        OperatorKernelRegressorCV(metric="full", **given).fit(X[:60], Y[:60])


def test_gaps_and_sparse_rows_are_fitted_as_before() -> None:
    import scipy.sparse

    gaps = np.stack([Y, Y], 1)
    gaps[3, 0] = np.nan
    with pytest.warns(UserWarning, match="1 gaps"):
        assert not hasattr(OperatorKernelRegressorCV().fit(X, gaps), "metric_")
    assert not hasattr(OperatorKernelRegressorCV().fit(scipy.sparse.csr_matrix(X[:50]), Y[:50]), "metric_")


def test_groups_stay_together() -> None:
    groups = np.arange(300) % 60
    model = OperatorKernelRegressorCV().fit(X, Y, groups=groups)
    folds = model._folds_of_metric()
    assert folds is not None
    assert all(len(np.unique(folds.fold[groups == g])) == 1 for g in range(60))


def test_sets_of_a_learned_metric_are_those_of_machines_that_have_not_seen_a_row() -> None:
    sets, folds = FITTED.predict_set(NEW), FITTED.fold_machines_
    assert sets.guarantee == "about"
    assert sets.contains(TRUE).mean() > 0.87
    predicted = folds.predictions(torch.as_tensor(NEW[:3]), torch.as_tensor(X))[:, :, 0]
    reach, rank = np.abs(folds.residuals[:, 0]), int(np.ceil(0.9 * 301))
    for j in range(3):
        places = predicted[folds.fold, j]
        np.testing.assert_allclose(sets.upper[j], np.sort(places + reach)[rank - 1])
        np.testing.assert_allclose(sets.lower[j], -np.sort(reach - places)[rank - 1])
    i = 7
    kept = np.flatnonzero(folds.fold != folds.fold[i])
    kernel, at = folds.kernels[folds.fold[i]], torch.as_tensor(X)
    G = kernel._gram(at[kept]) + torch.eye(len(kept)) * float(folds.ridges[folds.fold[i]])
    mean = Y[kept].mean()
    value = kernel._gram(at[[i]], at[kept]) @ torch.linalg.solve(G, torch.as_tensor(Y[kept] - mean))
    assert folds.residuals[i, 0] == pytest.approx(Y[i] - float(value[0]) - mean, abs=1e-6)


def test_p_values_of_a_learned_metric_are_uniform_at_most_and_find_what_is_far() -> None:
    p = FITTED.p_values(NEW)
    assert (p <= 0.1).mean() < 0.13
    assert FITTED.p_values(NEW[:5] + 3.0).max() < 0.01


def test_balls_and_boxes_of_several_outputs_hold_them_together() -> None:
    model = OperatorKernelRegressorCV().fit(X, np.stack([Y, 3.0 * X[:, 0] + 0.1 * Y], 1))
    truth = np.stack([TRUE, 3.0 * NEW[:, 0] + 0.1 * TRUE], 1)
    for shape in ("box", "ball", "ellipsoid"):
        assert model.predict_set(NEW, shape=shape).contains(truth).mean() > 0.87


def test_a_file_holds_the_metric_and_the_machines_of_its_sets(tmp_path: Path) -> None:
    FITTED.predict_set(NEW[:1])
    rkhs.save(FITTED.estimator_, tmp_path / "m.rkhs")
    loaded = rkhs.load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(loaded.predict(NEW), FITTED.predict(NEW))
    np.testing.assert_array_equal(loaded.predict_set(NEW).upper, FITTED.predict_set(NEW).upper)


@pytest.fixture(scope="module")
def in_leaves() -> OperatorKernelRegressor:
    weights = np.random.default_rng(3).random(300) + 0.5
    return OperatorKernelRegressor(Gaussian(0.5), reg=1e-3, storage=LEAVES).fit(X, Y, sample_weight=weights)


def test_weights_of_leaves_sum_to_one_and_products_are_those_of_raw_features(in_leaves: Any) -> None:
    features, new = in_leaves.map_, torch.as_tensor(NEW)
    raw, C = features.raw(new), torch.as_tensor(in_leaves.dual_coef_.copy())
    count = len(features.starts) - 1
    torch.testing.assert_close(raw[:, -count:].sum(1), torch.ones(500, dtype=torch.float64))
    torch.testing.assert_close(features.times(new, C), raw @ C)
    step = in_leaves.predict(NEW + 1e-7) - in_leaves.predict(NEW)
    assert np.abs(step).max() < 1e-3  # continuous across cuts


def refitted_residual(model: Any, rows: np.ndarray, y: np.ndarray, w: np.ndarray, i: int) -> float:
    """The residual of row i by machines of the leaves that count there, each fitted without it."""
    features, at = model.map_, torch.as_tensor(rows)
    predicted = 0.0
    for leaf, inside, share in features.tree(at).parts(at[[i]]):
        assert inside.tolist() == [0]
        own = [r for r in features.in_leaf(leaf) if r != i]
        mean = np.average(y[own], weights=w[own])
        C = np.linalg.solve(model.map_.kernel(rows[own]) + np.diag(model.reg_ / w[own]), y[own] - mean)
        predicted += float(share[0]) * (float(model.map_.kernel(rows[[i]], rows[own])[0] @ C) + mean)
    return float(y[i] - predicted)


def test_left_out_rows_of_leaves_are_those_of_refits(in_leaves: Any) -> None:
    weights = np.random.default_rng(3).random(300) + 0.5
    for i in (0, 100, 250):
        expected = refitted_residual(in_leaves, X, Y, weights / weights.sum(), i)
        assert in_leaves.model_.left_out[i, 0] == pytest.approx(expected, abs=1e-8)


def test_many_rows_are_fitted_in_leaves_and_their_sets_are_as_wide_as_the_noise(
    monkeypatch: Any, tmp_path: Path
) -> None:
    from rkhs.estimators import operator_regressor
    from rkhs.estimators.regression import rule

    for module in (operator_regressor, rule):
        monkeypatch.setattr(module, "MOST_DENSE_ROWS", 2500)
    many, targets = friedman(3000, 2)
    plain = OperatorKernelRegressor().fit(many, targets)
    model = OperatorKernelRegressorCV().fit(many, targets)
    for one in (plain, model):
        assert len(one.map_.starts) - 1 == 4
        sets = one.predict_set(NEW)
        assert sets.contains(TRUE).mean() == pytest.approx(0.9, abs=0.04)
        assert one.predict(NEW[:9], return_std=True)[1].shape == (9,)
    assert np.median(model.predict_set(NEW).upper - model.predict_set(NEW).lower) < 1.15 * 3.29
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").predict_set(NEW).upper, model.predict_set(NEW).upper)


def test_leaves_are_refused_where_they_mean_nothing() -> None:
    with pytest.raises(InputError, match=r"storage=Leaves\(\) needs the squared loss"):
        OperatorKernelRegressor(loss="huber", storage=LEAVES).fit(X, Y)
    with pytest.raises(InputError, match=r"storage=Leaves\(.*needs kernel='auto'"):
        OperatorKernelRegressorCV("gaussian", storage=LEAVES).fit(X, Y)
    with pytest.raises(InputError, match=r"Leaves\.size must be at least four times"):
        OperatorKernelRegressor(storage=Leaves(100, 50)).fit(X, Y)
    with pytest.raises(InputError, match="storage of KernelPCA must be one of"):
        rkhs.KernelPCA(storage=LEAVES).fit(X)


def test_a_plan_says_what_is_chosen_and_how() -> None:
    text = str(OperatorKernelRegressorCV().plan(X, Y))
    assert "metric = by three folds" in text
    assert "5.1 matrices of n x n" in text


def test_a_map_needs_a_matrix_of_the_columns() -> None:
    for W in (np.ones((2, 1)), np.zeros((10, 2)), np.full((10, 1), np.inf)):
        with pytest.raises(InputError, match=r"MappedInputs\.W must be a finite matrix with 10 rows"):
            MappedInputs(Gaussian(1.0), W)(X)


def test_rows_that_tie_on_a_cut_are_left_out_of_the_leaves_that_have_seen_them() -> None:
    rng = np.random.default_rng(5)
    tied = rng.integers(0, 3, (400, 2)).astype(float)
    y = tied[:, 0] + 0.1 * rng.normal(size=400)
    model = OperatorKernelRegressor(Gaussian(1.0), reg=1e-2, storage=Leaves(120, 10)).fit(tied, y)
    at = torch.as_tensor(tied)
    parts = [(model.map_.in_leaf(leaf), inside.numpy()) for leaf, inside, _ in model.map_.tree(at).parts(at)]
    unseen = np.unique(np.concatenate([np.setdiff1d(inside, own) for own, inside in parts]))
    assert len(unseen) > 5
    for i in unseen[:5]:
        expected = refitted_residual(model, tied, y, np.full(400, 1.0 / 400), int(i))
        assert model.model_.left_out[i, 0] == pytest.approx(expected, abs=1e-8)
    with pytest.raises(InputError, match="p_values compares a row with all others"):
        model.p_values(tied[:2])


def test_groups_are_left_out_of_leaves_together() -> None:
    rng, groups = np.random.default_rng(6), np.arange(600) // 6
    effect = rng.normal(size=100)[groups]
    rows = rng.normal(size=(100, 2))[groups] + 0.01 * rng.normal(size=(600, 2))
    y = effect + 0.1 * rng.normal(size=600)
    alone, together = (
        OperatorKernelRegressor(Gaussian(20.0), reg=1e-3, storage=Leaves(200, 20)).fit(rows, y, groups=one)
        for one in (None, groups)
    )
    assert (together.model_.left_out**2).mean() > 3.0 * (alone.model_.left_out**2).mean()


def test_repeated_items_are_left_out_of_leaves_together_by_the_rule() -> None:
    rng = np.random.default_rng(7)
    items = np.repeat(rng.normal(size=(150, 2)), 4, axis=0)
    y = np.repeat(rng.normal(size=150), 4) + 0.05 * rng.normal(size=600)
    weights = np.ones(600)
    weights[::40] = 0.0
    by_items, weighted = (
        OperatorKernelRegressorCV(cv="items", metric=None, storage=Leaves(250, 20)).fit(items, y, sample_weight=w)
        for w in (None, weights)
    )
    labels = np.repeat(np.arange(150), 4)
    for one, w in ((by_items, None), (weighted, weights)):
        plain = OperatorKernelRegressor(one.kernel_, reg=one.reg_, storage=Leaves(250, 20))
        together, alone = (
            plain.fit(items, y, sample_weight=w, groups=groups).model_.left_out for groups in (labels, None)
        )
        np.testing.assert_allclose(one.model_.left_out, together)
        assert np.abs(together - alone).max() > 1e-3


def test_sets_of_leaves_with_weights_need_other_rows(in_leaves: Any) -> None:
    with pytest.raises(InputError, match="this model has sample weights"):
        in_leaves.predict_set(NEW)
    with pytest.raises(InputError, match="this model has sample weights"):
        in_leaves.predict(NEW, return_std=True)
    assert in_leaves.predict_set(NEW[:100], held_out=(NEW[100:], TRUE[100:])).guarantee == "at least"
