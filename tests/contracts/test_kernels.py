"""What every kernel promises of its values; ``test_kernel_gradients.py`` holds what it promises of its gradients.

The examples are those of ``kernel_examples.py``; a public class without one fails here.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.svm import SVC

import rkhs.kernels as kernels
from rkhs._core.codec import decode, encode
from rkhs._core.errors import InputError
from rkhs.kernels import (
    Gaussian,
    GaussianOf,
    Kernel,
    Laplacian,
    Matern,
    OperatorKernel,
    OperatorSum,
    Separable,
    Stationary,
    Sum,
    Tanimoto,
)
from tests.contracts.kernel_examples import (
    ALL,
    EXAMPLES,
    INDEFINITE,
    STATIONARY,
    VECTORS,
    has_function,
    items,
    public_classes,
)


def test_every_public_class_has_examples() -> None:
    assert set(EXAMPLES) == public_classes(Kernel)
    assert all(type(k) is c for c, ks in EXAMPLES.items() for k in ks)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", ALL)
def test_gram_is_symmetric_psd_with_its_diagonal(kernel: Kernel, seed: int) -> None:
    X = items(kernel, 25, seed)
    k = kernel.resolve(X)
    K = k._gram(X)
    scale = float(K.abs().max())
    assert torch.allclose(K, K.mT, rtol=0, atol=1e-12 * scale)
    assert torch.allclose(K.diagonal(), k._diag(X), rtol=1e-11, atol=1e-12 * scale)
    if not isinstance(kernel, INDEFINITE):
        assert float(torch.linalg.eigvalsh(K)[0]) >= -1e-10 * 25 * scale
    else:
        assert not k.known_psd


@pytest.mark.parametrize("kernel", ALL)
def test_cross_gram_agrees_with_gram(kernel: Kernel) -> None:
    X = items(kernel, 20)
    k = kernel.resolve(X)
    K = k._gram(X)
    scale = float(K.abs().max())
    assert torch.allclose(k._gram(X, X), K, rtol=0, atol=3e-8 * scale)  # arc cosines near 1 lose half of the digits
    off = ~torch.eye(20, dtype=torch.bool)[:7]
    assert torch.allclose(k._gram(X[:7], X)[off], K[:7][off], rtol=0, atol=1e-11 * scale)
    if kernel.domain != "gram":
        assert torch.allclose(k._gram(X[3:12], X[:5]), k._gram(X[:5], X[3:12]).mT, rtol=0, atol=1e-11 * scale + 3e-8)
    elif not isinstance(kernel, Sum):  # rows of a Gram matrix need no support
        assert torch.equal(k._gram(X), k._gram(X, X))


@pytest.mark.parametrize("kernel", ALL)
def test_the_result_is_new_and_inputs_stay(kernel: Kernel) -> None:
    X = items(kernel, 6)
    before = X.clone() if isinstance(X, torch.Tensor) else list(X)
    k = kernel.resolve(X)
    k._gram(X).zero_()
    k._diag(X).zero_()
    assert torch.equal(X, before) if isinstance(X, torch.Tensor) else before == X


@pytest.mark.parametrize("kernel", ALL)
def test_one_item_and_duplicates(kernel: Kernel) -> None:
    one = items(kernel, 1)
    assert kernel(one).shape == (1, 1)
    assert bool(torch.isfinite(torch.as_tensor(kernel(one))).all())
    X = items(kernel, 6)
    if kernel.domain == "gram":
        index = torch.tensor([0, 0, 0, 0, 1, 2])
        X = X[index][:, index]
    elif isinstance(X, torch.Tensor):
        X = X[[0, 0, 0, 0, 1, 2]]
    else:
        X = [X[0]] * 4 + X[1:3]
    K = torch.as_tensor(kernel(X))
    assert bool(torch.isfinite(K).all())
    if not isinstance(kernel, INDEFINITE):
        assert float(torch.linalg.eigvalsh(K)[0]) >= -1e-9 * float(K.abs().max() + 1)
    if kernel.differentiable:
        S = torch.ones(6, 6, dtype=torch.float64)
        assert bool(torch.isfinite(kernel.resolve(X).pullback(X, S)).all())


@pytest.mark.parametrize("kernel", VECTORS)
def test_containers_and_precision(kernel: Kernel) -> None:
    X = items(kernel, 9)
    exact = kernel(X)
    assert isinstance(exact, torch.Tensor)
    array = kernel(X.numpy())
    assert isinstance(array, np.ndarray)
    np.testing.assert_allclose(array, exact.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X.numpy().tolist()), array, rtol=1e-12, atol=1e-14)
    single = kernel(X.to(torch.float32))
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, rtol=2e-3, atol=2e-4 * float(exact.abs().max()))
    diagonal = kernel.diag(X.numpy())
    assert isinstance(diagonal, np.ndarray)
    np.testing.assert_allclose(diagonal, np.diag(array), rtol=1e-11, atol=1e-12)
    mixed = kernel(X.numpy(), X.numpy().astype(np.float32))
    assert mixed.dtype == np.float64


@pytest.mark.parametrize("kernel", ALL)
def test_clone_parameters_and_equality(kernel: Kernel) -> None:
    twin = clone(kernel)
    assert twin == kernel
    assert type(kernel)(**kernel.get_params(deep=False)) == kernel
    assert kernel != Gaussian(123.0)
    assert repr(kernel)


@pytest.mark.parametrize("kernel", ALL)
def test_resolving_twice_changes_nothing(kernel: Kernel) -> None:
    X = items(kernel, 8)
    k = kernel.resolve(X)
    again = k.resolve(X)
    assert again is k
    assert "median" not in repr(k)


@pytest.mark.parametrize("kernel", ALL)
def test_resolved_kernels_survive_json(kernel: Kernel) -> None:
    X = items(kernel, 8)
    k = kernel.resolve(X)
    arrays: dict[str, np.ndarray] = {}
    if has_function(kernel):
        with pytest.raises(InputError, match="Python functions cannot be stored"):
            encode(k, arrays)
        return
    text = json.dumps(encode(k, arrays))
    back = decode(json.loads(text), arrays, lambda name: getattr(kernels, name))
    assert back == k
    assert torch.equal(back._gram(X, X), k._gram(X, X))


# ---------------------------------------------------------------- stationary kernels


@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_huge_offset_changes_nothing(kernel: Stationary) -> None:
    X = (items(kernel, 30) * 64).round() / 64  # exact in float64 after the shift
    near, far = kernel(X), kernel(X + 2.0**20)
    assert torch.allclose(near, far, rtol=0, atol=1e-12)
    k = kernel.resolve(X)
    S = torch.ones(30, 30, dtype=torch.float64)
    assert torch.allclose(k.pullback(X, S), k.pullback(X + 2.0**20, S), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(1.5), Gaussian("scale"), GaussianOf(Tanimoto())])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_are_repeated_rows(kernel: Kernel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = items(kernel, 12, seed)
    counts = rng.integers(0, 4, size=12)
    counts[0] = 1
    w = torch.from_numpy(counts / counts.sum())
    repeated = X[torch.from_numpy(np.repeat(np.arange(12), counts))]
    assert kernel.resolve(X, w).gamma == pytest.approx(kernel.resolve(repeated).gamma, rel=1e-10)


@pytest.mark.parametrize("kernel", [p for p in VECTORS if p.id not in ("FromFunction1", "FromFunction2")])
def test_support_vector_machine_takes_it(kernel: Kernel) -> None:
    X = items(kernel, 40).numpy()
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    machine = SVC(kernel=kernel, C=10.0).fit(X, y)
    k = kernel.resolve(torch.from_numpy(X))
    twin = SVC(kernel="precomputed", C=10.0).fit(k(X), y)
    np.testing.assert_array_equal(machine.predict(X[:9]), twin.predict(k(X[:9], X)))


# ---------------------------------------------------------------- operator-valued kernels


def test_every_operator_kernel_is_tested() -> None:
    assert public_classes(OperatorKernel) == {Separable, OperatorSum}
