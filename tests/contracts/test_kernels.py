"""What every kernel guarantees of its values; ``test_kernel_gradients.py`` holds what it guarantees of its gradients.

The examples are those of ``kernel_examples.py``; a public class without one fails here.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.svm import SVC

from rkhs._core.codec import Encoder
from rkhs._core.errors import InputError
from rkhs.kernels import (
    Gaussian,
    GaussianOf,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OperatorKernel,
    OperatorSum,
    Separable,
    Stationary,
    Sum,
    Tanimoto,
)
from rkhs.testing import check_kernel
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


@pytest.mark.parametrize("kernel", ALL)
def test_every_kernel_keeps_its_promises(kernel: Kernel) -> None:
    kept = set(check_kernel(kernel, items(kernel, 9)))
    assert {
        "bad parameters are refused by name",
        "gram is symmetric with its diagonal",
        "parameters are the object",
        "resolving gives numbers once",
        "results are new and items stay",
    } <= kept
    assert ("gram is positive semi definite" in kept) == kernel.known_psd
    assert ("pairs do not depend on the others" in kept) == (kernel.domain != "gram")
    assert len(kept) == 11 or not isinstance(kernel, (Stationary, Linear))
    assert not (isinstance(kernel, INDEFINITE) and kernel.known_psd)


@pytest.mark.sample(28)
@pytest.mark.parametrize("kernel", VECTORS)
def test_two_precisions_meet_in_the_larger(kernel: Kernel) -> None:
    X = items(kernel, 9).numpy()
    assert kernel(X, X.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", [p for p in ALL if has_function(p.values[0])])
def test_functions_are_not_stored(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="Python functions cannot be stored"):
        Encoder({}).encode(kernel.resolve(items(kernel, 8)))


@pytest.mark.parametrize(
    "kernel", [p for p in ALL if p.values[0].domain == "gram" and not isinstance(p.values[0], Sum)]
)
def test_rows_of_a_gram_matrix_need_no_support(kernel: Kernel) -> None:
    K = items(kernel, 8)
    k = kernel.resolve(K)
    assert torch.equal(k._gram(K), k._gram(K, K))


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


@pytest.mark.sample(8)
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
