"""Radial terms of a sum share one pass over the distances: the same values and gradients as term by term."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs.kernels import Gaussian, Kernel, Laplacian, Linear, Matern
from rkhs.kernels.vectors.radial import Mixture

TERMS = {
    "two Matern": [0.8 * Matern(1.5, 0.7), 0.2 * Matern(0.5, 1.3)],
    "with others": [
        Matern(2.5, 0.4),
        0.1 * Linear(),
        2.0 * Gaussian(0.3),
        Linear(offset=np.array([0.5, 0.0, -1.0])),
        Matern(0.5, 2.0),
    ],
    "two norms": [Gaussian(0.3), Laplacian("l1", 0.4), Laplacian("l2", 0.7)],
    "a multiple of a sum": [0.5 * (Gaussian(0.3) + Matern(0.5, 1.0)), Gaussian(2.0)],
}
each_sum = pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)


def total(terms: list[Kernel]) -> Kernel:
    whole = terms[0] + terms[1]
    for term in terms[2:]:
        whole = whole + term
    return whole


@each_sum
@pytest.mark.parametrize("n", [7, 500])  # one tile, several
def test_values_and_gradients_are_those_of_the_terms(terms: list[Kernel], n: int) -> None:
    rng = np.random.default_rng(n)
    X, Y, S = (torch.as_tensor(rng.normal(size=shape)) for shape in ((n, 3), (5, 3), (n, n)))
    X[1] = X[0]  # equal rows, where Matern 1/2 has no derivative
    kernel, T = total(terms), S[:, :5].contiguous()
    torch.testing.assert_close(kernel._gram(X), sum(k._gram(X) for k in terms), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(kernel._gram(X, Y), sum(k._gram(X, Y) for k in terms), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(kernel._diag(X), kernel._gram(X).diagonal())
    torch.testing.assert_close(kernel.pullback(X, S), sum(k.pullback(X, S) for k in terms), rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(kernel.cross_pullback(X, Y, T), sum(k.cross_pullback(X, Y, T) for k in terms))
    pair = zip(*(k._pair_pullback(X, Y, T.clone(), None) for k in terms), strict=True)
    for found, expected in zip(kernel._pair_pullback(X, Y, T, None), pair, strict=True):
        torch.testing.assert_close(found, sum(expected))


def test_a_far_point_keeps_the_digits_of_the_narrowest_term() -> None:
    X = torch.as_tensor(np.random.default_rng(0).normal(size=(40, 2)))
    X[0] += 1e7
    wide, narrow = 0.5 * Matern(1.5, 1e-3), 0.5 * Gaussian(2.0)
    torch.testing.assert_close((wide + narrow)._gram(X), wide._gram(X) + narrow._gram(X), rtol=1e-6, atol=1e-9)
    assert Mixture((0.5, 0.5), (wide.base, narrow.base))._gamma == 2.0


@each_sum
@pytest.mark.parametrize("n", [7, 500])
def test_values_and_pullbacks_that_share_work_are_those_of_the_terms(terms: list[Kernel], n: int) -> None:
    rng = np.random.default_rng(n)
    X, S = (torch.as_tensor(rng.normal(size=shape)) for shape in ((n, 3), (n, n)))
    X[1] = X[0]
    kernel, Y = total(terms), X[:5] + 0.1
    K, pull = kernel.gram_and_pullback(X)
    torch.testing.assert_close(K, torch.stack([term._gram(X) for term in terms]).sum(0), rtol=1e-12, atol=1e-12)
    expected = torch.stack([term._pullback(X, S, None) for term in terms]).sum(0)
    torch.testing.assert_close(pull(S), expected, rtol=1e-9, atol=1e-9)
    assert kernel.radial is None or all(term.radial is not None for term in terms)
    assert terms is not TERMS["two Matern"] or kernel.radial is not None
    if kernel.radial is not None:
        M = kernel.radial.gram_and_slopes(X, Y)[1].mul_(S[:, :5])
        expected = torch.stack([term._cross_pullback(X, Y, S[:, :5].contiguous()) for term in terms]).sum(0)
        torch.testing.assert_close(kernel.radial.pulled(X, Y, M), expected, rtol=1e-9, atol=1e-9)
