"""Kernels in estimators of scikit-learn, and as keys."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from rkhs._core.errors import InputError
from rkhs.kernels import FromModule, FromSklearn, Gaussian, Kernel, Linear, Matern, Polynomial, Tanimoto
from tests.contracts.kernel_examples import ALL, has_function, network

RNG = np.random.default_rng(0)
X, NEW = np.abs(RNG.normal(size=(20, 3))), np.abs(RNG.normal(size=(6, 3)))
y = X[:, 0] - X[:, 1]
FIXED = [Tanimoto(), Gaussian(0.3), Matern(1.5, 0.5) + Linear(), FromSklearn("cosine"), Linear(2.0, [0.1, 0.2, 0.3])]


@pytest.mark.parametrize("kernel", FIXED, ids=repr)
def test_estimators_of_scikit_learn_take_kernels_as_they_take_their_gram_matrices(kernel: Kernel) -> None:
    K, new = kernel(X), kernel(NEW, X)
    np.testing.assert_allclose(pairwise_kernels(X, metric=kernel), K, atol=1e-14)
    np.testing.assert_allclose(pairwise_kernels(NEW, X, metric=kernel), new, atol=1e-14)
    ridge = KernelRidge(0.1, kernel=kernel).fit(X, y).predict(NEW)
    np.testing.assert_allclose(ridge, KernelRidge(0.1, kernel="precomputed").fit(K, y).predict(new), atol=1e-10)
    machine = SVR(kernel=kernel, tol=1e-8).fit(X, y).predict(NEW)
    np.testing.assert_allclose(machine, SVR(kernel="precomputed", tol=1e-8).fit(K, y).predict(new), atol=1e-6)
    ours, theirs = KernelPCA(2, kernel=kernel), KernelPCA(2, kernel="precomputed")
    np.testing.assert_allclose(ours.fit(X).transform(NEW), theirs.fit(K).transform(new), atol=1e-6)
    features = Nystroem(kernel=kernel, n_components=20, random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-6)


def test_kernels_are_searched_by_scikit_learn() -> None:
    found = GridSearchCV(KernelRidge(0.1), {"kernel": [Gaussian(1e3), Linear()]}, cv=3).fit(X, y)
    assert found.best_params_["kernel"] == Linear()


def test_two_rows_are_one_number_and_need_a_kernel_of_numbers() -> None:
    assert Gaussian(0.5)(X[0], X[1]) == Gaussian(0.5)(X[:1], X[1:2])[0, 0]
    assert Gaussian(0.5)([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert torch.is_tensor(Gaussian(0.5)(torch.tensor(X[0]), torch.tensor(X[1])))
    for kernel in (Gaussian(), Polynomial(2), Gaussian() * Linear()):
        with pytest.raises(InputError, match=r"two single rows, as by scikit-learn's KernelRidge"):
            KernelRidge(kernel=kernel).fit(X, y)
    with pytest.raises(InputError, match="reads a 2-D array"):
        Gaussian(0.5)(X[0])


def test_gaussian_processes_of_scikit_learn_take_kernels_of_their_class_alone() -> None:
    with pytest.raises(ValueError, match=r"instance of 'sklearn.gaussian_process.kernels.Kernel'"):
        GaussianProcessRegressor(kernel=Gaussian(1.0)).fit(X, y)


@pytest.mark.parametrize("kernel", ALL)
def test_equal_kernels_are_one_key(kernel: Any) -> None:
    others = [copy.copy(kernel), clone(kernel)]
    if not has_function(kernel):
        others.append(pickle.loads(pickle.dumps(kernel)))
    for other in others:
        if other == kernel:  # scikit-learn clones a module to one that is equal
            assert hash(other) == hash(kernel)
            assert len({kernel, other}) == 1
    assert kernel in {kernel: 1}


def test_keys_follow_parameters() -> None:
    with torch.random.fork_rng():
        module = network()
    for one, other in [
        (Linear(offset=[1, 2]), Linear(offset=np.array([1.0, 2.0]))),
        (Linear(offset=(1, 2)), Linear(offset=torch.tensor([1.0, 2.0], dtype=torch.float64))),
        (Gaussian(1), Gaussian(1.0)),
        (FromSklearn("rbf", {"gamma": 1}), FromSklearn("rbf", {"gamma": 1.0})),
        (FromSklearn(RBF(2.0)), FromSklearn(RBF(2.0))),
        (FromModule(module), FromModule(copy.deepcopy(module))),
    ]:
        assert one == other
        assert hash(one) == hash(other)
    kernel = Gaussian(1.0)
    before = hash(kernel)
    assert hash(kernel.set_params(gamma=2.0)) == hash(Gaussian(2.0)) != before
    assert len({Gaussian(1.0), Gaussian(2.0), Matern(1.5, 1.0), Gaussian(1.0)}) == 3
