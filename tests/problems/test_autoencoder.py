"""The reduced objective: derivatives, closed forms, invariances, known minima."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian, Linear, Polynomial
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.initial_codes import SCALES, best_start, kernel_pca_scores, targets_of_layers
from rkhs.solvers import LBFGS
from tests.problems.networks import network, packed, unpacked
from tests.reference.autoencoder import naive_decoder, taylor_slope

CASES = [
    pytest.param(layers, operators, weights, id=f"{layers} layers{' A' * operators}{' w' * weights}")
    for layers in (2, 3, 4)
    for operators, weights in ((False, False), (False, True), (True, False), (True, True))
]


@pytest.mark.parametrize(("layers", "operators", "weights"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_of_every_block_has_taylor_slope_two(layers: int, operators: bool, weights: bool, seed: int) -> None:
    net = network(layers, operators=operators, weights=weights, seed=seed)
    problem = net.reduced
    parts = net.random(net.widths, rows=problem.encoder.factor.dim)
    point = packed(problem, parts)
    value, grad = problem.value_and_grad(point)
    assert value == pytest.approx(problem.value(point), rel=1e-12)
    rng = np.random.default_rng(seed)
    for block in range(layers - 1):
        direction = [torch.zeros_like(p) for p in parts]
        direction[block] = torch.as_tensor(rng.normal(size=parts[block].shape))
        slope = taylor_slope(problem.value, grad, point, packed(problem, direction))
        assert slope == pytest.approx(2.0, abs=0.25), f"block {block + 1} of {layers}"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("operator", [False, True])
def test_decoder_solves_the_kronecker_system(operator: bool, weighted: bool) -> None:
    net = network(2, operators=True, weights=True)
    Z = net.random((2,))[0]
    A, w = net.operators[-1] if operator else None, net.weights if weighted else None
    dense = np.eye(3) if A is None else A.numpy()
    n = len(Z)
    expected = naive_decoder(
        Gaussian(0.4)._gram(Z).numpy(), dense, net.target.numpy(), 0.02, np.full(n, 1 / n) if w is None else w.numpy()
    )
    found = optimal_decoder(Gaussian(0.4)._gram(Z), Z, net.target, 0.02, A, w)
    np.testing.assert_allclose(found.parameters.numpy(), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.coefficients.numpy(), expected @ dense, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        (found.root @ found.root.mT).numpy(), expected @ dense @ expected.T, rtol=1e-8, atol=1e-10
    )


def linear_problem(X: torch.Tensor, p: int, reg: tuple[float, float]) -> Autoencoder:
    return items_autoencoder(factorize(X @ X.mT), X, (Linear(),), (p,), reg)


def linear_minimum(X: torch.Tensor, p: int, reg: tuple[float, float]) -> float:
    """Half of ``1/n [sum s^2 - sum_(i <= p) (s^2 - n lam)_+^2 / s^2]``, ``lam = sqrt(reg_1 reg_2)``."""
    n = len(X)
    s2 = torch.linalg.svdvals(X) ** 2
    kept = (s2[:p] - n * (reg[0] * reg[1]) ** 0.5).clamp_min(0.0)
    return 0.5 * float(s2.sum() - (kept**2 / s2[:p]).sum()) / n


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("reg", [(0.2, 0.3), (1e-3, 0.05)])
def test_penalised_linear_minimum_is_reached_from_random_starts(seed: int, reg: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    X = torch.as_tensor(rng.normal(size=(15, 4)) * [2.0, 1.5, 1.0, 0.4])
    problem = linear_problem(X, 2, reg)
    start = torch.as_tensor(rng.normal(size=(problem.encoder.factor.dim, 2)))
    solution = LBFGS(2000, 1e-14).solve(problem, start)
    assert solution.value == pytest.approx(linear_minimum(X, 2, reg), rel=1e-8)


def test_vanishing_penalties_give_principal_components() -> None:
    X = torch.as_tensor(np.random.default_rng(0).normal(size=(15, 4)) * [2.0, 1.5, 1.0, 0.4])
    problem = linear_problem(X, 2, (1e-7, 1e-7))
    start = best_start(problem.value, partial(problem.encoder.start, [kernel_pca_scores(X @ X.mT, 2)[0]]))
    solution = LBFGS(2000, 1e-13).solve(problem, start)
    U, s, _ = torch.linalg.svd(X, full_matrices=False)
    assert solution.value == pytest.approx(linear_minimum(X, 2, (1e-7, 1e-7)), rel=1e-7)
    assert solution.value == pytest.approx(0.5 * float((s[2:] ** 2).sum()) / 15, rel=1e-5)
    Q, _ = torch.linalg.qr(problem.encoder.layers(solution.point)[0])
    torch.testing.assert_close(Q @ Q.mT, U[:, :2] @ U[:, :2].mT, atol=1e-5, rtol=0.0)


def test_scalar_case() -> None:
    one = torch.ones(1, 1, dtype=torch.float64)
    problem = items_autoencoder(factorize(one), one, (Linear(),), (1,), (0.3, 0.2))
    lam = (0.3 * 0.2) ** 0.5
    solution = LBFGS(500, 1e-14).solve(problem, 0.7 * one)
    assert solution.value == pytest.approx(0.5 * (2 * lam - lam**2), rel=1e-10)


@pytest.mark.parametrize("weights", [False, True])
def test_trace_of_n_is_the_mean_distortion(weights: bool) -> None:
    net = network(2, weights=weights)
    problem = net.reduced
    Z = problem.encoder.layers(packed(problem, net.random((3,), rows=problem.encoder.factor.dim)))[0]
    decoder = problem.last_layer.solve(Z)
    fitted = net.kernels[0]._gram(Z) @ decoder.coefficients
    distortion = float(torch.as_tensor(net.w) @ ((net.target - fitted) ** 2).sum(1))
    # W (T - K Phi) = reg Phi, so the weighted mean is reg^2 sum_i N_ii / w_i; n reg^2 Tr N for equal weights.
    assert distortion == pytest.approx(
        net.reg[1] ** 2 * float((decoder.root**2).sum(1) @ (1.0 / torch.as_tensor(net.w)))
    )


def test_rotation_of_the_codes_changes_nothing() -> None:
    net = network(2)
    problem = net.reduced
    V = net.random((3,), rows=problem.encoder.factor.dim)[0]
    Q = torch.linalg.qr(torch.as_tensor(np.random.default_rng(0).normal(size=(3, 3))))[0]
    value, grad = problem.value_and_grad(V)
    turned, turned_grad = problem.value_and_grad(V @ Q)
    assert turned == pytest.approx(value, rel=1e-12)
    torch.testing.assert_close(turned_grad, grad @ Q, rtol=1e-9, atol=1e-12)


def test_permutation_of_the_rows_changes_nothing() -> None:
    net = network(3, weights=True)
    order = torch.as_tensor(np.random.default_rng(0).permutation(len(net.target)))
    assert net.weights is not None
    moved = replace(net, K=net.K[order][:, order], target=net.target[order], weights=net.weights[order])
    parts = net.random((*net.widths, 3))
    value, grad = net.joint.value_and_grad(packed(net.joint, parts))
    other, other_grad = moved.joint.value_and_grad(packed(moved.joint, [p[order] for p in parts]))
    assert other == pytest.approx(value, rel=1e-12)
    for g, h in zip(unpacked(net.joint, grad), unpacked(moved.joint, other_grad), strict=True):
        torch.testing.assert_close(h, g[order], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("c", [0.5, 3.0])
def test_scale_law_of_a_gaussian_decoder(c: float) -> None:
    """``J(V; reg_1, gamma_2) = J(c V; reg_1 / c^2, gamma_2 / c^2)``."""
    net = network(2)
    problem = net.reduced
    V = net.random((3,), rows=problem.encoder.factor.dim)[0]
    scaled = replace(net, kernels=(Gaussian(0.4 / c**2),), reg=(net.reg[0] / c**2, net.reg[1])).reduced
    assert scaled.value(c * V) == pytest.approx(problem.value(V), rel=1e-12)


def test_gram_outputs_are_explicit_features() -> None:
    """K2AE on ``F F^T`` is KAE on ``F``, the explicit features of a quadratic kernel."""
    X = np.random.default_rng(0).normal(size=(10, 2))
    x, y = X.T
    F = torch.as_tensor(np.stack([x * x, y * y, 2**0.5 * x * y, 2**0.5 * x, 2**0.5 * y, np.ones(10)], 1))
    K = Polynomial(2, 1.0, 1.0)._gram(torch.as_tensor(X))
    torch.testing.assert_close(F @ F.mT, K)
    encoder = factorize(Gaussian(0.5)._gram(torch.as_tensor(X)))
    explicit = items_autoencoder(encoder, F, (Gaussian(0.4),), (2,), (0.02, 0.01))
    implicit = items_autoencoder(encoder, factorize(K).matrix, (Gaussian(0.4),), (2,), (0.02, 0.01))
    point = torch.as_tensor(np.random.default_rng(1).normal(size=(encoder.dim, 2)))
    value, grad = explicit.value_and_grad(point)
    other, other_grad = implicit.value_and_grad(point)
    assert other == pytest.approx(value, rel=1e-10)
    torch.testing.assert_close(other_grad, grad, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("layers", [2, 4])
def test_the_start_is_smooth_and_better_than_collapse(layers: int) -> None:
    net = network(layers, operators=True, weights=True, n=30)
    problem = net.reduced
    scores, _ = kernel_pca_scores(net.K, 4, net.weights)
    goals, tried = targets_of_layers(scores, net.widths, net.weights), []
    point = best_start(lambda V: tried.append(V) or problem.value(V), partial(problem.encoder.start, goals))
    assert 2 < len(tried) <= 6
    norms = (net.target**2).sum(1)
    assert problem.value(point) < 0.5 * float(torch.as_tensor(net.w) @ norms)


@pytest.mark.parametrize("least", SCALES)
def test_the_best_scale_of_a_valley(least: float) -> None:
    tried: list[float] = []
    found = best_start(lambda at: tried.append(at) or abs(math.log(at / least) + 0.1), lambda scale: scale)
    assert found == least
    assert len(tried) <= 5
    assert best_start(lambda at: float("nan"), lambda scale: scale) == 2.0


def test_a_row_of_weight_two_has_the_geometry_of_two_rows() -> None:
    """Same value and same length of the gradient, so that every solver takes the same path."""
    net = network(3, n=6)
    index = torch.tensor([0, 0, 1, 2, 3, 4, 4, 4, 5])
    counts = torch.bincount(index).double()
    weighted = replace(net, weights=counts / counts.sum())
    repeated = replace(net, K=net.K[index][:, index], target=net.target[index])
    V, Phi = net.random((3, 2), rows=6)
    small, large = weighted.reduced, repeated.reduced
    assert large.encoder.factor.matrix.shape[1] == 6
    V_large = large.encoder.factor.solve((small.encoder.factor.matrix @ V)[index])
    value, grad = small.value_and_grad(packed(small, [V, Phi]))
    other, other_grad = large.value_and_grad(packed(large, [V_large, (Phi / counts[:, None])[index]]))
    assert other == pytest.approx(value, rel=1e-9)
    assert float(other_grad.norm()) == pytest.approx(float(grad.norm()), rel=1e-7)


class FeatureColumns:
    """A first layer that is no factor of a Gram matrix: finite features of the items."""

    def __init__(self, features: torch.Tensor) -> None:
        self.features, self.dim = features, features.shape[1]

    def codes(self, V: torch.Tensor) -> torch.Tensor:
        return self.features @ V

    def pull(self, G: torch.Tensor) -> torch.Tensor:
        return self.features.mT @ G

    def solve(self, Z: torch.Tensor) -> torch.Tensor:
        return torch.linalg.lstsq(self.features, Z).solution

    def coefficients(self, V: torch.Tensor) -> torch.Tensor:
        return V


@pytest.mark.sample(1)
@pytest.mark.parametrize("widths", [(2,), (3, 2)])
def test_any_coordinates_are_a_first_layer(widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    F, T = torch.as_tensor(rng.normal(size=(15, 6))), torch.as_tensor(rng.normal(size=(15, 3)))
    kernels, reg = (Gaussian(0.5),) * len(widths), (1e-2,) * (len(widths) + 1)
    free = items_autoencoder(FeatureColumns(F), T, kernels, widths, reg)
    exact = items_autoencoder(factorize(F @ F.mT), T, kernels, widths, reg)
    goals = targets_of_layers(F[:, :3], widths)
    starts = [best_start(p.value, partial(p.encoder.start, goals)) for p in (free, exact)]
    found = [LBFGS(500, 1e-10).solve(p, start).value for p, start in zip((free, exact), starts, strict=True)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
