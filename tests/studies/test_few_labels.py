"""The few-label protocol: splits, the choice of the bandwidth, and that labels never reach the models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_circles

from rkhs import KernelPCA
from studies.papers.few_labels import FewLabelRow, choose_on_labels, few_label_methods, few_labels, split_rows

X, Y = load_iris(return_X_y=True)


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


def test_models_see_no_labels_and_leave_one_out_chooses() -> None:
    Spy.seen.clear()
    rows = few_labels(X, Y, methods={"spy": Spy()}, kernels=("Gaussian",), gammas=(0.5, 2.0, 8.0), splits=range(3))
    assert rows[1].values == (2.0, 2.0, 2.0)
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
    raw, one, two, fixed = few_labels(X, Y, methods=methods, grids={"one": grid, "two": grid}, splits=range(2))
    assert one.values == (1e-5, 1e-5)
    assert two.values == (1e-2, 1e-2)  # among equals the one nearest to the estimator's own
    assert fixed.values is None
    assert raw.accuracies == one.accuracies == two.accuracies == fixed.accuracies


def test_splits_can_be_run_one_by_one() -> None:
    arguments: dict[str, Any] = {"methods": {"pca": KernelPCA(2)}, "kernels": ("Gaussian",), "gammas": (0.1, 1.0)}
    whole = few_labels(X, Y, splits=range(3), **arguments)
    for split in range(3):
        for row, part in zip(whole, few_labels(X, Y, splits=(split,), **arguments), strict=True):
            assert part.accuracies == (row.accuracies[split],)
            assert part.validation == (row.validation[split],)


def test_choice_between_rows_looks_only_at_the_labelled_rows() -> None:
    good = FewLabelRow("good", "a", (0.9, 0.9, 0.9), (0.8, 0.7, 0.6))
    lucky = FewLabelRow("lucky", "b", (1.0, 1.0, 1.0), (0.5, 0.7, 0.5))
    chosen = choose_on_labels([lucky, good], "ours")
    assert chosen.accuracies == pytest.approx((0.9, 0.95, 0.9))  # equals are averaged
    assert chosen.validation == (0.8, 0.7, 0.6)
    assert (chosen.method, chosen.kernel) == ("ours", "a")


@pytest.mark.slow
def test_every_method_runs_on_circles() -> None:
    circles, y = make_circles(120, factor=0.4, noise=0.05, random_state=0)
    methods = few_label_methods()
    rows = few_labels(circles, y, methods=methods, kernels=("Gaussian", "linear"), gammas=(1.0, 10.0), splits=(0,))
    assert {r.method for r in rows} == {"raw features", *methods}
    assert all(np.isfinite(r.accuracies).all() for r in rows)
