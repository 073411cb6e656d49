"""The un-reduced objective: equal to its naive twin, right gradients at any depth, exact updates of the last layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, factorize, square_root
from rkhs.kernels.base import VectorKernel
from rkhs.problems.autoencoder import items_autoencoder
from tests.problems.networks import Network, network, packed, unpacked
from tests.reference.autoencoder import naive_objective, taylor_slope

CASES = [
    pytest.param(layers, operators, weights, id=f"{layers} layers{' A' * operators}{' w' * weights}")
    for layers in (2, 3, 4)
    for operators, weights in ((False, False), (True, False), (True, True))
]


def joint_parts(net: Network) -> list[torch.Tensor]:
    return net.random((*net.widths, net.target.shape[1]))


@pytest.mark.parametrize(("layers", "operators", "weights"), CASES)
def test_value_is_that_of_the_naive_twin(layers: int, operators: bool, weights: bool) -> None:
    net = network(layers, operators=operators, weights=weights, seed=layers)
    parts = joint_parts(net)
    made = [None if A is None else A.numpy() for A in net.operators]
    expected = naive_objective(
        net.K.numpy(), net.target.numpy(), net.kernels, net.reg, made, net.w, [p.numpy() for p in parts]
    )
    value, _ = net.joint.value_and_grad(packed(net.joint, parts))
    assert value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("layers", "operators", "weights"), CASES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_gradient_of_every_block_has_taylor_slope_two(layers: int, operators: bool, weights: bool, seed: int) -> None:
    net = network(layers, operators=operators, weights=weights, seed=seed)
    problem, parts = net.joint, joint_parts(net)
    point = packed(problem, parts)
    _, grad = problem.value_and_grad(point)
    rng = np.random.default_rng(seed)
    for block in range(layers):
        direction = [torch.zeros_like(p) for p in parts]
        direction[block] = torch.as_tensor(rng.normal(size=parts[block].shape))
        slope = taylor_slope(lambda x: problem.value_and_grad(x)[0], grad, point, packed(problem, direction))
        assert slope == pytest.approx(2.0, abs=0.25), f"block {block + 1} of {layers}"


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_plain_gradient_is_the_gram_matrix_times_the_rkhs_gradient(layers: int) -> None:
    net = network(layers, operators=True, weights=True)
    problem, point = net.joint, packed(net.joint, joint_parts(net))
    _, plain, natural = problem.value_and_grads(point)
    outputs = problem.encoder.layers(point)
    grams = [net.K, *(k._gram(Z) for k, Z in zip(net.kernels, outputs, strict=False))]
    for K, g, h in zip(grams, unpacked(problem, plain), unpacked(problem, natural), strict=True):
        torch.testing.assert_close(g, K @ h, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("layers", "operators", "weights"), CASES)
def test_the_last_update_reaches_the_reduced_objective(layers: int, operators: bool, weights: bool) -> None:
    net = network(layers, operators=operators, weights=weights, seed=3)
    joint, reduced = net.joint, net.reduced
    factor = factorize(net.K)
    inner = net.random(net.widths, rows=factor.dim)
    point = packed(reduced, inner)
    root = None if net.operators[0] is None else square_root(net.operators[0])
    V = inner[0] if root is None else inner[0] @ torch.linalg.inv(root)
    alone, firsts = net.coefficients, [factor.coefficients(V), *inner[1:]]
    first = packed(alone, firsts)
    value, grad = reduced.value_and_grad(point)
    full = packed(joint, net.complete(firsts))
    at_optimum, joint_grad = joint.value_and_grad(full)
    assert at_optimum == pytest.approx(value, rel=1e-9)
    assert reduced.value(point) == pytest.approx(value, rel=1e-12)
    assert unpacked(joint, joint_grad)[-1].abs().max() < 1e-9
    # With the last layer frozen at its optimum the gradient is that of the reduced objective: dV = F^-1 dPhi A^(-1/2).
    frozen_value, frozen = alone.freeze_last(first).value_and_grad(first)
    assert frozen_value == pytest.approx(value, rel=1e-9)
    parts = unpacked(alone, frozen)
    dV = torch.linalg.lstsq(factor.matrix, parts[0]).solution
    # Hidden coefficients are in units of u in a reduced point, so their gradient is u times ours.
    hidden = [reduced.encoder.unit**2 * g for g in parts[1:]]
    expected = packed(reduced, [dV if root is None else dV @ torch.linalg.inv(root), *hidden])
    torch.testing.assert_close(expected, grad, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("layers", "operators", "weights"), CASES)
def test_a_stale_last_layer_still_has_the_right_gradient(layers: int, operators: bool, weights: bool) -> None:
    net = network(layers, operators=operators, weights=weights, seed=4)
    joint, alone, parts = net.joint, net.coefficients, net.random(net.widths)
    first = packed(alone, parts)
    rng = np.random.default_rng(0)
    held = alone.freeze_last(first)
    moved = first + 0.3 * torch.as_tensor(rng.normal(size=first.shape))
    value, grad = held.value_and_grad(moved)
    full = packed(joint, [*unpacked(alone, moved), held.last_layer.parameters])
    joint_value, joint_grad = joint.value_and_grad(full)
    assert value == pytest.approx(joint_value, rel=1e-10)
    for one, other in zip(unpacked(alone, grad), unpacked(joint, joint_grad), strict=False):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)
    direction = torch.as_tensor(rng.normal(size=first.shape))
    assert taylor_slope(lambda x: held.value_and_grad(x)[0], grad, moved, direction) == pytest.approx(2.0, abs=0.25)


def test_the_sign_of_the_published_k2ae_gradient_is_not_ours() -> None:
    """Public code for K2AE treats the distortion as a constant, which leaves ``+reg N`` in place of ``-reg N``."""
    net = network(2)
    reduced = net.reduced
    V = net.random((3,))[0]
    point = packed(reduced, [V])
    _, grad = reduced.value_and_grad(point)
    Z = reduced.encoder.layers(point)[0]
    N = reduced.last_layer.solve(Z).root
    penalty = net.reg[0] * V
    wrong = reduced.encoder.factor.matrix.mT @ net.kernels[0].pullback(Z, Outer(0.5 * net.reg[-1] * N, N)) + penalty
    ours = grad.view_as(V)
    cosine = float(((wrong - penalty) * (ours - penalty)).sum() / (wrong - penalty).norm() / (ours - penalty).norm())
    assert cosine == pytest.approx(-1.0, abs=1e-10)
    direction = torch.as_tensor(np.random.default_rng(1).normal(size=V.shape))
    assert taylor_slope(reduced.value, wrong, point, direction) == pytest.approx(1.0, abs=0.25)
    assert taylor_slope(reduced.value, grad, point, direction) == pytest.approx(2.0, abs=0.25)


def test_float32_follows_float64() -> None:
    net = network(3)
    point = packed(net.joint, joint_parts(net))
    single = items_autoencoder(net.K.float(), net.target.float(), net.kernels, net.widths, net.reg, moving=True)
    value, grad = single.value_and_grad(point.float())
    expected, gradient = net.joint.value_and_grad(point)
    assert grad.dtype == torch.float32
    assert value == pytest.approx(expected, rel=1e-5)
    torch.testing.assert_close(grad.double(), gradient, rtol=1e-3, atol=1e-4)


def test_a_kernel_without_gradient_is_refused() -> None:
    class Plain(VectorKernel):
        def __init__(self) -> None:
            pass

        def _gram(self, X, Y=None):
            return X @ (X if Y is None else Y).mT

        def _diag(self, X):
            return (X * X).sum(1)

    net = replace(network(2), kernels=(Plain(),))
    with pytest.raises(InputError, match="Plain has no gradient"):
        net.joint.value_and_grad(packed(net.joint, joint_parts(net)))
