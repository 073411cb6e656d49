"""Our kernels in scikit-learn, and theirs in ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from rkhs import KernelPCA
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs.kernels import (
    FromModule,
    FromSklearn,
    Gaussian,
    as_kernel,
)


def points(seed: int = 0, n: int = 12, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


# ---------------------------------------------------------------- Gaussian processes


# ---------------------------------------------------------------- scikit-learn's kernels


@pytest.mark.parametrize("name", sorted(pairwise.PAIRWISE_KERNEL_FUNCTIONS))
def test_pairwise_kernels_by_name_and_as_functions(name: str) -> None:
    X, Y = np.abs(points()), np.abs(points(1, 5))
    expected = pairwise.pairwise_kernels(X, Y, metric=name)
    np.testing.assert_allclose(FromSklearn(name)(X, Y), expected, rtol=1e-12)
    function = pairwise.PAIRWISE_KERNEL_FUNCTIONS[name]
    assert isinstance(as_kernel(function), FromSklearn)
    np.testing.assert_allclose(as_kernel(function)(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(FromSklearn(name).diag(X), np.diag(FromSklearn(name)(X)), rtol=1e-9, atol=1e-12)
    smallest = np.linalg.eigvalsh(FromSklearn(name)(X))[0]
    assert not FromSklearn(name).known_psd or smallest > -1e-10


def test_process_kernels_come_in_and_go_back() -> None:
    X = points()
    periodic = gp.ExpSineSquared(1.0, 2.0)
    kernel = as_kernel(periodic)
    assert isinstance(kernel, FromSklearn)
    np.testing.assert_allclose(kernel(X), periodic(X), rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (FromSklearn("gaussian"), r"FromSklearn.kernel must be one of additive_chi2, .*; got 'gaussian'"),
        (FromSklearn(3), r"must be a name or a kernel of scikit-learn's Gaussian processes; got 3"),
        (FromSklearn("rbf", 3), r"FromSklearn.params must be a dict or None; got 3"),
        (FromSklearn("rbf", {"degree": 3}), r"scikit-learn's kernel 'rbf' refuses: "),
        (FromSklearn("chi2"), r"scikit-learn's kernel 'chi2' refuses: .*negative"),
        (FromSklearn(gp.RBF(), {"gamma": 1.0}), r"set those of an object on the object"),
        (FromModule("net"), r"FromModule.module must be a torch.nn.Module; got str"),
        (FromModule(torch.nn.Identity(), "rbf"), r"FromModule.base must be a kernel on vectors; got 'rbf'"),
        (FromModule(torch.nn.Identity(), None, (2, 2)), r"FromModule.input_shape must hold .* a row, 3; got \(2, 2\)"),
        (FromModule(torch.nn.Unflatten(1, (3, 1))), r"features of shape \(12, p\); got \(12, 3, 1\). Flatten them"),
    ],
)
def test_what_is_refused(kernel: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel(points())


# ---------------------------------------------------------------- torch modules


@pytest.fixture(autouse=True)
def _weights_from_a_seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def test_a_deep_kernel_is_the_base_kernel_of_the_features() -> None:
    X = points(0, 9, 16)
    convolution = torch.nn.Conv2d(1, 2, 3).double()
    module = torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(2).double(), torch.nn.Flatten())
    kernel = FromModule(module, Gaussian(0.3), (1, 4, 4))
    before = {name: value.clone() for name, value in module.state_dict().items()}
    K = kernel(X)
    module.eval()
    with torch.no_grad():
        features = module(torch.from_numpy(X).reshape(9, 1, 4, 4)).numpy()
    np.testing.assert_allclose(K, Gaussian(0.3)(features), rtol=1e-12)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    single = FromModule(torch.nn.Linear(16, 2))
    assert single(X).dtype == np.float64
    assert single.differentiable


def test_modules_keep_their_mode_and_equal_weights_make_equal_kernels() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout())
    module[1].eval()
    kernel = FromModule(module)
    np.testing.assert_array_equal(kernel(points()), kernel(points()))
    assert module.training
    assert module[0].training
    assert not module[1].training
    assert clone(kernel) == kernel
    other = clone(kernel)
    with torch.no_grad():
        other.module[0].bias += 1.0
    assert other != kernel


def test_a_fit_warns_of_rounding_of_scikit_learn_far_from_the_origin() -> None:
    far = 1e12 + np.random.default_rng(0).normal(size=(12, 1)) * 100.0
    with pytest.warns(NotPositiveSemidefiniteWarning, match="eigenvalue"):
        KernelPCA(2, kernel=FromSklearn("rbf", {"gamma": 0.3})).fit(far)
