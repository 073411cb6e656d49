"""Factors, eigenpairs, centring, signs: each against its definition."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from rkhs._core import linalg
from rkhs._core.eigen import positive_part, top_eigenpairs
from rkhs._core.errors import InputError, JitterWarning, NotPositiveSemidefiniteWarning
from rkhs._core.linalg import (
    Outer,
    center_gram,
    cholesky,
    column_means,
    factorize,
    fix_signs,
    polar,
    solve_smooth,
    symmetric_rows,
)
from rkhs.kernels import Gaussian, Laplacian
from rkhs.spaces.grams import Dense

SEEDS = [0, 1, 2]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def gram(n: int, r: int, seed: int = 0) -> torch.Tensor:
    A = normal(n, r, seed=seed)
    return A @ A.mT


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "r"), [(8, 20), (12, 5), (30, 1), (1, 1)])
def test_factor_of_any_rank(n: int, r: int, seed: int) -> None:
    K = gram(n, r, seed)
    factor = factorize(K)
    F = factor.matrix
    rank = min(n, r)
    assert F.shape == (n, rank)
    assert torch.allclose(F @ F.mT, K, atol=1e-10 * float(K.abs().max()))
    assert factor.residual < 1e-12
    assert torch.equal(factor.cholesky, torch.tril(factor.cholesky))
    V = normal(rank, 3, seed=seed + 1)
    C = factor.coefficients(V)
    assert torch.allclose(K @ C, F @ V, atol=1e-8 * float(K.abs().max()))
    outside = np.setdiff1d(np.arange(n), factor.pivots.numpy())
    assert bool((C[outside] == 0).all())
    assert torch.allclose(factor.solve(F @ V), V, atol=1e-7)


def test_factor_of_repeated_points_and_zero() -> None:
    X = normal(6, 9)[[0, 1, 2, 0, 1, 2, 3, 3]]
    K = X @ X.mT
    factor = factorize(K)
    assert factor.matrix.shape == (8, 4)
    assert torch.allclose(factor.matrix @ factor.matrix.mT, K, atol=1e-12 * float(K.max()))
    zero = factorize(torch.zeros(3, 3, dtype=torch.float64))
    assert zero.matrix.shape == (3, 0)
    assert zero.residual == 0.0


def test_factor_cut_reports_its_residual() -> None:
    Q = torch.linalg.qr(normal(20, 20)).Q
    K = (Q * torch.logspace(0, -8, 20, dtype=torch.float64)) @ Q.mT
    factor = factorize(K, tol=1e-4)
    F = factor.matrix
    assert 0 < F.shape[1] < 20
    assert factor.residual == pytest.approx(float((K - F @ F.mT).trace() / K.trace()), rel=1e-6)
    assert torch.linalg.eigvalsh(K - F @ F.mT)[0] > -1e-12


def test_factor_in_single_precision() -> None:
    K = gram(10, 4).float()
    F = factorize(K, tol=1e-5).matrix
    assert F.dtype == torch.float32
    assert F.shape == (10, 4)
    assert torch.allclose(F @ F.mT, K, atol=1e-4 * float(K.max()))


def test_cholesky_adds_nothing_to_a_definite_matrix() -> None:
    A = gram(6, 9)
    before = A.clone()
    L, jitter = cholesky(A, name="A")
    assert jitter == 0.0
    assert torch.allclose(L @ L.mT, A)
    assert torch.equal(A, before)
    _, kept = cholesky(A, name="A", jitter=1e-3)
    assert kept == 1e-3


def test_cholesky_escalates_and_says_so() -> None:
    A = torch.diag(torch.tensor([1.0, 1.0, -1e-14], dtype=torch.float64))
    with pytest.warns(JitterWarning, match=r"^the matrix is not positive definite; .* was added to its diagonal$"):
        L, jitter = cholesky(A, name="the matrix")
    eps = np.finfo(float).eps
    steps = [eps * 3 * (2 / 3) * 10.0**k for k in range(4)]
    assert any(jitter == pytest.approx(step, rel=1e-6) for step in steps)
    assert jitter > 1e-14
    assert torch.allclose(L @ L.mT, A + jitter * torch.eye(3, dtype=torch.float64), atol=1e-15)


def test_cholesky_gives_up_with_the_smallest_eigenvalue() -> None:
    A = torch.diag(torch.tensor([1.0, -0.5], dtype=torch.float64))
    with pytest.raises(InputError, match=r"^K must be positive definite; its smallest eigenvalue is -5\.00e-01 and"):
        cholesky(A, name="K")
    with pytest.raises(InputError, match="smallest eigenvalue is nan"):
        cholesky(A * torch.nan, name="K")


@pytest.mark.parametrize("seed", SEEDS)
def test_lanczos_and_dense_agree(seed: int) -> None:
    K = gram(450, 30, seed)
    values, vectors = top_eigenpairs(K, 5)
    everything, basis = torch.linalg.eigh(K)
    assert torch.allclose(values, everything[-5:].flip(0), rtol=1e-10)
    assert torch.allclose(vectors, fix_signs(basis[:, -5:].flip(1)), atol=1e-7)
    assert torch.allclose(vectors.mT @ vectors, torch.eye(5, dtype=torch.float64), atol=1e-10)
    again = top_eigenpairs(K, 5)
    assert torch.equal(again[1], vectors)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_top_eigenpairs_of_a_small_matrix(k: int) -> None:
    K = gram(7, 7)
    values, vectors = top_eigenpairs(K, k)
    assert torch.allclose(K @ vectors, vectors * values, atol=1e-10)
    assert bool((values.diff() <= 0).all())
    assert torch.equal(fix_signs(vectors), vectors)
    assert top_eigenpairs(K.float(), k)[0].dtype == torch.float32


def test_equal_eigenvalues() -> None:
    values, vectors = top_eigenpairs(torch.eye(420, dtype=torch.float64), 3)
    assert torch.allclose(values, torch.ones(3, dtype=torch.float64))
    assert torch.allclose(vectors.mT @ vectors, torch.eye(3, dtype=torch.float64), atol=1e-10)


def test_few_columns_solve_a_smooth_system_as_cholesky_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linalg, "_LARGE", 400)
    monkeypatch.setattr(linalg, "_ROWS", 100)
    X, B = torch.tanh(normal(500, 2)), normal(500, 7, seed=1)
    K = Gaussian(0.2)._gram(X)
    exact = torch.linalg.solve(K + 1e-3 * torch.eye(500).to(K), B)
    found = solve_smooth(K, B, 1e-3)
    assert found is not None
    assert (found - exact).norm() < 1e-8 * exact.norm()
    torch.testing.assert_close(Dense(K.clone()).solve(B, 1e-3), found, rtol=0.0, atol=0.0)
    assert solve_smooth(K, B, 1e-14) is None  # as small as what rounding leaves
    far = X.clone()
    far[1] += 100.0  # no row that is looked at is near it
    rough = Laplacian(gamma=9.0)._gram(X)  # all columns count
    for hard in (Gaussian(0.2)._gram(far), rough):
        assert solve_smooth(hard, B, 1e-3) is None
        exact = torch.linalg.solve(hard + 1e-3 * torch.eye(500).to(K), B)
        assert (Dense(hard.clone()).solve(B, 1e-3) - exact).norm() < 1e-8 * exact.norm()


def test_signs() -> None:
    U = torch.tensor([[0.1, -0.5, 0.0], [-0.9, 0.5, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[-0.1, 0.5, 0.0], [0.9, -0.5, 0.0]], dtype=torch.float64)
    assert torch.equal(fix_signs(U), expected)
    assert torch.equal(fix_signs(-U), expected)
    noisy = U * (1 + 1e-9 * normal(2, 3))
    assert torch.allclose(fix_signs(noisy), expected, atol=1e-8)
    assert fix_signs(U[:, :0]).shape == (2, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_centring(seed: int) -> None:
    K = gram(6, 3, seed)
    before = K.clone()
    n = len(K)
    w = normal(n, seed=seed).abs()
    w /= w.sum()
    for weights, row in ((None, torch.full((n,), 1 / n, dtype=torch.float64)), (w, w)):
        C = torch.eye(n, dtype=torch.float64) - torch.outer(torch.ones(n, dtype=torch.float64), row)
        assert torch.allclose(center_gram(K, weights), C @ K @ C.mT, atol=1e-12)
    assert torch.equal(K, before)


def test_polar_is_the_nearest_orthonormal_matrix() -> None:
    Y = normal(7, 3)
    Q = polar(Y)
    assert torch.allclose(Q.mT @ Q, torch.eye(3, dtype=torch.float64), atol=1e-13)
    H = Q.mT @ Y  # Y = Q H with H symmetric psd
    assert torch.allclose(H, H.mT, atol=1e-12)
    assert float(torch.linalg.eigvalsh(H)[0]) > 0
    for seed in SEEDS:
        other = torch.linalg.qr(normal(7, 3, seed=seed)).Q
        assert float((Y - Q).norm()) <= float((Y - other).norm())


def test_rows_of_a_symmetrised_matrix() -> None:
    left, right = normal(9, 2), normal(9, 2, seed=1)
    for S in (Outer(left, right), Outer(left, left), left @ right.mT):
        dense = S.dense() if isinstance(S, Outer) else S
        assert torch.allclose(symmetric_rows(S, 2, 6), (dense + dense.mT)[2:6], atol=1e-13)


def test_means_of_numbers_near_the_largest() -> None:
    X = torch.tensor([[1e308, 1.0], [1.2e308, 2.0]], dtype=torch.float64)
    assert torch.allclose(column_means(X), torch.tensor([1.1e308, 1.5], dtype=torch.float64), rtol=1e-15)
    for value in (1.1e308, 1.7e300, 0.3):
        constant = torch.full((11, 2), value, dtype=torch.float64)
        if value > 1.0:
            assert torch.equal(column_means(constant), constant[0])
        assert torch.allclose(column_means(constant[:1].expand(11, 2)), constant[0], rtol=1e-15)
    assert column_means(X[:0]).shape == (2,)
    assert column_means(X[:, :0]).shape == (0,)


def test_a_distance_in_place_of_a_kernel_is_asked_for() -> None:
    x = torch.linspace(0.0, 1.0, 9, dtype=torch.float64)
    d = (x[:, None] - x).abs()
    with pytest.warns(
        NotPositiveSemidefiniteWarning, match=r"is it a distance d\? A kernel is exp\(-d\), or -d\*\*2 / 2"
    ):
        positive_part(d, name="K")
    with pytest.raises(InputError, match="must have a positive eigenvalue.*is it a distance d"):
        positive_part(-torch.eye(3, dtype=torch.float64) * 2.0 - 1.0, name="K")
    with pytest.warns(NotPositiveSemidefiniteWarning, match="set to zero$"):
        positive_part(1.0 - d + d.square() / 3.0 - 0.4 * (d > 0.5), name="K")
    for K in (torch.exp(-d), -0.5 * (d**2 - (d**2).mean(0) - (d**2).mean(1, keepdim=True) + (d**2).mean())):
        assert positive_part(K, name="K") is K  # what the message advises


def test_positive_part() -> None:
    K = gram(6, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert positive_part(K, name="K") is K
    D = torch.diag(torch.tensor([2.0, 1.0, -0.5], dtype=torch.float64))
    with pytest.warns(NotPositiveSemidefiniteWarning, match=r"^K is not positive semi-definite: .* -2\.50e-01 times"):
        clipped = positive_part(D, name="K")
    assert torch.allclose(clipped, D.clamp_min(0.0), atol=1e-14)
    with pytest.warns(NotPositiveSemidefiniteWarning, match=r"-1\.00e-06 times"):
        positive_part(torch.diag(torch.tensor([1.0, -1e-6], dtype=torch.float64)), name="K")
