"""Constrained autoencoder: the printed theorem, gradients, invariances, and what each constraint guarantees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from rkhs._core.linalg import Factor
from rkhs.constraints import Ball, CodeSet, SoftSphere, Sphere, Whitened
from rkhs.kernels import Gaussian
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.coordinates import Coordinates, jittered_factor
from rkhs.problems.encoders import encoder_of
from rkhs.problems.last_layers import ItemsLayer
from rkhs.solvers import LBFGS

KERNEL, DECODER = Gaussian(0.3), Gaussian(0.8)
SETS = {"sphere": Sphere(), "ball": Ball(), "whiten": Whitened(), "soft": SoftSphere(0.7)}


def of(factor: Coordinates, target: Tensor, reg: tuple[float, float], code_set: CodeSet) -> Autoencoder:
    return Autoencoder(encoder_of(code_set, factor, reg[0], None), ItemsLayer(target, DECODER, reg[1]))


def problem(
    constraint: str = "sphere", n: int = 14, reg: tuple[float, float] = (1e-2, 1e-3), seed: int = 0
) -> Autoencoder:
    X = torch.as_tensor(np.random.default_rng(seed).normal(size=(n, 4)))
    return of(jittered_factor(KERNEL._gram(X)), X, reg, SETS[constraint])


def in_codes(p: Autoencoder, Z: Tensor) -> tuple[float, Tensor]:
    """Objective and its gradient in codes on the set."""
    L = p.encoder.factor.matrix
    V = p.encoder.factor.solve(Z)
    value, G = p.last_layer.value_and_gradient(Z)
    reg = p.encoder.reg
    return value + 0.5 * reg * float((V * V).sum()), G + reg * torch.linalg.solve_triangular(L.mT, V, upper=True)


def draw(n: int, seed: int, p: int = 2) -> Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, p)))


def codes(p: Autoencoder, point: Tensor) -> Tensor:
    return p.encoder.layers(point)[0]


def started(p: Autoencoder, Z: Tensor) -> Tensor:
    return p.encoder.start([Z], 1.0 / float(Z.norm(dim=1).mean()))


def theorem_5(Z: Tensor, K: Tensor, X: Tensor, lam: float) -> float:
    """The printed expression (rows in place of columns), with its inverse of ``K_Z``."""
    KZ = DECODER._gram(Z)
    Q = KZ @ torch.linalg.solve(KZ + lam * torch.eye(len(Z), dtype=Z.dtype), X)
    penalty = torch.trace(Z.mT @ torch.linalg.solve(K, Z)) + torch.trace(Q.mT @ torch.linalg.solve(KZ, Q))
    return float(((Q - X) ** 2).sum() + lam * penalty)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_objective_is_theorem_5_over_2n(seed: int) -> None:
    lam, n = 0.1, 10
    p = problem(n=n, reg=(lam / n, lam / n), seed=seed)
    Z = Sphere().project(draw(n, seed, 2))
    K = p.encoder.factor.matrix @ p.encoder.factor.matrix.mT
    value, _ = in_codes(p, Z)
    assert 2 * n * value == pytest.approx(theorem_5(Z, K, p.last_layer.target, lam), rel=1e-8)


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient(constraint: str, seed: int) -> None:
    p = problem(constraint)
    V, D = draw(14, seed), draw(14, seed + 10)
    V = 2.0 * p.encoder.factor.solve(draw(14, seed))  # codes inside and outside of the ball
    step = 1e-6
    slope = (p.value_and_grad(V + step * D)[0] - p.value_and_grad(V - step * D)[0]) / (2 * step)
    assert slope == pytest.approx(float((p.value_and_grad(V)[1] * D).sum()), rel=2e-6)


def test_gradient_of_codes_is_the_closed_form() -> None:
    lam, n = 0.1, 10
    p = problem(n=n, reg=(lam / n, lam / n))
    Z = Sphere().project(draw(n, 0))
    K = p.encoder.factor.matrix @ p.encoder.factor.matrix.mT
    Gamma = torch.linalg.solve(DECODER._gram(Z) + lam * torch.eye(n, dtype=Z.dtype), p.last_layer.target)
    closed = 2 * lam * torch.linalg.solve(K, Z) + DECODER.pullback(Z, -lam * Gamma @ Gamma.mT)
    _, G = in_codes(p, Z)
    assert torch.dist(2 * n * G, closed) < 1e-6 * closed.norm()
    tangent = Sphere().tangent(Z, G)
    assert float((tangent * Z).sum(1).abs().max()) < 1e-10


def test_rotation_and_permutation() -> None:
    p = problem()
    Z = Sphere().project(draw(14, 0))
    c, s = np.cos(0.7), np.sin(0.7)
    Q = torch.tensor([[c, -s], [s, c]])
    value = in_codes(p, Z)[0]
    assert in_codes(p, Z @ Q)[0] == pytest.approx(value, rel=1e-9)
    order = torch.as_tensor(np.random.default_rng(0).permutation(14))
    K = p.encoder.factor.matrix @ p.encoder.factor.matrix.mT
    factor = Factor(torch.linalg.cholesky(K[order][:, order]), torch.arange(14), 0.0)
    moved = of(factor, p.last_layer.target[order], (1e-2, 1e-3), Sphere())
    assert in_codes(moved, Z[order])[0] == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("constraint", SETS)
def test_optimum_is_feasible_and_stationary(constraint: str) -> None:
    p = problem(constraint, n=30)
    solution = LBFGS(max_iter=2000, tol=1e-8).solve(p, started(p, draw(30, 1)))
    Z = codes(p, solution.point)
    norms = Z.norm(dim=1)
    if constraint == "sphere":
        assert float((norms - 1).abs().max()) < 1e-12
    elif constraint == "ball":
        assert float(norms.max()) <= 1 + 1e-12
    elif constraint == "whiten":
        assert torch.dist(Z.mT @ Z / 30, torch.eye(2, dtype=Z.dtype)) < 1e-10
    assert solution.value < p.value_and_grad(started(p, draw(30, 1)))[0]
    assert float(p.value_and_grad(solution.point)[1].norm()) < 1e-4


def test_a_stiff_soft_constraint_is_the_sphere() -> None:
    start = draw(30, 1)
    hard = problem("sphere", n=30)
    best = LBFGS(max_iter=2000, tol=1e-8).solve(hard, started(hard, start))
    for softness in (10.0, 1e3):
        soft = of(hard.encoder.factor, hard.last_layer.target, (1e-2, 1e-3), SoftSphere(softness))
        near = LBFGS(max_iter=500, tol=1e-7).solve(soft, soft.encoder.resume(codes(hard, best.point), []))
        assert near.value < best.value + 1e-12
        assert float((codes(soft, near.point).norm(dim=1) - 1).abs().max()) < 3.0 / softness
    assert near.value > 0.95 * best.value


def test_small_decoder_reg_rebuilds_the_targets() -> None:
    p = problem(reg=(1e-6, 1e-9))
    Z = codes(p, LBFGS().solve(p, started(p, draw(14, 0))).point)
    back = DECODER._gram(Z) @ p.last_layer.solve(Z).coefficients
    assert float((back - p.last_layer.target).abs().max()) < 1e-2
