"""Spectral contrastive loss: gradient, thresholds, closed forms, explosion."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian, Linear
from rkhs.problems.pairs import Links, Pairs
from rkhs.problems.spectral_contrastive import PooledSpectral, SpectralContrastive
from rkhs.protocols import Reason
from rkhs.solvers import LBFGS
from tests.problems.test_contrastive import triplets


def single(k: float) -> tuple[torch.Tensor, Pairs]:
    zero = torch.zeros(1, dtype=torch.long)
    links = Links(zero[:, None], 1)
    return torch.full((1, 1), k, dtype=torch.float64), Pairs(zero, links, links, torch.ones(1, dtype=torch.float64))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradient(seed: int) -> None:
    X, pairs = triplets(8, 3, seed, several=2)
    problem = SpectralContrastive(factorize(Gaussian(0.3)._gram(X)).matrix, pairs, 2, 0.7)
    rng = np.random.default_rng(seed)
    U = torch.as_tensor(rng.normal(size=(problem.factor.shape[1], 2)))
    D = torch.as_tensor(rng.normal(size=U.shape))
    _, grad = problem.value_and_grad(U)
    step = 1e-5
    slope = (problem.value_and_grad(U + step * D)[0] - problem.value_and_grad(U - step * D)[0]) / (2 * step)
    assert slope == pytest.approx(float((grad * D).sum()), rel=1e-7)


def test_gradient_is_that_of_theorem_4() -> None:
    X, pairs = triplets(6, 3, 0)
    K = Gaussian(0.5)._gram(X)
    problem = SpectralContrastive(factorize(K).matrix, pairs, 2, 0.4)
    U = torch.as_tensor(np.random.default_rng(0).normal(size=(18, 2)))
    Z = problem.codes(U)
    z, p, m = Z[:6], Z[6:12], Z[12:]
    a = (z * m).sum(1, keepdim=True)
    printed = 0.8 * torch.linalg.solve(K, Z) + torch.cat([-2 * p + 2 * a * m, -2 * z, 2 * a * z])
    value, grad = problem.value_and_grad(U)
    assert torch.dist(grad, problem.factor.mT @ printed) < 1e-7
    direct = float((-2 * (z * p).sum(1) + a[:, 0] ** 2).sum() + 0.4 * torch.trace(Z.mT @ torch.linalg.solve(K, Z)))
    assert value == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("k", [0.5, 2.0])
@pytest.mark.parametrize("reg", [0.1, 0.6, 3.9, 4.1])
def test_one_point_in_one_dimension(k: float, reg: float) -> None:
    K, pairs = single(k)
    expected = -(max(0.0, 1.0 - reg / (2 * k)) ** 2)
    problem = SpectralContrastive(factorize(K).matrix, pairs, 1, reg)
    solution = LBFGS(tol=1e-10).solve(problem, torch.ones(1, 1, dtype=torch.float64))
    assert solution.value == pytest.approx(expected, abs=1e-9)
    assert PooledSpectral(K, pairs, 1).solve(reg).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_pooled_closed_form_is_where_lbfgs_goes(seed: int) -> None:
    X, pairs = triplets(12, 3, seed, several=2)
    K = Gaussian(0.2)._gram(X)
    problem = PooledSpectral(K, pairs, 2)
    reg = 0.2 * problem.reg_bounds()[1]
    best = problem.solve(reg)
    F = torch.linalg.cholesky(K)

    class Whitened:
        def value_and_grad(self, U: torch.Tensor) -> tuple[float, torch.Tensor]:
            V = U.clone().requires_grad_()
            Z = F @ V
            d = problem.marginal
            S = Z.mT @ (d[:, None] * Z)
            loss = -2 * (Z[pairs.anchors] * pairs.positives.average(Z)).sum() / 12 + (S * S).sum() + reg * (V * V).sum()
            loss.backward()
            assert V.grad is not None
            return float(loss.detach()), V.grad

    start = torch.as_tensor(np.random.default_rng(seed).normal(size=(len(X), 2)))
    found = LBFGS(max_iter=2000, tol=1e-11).solve(Whitened(), start)
    assert best.value == pytest.approx(found.value, abs=1e-8)
    norm = float((best.coefficients * (K @ best.coefficients)).sum())
    Z = best.codes
    S = Z.mT @ (problem.marginal[:, None] * Z)
    loss = -float((Z[pairs.anchors] * pairs.positives.average(Z)).sum()) / 6 + float((S * S).sum()) + reg * norm
    assert loss == pytest.approx(best.value, abs=1e-10)
    used = problem.marginal > 0
    assert torch.dist((K @ best.coefficients)[used], best.codes[used]) < 1e-8


def test_pooled_without_penalty_is_at_least_minus_h() -> None:
    X, pairs = triplets(10, 3, 0)
    for h in (1, 2, 5):
        value = PooledSpectral(Gaussian(0.2)._gram(X), pairs, h).solve(0.0).value
        assert -h - 1e-9 <= value < 0.0


def test_pooled_collapses_exactly_at_its_bound() -> None:
    X, pairs = triplets(10, 3, 1)
    problem = PooledSpectral(Gaussian(0.2)._gram(X), pairs, 2)
    high = problem.reg_bounds()[1]
    assert problem.solve(1.0001 * high).value == 0.0
    assert problem.solve(0.9999 * high).value < 0.0
    second = float(problem.active_regs()[1])
    assert int((problem.solve(1.001 * second).codes.abs().sum(0) > 0).sum()) == 1
    assert int((problem.solve(0.99 * second).codes.abs().sum(0) > 0).sum()) == 2


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_window_of_given_negatives(seed: int) -> None:
    X, pairs = triplets(10, 3, seed)
    K = Gaussian(0.2)._gram(X)
    low, high = SpectralContrastive(factorize(K).matrix, pairs, 2, 1.0).reg_bounds()
    assert 0.0 < low < high

    def solve(reg: float) -> tuple[Reason, float]:
        problem = SpectralContrastive(factorize(K).matrix, pairs, 2, reg)
        solution = LBFGS(max_iter=3000, tol=1e-9).solve(problem, problem.start())
        return solution.reason, solution.value

    assert solve(0.5 * low)[0] is Reason.DIVERGED
    reason, value = solve(low + 0.8 * (high - low))
    assert reason.converged
    assert value < 0.0
    reason, value = solve(1.02 * high)
    assert reason.converged
    assert value == pytest.approx(0.0, abs=1e-8)


def test_rotation_of_codes_changes_nothing() -> None:
    X, pairs = triplets(9, 3, 0)
    problem = SpectralContrastive(factorize(Gaussian(0.3)._gram(X)).matrix, pairs, 2, 0.3)
    U = torch.as_tensor(np.random.default_rng(0).normal(size=(27, 2)))
    c, s = np.cos(0.7), np.sin(0.7)
    Q = torch.tensor([[c, -s], [s, c]])
    assert problem.value_and_grad(U @ Q)[0] == pytest.approx(problem.value_and_grad(U)[0], rel=1e-12)


def test_linear_kernel_is_the_explicit_linear_map() -> None:
    X, pairs = triplets(9, 3, 0)
    problem = SpectralContrastive(factorize(Linear()._gram(X)).matrix, pairs, 2, 0.3)
    F = problem.factor
    assert F.shape[1] == 3
    U = torch.as_tensor(np.random.default_rng(0).normal(size=(3, 2)))
    W = torch.linalg.lstsq(X, F @ U).solution
    z, p, m = X[:9] @ W, X[9:18] @ W, X[18:] @ W
    direct = (-2 * (z * p).sum(1) + (z * m).sum(1) ** 2).sum() + 0.3 * (W * W).sum()
    assert problem.value_and_grad(U)[0] == pytest.approx(float(direct), rel=1e-9)
