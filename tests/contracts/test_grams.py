"""One contract for every way to store a Gram matrix, against the dense matrix in plain NumPy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

from rkhs._core.linalg import center_gram
from rkhs.kernels import Gaussian, Linear
from rkhs.spaces import grams
from rkhs.spaces.grams import Blocked, Dense, Gram

N = 23


def features(rank: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(N, rank)))


MAKERS = {
    Dense: lambda F: Dense(F @ F.mT),
    Blocked: lambda F: Blocked(Linear(), F, max_bytes=8 * N * 5),
}


def test_every_public_storage_has_a_maker() -> None:
    classes = {c for n, c in vars(grams).items() if n in grams.__all__ and issubclass(c, grams.Gram)}
    assert {c for c in classes if not inspect.isabstract(c)} == set(MAKERS)


@pytest.fixture(params=[(cls, rank, seed) for cls in MAKERS for seed, rank in enumerate((3, N, 40))], ids=str)
def pair(request: pytest.FixtureRequest) -> tuple[Gram, torch.Tensor]:
    cls, rank, seed = request.param
    F = features(rank, seed)
    return MAKERS[cls](F), F @ F.mT


def test_products_and_diagonal(pair: tuple[Gram, torch.Tensor]) -> None:
    gram, K = pair
    V = torch.linspace(-1.0, 1.0, 2 * N, dtype=torch.float64).reshape(N, 2)
    torch.testing.assert_close(gram.matmul(V), K @ V)
    torch.testing.assert_close(gram.diag(), K.diagonal())
    torch.testing.assert_close(gram.dense(), K)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_leading_eigenpairs(pair: tuple[Gram, torch.Tensor], weighted: bool, center: bool) -> None:
    gram, K = pair
    w = torch.arange(1.0, N + 1.0, dtype=torch.float64) if weighted else torch.ones(N, dtype=torch.float64)
    w = w / w.sum()
    C = center_gram(K, w) if center else K
    S = w.sqrt()[:, None] * C * w.sqrt()[None, :]
    expected = torch.linalg.eigvalsh(S).flip(0)[:5]
    values, vectors = gram.top_eigenpairs(5, w if weighted else None, center=center)
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(vectors.mT @ vectors, torch.eye(5, dtype=torch.float64), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(S @ vectors, vectors * values, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_systems_of_a_matrix_of_codes_in_the_same_storage(pair: tuple[Gram, torch.Tensor], weighted: bool) -> None:
    gram, _ = pair
    Z, B = features(2, 5), features(3, 6)
    ridge = torch.linspace(0.5, 2.0, N, dtype=torch.float64) if weighted else 0.7
    kernel = gram.resolve(Gaussian("median"), Z, None)
    assert isinstance(kernel.gamma, float)
    other = gram.like(kernel, Z)
    assert type(other) is type(gram)
    K = torch.as_tensor(kernel(Z))
    torch.testing.assert_close(other.matmul(B), K @ B)
    system = K + torch.as_tensor(ridge, dtype=torch.float64) * torch.eye(N, dtype=torch.float64)
    torch.testing.assert_close(system @ other.solve(B, ridge), B, rtol=1e-8, atol=1e-8)
