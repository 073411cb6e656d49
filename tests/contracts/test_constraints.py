"""Every public constraint: projection, tangent space and retraction by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import rkhs.constraints as module
from rkhs._core.config import is_concrete
from rkhs.constraints import Constraint

EVERY = [
    cls()
    for name in module.__all__
    if isinstance(cls := getattr(module, name), type) and issubclass(cls, Constraint) and is_concrete(cls)
]


def draw(seed: int, rows: int = 12, columns: int = 3, scale: float = 1.0) -> Tensor:
    return torch.as_tensor(scale * np.random.default_rng(seed).normal(size=(rows, columns)))


@pytest.fixture(params=EVERY, ids=lambda c: type(c).__name__)
def constraint(request: pytest.FixtureRequest) -> Constraint:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_projection_is_feasible_idempotent_and_nearest(constraint: Constraint, seed: int) -> None:
    Y = draw(seed)
    H = constraint.project(Y)
    assert H.shape == Y.shape
    assert constraint.violation(H) < 1e-12
    assert torch.dist(constraint.project(H), H) < 1e-10
    for other in range(20):
        feasible = constraint.project(draw(100 + other))
        assert torch.dist(Y, feasible) >= torch.dist(Y, H) - 1e-12
        near = constraint.project(H + 0.1 * draw(200 + other))
        assert torch.dist(Y, near) >= torch.dist(Y, H) - 1e-12


@pytest.mark.parametrize("seed", [0, 1])
def test_tangent_is_an_orthogonal_projection(constraint: Constraint, seed: int) -> None:
    H = constraint.project(draw(seed))
    A, B = draw(seed + 10), draw(seed + 20)
    TA, TB = constraint.tangent(H, A), constraint.tangent(H, B)
    assert torch.dist(constraint.tangent(H, TA), TA) < 1e-12
    assert float((TA * B).sum()) == pytest.approx(float((A * TB).sum()), abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_retraction_is_feasible_and_right_to_first_order(constraint: Constraint, seed: int) -> None:
    H = constraint.project(draw(seed))
    D = constraint.tangent(H, draw(seed + 10))
    assert constraint.violation(constraint.retract(H, D)) < 1e-12
    assert torch.dist(constraint.retract(H, 0.0 * D), H) < 1e-12
    errors = [float(torch.dist(constraint.retract(H, t * D), H + t * D)) for t in (1e-3, 1e-4)]
    assert errors[1] <= 1.1e-2 * errors[0] + 1e-12  # second order


def test_infeasible_points_are_seen(constraint: Constraint) -> None:
    far = 10.0 * constraint.project(draw(0)) + 5.0
    assert constraint.violation(far) >= 0.0
    if type(constraint).__name__ not in ("Unconstrained", "SoftSphere"):
        assert constraint.violation(far) > 0.1


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("constraint", [c for c in EVERY if hasattr(c, "pullback")], ids=lambda c: type(c).__name__)
def test_pullback_is_the_adjoint_of_the_derivative_of_the_projection(constraint: Any, seed: int) -> None:
    Y, D, G = draw(seed, scale=1.5), draw(seed + 10), draw(seed + 20)
    step = 1e-6
    slope = (constraint.project(Y + step * D) - constraint.project(Y - step * D)) / (2 * step)
    assert float((slope * G).sum()) == pytest.approx(float((constraint.pullback(Y, G) * D).sum()), rel=1e-6)
