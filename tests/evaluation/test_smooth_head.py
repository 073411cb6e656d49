"""The smooth head against refits without a row, and against scikit-learn's checks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from rkhs._core.errors import InputError
from rkhs.evaluation import SmoothClassifier, SmoothRegressor


@pytest.mark.slow
@parametrize_with_checks([SmoothRegressor(), SmoothClassifier()])
def test_scikit_learn(estimator: object, check: object) -> None:
    check(estimator)


def test_leave_one_out_is_what_refits_give() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    model = SmoothRegressor(gammas=(0.7,), regs=(0.03,)).fit(X, y)
    K = np.exp(-0.7 * cdist(X, X) / np.median(pdist(X)))
    # The mean is taken over all rows, so rows are left out of the centred problem.
    Y = y - y.mean(0)
    residuals = []
    for i in range(15):
        kept = np.arange(15) != i
        ridge = KernelRidge(alpha=15 * 0.03, kernel="precomputed").fit(K[np.ix_(kept, kept)], Y[kept])
        residuals.append(Y[i] - ridge.predict(K[i : i + 1, kept])[0])
    expected = (np.array(residuals) ** 2).sum() / (Y**2).sum()
    assert model.leave_one_out_error_ == pytest.approx(expected, rel=1e-10)
    assert model.predict(X) == pytest.approx(y.mean(0) + K @ model.coef_)


def test_leave_one_out_accuracy_is_that_of_refits() -> None:
    X, y = make_moons(40, noise=0.3, random_state=0)
    for labels in (y, np.array(["a", "b", "c"])[y + (X[:, 0] > 1.0)]):
        model = SmoothClassifier(gammas=(1.0,), regs=(0.01,)).fit(X, labels)
        K = np.exp(-cdist(X, X) / np.median(pdist(X)))
        Y = (labels[:, None] == np.unique(labels)).astype(float)
        hits = []
        for i in range(40):
            kept = np.arange(40) != i
            ridge = KernelRidge(alpha=40 * 0.01, kernel="precomputed")
            ridge.fit(K[np.ix_(kept, kept)], (Y - Y.mean(0))[kept])
            hits.append(np.unique(labels)[(ridge.predict(K[i : i + 1, kept]) + Y.mean(0)).argmax()] == labels[i])
        assert model.leave_one_out_accuracy_ == np.mean(hits)
        assert 0.5 < model.leave_one_out_accuracy_ < 1.0


def test_grid_is_searched() -> None:
    X, y = make_moons(120, noise=0.1, random_state=0)
    errors = {
        (g, r): SmoothRegressor((g,), (r,)).fit(X, y).leave_one_out_error_ for g in (0.1, 1.0, 9.0) for r in (1e-5, 1.0)
    }
    chosen = SmoothRegressor((0.1, 1.0, 9.0), (1e-5, 1.0)).fit(X, y)
    assert (chosen.gamma_, chosen.reg_) == min(errors, key=errors.__getitem__)


def test_classes_may_be_words() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = SmoothClassifier().fit(X[::2], names[::2])
    assert model.score(X[1::2], names[1::2]) > 0.93
    assert model.decision_function(X[:4]).shape == (4, 3)


@pytest.mark.parametrize("options", [{"gammas": ()}, {"regs": (0.0,)}, {"gammas": (-1.0,)}])
def test_bad_grids(options: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        SmoothRegressor(**options).fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize("y", [scipy.sparse.eye_array(4).tocsr(), np.array(["a", "b", "c", "d"])])
def test_targets_that_are_no_numbers_are_named(y: Any) -> None:
    with pytest.raises(InputError, match="y must"):
        SmoothRegressor().fit(np.arange(8.0).reshape(4, 2), y)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_calibrated_and_agree_with_the_class(classes: int) -> None:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 400)
    X = rng.normal(size=(400, 2)) + 1.2 * np.stack([np.cos(y), np.sin(2.0 * y)], axis=1)
    model = SmoothClassifier().fit(X[:200], y[:200])
    P = model.predict_proba(X[200:])
    np.testing.assert_allclose(P.sum(1), 1.0)
    np.testing.assert_array_equal(P.argmax(1), model.predict(X[200:]))
    sure = P.max(1)
    hits = P.argmax(1) == y[200:]
    assert abs(sure.mean() - hits.mean()) < 0.07
    assert 0.5 < sure.max() < 1.0
    # As likely as any other factor, or nearly: that of the leave-one-out predictions is not that of new rows.
    right = [np.log(one.predict_proba(X[200:])[np.arange(200), y[200:]]).mean() for one in sharpened(model)]
    assert right[0] > max(right[1:])


def sharpened(model: SmoothClassifier) -> Iterator[SmoothClassifier]:
    """The model, and copies with other factors."""
    yield model
    for factor in (0.4, 2.5):
        other = copy.deepcopy(model)
        other.sharpness_ *= factor
        yield other


def test_few_labels_do_not_make_certain() -> None:
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    P = SmoothClassifier().fit(X, [0, 0, 1, 1]).predict_proba(X)
    assert P.max() < 0.9  # Platt's targets for two rows per class are 3/4
    assert (P.argmax(1) == [0, 0, 1, 1]).all()


def test_one_class_is_certain() -> None:
    np.testing.assert_array_equal(SmoothClassifier().fit([[0.0], [1.0]], ["a", "a"]).predict_proba([[2.0]]), [[1.0]])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_tie_goes_to_the_first_class_whatever_rounding_says(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = SmoothClassifier().fit(X, np.arange(12) % classes)
    rounding = np.array([[3e-17], [-3e-17], [1e-3]])
    scores = rounding[:, 0] if classes == 2 else np.hstack([np.zeros((3, 1)), rounding, np.full((3, 1), -1.0)])
    monkeypatch.setattr(SmoothClassifier, "decision_function", lambda self, rows: scores)
    assert model.predict(X[:3]).tolist() == [0, 0, 1]


def test_targets_beyond_every_sum_are_refused_without_a_warning() -> None:
    X, y = np.arange(6.0)[:, None], np.full(6, 1.7e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="y must hold values of modulus under"):
            SmoothRegressor().fit(X, y)
