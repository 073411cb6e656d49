"""What every kernel guarantees of its gradients, with respect to items and to bandwidths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels import DotProduct, Kernel, MeanEmbedding, SparseRows, Stationary, Sum
from tests.contracts.kernel_examples import ALL, SMOOTH, has_function, items


def taylor_slope(value: Any, X: torch.Tensor, G: torch.Tensor, seed: int) -> None:
    """The error of the first-order expansion must fall with the square of the step."""
    V = torch.from_numpy(np.random.default_rng(seed).normal(size=X.shape))
    f0, slope = value(X), float((G * V).sum())
    steps = (1e-3, 1e-4)
    errors = [abs(value(X + t * V) - f0 - t * slope) for t in steps]
    rounding = 1e-12 * (abs(f0) + abs(slope))
    assert errors[0] < rounding or math.log10(errors[0] / max(errors[1], 1e-300)) > 1.9, (errors, f0, slope)


@pytest.mark.sample(24)
@pytest.mark.parametrize("kernel", SMOOTH)
def test_jacobian_is_the_pullback_of_every_column(kernel: Kernel) -> None:
    X, Y = items(kernel, 6, 3), items(kernel, 5, 4)
    k = kernel.resolve(Y)  # where a centred kernel has its kinks
    C = torch.from_numpy(np.random.default_rng(5).normal(size=(5, 3)))
    expected = torch.stack([k.cross_pullback(X, Y, column.expand(6, 5)) for column in C.mT], 2)
    exact = isinstance(k, DotProduct) or (isinstance(k, Stationary) and k.rotation_invariant)
    bound = (1e-12 if exact else 1e-3) * max(1.0, float(expected.abs().max()))  # others by differences
    assert torch.allclose(k._jacobian(X, Y, C), expected, rtol=0, atol=bound)


@pytest.mark.sample(24)
@pytest.mark.parametrize("kernel", SMOOTH)
def test_pullback_takes_any_form_of_its_arguments(kernel: Kernel) -> None:
    rng = np.random.default_rng(3)
    X = items(kernel, 300) if not has_function(kernel) else items(kernel, 10)  # more than one block of rows
    k, n = kernel.resolve(X), len(X)
    left, right = (torch.from_numpy(rng.normal(size=(n, 2))) for _ in range(2))
    expected = k.pullback(X, left @ right.mT)
    scale = float(expected.abs().max())
    K = k._gram(X)
    for got in (
        k.pullback(X, Outer(left, right)),
        k.pullback(X, left @ right.mT, K),
        k.pullback(X, Outer(left, right), K),
    ):
        assert torch.allclose(got, expected, rtol=0, atol=1e-10 * scale)
    same = k.pullback(X, Outer(left, left))
    assert torch.allclose(same, k.pullback(X, left @ left.mT), rtol=0, atol=1e-10 * scale)
    assert torch.equal(K, k._gram(X))


@pytest.mark.sample(24)
@pytest.mark.parametrize("kernel", SMOOTH)
def test_values_and_slopes_that_share_work_are_those_apart(kernel: Kernel) -> None:
    rng = np.random.default_rng(4)
    X = items(kernel, 300) if not has_function(kernel) else items(kernel, 10)  # more than one tile
    X[-1] = X[0]
    k, n = kernel.resolve(X), len(X)
    left = torch.from_numpy(rng.normal(size=(n, 2)))
    for same in (k, k.radial):
        if same is None:
            continue
        K, pull = same.gram_and_pullback(X)
        torch.testing.assert_close(K, k._gram(X), rtol=1e-12, atol=1e-12)
        for S in (Outer(left, left), torch.from_numpy(rng.normal(size=(n, n)))):
            expected = k.pullback(X, S)
            assert torch.allclose(pull(S), expected, rtol=0, atol=1e-10 * float(expected.abs().max()))
    if k.radial is not None:
        Y, S, C = X[:7] + 0.1, torch.from_numpy(rng.normal(size=(n, 7))), torch.from_numpy(rng.normal(size=(7, 3)))
        Y[0] = X[0]
        K, slopes = k.radial.gram_and_slopes(X, Y)
        torch.testing.assert_close(K, k._gram(X, Y), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(k.radial.pulled(X, Y, S * slopes), k.cross_pullback(X, Y, S), rtol=1e-9, atol=1e-9)
        found = k.radial.jacobian_of(X, Y, slopes, C)
        torch.testing.assert_close(found, k._jacobian(X, Y, C), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [p for p in ALL if not p.values[0].differentiable])
def test_kernels_without_gradient_say_so(kernel: Kernel) -> None:
    X = torch.ones(2, 2, dtype=torch.float64)
    base = kernel
    while hasattr(base, "base") and not isinstance(base, (MeanEmbedding, SparseRows)):
        base = base.base
    if isinstance(base, Sum):
        base = base.parts[0]
    with pytest.raises(InputError, match="no gradient"):
        base.pullback(X, X)
    with pytest.raises(InputError, match="no gradient"):
        base.cross_pullback(X, X, X)
    with pytest.raises(InputError, match="no gradient"):
        base.diag_pullback(X, X[0])
