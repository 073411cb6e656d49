"""The last decoder of many rows: all rows are its anchors, in one system or in leaves of a tree of the codes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import rkhs
from rkhs.features import Nystroem
from rkhs.kernels import Matern
from rkhs.models import LocalLayer
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.leaves import Halves, LeavesLayer, LocalDecoder

KERNEL = Matern(1.5, 1.0)


def table(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = rng.uniform(-1.0, 1.0, (n, 2))
    waves = np.sin(4.0 * t @ rng.normal(size=(2, 6)))
    X = np.c_[np.sin(3.0 * t), np.cos(2.0 * t), t[:, :1] * t[:, 1:], waves]
    return X + 0.02 * rng.normal(size=X.shape)


@pytest.fixture(scope="module")
def fitted() -> tuple[rkhs.KernelAutoencoder, np.ndarray]:
    X = table(4200)
    return rkhs.KernelAutoencoder(2, random_state=0, storage=Nystroem(200), tol=1e-2).fit(X[:1200]), X[1200:1300]


def whole_layer(Z: torch.Tensor, T: torch.Tensor, weights: torch.Tensor | None = None) -> AnchorsLayer:
    return AnchorsLayer.of(T, KERNEL, 40, 1e-3, weights, None)


def everywhere(model: rkhs.KernelAutoencoder) -> rkhs.KernelAutoencoder:
    """The same model without its leaves."""
    found = pickle.loads(pickle.dumps(model))
    found.model_ = replace(found.model_, layers=(found.model_.last.everywhere,))
    return found


def drawn(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.normal(size=(n, 2))), torch.from_numpy(rng.normal(size=(n, 3)))


@pytest.mark.parametrize("weighted", [False, True])
def test_one_system_is_the_penalised_least_squares_of_all_rows(weighted: bool) -> None:
    Z, T = drawn(60)
    w = torch.linspace(1.0, 3.0, 60, dtype=torch.float64)
    w = w / w.sum() if weighted else None
    found = LeavesLayer.of(whole_layer(Z, T, w), 1e-3, 60, 20).solve(Z)
    left = T - found.of(Z, KERNEL._gram(Z))
    ridge = 1e-3 / (torch.full((60,), 1.0 / 60, dtype=torch.float64) if w is None else w)
    assert torch.allclose(left, ridge[:, None] * found.coefficients, atol=1e-10)


def test_a_leaf_is_the_system_of_its_rows_and_the_nearest_at_the_weights_of_all() -> None:
    Z, T = drawn(400)
    found = LeavesLayer.of(whole_layer(Z, T), 1e-3, 400, 100).solve(Z)
    assert isinstance(found, LocalDecoder)
    assert [len(A) for A, _ in found.leaves] == [300, 300]
    for A, solved in found.leaves:
        rows = torch.cdist(A, Z).argmin(1)
        predicted = KERNEL._gram(A) @ solved.coefficients + A @ solved.linear[:-1] + solved.linear[-1]
        assert torch.allclose(T[rows] - predicted, 400 * 1e-3 * solved.coefficients, atol=1e-10)


def test_halves_take_equal_codes_apart_and_have_no_zone_of_width_zero() -> None:
    Z = torch.ones(64, 2, dtype=torch.float64)
    halves, parts = Halves.of(Z, 3, 2)
    assert [len(part) for part in parts] == [8] * 8
    assert torch.equal(torch.sort(torch.cat(parts)).values, torch.arange(64))
    assert bool((halves.widths > 0.0).all())


def test_shares_of_the_leaves_sum_to_one_and_most_codes_have_one(fitted: tuple) -> None:
    model, new = fitted
    shares = model.model_.last.shares(model.model_.from_user(torch.as_tensor(model.transform(new))))
    assert shares.shape == (100, 4)
    assert torch.allclose(shares.sum(1), torch.ones(100, dtype=torch.float64))
    assert float(((shares > 0.0).sum(1) == 1).double().mean()) > 0.7


def test_leaves_rebuild_new_rows_better_than_the_decoder_of_all_codes(fitted: tuple) -> None:
    model, new = fitted
    assert isinstance(model.model_.last, LocalLayer)
    assert model.decoder_reg_ < model.reg_[-1]
    assert model.reconstruction_error(new).mean() < 0.8 * everywhere(model).reconstruction_error(new).mean()


def test_a_line_of_codes_across_all_leaves_has_no_jump(fitted: tuple) -> None:
    model, _ = fitted
    ends = model.codes_[[model.codes_[:, 0].argmin(), model.codes_[:, 0].argmax()]]
    largest = []
    for steps in (500, 5_000):
        line = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, steps)[:, None]
        largest.append(np.linalg.norm(np.diff(model.inverse_transform(line), axis=0), axis=1).max())
    assert largest[1] < 0.12 * largest[0]


def test_codes_do_not_depend_on_the_rows_beside(fitted: tuple) -> None:
    model, new = fitted
    assert np.allclose(np.concatenate([model.transform(row[None]) for row in new[:10]]), model.transform(new)[:10])


@pytest.mark.parametrize("few", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_file_gives_the_same_bits(few: bool, tmp_path: Path, fitted: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = fitted
    if few:
        monkeypatch.setattr("rkhs.problems.leaves._MAX_COEFFICIENTS", 30)
        X = table(1200)
        model = rkhs.KernelAutoencoder(2, random_state=0, storage=Nystroem(200)).fit(X)
    last = model.model_.last
    assert (last.leaves[0].coefficients.shape[1] == 3) == few
    rkhs.save(model, tmp_path / "model.rkhs")
    same = rkhs.load(tmp_path / "model.rkhs")
    codes = model.transform(X[:50])
    assert np.array_equal(same.transform(X[:50]), codes)
    assert np.array_equal(same.inverse_transform(codes), model.inverse_transform(codes))


def test_a_module_has_the_values_and_derivatives_of_the_leaves(fitted: tuple) -> None:
    model, new = fitted
    codes = model.transform(new[:20])
    at = torch.tensor(codes, requires_grad=True)
    decoded = rkhs.as_module(model, part="decoder")(at)
    assert np.allclose(decoded.detach().numpy(), model.inverse_transform(codes))
    (slopes,) = torch.autograd.grad(decoded.sum(), at)
    step = np.array([1e-6, 0.0])
    apart = model.inverse_transform(codes + step) - model.inverse_transform(codes - step)
    assert np.allclose(apart.sum(1) / 2e-6, slopes[:, 0].numpy(), rtol=1e-2, atol=1e-2)


def test_onnx_has_the_values_of_the_leaves(fitted: tuple, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, new = fitted
    codes = model.transform(new[:20])
    rkhs.to_onnx(model, tmp_path / "decoder.onnx", part="decoder")
    (rows,) = runtime.InferenceSession(tmp_path / "decoder.onnx").run(None, {"codes": codes})
    assert np.allclose(rows, model.inverse_transform(codes), atol=1e-6)


def test_a_given_reg_is_that_of_the_last_decoder_too() -> None:
    model = rkhs.KernelAutoencoder(2, reg=(1e-4, 1e-4), random_state=0, storage=Nystroem(100)).fit(table(1100))
    assert model.decoder_reg_ is None
    assert not isinstance(model.model_.last, LocalLayer)


def test_features_on_landmarks_have_leaves_too() -> None:
    X = table(1100)
    model = rkhs.KernelAutoencoder(2, output_kernel="same", random_state=0, storage=Nystroem(100)).fit(X[:1010])
    assert isinstance(model.model_.last, LocalLayer)
    assert model.reconstruction_error(X[1010:]).mean() <= everywhere(model).reconstruction_error(X[1010:]).mean()


def lost(model: rkhs.KernelAutoencoder, X: np.ndarray, new: np.ndarray) -> float:
    """Share of the variance of new rows that a model of ``X`` loses."""
    return ((model.inverse_transform(model.transform(new)) - new) ** 2).sum() / ((new - X.mean(0)) ** 2).sum()


def test_the_held_out_error_is_that_of_the_leaves(fitted: tuple) -> None:
    X, model = table(4200)[:2200], fitted[0]
    # 3.3 of the regularisers of the descent
    assert 1.0 < model.held_out_error_ / lost(model, X[:1200], X[1200:]) < 2.2


@pytest.mark.slow
def test_the_held_out_error_is_not_optimistic_where_rows_are_noisy() -> None:
    rng = np.random.default_rng(1)
    smooth = np.sin(rng.normal(size=(4200, 6)) @ rng.normal(size=(6, 12)))
    X = (smooth + rng.normal(size=smooth.shape))[:2200]
    model = rkhs.KernelAutoencoder(5, random_state=0, storage=Nystroem(200)).fit(X[:1200])
    # .98 where the encoder has seen the rows
    assert 1.03 < model.held_out_error_ / lost(model, X[:1200], X[1200:]) < 1.3
