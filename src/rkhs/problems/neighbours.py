"""Nearest neighbours by squared kernel distances, and their affinities.

A distance is ``k(x, x) + k(y, y) - 2 k(x, y)``. Neighbours have affinities ``p_j ~ exp(-b D_j)``, with ``b`` such
that the entropy of the affinities is the logarithm of the perplexity: the calibration of t-SNE.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from rkhs._core.arrays import tile_rows, tiles

Distances = Callable[[Tensor, Tensor], Tensor]
"""Squared distances, shape (a, b), between rows of these indices, shapes (a,) and (b,)."""

_EXACT = 20_000  # rows up to which all distances are computed
_CANDIDATES = 3_000  # least number of distances per row beyond them
_BISECTIONS = 40


def nearest(n: int, distances: Distances, count: int) -> tuple[Tensor, Tensor]:
    """Squared distances and indices of the nearest other rows of each row, shape (n, count) both, ascending."""
    # Up to 20,000 rows all distances are computed. More rows are divided into cells around some of them, and those of a
    # cell are compared with the rows of the cells nearest to it: O(n^(3/2)), and a few neighbours are missed.
    every = torch.arange(n)
    if n <= _EXACT:
        groups = [(every[tile], every) for tile in tiles(n, tile_rows(n) // 4)]
    else:
        groups = _cells(n, distances)
    values, columns = torch.empty(n, count, dtype=torch.float64), torch.empty(n, count, dtype=torch.int64)
    for rows, candidates in groups:
        D = distances(rows, candidates)
        D.masked_fill_(rows[:, None] == candidates, torch.inf)
        found, places = D.topk(count, 1, largest=False)
        values[rows], columns[rows] = found.clamp_min(0.0).double(), candidates[places]
    return values, columns


def _cells(n: int, distances: Distances) -> list[tuple[Tensor, Tensor]]:
    """Rows of each cell, and the rows that they are compared with."""
    centers = torch.linspace(0, n - 1, math.isqrt(n)).long()
    cell = torch.cat([distances(torch.arange(n)[tile], centers).argmin(1) for tile in tiles(n, 4096)])
    sizes = torch.bincount(cell, minlength=len(centers))
    members = torch.argsort(cell, stable=True).split(sizes.tolist())
    order, groups = distances(centers, centers).argsort(dim=1, stable=True), []
    for rows, near in zip(members, order, strict=True):
        enough = int((sizes[near].cumsum(0) < _CANDIDATES).sum()) + 1
        groups.append((rows, torch.cat([members[int(i)] for i in near[:enough]])))
    return groups


def affinities(D: Tensor, perplexity: float) -> Tensor:
    """Affinities of squared distances ``D`` (m, k), ascending; each row sums to one. O(m k) per bisection."""
    D = D - D[:, :1]
    D = D / D.mean(1, keepdim=True).clamp_min(torch.finfo(D.dtype).tiny)
    low, high = D.new_full((len(D), 1), -15.0), D.new_full((len(D), 1), 15.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rate = middle.exp()
        P = torch.exp(-rate * D)
        total = P.sum(1, keepdim=True)
        wide = total.log() + rate * (P * D).sum(1, keepdim=True) / total > math.log(perplexity)
        low, high = torch.where(wide, middle, low), torch.where(wide, high, middle)
    return P / total
