"""Sets, deviations and p-values at the edge: small ridges, ties, groups of few rows, gaps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rkhs import (
    InputOutputKernelRegressor,
    KernelNovelty,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.errors import InputError
from rkhs.kernels import Gaussian, Linear, Polynomial
from rkhs.models.conformal import min_nonconforming_rows

_N, _D = 60, 4
pytestmark = pytest.mark.filterwarnings(
    "ignore::rkhs.errors.RoundingWarning",
    "ignore::rkhs.errors.OverfitWarning",
    "ignore::rkhs.errors.RepeatWarning",
    "ignore::rkhs.errors.EdgeWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",  # of the dual problem with hardly a ridge
)


def table(q: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, noisy linear outputs, and new ones of both."""
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(_N + 200, _D)), rng.normal(size=(_D, q))
    Y = X @ B + 0.1 * rng.normal(size=(len(X), q))
    Y = Y[:, 0] if q == 1 else Y
    return X[:_N], Y[:_N], X[_N:], Y[_N:]


def _ends(sets: Any) -> np.ndarray:
    return np.asarray(sets.upper - sets.lower if sets.radius is None else sets.radius)


def _of_shape(q: int, shape: Any) -> Callable[[float, float], list[np.ndarray]]:
    """Sizes of sets, deviations and p-values of a regressor of rows times ``unit``."""

    def answers(unit: float, reg: float) -> list[np.ndarray]:
        X, Y, new, _ = table(q)
        model = OperatorKernelRegressor(Linear(), reg=reg * unit**2).fit(unit * X, Y)
        sets = _ends(model.predict_set(unit * new, shape=shape))
        return [sets, model.predict(unit * new, return_std=True)[1], model.p_values(unit * new)]

    return answers


def _copied(unit: float, reg: float) -> list[np.ndarray]:
    X, Y, new, _ = table(1)
    X, Y = np.vstack([X, X[:7]]), np.concatenate([Y, Y[:7]])
    model = OperatorKernelRegressor(Linear(), reg=reg * unit**2).fit(unit * X, Y)
    return [_ends(model.predict_set(unit * new)), model.p_values(unit * new)]


def _without_intercept(unit: float, reg: float) -> list[np.ndarray]:
    X, Y, new, _ = table(1)
    model = OperatorKernelRegressor(Linear(), reg=reg * unit**2, center=False).fit(unit * X, Y)
    return [_ends(model.predict_set(unit * new)), model.p_values(unit * new)]


def _in_groups(unit: float, reg: float) -> list[np.ndarray]:
    X, Y, new, _ = table(1)
    regs, groups = [reg * unit**2], np.arange(_N) // 3
    model = OperatorKernelRegressorCV(Linear(), regs=regs).fit(unit * X, Y, groups=groups)
    sets, deviations = model.predict_set(unit * new, coverage=0.8), model.predict(unit * new, return_std=True)[1]
    return [_ends(sets), deviations, model.p_values(unit * new)]


def _chosen(unit: float, reg: float) -> list[np.ndarray]:
    X, Y, new, _ = table(1)
    model = OperatorKernelRegressorCV(Linear(), regs=[2.0 * reg * unit**2, reg * unit**2]).fit(unit * X, Y)
    assert model.predict_set(unit * new).guarantee == "at least"
    return [_ends(model.predict_set(unit * new)), model.predict(unit * new, return_std=True)[1]]


def _candidates(unit: float, reg: float) -> list[np.ndarray]:
    X, Y, new, _ = table(2)
    model = InputOutputKernelRegressor(Linear(), output_kernel=Gaussian(0.1), reg=reg * unit**2).fit(unit * X, Y)
    return [np.stack(model.predict_set(unit * new, Y).members).mean(1)]


def _novelty(unit: float, reg: float) -> list[np.ndarray]:
    X, _, new, _ = table(1)
    mean = float((X**2).sum(1).mean())  # ``reg`` is in units of it
    model = KernelNovelty(Linear(), reg=reg * _N / mean).fit(unit * X)
    return [model.score_samples(unit * new) / unit**2 / (reg * _N), model.p_values(unit * new)]


EVERYTHING = {
    "interval": _of_shape(1, "auto"),
    "box": _of_shape(3, "auto"),
    "ball": _of_shape(3, "ball"),
    "ellipsoid": _of_shape(3, "ellipsoid"),
    "copies": _copied,
    "no intercept": _without_intercept,
    "groups": _in_groups,
    "chosen": _chosen,
    "candidates": _candidates,
    "novelty": _novelty,
}


@pytest.mark.parametrize("kind", EVERYTHING)
def test_with_a_kernel_of_low_rank_answers_converge_as_the_ridge_vanishes(kind: str) -> None:
    expected, found = EVERYTHING[kind](1.0, 1e-7), EVERYTHING[kind](1e4, 2.5e-11)
    for one, other in zip(expected, found, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(other, one, rtol=1e-3)


def test_an_interval_with_a_tiny_ridge_is_the_full_conformal_set() -> None:
    X, y, new, _ = table(1)
    sets, needed = OperatorKernelRegressor(Linear(), reg=1e-2).fit(1e4 * X, y).predict_set(1e4 * new[:5]), 6
    assert needed == min_nonconforming_rows(0.9, _N)
    for x, lower, upper in zip(new[:5], sets.lower, sets.upper, strict=True):
        F = np.column_stack([np.ones(_N + 1), np.vstack([X, x])])  # the ridge is less than 1e-9 of the eigenvalues
        Q = np.linalg.qr(F)[0]
        rest = 1.0 - (Q**2).sum(1)

        def stranger(value: float, Q: np.ndarray = Q, rest: np.ndarray = rest) -> int:
            t = np.append(y, value)
            scores = np.abs(t - Q @ (Q.T @ t)) / np.sqrt(rest)
            return int((scores[:-1] >= scores[-1]).sum())

        step = 1e-5 * (upper - lower)
        for end, inward in ((lower, step), (upper, -step)):
            assert stranger(end + inward) >= needed > stranger(end - inward)


def test_narrow_spectra_with_a_tiny_ridge_cover() -> None:
    rng, inside, levels = np.random.default_rng(0), [], []
    for _ in range(20):
        X, new = rng.normal(size=(40, 2)), rng.normal(size=(50, 2))
        y, truth = (np.sin(x[:, 0]) + 0.1 * rng.normal(size=len(x)) for x in (X, new))
        model = OperatorKernelRegressor(Gaussian(1e-3), reg=1e-11).fit(X, y)
        sets = model.predict_set(new)
        assert np.isfinite(model.predict(new, return_std=True)[1]).all()
        inside.append(sets.contains(truth).mean())
        levels.append((model.p_values(new) <= 0.1).mean())
    assert np.mean(inside) > 0.9 - 3.0 * np.std(inside) / 20**0.5
    assert np.mean(levels) < 0.1 + 3.0 * np.std(levels) / 20**0.5


@pytest.mark.parametrize(("dtype", "reg"), [("float64", 1e-14), ("float32", 1e-5)])
def test_a_reg_below_the_rounding_errors_is_refused_with_the_least_that_is_not(dtype: Any, reg: float) -> None:
    X, y, new, _ = table(1)
    model = OperatorKernelRegressor(Polynomial(degree=2), reg=reg, dtype=dtype).fit(X, y)
    for ask in (model.predict_set, model.p_values, lambda rows: model.predict(rows, return_std=True)):
        with pytest.raises(InputError, match=r"^reg must be at least .*kernel values are as large as"):
            ask(new)
    with pytest.raises(InputError) as refused:
        model.predict_set(new)
    found = re.search(r"at least ([\d.e-]+) for", str(refused.value))
    assert found is not None
    least = 1.05 * float(found.group(1))
    again = OperatorKernelRegressor(Polynomial(degree=2), reg=least, dtype=dtype).fit(X, y)
    larger = OperatorKernelRegressor(Polynomial(degree=2), reg=20.0 * least, dtype=dtype).fit(X, y)
    np.testing.assert_allclose(_ends(again.predict_set(new)), _ends(larger.predict_set(new)), rtol=0.03)


def test_novelty_refuses_a_reg_below_the_rounding_errors() -> None:
    X = table(1)[0]
    with pytest.raises(InputError, match="reg must be at least") as refused:
        KernelNovelty(Linear(), reg=1e-16).fit(1e3 * X)
    found = re.search(r"at least ([\d.e-]+) for", str(refused.value))
    assert found is not None
    KernelNovelty(Linear(), reg=1.05 * float(found.group(1))).fit(1e3 * X)


def law(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows of which many are as novel as each other."""
    if kind == "heavy tails":
        return rng.standard_cauchy((n, 3))
    if kind == "ties":
        return rng.integers(0, 3, (n, 3)).astype(float)
    return rng.normal(size=(n, 3))


@pytest.mark.parametrize("kind", ["heavy tails", "ties", "narrow kernel", "rows"])
@pytest.mark.parametrize("n", [19, 150])  # scales are estimated with each new row, or not
def test_novel_items_are_those_of_small_p_values_also_under_ties(kind: str, n: int) -> None:
    rng, alphas, draws = np.random.default_rng(0), (0.05, 0.1, 0.3), 12 if n == 150 else 4
    shares: dict[float, list[float]] = {alpha: [] for alpha in alphas}
    for _ in range(draws):
        model = KernelNovelty(Gaussian(1e3) if kind == "narrow kernel" else "auto").fit(law(kind, rng, n))
        new = law(kind, rng, 50 if n == 150 else 15)
        p = model.p_values(new)
        for alpha in alphas:
            model.alpha = alpha
            novel = model.predict(new) == -1
            np.testing.assert_array_equal(novel, p <= alpha + 1e-12)
            np.testing.assert_array_equal(novel, model.decision_function(new) < 0.0)
            if n == 150:
                np.testing.assert_array_equal(novel, model.score_samples(new) < model.offset_)
            shares[alpha].append(novel.mean())
    for alpha, found in shares.items():
        assert np.mean(found) <= alpha + 3.0 * np.std(found) / draws**0.5 + 0.02


def test_scores_are_moved_only_to_the_side_of_the_limit() -> None:
    X = np.random.default_rng(0).normal(size=(250, 2))
    model = KernelNovelty(alpha=0.1).fit(X[:150])
    variances = model.model_.new(model._read_new(X[150:])).variance.numpy()
    scores = -model.score_samples(X[150:])
    moved = scores != variances
    assert moved.mean() < 0.05
    np.testing.assert_allclose(scores[moved], -model.offset_, rtol=1e-12)


def clusters(rng: np.random.Generator, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Four rows near the place of each group, and the groups."""
    places = rng.normal(size=(groups, 5)).repeat(4, 0)
    return places + 0.1 * rng.normal(size=places.shape), np.arange(groups).repeat(4)


@pytest.mark.parametrize("cls", [OperatorKernelRegressor, OperatorKernelRegressorCV])
def test_p_values_of_new_groups_hold_their_level_where_scales_are_estimated_with_the_row(cls: Any) -> None:
    rng, shares = np.random.default_rng(0), []
    for _ in range(25):
        X, groups = clusters(rng, 15)
        model = cls(columns="scaled").fit(X, X[:, 0], groups=groups)
        shares.append((model.p_values(clusters(rng, 10)[0][::4]) <= 0.1).mean())
    assert np.mean(shares) <= 0.1 + 3.0 * np.std(shares) / 25**0.5
    assert np.mean(shares) > 0.01


@pytest.mark.parametrize("kind", ["rows", "groups", "copies", "repeats", "no mean"])
def test_p_values_with_the_new_row_are_those_of_its_scales(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, groups = clusters(np.random.default_rng(3), 12)
    y = X[:, 0].copy()
    if kind in ("copies", "repeats"):
        X[24:] = X[:24]
        y[24:] = y[:24] + (kind == "repeats")
    fit: dict[str, Any] = {"groups": groups} if kind == "groups" else {}
    settings: dict[str, Any] = {"columns": "scaled", "center": kind != "no mean"}
    model = OperatorKernelRegressor(Gaussian(0.2), reg="auto" if fit else 0.01, **settings).fit(X, y, **fit)
    for x in clusters(np.random.default_rng(4), 6)[0][::4]:
        rows = np.vstack([X, x])
        scaled = (rows - rows.mean(0)) / rows.std(0)
        plain = OperatorKernelRegressorCV(Gaussian(0.2), regs=[model.reg_]) if fit else None
        plain = plain or OperatorKernelRegressor(Gaussian(0.2), reg=0.01, center=kind != "no mean")
        plain.fit(scaled[:-1], y, **fit)
        assert model.p_values(x[None]) == pytest.approx(plain.p_values(scaled[-1:]), rel=1e-9)


@pytest.mark.parametrize("shape", ["auto", "box", "ball", "ellipsoid"])
@pytest.mark.parametrize("q", [1, 3])
def test_held_out_rows_with_gaps_serve_where_all_their_outputs_are_known(shape: Any, q: int) -> None:
    X, Y, new, truth = table(q)
    Y, truth = Y.reshape(len(Y), -1), truth.reshape(len(truth), -1)
    gaps = truth.copy()
    gaps[::4, 0] = np.nan
    whole = ~np.isnan(gaps).any(1)
    model = OperatorKernelRegressor(Linear(), reg=1e-3).fit(X, Y)
    found = model.predict_set(X, held_out=(new, gaps), shape=shape)
    expected = model.predict_set(X, held_out=(new[whole], truth[whole]), shape=shape)
    np.testing.assert_array_equal(_ends(found), _ends(expected))
    assert np.isfinite(_ends(found)).all()
    with pytest.raises(InputError, match="rows whose outputs are all known"):
        model.predict_set(X, held_out=(new, np.nan * truth), shape=shape)


def test_a_posterior_variance_is_not_negative_for_a_training_row() -> None:
    X, y, _, _ = table(1)
    model = OperatorKernelRegressor(Linear(), reg=1e-2).fit(1e4 * X, y)
    deviations = model.predict(1e4 * np.vstack([X, 0.0 * X[:1]]), return_std=True)[1]
    assert np.isfinite(deviations).all()
    assert deviations.min() > 0.0
