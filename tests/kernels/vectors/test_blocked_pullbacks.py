"""Pull-backs sweep the upper triangle in blocks of rows: more rows than one block, against the dense formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs._core.linalg import Outer
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from rkhs.kernels.base import Kernel

KERNELS = [Gaussian(0.3), Matern(1.5, 0.7), Matern(0.5, 0.7), Laplacian("l2", 0.4), Polynomial(2, 0.3, 1.0)]


@pytest.mark.sample(9)
@pytest.mark.parametrize("kernel", [*KERNELS, Matern(2.5, 0.7) + 0.1 * Linear()], ids=repr)
@pytest.mark.parametrize("n", [256, 257, 530])
def test_blocks_agree_with_the_cross_pullback(kernel: Kernel, n: int) -> None:
    """``k(X, X)`` pulls back as ``k(X, Y)`` with ``S + S^T`` and ``Y = X`` held; slopes ``1 / r`` lose digits at 0."""
    rng = np.random.default_rng(n)
    X, left, right = (torch.as_tensor(rng.normal(size=(n, p))) for p in (3, 2, 2))
    dense = left @ right.mT
    expected = kernel.cross_pullback(X, X, dense + dense.mT)
    K = kernel._gram(X)
    torch.testing.assert_close(K, kernel._gram(X, X.clone()), rtol=1e-7, atol=1e-7)
    for S in (dense, Outer(left, right)):
        for gram in (None, K):
            torch.testing.assert_close(kernel.pullback(X, S, gram), expected, rtol=1e-6, atol=1e-5)
    twice = kernel.cross_pullback(X, X, 2.0 * left @ left.mT)
    torch.testing.assert_close(kernel.pullback(X, Outer(left, left), K), twice, rtol=1e-6, atol=1e-5)
