"""``fit_robust`` of regressors: wrong targets are left out, right ones stay, errors are those of fits without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from rkhs import (
    InputOutputKernelRegressor,
    KernelAutoencoder,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
    fit_robust,
)
from rkhs._core.errors import GapWarning, InputError
from rkhs.estimators.robust_fit import pair_errors
from rkhs.kernels import Gaussian, Linear, Spectrum

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(80, 2))
CLEAN = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2]) + 0.05 * RNG.normal(size=(80, 2))
BAD = np.array([3, 20, 41, 42, 60, 77])
Y = CLEAN.copy()
Y[BAD] += 6.0
NEW = RNG.uniform(-2.0, 2.0, size=(200, 2))
TRUTH = np.column_stack([np.sin(2.0 * NEW[:, 0]), NEW[:, 1] ** 2])


def machine() -> OperatorKernelRegressor:
    return OperatorKernelRegressor(Gaussian(0.5), reg=1e-4)


def test_wrong_targets_are_left_out_and_the_model_is_that_of_the_others() -> None:
    found = fit_robust(machine(), X, Y)
    good = found.inliers
    assert not good[BAD].any()
    assert (~good).sum() <= len(BAD) + 1  # a right row in a corner, which the others do not predict
    np.testing.assert_allclose(found.model.predict(NEW), machine().fit(X[good], Y[good]).predict(NEW))
    error = ((found.model.predict(NEW) - TRUTH) ** 2).mean()
    assert error < 0.1 * ((machine().fit(X, Y).predict(NEW) - TRUTH) ** 2).mean()
    assert found.settled


def test_scores_are_errors_of_fits_that_have_not_seen_the_row() -> None:
    found = fit_robust(machine(), X, Y)
    inside = np.flatnonzero(found.inliers)
    roots = np.zeros(len(X))
    for train, test in KFold(5, shuffle=True, random_state=0).split(inside):
        model = machine().fit(X[inside[train]], Y[inside[train]])
        roots[inside[test]] = np.linalg.norm(model.predict(X[inside[test]]) - Y[inside[test]], axis=1)
    out = ~found.inliers
    roots[out] = np.linalg.norm(found.model.predict(X[out]) - Y[out], axis=1)
    np.testing.assert_allclose(found.outlier_score * found.threshold, roots, rtol=1e-9)
    np.testing.assert_allclose(found.score_items(X[BAD], Y[BAD]), roots[BAD] / found.threshold, rtol=1e-9)


def test_nothing_is_left_out_of_clean_data_nor_where_it_does_no_harm() -> None:
    assert fit_robust(machine(), X, CLEAN).inliers.all()
    y = CLEAN[:, 0].copy()
    y[5] += 6.0  # found, but the mean of all hardly sees it
    flat = fit_robust(Ridge(1e6), X, y)
    assert flat.outlier_score[5] > 1.0
    assert flat.inliers.all()


def test_regressors_of_scikit_learn_lists_of_objects_and_structured_outputs() -> None:
    y = X @ [1.0, -2.0]
    y[BAD] += 50.0
    np.testing.assert_array_equal(np.flatnonzero(~fit_robust(Ridge(1e-3), X, y).inliers), BAD)
    words = ["".join(RNG.choice(list("AC"), size=12)) for _ in range(60)]
    counts = np.array([word.count("A") for word in words]) + RNG.normal(size=60)
    counts[[4, 9]] += 100.0
    found = fit_robust(OperatorKernelRegressor(Spectrum(1), reg=1e-6), words, counts)
    np.testing.assert_array_equal(np.flatnonzero(~found.inliers), [4, 9])
    model = InputOutputKernelRegressor(Gaussian(0.5), output_kernel=Linear(), reg=1e-4)
    found = fit_robust(model, X, Y)
    assert set(BAD) <= set(np.flatnonzero(found.outlier_score > 1.0))
    predicted = found.model.predict_weights(X[:3]) @ Y[found.inliers]
    np.testing.assert_allclose(pair_errors(found.model, X[:3], Y[:3]), ((predicted - Y[:3]) ** 2).sum(1), atol=1e-9)


def test_unknown_targets_have_no_error() -> None:
    gapped = Y.copy()
    gapped[::4, 1] = np.nan
    with pytest.warns(GapWarning, match="gaps"):
        found = fit_robust(machine(), X, gapped)
    assert set(BAD) <= set(np.flatnonzero(~found.inliers))


@pytest.mark.parametrize(
    ("model", "rows", "y", "said"),
    [
        (KernelAutoencoder(2), X, Y, "must be a regressor where y is given"),
        (machine(), X, None, "or a regressor with y"),
        (machine(), X, Y[:5], "one row per item of X, 80; got 5"),
        (machine(), X[:8], Y[:8], "at least 10 items"),
        (OperatorKernelRegressor("precomputed"), X @ X.T, Y, "kernel='precomputed'"),
    ],
)
def test_what_is_refused(model: Any, rows: Any, y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fit_robust(model, rows, y)


def test_scores_of_items_need_their_targets() -> None:
    found = fit_robust(machine(), X, Y)
    with pytest.raises(InputError, match="y must hold the targets"):
        found.score_items(X)


def test_kernel_values_of_objects_are_computed_once_for_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    items = ["".join(rng.choice(list("ABCD"), 12)) for _ in range(60)]
    y = np.array([text.count("A") for text in items]) + 0.01 * rng.normal(size=60)
    y[[3, 20]] += 9.0
    counted: list[int] = []
    features = Spectrum._features
    monkeypatch.setattr(Spectrum, "_features", lambda self, X: counted.append(len(X)) or features(self, X))
    found = fit_robust(OperatorKernelRegressorCV(Spectrum(2), regs=[1e-3]), items, y)
    assert sum(counted) <= 3 * len(items)  # all of them, and those of the last fit
    assert not found.inliers[[3, 20]].any()
    good = np.flatnonzero(found.inliers)
    alone = OperatorKernelRegressor(Spectrum(2), reg=1e-3).fit([items[i] for i in good], y[good])
    np.testing.assert_array_equal(found.model.predict(items), alone.predict(items))
    train, test = next(KFold(5, shuffle=True, random_state=0).split(good))
    part = OperatorKernelRegressor(Spectrum(2), reg=1e-3).fit([items[i] for i in good[train]], y[good[train]])
    errors = np.abs(part.predict([items[i] for i in good[test]]) - y[good[test]])
    np.testing.assert_allclose(found.outlier_score[good[test]] * found.threshold, errors, rtol=1e-9)
