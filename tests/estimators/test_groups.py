"""Rows that are left out together where ``reg="auto"`` is chosen."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
import sklearn
import torch
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_validate

from rkhs import InputOutputKernelRegressor, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear
from rkhs.selection.operator_path import left_out_path

REGS = np.logspace(0.0, -8.0, 17)


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Persons of one to seven rows, which share a shift of inputs and of outputs."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(10), [1, 2, 3, 4, 5, 6, 7, 1, 2, 3])[rng.permutation(34)]
    X = rng.normal(size=(10, 2))[groups] + 0.1 * rng.normal(size=(34, 2))
    Y = np.stack([np.sin(X[:, 0]), X[:, 1], X[:, 0]], 1) + rng.normal(size=(10, 3))[groups]
    return X, Y - Y.mean(0), groups


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("eigenvalues", [(1.0, 1.0, 1.0), (1.0, 0.3, 0.3), (0.5, 0.2, 0.0)])
def test_residuals_are_those_of_fits_without_each_group(eigenvalues: tuple[float, ...], weighted: bool) -> None:
    X, Y, groups = made()
    K, w = Gaussian(0.4)(X), np.random.default_rng(1).uniform(0.5, 2.0, 34) if weighted else np.ones(34)
    w = w / w.sum()
    values = torch.tensor(eigenvalues, dtype=torch.float64)
    weights = torch.as_tensor(w) if weighted else None
    path = left_out_path(torch.as_tensor(K), torch.as_tensor(Y), values, [1e-1, 1e-5], weights, None, groups)
    for reg, (residuals, coefs) in zip([1e-1, 1e-5], path, strict=True):
        for j, a in enumerate(eigenvalues):
            for g in range(10):
                out, rest = groups == g, groups != g
                C = np.linalg.solve(a * K[rest][:, rest] + reg * np.diag(1.0 / w[rest]), Y[rest, j])
                expected = Y[out, j] - a * K[out][:, rest] @ C
                np.testing.assert_allclose(residuals[out, j], expected, rtol=1e-8, atol=1e-8)
            whole = np.linalg.solve(a * K + reg * np.diag(1.0 / w), Y[:, j])
            np.testing.assert_allclose(coefs[:, j], whole, rtol=1e-6, atol=1e-8)


@cache
def refit_errors(weighted: bool) -> list[float]:
    """Errors of all ``REGS`` on each group, of kernel ridge regression on the other groups."""
    (X, Y, groups), kernel = made(), Gaussian(0.4)
    w = np.random.default_rng(1).integers(0, 3, 34) if weighted else np.ones(34, dtype=int)
    errors = []
    for reg in REGS:
        missed = 0.0
        for g in np.unique(groups):
            out, rest = (groups == g) & (w > 0), (groups != g) & (w > 0)
            if out.any():
                ridge = np.diag(reg * w.sum() / w[rest])
                dual = np.linalg.solve(kernel(X[rest]) + ridge, Y[rest])
                missed += w[out] @ ((kernel(X[out], X[rest]) @ dual - Y[out]) ** 2).sum(1)
        errors.append(missed / (w @ (Y**2).sum(1)))
    return errors


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "weighted"),
    [
        *[(OperatorKernelRegressor, True), (InputOutputKernelRegressor, False)],
        pytest.param(OperatorKernelRegressor, False, marks=pytest.mark.slow),
        pytest.param(InputOutputKernelRegressor, True, marks=pytest.mark.slow),
    ],
)
def test_the_choice_is_that_of_refits_without_each_group(kind: Any, weighted: bool) -> None:
    X, Y, groups = made()
    w = np.random.default_rng(1).integers(0, 3, 34) if weighted else np.ones(34, dtype=int)
    names = np.array([f"person {g}" for g in groups], dtype=object)
    model = kind(Gaussian(0.4), center=False).fit(X, Y, w if weighted else None, groups=names)
    errors = refit_errors(weighted)
    assert model.reg_ == pytest.approx(REGS[np.argmin(errors)])
    assert model.leave_one_out_error_ == pytest.approx(min(errors), rel=1e-8)
    assert model.reg_ > kind(Gaussian(0.4), center=False).fit(X, Y).reg_  # rows of a person say much of each other


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")  # of noise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("operator", [None, np.diag([1.0, 0.3, 0.3])], ids=["identity", "matrix"])
def test_the_search_leaves_groups_out_as_refits_do(operator: Any, weighted: bool) -> None:
    X, Y, groups = made()
    w = np.random.default_rng(1).integers(0, 3, 34) if weighted else np.ones(34, dtype=int)
    names = np.array([f"person {g}" for g in groups], dtype=object)
    settings: dict[str, Any] = {"kernel": Gaussian(0.4), "operator": operator}
    search = OperatorKernelRegressorCV(**settings, regs=[1e-3, 1e-1]).fit(X, Y + 3.0, w, groups=names)
    errors, masses = np.empty((2, 10)), np.array([w[groups == g].sum() for g in range(10)])
    for (i, reg), g in itertools.product(enumerate([1e-3, 1e-1]), range(10)):
        out, rest = (groups == g) & (w > 0), (groups != g) & (w > 0)
        without = OperatorKernelRegressor(**settings, reg=reg).fit(X[rest], Y[rest] + 3.0, w[rest])
        squares = ((without.predict(X[out]) - Y[out] - 3.0) ** 2).sum(1)
        errors[i, g] = w[out] @ squares / masses[g] if masses[g] else 0.0
    found = search.cv_errors_[0, :, 0]
    np.testing.assert_allclose(np.sort(found), np.sort(errors[:, masses > 0]), rtol=1e-8)
    assert search.best_score_ == pytest.approx(-(errors @ masses / masses.sum()).min())
    assert search.reg_ == [1e-3, 1e-1][np.argmin(errors @ masses)]


@pytest.mark.parametrize("settings", [{"cv": 3}, {"loss": "huber"}], ids=str)
def test_groups_beside_folds_of_the_search_are_refused(settings: dict[str, Any]) -> None:
    X, Y, groups = made()
    with pytest.raises(InputError, match="groups must not be given here"):
        OperatorKernelRegressorCV(**settings).fit(X, Y, groups=groups)


def test_groups_of_one_row_are_rows_left_out_in_turn() -> None:
    X, Y, _ = made()
    for kernel, operator in ((Gaussian(0.4), None), (Gaussian(0.4), "covariance")):
        one, other = (
            OperatorKernelRegressor(kernel, operator=operator).fit(X, Y, groups=groups) for groups in (None, range(34))
        )
        assert other.reg_ == one.reg_
        assert other.leave_one_out_error_ == pytest.approx(one.leave_one_out_error_, rel=1e-9)


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (np.arange(33), r"groups must have shape \(34,\), one label per row of X; got \(33,\)"),
        (np.zeros(34), "at least 2 groups of rows of positive weight; got 1"),
        ([None] * 34, "at least 2 groups"),
        (np.zeros((34, 2)), r"got \(34, 2\)"),
    ],
)
def test_groups_that_cannot_be_left_out_are_refused(groups: Any, match: str) -> None:
    X, Y, _ = made()
    with pytest.raises(InputError, match=match):
        OperatorKernelRegressor().fit(X, Y, groups=groups)


def test_groups_count_where_they_have_weight() -> None:
    X, Y, groups = made()
    with pytest.raises(InputError, match="got 1"):
        OperatorKernelRegressor().fit(X, Y, (groups == 4).astype(float), groups=groups)


@pytest.mark.parametrize(
    ("settings", "gap"),
    [
        ({"reg": 0.1}, False),
        ({"loss": "huber"}, False),
        ({"storage": Nystroem(10)}, False),
        ({"kernel": [(Gaussian(0.4), None), (Linear(), None)]}, False),
        ({}, True),
    ],
)
def test_groups_beside_a_choice_without_closed_form_are_refused(settings: dict[str, Any], gap: bool) -> None:
    X, Y, groups = made()
    Y[0, 0] = np.nan if gap else Y[0, 0]
    with pytest.raises(InputError, match="groups must not be given here"):
        OperatorKernelRegressor(**settings).fit(X, Y, groups=groups)


def test_cross_validation_of_scikit_learn_hands_groups_on() -> None:
    X, Y, groups = made()
    with sklearn.config_context(enable_metadata_routing=True):
        model = OperatorKernelRegressor(Gaussian(0.4)).set_fit_request(groups=True)
        found = cross_validate(model, X, Y, cv=2, params={"groups": groups}, return_estimator=True)
    expected = OperatorKernelRegressor(Gaussian(0.4)).fit(X[17:], Y[17:], groups=groups[17:])
    assert found["estimator"][0].leave_one_out_error_ == expected.leave_one_out_error_


PARTS = [*(np.flatnonzero(made()[2] == g) for g in range(10)), np.array([34])]


def with_new(x: np.ndarray, reg: float) -> np.ndarray:
    """The inverse of the regularised Gram matrix with a new row, constants projected out."""
    P = np.linalg.inv(Gaussian(0.4)(np.vstack([made()[0], x])) + 34 * reg * np.eye(35))
    return P - np.outer(P.sum(1), P.sum(1)) / P.sum()


def is_member(A: np.ndarray, targets: np.ndarray, alpha: float, *, metric: bool) -> bool:
    """Whether the p-value of the last target, each row without its group, is above ``alpha``, by its definition."""
    G, scores = np.linalg.inv(targets.T @ A @ targets) if metric else np.eye(targets.shape[1]), np.empty(35)
    for rows in PARTS:
        V = np.linalg.inv(A[np.ix_(rows, rows)])
        residuals = V @ A[rows] @ targets
        scores[rows] = ((residuals @ G) * residuals).sum(1) / np.diag(V)
    larger = scores[:-1] >= scores[-1] * (1.0 - 1e-9)
    return (1.0 + sum(larger[rows].mean() for rows in PARTS[:-1])) / len(PARTS) > alpha + 1e-9


def test_an_interval_leaves_each_row_out_with_its_group() -> None:
    X, Y, groups = made()
    model = OperatorKernelRegressor(Gaussian(0.4)).fit(X, Y[:, 0], groups=groups)
    new = np.random.default_rng(5).normal(size=(2, 2))
    sets = model.predict_set(new, coverage=0.7)
    assert (sets.guarantee, sets.scope) == ("about", "items")
    for x, low, high in zip(new, sets.lower, sets.upper, strict=True):
        A, grid = with_new(x, model.reg_), np.linspace(1.2 * low - 0.2 * high, 1.2 * high - 0.2 * low, 301)
        inside = [is_member(A, np.append(Y[:, 0], y)[:, None], 0.3, metric=False) for y in grid]
        assert grid[inside][[0, -1]] == pytest.approx([low, high], abs=grid[1] - grid[0])


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", ["ball", "ellipsoid"])
def test_balls_hold_the_sets_without_groups_of_each_row(shape: Any) -> None:
    X, Y, groups = made()
    model = OperatorKernelRegressor(Gaussian(0.4)).fit(X, Y[:, :2], groups=groups)
    sets = model.predict_set(x := np.array([[0.3, -0.2]]), coverage=0.7, shape=shape)
    angles = np.linspace(0.0, 2.0 * np.pi, 60)
    directions = np.stack([np.cos(angles), np.sin(angles)], 1)
    if sets.metric is not None:
        directions = directions @ np.linalg.inv(np.linalg.cholesky(sets.metric))
    A, members = with_new(x, model.reg_), []
    for size in (0.5, 0.95, 1.001, 1.2):
        outputs = sets.center + size * sets.radius * directions
        found = [is_member(A, np.vstack([Y[:, :2], y]), 0.3, metric=shape == "ellipsoid") for y in outputs]
        members.append(np.mean(found))
    assert members[0] == 1.0
    assert members[2:] == [0.0, 0.0]
    assert members[1] > 0.0


def test_a_p_value_compares_variances_without_groups() -> None:
    X, Y, groups = made()
    model = OperatorKernelRegressor(Gaussian(0.4)).fit(X, Y[:, 0], groups=groups)
    new = 1.5 * np.random.default_rng(6).normal(size=(12, 2))
    expected = []
    for x in new:
        A, variances = with_new(x, model.reg_), np.empty(35)
        for rows in PARTS:
            variances[rows] = np.diag(np.linalg.inv(A[np.ix_(rows, rows)]))
        expected.append((1.0 + sum((variances[rows] >= variances[34]).mean() for rows in PARTS[:-1])) / 11.0)
    np.testing.assert_allclose(model.p_values(new), expected)
    assert len({*expected}) > 3


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")  # of noise
def test_settings_that_other_groups_chose_leave_out_the_group() -> None:
    X, Y, groups = made()
    model = OperatorKernelRegressorCV(Gaussian(0.4), regs=[0.01]).fit(X, Y, groups=groups)
    residuals = model.nested_residuals(X, Y)
    assert residuals is not None
    for g in range(10):
        without = OperatorKernelRegressor(Gaussian(0.4), reg=0.01).fit(X[groups != g], Y[groups != g])
        np.testing.assert_allclose(residuals[groups == g], Y[groups == g] - without.predict(X[groups == g]), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("splitter", [GroupKFold(4), LeaveOneGroupOut()], ids=repr)
def test_a_splitter_gets_the_groups(splitter: Any, loss: Any) -> None:
    X, Y, groups = made()
    for labels in (groups, np.array([f"person {g}" for g in groups])):
        found = OperatorKernelRegressorCV(cv=splitter, loss=loss).fit(X, Y, groups=labels)
        pairs = list(splitter.split(X, Y, groups))
        given = OperatorKernelRegressorCV(cv=pairs, loss=loss).fit(X, Y)
        np.testing.assert_array_equal(found.cv_errors_, given.cv_errors_)
        assert found.reg_ == given.reg_
    with pytest.warns(UserWarning, match="The groups parameter is ignored by KFold"):
        assert OperatorKernelRegressorCV(cv=KFold(3)).fit(X, Y, groups=groups).cv_errors_.shape[-1] == 3


def test_sets_after_a_splitter_leave_out_groups_as_those_of_closed_form() -> None:
    X, Y, groups = made()
    found = OperatorKernelRegressorCV("gaussian", regs=[1e-1], cv=GroupKFold(4)).fit(X, Y[:, 0], groups=groups)
    given = OperatorKernelRegressorCV("gaussian", regs=[1e-1]).fit(X, Y[:, 0], groups=groups)
    if found.gamma_ != given.gamma_:
        given = OperatorKernelRegressorCV("gaussian", regs=[1e-1], gammas=[found.gamma_]).fit(X, Y[:, 0], groups=groups)
    sets, expected = found.predict_set(X[:4] + 0.1, coverage=0.6), given.predict_set(X[:4] + 0.1, coverage=0.6)
    np.testing.assert_allclose(sets.upper, expected.upper)


def test_messages_on_groups_and_splitters_name_the_way() -> None:
    X, Y, groups = made()
    with pytest.raises(InputError, match=r"pass fit\(X, y, groups=groups\)"):
        OperatorKernelRegressorCV(cv=GroupKFold(4)).fit(X, Y)
    with pytest.raises(InputError, match=r"groups must have shape \(34,\)"):
        OperatorKernelRegressorCV(cv=GroupKFold(4)).fit(X, Y, groups=groups[:5])
    for cv in (4, list(GroupKFold(4).split(X, Y, groups))):
        with pytest.raises(InputError, match=r"with a splitter too, such as cv=GroupKFold\(5\)"):
            OperatorKernelRegressorCV(cv=cv).fit(X, Y, groups=groups)
