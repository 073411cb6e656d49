"""The codes of a map: few rows over all pairs; many from a map of some, the others placed, then all together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rkhs.models.neighbour_map import fixed_sums, perplexity, placed
from rkhs.problems.cauchy_grid import EXACT, CauchyGrid
from rkhs.problems.initial_codes import kernel_pca_scores
from rkhs.problems.neighbour_map import (
    AllPairs,
    Correlation,
    NearPlaces,
    NeighbourMap,
    Neighbours,
    OnGrid,
    Placing,
    SpectralUnits,
    Term,
)
from rkhs.problems.neighbours import Distances, nearest, shares
from rkhs.protocols import Solution
from rkhs.solvers import LBFGS
from rkhs.solvers.momentum import momentum

_LANDMARKS = 50
_SPACING = 0.7  # of the nodes of a grid while rows move
_SIZE = 1e-2  # penalty of the mean squared code a row: the map of rows without structure would grow without end
_STAY = 1e-2  # penalty of rows that are to stay near their places
_TOL, _TILE = 1e-7, 1024

Schedule = tuple[tuple[float, int], ...]
_FROM_COMPONENTS: Schedule = ((4.0, 30), (1.0, 60))  # exaggerations and steps
_FROM_PLACES: Schedule = ((4.0, 50), (1.0, 150))


@dataclass(frozen=True, eq=False)
class MapRows:
    """What a map is fitted to: rows by their distances, and their masses."""

    distances: Distances  # of rows by number
    mass: Tensor  # (n,): sums to one
    n_neighbors: int
    n_components: int
    weight: float  # of the correlation of distances

    @property
    def count(self) -> int:
        """Neighbours that are looked for."""
        return min(3 * self.n_neighbors, len(self.mass) - 1)

    @property
    def perplexity(self) -> float:
        """Return the perplexity of the shares of neighbours; at most a third of the other rows."""
        return perplexity(self.n_neighbors, len(self.mass))

    def some(self, rows: Tensor) -> MapRows:
        """Some of the rows alone."""
        mass = self.mass[rows] / self.mass[rows].sum()
        return replace(self, distances=lambda a, b: self.distances(rows[a], rows[b]), mass=mass)

    def neighbours(self) -> Neighbours:
        """Return the neighbours of each row, with their shares."""
        values, columns = nearest(len(self.mass), self.distances, self.count)
        return Neighbours(columns, shares(values, self.perplexity).to(self.mass), self.mass)

    def problem(self, neighbours: Neighbours, *terms: Term) -> NeighbourMap:
        """The loss over all pairs, or on a grid."""
        n = len(self.mass)
        repulsion = AllPairs(self.mass) if n <= EXACT else OnGrid(self.mass, CauchyGrid(_SPACING))
        size = NearPlaces(torch.zeros(n, self.n_components).to(self.mass), self.mass, _SIZE / n)
        return NeighbourMap(neighbours, (repulsion, self.correlation(self.weight), size, *terms))

    def correlation(self, weight: float) -> Correlation:
        """The term of distances to landmarks."""
        n = len(self.mass)
        landmarks = torch.linspace(0, n - 1, min(_LANDMARKS, n)).long()
        return Correlation(landmarks, self.distances(torch.arange(n), landmarks).clamp_min(0.0).sqrt(), weight)

    def start(self) -> Tensor:
        """Kernel principal components of the distances, the first of variance one."""
        every = torch.arange(len(self.mass))
        B = -0.5 * self.distances(every, every)
        B = B - B.mean(0)
        B = B - B.mean(1, keepdim=True)
        scores, _ = kernel_pca_scores(0.5 * (B + B.mT), min(self.n_components, len(B)), self.mass)
        scores = torch.nn.functional.pad(scores, (0, self.n_components - scores.shape[1]))
        return scores / scores[:, 0].std().clamp_min(1e-30)


def fit_codes(
    rows: MapRows, neighbours: Neighbours, init: Tensor | None = None, stay: Tensor | None = None
) -> Solution:
    """Codes of all rows, from a start of their own or from ``init`` (n, p); rows of ``stay`` (n,) stay near it."""
    n = len(rows.mass)
    terms = () if init is None or stay is None else (NearPlaces(init, rows.mass * stay, _STAY),)
    if init is None:
        init = rows.start() if n <= EXACT else _from_some(rows)
        schedule = _FROM_COMPONENTS if n <= EXACT else _FROM_PLACES
    else:
        schedule = ((1.0, sum(steps for _, steps in _FROM_PLACES)),)
    found = (_over_all_pairs if n <= EXACT else _on_grid)(rows.problem(neighbours, *terms), init, schedule)
    return found if terms else replace(found, point=found.point - found.point.mean(0))


def _over_all_pairs(problem: NeighbourMap, Z: Tensor, schedule: Schedule) -> Solution:
    """A quasi-Newton descent in the units of the attraction."""
    for exaggeration, steps in schedule:
        stage = SpectralUnits(replace(problem, exaggeration=exaggeration))
        found = LBFGS(max_iter=steps, tol=_TOL).solve(stage, stage.to_units(Z))
        Z = stage.codes(found.point)
    return replace(found, point=Z)


def _on_grid(problem: NeighbourMap, Z: Tensor, schedule: Schedule) -> Solution:
    """Steps with momentum, their rate one over the mass of a row."""
    for exaggeration, steps in schedule:
        rate = 1.0 / (exaggeration * problem.neighbours.mass)[:, None]
        found = momentum(replace(problem, exaggeration=exaggeration), Z, rate, steps)
        Z = found.point
    return found


def _from_some(rows: MapRows) -> Tensor:
    """A map of some rows, in which the others are placed."""
    n, few = len(rows.mass), torch.linspace(0, len(rows.mass) - 1, EXACT).long()
    part = rows.some(few)
    Z = fit_codes(part, part.neighbours()).point
    left = torch.ones(n, dtype=torch.bool).index_fill_(0, few, False).nonzero()[:, 0]
    codes, sums = Z.new_zeros(n, Z.shape[1]), fixed_sums(Z, part.mass, exact=0)
    codes[few] = Z
    for tile in left.split(_TILE):
        D, columns = rows.distances(tile, few).topk(part.count, 1, largest=False)
        codes[tile] = placed(Placing(Z, sums, columns, shares(D, part.perplexity)))
    return codes
