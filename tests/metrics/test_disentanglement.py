"""Disentanglement metrics on the analytic cases of full factorial grids, and golden values on a seeded sample."""

import math
import multiprocessing
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.metrics import dci, irs, mig, mutual_information, sap

GOLDEN = [0.11626839312498975, 0.024444444444444453, 0.5439740740684814, 0.41663274319966215, 0.36078808990250455]


def grid(*sizes):
    return np.stack([axis.reshape(-1) for axis in np.meshgrid(*(np.arange(s) for s in sizes), indexing="ij")], 1)


V = grid(4, 4)
REPEATED = np.repeat(V, 6, axis=0)


def test_identity_is_perfect():
    assert mig(V, V) == pytest.approx(1.0)
    assert irs(V, V) == pytest.approx(1.0)
    assert irs(V, V, quantile=1.0) == pytest.approx(1.0)
    assert sap(V, V, continuous=True) == pytest.approx(1.0)
    score = dci(REPEATED, REPEATED)
    assert (score.disentanglement, score.completeness, score.informativeness) == pytest.approx((1.0, 1.0, 1.0))


def test_sap_of_binary_factors_by_accuracy():
    """A code that is the factor predicts it always; the other one is right half of the time."""
    B = np.repeat(grid(2, 2), 50, axis=0)
    assert sap(B * 20.0, B) == pytest.approx(0.5, abs=0.1)


def test_duplicated_codes_have_no_gap_but_are_robust():
    Z = np.hstack([V, V])
    assert mig(Z, V) == pytest.approx(0.0, abs=1e-12)
    assert sap(Z, V, continuous=True) == pytest.approx(0.0, abs=1e-12)
    assert sap(np.hstack([REPEATED, REPEATED]), REPEATED) == pytest.approx(0.0, abs=1e-12)
    assert irs(Z, V) == pytest.approx(1.0)


def test_rotation_by_45_degrees():
    Z = V @ np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    assert mig(Z, V) == pytest.approx(0.0, abs=1e-12)
    assert sap(Z, V, continuous=True) == pytest.approx(0.0, abs=1e-12)
    assert irs(Z, V, quantile=1.0) == pytest.approx(0.5)


def test_one_factor_and_a_constant():
    Z = np.stack([V[:, 0], np.zeros(16)], 1)
    assert mig(Z, V) == pytest.approx(0.5)
    assert mig(Z[:, :1], V) == pytest.approx(0.5)
    assert irs(np.zeros((16, 2)), V) == 0.0
    assert sap(Z, V, continuous=True) == pytest.approx(0.5)


@pytest.mark.parametrize("k", [3, 5])
def test_sum_of_two_factors(k):
    W = grid(k, k)
    assert irs(W.sum(1, keepdims=True), W, quantile=1.0) == pytest.approx(0.5)


def test_entropies():
    assert mutual_information(V, V) == pytest.approx(np.diag([math.log(4)] * 2))


def test_invariances():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    F = np.stack([(Z[:, 0] > 0).astype(int), rng.integers(0, 3, 200)], 1)
    moved = Z * np.array([2.0, -0.5, 3.0]) + 1.0
    order = [2, 0, 1]
    assert mig(moved[:, order], F) == pytest.approx(mig(Z, F), abs=0.02)  # bins are half-open: the sign moves ties
    assert mig(Z[:, order] * 2 + 1, F[:, ::-1]) == pytest.approx(mig(Z, F))
    assert sap(Z[:, order], F) == pytest.approx(sap(Z, F))
    assert sap(moved, F, continuous=True) == pytest.approx(sap(Z, F, continuous=True))
    assert irs(Z[:, order] * -2 + 1, F) == pytest.approx(irs(Z, F))


def test_golden_values():
    """Values of the first release; a change of definition must be deliberate."""
    rng = np.random.default_rng(7)
    F = rng.integers(0, 4, size=(300, 3))
    Z = F @ rng.normal(size=(3, 5)) + 0.3 * rng.normal(size=(300, 5))
    found = [mig(Z, F), sap(Z, F), irs(Z, F), dci(Z, F).disentanglement, dci(Z, F).completeness]
    assert found == pytest.approx(GOLDEN, rel=1e-6)


def test_dci_of_useless_codes():
    rng = np.random.default_rng(0)
    score = dci(rng.normal(size=(200, 4)), np.repeat(grid(2, 2), 50, axis=0))
    assert score.disentanglement < 0.3
    assert 0.2 < score.informativeness < 0.8
    assert score.importances.shape == (4, 2)


def test_constant_factor_is_left_out_and_strings_are_values():
    F = np.stack([V[:, 0], np.zeros(16, dtype=int)], 1)
    assert mig(V[:, :1], F) == pytest.approx(1.0)
    words = np.array(["red", "green", "blue", "grey"])[V]
    assert mig(V, words) == pytest.approx(1.0)
    continuous = V + np.random.default_rng(0).uniform(0, 0.5, V.shape)
    assert irs(V, continuous, n_bins=4, quantile=1.0) > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mig(V[:, 0], V), r"codes must be a finite array of shape \(n, D\)"),
        (lambda: mig(V, V[:5]), r"factors must have shape \(16, F\)"),
        (lambda: mig(V * np.nan, V), "codes must be a finite array"),
        (lambda: mig(V, V * np.nan), "factors must be finite"),
        (lambda: mig(V, np.zeros((16, 2))), "factors must vary"),
        (lambda: mig({1.0}, V), "codes must be rows in memory"),
        (lambda: mig(V[:1], V[:1]), "codes must have at least two rows"),
        (lambda: mig(V, [["a", 1], *[[1, None]] * 15]), "factors must hold numbers or names, one kind per column"),
        (lambda: mig(V, [[1.0], [1.0, 2.0]]), "factors must be an array"),
        (lambda: mig(V, V.astype("datetime64[s]")), "factors must hold numbers or names; got dtype datetime64"),
        (lambda: sap(V, V.astype(str), continuous=3), "continuous must be True or False"),
        (lambda: mig(V, V, n_bins=1), "n_bins must be an integer >= 2"),
        (lambda: irs(V, V, quantile=1.5), "quantile must be > 0 and <= 1"),
        (lambda: dci(V, V, n_estimators=0), "n_estimators must be an integer >= 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


HELD = {
    "list": lambda A: A.tolist(),
    "tensor": lambda A: torch.from_numpy(A).requires_grad_(),
    "shuffled frame": lambda A: pd.DataFrame(A, index=np.random.default_rng(0).permutation(len(A))),
    "polars": lambda A: pl.DataFrame(A),
    "reversed": lambda A: A[::-1].copy()[::-1],
}


@pytest.mark.slow
@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
@pytest.mark.parametrize("score", [mig, irs, sap, dci], ids=lambda f: f.__name__)
def test_every_container_holds_the_same_numbers(score, held):
    Z = V + 0.25 * np.random.default_rng(4).standard_normal(V.shape)
    assert repr(score(held(Z), held(V.astype(float)))) == repr(score(Z, V))


@pytest.mark.sample(1)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_codes_of_any_unit_carry_the_same_information(scale):
    Z = V + 0.25 * np.random.default_rng(4).standard_normal(V.shape)
    assert mig(scale * Z, V) == pytest.approx(mig(Z, V))
    assert irs(scale * Z, V) == pytest.approx(irs(Z, V))
    assert sap(Z * [scale, 1.0], V, continuous=True) == pytest.approx(sap(Z, V, continuous=True))
    assert dci(scale * Z, V).disentanglement == pytest.approx(dci(Z, V).disentanglement)


def test_codes_far_from_the_origin_keep_their_digits():
    """Trees read single precision, in which 1e9 and 1e9 + 3 are one number."""
    assert dci(V + 1e9, V).disentanglement == dci(V, V).disentanglement
    assert irs(V + 1e9, V) == pytest.approx(irs(V, V), abs=1e-12)


def test_many_bins_take_no_memory():
    assert mig(V, V, n_bins=10**12) == pytest.approx(1.0)


def test_sap_at_unit_scale_does_not_see_the_units_of_the_codes() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 3))
    codes = factors @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(200, 3))
    plain = sap(codes, factors, scale="unit")
    for unit in (0.026, np.array([10.0, 1e-3, 300.0])):
        assert sap(codes * unit + 5.0, factors, scale="unit") == pytest.approx(plain, abs=0.02)
    raw = [sap(codes * unit, factors) for unit in (1e-3, 1.0)]
    assert abs(raw[0] - raw[1]) > 0.03  # the published score does see them
    with pytest.raises(InputError, match="scale must be one of 'raw', 'unit'"):
        sap(codes, factors, scale="mean")


def test_sap_of_codes_far_from_zero_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(200, 1))
    codes = 1.3 * 2.0**36 + np.hstack([factors, factors + 1e-3 * rng.normal(size=(200, 1))])
    order = rng.permutation(200)
    turned = sap(codes[order], factors[order], continuous=True)
    assert turned == pytest.approx(sap(codes, factors, continuous=True), rel=0, abs=1e-13)


def test_sap_refuses_codes_on_which_its_classifier_never_ends() -> None:
    factors = np.stack([np.arange(12) % 2, np.arange(12) % 3], 1)
    codes = factors + 0.1 * np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(InputError, match=r'codes must be at most 1e\+20 .*; use scale="unit"'):
        sap(codes * 1e100, factors)
    assert sap(codes * 1e100, factors, scale="unit") == sap(codes, factors, scale="unit")
    assert sap(codes * 1e100, factors, continuous=True) == pytest.approx(sap(codes, factors, continuous=True))


def test_codes_that_gain_nothing_have_no_importance() -> None:
    rng = np.random.default_rng(5)
    factors = np.stack([np.arange(8) % 2, rng.permutation(np.arange(8) % 3)], 1)
    found = dci(rng.integers(0, 2, (8, 2)), factors, n_estimators=1, random_state=0)  # trees split and gain nothing
    np.testing.assert_array_equal(found.importances[:, 0], 0.0)
    assert np.isfinite([found.disentanglement, found.completeness, found.informativeness]).all()


def test_a_column_of_small_numbers_beside_large_ones_is_scored_as_alone() -> None:
    V = np.array([[a, b] for a in range(4) for b in range(4)])
    small = V * [1e-310, 1.0]
    assert irs(small[:, :1], V[:, :1]) == pytest.approx(1.0)
    assert 0.0 <= irs(small * [1.0, 1e300], V) <= 1.0


@pytest.mark.parametrize("offset", [0.0, 3e11, -7e12])
def test_scores_of_codes_far_from_zero_do_not_depend_on_the_order_of_rows(offset: float) -> None:
    rng = np.random.default_rng(0)
    factors, codes = rng.integers(0, 3, (40, 2)), offset + rng.normal(size=(40, 3))
    order = rng.permutation(40)
    np.testing.assert_allclose(irs(codes[order], factors[order]), irs(codes, factors), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks of a process that has threads
def test_the_classifier_ends_on_the_smallest_codes() -> None:
    """In another process: liblinear hears no alarm. Its weights of such codes are zero, as of zeros."""

    def score() -> None:
        V, Z = np.stack([np.arange(14) % 2, np.arange(14) % 3], 1), np.random.default_rng(0).normal(size=(14, 2))
        os._exit(10 + (sap(1e-161 * Z, V, random_state=0) == sap(1e-50 * Z, V, random_state=0)))

    other = multiprocessing.get_context("fork").Process(target=score)
    other.start()
    other.join(60)
    ended = other.exitcode
    other.kill()
    assert ended == 11
