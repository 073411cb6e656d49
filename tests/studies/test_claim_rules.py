"""The rules of the verdicts: effects of known size are called right, starts and test rows decide nothing."""

from __future__ import annotations

import numpy as np
import pytest

from studies.papers.claims import rules
from studies.papers.claims.rules import CANNOT, FAILS, HOLDS, PART, UNDECIDED


def _drawn(mean: float, k: int = 8, seed: int = 0) -> np.ndarray:
    """Draws with this mean and a standard deviation of one, both exactly."""
    z = np.random.default_rng(seed).normal(size=k)
    z = (z - z.mean()) / z.std(ddof=1)
    return mean + z


def test_an_effect_of_known_size_is_called_right() -> None:
    error = 8**-0.5
    assert rules.direction(_drawn(-2.1 * error), sign=-1).verdict == HOLDS
    assert rules.direction(_drawn(-1.9 * error), sign=-1).verdict == UNDECIDED  # within the noise
    assert rules.direction(_drawn(1.9 * error), sign=-1).verdict == UNDECIDED
    assert rules.direction(_drawn(2.1 * error), sign=-1).verdict == FAILS
    found = rules.direction(_drawn(-1.0), sign=-1)
    assert found.mean == pytest.approx(-1.0)
    assert found.error == pytest.approx(error)


def test_splits_of_one_set_have_a_larger_standard_error() -> None:
    found = rules.direction(_drawn(-2.1 * 8**-0.5), sign=-1, overlap=0.25)
    assert found.error == pytest.approx((1.0 / 8 + 0.25) ** 0.5)
    assert found.verdict == UNDECIDED


def test_open_settings_may_weaken_a_verdict_and_may_save_it() -> None:
    clear, none, other = _drawn(-2.0), _drawn(0.0), _drawn(2.0)
    assert rules.direction({"first": clear, "b": clear, "c": other}, sign=-1).verdict == HOLDS
    assert rules.direction({"first": clear, "b": other, "c": other}, sign=-1).verdict == PART
    assert rules.direction({"first": other, "b": clear}, sign=-1).verdict == PART
    assert rules.direction({"first": other, "b": none}, sign=-1).verdict == FAILS


def test_a_start_alone_is_never_a_repetition() -> None:
    values = _drawn(-3.0, k=20)
    once = rules.per_draw(["the same images"] * 20, values)
    assert once.shape == (1,)
    assert rules.direction(once, sign=-1).verdict == UNDECIDED
    assert rules.on_par(once, margin=0.02).verdict == UNDECIDED
    twice = rules.per_draw([0, 0, 1, 1], [1.0, 3.0, 5.0, 7.0])
    np.testing.assert_array_equal(twice, [2.0, 6.0])
    assert rules.direction(twice, sign=1).repetitions == 2


def test_parameters_chosen_on_test_rows_are_called_that_and_decide_nothing() -> None:
    good, bad = rules.direction(_drawn(-2.0), sign=-1), rules.direction(_drawn(2.0), sign=-1)
    shown = good.chosen("test rows")
    assert not shown.decides
    assert shown.chosen_on == "test rows"
    assert rules.together([shown, bad]) == FAILS
    assert rules.together([shown]) == UNDECIDED
    assert rules.together([good.chosen("training rows"), bad]) == PART
    assert good.chosen("validation points").decides
    with pytest.raises(ValueError, match="chosen on one of 'training rows'"):
        good.chosen("validation")


def test_all_problems_must_be_won() -> None:
    d = np.stack([_drawn(-2.0), _drawn(-2.0, seed=1), _drawn(0.5, seed=2)], 1)
    assert rules.all_of(d[:, :2], sign=-1).verdict == HOLDS
    assert rules.all_of(d, sign=-1).verdict == PART
    assert rules.all_of(d[:, 1:], sign=-1).verdict == FAILS  # one of two is no majority
    within = np.stack([_drawn(-0.2), _drawn(0.1, seed=1), _drawn(0.1, seed=2)], 1)
    assert rules.all_of(within, sign=-1).verdict == UNDECIDED


def test_equality_is_that_of_the_worst_problem() -> None:
    assert rules.equal([1e-9, 1e-12], tolerance=1e-8).verdict == HOLDS
    assert rules.equal([1e-12, 1e-7], tolerance=1e-8).verdict == FAILS
    assert rules.equal([float("nan")], tolerance=1e-8).verdict == FAILS


def test_on_par_needs_the_lower_end_of_the_interval() -> None:
    half = 2.3646 * 8**-0.5  # of the interval, with seven degrees of freedom
    for shift, verdict in ((0.01, HOLDS), (-0.01, UNDECIDED)):
        assert rules.on_par(_drawn(half - 0.02 + shift), margin=0.02).verdict == verdict
    assert rules.on_par(_drawn(-half - 0.03), margin=0.02).verdict == FAILS


def test_figures_are_judged_by_a_threshold_in_two_thirds_of_the_settings() -> None:
    assert rules.shows({"a": [0.3], "b": [0.3], "c": [0.1]}, at_least=0.25).verdict == HOLDS
    assert rules.shows({"a": [0.3], "b": [0.1], "c": [0.1]}, at_least=0.25).verdict == PART
    assert rules.shows({"a": [0.1], "b": [0.1]}, at_least=0.25).verdict == FAILS
    assert rules.shows([0.9, 0.9, 0.9, 0.2, 0.9], at_least=0.8, draws=0.8).verdict == HOLDS
    assert rules.shows([0.9, 0.9, 0.2, 0.2, 0.9], at_least=0.8, draws=0.8).verdict == FAILS
    assert rules.shows([0.2], at_most=0.25).verdict == HOLDS
    with pytest.raises(ValueError, match="one of at_least and at_most"):
        rules.shows([0.2])


def test_a_bound_may_be_broken_as_often_as_it_says() -> None:
    ratios = np.full(200, 0.5)
    ratios[:16] = 2.0  # 8 %, where 5 % + 2 standard errors is 8.08 %
    assert rules.bounded(ratios, delta=0.05).verdict == HOLDS
    ratios[16] = 2.0
    assert rules.bounded(ratios, delta=0.05).verdict == FAILS
    assert rules.bounded([1.1], delta=0.0).verdict == FAILS


def test_what_cannot_be_tested_does_not_count_beside_what_can() -> None:
    assert rules.together([rules.cannot("no data")]) == CANNOT
    assert rules.together([rules.cannot("no data"), rules.equal([0.0], tolerance=0.0)]) == HOLDS


def test_what_is_so_by_construction_decides_nothing() -> None:
    built = rules.equal([0.0], tolerance=0.0).limited("by construction")
    assert not built.decides
    assert rules.together([built, rules.direction(_drawn(0.0), sign=1)]) == UNDECIDED


def test_what_solvers_leave_undone_is_no_effect() -> None:
    tiny = -1e-7 * np.ones(10) + 1e-9 * _drawn(0.0, k=10)
    assert rules.direction(tiny, sign=-1).verdict == HOLDS
    assert rules.direction(tiny, sign=-1, resolution=1e-5).verdict == UNDECIDED
