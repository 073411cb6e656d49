"""Fit the codes of a map: all pairs of few rows; of many, a subset first, the others embedded, then all on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rkhs.models.neighbour_map import embedded, fixed_sums, perplexity
from rkhs.problems.cauchy_grid import MAX_ALL_PAIRS, CauchyGrid
from rkhs.problems.initial_codes import kernel_pca_scores
from rkhs.problems.neighbour_map import (
    AllPairs,
    AnchorPenalty,
    Correlation,
    NeighbourMap,
    Neighbours,
    OnGrid,
    OutOfSample,
    SpectralPreconditioner,
    Term,
)
from rkhs.problems.neighbours import Distances, affinities, nearest
from rkhs.protocols import Reason, Solution
from rkhs.solvers import LBFGS


def momentum(problem: Any, start: Tensor, rate: Tensor, steps: int) -> Solution:
    """Steps of ``rate`` (n, 1) times gains that rise where the gradient keeps its sign: Jacobs (1988), as in t-SNE."""
    Z, velocity, gains, value = start, torch.zeros_like(start), torch.ones_like(start), 0.0
    for _ in range(steps):
        value, grad = problem.value_and_grad(Z)
        gains = torch.where(velocity * grad < 0.0, gains + 0.2, gains * 0.8).clamp_min_(0.01)
        velocity = 0.8 * velocity - rate * gains * grad
        Z = Z + velocity
    return Solution(Z, value, Reason.SCHEDULE, steps, steps)


_LANDMARKS = 50  # items whose distances enter the correlation
_SPACING = 0.7  # distance of grid nodes during the descent
_NORM_PENALTY = 1e-2  # on the mean squared norm of codes: a map of unstructured data would diverge
_ANCHOR_PENALTY = 1e-2  # on the squared displacement of rows that keep their initial codes
_TOL, _TILE = 1e-7, 1024

Schedule = tuple[tuple[float, int], ...]
_FROM_COMPONENTS: Schedule = ((4.0, 30), (1.0, 60))  # exaggerations and steps
_FROM_PLACES: Schedule = ((4.0, 50), (1.0, 150))


@dataclass(frozen=True, eq=False)
class MapRows:
    """Rows that a map is fitted to: a function of squared distances, and sample weights."""

    distances: Distances  # of rows by number
    weights: Tensor  # (n,): sums to one
    n_neighbors: int
    n_components: int
    weight: float  # of the correlation of distances

    @property
    def n_searched(self) -> int:
        """Number of nearest neighbours that are searched for: three times ``n_neighbors``, as in t-SNE."""
        return min(3 * self.n_neighbors, len(self.weights) - 1)

    @property
    def perplexity(self) -> float:
        """Return the perplexity of the affinities of neighbours; at most a third of the other rows."""
        return perplexity(self.n_neighbors, len(self.weights))

    def subset(self, rows: Tensor) -> MapRows:
        """A subset of the rows."""
        weights = self.weights[rows] / self.weights[rows].sum()
        return replace(self, distances=lambda a, b: self.distances(rows[a], rows[b]), weights=weights)

    def neighbours(self) -> Neighbours:
        """Return the neighbours of each row, with their affinities."""
        values, columns = nearest(len(self.weights), self.distances, self.n_searched)
        return Neighbours(columns, affinities(values, self.perplexity).to(self.weights), self.weights)

    def problem(self, neighbours: Neighbours, *terms: Term) -> NeighbourMap:
        """The loss over all pairs, or on a grid."""
        n = len(self.weights)
        repulsion = AllPairs(self.weights) if n <= MAX_ALL_PAIRS else OnGrid(self.weights, CauchyGrid(_SPACING))
        size = AnchorPenalty(torch.zeros(n, self.n_components).to(self.weights), self.weights, _NORM_PENALTY / n)
        return NeighbourMap(neighbours, (repulsion, self.correlation(self.weight), size, *terms))

    def correlation(self, weight: float) -> Correlation:
        """Penalty on a low correlation of the distances to landmarks in the data and in the map."""
        n = len(self.weights)
        landmarks = torch.linspace(0, n - 1, min(_LANDMARKS, n)).long()
        return Correlation(landmarks, self.distances(torch.arange(n), landmarks).clamp_min(0.0).sqrt(), weight)

    def start(self) -> Tensor:
        """Classical multidimensional scaling of the distances, its first axis of standard deviation one."""
        every = torch.arange(len(self.weights))
        B = -0.5 * self.distances(every, every)
        B = B - B.mean(0)
        B = B - B.mean(1, keepdim=True)
        scores, _ = kernel_pca_scores(0.5 * (B + B.mT), min(self.n_components, len(B)), self.weights)
        scores = torch.nn.functional.pad(scores, (0, self.n_components - scores.shape[1]))
        return scores / scores[:, 0].std().clamp_min(1e-30)


def fit_codes(
    rows: MapRows, neighbours: Neighbours, init: Tensor | None = None, stay: Tensor | None = None
) -> Solution:
    """Codes of all rows, from the default start or from ``init`` (n, p), near which weights ``stay`` (n,) hold rows."""
    n = len(rows.weights)
    terms = () if init is None or stay is None else (AnchorPenalty(init, rows.weights * stay, _ANCHOR_PENALTY),)
    if init is None:
        init = rows.start() if n <= MAX_ALL_PAIRS else _from_subset(rows)
        schedule = _FROM_COMPONENTS if n <= MAX_ALL_PAIRS else _FROM_PLACES
    else:
        schedule = ((1.0, sum(steps for _, steps in _FROM_PLACES)),)
    found = (_over_all_pairs if n <= MAX_ALL_PAIRS else _on_grid)(rows.problem(neighbours, *terms), init, schedule)
    return found if terms else replace(found, point=found.point - found.point.mean(0))


def _over_all_pairs(problem: NeighbourMap, Z: Tensor, schedule: Schedule) -> Solution:
    """L-BFGS preconditioned by the Laplacian of the attraction (spectral direction)."""
    for exaggeration, steps in schedule:
        stage = SpectralPreconditioner(replace(problem, exaggeration=exaggeration))
        found = LBFGS(max_iter=steps, tol=_TOL).solve(stage, stage.to_units(Z))
        Z = stage.codes(found.point)
    return replace(found, point=Z)


def _on_grid(problem: NeighbourMap, Z: Tensor, schedule: Schedule) -> Solution:
    """Gradient descent with momentum; the learning rate of a row is the inverse of its weight."""
    for exaggeration, steps in schedule:
        rate = 1.0 / (exaggeration * problem.neighbours.weights)[:, None]
        found = momentum(replace(problem, exaggeration=exaggeration), Z, rate, steps)
        Z = found.point
    return found


def _from_subset(rows: MapRows) -> Tensor:
    """A map of evenly spaced rows, in which the others are placed."""
    n, few = len(rows.weights), torch.linspace(0, len(rows.weights) - 1, MAX_ALL_PAIRS).long()
    part = rows.subset(few)
    Z = fit_codes(part, part.neighbours()).point
    left = torch.ones(n, dtype=torch.bool).index_fill_(0, few, False).nonzero()[:, 0]
    codes, sums = Z.new_zeros(n, Z.shape[1]), fixed_sums(Z, part.weights, exact=0)
    codes[few] = Z
    for tile in left.split(_TILE):
        D, columns = rows.distances(tile, few).topk(part.n_searched, 1, largest=False)
        codes[tile] = embedded(OutOfSample(Z, sums, columns, affinities(D, part.perplexity)))
    return codes
