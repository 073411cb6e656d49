"""Few-label protocol: splits, the choice of the bandwidth, and that labels never reach the models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_circles

from rkhs._core.errors import InputError
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.evaluation import (
    FewLabelRow,
    SmoothClassifier,
    choose_on_labels,
    few_label_methods,
    few_labels,
    split_rows,
)
from rkhs.evaluation.few_labels import Learner
from rkhs.kernels import Gaussian

X, Y = load_iris(return_X_y=True)
LEARNERS: tuple[Learner, ...] = ("smooth", "neighbours")


@pytest.mark.parametrize("split", range(5))
def test_splits_are_disjoint_stratified_and_seeded(split: int) -> None:
    hidden, labelled, test = split_rows(Y, split)
    assert sorted(np.concatenate([hidden, labelled, test])) == list(range(150))
    assert (len(hidden), len(labelled)) == (75, 8)
    assert set(Y[labelled]) == {0, 1, 2} == set(Y[test])
    again = split_rows(Y, split)
    assert all((a == b).all() for a, b in zip((hidden, labelled, test), again, strict=True))
    other = split_rows(Y, split + 1)
    assert set(other[1]) != set(labelled)


class Spy(TransformerMixin, BaseEstimator):
    """Remembers what it was fitted on; its codes are good only at one bandwidth."""

    seen: list[int] = []

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel

    def fit(self, X: np.ndarray, y: Any = None) -> Spy:
        assert y is None
        self.seen.append(len(X))
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X if self.kernel.gamma == 2.0 else np.zeros_like(X)


def test_each_learner_chooses_for_itself() -> None:
    arguments: dict[str, Any] = {"methods": {"pca": KernelPCA(2)}, "kernels": ("Gaussian",), "gammas": (0.01, 1.0)}
    both = few_labels(X, Y, learners=("smooth", "neighbours"), n_splits=2, **arguments)
    assert [(r.method, r.learner) for r in both] == [(m, k) for m in ("raw features", "pca") for k in LEARNERS]
    for i, learner in enumerate(LEARNERS):
        assert both[i::2] == few_labels(X, Y, learners=(learner,), n_splits=2, **arguments)
    _, lab, test = split_rows(Y, 0)
    smooth = SmoothClassifier().fit(X[lab], Y[lab])
    assert both[0].accuracies[0] == smooth.score(X[test], Y[test])
    assert both[0].validation[0] == smooth.leave_one_out_accuracy_


def test_models_see_no_labels_and_leave_one_out_chooses() -> None:
    Spy.seen.clear()
    rows = few_labels(X, Y, methods={"spy": Spy()}, kernels=("Gaussian",), gammas=(0.5, 2.0, 8.0), n_splits=3)
    assert rows[1].gammas == (2.0, 2.0, 2.0)
    assert rows[1].accuracies == rows[0].accuracies
    assert set(Spy.seen) == {83}
    assert len(Spy.seen) == 9


class Decaying(TransformerMixin, BaseEstimator):
    """Without a kernel; its codes are good only at the weight decays named."""

    def __init__(self, weight_decay: float = 1e-3, good: tuple[float, ...] = ()) -> None:
        self.weight_decay = weight_decay
        self.good = good

    def fit(self, X: np.ndarray, y: Any = None) -> Decaying:
        assert y is None
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X if self.weight_decay in self.good else np.zeros_like(X)


def test_a_grid_is_chosen_as_a_bandwidth_is() -> None:
    methods = {"one": Decaying(good=(1e-5,)), "two": Decaying(good=(1e-5, 1e-2)), "fixed": Decaying(good=(1e-3,))}
    grid = ("weight_decay", (1e-5, 1e-4, 1e-2))
    raw, one, two, fixed = few_labels(X, Y, methods=methods, grids={"one": grid, "two": grid}, n_splits=2)
    assert one.values == (1e-5, 1e-5)
    assert two.values == (1e-2, 1e-2)  # among equals the one nearest to the estimator's own
    assert fixed.values is None
    assert one.gammas is None
    assert raw.accuracies == one.accuracies == two.accuracies == fixed.accuracies


def test_rows_are_reproducible_and_summarised() -> None:
    arguments: dict[str, Any] = {"methods": {"pca": KernelPCA(2)}, "kernels": ("linear", "ReLU"), "n_splits": 3}
    rows = few_labels(X, Y, **arguments)
    assert rows == few_labels(X, Y, **arguments)
    assert [(r.method, r.kernel, r.gammas) for r in rows[1:]] == [("pca", "linear", None), ("pca", "ReLU", None)]
    assert rows[0].mean == pytest.approx(np.mean(rows[0].accuracies))
    assert rows[0].std == pytest.approx(np.std(rows[0].accuracies, ddof=1))
    assert all(0.6 < r.mean <= 1.0 for r in rows)
    assert few_labels(X, Y, **arguments, seed=1) != rows


def test_splits_can_be_run_one_by_one() -> None:
    arguments: dict[str, Any] = {"methods": {"pca": KernelPCA(2)}, "kernels": ("Gaussian",), "gammas": (0.1, 1.0)}
    whole = few_labels(X, Y, n_splits=3, **arguments)
    for split in range(3):
        for row, part in zip(whole, few_labels(X, Y, splits=(split,), **arguments), strict=True):
            assert part.accuracies == (row.accuracies[split],)
            assert part.validation == (row.validation[split],)


def test_validation_is_leave_one_out_on_the_labelled_rows() -> None:
    row = few_labels(X, Y, methods={}, n_splits=1, n_neighbors=1, labelled=0.1)[0]
    _, labelled, _ = split_rows(Y, 0, labelled=0.1)
    A, b = X[labelled], Y[labelled]
    squared = ((A[:, None] - A) ** 2).sum(-1) + np.diag(np.full(len(A), np.inf))
    assert row.validation == (np.mean(b[squared.argmin(1)] == b),)


def test_choice_between_rows_looks_only_at_the_labelled_rows() -> None:
    good = FewLabelRow("good", "a", (0.9, 0.9, 0.9), None, validation=(0.8, 0.7, 0.6))
    lucky = FewLabelRow("lucky", "b", (1.0, 1.0, 1.0), None, validation=(0.5, 0.7, 0.5))
    chosen = choose_on_labels([lucky, good], "ours")
    assert chosen.accuracies == pytest.approx((0.9, 0.95, 0.9))  # equals are averaged
    assert chosen.validation == (0.8, 0.7, 0.6)
    assert (chosen.method, chosen.kernel) == ("ours", "a")
    for wrong in ([], [FewLabelRow("none", "a", (1.0,), None)], [good, FewLabelRow("b", "b", (1.0,), None)]):
        with pytest.raises(InputError, match="validation accuracies of the same splits"):
            choose_on_labels(wrong)


@pytest.mark.slow
def test_every_method_runs_on_circles() -> None:
    circles, y = make_circles(120, factor=0.4, noise=0.05, random_state=0)
    rows = few_labels(circles, y, kernels=("Gaussian", "linear"), gammas=(1.0, 10.0), n_splits=1)
    assert {r.method for r in rows} == {"raw features", *few_label_methods()}
    assert all(np.isfinite(r.accuracies).all() for r in rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(150)}, "at least two classes"),
        ({"y": 3}, "y must hold one label a row"),
        ({"y": {1, 2}}, "y must hold one label a row"),
        ({"y": [1, "a", None] * 50}, "y must hold one label a row"),
        ({"seed": []}, "seed must be an integer from 0 to 2147483"),
        ({"gammas": 3}, "gammas must be a sequence of numbers"),
        ({"gammas": (0.0,)}, "gammas must be > 0"),
        ({"splits": 3}, "splits must be a sequence of numbers"),
        ({"grids": 3}, "grids must be a dict of pairs"),
        ({"grids": {"pca": 3}}, "grids must be a dict of pairs"),
        ({"methods": 3}, "methods must be a dict of estimators"),
        ({"kernels": 3}, "kernels must be a sequence of names"),
        ({"kernels": ("cubic",)}, "kernels must be of 'Gaussian'.* got 'cubic'"),
        ({"unlabelled": 0.0}, "unlabelled must be > 0"),
        ({"unlabelled": 0.9, "labelled": 0.09}, "must leave at least 3 test rows"),
        ({"grids": {"pca": ("n_components", (1,))}}, "methods without a kernel.* got 'pca': 'n_components'"),
        ({"grids": {"net": ("weight_decay", (1.0,))}}, "got 'net': 'weight_decay'"),
        ({"methods": {"d": Decaying()}, "grids": {"d": ("weight_decay", ())}}, "at least one"),
        ({"methods": {"d": Decaying()}, "grids": {"d": ("weight_decay", (0.0,))}}, "weight_decay of 'd' must be > 0"),
        ({"n_splits": 0}, "n_splits must be an integer >= 1"),
        ({"learners": "smooth"}, "learners must be a sequence of names"),
        ({"learners": ("forest",)}, "learners must be one of 'neighbours', 'smooth'; got 'forest'"),
        ({"splits": ()}, "splits must be a sequence of numbers, at least one"),
        ({"splits": (-1,)}, "splits must be an integer >= 0"),
    ],
)
def test_errors(change: dict[str, Any], message: str) -> None:
    arguments = {"y": Y, "methods": {"pca": KernelPCA(2, kernel=Gaussian(1.0))}, **change}
    with pytest.raises(InputError, match=message):
        few_labels(X, **arguments)


@pytest.mark.parametrize("named", [{"split": ()}, {"split": -1}, {"seed": [0.1]}, {"y": -1e-3}, {"y": [[1], [2]]}])
def test_arguments_of_a_split_are_named(named: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(named))} must"):
        split_rows(**{"y": Y, "split": 0, **named})
    with pytest.raises(InputError, match="unlabelled must be a share of at least 3 rows"):
        split_rows(Y, 0, unlabelled=1e-300)


def test_rows_without_a_label_are_not_split() -> None:
    with pytest.raises(InputError, match=r"^y must hold a label in every row; got None in row 3\. Leave such rows out"):
        split_rows(np.array(["a", "b", "a", None, "b"] * 20, dtype=object), 0)


class Broken(KernelPCA):
    """Refuses everything."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        raise InputError("no luck")


def test_a_method_that_fails_does_not_end_the_others() -> None:
    methods = {"broken": Broken(2), "pca": KernelPCA(2)}
    with pytest.warns(UserWarning, match="broken with kernel linear is left out: no luck"):
        rows = few_labels(X, Y, methods=methods, kernels=("linear",), n_splits=1)
    assert [row.method for row in rows] == ["raw features", "pca"]
    with pytest.warns(UserWarning, match="left out"), pytest.raises(InputError, match="no luck"):
        few_labels(X, Y, methods={"broken": Broken(2)}, kernels=("linear",), n_splits=1)
