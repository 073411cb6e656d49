"""Free linear parts: closed forms against dense solves, derivatives, least norms, principal components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian, Linear, Matern
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.refinement import CodeRefinement, power_function
from rkhs.problems.semiparametric import (
    LinearFactor,
    PrincipalCoordinates,
    semiparametric_decoder,
    slope_penalty,
)
from tests.reference.autoencoder import taylor_slope

DECODER = Matern(1.5, 0.7)


def rows(seed: int, n: int = 14, d: int = 5) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.as_tensor(np.tanh(rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))) + 0.1 * rng.normal(size=(n, d)))


def weights(n: int = 14) -> torch.Tensor:
    w = torch.linspace(1.0, 3.0, n, dtype=torch.float64)
    return w / w.sum()


def problem(seed: int = 0, w: torch.Tensor | None = None, p: int = 2) -> Autoencoder:
    X = rows(seed)
    axes = PrincipalCoordinates.of_vectors(X, p, w).with_penalty(1e-1)
    factor = LinearFactor(factorize(Gaussian(0.3)._gram(X)), axes.of(X))
    return items_autoencoder(
        factor, X - X.mean(0), (DECODER,), (p,), (1e-2, 1e-2), weights=w, rule=semiparametric_decoder
    )


@pytest.mark.parametrize("w", [None, weights()], ids=["equal", "weighted"])
def test_decoder_minimises_the_objective_written_out(w: torch.Tensor | None) -> None:
    Z, T, reg = rows(1, d=2), rows(2, d=3), 0.02
    K, n, free = DECODER._gram(Z), 14, slope_penalty(T, w)
    v = torch.full((n,), 1 / n, dtype=torch.float64) if w is None else w
    B = torch.cat([Z, torch.ones(n, 1, dtype=torch.float64)], 1)
    # Normal equations in (Phi, b) of the weighted least-squares problem, solved densely.
    D = torch.cat([K, B], 1)
    P = torch.zeros(n + 3, n + 3, dtype=torch.float64)
    P[:n, :n], P[n, n], P[n + 1, n + 1] = reg * K, free, free
    both = torch.linalg.solve(D.mT @ (v[:, None] * D) + P, D.mT @ (v[:, None] * T))
    found = semiparametric_decoder(DECODER._gram(Z), Z, T, reg, None, w)
    assert found.linear is not None
    torch.testing.assert_close(found.linear, both[n:], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(K @ found.coefficients + B @ found.linear, D @ both, rtol=1e-7, atol=1e-8)
    value = 0.5 * (v[:, None] * (T - D @ both) ** 2).sum() + 0.5 * (both * (P @ both)).sum()
    assert found.value == pytest.approx(float(value), rel=1e-8)


@pytest.mark.parametrize("w", [None, weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_has_taylor_slope_two(seed: int, w: torch.Tensor | None) -> None:
    p = problem(seed, w)
    rng = np.random.default_rng(seed)
    size = (p.encoder.factor.dim, 2)
    point, direction = (torch.as_tensor(0.3 * rng.normal(size=size)) for _ in range(2))
    value, grad = p.value_and_grad(point)
    assert value == p.value(point)
    assert taylor_slope(p.value, grad, point, direction) == pytest.approx(2.0, abs=0.25)
    assert taylor_slope(p.value, 2.0 * grad, point, direction) < 1.5


def test_parameters_of_given_codes_have_the_least_norm() -> None:
    factor = problem().encoder.factor
    assert isinstance(factor, LinearFactor)
    Z = rows(3, d=2)
    found = factor.solve(Z)
    torch.testing.assert_close(factor.matrix @ found, Z)
    torch.testing.assert_close(found, torch.linalg.pinv(factor.matrix) @ Z, rtol=1e-6, atol=1e-8)
    K = factor.kernel.matrix @ factor.kernel.matrix.mT
    torch.testing.assert_close(
        K @ factor.coefficients(found) + factor.linear @ found[: factor.linear.shape[1]], Z, rtol=1e-7, atol=1e-8
    )


def test_power_function_is_the_residual_of_projection_in_the_joint_space() -> None:
    X, new = rows(0), rows(5, 6)
    axes = PrincipalCoordinates.of_vectors(X, 2).with_penalty(1e-3)
    kernel = Gaussian(0.3)
    factor = LinearFactor(factorize(kernel._gram(X)), axes.of(X))
    cross, q = kernel._gram(new, X), axes.of(new)
    found = power_function(factor.kernel.cholesky, cross, kernel._diag(new), q, factor.mixed)
    joint = kernel._gram(X) + axes.of(X) @ axes.of(X).mT
    side = cross + q @ axes.of(X).mT
    expected = 1.0 + (q * q).sum(1) - (side * torch.linalg.solve(joint, side.mT).mT).sum(1)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("w", [None, weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("d", [5, 30])
def test_coordinates_are_principal_components_of_equal_variance(d: int, w: torch.Tensor | None) -> None:
    X, new = rows(0, d=d), rows(4, 6, d)
    v = torch.full((14,), 1 / 14, dtype=torch.float64) if w is None else w
    axes = PrincipalCoordinates.of_vectors(X, 3, w)
    Q = axes.of(X)
    torch.testing.assert_close(Q.mT @ (v[:, None] * Q), torch.eye(3, dtype=torch.float64))
    _, s, Vh = torch.linalg.svd(v.sqrt()[:, None] * (X - v @ X))
    torch.testing.assert_close(axes.scale, s[:3])
    scores = (new - v @ X) @ Vh[:3].mT
    torch.testing.assert_close((axes.of(new) * axes.scale).abs(), scores.abs())
    gram = PrincipalCoordinates.of_gram(X @ X.mT, 3, w)
    torch.testing.assert_close(gram.of(new @ X.mT).abs(), axes.of(new).abs())


def test_no_coordinates_without_variance() -> None:
    X = torch.outer(torch.arange(6.0, dtype=torch.float64), torch.ones(4, dtype=torch.float64))
    assert PrincipalCoordinates.of_vectors(X, 3).directions.shape == (4, 1)
    assert PrincipalCoordinates.of_gram(X @ X.mT, 3).directions.shape == (6, 1)
    assert PrincipalCoordinates.of_vectors(X[:1].repeat(6, 1), 3).directions.shape == (4, 0)


def test_the_start_is_principal_component_analysis_at_no_price() -> None:
    X = rows(0, 40)
    axes = PrincipalCoordinates.of_vectors(X, 2).with_penalty(1e-1)
    factor = LinearFactor(factorize(Gaussian(0.3)._gram(X)), axes.of(X))
    heavy = items_autoencoder(
        factor, X - X.mean(0), (DECODER,), (2,), (1e-2, 1e3), weights=None, rule=semiparametric_decoder
    )
    s = torch.linalg.svdvals(X - X.mean(0))
    point = factor.solve(axes.of(X) * axes.scale)
    expected = 0.5 * float((s[2:] ** 2).sum()) / 40
    assert heavy.value(point) == pytest.approx(expected, rel=5e-2)


def refinement(seed: int) -> CodeRefinement:
    rng = np.random.default_rng(seed)
    shapes = ((12, 2), (12, 3), (6, 3), (6, 2), (3, 3))
    supports, coefficients, goal, start, linear = (torch.as_tensor(rng.normal(size=s)) for s in shapes)
    radius = torch.as_tensor(rng.uniform(0.1, 3.0, 6))
    return CodeRefinement(DECODER, supports, coefficients, goal, start, radius, 12.0, linear)


def test_refinement_knows_the_linear_part() -> None:
    p = refinement(0)
    rng = np.random.default_rng(1)
    U, D = (torch.as_tensor(rng.normal(size=(6, 2))) for _ in range(2))
    _, grads, _ = p.values_and_grads(U)
    slope = (p.values_and_grads(U + 1e-6 * D)[0] - p.values_and_grads(U - 1e-6 * D)[0]) / 2e-6
    torch.testing.assert_close((grads * D).sum(1), slope, rtol=1e-6, atol=1e-8)


def step(p: CodeRefinement, U: torch.Tensor) -> torch.Tensor:
    _, grads, inverse = p.with_curvature(U)
    return U - (inverse @ grads[:, :, None])[:, :, 0]


def test_gauss_newton_steps_are_exact_on_linear_decoders() -> None:
    p = refinement(2)
    flat = replace(p, coefficients=torch.zeros_like(p.coefficients))
    U = step(flat, torch.zeros(6, 2, dtype=torch.float64))
    grads = flat.values_and_grads(U)[1]
    assert float(grads.abs().max()) < 1e-6
    penalised = replace(p, kernel=Linear(), linear=None)
    U = step(penalised, torch.ones(6, 2, dtype=torch.float64))
    assert float(penalised.values_and_grads(U)[1].abs().max()) < 1e-5


def test_codes_too_large_for_their_digits_are_refused_in_words() -> None:
    codes = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64) * torch.tensor([[1e16, 2e16]], dtype=torch.float64)
    K, target = torch.eye(3, dtype=torch.float64), torch.zeros(3, 1, dtype=torch.float64)
    with pytest.raises(InputError, match="codes reach 8e\\+16.*singular"):
        semiparametric_decoder(K, codes, target, 1e-2)
