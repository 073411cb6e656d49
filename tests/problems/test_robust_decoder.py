"""The last layer for any loss: equalities with the squared loss, derivatives of the reduced objective, bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.losses import Ball, EpsilonInsensitive, Huber, Loss, Power, Squared, SquaredEpsilonInsensitive
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.decoder import RobustDecoder
from rkhs.problems.dual import dual_problem
from rkhs.solvers import ADMM, FISTA
from tests.problems.networks import Network, network, packed
from tests.reference.autoencoder import taylor_slope

LOSSES = [Squared(), Huber(0.3), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.3), Power(1.5)]
KINDS = [(2, False, False), (2, True, True), (3, False, True), (4, True, False)]


def robust(net: Network, loss: Loss, tol: float = 1e-13) -> Autoencoder:
    return replace(
        net.reduced, last_layer=replace(net.reduced.last_layer, rule=RobustDecoder(loss, ADMM(tol=tol, max_iter=20000)))
    )


def a_point(net: Network, problem: Autoencoder) -> torch.Tensor:
    return packed(problem, net.random(net.widths, rows=problem.encoder.factor.dim))


@pytest.mark.parametrize(("layers", "operators", "weights"), KINDS)
@pytest.mark.parametrize("loss", [Squared(), Huber(1e6), SquaredEpsilonInsensitive(0.0)], ids=repr)
def test_no_cut_is_the_squared_loss(layers: int, operators: bool, weights: bool, loss: Loss) -> None:
    net = network(layers, operators=operators, weights=weights)
    point = a_point(net, net.reduced)
    value, grad = net.reduced.value_and_grad(point)
    found, found_grad = robust(net, loss).value_and_grad(point)
    assert found == pytest.approx(value, rel=1e-10)
    torch.testing.assert_close(found_grad, grad, rtol=1e-7, atol=1e-9)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("loss", "layers", "operators", "weights"),
    [
        pytest.param(loss, *kind, marks=pytest.mark.slow if (i + j) % 2 else ())
        for i, loss in enumerate(LOSSES)
        for j, kind in enumerate(KINDS)
    ],
    ids=repr,
)
def test_gradient_is_that_of_the_optimum_although_nothing_is_differentiated_through_the_solver(
    layers: int, operators: bool, weights: bool, loss: Loss
) -> None:
    net = network(layers, operators=operators, weights=weights, seed=3)
    problem = robust(net, loss)
    point = a_point(net, problem)
    _, grad = problem.value_and_grad(point)
    generator = torch.Generator().manual_seed(1)
    direction = torch.randn(point.shape, generator=generator, dtype=point.dtype)
    h = 1e-5
    difference = (problem.value(point + h * direction) - problem.value(point - h * direction)) / (2.0 * h)
    assert difference == pytest.approx(float((grad * direction).sum()), rel=1e-4, abs=1e-7)


def test_huber_gradient_has_taylor_slope_two() -> None:
    net = network(2, seed=1)
    problem = robust(net, Huber(0.3))
    point = a_point(net, problem)
    direction = torch.randn(point.shape, generator=torch.Generator().manual_seed(0), dtype=point.dtype)
    assert taylor_slope(problem.value, problem.value_and_grad(point)[1], point, direction) == pytest.approx(
        2.0, abs=0.25
    )


@pytest.mark.parametrize("loss", [EpsilonInsensitive(100.0), SquaredEpsilonInsensitive(100.0)], ids=repr)
def test_large_epsilon_collapses(loss: Loss) -> None:
    net = network(2)
    problem = robust(net, loss)
    point = a_point(net, problem)
    decoder = problem.last_layer.solve(problem.encoder.layers(point)[-1])
    assert bool((decoder.parameters == 0.0).all())
    assert decoder.value == 0.0
    torch.testing.assert_close(problem.value_and_grad(point)[1], net.reg[0] * point)


@pytest.mark.parametrize("loss", LOSSES[1:], ids=repr)
def test_a_rough_solve_gives_a_lower_bound_and_the_gap_says_how_low(loss: Loss) -> None:
    net = network(2, weights=True, seed=2)
    Z = net.random((3,))[0]
    kernel, reg = net.kernels[-1], 1e-3
    exact = RobustDecoder(loss, ADMM(tol=1e-12, max_iter=50000))(kernel._gram(Z), Z, net.target, reg, None, net.weights)
    for tol in (1e-1, 1e-2, 1e-4):
        rough = RobustDecoder(loss, ADMM(tol=tol))(kernel._gram(Z), Z, net.target, reg, None, net.weights)
        assert rough.value <= exact.value + 1e-9
        assert rough.value + rough.gap >= exact.value - 1e-9
        assert rough.solved


def test_rough_pair_is_consistent_in_the_gram_matrix() -> None:
    """For a fixed dual variable the value is linear in K, so that even a rough gradient is that of a lower bound."""
    net, loss = network(2, seed=4), Huber(0.2)
    Z, n = net.random((3,))[0], 8
    kernel = net.kernels[-1]
    rough = RobustDecoder(loss, ADMM(tol=1e-2))(kernel._gram(Z), Z, net.target, 0.05, None, None)
    E = torch.randn(n, n, generator=torch.Generator().manual_seed(2), dtype=Z.dtype)
    E = 1e-3 * E @ E.mT
    slope = -0.5 * 0.05 * float((E * (rough.root @ rough.root.mT)).sum())
    moved = dual_problem([(kernel._gram(Z) + E, None)], net.target, loss, 0.05)
    value, gap = moved.check(moved.points(rough.parameters[None]))
    assert float(value[0] - gap[0]) == pytest.approx(rough.value + slope, abs=1e-10)


def test_any_solver_of_the_dual_will_do_and_warm_starts_do_not_change_the_answer() -> None:
    net, loss = network(2, seed=5), Huber(0.2)
    Z, other = net.random((3,))[0], net.random((3,), scale=2.0)[0]
    arguments = (net.target, 0.02, None, None)
    cold = RobustDecoder(loss, ADMM(tol=1e-11))(net.kernels[-1]._gram(Z), Z, *arguments)
    warm = RobustDecoder(loss, FISTA(tol=1e-11))
    warm(net.kernels[-1]._gram(other), other, *arguments)
    torch.testing.assert_close(
        warm(net.kernels[-1]._gram(Z), Z, *arguments).parameters, cold.parameters, rtol=1e-4, atol=1e-4
    )
    assert bool(cold.saturated is not None and cold.saturated.any())


def test_infinite_losses_are_refused() -> None:
    net = network(2)
    with pytest.raises(InputError, match="loss must be finite everywhere"):
        RobustDecoder(Ball(0.01), ADMM())(
            net.kernels[-1]._gram(net.random((3,))[0]), net.random((3,))[0], net.target, 0.1, None, None
        )
