# ruff: noqa: E501 (messages stand in one piece)
"""Operator-valued kernels against the Kronecker products that the library never builds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

import rkhs.kernels as kernels
from rkhs._core.codec import Decoder, Encoder
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Linear, OperatorKernel, OperatorSum, Precomputed, Separable
from tests.reference.kernels import operator_gram


def psd(seed: int, p: int = 3) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(p, 2))
    return A @ A.T


EXAMPLES: list[OperatorKernel] = [
    Separable(Gaussian()),
    Separable(Gaussian(0.5), psd(0)),
    Separable(Gaussian(), psd(0)) + Separable(Linear(), psd(1)) + Separable(Gaussian(), np.eye(3)),
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", EXAMPLES)
def test_kronecker_twin(kernel: OperatorKernel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y, Phi = (torch.from_numpy(rng.normal(size=s)) for s in [(7, 2), (4, 2), (7, 3)])
    k = kernel.resolve(X, size=3)
    As = [np.eye(3) if t.operator is None else t.operator for t in k.pairs]
    Ks, Cs = k.grams(X), k.grams(Y, X)
    v = Phi.numpy().reshape(-1)
    big = operator_gram([K.numpy() for K in Ks], As)
    assert np.linalg.eigvalsh(big)[0] > -1e-10
    np.testing.assert_allclose(k.apply(Ks, Phi).numpy().reshape(-1), big @ v, atol=1e-12)
    cross = operator_gram([K.numpy() for K in Cs], As)
    np.testing.assert_allclose(k.apply(Cs, Phi).numpy().reshape(-1), cross @ v, atol=1e-12)
    assert float(k.squared_norm(Ks, Phi)) == pytest.approx(v @ big @ v, rel=1e-12)


@pytest.mark.parametrize("kernel", EXAMPLES)
def test_configuration(kernel: OperatorKernel) -> None:
    X = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    k = kernel.resolve(X, size=3)
    assert k.resolve(X, size=3) is k
    assert clone(k) == k
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(Encoder(arrays).encode(k))
    back = Decoder(arrays, lambda name: getattr(kernels, name), 2**20).decode(json.loads(text))
    assert back == k
    again = k.with_operators([t.operator for t in k.pairs])
    assert again == k


def test_equal_kernels_share_one_gram_matrix() -> None:
    X = torch.ones(3, 1)
    first, second, third = (EXAMPLES[2].resolve(torch.arange(3.0)[:, None], size=3)).grams(X)
    assert first is third
    assert first is not second


def test_sums_and_names() -> None:
    kernel = Gaussian(1.0) + Separable(Linear(), "covariance")
    assert isinstance(kernel, OperatorSum)
    assert (Separable(Linear(), "covariance") + Gaussian(1.0)).pairs == kernel.pairs[::-1]
    X = torch.eye(2, dtype=torch.float64)
    k = kernel.resolve(X, size=2)
    with pytest.raises(InputError, match=r"^Separable.operator is 'covariance', a name"):
        k.apply(k.grams(X), X)
    done = k.with_operators([None, np.eye(2)])
    assert done.apply(done.grams(X), X).shape == (2, 2)
    assert done.read([[1, 2]]).shape == (1, 2)


X2 = torch.eye(2, dtype=torch.float64)
BAD: list[tuple[Any, str]] = [
    (lambda: Separable("rbf").resolve(X2), "Separable.kernel must be a kernel; got 'rbf'"),
    (lambda: Separable(Linear(), np.eye(3)).resolve(X2, size=2), "Separable.operator must have shape (2, 2); got (3, 3)"),
    (lambda: Separable(Linear(), -np.eye(2)).resolve(X2, size=2), "Separable.operator must be positive semi-definite; its smallest eigenvalue is -1"),
    (lambda: Separable(Linear(), [[1, 2], [0, 1]]).resolve(X2, size=2), "Separable.operator must be symmetric; got a matrix that is not. Pass (A + A.T) / 2 if that is meant"),
    (lambda: Separable(Linear(), np.eye(2) * np.nan).resolve(X2), "Separable.operator must be finite; got NaN or infinity"),
    (lambda: Separable(Linear(), 2.0).resolve(X2), "Separable.operator must have shape (1, 1); got ()"),
    (lambda: Separable(Linear(), np.eye(3)).apply([X2], X2), "Separable.operator must have shape (2, 2); got (3, 3)"),
    (lambda: Separable(Linear()).apply([X2, X2], X2), "Ks must hold 1 Gram matrices, one per term; got 2"),
    (lambda: Separable(Linear()).with_operators([]), "operators must hold one operator for a Separable kernel; got 0"),
    (lambda: (Separable(Linear()) + Linear()).with_operators([]), "operators must hold 2 operators, one per term; got 0"),
    (lambda: OperatorSum(()).pairs, "OperatorSum.terms must be a tuple of at least one Separable; got ()"),
    (lambda: OperatorSum((1,)).pairs, "OperatorSum.terms must be Separable kernels; got 1"),
    (lambda: (Separable(Linear()) + Precomputed()).domain, "OperatorSum mixes kernels on ['gram', 'vectors']; its terms must read the same data"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), BAD)
def test_exact_messages(call: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message
