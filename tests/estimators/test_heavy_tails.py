"""The kind of kernel that a default fit takes: radial ones, or kernels that grow where the data have heavy tails."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rkhs
from rkhs import KernelAutoencoder
from rkhs.estimators.autoencoder import choice_in_memory as autoencoder_choice, choice_on_landmarks as autoencoder_rows
from rkhs.estimators.autoencoder.settings import default_decoder_kernel, default_kernel, unbounded_kernels
from rkhs.estimators.choice_report import compare_kinds, heavy_tailed
from rkhs.estimators.run import Run
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import ArcCosine, Gaussian
from tests.estimators.unfinished_fits import fit

pytestmark = pytest.mark.usefixtures("all_candidates")

rng = np.random.default_rng(0)
Z = rng.normal(size=(400, 2))
ORDINARY = np.sin(Z @ rng.normal(size=(2, 6))) + 0.1 * rng.normal(size=(400, 6))
HEAVY = np.exp(rng.normal(size=(400, 1))) * np.maximum(Z @ rng.normal(size=(2, 6)) + 0.3, 0.0)
MIXED = np.hstack([np.exp(1.5 * Z @ rng.normal(size=(2, 2))), np.sin(Z @ rng.normal(size=(2, 6)))])
MIXED /= MIXED.std(0)
RADIAL: dict[str, Any] = {
    "kernel": default_kernel("free"),
    "decoder_kernel": default_decoder_kernel("free", 2),
    "linear_part": "free",
}


def same(model: KernelAutoencoder, other: KernelAutoencoder) -> bool:
    return bool(np.array_equal(model.codes_, other.codes_)) and model.kernel_ == other.kernel_


@cache
def heavy_model(**options: Any) -> KernelAutoencoder:
    """The model of the heavy rows, for tests that leave it as it is."""
    return fit(KernelAutoencoder(3, **options), HEAVY[:220])


def chosen(model: KernelAutoencoder) -> str:
    assert model.kernel_choice_ is not None
    return next(iter(model.kernel_choice_))


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", ["dense", Nystroem(60)])
def test_ordinary_data_are_fitted_by_radial_kernels_alone(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("nothing is compared")

    monkeypatch.setattr(autoencoder_choice, "compare_kinds", refuse)
    monkeypatch.setattr(autoencoder_rows, "compare_kinds", refuse)
    assert not heavy_tailed(torch.as_tensor(ORDINARY))
    model = KernelAutoencoder(2, storage=storage).fit(ORDINARY[:120])
    assert same(model, KernelAutoencoder(2, storage=storage, **RADIAL).fit(ORDINARY[:120]))
    assert model.kernel_choice_ is None


@pytest.mark.parametrize("storage", ["dense", pytest.param(Nystroem(100), marks=pytest.mark.slow)])
def test_growing_kernels_are_taken_where_they_rebuild_new_rows_better(storage: Any) -> None:
    assert heavy_tailed(torch.as_tensor(HEAVY[:220]))
    options: dict[str, Any] = {"max_iter": 15} if storage == "dense" else {"storage": storage}
    model = heavy_model(**options) if storage == "dense" else fit(KernelAutoencoder(3, **options), HEAVY[:220])
    radial = fit(KernelAutoencoder(3, **options, **RADIAL), HEAVY[:220])
    assert chosen(model) == "arc-cosine"
    assert model.decoder_kernels_ == (ArcCosine(),)
    assert model.reconstruction_error(HEAVY[220:]).mean() < 0.7 * radial.reconstruction_error(HEAVY[220:]).mean()
    growing, other = model.kernel_choice_.values()
    assert growing < other < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_few_landmarks_take_the_kernels_that_rebuild_many_new_rows_far_better(seed: int) -> None:
    """With 60 landmarks on ``HEAVY`` itself growing kernels are better by a seventh only, and are not taken."""
    rng, storage = np.random.default_rng(seed), Nystroem(60)
    inner = np.maximum(rng.normal(size=(1300, 2)) @ rng.normal(size=(2, 6)) + 0.3, 0.0)
    X = np.exp(rng.normal(size=(1300, 1))) * inner
    kernel, decoder_kernel = unbounded_kernels()
    given = {"kernel": kernel, "decoder_kernel": decoder_kernel, "linear_part": "free"}
    model, growing, radial = (KernelAutoencoder(3, storage=storage, **one).fit(X[:300]) for one in ({}, given, RADIAL))
    of_growing, of_radial = (one.reconstruction_error(X[300:]).mean() for one in (growing, radial))
    assert of_growing < 0.5 * of_radial
    assert same(model, growing)


@pytest.mark.slow
def test_the_held_out_error_is_that_of_the_kernels_that_were_taken() -> None:
    model = heavy_model()
    assert model.held_out_error_ == model.kernel_choice_["arc-cosine"]
    assert model.reg_ in {tuple(reg) for reg in model.candidates_}
    new = model.reconstruction_error(HEAVY[220:]).mean() / ((HEAVY[220:] - HEAVY[:220].mean(0)) ** 2).sum(1).mean()
    assert 0.2 < new / model.held_out_error_ < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["dense", Nystroem(60)])
def test_radial_kernels_stay_where_growing_ones_are_not_better(storage: Any) -> None:
    assert heavy_tailed(torch.as_tensor(MIXED[:220]))
    model = KernelAutoencoder(2, storage=storage).fit(MIXED[:220])
    assert chosen(model) == "radial"
    assert same(model, KernelAutoencoder(2, storage=storage, **RADIAL).fit(MIXED[:220]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*the largest number of iterations")
@pytest.mark.parametrize(
    "given",
    [
        {"kernel": Gaussian("4*median"), "linear_part": "free"},
        {"decoder_kernel": Gaussian(0.5), "linear_part": "free"},
        {"linear_part": "kernel", "reg": "auto"},
        {"reg": (1e-4, 1e-4)},
        {"storage": RandomFeatures(50)},
    ],
    ids=str,
)
def test_what_the_user_gives_is_kept(given: dict[str, Any]) -> None:
    model = KernelAutoencoder(**{"n_components": 3, **given}).fit(HEAVY[:240])
    assert model.kernel_choice_ is None
    assert not any(isinstance(kernel, ArcCosine) for kernel in model.decoder_kernels_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*the largest number of iterations")
def test_weights_and_targets_are_fitted_by_radial_kernels() -> None:
    weights = rng.uniform(1.0, 2.0, 240)
    assert KernelAutoencoder(3).fit(HEAVY[:240], sample_weight=weights).kernel_choice_ is None
    assert KernelAutoencoder(3).fit(HEAVY[:240], targets=ORDINARY[:240]).kernel_choice_ is None
    assert KernelAutoencoder(3).fit(HEAVY[:240], sample_weight=np.full(240, 2.0)).kernel_choice_ is not None


@pytest.mark.slow
def test_few_rows_are_not_compared() -> None:
    assert KernelAutoencoder(3).fit(HEAVY[:199]).kernel_choice_ is None
    assert KernelAutoencoder(3).fit(HEAVY[:200]).kernel_choice_ is not None


@pytest.mark.slow
def test_origin_and_unit_of_the_rows_do_not_matter() -> None:
    model, other = heavy_model(), KernelAutoencoder(3).fit(1e3 * HEAVY[:220] - 5e3)
    assert chosen(other) == "arc-cosine"
    a, b = model.reconstruction_error(HEAVY[220:]), other.reconstruction_error(1e3 * HEAVY[220:] - 5e3) / 1e6
    np.testing.assert_allclose(b.mean(), a.mean(), rtol=0.02)


def test_a_saved_model_keeps_kernels_and_choice(tmp_path: Path) -> None:
    model = heavy_model(max_iter=15)
    rkhs.save(model, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    assert list(again.kernel_choice_.items()) == list(model.kernel_choice_.items())
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.transform(HEAVY[220:]), model.transform(HEAVY[220:]))


@pytest.mark.slow
def test_the_choice_is_shown_while_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    KernelAutoencoder(3, verbose=1).fit(HEAVY[:220])
    assert "heavy tails, held-out error" in capsys.readouterr().err


def test_heavy_tails_are_told_by_the_share_of_the_farthest_rows() -> None:
    X = np.ones((100, 1))
    X[::2] = -1.0
    X[:2, 0] = 2.2, -2.2  # two rows of 4.84 beside 98 of one: 0.09 of the sum
    assert not heavy_tailed(torch.as_tensor(X))
    X[:2, 0] = 2.5, -2.5  # 0.113
    assert heavy_tailed(torch.as_tensor(X))
    assert not heavy_tailed(torch.zeros(100, 2))


def test_growing_kernels_must_win_by_a_standard_error_and_by_15_percent() -> None:
    run = Run("test", {"dtype": torch.float64, "device": torch.device("cpu")}, "clip", 0)
    radial, d = np.full(100, 5.0), np.tile([1.0, -1.0], 50)

    def winner(growing: np.ndarray) -> str:
        return next(iter(compare_kinds(growing, radial, run)))

    assert winner(radial + 20.0 * d - 1.9) == "radial"  # a standard error of 2
    assert winner(radial + 20.0 * d - 2.1) == "arc-cosine"
    assert winner(radial + d - 0.7) == "radial"  # a standard error of 0.1
    assert winner(radial + d - 0.8) == "arc-cosine"
    assert winner(np.full(100, np.inf)) == "radial"


def test_growing_kernels_grow() -> None:
    kernel = unbounded_kernels()[0].resolve(torch.as_tensor(HEAVY))
    far = HEAVY.mean(0) + 1e3 * HEAVY.std(0) * np.array([[1.0], [2.0]])
    small, large = kernel.diag(far)
    assert large / small == pytest.approx(4.0, rel=1e-3)
