"""Ranks with ties and missing truths, monotone accuracy, Hamming."""

import numpy as np
import pandas as pd
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.metrics import hamming_error, normalized_mean_squared_error, top_k_accuracy, truth_ranks
from rkhs.metrics.ranking import nearest_first


def test_ties_count_against_and_missing_truths_fail():
    scores = [np.array([0.5, 0.5, 0.1]), np.array([0.9, 0.2]), np.array([1.0, 2.0, 3.0])]
    np.testing.assert_array_equal(truth_ranks(scores, [0, 0, -1]), [2.0, 1.0, np.inf])
    assert top_k_accuracy([2.0, 1.0, np.inf], 100) == 2 / 3


def test_accuracy_is_monotone_in_k():
    r = np.random.default_rng(0)
    ranks = truth_ranks(r.normal(size=(200, 30)), r.integers(0, 30, size=200))
    accuracies = [top_k_accuracy(ranks, k) for k in range(1, 31)]
    assert (np.diff(accuracies) >= 0).all()
    assert accuracies[-1] == 1.0
    assert abs(accuracies[0] - 1 / 30) < 0.05


def test_hamming_of_the_complement():
    r = np.random.default_rng(1)
    Y, P = r.integers(0, 2, size=(50, 7)), r.integers(0, 2, size=(50, 7))
    assert hamming_error(Y, 1 - P) == pytest.approx(1 - hamming_error(Y, P))


def test_bad_input_is_refused():
    for call, match in [
        (lambda: truth_ranks([[1.0]], [0, 1]), "one index per sample"),
        (lambda: truth_ranks([[1.0]], [1]), r"truth\[0\] must be under the number of candidates 1"),
        (lambda: truth_ranks([[np.nan]], [0]), r"scores\[0\] must be finite"),
        (lambda: truth_ranks([[1.0]], [0.5]), "truth must hold whole numbers"),
        (lambda: truth_ranks([["a"]], [0]), r"scores\[0\] must hold real numbers"),
        (lambda: truth_ranks([[[1.0]]], [0]), r"scores\[0\] must have one axis"),
        (lambda: truth_ranks(3, [0]), "scores must be a sequence of arrays of scores"),
        (lambda: truth_ranks([[1.0]], object()), "truth must have one index per sample, 1 in all"),
        (lambda: top_k_accuracy([np.nan], 1), "ranks must be numbers.*got NaN"),
        (lambda: top_k_accuracy(["a"], 1), "ranks must hold real numbers"),
        (lambda: hamming_error([[np.nan]], [[1.0]]), "Y must hold labels; got NaN"),
        (lambda: top_k_accuracy([], 1), "ranks must not be empty"),
        (lambda: top_k_accuracy([1.0], 0), "k must be an integer >= 1"),
        (lambda: hamming_error([[0]], [[0, 1]]), "predicted must have the shape"),
    ]:
        with pytest.raises(InputError, match=match):
            call()


def test_tensors_and_frames_hold_the_same_numbers():
    scores, truth = np.array([[0.9, 0.1, 0.5], [0.2, 0.2, 0.1]]), np.array([2, 0])
    expected = truth_ranks(scores, truth)
    np.testing.assert_array_equal(truth_ranks(torch.tensor(scores, requires_grad=True), torch.tensor(truth)), expected)
    np.testing.assert_array_equal(truth_ranks(pd.DataFrame(scores, index=[7, 3]), truth.astype(float)), expected)
    assert top_k_accuracy(torch.tensor(expected).to(torch.bfloat16), 1) == 0.0
    assert hamming_error(torch.tensor([[0.0, 1.0]], requires_grad=True), [[0, 0]]) == 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_decides_no_order(dtype):
    noise = np.finfo(dtype).eps * np.random.default_rng(0).choice([-3.0, 0.0, 3.0], size=(20, 5)).astype(dtype)
    D = np.array([0.7, 0.2, 0.7, 0.2, 1.0], dtype=dtype) + noise
    order, distances = nearest_first(D, 4)
    np.testing.assert_array_equal(order, np.tile([1, 3, 0, 2], (20, 1)))
    assert (distances[:, 0] == distances[:, 1]).all()
    assert (np.diff(distances, axis=1) >= 0.0).all()
    if dtype == np.float64:
        np.testing.assert_array_equal(truth_ranks(-D, np.full(20, 3)), 2.0)


def test_the_normalized_error_is_a_share_of_the_power_of_the_targets() -> None:
    Y = np.random.default_rng(0).normal(size=(20, 3)) + 2.0
    h = Y + 0.1
    expected = sum((y - z) ** 2 for y, z in zip(Y.ravel(), h.ravel(), strict=True)) / sum(y**2 for y in Y.ravel())
    assert normalized_mean_squared_error(Y, h) == pytest.approx(expected, rel=1e-12)
    assert normalized_mean_squared_error(Y, np.zeros_like(Y)) == 1.0
    with pytest.raises(InputError, match="the shape"):
        normalized_mean_squared_error(Y, h[:5])
    for left, right in (([0.0], [1.0]), ([1.0], [np.nan])):
        with pytest.raises(InputError, match="finite numbers, and Y not zeros"):
            normalized_mean_squared_error(left, right)
