"""Columns that contain what is predicted are found by their formulas, and others are not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from rkhs.reports.answers import answer_in_columns
from rkhs.reports.target import Prediction

RNG = np.random.default_rng(0)
A, B, C = RNG.uniform(1.0, 3.0, (3, 60))


@pytest.mark.parametrize(
    ("y", "said", "dropped"),
    [
        (A * B, "a times b is y ", ["a", "b"]),
        (7.0 * A / C, "a divided by c, up to a factor, is y ", ["a", "c"]),
        (C / A, "c divided by a is y ", ["a", "c"]),
        (A + C, "a plus c is y ", ["a", "c"]),
        (C - B, "c minus b is y ", ["b", "c"]),
        (np.exp(-A), "a has the order of y ", ["a"]),
        (np.where(np.arange(60) < 4, 50.0, A * B), "a times b is y ", ["a", "b"]),
    ],
)
def test_a_formula_of_two_columns_is_found(y: np.ndarray, said: str, dropped: list[str]) -> None:
    what, columns = answer_in_columns(np.stack([A, B, C], 1), "abc", y, "y")
    assert what.startswith(said)
    assert columns == dropped


def test_columns_of_measurements_contain_no_answer() -> None:
    noisy = A * B * np.exp(0.05 * RNG.normal(size=60))
    assert answer_in_columns(np.stack([A, B, C], 1), "abc", noisy, "y") == ("", [])
    assert answer_in_columns(np.stack([A, B], 1), "ab", A * B, "y") == ("", [])  # that is the task
    for load in (load_wine, load_diabetes, load_breast_cancer):
        X = load().data[:, :12]
        for j in range(X.shape[1]):
            assert answer_in_columns(np.delete(X, j, 1), [*map(str, range(11))], X[:, j], "y")[0] == ""


def test_atoms_of_a_model_that_explains_little_are_no_finding() -> None:
    true, noise = np.random.default_rng(0).normal(size=(2, 50))
    for classes, predicted, said in (([], noise, True), ([], true + 0.1 * noise, False), (["a", "b"], noise, False)):
        found = Prediction("y", [], np.arange(50), true, predicted, classes, [], [], 0.0, [])
        assert found.doubt == " The model explains 0% of the variance (R²), so its atoms are no finding." * said
