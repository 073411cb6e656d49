"""Kernels against implementations that we did not write, slow twins, and the identities between them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from rkhs._core.errors import InputError
from rkhs.kernels import (
    NTK,
    ArcCosine,
    Gaussian,
    GaussianOf,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Normalized,
    Polynomial,
    Precomputed,
    Tanimoto,
    kernel_from_name,
)
from tests.reference import kernels as naive

SEEDS = [0, 1, 2]


def points(seed: int, n: int = 11, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n - 3, d))


@pytest.mark.parametrize("seed", SEEDS)
def test_scikit_learn_agrees(seed: int) -> None:
    X, Y = points(seed)
    pairs = [
        (Gaussian(0.3), pairwise.rbf_kernel(X, Y, gamma=0.3)),
        (Laplacian("l1", 0.4), pairwise.laplacian_kernel(X, Y, gamma=0.4)),
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Polynomial(3, 0.7, 1.5), pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.7, coef0=1.5)),
        *((Matern(nu, 0.6), gp.Matern(length_scale=1 / 0.6, nu=nu)(X, Y)) for nu in (0.5, 1.5, 2.5)),
    ]
    for kernel, expected in pairs:
        np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-10, atol=1e-13, err_msg=repr(kernel))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_gpytorch_agrees(nu: float) -> None:
    gpytorch = pytest.importorskip("gpytorch")
    X, Y = (torch.from_numpy(v) for v in points(0))
    other = gpytorch.kernels.MaternKernel(nu=nu).double()
    other.lengthscale = 1 / 0.6
    with torch.no_grad():
        expected = other(X, Y).to_dense()
    assert torch.allclose(Matern(nu, 0.6)(X, Y), expected, rtol=1e-6)  # its length scale passes through a softplus


def test_rdkit_agrees() -> None:
    chem = pytest.importorskip("rdkit.DataStructs")
    rng = np.random.default_rng(0)
    X = (rng.random((12, 64)) < 0.2).astype(np.uint8)
    prints = []
    for row in X:
        fingerprint = chem.ExplicitBitVect(64)
        fingerprint.SetBitsFromList([int(i) for i in np.flatnonzero(row)])
        prints.append(fingerprint)
    expected = np.array([chem.BulkTanimotoSimilarity(p, prints) for p in prints])
    np.testing.assert_allclose(Tanimoto()(X), expected, atol=1e-14)
    np.testing.assert_allclose(MinMax()(X), expected, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_slow_twins_agree(seed: int) -> None:
    X, Y = points(seed)
    X[2] = 0.0
    Y[1] = 0.0
    for depth in (1, 2, 5):
        for order in (0, 1):
            expected = naive.pairwise(naive.arc_cosine(order, depth), X, Y)
            np.testing.assert_allclose(ArcCosine(order, depth)(X, Y), expected, atol=1e-12)
        np.testing.assert_allclose(NTK(depth)(X, Y), naive.pairwise(naive.ntk(depth), X, Y), atol=1e-12)
    biased = [np.column_stack([V, np.ones(len(V))]) for V in (X, Y)]
    np.testing.assert_allclose(NTK(2, bias=True)(X, Y), NTK(2)(*biased), atol=1e-12)
    np.testing.assert_allclose(ArcCosine(1, 2, bias=True)(X, Y), ArcCosine(1, 2)(*biased), atol=1e-12)
    np.testing.assert_allclose(Tanimoto()(X, Y), naive.pairwise(naive.tanimoto, X, Y), atol=1e-12)
    A, B = np.abs(X), np.abs(Y)
    np.testing.assert_allclose(MinMax()(A, B), naive.pairwise(naive.min_max, A, B), atol=1e-12)


def test_neural_kernels_are_expectations() -> None:
    rng = np.random.default_rng(0)
    X, Y = points(0, n=6, d=3)
    W = rng.normal(size=(400_000, 3))
    relu, step = (lambda T: np.maximum(T, 0.0)), (lambda T: (T > 0.0).astype(float))
    first = 2.0 * relu(X @ W.T) @ relu(Y @ W.T).T / len(W)
    zeroth = 2.0 * step(X @ W.T) @ step(Y @ W.T).T / len(W)
    np.testing.assert_allclose(ArcCosine(1)(X, Y), first, atol=0.05)
    np.testing.assert_allclose(ArcCosine(0)(X, Y), zeroth, atol=0.01)
    # The tangent kernel: gradients with respect to both layers of sum_j a_j relu(w_j . x).
    np.testing.assert_allclose(NTK(1)(X, Y), first + zeroth * (X @ Y.T), atol=0.1)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rectifier_kernels_on_the_diagonal(depth: int) -> None:
    X, Y = points(3)
    norms = (X**2).sum(1)
    np.testing.assert_allclose(np.diag(ArcCosine(1, depth)(X)), norms, rtol=1e-12)
    np.testing.assert_allclose(np.diag(NTK(depth)(X)), (depth + 1) * norms, rtol=1e-12)
    for kernel in (ArcCosine(1, depth), NTK(depth)):
        np.testing.assert_allclose(kernel(3.0 * X, 0.5 * Y), 1.5 * kernel(X, Y), rtol=1e-10)
    S = torch.eye(len(X), dtype=torch.float64)
    T = torch.from_numpy(X)
    expected = 2.0 * (depth + 1) * T
    assert torch.allclose(NTK(depth).pullback(T, S), expected, rtol=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-9, 1e-6, 1e-3])
def test_tangent_gradient_stays_bounded_near_coincident_points(gap: float) -> None:
    x = torch.tensor([[1.0, 2.0, -1.0]], dtype=torch.float64)
    side = torch.tensor([[2.0, -1.0, 0.0]], dtype=torch.float64)
    for scale in (1.0, -1.0):
        y = scale * x + gap * side
        G = NTK(1).cross_pullback(x, y, torch.ones(1, 1, dtype=torch.float64))
        assert float(G.norm()) <= 5.0 * float(y.norm())
    y = x + 1e-3 * side
    one = torch.ones(1, 1, dtype=torch.float64)
    G = NTK(1).cross_pullback(x, y, one)
    # 2 kappa_0 v + (u / pi) |y| v / |v| + |y| / |x| kappa x, written out
    a, b = x.norm(), y.norm()
    u = float((x @ y.mT) / (a * b))
    v = y - u * b / a * x
    k0 = (np.pi - np.arccos(u)) / np.pi
    k = u * k0 + (u * (np.pi - np.arccos(u)) + np.sqrt(1 - u * u)) / np.pi
    assert torch.allclose(G, b / a * k * x + 2 * k0 * v + u / np.pi * b * v / v.norm(), rtol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_identities_between_kernels(seed: int) -> None:
    X, Y = points(seed)
    np.testing.assert_allclose(GaussianOf(Linear(), 0.3)(X, Y), Gaussian(0.3)(X, Y), atol=1e-13)
    np.testing.assert_allclose(GaussianOf(Linear())(X), Gaussian()(X), atol=1e-10)
    np.testing.assert_allclose(GaussianOf(Precomputed(), 0.3)(X @ X.T), Gaussian(0.3)(X), atol=1e-13)
    np.testing.assert_allclose(Matern(0.5, 0.7)(X, Y), Laplacian("l2", 0.7)(X, Y), atol=1e-14)
    np.testing.assert_allclose(Laplacian("l1", 0.7)(X[:, :1]), Laplacian("l2", 0.7)(X[:, :1]), atol=1e-7)
    np.testing.assert_allclose(Normalized(Gaussian(0.3))(X, Y), Gaussian(0.3)(X, Y), atol=1e-14)
    np.testing.assert_allclose(GaussianOf(Tanimoto(), 0.72)(X, Y), np.exp(-1.44 * (1 - Tanimoto()(X, Y))), atol=1e-13)
    np.testing.assert_allclose((Linear() * Linear())(X, Y), Polynomial(2, 1.0, 0.0)(X, Y), rtol=1e-10, atol=1e-13)


def test_precomputed_works_at_new_points() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(9, 3)), rng.normal(size=(9, 3))  # as many new items as training items
    K, rows = torch.from_numpy(A @ A.T), torch.from_numpy(B @ A.T)
    kernel = Precomputed().resolve(K)
    assert repr(kernel) == f"Precomputed(train_diag=<{len(K)} numbers>)"
    assert repr(Precomputed(1.0, np.ones(3))) == "Precomputed(new_diag=1.0, train_diag=<3 numbers>)"
    np.testing.assert_array_equal(kernel._gram(K), K)
    np.testing.assert_array_equal(kernel._gram(rows, K), rows)
    np.testing.assert_array_equal(kernel._diag(K), K.diagonal())
    with pytest.raises(InputError, match=r"Precomputed\(new_diag=\.\.\.\)"):
        kernel._diag(rows)
    B *= 1.7 / np.linalg.norm(B, axis=1, keepdims=True)
    rows = torch.from_numpy(B @ A.T)
    expected = Gaussian(0.3)(B, A)
    gaussian = GaussianOf(Precomputed(new_diag=1.7**2), 0.3).resolve(K)
    np.testing.assert_allclose(gaussian._gram(rows, K), expected, atol=1e-12)
    np.testing.assert_allclose(gaussian._gram(rows), expected, atol=1e-12)
    np.testing.assert_allclose(Normalized(Precomputed(new_diag=1.7**2)).resolve(K)._gram(rows),
                               B @ A.T / 1.7 / np.linalg.norm(A, axis=1), atol=1e-12)  # fmt: skip


def test_zero_vectors() -> None:
    Z = np.zeros((2, 3))
    Z[1, 0] = 1.0
    np.testing.assert_array_equal(Tanimoto()(Z), np.eye(2))
    np.testing.assert_array_equal(MinMax()(Z), np.eye(2))
    np.testing.assert_array_equal(NTK(1)(Z), np.diag([0.0, 2.0]))
    np.testing.assert_array_equal(ArcCosine(0)(Z), np.diag([0.0, 1.0]))
    np.testing.assert_array_equal(Normalized(Linear())(Z), np.diag([0.0, 1.0]))
    S = torch.ones(2, 2, dtype=torch.float64)
    for kernel in (NTK(2), ArcCosine(), Normalized(Linear())):
        G = kernel.pullback(torch.from_numpy(Z), S)
        assert bool((G[0] == 0).all())
        assert bool(torch.isfinite(G).all())
    # Away from the other zero vectors Tanimoto has a slope at zero: k(x, y) = x.y / |y|^2 to first order.
    G = Tanimoto().pullback(torch.from_numpy(Z), S)
    np.testing.assert_allclose(G.numpy(), [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_tanimoto_does_not_overflow(scale: float) -> None:
    X = points(0)[0]
    np.testing.assert_allclose(Tanimoto()(X * scale), Tanimoto()(X), rtol=1e-9)


def test_min_max_is_not_psd_on_negative_numbers() -> None:
    """The reason for the refusal: the formula itself is indefinite there."""
    rng = np.random.default_rng(0)
    smallest = min(
        np.linalg.eigvalsh(naive.pairwise(naive.min_max, *(2 * [rng.normal(size=(6, 3))])))[0] for _ in range(50)
    )
    assert smallest < -0.1


def test_cosine_is_that_of_scikit_learn() -> None:
    X = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(kernel_from_name("cosine")(X, X[:2]), pairwise.cosine_similarity(X, X[:2]), atol=1e-14)


def test_a_training_matrix_is_symmetric_to_the_last_bit() -> None:
    data = 3e3 * np.random.default_rng(8).normal(size=(300, 70))
    for kernel in (Gaussian(2e-8), Matern(1.5, 1e-6)):
        K = kernel(data)
        assert (K == K.T).all()


def test_tanimoto_of_rows_far_apart_in_size_does_not_depend_on_the_batch() -> None:
    sizes = np.array([1.0, 1e-200, 3e-200, 0.0, 1e308, 1e12, 2e307])
    data = sizes[:, None] * np.abs(np.random.default_rng(9).normal(size=(7, 4))).clip(0.1, 1.0)
    whole = Tanimoto()(data)
    alone = np.block([[Tanimoto()(data[i : i + 1], data[j : j + 1]) for j in range(7)] for i in range(7)])
    np.testing.assert_allclose(whole, alone, rtol=1e-13, atol=0.0)
    one, other = data[1] * 1e200, data[2] * 1e200
    np.testing.assert_allclose(whole[1, 2], one @ other / (one @ one + other @ other - one @ other), rtol=1e-13)
    assert whole[3].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
