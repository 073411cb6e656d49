"""Sets with a guarantee, predictive deviations and p-values of regressors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import InputOutputKernelRegressor, OperatorKernelRegressor, OperatorKernelRegressorCV, load, save
from rkhs.errors import InputError
from rkhs.estimators.regression.terms import REGS
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Laplacian
from rkhs.models import Calibration
from rkhs.models.conformal import _hull, min_nonconforming_rows


def made(n: int, q: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Smooth outputs far from zero, whose noise grows with x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    Y = np.stack([np.sin(X[:, 0] * (j + 1) / 2) + 0.3 * X[:, 1] for j in range(q)], 1)
    Y = Y + 0.1 * rng.normal(size=(n, q)) * (1.0 + np.abs(X[:, :1])) + 100.0
    return X, Y[:, 0] if q == 1 else Y


def inverse(K: np.ndarray, ridge: float, *, mean: bool) -> np.ndarray:
    """``A`` as its definition says it."""
    P = np.linalg.inv(K + ridge * np.eye(len(K)))
    return P - np.outer(P.sum(1), P.sum(1)) / P.sum() if mean else P


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_an_interval_is_the_full_conformal_set_of_machines_with_the_new_row(mean: bool, coverage: float) -> None:
    X, y = made(29)
    y, new = y if mean else y - 100.0, made(6, seed=1)[0]
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2, center=mean).fit(X, y)
    found = model.predict_set(new, coverage=coverage)
    kernel, needed = Gaussian(0.4), min_nonconforming_rows(coverage, 29)
    for x, lower, upper in zip(new, found.lower, found.upper, strict=True):
        A = inverse(kernel(np.vstack([X, x])), 0.29, mean=mean)

        def stranger(value: float, A: np.ndarray = A) -> int:
            scores = np.abs(A @ np.append(y, value)) / np.sqrt(np.diag(A))  # of rows left out, over their deviation
            return int((scores[:-1] >= scores[-1]).sum())

        for end, inward in ((lower, 1e-7), (upper, -1e-7)):
            assert stranger(end + inward) >= needed > stranger(end - inward)


def test_scores_of_the_machine_with_a_new_row_are_the_formula_of_the_machine_without_it() -> None:
    X, Y = made(25, q=3)
    K, (new, _) = Gaussian(0.4)(X), made(4, seed=2)
    calibration = Calibration.from_gram(torch.as_tensor(K), torch.as_tensor(Y), 0.1, mean=True)
    seen = calibration.new(torch.as_tensor(Gaussian(0.4)(new, X)), torch.ones(4))
    for place, x in enumerate(new):
        A = inverse(Gaussian(0.4)(np.vstack([X, x])), 0.1, mean=True)
        b, d = seen.weights[place].numpy(), float(seen.variance[place])
        assert 1.0 / A[-1, -1] == pytest.approx(d, rel=1e-9)
        own = np.diag(inverse(K, 0.1, mean=True))
        assert 1.0 / np.diag(A)[:-1] == pytest.approx(1.0 / own - 1.0 / own**2 * b**2 / (d + b**2 / own), rel=1e-8)
        y = seen.values[place].numpy() + 0.3
        left_out = (A @ np.vstack([Y, y]))[:-1] / np.diag(A)[:-1, None]
        with_row = (left_out**2).sum(1) * np.diag(A)[:-1]  # squared scores of the rows, and of the new one
        e = calibration.residuals.numpy()
        said = ((y - seen.values[place].numpy() + b[:, None] * e) ** 2).sum(1) <= (e**2).sum(1) * (own * d + b**2)
        assert (said == (with_row >= ((y - seen.values[place].numpy()) ** 2).sum() / d)).all()


@pytest.mark.parametrize("draws", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_the_truth_is_inside_as_often_as_promised_with_nineteen_rows(draws: int) -> None:
    held = []
    for seed in range(draws):
        X, y = made(39, seed=seed)
        model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X[:19], y[:19])
        held.append(model.predict_set(X[19:]).contains(y[19:]).mean())
    assert abs(np.mean(held) - 0.9) < 3.0 * np.std(held) / np.sqrt(draws)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("shape", "guarantee", "q"),
    [("ball", "at least", 3), ("box", "about", 3), ("box", "about", 12), ("ellipsoid", "at least", 3)],
)
def test_sets_of_several_outputs_hold_them_all(shape: Any, guarantee: str, q: int) -> None:
    held = []
    for seed in range(16):
        X, Y = made(70, q, seed)
        model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X[:40], Y[:40])
        found = model.predict_set(X[40:], shape=shape)
        assert found.guarantee == guarantee
        held.append(found.contains(Y[40:]).mean())
    assert 0.86 < np.mean(held) < 0.97


@pytest.mark.sample(2)
@pytest.mark.parametrize("draws", [8, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("shape", "q"),
    [
        *[("box", 1), ("ball", 3), ("ellipsoid", 3)],
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("box", 3), ("ball", 1), ("ellipsoid", 1))),
    ],
)
def test_rows_that_the_fit_did_not_see_serve_every_loss_and_storage(shape: Any, q: int, draws: int) -> None:
    held = []
    for seed in range(draws):
        X, Y = made(90, q, seed)
        machine = OperatorKernelRegressor(Gaussian(0.4), loss="huber", storage=Nystroem(20), reg=1e-2)
        machine.fit(X[:40], Y[:40])
        found = machine.predict_set(X[60:], held_out=(X[40:60], Y[40:60]), shape=shape)
        held.append(found.contains(Y[60:]).mean())
        assert found.guarantee == "at least"
    assert abs(np.mean(held) - 19 / 21) < 4.0 * np.std(held) / np.sqrt(draws)  # the 19th of 20 sorted scores


def likeliest(K: np.ndarray, Y: np.ndarray, ridges: np.ndarray, *, mean: bool) -> tuple[int, np.ndarray]:
    """The ridge under which all rows but one are the most likely, and how many rows are as strange as the last."""
    n = len(K) - 1
    kept = np.array([np.delete(np.arange(n + 1), left) for left in range(n + 1)])
    W = K[kept[:, :, None], kept[:, None]] + ridges[:, None, None, None] * np.eye(n)  # all ridges, each row left out
    P, log = np.linalg.inv(W), np.linalg.slogdet(W)[1]
    sums, total = P.sum(3), P.sum((2, 3))
    errors = np.einsum("liq,rlij,ljq->rl", Y[kept], P, Y[kept])
    if mean:
        errors -= (np.einsum("rli,liq->rlq", sums, Y[kept]) ** 2).sum(2) / total
        log = log + np.log(total)
    best = ((n - mean) * np.log(errors) + log).min(1).argmin()
    alike = []
    for ridge in ridges:
        A = inverse(K, ridge, mean=mean)
        strange = np.linalg.norm(A @ Y, axis=1) / np.sqrt(np.diag(A))
        alike.append(int((strange[:-1] >= strange[-1] * (1.0 - 1e-9)).sum()))
    return int(best), np.array(alike)


@pytest.mark.sample(1)
@pytest.mark.parametrize("mean", [True, False])
def test_an_interval_chooses_reg_among_all_rows(mean: bool) -> None:
    X, y = made(19)
    y, (new, _) = y - 100.0, made(2, seed=1)
    model = OperatorKernelRegressor(Gaussian(0.4), center=mean).fit(X, y)
    found = model.predict_set(new)
    assert found.guarantee == "at least"
    assert found.lower is not None
    assert found.upper is not None
    for x, center, lower, upper in zip(new, found.center, found.lower, found.upper, strict=True):
        K = Gaussian(0.4)(np.vstack([X, x]))

        def holds(value: float, K: np.ndarray = K) -> bool:
            best, alike = likeliest(K, np.append(y, value)[:, None], 19.0 * REGS, mean=mean)
            return bool(alike[best] >= 2)

        assert not any(holds(value) for value in np.linspace(-4.0, 4.0, 17) if not lower <= value <= upper)
        for end, inward in ((lower, 0.002), (upper, -0.002)):
            assert end == center or any(holds(end + step * inward) for step in range(6))
            assert not any(holds(end - step * inward) for step in (1, 5, 10, 30))


def test_an_end_where_the_choice_changes_lies_a_little_outside() -> None:
    functions = np.array([[[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]])  # y^2 below 1 chooses the first setting
    lower, upper = _hull(functions, np.zeros((2, 1)), np.array([[-3.0, 3.0], [-0.5, 0.5]]))
    assert -1.03 < lower <= -1.0 < 1.0 <= upper < 1.03


def test_an_interval_of_which_no_row_is_left_out_is_the_whole_line() -> None:
    (X, y), (new, _) = made(18), made(3, seed=1)
    found = OperatorKernelRegressor(Gaussian(0.4)).fit(X, y).predict_set(new, coverage=0.95)
    assert found.guarantee == "at least"
    assert not found.informative.any()
    np.testing.assert_array_equal([found.lower, found.upper], [[-np.inf] * 3, [np.inf] * 3])


def test_candidates_choose_reg_among_all_rows() -> None:
    X, Y = made(19, q=2)
    Y = np.round(Y - 100.0, 1)
    new, candidates = made(2, seed=1)[0], np.round(made(16, q=2, seed=2)[1] - 100.0, 1)
    model = InputOutputKernelRegressor(Gaussian(0.4), decoding="candidates").fit(X, Y)
    found = model.predict_set(new, candidates)
    assert found.guarantee == "at least"
    for members, x in zip(found.members, new, strict=True):
        K, expected = Gaussian(0.4)(np.vstack([X, x])), []
        for one in candidates:
            best, alike = likeliest(K, np.vstack([Y, one]), 19.0 * REGS, mean=True)
            expected.append(alike[best] >= 2)
        assert members.tolist() == expected


@pytest.mark.filterwarnings("ignore::rkhs.errors.EdgeWarning")
@pytest.mark.parametrize(
    "cls",
    [OperatorKernelRegressor, pytest.param(partial(OperatorKernelRegressorCV, "gaussian"), marks=pytest.mark.slow)],
)
def test_intervals_of_few_rows_hold_what_they_promise_also_from_a_file(cls: Any, tmp_path: Path) -> None:
    held = []
    for seed in range(8):
        X, y = made(19, seed=seed)
        model = cls().fit(X[:9], y[:9])
        held.append(model.predict_set(X[9:]).contains(y[9:]).mean())
    assert np.mean(held) > 0.9 - 2.0 * np.std(held) / 8**0.5
    fitted = getattr(model, "estimator_", model)
    for one in (model, fitted):
        save(one, tmp_path / "model.rkhs")
        again, first = load(tmp_path / "model.rkhs").predict_set(X[9:]), model.predict_set(X[9:])
        np.testing.assert_array_equal(again.upper, first.upper)
        assert again.guarantee == "at least"


def test_a_choice_that_cannot_take_part_in_a_set_promises_less(monkeypatch: pytest.MonkeyPatch) -> None:
    (X, y), new = made(30), made(4, seed=1)[0]
    model = OperatorKernelRegressor().fit(X, y)
    assert model.predict_set(new, shape="ball").guarantee == "about"
    assert OperatorKernelRegressor(reg=1e-3).fit(X, y).predict_set(new, shape="ball").guarantee == "at least"
    assert OperatorKernelRegressor().fit(X, y, groups=np.arange(30) // 2).predict_set(new).guarantee == "about"
    for reg, copied, guarantee in (("auto", 1, "about"), (1e-3, 1, "about"), (1e-3, 30, "at least")):
        twice = OperatorKernelRegressor(reg=reg).fit(np.vstack([X, X[:copied]]), np.append(y, y[:copied]))
        assert {twice.predict_set(new, shape=shape).guarantee for shape in ("auto", "ball")} == {guarantee}
        corners = InputOutputKernelRegressor(decoding="candidates", reg=reg)
        corners.fit(np.vstack([X, X[:copied]]), np.append(y, y[:copied])[:, None] * [[1.0, 2.0]])
        assert corners.predict_set(new, np.eye(2)).guarantee == guarantee
    folds = OperatorKernelRegressorCV(cv=3).fit(X, y).predict_set(new)
    assert folds.guarantee == "about"
    monkeypatch.setattr("rkhs.estimators.regression.sets._MOST_ROWS", 29)
    assert model.predict_set(new).guarantee == "about"


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")  # of noise
def test_p_values_of_a_regressor_hold_where_columns_were_scaled_by_few_rows() -> None:
    shares = []
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(39, 100))
        model = OperatorKernelRegressor(columns="scaled").fit(X[:19], X[:19, 0])
        shares.append((model.p_values(X[19:]) <= 0.05).mean())
    assert np.mean(shares) < 0.05 + 2.0 * np.std(shares) / 8**0.5


def test_a_ball_holds_the_exact_set() -> None:
    X, y = made(30)
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X, y)
    new = made(20, seed=3)[0]
    ball, interval = model.predict_set(new, shape="ball"), model.predict_set(new)
    assert (ball.center - ball.radius <= interval.lower).all()
    assert (ball.center + ball.radius >= interval.upper).all()
    assert np.mean(2.0 * ball.radius / (interval.upper - interval.lower)) < 1.3


@pytest.mark.sample(1)
@pytest.mark.parametrize("mean", [True, False])
def test_an_ellipsoid_is_the_smallest_that_holds_every_output_of_which_some_row_is_as_strange(mean: bool) -> None:
    (X, Y), (new, _) = made(29, q=2), made(8, seed=1)
    Y = Y @ np.array([[1.0, 0.9], [0.0, 0.3]]) - (0.0 if mean else 100.0)
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2, center=mean).fit(X, Y)
    found = model.predict_set(new, coverage=1.0 - 1.0 / 30.0, shape="ellipsoid")
    assert found.metric is not None
    assert np.linalg.det(found.metric) == pytest.approx(1.0)
    half = np.linalg.inv(np.linalg.cholesky(found.metric).T)
    directions = [half @ (np.cos(angle), np.sin(angle)) for angle in np.linspace(0.0, 2.0 * np.pi, 720)]
    for x, center, radius in zip(new, found.center, found.radius, strict=True):
        A = inverse(Gaussian(0.4)(np.vstack([X, x])), 0.29, mean=mean)

        def held(share: float, A: np.ndarray = A, center: np.ndarray = center, radius: float = radius) -> bool:
            """Whether some output at a share of the radius is one of those, by machines with the new row."""
            for towards in directions:
                whole = np.vstack([Y, center + share * radius * towards])
                dual = A @ whole
                scores = (dual @ np.linalg.inv(whole.T @ dual) * dual).sum(1) / np.diag(A)
                if scores[:-1].max() >= scores[-1]:
                    return True
            return False

        assert held(0.999)
        assert not held(1.0 + 1e-6)


@pytest.mark.parametrize("known", [None, slice(20, 40)])
def test_an_ellipsoid_turns_with_the_outputs_and_is_a_ball_of_one(known: slice | None) -> None:
    X, Y = made(60, q=3)
    M, model = np.array([[1.0, 2.0, 0.0], [0.0, 5.0, 1.0], [0.0, 0.0, 0.1]]), OperatorKernelRegressor(reg=1e-2)
    one, other = (
        model.fit(X[:20], Z[:20]).predict_set(
            X[40:], shape="ellipsoid", held_out=None if known is None else (X[known], Z[known])
        )
        for Z in (Y, Y @ M)
    )
    assert other.radius == pytest.approx(one.radius * np.linalg.det(M) ** (1 / 3), rel=1e-6)
    assert (one.contains(Y[40:]) == other.contains(Y[40:] @ M)).all()
    model.fit(X, Y[:, 0])
    assert model.predict_set(X, shape="ellipsoid").radius == pytest.approx(model.predict_set(X, shape="ball").radius)


@pytest.mark.parametrize("held_out", [False, True])
def test_an_ellipsoid_of_outputs_that_determine_each_other_is_refused(held_out: bool) -> None:
    X, Y = made(40, q=2)
    model = OperatorKernelRegressor(reg=1e-2).fit(X[:30], Y[:30] @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 2.0]]))
    known = (X[30:], np.column_stack([Y[30:], Y[30:, 0]])) if held_out else None
    with pytest.raises(InputError, match="shape='ellipsoid' needs more rows than outputs"):
        model.predict_set(X, shape="ellipsoid", held_out=known)


def test_too_few_rows_give_the_whole_space_and_say_so() -> None:
    X, y = made(8)
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X, y)
    for shape in ("box", "ball", "ellipsoid"):
        found = model.predict_set(X, coverage=0.9, shape=shape)
        assert not found.informative.any()
        assert found.contains(y + 1e9).all()
    assert model.predict_set(X, coverage=0.8).informative.all()  # floor(0.2 * 9) = 1 row


def test_a_sum_of_kernels_and_a_gram_matrix_give_the_sets_of_their_items(tmp_path: Path) -> None:
    X, y = made(40)
    new, (one, two) = made(15, seed=4)[0], (Gaussian(0.4), Laplacian(gamma=0.2))
    model = OperatorKernelRegressor(one + 0.5 * two, reg=1e-2).fit(X, y)
    pairs = OperatorKernelRegressor([(one, None), (0.5 * two, None)], reg=1e-2).fit(X, y)
    given = OperatorKernelRegressor("precomputed", reg=1e-2).fit(K := (one + 0.5 * two)(X), y)
    save(model, tmp_path / "model.rkhs")
    expected = model.predict_set(new)
    cross = (one + 0.5 * two)(new, X)
    for found in (
        pairs.predict_set(new),
        given.predict_set(cross, gram=K),
        load(tmp_path / "model.rkhs").predict_set(new),
    ):
        assert found.lower == pytest.approx(expected.lower, rel=1e-9)
        assert found.upper == pytest.approx(expected.upper, rel=1e-9)
    assert given.p_values(cross, gram=K) == pytest.approx(model.p_values(new))
    with pytest.raises(InputError, match="gram must be the Gram matrix"):
        given.predict_set(cross)
    with pytest.raises(InputError, match="gram must have the 40 rows"):
        given.predict_set(cross, gram=K[:5, :5])
    with pytest.raises(InputError, match="gram must be None"):
        model.predict_set(new, gram=K)


@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({"loss": "huber"}, None),
        ({"operator": "covariance"}, None),
        ({"storage": Nystroem(10)}, None),
        ({}, np.arange(1.0, 41.0)),
    ],
)
def test_what_has_no_closed_form_is_refused_with_the_way_out(settings: dict[str, Any], weights: Any) -> None:
    X, Y = made(40, q=2)
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2, **settings).fit(X, Y, weights)
    for call in (model.predict_set, model.p_values, lambda X: model.predict(X, return_std=True)):
        with pytest.raises(InputError, match=r"held_out=\(X_other, y_other\)"):
            call(X)


@pytest.mark.parametrize("coverage", [0.0, 1.5, "much"])
def test_a_coverage_out_of_range_is_refused(coverage: Any) -> None:
    X, y = made(12)
    with pytest.raises(InputError, match="coverage must be"):
        OperatorKernelRegressor(reg=1e-2).fit(X, y).predict_set(X, coverage=coverage)


def test_two_wrong_targets_do_not_widen_all_deviations() -> None:
    X, Y = made(300, seed=6)
    Y[:2] += 60.0 * Y.std()
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X[:200], Y[:200])
    deviations = model.predict(X[200:], return_std=True)[1]
    sets = model.predict_set(X[200:], coverage=0.9)
    assert 0.6 < np.median(3.29 * deviations / (sets.upper - sets.lower)) < 1.4


def test_a_deviation_is_that_of_the_best_two_parts_and_covers() -> None:
    X, Y = made(160, q=2, seed=5)
    model = OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X[:80], Y[:80])
    values, deviations = model.predict(X[80:], return_std=True)
    assert values.shape == deviations.shape == (80, 2)
    assert (values == model.predict(X[80:])).all()
    assert 0.82 < (np.abs(values - Y[80:]) < 1.645 * deviations).mean() < 0.97
    far = model.predict([[50.0, 50.0]], return_std=True)[1]
    assert (far >= deviations.max(0) - 1e-9).all()

    from scipy.optimize import minimize

    A = inverse(Gaussian(0.4)(X[:80]), 0.8, mean=True)
    e, own = (A @ Y[:80])[:, 0] / np.diag(A), 1.0 / np.diag(A) - 0.8

    def likelihood(parts: np.ndarray) -> float:
        v = np.exp(parts[0]) * own + np.exp(parts[1])
        return float((np.log(v) + e**2 / v).sum())

    best = minimize(likelihood, np.log([1.0, (e**2).mean()]), method="Nelder-Mead").x
    new = inverse(Gaussian(0.4)(np.vstack([X[:80], X[80:81]])), 0.8, mean=True)
    expected = np.exp(best[0]) * (1.0 / new[-1, -1] - 0.8) + np.exp(best[1])
    assert deviations[0, 0] ** 2 == pytest.approx(expected, rel=0.05)


def test_p_values_are_low_far_from_the_rows_and_uniform_among_them() -> None:
    many = []
    for seed in range(30):
        X, y = made(60, seed=seed)
        many.append(OperatorKernelRegressor(Gaussian(0.4), reg=1e-2).fit(X[:39], y[:39]).p_values(X[39:]))
    for alpha in (0.05, 0.1, 0.3):
        held = [(p <= alpha).mean() for p in many]
        assert np.mean(held) < alpha + 3.0 * np.std(held) / np.sqrt(30)
        assert np.mean(held) > 0.5 * alpha
    X, y = made(60)
    assert OperatorKernelRegressor(Gaussian(0.4)).fit(X, y).p_values([[9.0, 9.0]])[0] == 1 / 61


def test_the_default_call_chooses_reg_by_rows_that_are_left_out() -> None:
    X, y = made(60)
    model = OperatorKernelRegressor(Gaussian(0.4)).fit(X, y)
    errors = []
    for reg in np.logspace(0.0, -8.0, 17):
        A = inverse(Gaussian(0.4)(X), 60 * reg, mean=False)
        e = (A @ (y - y.mean())) / np.diag(A)
        errors.append((e**2).mean())
    assert model.reg_ == pytest.approx(np.logspace(0.0, -8.0, 17)[int(np.argmin(errors))])
    assert model.leave_one_out_error_ == pytest.approx(min(errors) / y.var(), rel=1e-6)
    fixed = OperatorKernelRegressor(Gaussian(0.4), reg=model.reg_).fit(X, y)
    assert (fixed.predict(X) == model.predict(X)).all()
    assert OperatorKernelRegressor(loss="huber").fit(X, y).reg_ == 1e-3
