"""The robust fit: bad rows found, the model of the clean rows, on vectors, Gram matrices and objects."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder, fit_robust, load, save
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning, OverfitWarning, warn
from rkhs.estimators import robust_fit
from rkhs.estimators.robust_fit import RobustFit
from rkhs.features import Nystroem
from rkhs.kernels import FromFunction, Gaussian
from rkhs.losses import Huber
from rkhs.selection import trimmed
from rkhs.selection.trimmed import trimmed_fit


def curve(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n)
    return np.stack([t, np.sin(2 * t), t**2, np.cos(3 * t)], 1) + 0.05 * rng.standard_normal((n, 4))


def spoiled(kind: str) -> tuple[np.ndarray, np.ndarray]:
    X, bad = curve(80, 0), np.zeros(80, dtype=bool)
    bad[np.random.default_rng(1).permutation(80)[:8]] = True
    rng = np.random.default_rng(2)
    X[bad] = {
        "noise": X[bad] + 6.0 * rng.standard_normal((8, 4)),
        "group": 12.0 + 0.1 * rng.standard_normal((8, 4)),
        "huge": 1e6 * rng.standard_normal((8, 4)),
    }[kind]
    return X, bad


@cache
def noisy_fit() -> RobustFit[KernelAutoencoder]:
    """The robust fit of the noisy rows, for tests that leave it as it is."""
    return fit_robust(KernelAutoencoder(2), spoiled("noise")[0])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "linear_part"),
    [("noise", "kernel"), pytest.param("group", "free", marks=pytest.mark.slow), ("huge", "free")],
)
def test_bad_rows_are_left_out(kind: str, linear_part: str) -> None:
    X, bad = spoiled(kind)
    model = KernelAutoencoder(2, linear_part=linear_part)
    found = fit_robust(model, X)
    assert found.settled
    assert not found.inliers[bad].any()
    assert found.inliers[~bad].sum() >= 70
    np.testing.assert_array_equal(found.inliers, found.outlier_score <= 1.0)
    # The model is that of the inliers, with what the user asked for.
    twin = KernelAutoencoder(2, linear_part=linear_part).fit(X[found.inliers])
    new = curve(40, 3)
    np.testing.assert_allclose(found.model.transform(new), twin.transform(new), rtol=1e-6, atol=1e-8)
    clean = KernelAutoencoder(2, linear_part=linear_part).fit(X[~bad])
    assert found.model.reconstruction_error(new).mean() < 1.05 * clean.reconstruction_error(new).mean()
    assert not hasattr(model, "codes_")


@pytest.mark.parametrize("precomputed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_far_group_is_left_out_though_it_codes_itself(precomputed: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    X[:8] = 9.0 * rng.normal(size=12) + 0.1 * rng.normal(size=(8, 12))
    data = Gaussian(1.0 / 800.0)(X) if precomputed else X
    model = KernelAutoencoder(2, kernel="precomputed" if precomputed else "auto")
    found = fit_robust(model, data)
    # With two numbers for twelve the others are rebuilt badly, so the group is not far beyond what an inlier may have.
    assert found.outlier_score[:8].min() > 1.0
    assert found.outlier_score[:8].max() < 3.0
    assert not found.inliers[:8].any()
    assert found.inliers[8:].all()


def test_clean_rows_stay_and_new_ones_are_scored() -> None:
    X = curve(80, 0)
    found = fit_robust(KernelAutoencoder(2, reg=(1e-2, 1e-4)), X)
    assert found.inliers.mean() > 0.97
    assert found.score_items(curve(40, 4)).mean() < 1.0
    assert found.score_items(100.0 + X[:3]).min() > 1.0


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
def test_a_few_that_do_no_harm_stay_and_are_still_told() -> None:
    X, odd = curve(80, 0), [5, 40]
    shift = np.random.default_rng(7).standard_normal((2, 4))
    near, far = X.copy(), X.copy()
    near[odd] += 1.2 * shift
    far[odd] += 2.0 * shift
    mild = fit_robust(KernelAutoencoder(2), near)
    assert (mild.outlier_score[odd] > 1.5).all()
    assert mild.inliers.all()
    whole = KernelAutoencoder(2).fit(near)
    np.testing.assert_array_equal(mild.model.transform(X), whole.transform(X))
    gross = fit_robust(KernelAutoencoder(2), far)
    np.testing.assert_array_equal(np.flatnonzero(~gross.inliers), odd)


BUMPS = KernelAutoencoder(3, reg=(1e-4, 1e-3))


def faulty(n: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """Noisy bumps: 8 rows with mild spikes (1), 6 with a fraction of the usual swing (-1)."""
    rng = np.random.default_rng(3)
    t = np.linspace(0.0, 1.0, 50)
    X = rng.uniform(0.8, 1.2, (n, 1)) * np.exp(-(((t - rng.uniform(0.4, 0.6, (n, 1))) / 0.2) ** 2))
    X += 0.1 * rng.normal(size=X.shape)
    fault = np.zeros(n, dtype=int)
    fault[rng.permutation(n)[:14]] = np.repeat([1, -1], [8, 6])
    for i in np.flatnonzero(fault == 1):
        X[i, rng.permutation(50)[:5]] += 0.55
    X[fault == -1] *= 0.1
    return X, fault


@cache
def looked_at() -> RobustFit[KernelAutoencoder]:
    """The robust fit of the faulty rows, for tests that leave it as it is."""
    return fit_robust(BUMPS, faulty()[0])


def test_rows_that_are_too_few_or_too_mild_to_look_wrong_stand_apart_on_both_sides() -> None:
    fault = faulty()[1]
    found = looked_at()
    assert found.inliers.all()
    assert (found.outlier_score <= 1.0).all()
    assert (found.outlier_sign[fault != 0] == fault[fault != 0]).all()
    assert (found.outlier_sign[fault == 0] != 0).mean() < 0.03
    low, high = found.limits
    np.testing.assert_array_equal(found.outlier_score > high, found.outlier_sign == 1)
    np.testing.assert_array_equal(found.outlier_score < low, found.outlier_sign == -1)
    text = repr(found)
    assert "160 items, 0 left out" in text
    assert (
        f"{(found.outlier_sign == 1).sum()} stand apart above the others and {(found.outlier_sign == -1).sum()}" in text
    )


def test_rows_that_stand_apart_are_left_out_on_demand() -> None:
    X, fault = faulty()
    seen = looked_at()
    found = fit_robust(BUMPS, X, leave_out="apart")
    np.testing.assert_array_equal(found.inliers, seen.outlier_sign == 0)
    assert not found.inliers[fault != 0].any()
    twin = clone(BUMPS).fit(X[found.inliers])
    np.testing.assert_allclose(found.model.transform(X), twin.transform(X), rtol=1e-6, atol=1e-8)
    # Scores are those of the model without these rows.
    np.testing.assert_allclose(found.outlier_score[~found.inliers], found.score_items(X[~found.inliers]), rtol=1e-9)
    with pytest.raises(InputError, match="leave_out must be one of 'wrong', 'apart'"):
        fit_robust(KernelAutoencoder(3), X, leave_out="all")  # type: ignore[arg-type]


def test_limits_are_robust_deviations_of_the_logarithms_of_each_side() -> None:
    rng = np.random.default_rng(0)
    steps = np.abs(rng.normal(size=2000))
    score = np.exp(np.r_[0.1 * steps, 0.0, -0.3 * steps] - 3.0)
    low, high = robust_fit.spread_limits(score)
    assert np.log(high) == pytest.approx(-3.0 + 3.0 * 0.1, rel=0.02)
    assert np.log(low) == pytest.approx(-3.0 - 3.0 * 0.3, rel=0.02)
    assert robust_fit.spread_limits(score * 10.0) == pytest.approx((10.0 * low, 10.0 * high))
    assert robust_fit.spread_limits(score * 1e3)[1] == 1.0  # what looks wrong stands apart too
    # Scores that are zero, all equal, or too few say nothing of a spread.
    assert robust_fit.spread_limits(np.zeros(50)) == (0.0, 1.0)
    assert robust_fit.spread_limits(np.full(50, 0.2)) == (0.0, 1.0)
    assert robust_fit.spread_limits(score[:: len(score) // 15][:15]) == (0.0, 1.0)
    assert (robust_fit.spread_limits(np.r_[score, 0.0])[0]) > 0.0  # one row that is rebuilt to the bit is below


@pytest.mark.parametrize("circle", [2, 3])
def test_rounds_that_go_in_a_circle_end(circle: int) -> None:
    # Left out, the last items are coded well; in the fit, they are not, one after the other.
    calls: list[np.ndarray] = []

    def fit(kept: np.ndarray) -> tuple[int, np.ndarray]:
        calls.append(kept)
        roots = np.full(9, 0.5)
        roots[8 - len(calls) % circle] = 2.0
        return len(calls), roots

    first = np.arange(9) < 6
    found = trimmed_fit(fit, lambda roots: 1.0, first, np.zeros(9, dtype=bool), 20)
    assert found.settled
    assert found.rounds == len(calls) <= 4 * circle
    np.testing.assert_array_equal(found.kept, calls[-1])
    assert found.kept.all()


def test_a_last_fit_that_does_not_converge_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        fit_robust(KernelAutoencoder(2, max_iter=1, reg=(1e-2, 1e-3)), curve(60, 0))


@pytest.mark.slow
def test_gram_matrices_and_objects() -> None:
    X, bad = spoiled("noise")
    K = np.asarray(Gaussian(0.3)(X))
    gram = fit_robust(KernelAutoencoder(2, kernel="precomputed"), K)
    vectors = fit_robust(KernelAutoencoder(2, kernel=Gaussian(0.3), output_kernel="same"), X)
    assert not gram.inliers[bad].any()
    assert gram.inliers[~bad].mean() > 0.9
    both = gram.inliers & vectors.inliers
    assert both.sum() >= 0.95 * gram.inliers.sum()
    kernel = FromFunction(lambda a, b: float(np.exp(-0.3 * ((a - b) ** 2).sum())))
    objects = fit_robust(KernelAutoencoder(2, kernel=kernel), list(X))
    np.testing.assert_array_equal(objects.inliers, gram.inliers)
    np.testing.assert_allclose(objects.outlier_score, gram.outlier_score, rtol=1e-4)


@pytest.mark.slow
def test_an_indefinite_matrix_is_clipped_as_in_fit() -> None:
    X, bad = spoiled("noise")
    K = np.asarray(Gaussian(0.3)(X))
    with pytest.warns(NotPositiveSemidefiniteWarning):
        found = fit_robust(KernelAutoencoder(2, kernel="precomputed"), K - 0.02 * np.eye(len(K)))
    assert not found.inliers[bad].any()
    assert found.inliers[~bad].mean() > 0.9


def test_the_model_is_an_ordinary_one(tmp_path: Any) -> None:
    X, _ = spoiled("noise")
    model = noisy_fit().model
    save(model, tmp_path / "model.rkhs")
    np.testing.assert_array_equal(load(tmp_path / "model.rkhs").transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"loss": Huber(0.1)}, "loss='squared'"),
        ({"n_components": (3, 2)}, "one hidden layer"),
        ({"storage": Nystroem(10)}, "storage='dense'"),
    ],
)
def test_what_has_no_closed_form_is_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        fit_robust(KernelAutoencoder(**options), curve(20, 0))


@pytest.mark.parametrize("precomputed", [False, True])
def test_equal_items_around_the_middle_are_refused(precomputed: bool) -> None:
    X = np.zeros((80, 4))
    X[65:] = curve(15, 0)
    data = Gaussian(1.0)(X) if precomputed else X
    with pytest.raises(InputError, match="X must hold at least two different items; got .*(65|constant)"):
        fit_robust(KernelAutoencoder(2, kernel="precomputed" if precomputed else "auto"), data)


def test_bad_arguments_and_too_few_rounds() -> None:
    with pytest.raises(InputError, match="trim"):
        fit_robust(KernelAutoencoder(), curve(20, 0), trim=0.5)
    X, _ = spoiled("noise")
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        found = fit_robust(KernelAutoencoder(2), X, max_rounds=1)
    assert not found.settled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noisy_fit()


@pytest.mark.usefixtures("long_fits")
def test_the_second_look_takes_in_good_items_at_the_edge_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    t = np.r_[rng.uniform(0.0, 1.0, 40), rng.uniform(1.0, 2.2, 8)]  # a curve whose end is sparse
    X = np.c_[t, np.sin(2.0 * t), t**2] + 0.01 * rng.normal(size=(48, 3))
    X[:4] += rng.uniform(6.0, 9.0, (4, 3))
    model = KernelAutoencoder(1, reg=1e-3, kernel=Gaussian(1.0), decoder_kernel=Gaussian(1.0))
    monkeypatch.setattr(robust_fit, "_MOST", 1.0)
    looked = fit_robust(model, X).inliers
    monkeypatch.setattr(trimmed, "_DOUBT", 0.0)
    blind = fit_robust(model, X).inliers
    assert not looked[:4].any()
    assert looked[40:].sum() > blind[40:].sum()


@pytest.mark.slow
def test_only_the_last_fit_speaks() -> None:
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 1.0, 60)
    clean = rng.uniform(0.5, 1.5, (120, 1)) * np.exp(-(((times - rng.uniform(0.3, 0.7, (120, 1))) / 0.12) ** 2))
    bad = clean + 0.3 * clean.std() * rng.normal(size=clean.shape)
    bad[:10] += 3.0 * clean.std() * rng.standard_t(1.5, size=(10, 60))
    with pytest.warns(OverfitWarning, match="look for wrong rows"):
        KernelAutoencoder(4).fit(bad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit_robust(KernelAutoencoder(4), bad).inliers[:10].any()


@pytest.mark.slow
def test_what_the_last_fit_says_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = KernelAutoencoder.fit

    def loud(model: Any, X: Any, **named: Any) -> Any:
        if named.get("sample_weight") is not None:  # None: a fit within a fit, to choose regularisers
            warn(f"of {int(named['sample_weight'].sum())} rows", OverfitWarning)
        return fit(model, X, **named)

    monkeypatch.setattr(KernelAutoencoder, "fit", loud)
    X = curve(60, 0)
    X[:5] += 30.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fit_robust(KernelAutoencoder(2), X)
    assert found.n_rounds > 1
    assert [str(one.message) for one in caught] == [f"of {found.inliers.sum()} rows"]


@pytest.mark.usefixtures("long_fits")
def test_where_too_many_look_wrong_none_is_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1)) @ rng.normal(size=(1, 4)) + 0.02 * rng.normal(size=(120, 4))
    X[:29] += 3.0 * rng.normal(size=(29, 4))
    model = KernelAutoencoder(1, reg=(1e-2, 1e-4))
    found = fit_robust(model, X)
    assert (found.outlier_score > 1.0).mean() > 0.2
    assert found.too_many
    assert found.inliers.all()
    np.testing.assert_array_equal(found.model.codes_, clone(model).fit(X).codes_)
    few = fit_robust(model, X[8:])
    assert not few.too_many
    assert 0.15 < (~few.inliers).mean() <= 0.2


def test_a_mixed_table_keeps_its_rare_rows() -> None:
    rng = np.random.default_rng(1)
    t = rng.normal(size=80)
    cells = np.empty((80, 4), dtype=object)
    cells[:, :3] = np.c_[t, np.sin(t), t**2] + 0.02 * rng.normal(size=(80, 3))
    cells[:, 3] = "usual"
    cells[:8, :3] = 4.0 * rng.normal(size=(8, 3))
    found = fit_robust(KernelAutoencoder(1, columns="filled", reg=1e-3), cells)
    assert (found.outlier_score > 1.0).mean() > 0.05
    assert found.too_many
    assert found.inliers.all()
