"""The kernel of least leave-one-out error, and the kernels that a kind of objects has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rkhs.errors import InputError
from rkhs.kernels import (
    DynamicTimeWarping,
    Gaussian,
    GlobalAlignment,
    Linear,
    ShiftInvariant,
    ShortestPath,
    WeisfeilerLehman,
    kernels_for,
)
from rkhs.selection import choose_kernel
from rkhs.selection.kernel_choice import _INTERCEPT_VARIANCE, _REGS

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_errors_are_those_of_fits_without_each_item(kind: str) -> None:
    X = RNG.normal(size=(14, 2))
    y: Any = np.where(X[:, 0] > 0.2, "b", "a") if kind == "classes" else X[:, :1] ** 2 + X
    n, K = len(X), Gaussian(0.5)(X)
    H = np.eye(n) - 1.0 / n
    C = H @ K @ H
    C = C / (np.trace(C) / n) + _INTERCEPT_VARIANCE
    T = (y[:, None] == np.array(["a", "b"])).astype(float) if kind == "classes" else np.asarray(y)
    T = T - T.mean(0)
    errors = []
    for reg in _REGS:
        total = 0.0
        for i in range(n):
            others = np.arange(n) != i
            system = C[np.ix_(others, others)] + n * reg * np.eye(n - 1)
            total += float(((T[i] - C[i, others] @ np.linalg.solve(system, T[others])) ** 2).sum())
        errors.append(total / (T**2).sum())
    found = choose_kernel(X, y, [Gaussian(0.5)])
    assert found.errors[0] == pytest.approx(min(errors), rel=1e-6)


def test_noise_is_not_better_than_the_mean_and_the_kernel_that_sees_the_classes_is_taken() -> None:
    X = RNG.normal(size=(60, 3))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)  # no linear function tells them
    found = choose_kernel(X, y, ["linear", "gaussian"])
    assert found.kernel == Gaussian()
    assert found.errors[0] > 0.95
    assert found.kernels == (Linear(), Gaussian())
    guessed = choose_kernel(X, RNG.permutation(y), ["gaussian", Gaussian(5.0)])
    assert min(guessed.errors) > 0.9  # the mean of the others is not known of an item left out


@pytest.mark.parametrize(
    ("y", "kernels", "said"),
    [
        (["a", "b", "a"], ["linear"], "y must have one row per item, 4; got 3"),
        (["a"] * 4, ["linear"], "two different classes or numbers"),
        ([0.0, 1.0, float("nan"), 2.0], ["linear"], "y must be finite"),
        (["a", "b", "a", "b"], [], "kernels must hold"),
        ([["a"], ["b"], ["a"], ["b"]], ["linear"], "y must be classes"),
    ],
)
def test_what_is_refused(y: Any, kernels: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose_kernel(np.arange(8.0).reshape(4, 2), y, kernels)


def test_kernels_of_series_follow_from_channels_and_lengths() -> None:
    one, two = RNG.normal(size=(3, 6)), RNG.normal(size=(3, 6, 2))
    both = ShiftInvariant() + GlobalAlignment()
    assert kernels_for("series", one)[:2] == (ShiftInvariant(), both)
    assert kernels_for("series", two)[:2] == (both, ShiftInvariant())
    assert kernels_for("series", [one[0], one[1, :4]]) == (GlobalAlignment(), DynamicTimeWarping())


def test_kernels_of_graphs_follow_from_the_largest() -> None:
    small = ([(0, 1), (1, 2)], 3)
    assert kernels_for("graphs", [small])[0] == WeisfeilerLehman(2) + ShortestPath()
    assert kernels_for("graphs", [small, ([(0, 1)], 1001)])[0] == WeisfeilerLehman()
    with pytest.raises(InputError, match="at least 1 items"):
        kernels_for("graphs", [])
    with pytest.raises(InputError, match="item 1"):
        kernels_for("graphs", [small, 3.0])


def test_an_error_of_a_kernel_names_the_items() -> None:
    with pytest.raises(InputError, match="got rows of different lengths"):
        choose_kernel(np.eye(3), [[1.0], [1.0, 2.0], [3.0]], ["linear"])
    with pytest.raises(InputError, match="items: Linear reads a 2-D array"):
        choose_kernel(False, ["a", "b", "a", "b"], ["linear"])


def test_tensors_that_record_gradients_are_read_as_arrays_are() -> None:
    rows = np.random.default_rng(0).normal(size=(8, 2))
    y = ["a", "b"] * 4
    plain, recorded = (choose_kernel(X, y, ["linear"]) for X in (rows, torch.tensor(rows, requires_grad=True)))
    assert plain.errors == recorded.errors


def test_single_precision_compares_in_double() -> None:
    # A linear kernel of two columns has rank two: rounded to single precision it has full rank, and another best reg.
    X = np.random.default_rng(150).normal(size=(8, 2)).astype(np.float32)
    y = np.arange(8) % 2
    single, double = (choose_kernel(items, y, ("linear", "gaussian")).errors for items in (X, X.astype(np.float64)))
    assert single == double
