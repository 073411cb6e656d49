"""KernelAutoencoder(reg="auto") and the defaults that it serves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.estimators.autoencoder import choice_in_memory as autoencoder_choice, choice_on_landmarks as autoencoder_rows
from rkhs.estimators.autoencoder.choice_in_memory import _left_out_errors
from rkhs.estimators.autoencoder.dense import PreparedItems
from rkhs.estimators.autoencoder.stages import Choice, Fit, fit_prepared
from rkhs.kernels import FromFunction, Gaussian
from rkhs.losses import Huber
from rkhs.selection.path import Path, failures_ignored, tied
from tests.estimators.unfinished_fits import fit

pytestmark = pytest.mark.usefixtures("all_candidates")


def table() -> np.ndarray:
    X = load_wine().data
    return (X - X.mean(0)) / X.std(0)


def noise(n: int = 60) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 8))


def watch(monkeypatch: pytest.MonkeyPatch, see: Callable[[PreparedItems, Choice], None]) -> None:
    """Show the fits that are compared."""

    def watched(opened: PreparedItems, choice: Choice, *rest: Any) -> Fit:
        see(opened, choice)
        return fit_prepared(opened, choice, *rest)

    monkeypatch.setattr(autoencoder_choice, "fit_prepared", watched)


def test_the_choice_is_the_strongest_about_as_good_as_the_best_and_the_fit_is_that_of_it() -> None:
    X = table()[::2]
    model = KernelAutoencoder(3, reg="auto").fit(X)
    assert model.candidates_.shape == (6, 2)
    assert KernelAutoencoder(2).fit(X).candidates_.shape == (5, 2)
    least = np.nanargmin(model.candidate_errors_)
    assert np.flatnonzero((model.candidates_ == model.reg_).all(1))[0] <= least
    few = KernelAutoencoder(2, reg="auto").fit(X)
    level = few.candidate_errors_ <= 1.01 * few.candidate_errors_.min()
    assert few.reg_ == tuple(few.candidates_[level][0])
    given = KernelAutoencoder(3, reg=model.reg_, tol=1e-7).fit(X)
    assert given.candidates_ is None
    assert model.objective_ == pytest.approx(given.objective_, rel=0.05)


def test_structure_wants_weak_regularisers_and_noise_tells_them_less_apart() -> None:
    def spread(model: KernelAutoencoder) -> float:
        return float(model.candidate_errors_.max() / model.candidate_errors_.min())

    t = np.random.default_rng(1).uniform(0.0, 6.0, 150)
    curve = np.stack([np.sin(k * t + k) for k in range(1, 6)], 1)
    bent = KernelAutoencoder(2).fit(curve)
    assert bent.reg_[1] <= 1e-4
    assert spread(bent) > 3.0
    assert spread(KernelAutoencoder(2).fit(noise())) < 2.0


def test_a_long_path_ends_where_two_in_a_row_were_worse() -> None:
    rng = np.random.default_rng(2)
    curve = np.stack([np.sin(k * rng.uniform(0.0, 6.0, 220) + k) for k in (1, 1, 2, 3, 5)], 1)
    errors = KernelAutoencoder(3).fit(np.c_[curve, curve[:, :1] * curve[:, 1:2]]).candidate_errors_
    tried = errors[np.isfinite(errors)]
    assert np.isnan(errors[: 6 - len(tried)]).all()
    assert len(tried) < 5
    assert tried[:2].min() > tried.min()


@pytest.mark.parametrize("many_rows", [False, True], ids=["dense", "landmarks"])
@pytest.mark.parametrize(
    ("means", "backwards", "tried", "unknown"),
    [
        ([0.5, 9.0, 3.0, 2.0, 1.0], True, [4, 3, 2, 0], [1]),  # a second valley beyond the end of the path
        ([1.5, 0.5, 3.0, 2.0, 1.0], True, [4, 3, 2, 0], [0, 1]),  # tried, and no better
        ([3.0, 2.0, 1.0, 2.0, 3.0], True, [4, 3, 2, 1, 0], []),
        ([0.5, 9.0, 3.0, 2.0, 1.0], False, [0, 1, 2, 3, 4], []),
    ],
)
def test_the_strongest_is_tried_where_a_path_ends_early(
    means: list[float],
    backwards: bool,
    tried: list[int],
    unknown: list[int],
    many_rows: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def measure(k: int) -> np.ndarray:
        asked.append(k)
        return np.full(2, means[k])

    if many_rows:
        run = SimpleNamespace(name="", verbose=0)
        stages = SimpleNamespace(p=3 if backwards else 2, rows=SimpleNamespace(outside=None), run=run)
        stages.problem = lambda size, reg: None
        stages.points = lambda problem, start, inits: []
        stages.best_of_starts = lambda problem, points, reg, steps: reg
        stages.next_stage = lambda stage, part, reg, steps: reg
        monkeypatch.setattr(autoencoder_rows, "_error", lambda stages, stage: measure(int(stage[0]))[0])
        candidates = [(float(k),) for k in range(len(means))]
        found = autoencoder_rows._path(stages, candidates, 10)  # type: ignore[arg-type]
        errors = found.means
        assert found.fits[found.taken] == (float(np.nanargmin(errors)),)
    else:
        path = Path(np.full(2, 0.5), len(means), backwards=backwards)
        for k in path:
            with failures_ignored():
                path.errors[k] = measure(k)
        errors = path.errors[:, 0]
    assert list(dict.fromkeys(asked)) == tried  # where it is near after two iterations, it is measured again
    assert np.flatnonzero(np.isnan(errors)).tolist() == unknown


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("case", "left_out"),
    [
        ("plain", True),
        ("copies", False),
        ("weights", False),
        ("targets", False),
        ("plain codes", False),
        ("many", False),
    ],
)
def test_few_different_rows_are_left_out_in_turn(case: str, left_out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*arguments: Any, **more: Any) -> np.ndarray:
        asked.append(_left_out_errors(*arguments, **more))
        return asked[-1]

    monkeypatch.setattr(autoencoder_choice, "_left_out_errors", counted)
    X = noise(205) if case == "many" else table()[::4]
    X = np.r_[X, X[:3]] if case == "copies" else X
    more: dict[str, Any] = {}
    if case == "weights":
        more["sample_weight"] = np.linspace(1.0, 2.0, len(X))
    if case == "targets":
        more["targets"] = X[:, :5]
    model = fit(KernelAutoencoder(2, refine=case != "plain codes", max_iter=500 if left_out else 1), X, **more)
    assert bool(asked) == left_out
    assert model.candidates_ is not None
    if left_out:
        np.testing.assert_allclose([rows.mean() for rows in asked], model.candidate_errors_)
        # What is reported is not the error that chose, which is too small.
        spread = ((X - X.mean(0)) ** 2).sum(1).mean()
        assert model.held_out_error_ > 1.02 * model.candidate_errors_.min() / spread


def test_the_fit_goes_on_from_the_one_that_was_chosen() -> None:
    X = table()[::2]
    chosen = KernelAutoencoder(5).fit(X)
    afresh = KernelAutoencoder(5, reg=chosen.reg_).fit(X)
    assert chosen.n_iter_ < 0.7 * afresh.n_iter_
    assert chosen.objective_ == pytest.approx(afresh.objective_, rel=0.05)
    started = [KernelAutoencoder(5, init="random", random_state=seed).fit(X[:30]).objective_ for seed in (0, 1)]
    assert started[0] != started[1]


@pytest.mark.slow
def test_of_few_rows_beyond_two_components_the_strongest_within_one_standard_error_is_chosen() -> None:
    beyond = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(30, 4))
        model = KernelAutoencoder(4).fit(z @ rng.normal(size=(4, 12)) + 0.6 * z**2 @ rng.normal(size=(4, 12)))
        chosen = (model.candidates_ == model.reg_).all(1)
        beyond.append(float(model.candidate_errors_[chosen][0] / np.nanmin(model.candidate_errors_)))
        assert np.flatnonzero(chosen)[0] <= np.nanargmin(model.candidate_errors_)
    assert max(beyond) > 1.01  # with two components these would not be level


def test_the_standard_error_is_that_of_paired_rows_with_their_weights() -> None:
    rng = np.random.default_rng(4)
    best, shift = rng.gamma(2.0, size=40), rng.normal(size=40)
    shift -= shift.mean()
    error = shift.std() / np.sqrt(40)
    errors = np.stack([best + shift + 1.05 * error, best + shift + 0.95 * error, best, np.full(40, np.nan)])
    even = np.full(40, 1.0 / 40)
    np.testing.assert_array_equal(tied(errors, even, 2), [False, True, True, False])
    twice = np.r_[np.full(20, 2.0), np.full(20, 1.0)]
    mean = (twice * (errors[1] - best)).sum() / 60.0
    spread = np.sqrt((twice**2 * (errors[1] - best - mean) ** 2).sum()) / 60.0
    assert tied(errors, twice, 2)[1] == (mean <= spread)
    failed = np.stack([np.full(40, np.inf), best])
    np.testing.assert_array_equal(tied(failed, even, 1), [False, True])


def test_nothing_is_chosen_where_nothing_can_be_held_out_or_a_value_is_given() -> None:
    assert KernelAutoencoder(2).fit(noise(12)).reg_ == (1e-4, 1e-2)
    assert KernelAutoencoder(2, refine=False).fit(noise(12)).reg_ == (1e-2, 1e-3)
    assert KernelAutoencoder(2, reg=0.1).fit(noise()).reg_ == (0.1, 0.1)
    assert KernelAutoencoder(2, linear_part="kernel").fit(noise()).reg_ == (1e-2, 1e-4)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("params", "free"),
    [
        ({}, True),
        ({"n_components": (2,)}, True),
        ({"n_components": (4, 2)}, True),
        ({"kernel": Gaussian(0.1)}, False),
        ({"decoder_kernel": Gaussian(1.0)}, False),
        ({"output_kernel": "same"}, False),
        ({"loss": "huber"}, False),
        ({"constraint": "ball"}, False),
        ({"solver": "gradient_descent", "max_iter": 5, "tol": 1.0}, False),
        ({"noise": GaussianNoise()}, False),
    ],
)
def test_the_linear_part_is_free_where_nothing_speaks_against_it(params: dict[str, Any], free: bool) -> None:
    model = KernelAutoencoder(**{"n_components": 2, **params}).fit(noise(12))
    assert (model.model_.last.linear is not None) == free


@pytest.mark.slow
def test_every_kind_of_input_can_choose() -> None:
    X = table()[::3]
    K = Gaussian(0.05)(X)
    gram = KernelAutoencoder(2, kernel="precomputed", reg="auto").fit(K)
    objects = KernelAutoencoder(2, kernel=lambda a, b: float(np.exp(-0.05 * ((a - b) ** 2).sum())), reg="auto")
    objects.fit(list(X))
    np.testing.assert_allclose(gram.candidate_errors_, objects.candidate_errors_, rtol=1e-3)
    deep = KernelAutoencoder((3, 2), reg="auto", max_iter=30, tol=1e-2).fit(X)
    assert len(deep.reg_) == 3
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(X))
    assert KernelAutoencoder(2).fit(X, sample_weight=weights).candidates_ is not None
    aimed = KernelAutoencoder(2).fit(X, targets=X[:, :3])
    assert all(reg[0] == 1e-2 for reg in aimed.candidates_)


def test_vectors_are_compared_on_most_rows_and_features_on_few(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    watch(monkeypatch, lambda opened, choice: fitted.append(len(opened.training)))
    monkeypatch.setattr(autoencoder_choice, "_MOST_FOR_FEATURES", 100)
    X = noise(210)
    fit(KernelAutoencoder(1, max_iter=3), X)
    assert fitted == 5 * [168]
    fitted.clear()
    fit(KernelAutoencoder(1, kernel=Gaussian("median"), output_kernel="same", max_iter=3), X)
    assert fitted == 6 * [100]


@pytest.mark.slow
def test_many_rows_may_have_weaker_regularisers(monkeypatch: pytest.MonkeyPatch) -> None:
    tolerances: list[float] = []
    watch(monkeypatch, lambda opened, choice: tolerances.append(choice.settings.tol))
    monkeypatch.setattr(autoencoder_choice, "_MIN_ROWS_FOR_WEAKER", 100)
    monkeypatch.setattr(autoencoder_choice, "_MANY", 100)
    many = KernelAutoencoder(3).fit(noise(101))
    assert many.candidates_.shape == (7, 2)
    assert many.candidates_.min(0).tolist() == [1e-5, 1e-5]
    assert set(tolerances) == {1e-3}
    assert KernelAutoencoder(3).fit(noise(100)).candidates_.min(0).tolist() == [1e-4, 1e-5]
    assert KernelAutoencoder(2).fit(noise(101)).candidates_.min(0).tolist() == [1e-4, 1e-5]
    assert KernelAutoencoder(3, refine=False).fit(noise(101)).candidates_.min(0).tolist() == [1e-2, 1e-4]


def test_features_choose_by_default_and_compute_the_kernel_once() -> None:
    X = table()[::7]
    asked = []

    def similarity(a: np.ndarray, b: np.ndarray) -> float:
        asked.append(1)
        return float(np.exp(-0.05 * ((a - b) ** 2).sum()))

    objects = KernelAutoencoder(2, kernel=FromFunction(similarity)).fit(list(X))
    assert len(asked) <= len(X) ** 2
    gram = KernelAutoencoder(2, kernel="precomputed").fit(Gaussian(0.05)(X))
    vectors = KernelAutoencoder(2, kernel=Gaussian(0.05), output_kernel="same").fit(X)
    assert gram.candidates_.shape == (6, 2)
    for other in (objects, vectors):
        np.testing.assert_allclose(other.candidate_errors_, gram.candidate_errors_, rtol=1e-3)
        assert other.reg_ == gram.reg_
    best = gram.candidate_errors_.min()
    assert gram.reg_ == tuple(gram.candidates_[gram.candidate_errors_ <= 1.01 * best][0])


@pytest.mark.slow
def test_leaving_out_features_chooses_as_new_items_would() -> None:
    t = np.random.default_rng(1).uniform(0.0, 6.0, 120)
    curve = np.stack([np.sin(k * t + k) for k in range(1, 6)], 1)
    bent = KernelAutoencoder(2, kernel="precomputed").fit(Gaussian(0.1)(curve))
    assert bent.candidate_errors_.argmin() >= 4
    kernel, X, new = Gaussian(0.05), noise(40), np.random.default_rng(9).normal(size=(300, 8))
    rough = KernelAutoencoder(2, kernel="precomputed").fit(kernel(X))
    errors = [
        KernelAutoencoder(2, kernel="precomputed", reg=tuple(reg))
        .fit(kernel(X))
        .reconstruction_error(kernel(new, X))
        .mean()
        for reg in rough.candidates_
    ]
    chosen = np.flatnonzero((rough.candidates_ == rough.reg_).all(1))[0]
    assert errors[chosen] < 1.03 * min(errors)
    assert max(errors) > 1.1 * min(errors)


@pytest.mark.parametrize(
    "params",
    [
        {"constraint": "sphere"},
        {"operators": [np.diag([1.0, 2.0]), None]},
        {"solver": "adam"},
        {"loss": Huber(1.0)},
    ],
)
def test_features_keep_their_fixed_regularisers_where_more_is_asked_for(params: dict[str, Any]) -> None:
    K = Gaussian(0.05)(table()[::6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAutoencoder(**{"n_components": 2, "max_iter": 5, "tol": 1e-2, "kernel": "precomputed", **params})
        model.fit(K)
    assert model.candidates_ is None
    assert model.reg_ == (1e-3,) * len(model.reg_)


def test_features_of_given_targets_keep_their_fixed_regularisers() -> None:
    X = table()[::6]
    model = KernelAutoencoder(2, kernel=Gaussian(0.05), output_kernel="same", max_iter=20, tol=1e-2)
    assert model.fit(X, targets=X[::-1].copy()).candidates_ is None


def test_refuses_other_words_and_survives_files(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="reg"):
        KernelAutoencoder(reg="best").fit(noise())
    model = KernelAutoencoder(2).fit(noise())
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").candidate_errors_, model.candidate_errors_)
