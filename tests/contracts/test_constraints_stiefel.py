"""The Stiefel manifold against the definitions of projection, tangent space and retraction."""

import pytest
import torch
from sklearn.base import clone

from rkhs._core.errors import InputError
from rkhs.constraints import Stiefel, cayley


def normal(n, p, seed):
    return torch.randn(n, p, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(3))
def test_projection_is_feasible_idempotent_and_nearest(seed):
    S, Y = Stiefel(), normal(12, 5, seed)
    H = S.project(Y)
    assert S.violation(H) < 1e-13
    assert torch.dist(S.project(H), H) < 1e-13
    for other in range(20):
        assert torch.dist(Y, H) <= torch.dist(Y, S.project(normal(12, 5, 100 + other)))


def test_tangent_is_an_orthogonal_projection_on_the_tangent_space():
    S, H = Stiefel(), Stiefel().project(normal(12, 5, 0))
    A, B = normal(12, 5, 1), normal(12, 5, 2)
    D = S.tangent(H, A)
    assert torch.dist(S.tangent(H, D), D) < 1e-13
    assert abs(((A - D) * S.tangent(H, B)).sum()) < 1e-12
    assert (H.mT @ D + D.mT @ H).abs().max() < 1e-13
    turn = H @ (A[:5] - A[:5].mT)  # tangent: H times a skew matrix
    assert torch.dist(S.tangent(H, turn), turn) < 1e-13


def test_retraction_is_feasible_and_first_order():
    S = Stiefel()
    H = S.project(normal(12, 5, 3))
    D = S.tangent(H, normal(12, 5, 4))
    assert torch.dist(S.retract(H, torch.zeros_like(D)), H) < 1e-14
    errors = []
    for step in (1e-2, 1e-3):
        moved = S.retract(H, step * D)
        assert S.violation(moved) < 1e-13
        errors.append(float(torch.dist(moved, H + step * D)))
    assert errors[1] < 1.2e-2 * errors[0]  # quadratic in the step
    assert S.violation(S.retract(H, 1e4 * D)) < 1e-12


def test_safe_on_rank_deficient_steps():
    """A step that lands on a singular matrix still returns a feasible point."""
    S = Stiefel()
    H = S.project(normal(12, 4, 5))
    bad = torch.zeros(12, 4, dtype=torch.float64)
    bad[:, 0] = -H[:, 0] + 1e-9 * normal(12, 1, 6)[:, 0]
    bad[:, 1] = -H[:, 1] + H[:, 2]
    assert S.violation(S.retract(H, bad)) < 1e-11


def test_low_rank_cayley_equals_dense():
    H = Stiefel().project(normal(9, 3, 0))
    P = normal(9, 3, 1)
    U, V = torch.cat([P, H], 1), torch.cat([H, -P], 1)
    W, eye = U @ V.mT, torch.eye(9, dtype=torch.float64)
    assert (W + W.mT).abs().max() < 1e-13
    dense = torch.linalg.solve(eye + 0.35 * W, (eye - 0.35 * W) @ H)
    assert torch.dist(cayley(H, U, V, 0.7), dense) < 1e-13


def test_float32_and_clone():
    S = clone(Stiefel())
    H = S.project(normal(6, 3, 0).float())
    assert H.dtype == torch.float32
    assert S.violation(H) < 1e-6


def test_bad_matrices():
    with pytest.raises(InputError, match="at least as many rows"):
        Stiefel().project(torch.ones(2, 3))
    with pytest.raises(InputError, match="must be finite"):
        Stiefel().project(torch.full((3, 2), torch.nan))
