"""Components without variance are given out as zero, and codes are not refined along them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import CollapseWarning
from rkhs.kernels import Gaussian
from rkhs.models import inactive_axes
from rkhs.problems.refinement import CodeRefinement
from rkhs.solvers.row_newton import descend


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Rows in three dimensions of twenty."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 20))


@pytest.fixture(scope="module")
def model(rows: np.ndarray) -> KernelAutoencoder:
    with pytest.warns(CollapseWarning, match=r"3 components of the codes \(3, 4, 5\) are inactive"):
        return KernelAutoencoder(6).fit(rows[:80])


def test_they_are_zero_for_training_and_new_items(model: KernelAutoencoder, rows: np.ndarray) -> None:
    assert np.array_equal(np.isnan(model.model_.inactive), [True, True, True, False, False, False])
    for codes in (model.codes_, model.transform(rows[80:])):
        assert (codes[:, 3:] == 0.0).all()
        assert (codes[:, :3].std(0) > 0.0).all()
    assert np.allclose(model.transform(rows[:80]), model.codes_, atol=1e-8)


def test_errors_hardly_rise(model: KernelAutoencoder, rows: np.ndarray) -> None:
    plain = KernelAutoencoder(6)
    plain.__dict__.update(vars(model))
    plain.model_ = replace(model.model_, inactive=None)
    rested, free = (one.reconstruction_error(rows[:80]).mean() for one in (model, plain))
    assert rested - free <= 0.011 * model.held_out_error_ * ((rows[:80] - rows[:80].mean(0)) ** 2).sum(1).mean()


def test_the_way_back_reads_nothing_there(model: KernelAutoencoder, rows: np.ndarray) -> None:
    codes = model.transform(rows[80:])
    rebuilt = model.inverse_transform(codes)
    moved = codes + np.array([0.0, 0.0, 0.0, 5.0, -7.0, 1e3])
    assert np.array_equal(model.inverse_transform(moved), rebuilt)
    assert np.allclose(
        ((rebuilt - rows[80:]) ** 2).sum(1), model.reconstruction_error(rows[80:]), rtol=1e-6, atol=1e-12
    )


def test_model_files_keep_it(model: KernelAutoencoder, rows: np.ndarray, tmp_path: Path) -> None:
    rkhs.save(model, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    assert np.array_equal(again.transform(rows[80:]), model.transform(rows[80:]))


def test_rows_that_need_every_component_have_no_such() -> None:
    X = np.random.default_rng(1).normal(size=(60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        found = KernelAutoencoder(3).fit(X)
    assert found.model_.inactive is None


def test_a_small_spread_says_nothing() -> None:
    codes = torch.stack([torch.linspace(-1.0, 1.0, 40), 1e-6 * torch.linspace(-1.0, 1.0, 40).sin()], 1).double()

    def error_of(rows: torch.Tensor, Z: torch.Tensor) -> float:
        """The decoder magnifies the second component and does not read the first."""
        return float(((Z[:, 1] - codes[rows, 1]) ** 2).mean()) * 1e12

    found = inactive_axes(codes, None, error_of, 0.01)
    assert found is not None
    assert bool(torch.isnan(found[1]))
    assert float(found[0]) == pytest.approx(0.0, abs=1e-12)
    assert inactive_axes(codes, None, lambda rows, Z: 0.0, 0.0) is not None
    assert int(torch.isnan(inactive_axes(codes, None, lambda rows, Z: 0.0, 0.0)).sum()) == 1  # one stays


@pytest.mark.parametrize("step", [False, True])
def test_refining_stays_where_changes_are_allowed(step: bool) -> None:
    rng = np.random.default_rng(0)
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape))  # noqa: E731
    Q = torch.linalg.qr(draw(3, 1))[0]
    moves = torch.eye(3).double() - Q @ Q.mT
    goal, start, radius = 3.0 * draw(5, 2), draw(5, 3), 1.0 + draw(5).abs()
    problem = CodeRefinement(Gaussian(0.3), draw(9, 3), 3.0 * draw(9, 2), goal, start, radius, 0.1, None, moves)
    U = problem.nearest()
    if step:
        U = descend(problem, U, 3, 1e-4)
    assert (problem.codes(U) - problem.start).abs().max() > 0.0
    assert ((problem.codes(U) - problem.start) @ Q).abs().max() < 1e-12
    # The gradient is that of the objective along the moves that are allowed.
    V, h = draw(5, 3) @ moves, 1e-6
    slope = (problem.values_and_grads(U + h * V)[0] - problem.values_and_grads(U - h * V)[0]) / (2 * h)
    assert torch.allclose((problem.values_and_grads(U)[1] * V).sum(1), slope, atol=1e-7)


def test_exported_graphs_say_the_same(model: KernelAutoencoder, rows: np.ndarray, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="extra `onnx`")
    plain = KernelAutoencoder(6, refine=False)
    plain.__dict__.update({name: value for name, value in vars(model).items() if name != "refine"})
    for part, given, expected in (
        ("encoder", rows[80:], plain.transform(rows[80:])),
        ("decoder", model.codes_ + 1.0, model.inverse_transform(model.codes_ + 1.0)),
    ):
        rkhs.to_onnx(plain, tmp_path / f"{part}.onnx", part=part)
        session = runtime.InferenceSession(str(tmp_path / f"{part}.onnx"))
        found = session.run(None, {session.get_inputs()[0].name: given})[0]
        assert np.allclose(found, expected, atol=1e-9)
