"""Simple contrastive loss: the identities of the closed form, on regular and on singular Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs._core.linalg import center_gram
from rkhs.kernels import Gaussian, Kernel, Linear
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Links, Pairs


def triplets(n: int, d: int, seed: int, several: int = 1) -> tuple[torch.Tensor, Pairs]:
    """Anchors, ``several`` noisy positives each, one unrelated negative each: N = n (2 + several) points."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    plus = (X[None] + 0.3 * rng.normal(size=(several, n, d))).reshape(-1, d)
    minus = rng.normal(size=(n, d))
    points = torch.as_tensor(np.vstack([X, plus, minus]))
    N = len(points)
    pos = n + torch.arange(n)[:, None] + n * torch.arange(several)[None, :]
    neg = n * (1 + several) + torch.arange(n)
    pool = torch.zeros(N, dtype=torch.float64)
    pool[:n] = 1.0 / n
    return points, Pairs(torch.arange(n), Links(pos, N), Links(neg[:, None], N), pool)


def loss(pairs: Pairs, codes: torch.Tensor) -> float:
    return float((codes[pairs.anchors] * pairs.differences(codes)).sum())


def printed(K1: np.ndarray, n: int, h: int) -> np.ndarray:
    """Theorem 3 as printed, on the range of a well-conditioned ``K_1``: the naive twin; returns the eigenvalues."""
    B = K1[:, n:] @ K1[:n]
    K2 = -0.5 * (B + B.T)
    w, U = np.linalg.eigh(K1)
    T = U[:, w > 1e-10 * w[-1]] * w[w > 1e-10 * w[-1]] ** -0.5
    return np.linalg.eigvalsh(T.T @ K2 @ T)[::-1][:h]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kernel", [Gaussian(0.2), Linear(), Gaussian(1e-3)])
def test_optimum_is_feasible_and_minus_the_sum_of_eigenvalues(kernel: Kernel, seed: int) -> None:
    X, pairs = triplets(25, 4, seed, several=2)
    problem = SimpleContrastive(kernel._gram(X), pairs, 2)
    best = problem.solve()
    K1 = problem.blocks()
    assert torch.dist(best.A.mT @ K1 @ best.A, torch.eye(2, dtype=K1.dtype)) < 1e-10
    codes = problem.gram @ best.coefficients
    assert loss(pairs, codes) == pytest.approx(best.value, abs=1e-9)
    assert best.value == pytest.approx(-float(best.eigenvalues.sum()), abs=1e-12)
    np.testing.assert_allclose(best.eigenvalues.numpy(), printed(K1.numpy(), 25, 2), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_kernel_equals_the_explicit_eigenproblem(seed: int) -> None:
    X, pairs = triplets(30, 3, seed)
    best = SimpleContrastive(X @ X.mT, pairs, 2).solve()
    D = pairs.differences(X)
    mu, W = torch.linalg.eigh(-0.5 * (X[:30].mT @ D + D.mT @ X[:30]))
    np.testing.assert_allclose(best.eigenvalues.numpy(), mu.flip(0)[:2].numpy(), rtol=1e-9)
    W = W.flip(1)[:, :2]
    ours = X.mT @ best.coefficients  # K_1 has rank 3 of 60 here
    assert torch.dist(ours @ ours.mT, W @ W.mT) < 1e-9


def test_repeated_points_need_no_inverse() -> None:
    X, pairs = triplets(12, 3, 0)
    X[:6] = X[6:12]
    X[12:18] = X[18:24]
    problem = SimpleContrastive(Gaussian(0.3)._gram(X), pairs, 2)
    best = problem.solve()
    assert torch.dist(best.A.mT @ problem.blocks() @ best.A, torch.eye(2, dtype=X.dtype)) < 1e-10
    assert loss(pairs, problem.gram @ best.coefficients) == pytest.approx(best.value, abs=1e-10)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_random_feasible_function_is_better(seed: int) -> None:
    X, pairs = triplets(15, 3, seed)
    problem = SimpleContrastive(Gaussian(0.2)._gram(X), pairs, 2)
    best = problem.solve()
    K = problem.gram + 1e-10 * torch.eye(len(X), dtype=X.dtype)
    L = torch.linalg.cholesky(K)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        Q, _ = np.linalg.qr(rng.normal(size=(len(X), 2)))
        assert loss(pairs, L @ torch.as_tensor(Q)) >= best.value - 1e-6


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear()])
def test_identical_positives_and_the_mean_as_negative_are_centred_kernel_pca(kernel: Kernel) -> None:
    X = torch.as_tensor(np.random.default_rng(3).normal(size=(20, 4)))
    K = kernel._gram(X)
    index = torch.arange(20)
    pairs = Pairs(index, Links(index[:, None], 20), None, torch.full((20,), 0.05, dtype=torch.float64))
    best = SimpleContrastive(K, pairs, 3).solve()
    mu, U = torch.linalg.eigh(center_gram(K))
    np.testing.assert_allclose(best.eigenvalues.numpy(), mu.flip(0)[:3].numpy(), rtol=1e-9)
    codes = K @ best.coefficients
    scores = U.flip(1)[:, :3] * mu.flip(0)[:3].sqrt()
    C = codes - codes.mean(0)
    assert torch.dist(C @ C.mT, scores @ scores.mT) < 1e-8


def test_swapping_positives_and_negatives_flips_the_spectrum() -> None:
    X, pairs = triplets(10, 3, 1)
    assert pairs.negatives is not None
    K = Linear()._gram(X)
    swapped = Pairs(pairs.anchors, pairs.negatives, pairs.positives, pairs.pool)
    there = SimpleContrastive(K, pairs, 3, strict=True).solve().eigenvalues
    back = SimpleContrastive(K, swapped, 3, strict=True).solve().eigenvalues
    np.testing.assert_allclose(there.numpy(), -back.flip(0).numpy(), atol=1e-10)


@pytest.mark.parametrize("strict", [False, True])
def test_equal_positives_and_negatives_leave_nothing(strict: bool) -> None:
    X, pairs = triplets(10, 3, 1)
    same = Pairs(pairs.anchors, pairs.positives, pairs.positives, pairs.pool)
    best = SimpleContrastive(Gaussian(0.5)._gram(X), same, 2, strict=strict).solve()
    assert best.n_positive == 0
    assert best.value == pytest.approx(0.0, abs=1e-12)
    assert bool((best.coefficients == 0).all()) or strict


def test_fewer_positive_eigenvalues_than_components() -> None:
    X, pairs = triplets(20, 1, 0)  # a linear kernel in one dimension has one direction
    loose = SimpleContrastive(X @ X.mT, pairs, 3).solve()
    assert loose.n_positive <= 1
    assert torch.count_nonzero(loose.coefficients[:, 1:]) == 0
    assert pairs.negatives is not None
    swapped = Pairs(pairs.anchors, pairs.negatives, pairs.positives, pairs.pool)
    problem = SimpleContrastive(X @ X.mT, swapped, 1, strict=True)
    strict = problem.solve()
    assert strict.n_positive == 0
    assert strict.value > 0.0
    assert float(strict.A.mT @ problem.blocks() @ strict.A) == pytest.approx(1.0, abs=1e-10)
    assert loss(swapped, problem.gram @ strict.coefficients) == pytest.approx(strict.value, rel=1e-9)
    assert SimpleContrastive(X @ X.mT, swapped, 1).solve().value == 0.0


def test_both_routes_agree() -> None:
    rng = np.random.default_rng(5)
    X = torch.as_tensor(rng.normal(size=(30, 3)))
    index = torch.as_tensor(rng.integers(0, 30, size=(30, 4)))
    pairs = Pairs(torch.arange(30), Links(index, 30), None, torch.full((30,), 1 / 30, dtype=torch.float64))
    K = Gaussian(0.4)._gram(X)
    points = SimpleContrastive(K, pairs, 2).solve()
    blocks = SimpleContrastive(K, pairs, 2, strict=True).solve()
    assert (points.route, blocks.route) == ("points", "blocks")
    np.testing.assert_allclose(points.eigenvalues.numpy(), blocks.eigenvalues.numpy(), rtol=1e-9)
    np.testing.assert_allclose(
        (K @ points.coefficients).abs().numpy(), (K @ blocks.coefficients).abs().numpy(), atol=1e-8
    )


def test_an_anchor_with_a_positive_twice() -> None:
    X, _ = triplets(6, 2, 0)
    few, many = Links(torch.tensor([[0, 1], [2, 2]]), 18), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(few.average(X).numpy(), (many.double() @ X[:3]).numpy())
