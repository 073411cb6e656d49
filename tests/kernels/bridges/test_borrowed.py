"""Our kernels in scikit-learn, and theirs in ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor, kernels as gp
from sklearn.metrics import pairwise

from rkhs import KernelPCA
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs.kernels import (
    FromFunction,
    FromModule,
    FromSklearn,
    Gaussian,
    GaussianOf,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    ScaledInputs,
    Tanimoto,
    as_kernel,
)


def points(seed: int = 0, n: int = 12, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


# ---------------------------------------------------------------- Gaussian processes

PROCESSES = [
    (Gaussian(0.3), 1),
    (Laplacian("l1", 0.4), 1),
    (Laplacian("l2", 0.4), 1),
    (Matern(0.5, 0.6), 1),
    (Matern(2.5, 0.6), 1),
    (Linear(0.7), 1),
    (GaussianOf(Tanimoto(), 0.5), 1),
    (0.5 * Gaussian(0.3) + 2.0 * Linear(0.3), 4),
    (Gaussian(0.3) * Matern(1.5, 0.2) * Polynomial(2), 2),
    (0.3 * (Gaussian(0.2) + Laplacian("l1", 0.1)), 3),
    (ScaledInputs(Gaussian(0.3), (0.5, 1.0, 2.0)), 3),
    (ScaledInputs(Matern(0.5, 0.3), (0.5, 1.0, 2.0)) * (2.0 * ScaledInputs(Laplacian("l1", 0.2), (1.0, 0.3, 2.0))), 7),
    (ScaledInputs(Linear(0.3), (0.5, 1.0, 2.0)), 0),
    (Polynomial(2), 0),
]


@pytest.mark.parametrize(("kernel", "count"), PROCESSES, ids=lambda v: repr(v) if isinstance(v, Kernel) else "")
def test_gradients_by_hyperparameters(kernel: Kernel, count: int) -> None:
    X = points()
    kernel = kernel.resolve(torch.from_numpy(X))
    other = kernel.as_sklearn()
    assert other.n_dims == count == sum(h.n_elements for h in other.hyperparameters) == len(other.bounds)
    K, gradient = other(X, eval_gradient=True)
    np.testing.assert_allclose(K, kernel(X), rtol=1e-14)
    assert gradient.shape == (12, 12, count)
    for i in range(count):
        step = np.zeros(count)
        step[i] = 1e-5
        up, down = other.clone_with_theta(other.theta + step), other.clone_with_theta(other.theta - step)
        np.testing.assert_allclose(gradient[..., i], (up(X) - down(X)) / 2e-5, rtol=1e-6, atol=1e-8)
    assert as_kernel(other) == kernel
    np.testing.assert_allclose(other.diag(X), np.diag(kernel(X)), rtol=1e-12)


def test_a_process_finds_the_optimum_of_scikit_learns_kernel() -> None:
    X = points(1, 30, 1)
    y = np.sin(2.0 * X[:, 0])
    theirs = GaussianProcessRegressor(2.0 * gp.RBF(1.0), alpha=1e-4).fit(X, y)
    ours = GaussianProcessRegressor((2.0 * Gaussian(0.5)).as_sklearn(), alpha=1e-4).fit(X, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    assert as_kernel(ours.kernel_).base.gamma == pytest.approx(0.5 / theirs.kernel_.k2.length_scale**2, rel=1e-2)


def test_it_combines_with_scikit_learns_kernels() -> None:
    X = points(2, 25)
    y = X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=25)
    together = Gaussian().as_sklearn(X) + gp.WhiteKernel(0.1)
    model = GaussianProcessRegressor(together, n_restarts_optimizer=1, random_state=0).fit(X, y)
    assert model.log_marginal_likelihood_value_ > model.log_marginal_likelihood(together.theta)
    assert together.k1.is_stationary()
    assert not (Linear().as_sklearn()).is_stationary()
    assert clone(together) == together
    assert as_kernel(2.0 * Gaussian(0.3).as_sklearn()) == 2.0 * Gaussian(0.3)
    assert isinstance(as_kernel(together), FromSklearn)


HYPERPARAMETERS = [
    (Gaussian(0.3), ["gamma"], [0.3]),
    (GaussianOf(Tanimoto(), 0.5), ["gamma"], [0.5]),
    (Linear(0.7), ["scale"], [0.7]),
    (ScaledInputs(Gaussian(1.0), (0.5, 2.0)), ["scales"], [0.5, 2.0]),
    (2.0 * Matern(1.5, 0.4) + Laplacian("l2", 0.1), ["k1__k1__constant_value", "k1__k2__gamma", "k2__gamma"], None),
    (Polynomial(2, 1.0), [], []),
]


@pytest.mark.parametrize(("kernel", "names", "values"), HYPERPARAMETERS, ids=lambda v: repr(v))
def test_hyperparameters_are_parameters_as_scikit_learns_are(kernel: Kernel, names: list[str], values: Any) -> None:
    ours = kernel.as_sklearn(limits=(1e-3, 1e3))
    assert [h.name for h in ours.hyperparameters] == names
    values = np.array([2.0, 0.4, 0.1] if values is None else values)
    np.testing.assert_allclose(ours.theta, np.log(values), rtol=1e-15)
    assert set(names) | {f"{name}_bounds" for name in names} <= set(ours.get_params())
    np.testing.assert_array_equal(ours.bounds.ravel(), np.tile(np.log([1e-3, 1e3]), len(values)))
    for name in names:
        ours.set_params(**{name: np.multiply(2.0, ours.get_params()[name])})
    np.testing.assert_allclose(ours.theta, np.log(2.0 * values), rtol=1e-12)
    assert (ours == kernel.as_sklearn(limits=(1e-3, 1e3))) == (not names)
    assert clone(ours) == ours == ours.clone_with_theta(ours.theta)
    assert (ours == kernel.as_sklearn(limits="fixed")) == (not names)
    assert kernel.as_sklearn(limits="fixed").n_dims == 0


def test_columns_that_matter_get_the_larger_scale() -> None:
    X = points(1, 40, 2)
    start = ScaledInputs(Gaussian(0.5), (1.0, 1.0)).as_sklearn()
    learned = as_kernel(GaussianProcessRegressor(start, alpha=1e-6).fit(X, np.sin(X[:, 0]) + 0.02 * X[:, 1]).kernel_)
    assert learned.base == Gaussian(0.5)
    assert learned.scales[0] > 5.0 * learned.scales[1]


def test_single_precision_inputs_are_computed_in_double() -> None:
    X = points(1, 30, 2)
    y = np.sin(X[:, 0])
    kernel = Gaussian(0.5).as_sklearn()
    assert kernel(X.astype(np.float32)).dtype == kernel.diag(X.astype(np.float32)).dtype == np.float64
    single = GaussianProcessRegressor(kernel, optimizer=None).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), y, atol=1e-5)


def test_fixed_hyperparameters_and_objects() -> None:
    X = points(3, 20)
    fixed = Gaussian(0.4).as_sklearn(limits="fixed")
    assert fixed.n_dims == 0
    model = GaussianProcessClassifier(fixed).fit(X, X[:, 0] > 0)
    assert model.kernel_.kernel == Gaussian(0.4)
    letters = FromFunction(lambda x, y: float(len(set(x) & set(y)))).as_sklearn()
    words = ["kernel", "kennel", "matrix", "tricks"]
    process = GaussianProcessRegressor(letters, alpha=1e-3).fit(words, [0.0, 0.0, 1.0, 1.0])
    assert process.predict(["kern"])[0] < 0.5 < process.predict(["trim"])[0]


def test_bandwidths_must_be_numbers() -> None:
    with pytest.raises(InputError, match=r"Gaussian.gamma must be a number for a Gaussian process; got 'median'"):
        Gaussian().as_sklearn()
    with pytest.raises(InputError, match="has parameters that depend on data.*Pass the training data"):
        Normalized(Gaussian()).as_sklearn()(points())
    with pytest.raises(InputError, match="leave Y out"):
        Gaussian(1.0).as_sklearn()(points(), points(), eval_gradient=True)


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
    assert as_kernel(Gaussian(0.3).as_sklearn()) == Gaussian(0.3)


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
