"""Targets with gaps: OperatorKernelRegressor and OperatorKernelRegressorCV where y holds NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_linnerud

import rkhs
from rkhs import OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs.errors import GapWarning, InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.problems.gapped_ridge import GappedRidge

X, Y = load_linnerud(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
GAPS = Y.copy()
GAPS[::3, 0] = np.nan
GAPS[1:8, 2] = np.nan
GAPS[4] = np.nan  # a row of which nothing is known
KNOWN = ~np.isnan(GAPS)
WEIGHTS = np.linspace(0.0, 2.0, len(X))  # the first row does not count
MODEL = OperatorKernelRegressor(Gaussian(0.3), reg=0.05)
pytestmark = pytest.mark.filterwarnings("ignore::rkhs._core.errors.GapWarning")


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_each_output_is_fitted_as_if_it_were_alone(center: bool, weights: np.ndarray | None) -> None:
    model = clone(MODEL).set_params(center=center)
    together = model.fit(X, GAPS, weights)
    predicted, objective, score = together.predict(X), together.objective_, together.score(X, GAPS, weights)
    alone, objectives, scores = np.empty_like(predicted), [], []
    for j, rows in enumerate(KNOWN.T):
        w = None if weights is None else weights[rows]
        one = clone(model).fit(X[rows], Y[rows, j], w)
        alone[:, j] = one.predict(X)
        objectives.append(one.objective_)
        scores.append(one.score(X[rows], Y[rows, j], w))
    np.testing.assert_allclose(predicted, alone, rtol=1e-10)
    assert objective == pytest.approx(sum(objectives), rel=1e-10)
    assert score == pytest.approx(np.mean(scores), rel=1e-10)


def test_a_gap_has_no_coefficient_and_a_gram_matrix_serves_as_well() -> None:
    model = clone(MODEL).fit(X, GAPS)
    assert not model.dual_coef_[~KNOWN].any()
    assert 4 not in model.support_
    K = Gaussian(0.3)(X)
    again = OperatorKernelRegressor("precomputed", reg=0.05).fit(K, GAPS)
    np.testing.assert_allclose(again.predict(K[:5]), model.predict(X[:5]), rtol=1e-12)


def test_what_is_said_and_what_is_refused() -> None:
    with pytest.warns(GapWarning, match=r"^y has 16 gaps \(NaN\) in 3 of 3 outputs: each output is fitted to the rows"):
        clone(MODEL).fit(X, GAPS)
    empty = GAPS.copy()
    empty[:, 1] = np.nan
    refused: list[tuple[dict[str, Any], Any, str]] = [
        ({}, GAPS[:, 0], "y must be known in every row if there is one output; got NaN in row 0"),
        ({}, empty, "output 1 of y is NaN in every row of positive weight"),
        ({"loss": "huber"}, GAPS, "y may have gaps .* only with loss='squared'"),
        ({"operator": "covariance"}, GAPS, "y may have gaps .* one kernel without operator"),
        ({"storage": Nystroem(5)}, GAPS, "y may have gaps .* storage='dense'"),
        ({}, np.where(KNOWN, Y, np.inf), "y"),
    ]
    for params, y, message in refused:
        with pytest.raises(ValueError, match=message):
            clone(MODEL).set_params(**params).fit(X, y)
    with pytest.raises(InputError, match="no gaps .* for a path"):
        clone(MODEL).path(X, GAPS, regs=[0.1])
    with pytest.raises(InputError, match="output 1 of y is NaN in every row"):
        clone(MODEL).fit(X, Y).score(X, empty)
    with pytest.raises(InputError, match="criterion must be 'squared'"):
        OperatorKernelRegressorCV(Gaussian(0.3), criterion="norm").fit(X, GAPS)


def test_model_files_keep_it(tmp_path: Any) -> None:
    model = clone(MODEL).fit(X, GAPS)
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").predict(X), model.predict(X))


def test_the_choice_by_cross_validation() -> None:
    regs, folds = [1e-3, 1e-1, 1.0], [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    model = OperatorKernelRegressorCV(Gaussian(0.3), regs=regs, cv=folds).fit(X, GAPS)
    expected = np.zeros((3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for r, reg in enumerate(regs):
            for f, (train, test) in enumerate(folds):
                found = clone(MODEL).set_params(reg=reg).fit(X[train], GAPS[train]).predict(X[test])
                expected[r, f] = np.nanmean((found - GAPS[test]) ** 2, axis=0).sum()
    np.testing.assert_allclose(model.cv_errors_[0, :, 0], expected, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), clone(MODEL).set_params(reg=model.reg_).fit(X, GAPS).predict(X))
    assert np.isfinite(model.score(X, GAPS))


def test_a_part_without_weight_is_refused() -> None:
    folds = [(np.arange(1), np.arange(1, 20)), (np.arange(10), np.arange(10, 20))]
    message = "sample_weight is zero for all training rows, or all held-out rows, of fold 0 of cv"
    with pytest.raises(InputError, match=message):
        OperatorKernelRegressorCV(Gaussian(0.3), cv=folds).fit(X, Y, sample_weight=WEIGHTS)


def test_outputs_that_are_known_on_the_same_rows_share_a_factorisation(monkeypatch: pytest.MonkeyPatch) -> None:
    from rkhs.problems import gapped_ridge

    sizes, solve = [], gapped_ridge.solve_positive
    monkeypatch.setattr(
        gapped_ridge, "solve_positive", lambda A, B, name: sizes.append(B.shape) or solve(A, B, name=name)
    )
    goal = torch.from_numpy(np.hstack([GAPS, GAPS[:, :1], GAPS[:, :1]]))
    ridge = GappedRidge(Gaussian(0.3)._gram(torch.from_numpy(X)), goal)
    ridge.solve(0.1)
    assert sorted(shape[1] for shape in sizes) == [1, 1, 3]
