"""A weight of two is two equal rows, and a weight of zero is no row, whatever is estimated from the rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, PredefinedSplit

import rkhs
from rkhs import (
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelMap,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.features import FilledTable, Nystroem
from rkhs.kernels import Gaussian, Linear, Polynomial

N, NEW = 24, 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N + NEW, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, 1.0]
TARGETS = np.stack([np.sin(ROWS[:, 0]) + ROWS[:, 2], ROWS[:, 1] * ROWS[:, 0]], axis=1)
WEIGHTS = np.r_[np.zeros(4), RNG.integers(1, 4, N - 4)].astype(float)
WORDS = ["".join(RNG.choice(list("abcd"), 6)) for _ in range(N + NEW)]
TIMES = np.linspace(0.0, 1.0, 12)
CURVES = np.sin(6.0 * TIMES + ROWS[:, :1]) * (1.0 + ROWS[:, 2:])


def _table() -> list[tuple[Any, ...]]:
    cells = [(a, b, str(RNG.choice(["red", "blue", "green"])), c) for a, b, c in ROWS.tolist()]
    for i in (6, 11, 17, 20):
        cells[i] = (None, *cells[i][1:])
    return cells


TABLE = _table()
KINDS: dict[str, Any] = {
    "rows": ROWS,
    "table": TABLE,
    "words": WORDS,
    "curves": CURVES,
    "sparse": scipy.sparse.csr_array(np.where(np.abs(ROWS) > 0.5, ROWS, 0.0)),
    "gram": Gaussian(0.2)(ROWS),
    "views": [Gaussian(0.2)(ROWS), 3.0 * Linear()(ROWS)],
}
GRAM: dict[str, Any] = {"kernel": "precomputed"}
CONFIGURATIONS: list[tuple[str, Any]] = [
    *(("rows", KernelPCA(2, columns=columns)) for columns in ("raw", "scaled", "ranked")),
    ("table", KernelPCA(2, columns="filled")),
    ("rows", KernelPCA(2, loss="huber", columns="scaled")),
    ("rows", KernelPCA(2, kernel=Polynomial(), storage="blocked")),
    ("words", KernelPCA(2, kernel="spectrum")),
    ("sparse", KernelPCA(2)),
    ("gram", KernelPCA(2, **GRAM)),
    ("views", KernelPCA(2, **GRAM)),
    ("rows", KernelPCA(2, kernel=Gaussian(0.2), columns="scaled", storage=Nystroem(100))),
    *(("rows", KernelAutoencoder(2, columns=columns, refine=False)) for columns in ("raw", "scaled")),
    ("rows", KernelAutoencoder(2, columns="scaled", reg=1e-2, loss="huber", refine=False, tol=1e-12)),
    ("table", KernelAutoencoder(2, columns="filled", reg=1e-2, refine=False)),
    ("gram", KernelAutoencoder(2, reg=1e-2, **GRAM, output_kernel="precomputed", refine=False)),
    ("rows", KernelMap(columns="scaled")),
    *(("rows", OperatorKernelRegressor(columns=columns)) for columns in ("raw", "scaled", "ranked")),
    ("rows", OperatorKernelRegressor(Polynomial(), columns="scaled")),
    ("table", OperatorKernelRegressor(columns="filled")),
    ("rows", OperatorKernelRegressor(operator="covariance", reg=1e-2)),
    *(("rows", OperatorKernelRegressor(loss=loss, reg=1e-2, tol=1e-12)) for loss in ("huber", "epsilon_insensitive")),
    ("rows", OperatorKernelRegressor([("gaussian", None), ("linear", np.eye(2))], reg=1e-2, tol=1e-13)),
    ("rows", OperatorKernelRegressor(Gaussian(0.2), reg=1e-2, storage=Nystroem(100))),
    ("words", OperatorKernelRegressor("spectrum")),
    ("gram", OperatorKernelRegressor("precomputed")),
    ("views", OperatorKernelRegressor("precomputed")),
    ("rows", OperatorKernelRegressorCV(columns="scaled")),
    ("rows", OperatorKernelRegressorCV(regs=[0.1, 1e-3], gammas=None, cv=3, columns="scaled")),
    ("rows", InputOutputKernelRegressor(output_kernel="gaussian")),
    ("rows", InputOutputKernelRegressor(loss="huber", reg=1e-2, tol=1e-12)),
    ("gram", InputOutputKernelRegressor("precomputed")),
    *(("curves", FunctionalKernelRegressor(trim=trim, loss="squared", n_basis=3)) for trim in (None, 3.0)),
    ("curves", FunctionalKernelRegressor("gaussian", reg=1e-2, loss="squared", n_basis=3, basis="empirical")),
]


def taken(kind: str, rows: np.ndarray) -> Any:
    """Training items by their numbers."""
    items = KINDS[kind]
    if kind == "views":
        return [K[np.ix_(rows, rows)] for K in items]
    if kind == "gram":
        return items[np.ix_(rows, rows)]
    return [items[i] for i in rows] if isinstance(items, list) else items[rows]


def new(kind: str, rows: np.ndarray) -> Any:
    """New items, as kernel values with the training items where these are read."""
    items, last = KINDS[kind], np.arange(N, N + NEW)
    if kind == "views":
        return [K[np.ix_(last, rows)] for K in items]
    return items[np.ix_(last, rows)] if kind == "gram" else taken(kind, last)


def targets(model: Any, rows: np.ndarray) -> tuple[Any, ...]:
    if not hasattr(type(model), "predict") and not hasattr(type(model), "predict_weights"):
        return ()
    return ((CURVES if isinstance(model, FunctionalKernelRegressor) else TARGETS)[rows],)


def answers(model: Any, items: Any) -> np.ndarray:
    """What a model says of new items, as numbers whose signs do not depend on the order of the rows."""
    if isinstance(model, InputOutputKernelRegressor):
        return np.asarray(model.scores(items, TARGETS[:5]))
    if hasattr(type(model), "predict"):
        return np.asarray(model.predict(items))
    codes = np.asarray(model.transform(items))
    if not hasattr(model, "inverse_transform"):
        return np.abs(codes)
    back = model.inverse_transform(codes)
    if back.dtype == object:
        back = np.array([[0.0 if isinstance(cell, str) else cell for cell in row] for row in back])
    weights = model.kernel_.domain != "vectors" and not isinstance(model, KernelMap)
    return np.hstack([np.abs(codes)] if weights else [np.abs(codes), back.astype(float)])


def fitted(kind: str, model: Any, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    with warnings.catch_warnings(action="ignore"):
        found = clone(model).fit(taken(kind, rows), *targets(model, rows), sample_weight=weights)
    return answers(found, new(kind, rows))


@pytest.mark.parametrize(("kind", "model"), CONFIGURATIONS, ids=repr)
def test_a_weight_of_zero_is_no_row(kind: str, model: Any) -> None:
    every, kept = np.arange(N), np.flatnonzero(WEIGHTS)
    np.testing.assert_array_equal(
        fitted(kind, model, every, WEIGHTS), fitted(kind, model, kept, WEIGHTS[kept]), strict=True
    )
    np.testing.assert_array_equal(fitted(kind, model, every, (WEIGHTS > 0) * 1.0), fitted(kind, model, kept))


@pytest.mark.parametrize(("kind", "model"), CONFIGURATIONS, ids=repr)
def test_a_weight_of_two_is_two_equal_rows(kind: str, model: Any) -> None:
    copies = np.repeat(np.arange(N), WEIGHTS.astype(int))
    by_weight = fitted(kind, model, np.arange(N), WEIGHTS)
    scale = np.abs(by_weight).max()
    np.testing.assert_allclose(fitted(kind, model, copies), by_weight, rtol=0.0, atol=1e-5 * scale)


HOSTILE = ROWS[:N].copy()
HOSTILE[:4] = [[1e8, 1.0, 1.0], [np.nan, 1.0, 1.0], [np.inf, 0.0, 0.0], [-1e300, 1e300, 5.0]]
MARKED = TARGETS[:N].copy()
MARKED[:4] = [[9999999.0, 9999999.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, -1e300]]
ONES = (WEIGHTS > 0) * 1.0
VECTOR_MODELS = [
    KernelPCA(2, columns="scaled"),
    KernelPCA(2, storage=Nystroem(100)),
    KernelAutoencoder(2, columns="scaled", refine=False, max_iter=20),
    KernelMap(),
    OperatorKernelRegressor(columns="scaled"),
    OperatorKernelRegressorCV(),
    InputOutputKernelRegressor(),
    InputOutputKernelRegressor(output_kernel="gaussian"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", VECTOR_MODELS, ids=repr)
def test_what_rows_of_weight_zero_hold_is_never_read(model: Any) -> None:
    y, few = ((), ()) if not targets(model, np.arange(N)) else ((MARKED,), (MARKED[4:],))
    found = clone(model).fit(HOSTILE, *y, sample_weight=ONES)
    without = clone(model).fit(HOSTILE[4:], *few)
    np.testing.assert_array_equal(answers(found, ROWS[N:]), answers(without, ROWS[N:]))


def test_curves_of_weight_zero_may_have_gaps_and_are_then_not_judged() -> None:
    X, Y, weights = CURVES[:N].copy(), CURVES[:N] ** 2, np.ones(N)
    weights[:3], Y[0, 3], X[1, 2], Y[2] = 0.0, np.nan, np.nan, -9.0
    found = FunctionalKernelRegressor(n_basis=3).fit(X, Y, weights)
    few = FunctionalKernelRegressor(n_basis=3).fit(X[3:], Y[3:])
    np.testing.assert_allclose(found.predict(CURVES[N:]), few.predict(CURVES[N:]), rtol=1e-12)
    assert found.outlier_score_ is not None
    assert few.outlier_score_ is not None
    assert np.isnan(found.outlier_score_[:2]).all()
    assert found.outlier_score_[2] > 1.0
    np.testing.assert_allclose(found.outlier_score_[3:], few.outlier_score_)


@pytest.mark.parametrize("make", [OperatorKernelRegressor, OperatorKernelRegressorCV, InputOutputKernelRegressor])
def test_what_a_fit_says_of_rows_has_the_rows_that_were_given(make: Any) -> None:
    loss = {"loss": "epsilon_insensitive"} if make is OperatorKernelRegressor else {}
    with warnings.catch_warnings(action="ignore"):
        found, few = make(**loss).fit(ROWS[:N], TARGETS[:N], ONES), make(**loss).fit(ROWS[4:N], TARGETS[4:N])
    np.testing.assert_array_equal(found.support_, few.support_ + 4)
    np.testing.assert_array_equal(found.support_items_, ROWS[4:N])
    assert found.dual_coef_.shape[0] == N - 4
    if isinstance(found, InputOutputKernelRegressor):
        weights = found.predict_weights(ROWS[N:])
        assert not weights[:, :4].any()
        np.testing.assert_array_equal(weights[:, 4:], few.predict_weights(ROWS[N:]))
    elif isinstance(found, OperatorKernelRegressor):
        assert found.certificates_.shape == (N,)
        assert not found.certificates_[:4].any()
        np.testing.assert_array_equal(found.certificates_[4:], few.certificates_)
        np.testing.assert_array_equal(found.kkt_residuals_[4:], few.kkt_residuals_)


def test_kernel_values_come_with_all_rows_that_were_given() -> None:
    K, L = Gaussian(0.2)(ROWS), Gaussian(1.0)(TARGETS)
    K[:4], K[:, :4], L[:4], L[:, :4] = 7.0, 7.0, np.nan, np.nan
    model = InputOutputKernelRegressor("precomputed", output_kernel="precomputed")
    found = clone(model).fit(K[:N, :N], L[:N, :N], ONES)
    few = clone(model).fit(K[4:N, 4:N], L[4:N, 4:N])
    L = np.nan_to_num(L)
    np.testing.assert_array_equal(found.scores(K[N:, :N], L[N:, :N]), few.scores(K[N:, 4:N], L[N:, 4:N]))
    regressor = OperatorKernelRegressor("precomputed", reg=1e-2)
    found, few = regressor.fit(K[:N, :N], TARGETS[:N, 0], ONES), clone(regressor).fit(K[4:N, 4:N], TARGETS[4:N, 0])
    sets = [
        found.predict_set(K[N:, :N], gram=K[:N, :N], diag=1.0),
        few.predict_set(K[N:, 4:N], gram=K[4:N, 4:N], diag=1.0),
    ]
    np.testing.assert_array_equal(sets[0].lower, sets[1].lower)


@pytest.mark.filterwarnings("ignore::rkhs.errors.EdgeWarning")
def test_groups_and_folds_count_the_rows_that_were_given() -> None:
    groups = np.arange(N) // 3
    found = OperatorKernelRegressor().fit(ROWS[:N], TARGETS[:N], ONES, groups=groups)
    few = OperatorKernelRegressor().fit(ROWS[4:N], TARGETS[4:N], groups=groups[4:])
    assert found.leave_one_out_error_ == few.leave_one_out_error_
    pairs = list(KFold(4, shuffle=True, random_state=0).split(ROWS[:N]))
    few_pairs = [tuple(part[part >= 4] - 4 for part in pair) for pair in pairs]
    fold_of = np.zeros(N, dtype=int)
    for number, (_, test) in enumerate(pairs):
        fold_of[test] = number
    cross: dict[str, Any] = {"regs": [0.1, 1e-2, 1e-3], "gammas": None}
    expected = OperatorKernelRegressorCV(cv=few_pairs, **cross).fit(ROWS[4:N], TARGETS[4:N])
    for cv in (pairs, PredefinedSplit(fold_of)):
        other = OperatorKernelRegressorCV(cv=cv, **cross).fit(ROWS[:N], TARGETS[:N], ONES)
        np.testing.assert_array_equal(other.cv_errors_, expected.cv_errors_)
    idle = [(np.arange(4), np.arange(4, N)), (np.arange(4, 12), np.arange(12, N))]
    with pytest.raises(rkhs.errors.InputError, match="zero for all training rows, or all held-out rows, of fold 0"):
        OperatorKernelRegressorCV(cv=idle, **cross).fit(ROWS[:N], TARGETS[:N], ONES)


def test_the_warning_of_one_column_is_that_of_weighted_rows() -> None:
    X = ROWS[:N] / ROWS[:N].std(0)
    X[0, 0], weights = 100.0, np.ones(N)
    with pytest.warns(rkhs.errors.ColumnWarning):
        KernelPCA(2).fit(X)
    for small in (0.0, 1e-6):
        weights[0] = small
        with warnings.catch_warnings(action="error", category=rkhs.errors.ColumnWarning):
            KernelPCA(2).fit(X, sample_weight=weights)


@pytest.mark.parametrize("numbers", ["standard", "ranks"])
def test_a_table_of_weighted_rows_is_that_of_repeated_ones(numbers: Any) -> None:
    counts = RNG.integers(1, 4, N)
    by_weight = FilledTable(numbers=numbers).fit(TABLE[:N], sample_weight=counts)
    copied = FilledTable(numbers=numbers).fit([TABLE[i] for i in np.repeat(np.arange(N), counts)])
    np.testing.assert_allclose(by_weight.transform(TABLE), copied.transform(TABLE), atol=1e-12)
    with pytest.raises(rkhs.errors.InputError, match="must be 24 positive numbers"):
        FilledTable().fit(TABLE[:N], sample_weight=np.zeros(N))
