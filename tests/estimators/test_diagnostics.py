"""What a fitted model says of itself, against refits without each row, and when it should speak or be silent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from rkhs import (
    DeepRKM,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    diagnose,
)
from rkhs._core.errors import CollapseWarning, InputError, OverfitWarning
from rkhs.estimators.autoencoder import defaults
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Spectrum
from rkhs.models import autoencoder_left_out
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.refinement import CodeRefinement, LeaveOneOutRefinement
from rkhs.problems.semiparametric import semiparametric_decoder
from rkhs.solvers.row_newton import descend

pytestmark = pytest.mark.usefixtures("all_candidates")


def rows(n: int = 30, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n)
    return np.stack([t, np.sin(2 * t), t**2, np.cos(3 * t)], 1) + 0.05 * rng.standard_normal((n, 4))


@pytest.mark.parametrize(
    ("linear_part", "weighted", "refine"),
    [("kernel", False, True), ("kernel", True, False), ("free", False, False), ("free", True, True)],
)
def test_leave_one_out_is_what_refits_give(linear_part: str, weighted: bool, refine: bool) -> None:
    X, n = rows(16), 16
    sample_weight = np.random.default_rng(1).uniform(0.5, 2.0, n) if weighted else None
    options = {"linear_part": linear_part, "reg": (1e-2, 1e-3), "refine": refine}
    model = KernelAutoencoder(2, **options).fit(X, sample_weight=sample_weight)
    model._steps = (200, 1e-10)
    found = diagnose(model)
    T = model.output_.encode(torch.as_tensor(X))
    Z = torch.tensor(model.layer_codes_[0])
    K1 = model.kernel_._gram(torch.as_tensor(X))
    if linear_part == "free":
        Q = model.model_.linear.coordinates(torch.as_tensor(X))
        K1 = K1 + Q @ Q.T
    kernel, reg = model.decoder_kernels_[0], model.reg_[1]
    w = np.full(n, 1 / n) if sample_weight is None else sample_weight / sample_weight.sum()
    errors = []
    for i in range(n):
        kept = np.arange(n) != i
        code = K1[i : i + 1, kept] @ torch.linalg.solve(K1[kept][:, kept], Z[kept])
        refit = semiparametric_decoder if linear_part == "free" else optimal_decoder
        decoder = refit(kernel._gram(Z[kept]), Z[kept], T[kept], reg, None, torch.as_tensor(w[kept]))
        if refine:
            power = K1[i, i]
            if linear_part == "free":
                power = power - K1[i, kept] @ torch.linalg.solve(K1[kept][:, kept], K1[kept, i])
            radius = (power / model.reg_[0]).sqrt()[None]
            size = float(n) if sample_weight is None else sample_weight.sum()
            refined = CodeRefinement(
                kernel, Z[kept], decoder.coefficients, T[i : i + 1], code, radius, size, decoder.linear
            )
            code = refined.codes(descend(refined, torch.zeros_like(code), 200, 1e-10))
        said = kernel._gram(code, Z[kept]) @ decoder.coefficients
        if decoder.linear is not None:
            said = said + torch.cat([code, code.new_ones(1, 1)], 1) @ decoder.linear
        errors.append(float(((T[i] - said) ** 2).sum()))
    total = float(w @ ((T - torch.as_tensor(w) @ T) ** 2).sum(1).numpy())
    assert found.leave_one_out_error == pytest.approx(w @ np.array(errors) / total, rel=1e-5)
    fitted = model.model_.decode(Z)
    assert found.training_error == pytest.approx(w @ ((T - fitted) ** 2).sum(1).numpy() / total, rel=1e-6)
    assert 2.0 < found.degrees_of_freedom < n
    assert found.in_sample_defect < 1e-8


@pytest.mark.parametrize("refine", [True, False])
def test_some_items_are_left_out_as_all_are(refine: bool) -> None:
    model = KernelAutoencoder(2, reg=(1e-3, 1e-3), refine=refine).fit(rows(16))
    every, some = model._left_out()[1], model._left_out(at_most=7)[1]
    assert every is not None
    assert some is not None
    assert len(every) == 16
    torch.testing.assert_close(some, every[[0, 2, 4, 6, 9, 11, 13]], rtol=1e-9, atol=1e-12)
    whole = diagnose(model)
    assert diagnose(model, at_most=16) == whole
    assert diagnose(model, at_most=15).leave_one_out_error == pytest.approx(whole.leave_one_out_error, rel=0.2)
    with pytest.raises(InputError, match="at_most must be an integer >= 1; got 0"):
        diagnose(model, at_most=0)


@pytest.mark.slow
def test_estimate_and_truth_agree_on_real_rows() -> None:
    X = load_digits().data[np.random.default_rng(0).permutation(1797)[:400]] / 16.0
    model = KernelAutoencoder(10).fit(X[:140])
    plain = diagnose(clone(model).set_params(refine=False).fit(X[:140]), X[140:])
    assert plain.leave_one_out_error == pytest.approx(plain.held_out_error, rel=0.25)
    found = diagnose(model, X[140:])
    assert found.leave_one_out_error == pytest.approx(found.held_out_error, rel=0.3)
    assert found.training_error < 0.8 * found.leave_one_out_error
    assert found.held_out_error <= found.plain_error
    assert found.warnings == ()


@pytest.mark.parametrize("kind", [KernelPCA, KernelAutoencoder, DeepRKM, KernelContrastive])
def test_ordinary_models_say_nothing(kind: type) -> None:
    X = np.unique(load_iris().data, axis=0)
    found = diagnose(kind().fit(X))
    assert found.warnings == ()
    assert 1.0 <= found.effective_rank <= found_width(kind) * (1.0 + 1e-12)


def found_width(kind: type) -> float:
    return 6.0 if kind is DeepRKM else 2.0 + 1e-9


@pytest.mark.parametrize(
    ("options", "X", "word"),
    [
        ({"max_iter": 1, "reg": 1e-3}, rows(), "did not converge"),
        ({"n_components": 2, "reg": (1e-2, 1e-12), "kernel": Gaussian(50.0)}, rows(), "interpolates"),
        ({"kernel": Gaussian(1e-6), "reg": 1e-9}, rows(), "look alike"),
        ({"reg": 1e-3}, np.repeat(rows(15), 2, 0), "have a near-duplicate"),
        ({"loss": "huber"}, rows(), "loss is linear"),
        ({"reg": (1e-4, 1e-4)}, np.random.default_rng(0).standard_normal((30, 40)), "overfit"),
        ({"reg": (1.0, 0.3)}, np.random.default_rng(0).standard_normal((30, 40)), "hardly better than by the mean"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trouble_is_named(options: dict[str, Any], X: np.ndarray, word: str) -> None:
    from rkhs.losses import Huber

    if options.get("loss"):
        options = {"loss": Huber(0.01), "reg": (1e-2, 1e-2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAutoencoder(**options).fit(X)
    assert any(word in sentence for sentence in diagnose(model).warnings), diagnose(model)


@pytest.mark.parametrize("linear_part", ["free", "kernel"])
def test_models_on_landmarks_have_no_closed_form(linear_part: str) -> None:
    X = rows(60)
    model = KernelAutoencoder(1, storage=Nystroem(12), linear_part=linear_part, reg=(1e-2, 1e-3))
    found = diagnose(model.fit(X, sample_weight=np.arange(60.0)), X)
    assert found.held_out_error is not None
    assert (found.leave_one_out_error, found.training_error, found.degrees_of_freedom) == (None, None, None)


def test_open_ends_of_the_path_are_kept_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    short = defaults.Default("reg", {}, ((1e-4, 1e-3), (1e-2, 1e-2), (1e-2, 1e-3), (1e-4, 1e-3)))
    t = np.random.default_rng(1).uniform(0.0, 6.0, 60)
    X = np.stack([np.sin(k * t + k) for k in range(1, 6)], 1)
    assert KernelAutoencoder(4, reg=1e-3).fit(X).at_edge_ is None
    monkeypatch.setattr(defaults, "DEFAULTS", (short, *defaults.DEFAULTS))
    model = KernelAutoencoder(4).fit(X)
    assert model.at_edge_ == {"reg": "weakest"}
    assert any("weakest" in sentence for sentence in diagnose(model).warnings)


def test_what_is_learned_by_heart_is_warned_of_in_fit_and_said_again() -> None:
    with pytest.warns(OverfitWarning, match="hardly better than by the mean"):
        model = KernelAutoencoder(2).fit(np.random.default_rng(0).standard_normal((42, 200)))
    assert model.held_out_error_ > 0.9
    assert any("overfit" in sentence for sentence in diagnose(model).warnings)
    careful = KernelAutoencoder(10).fit(np.random.default_rng(0).standard_normal((42, 200)))
    assert careful.reg_ == (1.0, 1.0)  # little more than principal components
    assert any("hardly better than by the mean" in sentence for sentence in diagnose(careful).warnings)


def test_the_held_out_error_of_the_choice_is_a_share_of_the_variance() -> None:
    X = load_digits().data[:300] / 16.0
    model = KernelAutoencoder(6).fit(X[:120])
    truth = model.reconstruction_error(X[120:]).mean() / ((X[120:] - X[:120].mean(0)) ** 2).sum(1).mean()
    assert model.held_out_error_ == pytest.approx(truth, rel=0.25)
    assert diagnose(model).held_out_error == model.held_out_error_
    assert model.at_edge_ == {}


@pytest.mark.slow
def test_gram_and_objects_have_what_can_be_known() -> None:
    X, new = rows(), rows(10, 1)
    K = Gaussian(0.5)
    gram = KernelAutoencoder(kernel="precomputed").fit(np.asarray(K(X)))
    found = diagnose(gram, np.asarray(K(new, X)))
    vectors = diagnose(KernelAutoencoder(kernel=K, output_kernel="same").fit(X), new)
    for name in ("training_error", "leave_one_out_error", "held_out_error", "plain_error", "degrees_of_freedom"):
        a, b = getattr(found, name), getattr(vectors, name)
        assert a is None or a == pytest.approx(b, rel=1e-3), name


def test_one_row_and_words_in_single_precision_are_diagnosed() -> None:
    assert diagnose(KernelPCA(1).fit(np.ones((1, 2)))).effective_rank == 0.0
    words = KernelAutoencoder(1, kernel=Spectrum(2), dtype="float32").fit(["ab", "abb", "bab", "aba"])
    assert np.isfinite(diagnose(words).effective_rank)
    landmark = KernelPCA(1, storage=Nystroem(1)).fit(np.random.default_rng(0).normal(size=(8, 2)))
    assert diagnose(landmark).typical_similarity is None


PAPER: dict[str, Any] = {"center": False, "scale": False, "linear_part": "kernel", "refine": False, "code_metric": 0.0}


def spiral(n: int = 26) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 3.0 * np.pi, n))
    return np.c_[t * np.cos(t), t * np.sin(t), 0.5 * t] / 4.0 + 0.05 * rng.normal(size=(n, 3))


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["paper", "free", "gram", pytest.param("weighted", marks=pytest.mark.slow)])
def test_a_lower_start_is_one_that_a_fit_reaches(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = spiral()
    options: dict[str, Any] = {"kernel": Gaussian(0.5), "decoder_kernel": Gaussian(1.0), "reg": (1e-3, 1e-3), **PAPER}
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if model == "weighted" else None
    if model == "free":
        options = {"reg": (1e-2, 1e-4)}
    elif model == "gram":
        X = np.asarray(Gaussian(0.5)(X))
        options |= {"kernel": "precomputed", "refine": True}  # without it a Gram matrix is not kept
    fits = [
        KernelAutoencoder(1, init="random", random_state=seed, **options).fit(X, sample_weight=weights)
        for seed in (1, 2, 3, autoencoder_left_out._SEED)
    ]
    values = [fit.objective_ for fit in fits]
    poor = fits[int(np.argmax(values))]
    assert min(values) < 0.9 * max(values), "this set says nothing"
    found = diagnose(poor)
    assert found.lower_start > 0.05
    assert any("another start reaches an objective lower by" in line for line in found.warnings)
    monkeypatch.setattr(autoencoder_left_out, "_LOWER", -np.inf)  # what the first start gives, whatever it is
    first = diagnose(poor, starts=1).lower_start
    if model != "free":  # its starts are those of another factor
        assert first == pytest.approx(1.0 - values[-1] / max(values), abs=2e-3)
    assert first < 1.0


@pytest.mark.slow
def test_other_starts_are_tried_only_where_they_can_be() -> None:
    X = rows()
    one = KernelAutoencoder(1).fit(X)
    assert diagnose(one).lower_start is None
    two = KernelAutoencoder(2, reg=1e-3).fit(X)
    assert diagnose(two).lower_start is None
    assert diagnose(two, starts=1).lower_start is not None
    refused: dict[str, Any]
    for refused in ({"loss": "huber"}, {"n_components": (2, 1)}, {"constraint": "sphere", "n_components": 2}):
        model = KernelAutoencoder(**{"n_components": 1, "reg": 1e-3, **refused}).fit(X)
        assert diagnose(model, starts=2).lower_start is None
    assert diagnose(KernelPCA(2).fit(X), starts=2).lower_start is None
    nothing = KernelAutoencoder(1, kernel=Gaussian(1.0), reg=1e-3, center=False, scale=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        nothing.fit(np.zeros((6, 2)))
    assert nothing.objective_ == 0.0
    assert diagnose(nothing).lower_start == 0.0
    with pytest.raises(InputError, match="starts"):
        diagnose(one, starts=0)


def test_an_error_without_the_row_that_has_no_value_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    model = KernelAutoencoder(1, reg=1e-2).fit(rows(20))
    assert diagnose(model).leave_one_out_error is not None
    monkeypatch.setattr(LeaveOneOutRefinement, "errors", lambda *_: torch.full((20,), np.inf, dtype=torch.float64))
    assert diagnose(model).leave_one_out_error is None


def test_a_model_without_codes_is_refused_in_words() -> None:
    model = OperatorKernelRegressor(reg=1e-2).fit(np.arange(8.0)[:, None], np.arange(8.0))
    with pytest.raises(InputError, match="model must have codes; got OperatorKernelRegressor; its method score"):
        diagnose(model)


def test_new_items_of_another_model_are_not_passed_over_in_silence() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert any("rkhs.evaluation.reconstruction" in one for one in diagnose(KernelPCA(2).fit(X), X).warnings)
    assert not any("rkhs.evaluation" in one for one in diagnose(KernelPCA(2).fit(X)).warnings)
