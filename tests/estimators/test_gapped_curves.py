"""FunctionalKernelRegressor on curves with values that are not known."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import FunctionalKernelRegressor
from rkhs.data import curves_on_grid
from rkhs.errors import GapWarning, InputError

RNG = np.random.default_rng(0)
TIMES = np.sort(RNG.random(20))
N = 25
PHASES = RNG.uniform(0.0, 3.0, (N, 1))
X = np.sin(2 * np.pi * TIMES + PHASES)
Y = np.cos(2 * np.pi * TIMES + PHASES) + 0.5 * PHASES
GAPS = RNG.random(Y.shape) < 0.3


def machine(**given: Any) -> FunctionalKernelRegressor:
    options = {
        "n_basis": 5,
        "basis": "fourier",
        "loss": "squared",
        "reg": 1e-4,
        "input_times": TIMES,
        "output_times": TIMES,
    }
    return FunctionalKernelRegressor(**{**options, **given})


def test_the_fit_is_the_regression_of_all_known_values() -> None:
    """With the kernel ``k(x, x') sum_j l_j psi_j(t) psi_j(t')`` and weights ``q_t / n``, around the mean."""
    gapped = np.where(GAPS, np.nan, Y)
    with pytest.warns(GapWarning, match=rf"{GAPS.sum()} gaps \(NaN\) in {GAPS.any(1).sum()} of {N} curves"):
        model = machine().fit(X, gapped)
    out = model.output_
    mean = out.mean
    np.testing.assert_allclose(np.where(GAPS, model.predict(X), Y).mean(0), mean, atol=1e-7)
    K = model.kernel_.pairs[0].kernel(X, X)
    B = out.functions.T * out.eigenvalues @ out.functions
    i, t = np.nonzero(~GAPS)
    system = K[np.ix_(i, i)] * B[np.ix_(t, t)] + np.diag(N * 1e-4 / out.weights[t])
    alpha = np.linalg.solve(system, (gapped - mean)[i, t])
    expected = mean + K[:, i] @ (alpha[:, None] * B[t])
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore::rkhs.errors.GapWarning")
def test_curves_with_gaps_are_predicted_nearly_as_whole_ones_are(tmp_path: Path) -> None:
    model = machine().fit(X, np.where(GAPS, np.nan, Y))
    whole = machine().fit(X, Y)
    missed, least = (np.sqrt(np.mean((one.predict(X) - Y) ** 2)) for one in (model, whole))
    assert missed < 0.2 * Y.std()
    assert missed < 3.0 * least + 0.02
    rkhs.save(model, tmp_path / "m")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore::rkhs.errors.GapWarning")
def test_one_gap_changes_little_and_weights_of_zero_leave_rows_out() -> None:
    one = Y.copy()
    one[3, 7] = np.nan
    times = np.linspace(0.0, 1.0, 20)
    whole = machine(output_times=times, n_basis=3, reg=1e-2)
    np.testing.assert_allclose(whole.fit(X, one).predict(X), whole.fit(X, Y).predict(X), atol=0.05)
    gapped, weights = np.where(GAPS, np.nan, Y), np.ones(N)
    weights[-5:] = 0.0
    kernel = rkhs.kernels.Gaussian(1.0)
    found = machine(kernel=kernel).fit(X, gapped, weights).predict(X)
    np.testing.assert_allclose(found, machine(kernel=kernel).fit(X[:-5], gapped[:-5]).predict(X), atol=1e-10)


def test_what_needs_whole_curves_says_so() -> None:
    gapped = np.where(GAPS, np.nan, Y)
    empty_curve, empty_time = gapped.copy(), gapped.copy()
    empty_curve[4], empty_time[:, 6] = np.nan, np.nan
    for model, y, message in (
        (machine(loss="huber"), gapped, "only with the squared loss.*reg='auto'.*curves_on_grid"),
        (machine(loss="epsilon_insensitive", reg="auto"), gapped, r"got loss=Eps.*\. Write loss='squared', or fill"),
        (machine(loss="epsilon_insensitive"), gapped, r"got loss=Eps.*\. Write loss='squared', or fill"),
        (machine(), np.full_like(Y, np.nan), "must hold known values"),
        (machine(basis="empirical"), gapped, "needs whole curves"),
        (machine(), empty_curve, "curve 4 is NaN throughout"),
        (machine(), empty_time, "time 6 is NaN throughout"),
        (machine(), np.where(GAPS, np.inf, Y), "infinity"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    for act in (lambda: machine().loo_errors(X, gapped, regs=[1e-3]), lambda: machine().path(X, gapped, regs=[1e-3])):
        with pytest.raises(InputError, match="loo_errors and path need whole curves"):
            act()


def test_the_way_that_the_sentence_names_works() -> None:
    gapped = np.where(GAPS, np.nan, Y)
    gapped[:, [0, -1]] = Y[:, [0, -1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", GapWarning)
        filled = curves_on_grid(gapped, TIMES)
        FunctionalKernelRegressor(n_basis=5, input_times=TIMES, trim=None).fit(X, filled)


@pytest.mark.parametrize("kernel", ["auto", "functional_laplacian"])
def test_the_default_call_chooses_with_gaps(kernel: str) -> None:
    gapped = np.where(GAPS, np.nan, Y)
    default = FunctionalKernelRegressor(kernel, n_basis=5, input_times=TIMES, output_times=TIMES)
    with pytest.warns(GapWarning, match="the squared loss of a curve .* no curve is left out"):
        model = default.fit(X, gapped)
    assert model.inliers_.all()
    assert model.outlier_score_ is None
    assert model.leave_one_out_error_ is not None
    chosen = machine(kernel=model.kernel_.pairs[0].kernel, reg=model.reg_)
    with pytest.warns(GapWarning):
        np.testing.assert_allclose(chosen.fit(X, gapped).predict(X), model.predict(X), rtol=1e-9)
    assert np.mean((model.predict(X) - Y) ** 2) < 0.02 * Y.var()


@pytest.mark.filterwarnings("ignore::rkhs.errors.GapWarning")
def test_a_choice_with_one_gap_is_nearly_that_of_whole_curves() -> None:
    one, smooth = Y.copy(), rkhs.kernels.FunctionalGaussian(times=TIMES)
    one[3, 7] = np.nan
    given: dict[str, Any] = {
        "n_basis": 3,
        "basis": "fourier",
        "loss": "squared",
        "output_times": np.linspace(0.0, 1.0, 20),
    }
    gapped, whole = (FunctionalKernelRegressor(smooth, trim=None, **given).fit(X, y) for y in (one, Y))
    assert 0.1 <= gapped.reg_ / whole.reg_ <= 10.0
    np.testing.assert_allclose(gapped.leave_one_out_error_, whole.leave_one_out_error_, rtol=0.2)


def test_gaps_of_weight_zero_are_named_and_not_counted() -> None:
    weights, idle = np.r_[np.zeros(5), np.ones(N - 5)], np.arange(N) < 5
    only_idle, gapped = np.where(GAPS & idle[:, None], np.nan, Y), np.where(GAPS, np.nan, Y)
    with pytest.warns(GapWarning, match=rf"y has {GAPS[5:].sum()} gaps \(NaN\) in {GAPS[5:].any(1).sum()} of {N - 5} "):
        machine().fit(X, gapped, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GapWarning)
        for loss in ("squared", "huber"):
            found, few = (machine(loss=loss, tol=1e-10) for _ in range(2))
            found.fit(X, only_idle, weights)
            few.fit(X[5:], Y[5:])
            np.testing.assert_allclose(found.predict(X), few.predict(X), atol=1e-5)


@pytest.mark.filterwarnings("ignore::rkhs.errors.GapWarning")
def test_a_choice_does_not_see_rows_of_weight_zero() -> None:
    gapped, weights = np.where(GAPS, np.nan, Y), np.r_[np.ones(N - 5), np.zeros(5)]
    kernel = rkhs.kernels.Gaussian(1.0)
    found, few = machine(kernel=kernel, reg="auto"), machine(kernel=kernel, reg="auto").fit(X[:-5], gapped[:-5])
    found.fit(X, gapped, weights)
    assert found.reg_ == few.reg_
    assert found.inliers_.tolist() == [True] * (N - 5) + [False] * 5
    np.testing.assert_allclose(found.predict(X), few.predict(X), atol=1e-9)
