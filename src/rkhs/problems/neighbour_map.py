"""Maps that keep neighbours: the loss of t-SNE with a term that keeps distances far apart, over the codes alone.

    L(Z) = -e sum_ij P_ij log w_ij + log sum_(i!=j) m_i m_j w_ij + weight (1 - corr(d_il, e_il)),

    w_ij = 1 / (1 + ||z_i - z_j||^2),   P_ij = (m_i p_j|i + m_j p_i|j) / 2,   e_il = sqrt(1 + ||z_i - z_l||^2),

with the affinities ``p`` of neighbours (:mod:`rkhs.problems.neighbours`), sample weights ``m`` (sum: one), kernel
distances ``d`` to landmarks, and an exaggeration ``e`` of one but for the first steps. It is a contrastive loss with a
Cauchy similarity: Damrich et al. (2023). Derivatives: ``4 sum_j (e P_ij - m_i m_j w_ij / s) w_ij (z_i - z_j)`` with
``s`` the sum in the logarithm, and of the last term, for centred ``c`` and ``x`` of length one,
``weight (<x, c> c - x)_il / ||e - mean|| (z_i - z_l) / e_il``, which the landmark gets with the other sign.

A new row, with a fixed map: ``min_z -sum_j p_j log w_j(z) + log sum_j m_j w_j(z) + misfit ||t - g(z)||^2`` with its
target ``t``, of variance one, and the decoder ``g`` of the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from rkhs.problems.cauchy_grid import CauchyGrid, ExactSums, Sums

_SHIFT = 0.1  # of the least diagonal entry, which makes the curvature of the attraction positive definite

Term = Callable[[Tensor], tuple[float, Tensor]]
"""A value and its gradient at codes of shape (n, p)."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest rows of each row, their affinities, and the weights of all rows."""

    columns: Tensor  # (n, k)
    affinities: Tensor  # (n, k): each row sums to one
    weights: Tensor  # (n,): sums to one

    @property
    def laplacian(self) -> Tensor:
        """``diag(P 1) - P``, shape (n, n)."""
        n = len(self.weights)
        P = (
            torch.zeros(n, n)
            .to(self.affinities)
            .scatter_(1, self.columns, 0.5 * self.weights[:, None] * self.affinities)
        )
        P = P + P.mT
        return torch.diag(P.sum(1)) - P

    @cached_property
    def _pairs(self) -> tuple[Tensor, np.ndarray, np.ndarray]:
        # ``m_i p_j|i`` of all pairs, and where they stand in a sparse matrix of compressed rows.
        n, k = self.columns.shape
        kind = np.int32 if n * k < 2**31 else np.int64
        places = self.columns.numpy().ravel().astype(kind), np.arange(0, n * k + 1, k, dtype=kind)
        return (self.affinities * self.weights[:, None]).flatten(), *places

    def attraction(self, Z: Tensor) -> tuple[float, Tensor]:
        """``-sum_ij P_ij log w_ij`` and its gradient. O(n k)."""
        n, p = Z.shape
        pairs, columns, starts = self._pairs
        at, D = self.columns.flatten(), Z.new_ones(self.columns.shape)
        for z in Z.mT.contiguous():
            D += (z[:, None] - z.index_select(0, at).view_as(D)).square_()
        D = D.view(-1)
        value = float(pairs @ D.log())
        A = scipy.sparse.csr_array(((pairs / D).numpy(), columns, starts), (n, n))
        Z1 = np.concatenate([Z.numpy(), np.ones((n, 1), Z.numpy().dtype)], 1)
        products = torch.from_numpy(A @ Z1 + A.T @ Z1)
        return value, 2.0 * (products[:, p:] * Z - products[:, :p])


@dataclass(frozen=True, eq=False)
class AllPairs:
    """``log sum_(i!=j) m_i m_j w_ij`` and its gradient, O(n^2)."""

    weights: Tensor

    def __call__(self, Z: Tensor) -> tuple[float, Tensor]:
        """Evaluate at codes of shape (n, p)."""
        S = (Z * Z).sum(1)
        W = torch.addmm(S[:, None] + (S + 1.0), Z, Z.mT, alpha=-2.0).clamp_min_(1.0).reciprocal_().fill_diagonal_(0.0)
        total = self.weights @ W @ self.weights
        W.mul_(W).mul_(self.weights)
        return float(total.log()), (W.sum(1)[:, None] * Z - W @ Z) * (-4.0 * self.weights / total)[:, None]


@dataclass(frozen=True, eq=False)
class OnGrid:
    """The same sum from a grid, O(n)."""

    weights: Tensor
    grid: CauchyGrid

    def __call__(self, Z: Tensor) -> tuple[float, Tensor]:
        """Evaluate at codes of shape (n, p)."""
        phi, F = self.grid.of(Z, self.weights).at(Z, self.weights)
        total = self.weights @ phi
        return float(total.log()), F * (-4.0 * self.weights / total)[:, None]


class Correlation:
    """``weight (1 - corr)`` of distances to landmarks in the data and in the map, and its gradient. O(n l)."""

    def __init__(self, landmarks: Tensor, distances: Tensor, weight: float) -> None:
        self.landmarks, self.weight = landmarks, weight  # numbers (l,)
        centred = distances - distances.mean()  # (n, l): not squared
        self.x = centred / centred.norm().clamp_min(1e-300)

    def __call__(self, Z: Tensor) -> tuple[float, Tensor]:
        """Evaluate at codes of shape (n, p)."""
        L = Z[self.landmarks]
        e = Z.new_ones(self.x.shape)
        for z, at in zip(Z.mT, L.mT, strict=True):
            e += (z[:, None] - at).square_()
        e.sqrt_()
        c = e - e.mean()
        size = c.norm().clamp_min(1e-12)
        corr = (self.x * c).sum() / size
        G = c.mul_(corr / size).sub_(self.x).mul_(self.weight / size)
        G.sub_(G.mean()).div_(e)
        grad = G.sum(1)[:, None] * Z - G @ L
        return self.weight * float(1.0 - corr), grad.index_add_(0, self.landmarks, G.sum(0)[:, None] * L - G.mT @ Z)


@dataclass(frozen=True, eq=False)
class AnchorPenalty:
    """``penalty sum_i m_i ||z_i - place_i||^2`` and its gradient; rows of weight zero are free."""

    places: Tensor  # (n, p)
    weights: Tensor  # (n,)
    penalty: float

    def __call__(self, Z: Tensor) -> tuple[float, Tensor]:
        """Evaluate at codes of shape (n, p)."""
        D = (Z - self.places) * (2.0 * self.penalty * self.weights)[:, None]
        return 0.5 * float((D * (Z - self.places)).sum()), D


@dataclass(frozen=True, eq=False)
class NeighbourMap:
    """The loss of a map at one exaggeration."""

    neighbours: Neighbours
    terms: tuple[Term, ...]  # repulsion and others
    exaggeration: float = 1.0

    def value_and_grad(self, Z: Tensor) -> tuple[float, Tensor]:
        """Evaluate at codes of shape (n, p)."""
        value, grad = self.neighbours.attraction(Z)
        value, grad = self.exaggeration * value, self.exaggeration * grad
        for term in self.terms:
            found, slope = term(Z)
            value, grad = value + found, grad + slope
        return value, grad


class SpectralPreconditioner:
    """A map in units ``y = C^T z`` in which the attraction has unit curvature, ``C C^T = 4 e (diag(P 1) - P)``."""

    # A quasi-Newton descent in them starts with the spectral direction: Vladymyrov and Carreira-Perpinan (2012).
    def __init__(self, problem: NeighbourMap) -> None:
        self.problem = problem
        H = (4.0 * problem.exaggeration) * problem.neighbours.laplacian
        H.diagonal().add_(_SHIFT * float(H.diagonal().min()))
        self.factor = torch.linalg.cholesky(H)

    def to_units(self, Z: Tensor) -> Tensor:
        """``C^T z``."""
        return self.factor.mT @ Z

    def codes(self, Y: Tensor) -> Tensor:
        """``C^-T y``."""
        return torch.linalg.solve_triangular(self.factor.mT, Y, upper=True)

    def value_and_grad(self, Y: Tensor) -> tuple[float, Tensor]:
        """Evaluate at points of shape (n, p)."""
        value, grad = self.problem.value_and_grad(self.codes(Y))
        return value, torch.linalg.solve_triangular(self.factor, grad, upper=False)


@dataclass(frozen=True, eq=False)
class OutOfSample:
    """Where new rows go in a fixed map, each by itself: a problem of :func:`rkhs.solvers.row_newton.descend`."""

    codes: Tensor  # (n, p): of the map
    sums: Sums | ExactSums
    columns: Tensor  # (m, k): the neighbours of each new row
    affinities: Tensor  # (m, k)
    left_out: tuple[Tensor, Tensor] | None = None  # places (m, p) and weights (m,) of rows that the new rows do not see
    decoder: Any = None  # with ``of`` and ``pull``
    targets: Tensor | None = None  # (m, q): that it should give
    misfit: float = 1.0  # weight of its squared error

    def rows(self, index: Tensor) -> Self:
        """The problem of some of the new rows."""
        out, targets = self.left_out, self.targets
        return replace(
            self,
            columns=self.columns[index],
            affinities=self.affinities[index],
            left_out=None if out is None else (out[0][index], out[1][index]),
            targets=None if targets is None else targets[index],
        )

    def values_and_grads(self, Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values (m,), gradients (m, p) and curvatures of the attraction (m,) at places of shape (m, p)."""
        D = Z[:, None] - self.codes[self.columns]
        w = 1.0 / (1.0 + (D * D).sum(2))
        phi, F = self.sums.at(Z)
        if self.left_out is not None:
            places, weights = self.left_out
            rest = Z - places
            self_similarity = 1.0 / (1.0 + (rest * rest).sum(1))
            phi, F = phi - weights * self_similarity, F - (weights * self_similarity**2)[:, None] * rest
        phi = phi.clamp_min(1e-12)
        a = self.affinities * w
        values = phi.log() - (self.affinities * w.log()).sum(1)
        grads = 2.0 * (a[..., None] * D).sum(1) - 2.0 * F / phi[:, None]
        if self.decoder is not None:
            left = self.decoder.of(Z) - self.targets
            values = values + self.misfit * (left * left).sum(1)
            grads = grads + (2.0 * self.misfit) * self.decoder.pull(Z, left)
        return values, grads, 2.0 * a.sum(1)

    def with_curvature(self, Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values, gradients, and inverses of the curvature of the attraction, shape (m, p, p)."""
        values, grads, curvature = self.values_and_grads(Z)
        return values, grads, torch.eye(Z.shape[1]).to(Z) / curvature.clamp_min(1e-9)[:, None, None]

    def start(self) -> Tensor:
        """The best of the places of the ten nearest rows and the mean of the neighbours, shape (m, p)."""
        near = self.codes[self.columns]
        tries = [*near[:, :10].unbind(1), (self.affinities[..., None] * near).sum(1)]
        values = torch.stack([self.values_and_grads(Z)[0] for Z in tries])
        return torch.stack(tries)[values.argmin(0), torch.arange(len(near))]
