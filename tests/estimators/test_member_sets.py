"""Sets of candidates and of labels with a guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import InputOutputKernelRegressor
from rkhs.errors import InputError
from rkhs.kernels import Gaussian
from rkhs.models.conformal import min_nonconforming_rows


def made(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.15 * rng.normal(size=(n, 2))


def lists(Y: np.ndarray, length: int, seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    """The place of each output among others."""
    rng = np.random.default_rng(seed)
    places = rng.integers(length, size=len(Y))
    found = []
    for y, place in zip(Y, places, strict=True):
        one = Y[rng.integers(len(Y), size=length)].copy()
        one[place] = y
        found.append(one)
    return places, found


def machine(**settings: Any) -> InputOutputKernelRegressor:
    return InputOutputKernelRegressor(Gaussian(0.5), output_kernel=Gaussian(0.5), reg=1e-2, **settings)


@pytest.mark.parametrize("center", [True, False])
def test_a_set_of_candidates_is_the_full_conformal_one(center: bool) -> None:
    (X, Y), (new, others) = made(25), made(12, 1)
    model = machine(center=center).fit(X, Y)
    found = model.predict_set(new, others, coverage=0.8)
    needed = min_nonconforming_rows(0.8, 25)
    for x, members in zip(new, found.members, strict=True):
        K = Gaussian(0.5)(np.vstack([X, x]))
        P = np.linalg.inv(K + 0.25 * np.eye(26))
        A = P - np.outer(P.sum(1), P.sum(1)) / P.sum() if center else P
        for c, member in zip(others, members, strict=True):
            G = Gaussian(0.5)(np.vstack([Y, c]))
            scores = np.diag(A @ G @ A) / np.diag(A)
            assert member == ((scores[:-1] >= scores[-1] * (1.0 - 1e-9)).sum() >= needed)
    assert 0 < found.sizes.mean() < 12
    assert found.guarantee == "at least"


@pytest.mark.sample(1)
@pytest.mark.parametrize("center", [True, False])
def test_a_row_is_left_out_with_its_group(center: bool) -> None:
    (X, Y), (new, others) = made(24), made(12, 1)
    groups = np.arange(24) % 9  # of two and three rows
    X = X[groups] + 0.1 * X  # rows of a group are alike
    Y = Y[groups]
    model = InputOutputKernelRegressor(Gaussian(0.5), output_kernel=Gaussian(0.5), center=center).fit(
        X, Y, groups=groups
    )
    found = model.predict_set(new, others, coverage=0.7)
    ridge = 24 * model.reg_
    for x, members in zip(new, found.members, strict=True):
        P = np.linalg.inv(Gaussian(0.5)(np.vstack([X, x])) + ridge * np.eye(25))
        A = P - np.outer(P.sum(1), P.sum(1)) / P.sum() if center else P
        for c, member in zip(others, members, strict=True):
            inner, scores = A @ Gaussian(0.5)(np.vstack([Y, c])) @ A, np.empty(25)
            for group in (*(np.flatnonzero(groups == g) for g in range(9)), [24]):
                V = np.linalg.inv(A[np.ix_(group, group)])  # covariance of the rows of a group, without it
                scores[group] = np.diag(V @ inner[np.ix_(group, group)] @ V) / np.diag(V)
            larger = scores[:-1] >= scores[-1] * (1.0 - 1e-9)
            assert member == (1.0 + sum(larger[groups == g].mean() for g in range(9)) > 0.3 * 10 + 1e-9)
    assert 0 < found.sizes.mean() < 12
    assert (found.guarantee, found.scope) == ("about", "items")


def test_lists_of_their_own_and_one_list_for_all_agree() -> None:
    (X, Y), (new, others) = made(25), made(6, 1)
    model = machine().fit(X, Y)
    one, many = model.predict_set(new, others), model.predict_set(new, [others] * 6, per_sample=True)
    assert all((a == b).all() for a, b in zip(one.members, many.members, strict=True))
    given = InputOutputKernelRegressor("precomputed", output_kernel="precomputed", reg=1e-2)
    given.fit(Gaussian(0.5)(X), Gaussian(0.5)(Y))
    same = given.predict_set(Gaussian(0.5)(new, X), Gaussian(0.5)(others, Y), gram=Gaussian(0.5)(X))
    assert all((a == b).all() for a, b in zip(one.members, same.members, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("draws", [4, pytest.param(15, marks=pytest.mark.slow)])
def test_known_lists_give_smaller_sets_with_probabilities(draws: int) -> None:
    held, sizes, exact, likely = [], [], [], []
    for seed in range(draws):
        X, Y = made(160, seed)
        model = machine().fit(X[:60], Y[:60])
        places, candidates = lists(Y[60:], 20, seed)
        known = (X[60:110], places[:50], candidates[:50])
        found = model.predict_set(X[110:], candidates[50:], per_sample=True, held_out=known)
        held.append(found.contains(places[50:]).mean())
        sizes.append(found.sizes.mean())
        exact.append(model.predict_set(X[110:], candidates[50:], per_sample=True).sizes.mean())
        assert found.probabilities is not None
        assert np.allclose([one.sum() for one in found.probabilities], 1.0)
        likely.append(np.mean([one[p] for one, p in zip(found.probabilities, places[50:], strict=True)]))
    assert abs(np.mean(held) - 46 / 51) < 4.0 * np.std(held) / np.sqrt(draws)
    assert np.mean(sizes) < np.mean(exact)
    assert np.mean(likely) > 0.15


def test_lists_that_are_made_otherwise_bring_a_warning() -> None:
    X, Y = made(160)
    model = machine().fit(X[:60], Y[:60])
    places, candidates = lists(Y[60:110], 20)
    _, others = lists(Y[110:], 5)
    with pytest.warns(UserWarning, match="lengths of the lists of candidates differ"):
        model.predict_set(X[110:], others, per_sample=True, held_out=(X[60:110], places, candidates))
    with pytest.raises(InputError, match="held_out must give the index .* of each of 50 items"):
        model.predict_set(X[110:], others, per_sample=True, held_out=(X[60:110], places + 20, candidates))


def test_few_true_labels_are_missed_on_average() -> None:
    shares, sizes = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2.0, 2.0, (160, 2))
        score = np.column_stack([np.sin((j + 1) * X[:, j % 2]) for j in range(6)])
        Y = (score + 0.5 * rng.normal(size=score.shape) > 0.4).astype(int)
        model = InputOutputKernelRegressor(Gaussian(0.5), reg=1e-2).fit(X[:80], Y[:80])
        assert model.multilabel_
        found = model.predict_set(X[80:])
        rows = Y[80:].any(1)
        inside = np.array(found.members)[rows] & (Y[80:][rows] == 1)
        shares.append(1.0 - (inside.sum(1) / Y[80:][rows].sum(1)).mean())
        sizes.append(found.sizes.mean())
        assert found.guarantee == "about"
    assert 0.07 < np.mean(shares) * rows.mean() < 0.115
    assert np.mean(sizes) < 5.0
    assert not model.predict_set(X[80:], coverage=1.0).informative.any()
