"""The loss of maps that keep neighbours: gradients, the loss of scikit-learn's t-SNE, the grid, the calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform
from torch import Tensor

from rkhs.kernels import Matern
from rkhs.models import Layer
from rkhs.problems.cauchy_grid import CauchyGrid, ExactSums
from rkhs.problems.neighbour_map import (
    AllPairs,
    AnchorPenalty,
    Correlation,
    NeighbourMap,
    Neighbours,
    OnGrid,
    OutOfSample,
    SpectralPreconditioner,
)
from rkhs.problems.neighbours import _cells, affinities, nearest
from rkhs.problems.pairs import Links, Pairs


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.as_tensor(np.random.default_rng(seed).standard_normal(shape))


def distances_of(X: Tensor) -> Any:
    return lambda a, b: torch.cdist(X[a], X[b]) ** 2


def numerical(value: Any, Z: Tensor, step: float = 1e-5) -> Tensor:
    grad = torch.zeros_like(Z)
    for i in range(Z.numel()):
        move = torch.zeros_like(Z)
        move.view(-1)[i] = step
        grad.view(-1)[i] = (value(Z + move) - value(Z - move)) / (2.0 * step)
    return grad


@pytest.fixture
def problem() -> NeighbourMap:
    X, weights = normal(30, 4), torch.linspace(1.0, 3.0, 30).double()
    weights = weights / weights.sum()
    values, columns = nearest(30, distances_of(X), 9)
    landmarks = torch.arange(0, 30, 4)
    far = Correlation(landmarks, torch.cdist(X, X[landmarks]), 0.5)
    stay = AnchorPenalty(normal(30, 2, seed=3), weights * (torch.arange(30) % 2), 0.3)
    return NeighbourMap(Neighbours(columns, affinities(values, 3.0), weights), (AllPairs(weights), far, stay), 1.7)


def test_gradients_are_those_of_finite_differences(problem: NeighbourMap) -> None:
    Z = normal(30, 2, seed=1)
    for one in (problem.value_and_grad, *problem.terms, problem.neighbours.attraction):
        torch.testing.assert_close(one(Z)[1], numerical(lambda z, f=one: f(z)[0], Z), rtol=1e-6, atol=1e-8)


def test_the_units_of_the_attraction_keep_value_and_gradient(problem: NeighbourMap) -> None:
    Z, units = normal(30, 2, seed=1), SpectralPreconditioner(problem)
    Y = units.to_units(Z)
    torch.testing.assert_close(units.codes(Y), Z)
    value, grad = units.value_and_grad(Y)
    assert value == pytest.approx(problem.value_and_grad(Z)[0])
    torch.testing.assert_close(grad, numerical(lambda y: units.value_and_grad(y)[0], Y), rtol=1e-5, atol=1e-7)


def test_the_loss_is_that_of_t_sne_up_to_a_constant() -> None:
    """The Kullback-Leibler divergence of scikit-learn, whose affinities take all rows as neighbours."""
    tsne = pytest.importorskip("sklearn.manifold._t_sne")
    X = normal(40, 5)
    D = squareform(pdist(X.numpy(), "sqeuclidean")).astype(np.float32)
    P = tsne._joint_probabilities(D, 8.0, 0)
    values, columns = nearest(40, distances_of(X), 39)
    weights = torch.full((40,), 1.0 / 40.0).double()
    map_ = NeighbourMap(Neighbours(columns, affinities(values, 8.0), weights), (AllPairs(weights),))
    found = []
    for seed in (1, 2):
        Z = 3.0 * normal(40, 2, seed=seed)
        kl, grad = tsne._kl_divergence(Z.numpy().ravel(), P, 1, 40, 2)
        value, slope = map_.value_and_grad(Z)
        found.append(value - kl)
        np.testing.assert_allclose(slope.numpy().ravel(), grad, rtol=1e-3, atol=1e-6)
    entropy = -2.0 * float((P * np.log(P)).sum())  # of both triangles
    np.testing.assert_allclose(found, entropy - 2.0 * np.log(40.0), atol=1e-3)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_grid_is_all_pairs(p: int) -> None:
    Z, weights = (4.0, 3.0, 1.2)[p - 1] * normal(200, p), torch.linspace(1.0, 2.0, 200).double()
    weights = weights / weights.sum()
    exact, slopes = AllPairs(weights)(Z)
    errors = []
    for spacing in (0.7, 0.35):
        value, grad = OnGrid(weights, CauchyGrid(spacing))(Z)
        assert value == pytest.approx(exact, abs=3e-3)
        errors.append(float((grad - slopes).norm() / slopes.norm()))
    assert errors[0] < 0.2
    assert errors[1] < 0.03


def test_sums_at_other_places() -> None:
    Z, new, weights = 4.0 * normal(100, 2), 3.0 * normal(20, 2, seed=5), torch.full((100,), 0.01).double()
    phi, F = CauchyGrid(0.1, 1.0).of(Z, weights).at(new)
    D = new[:, None] - Z
    w = 1.0 / (1.0 + (D * D).sum(2))
    torch.testing.assert_close(phi, w @ weights, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(F, ((w * w * weights)[..., None] * D).sum(1), rtol=1e-2, atol=1e-4)
    exact = ExactSums(Z, weights).at(new)
    torch.testing.assert_close(exact, (w @ weights, ((w * w * weights)[..., None] * D).sum(1)), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(ExactSums(Z, weights).at(new[3:4])[1], exact[1][3:4], rtol=0.0, atol=0.0)


def test_shares_have_the_perplexity() -> None:
    D = normal(20, 60).square().sort(1).values
    p = affinities(D, 12.0)
    torch.testing.assert_close(p.sum(1), torch.ones(20).double())
    entropy = -(p * p.clamp_min(1e-300).log()).sum(1)
    torch.testing.assert_close(entropy.exp(), torch.full((20,), 12.0).double(), rtol=1e-4, atol=0.0)


def test_cells_find_nearly_all_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    X = normal(4000, 3)
    monkeypatch.setattr("rkhs.problems.neighbours._CANDIDATES", 600)
    exact = nearest(4000, distances_of(X), 15)[1]
    groups = _cells(4000, distances_of(X))
    assert torch.equal(torch.cat([rows for rows, _ in groups]).sort().values, torch.arange(4000))
    monkeypatch.setattr("rkhs.problems.neighbours._EXACT", 100)
    found = nearest(4000, distances_of(X), 15)[1]
    assert float((found[:, :, None] == exact[:, None]).any(1).double().mean()) > 0.9


def test_the_term_of_a_new_row_has_its_gradient() -> None:
    Z, weights = 3.0 * normal(60, 2), torch.full((60,), 1.0 / 60.0).double()
    columns = torch.arange(50).view(5, 10)
    decoder = Layer(Matern(1.5, 0.3), Z.numpy(), normal(60, 3, seed=2).numpy(), normal(3, 3, seed=4).numpy())
    out = (Z[:5], weights[:5])
    sums = CauchyGrid(0.05, 1.0).of(Z, weights)
    problem = OutOfSample(
        Z, sums, columns, affinities(normal(5, 10).square().sort(1).values, 4.0), out, decoder, normal(5, 3)
    )
    z = 2.0 * normal(5, 2, seed=6)
    values, grads, _ = problem.values_and_grads(z)
    slopes = numerical(lambda y: float(problem.values_and_grads(y)[0].sum()), z, 1e-4)
    torch.testing.assert_close(grads, slopes, rtol=2e-3, atol=2e-3)
    part = problem.rows(torch.tensor([3, 1]))
    torch.testing.assert_close(part.values_and_grads(z[[3, 1]])[0], values[[3, 1]])


def ring(n: int) -> Neighbours:
    """Items on a ring, each with its two neighbours."""
    every = torch.arange(n)
    columns = torch.stack([(every + 1) % n, (every - 1) % n], 1)
    return Neighbours(columns, torch.full((n, 2), 0.5).double(), torch.ones(n).double() / n)


def test_for_small_codes_the_loss_is_twice_the_simple_contrastive_one() -> None:
    n, Z, near = 12, normal(12, 2), ring(12)
    others = torch.stack([torch.cat([torch.arange(i), torch.arange(i + 1, n)]) for i in range(n)])
    pairs = Pairs(torch.arange(n), Links(near.columns, n), Links(others, n), near.weights)
    simple = float((Z * pairs.differences(Z)).sum() / n)
    loss, step = NeighbourMap(near, (AllPairs(near.weights),)), 1e-3
    small, least = (loss.value_and_grad(scale * Z)[0] for scale in (step, 0.0))
    assert (small - least) / step**2 == pytest.approx(2.0 * simple, rel=1e-4)


def test_the_loss_is_a_divergence_of_the_shares_of_neighbours_from_those_of_the_map() -> None:
    Z, near = normal(12, 2), ring(12)
    P = torch.diag(near.laplacian.diagonal()) - near.laplacian
    W = (1.0 / (1.0 + torch.cdist(Z, Z) ** 2)).fill_diagonal_(0.0)
    some = P > 0.0
    divergence = float((P[some] * (P[some] / (W / W.sum())[some]).log()).sum())
    ratio = float((P[some] * (P[some] * 12.0**2).log()).sum())
    value = NeighbourMap(near, (AllPairs(near.weights),)).value_and_grad(Z)[0]
    assert value == pytest.approx(divergence - ratio, rel=1e-12)
