"""Robust kernel PCA: the squared loss is kernel PCA, primal and dual meet, and outliers and small codes are ignored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from rkhs import KernelPCA
from rkhs._core.errors import CollapseWarning, InputError
from rkhs._core.linalg import factorize, polar
from rkhs.estimators.components.robust import linearised
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Loss, MaximumMargin, Squared, SquaredEpsilonInsensitive
from rkhs.problems.robust_pca import RobustPCA


def problem(loss: Loss, seed: int = 0) -> tuple[RobustPCA, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    K = Gaussian(0.3)._gram(torch.as_tensor(rng.standard_normal((30, 3))))
    F = factorize(K).matrix
    return RobustPCA(F, loss), K, polar(torch.as_tensor(rng.standard_normal((F.shape[1], 2))))


def test_squared_loss_is_kernel_pca() -> None:
    made, K, start = problem(Squared())
    solution = linearised(made, start, 1e-13, 20000)
    assert solution.value == pytest.approx(-0.5 * float(torch.linalg.eigvalsh(K)[-2:].sum()), rel=1e-9)


@pytest.mark.parametrize("loss", [Huber(0.3), SquaredEpsilonInsensitive(0.2), EpsilonInsensitive(0.3)], ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_primal_is_dual_at_the_solution(loss: Loss, seed: int) -> None:
    made, K, start = problem(loss, seed)
    solution = linearised(made, start, 1e-9, 20000)
    assert solution.converged
    H = made.dual_variable(solution.point)
    nuclear = float(torch.linalg.svdvals(made.factor.mT @ H).sum())
    dual = float(made.w @ loss.conjugate(H / made.w[:, None])) - nuclear
    assert dual == pytest.approx(solution.value, rel=1e-5)
    Z = made.factor @ solution.point
    torch.testing.assert_close(K @ made.coefficients(solution.point), Z, rtol=1e-3, atol=1e-3)
    values = [row["value"] for row in solution.history]
    assert all(b <= a + 1e-12 for a, b in pairwise(values))


def test_uncut_huber_is_kernel_pca_and_new_items_get_the_codes_of_the_training_items() -> None:
    X = np.random.default_rng(2).standard_normal((25, 3))
    plain, robust = KernelPCA().fit(X), KernelPCA(loss=Huber(10.0)).fit(X)
    np.testing.assert_allclose(robust.codes_, plain.codes_, rtol=1e-6, atol=1e-8)
    assert robust.objective_ == pytest.approx(-0.5 * plain.explained_variance_.sum())
    cut = KernelPCA(loss=Huber(0.2)).fit(X)
    np.testing.assert_allclose(cut.transform(X), cut.codes_, rtol=1e-8, atol=1e-9)
    assert cut.stationarity_ <= 1e-9


def test_outliers_turn_the_robust_components_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) * [2.0, 0.3, 0.3]
    X[:4, 1] += 10.0

    def slant(model: KernelPCA) -> float:
        return abs(float(model.fit(X).transform(np.eye(3) + 0.0)[1, 0] - model.transform(np.zeros((1, 3)))[0, 0]))

    assert slant(KernelPCA(1, kernel="linear", center=False)) > 0.9
    assert slant(KernelPCA(1, kernel="linear", center=False, loss=Huber(0.5))) < 0.5


def test_sparse_components_and_collapse() -> None:
    X = np.random.default_rng(1).standard_normal((40, 2))
    sparse = KernelPCA(loss=EpsilonInsensitive(0.6), center=False).fit(X)
    assert 0 < len(sparse.support_) < 40
    rest = np.setdiff1d(np.arange(40), sparse.support_)
    assert np.all(sparse.dual_coef_[rest] == 0.0)
    with pytest.warns(CollapseWarning, match="all codes are zero"):
        collapsed = KernelPCA(loss=EpsilonInsensitive(5.0)).fit(X)
    assert np.all(collapsed.codes_ == 0.0)
    with pytest.raises(InputError, match="loss must be a function"):
        KernelPCA(loss=MaximumMargin()).fit(X)
