"""Several hidden layers: they contain one hidden layer, are taken where they help, and have refined codes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import KernelAutoencoder, load, save
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.losses import Huber
from rkhs.models.autoencoder import refined_codes
from tests.estimators.unfinished_fits import fit_once


def waves(n: int, seed: int) -> np.ndarray:
    """Rows near a curved surface of two dimensions."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-2.0, 2.0, (n, 2))
    return np.sin(t @ np.random.default_rng(7).normal(size=(2, 6))) + 0.02 * rng.normal(size=(n, 6))


def quietly(model: Any, X: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


PARAMS: tuple[dict[str, Any], ...] = ({}, {"kernel": Gaussian("median")}, {"output_kernel": "same"})


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("widths", "params"),
    [
        pytest.param(widths, params, marks=pytest.mark.slow if (i + j) % 3 or j > 3 else ())
        for i, widths in enumerate([(2, 4), (4, 2), (3, 2, 4)])
        for j, params in enumerate(
            [*PARAMS, {"storage": Nystroem(9)}, *({**given, "storage": Nystroem(9)} for given in PARAMS[1:])]
        )
    ],
    ids=repr,
)
def test_where_nothing_can_be_compared_all_layers_but_one_are_the_identity(
    widths: tuple[int, ...], params: dict[str, Any], tmp_path: Path
) -> None:
    X, new = waves(12, 0), waves(5, 1)
    one, deep = fit_once(KernelAutoencoder(2, **params), X), quietly(KernelAutoencoder(widths, **params), X)
    assert deep.reg_ == (one.reg_[0], *(np.inf,) * (len(widths) - 1), one.reg_[-1])
    assert [codes.shape[1] for codes in deep.layer_codes_] == list(widths)
    np.testing.assert_allclose(deep.reconstruction_error(new), one.reconstruction_error(new), rtol=1e-6, atol=1e-9)
    assert deep.objective_ == pytest.approx(one.objective_, rel=1e-9)
    save(deep, tmp_path / "deep.rkhs")
    again = load(tmp_path / "deep.rkhs")
    assert again.reg_ == deep.reg_
    np.testing.assert_allclose(again.transform(new), deep.transform(new), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.parametrize(
    ("n", "params"),
    [(90, {"max_iter": 15}), pytest.param(400, {"storage": Nystroem(80)}, marks=pytest.mark.slow)],
    ids=repr,
)
def test_layers_that_held_out_rows_ask_for_have_less_error(n: int, params: dict[str, Any]) -> None:
    X, new = waves(n, 2), waves(300, 3)
    one = quietly(KernelAutoencoder(2, storage=params.get("storage", "dense")), X)
    deep = quietly(KernelAutoencoder((4, 2), **params), X)
    assert np.isfinite(deep.reg_).all()
    assert deep.candidate_errors_[0] > deep.candidate_errors_.min()
    d = deep.reconstruction_error(new) - one.reconstruction_error(new)
    assert d.mean() < -2.0 * d.std() / len(d) ** 0.5


@pytest.mark.sample(2)
@pytest.mark.parametrize("params", [{}, {"linear_part": "kernel"}, {"storage": Nystroem(30)}], ids=repr)
def test_refined_codes_of_several_layers_lower_the_objective_of_their_rows(params: dict[str, Any]) -> None:
    X, new = waves(40, 4), torch.as_tensor(waves(12, 5))
    model = quietly(KernelAutoencoder((3, 2, 4), reg=(1e-3, 1e-2, 1e-2, 1e-3), max_iter=20, **params), X)
    plain, refined = model._plain_errors(new.numpy()), model.reconstruction_error(new.numpy())
    assert refined.mean() < 0.95 * plain.mean()
    near = np.abs(model.transform(X) - model.codes_).max(1)
    assert near.max() < 1e-4 if "storage" not in params else np.median(near) < 0.1
    fitted, raw = model.model_, model._cross_gram(new)
    start = fitted.encode(new, raw)[0]
    found = refined_codes(fitted, new, raw, start, (200, 1e-10))
    # At the end of the descent the objective of a row is stationary: every small move raises it.
    assert _rises(model, new, raw, start, found)


def _rises(model: Any, new: torch.Tensor, raw: torch.Tensor, start: torch.Tensor, found: torch.Tensor) -> bool:
    """Whether small moves of codes raise error and price together, in the mean of the rows."""
    fitted = model.model_
    goal, directions = fitted.rebuilt.output.encode(fitted.target_rows(new, raw)), fitted.penalty.directions
    leading = torch.eye(goal.shape[1]).to(goal) if directions is None else torch.as_tensor(directions)
    moved = (found - start).norm(dim=1) > 1e-8
    step = 1e-3 * torch.randn(found.shape, dtype=found.dtype, generator=torch.Generator().manual_seed(0))

    def errors(Z: torch.Tensor) -> torch.Tensor:
        for layer in fitted.layers:
            Z = layer.of(Z)
        return (((goal - Z) @ leading) ** 2).sum(1)[moved]

    slope = (errors(found + step) - errors(found - step)) / 2.0
    pull = -((found - start) * step).sum(1)[moved]  # the slope of the price is against that of the error
    return bool(((slope * pull) >= -1e-9).all())


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("solver", "widths"),
    [
        *[("alternating", (3, 2)), ("gradient_descent", 2)],
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("alternating", 2), ("gradient_descent", (3, 2)))),
    ],
)
def test_robust_losses_descend_on_all_layers(solver: Any, widths: Any) -> None:
    X = waves(12, 6)
    X[0] += 20.0
    found = [
        quietly(KernelAutoencoder(widths, loss=Huber(0.2), reg=1e-2, solver=solver, max_iter=steps), X).objective_
        for steps in (1, 20)
    ]
    best = quietly(KernelAutoencoder(widths, loss=Huber(0.2), reg=1e-2, linear_part="kernel"), X).objective_
    assert 0.99 * best < found[1] < found[0]


@pytest.mark.sample(2)
@pytest.mark.usefixtures("all_candidates")
@pytest.mark.parametrize("constraint", ["sphere", "ball", "soft"])
def test_robust_losses_keep_codes_on_their_set(constraint: Any) -> None:
    X = waves(30, 6)
    X[0] += 20.0
    robust = quietly(KernelAutoencoder(2, loss=Huber(0.05), constraint=constraint, reg=1e-3, max_iter=15), X)
    squared = quietly(KernelAutoencoder(2, constraint=constraint, reg=1e-3, max_iter=15), X)
    lengths = np.linalg.norm(robust.codes_, axis=1)
    if constraint != "soft":
        assert np.abs(lengths - 1.0).max() < 1e-6 if constraint == "sphere" else lengths.max() < 1.0 + 1e-6
    others = [model.reconstruction_error(X[1:], codes=model.codes_[1:]).mean() for model in (robust, squared)]
    assert others[0] < others[1]


def test_the_first_of_several_layers_lies_on_a_sphere() -> None:
    X = waves(40, 7)
    model = quietly(KernelAutoencoder((3, 2), constraint="sphere", max_iter=30), X)
    np.testing.assert_allclose(np.linalg.norm(model.layer_codes_[0], axis=1), 1.0, rtol=1e-9)
    assert model.objective_ < 0.25
