"""Parts that somebody adds without a change of the library: a storage, a set of codes, a last layer, an estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_circles
from torch import Tensor

from rkhs import KernelAutoencoder, OperatorKernelRegressor
from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian
from rkhs.losses import Loss
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.encoders import DeepCodes, UnconstrainedCodes
from rkhs.problems.last_layers import AnchorsLayer, ItemsLayer
from rkhs.solvers import LBFGS
from rkhs.spaces.grams import Blocked
from rkhs.testing import check_loss

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
IRIS = load_iris().data / load_iris().data.std(0)
X = torch.as_tensor(IRIS[::6])
TARGET = X - X.mean(0)


# ---------------------------------------------------------------- a storage that is no choice of features


@dataclass(frozen=True, eq=False)
class Products:
    """Coordinates of a Gram matrix that is only ever multiplied: ``F = (K + shift I)^(1/2)``, by Lanczos steps."""

    gram: Blocked
    shift: float
    steps: int = 25

    @property
    def dim(self) -> int:
        return len(X)

    def _times(self, V: Tensor) -> Tensor:
        return self.gram.matmul(V).add_(V, alpha=self.shift)

    def _function(self, V: Tensor, power: float) -> Tensor:
        return torch.stack([self._of_column(v, power) for v in V.mT], 1)

    def _of_column(self, v: Tensor, power: float) -> Tensor:
        """``(K + shift I)^power v`` in the Krylov space of ``v``."""
        length = v.norm()
        if length == 0.0:
            return torch.zeros_like(v)
        basis = [v / length]
        T = v.new_zeros(self.steps, self.steps)
        for k in range(self.steps):
            w = self._times(basis[k][:, None])[:, 0]
            Q = torch.stack(basis, 1)
            T[: k + 1, k] = Q.mT @ w
            w = w - Q @ (Q.mT @ w)
            w = w - Q @ (Q.mT @ w)
            if k + 1 == self.steps or w.norm() < 1e-10 * length:
                break
            basis.append(w / w.norm())
        T = T[: len(basis), : len(basis)].triu()
        values, vectors = torch.linalg.eigh(T + T.triu(1).mT)
        return length * torch.stack(basis, 1) @ (vectors * values.clamp_min(1e-300) ** power @ vectors[0])

    def codes(self, V: Tensor) -> Tensor:
        return self._function(V, 0.5)

    pull = codes  # the root is symmetric

    def solve(self, Z: Tensor) -> Tensor:
        return self._function(Z, -0.5)

    coefficients = solve


def autoencoders(reg: float = 1e-2) -> tuple[Autoencoder, Autoencoder]:
    """The same model in products and in a dense factor."""
    kernel, shift = Gaussian(0.5), 1e-2
    K = kernel._gram(X)
    K.diagonal().add_(shift)
    layer = ItemsLayer(TARGET, Gaussian(1.0), 1e-3)
    in_products = Autoencoder(UnconstrainedCodes(Products(Blocked(kernel, X, max_bytes=8 * 25 * 7), shift), reg), layer)
    return in_products, Autoencoder(UnconstrainedCodes(factorize(K), reg), layer)


@pytest.mark.slow
def test_a_matrix_that_is_only_multiplied_is_a_storage() -> None:
    in_products, dense = autoencoders()
    start = dense.encoder.start([TARGET[:, :2]], 1.0)
    codes = dense.encoder.layers(start)[0]
    there = in_products.encoder.resume(codes, [])
    assert_allclose(in_products.encoder.layers(there)[0], codes, atol=1e-8)
    assert in_products.value(there) == pytest.approx(dense.value(start), rel=1e-8)
    found = [LBFGS(6, 0.0).solve(*one) for one in ((in_products, there), (dense, start))]
    assert found[0].value == pytest.approx(found[1].value, rel=1e-3)
    assert found[0].value < 0.9 * dense.value(start)


def test_hidden_layers_and_anchors_stand_on_it_too() -> None:
    in_products, dense = autoencoders()
    values = []
    for one in (in_products, dense):
        encoder = DeepCodes(one.encoder, (Gaussian(1.0),), (2, 1), (1e-2,), len(X), all_anchors=True)
        layer = AnchorsLayer.of(TARGET, Gaussian(1.0), 10, 1e-3, None, None)
        problem = Autoencoder(encoder, layer)
        point = encoder.pack(one.encoder.resume(TARGET[:, :2].contiguous(), []), [TARGET[:, :1] / len(X)])
        value, slope = problem.value_and_grad(point)
        step = 1e-6 * torch.as_tensor(np.random.default_rng(0).normal(size=point.shape))
        rise = problem.value(point + step) - problem.value(point - step)
        assert rise == pytest.approx(2.0 * float((slope * step).sum()), rel=1e-3)
        values.append(value)
    assert values[0] == pytest.approx(values[1], rel=1e-8)


# ---------------------------------------------------------------- a last layer under the quantile loss


class Quantile(Loss):
    """``f(r) = sum_j max((1 - level) r_j, -level r_j)`` of residuals ``h(x) - y``: quantiles of each column."""

    def __init__(self, level: float = 0.5) -> None:
        self.level = level

    def value(self, R: Tensor) -> Tensor:
        return torch.maximum((1.0 - self.level) * R, -self.level * R).sum(-1)

    def gradient(self, R: Tensor) -> Tensor:
        return (R > 0.0).to(R) - self.level

    def conjugate(self, A: Tensor) -> Tensor:
        inside = ((1.0 - self.level + 1e-9 >= A) & (-self.level - 1e-9 <= A)).all(-1)
        return torch.where(inside, 0.0, torch.inf).to(A)

    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        return A.clamp(-self.level, 1.0 - self.level)


@pytest.mark.sample(2)
@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_the_quantile_loss_keeps_the_contract_and_its_share_of_rows(level: float) -> None:
    check_loss(Quantile(level))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, size=(120, 1))
    y = np.sin(3.0 * x) + rng.gumbel(size=x.shape) * 0.3
    model = OperatorKernelRegressor(Gaussian(2.0), loss=Quantile(level), reg=1e-3, tol=1e-4).fit(x, y)
    assert np.mean(y < model.predict(x)) == pytest.approx(level, abs=0.05)


def test_an_autoencoder_has_the_last_layer_of_that_loss() -> None:
    rows = make_circles(16, noise=0.05, random_state=0)[0]
    model = KernelAutoencoder(1, loss=Quantile(0.5), reg=(1e-3, 1e-3), max_iter=5).fit(rows)
    first = KernelAutoencoder(1, loss=Quantile(0.5), reg=(1e-3, 1e-3), max_iter=1).fit(rows)
    assert model.objective_ < first.objective_
