"""Rows of a fit in stages, in the random order in which stages take them, and what all stages share of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs.engines import Block, row_blocks
from rkhs.outputs import Euclidean
from rkhs.problems.coordinates import STRIP, Coordinates, OwnCodes
from rkhs.problems.encoders import MOST
from rkhs.problems.semiparametric import PrincipalCoordinates, kernel_unit, leading_directions, linear_unit
from rkhs.spaces.features import FeatureMap

TILE = STRIP  # rows that are coded at once
_SAMPLE = 2000  # rows on which it is measured what principal components leave


def strips(n: int) -> tuple[Block, ...]:
    """Of the rows that are descended on."""
    return row_blocks(min(n, MOST), STRIP)


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Training rows in the order in which stages take them."""

    order: Tensor  # (n,): numbers of the rows
    linear: Tensor  # (n, k): principal coordinates of unit variance; no columns without free linear parts
    axes: PrincipalCoordinates | None  # of these coordinates; None: linear parts are those of the kernels
    features: Tensor  # (f, m): of the rows that are descended on
    room: Tensor  # (n,): ``s^2 = k(x, x)``
    target: Tensor  # (n, q)
    leading: Tensor | None  # (q, r): directions of the targets that are descended on, orthonormal columns; None: all
    weights: Tensor | None  # (n,)
    total: float  # sum of the weights as they were given
    own: bool  # whether rows have codes of their own
    items: Tensor  # (n, d): as they were given
    map: FeatureMap
    outside: Tensor | None = None  # (n,): squared norms of what no coordinate of the targets says; None: nothing

    def __len__(self) -> int:
        return len(self.order)

    def share(self, size: int) -> float:
        """Sum of the weights, as given, of the first rows."""
        return self.total * (size / len(self) if self.weights is None else float(self.weights[:size].sum()))

    def part(self, size: int) -> Tensor | None:
        """Weights of the first rows, which sum to one."""
        return None if self.weights is None else self.weights[:size] / self.weights[:size].sum()

    def goal(self, rows: slice) -> Tensor:
        """Targets of some rows, in the directions that are descended on."""
        return self.target[rows] if self.leading is None else self.target[rows] @ self.leading

    def beside(self, rows: slice) -> Tensor:
        """Squared norms of what targets have in the directions that are not descended on, shape (m,)."""
        goal = self.goal(rows)
        return (self.norms(rows) - (goal * goal).sum(1)).clamp_min(0.0)

    def norms(self, rows: slice = slice(None)) -> Tensor:
        """Squared norms of the targets of some rows, shape (m,), with what lies outside of their coordinates."""
        target = self.target[rows]
        inside = (target * target).sum(1)
        return inside if self.outside is None else inside + self.outside[rows]

    def coordinates(self, size: int, reg: float, p: int) -> OwnCodes:
        """Of codes of the first rows in ``p`` dimensions, with as many linear parts, in units of their price."""
        w, spread = self.part(size), None
        if self.own:
            spread = (self.room[:size] / (self.share(size) * (1.0 / size if w is None else w))).sqrt()
        return OwnCodes(self.linear[:size, :p] * linear_unit(reg), self.features[:size], spread)

    def principal(self, factor: Coordinates, p: int) -> Tensor:
        """Parameters (dim, p) of principal component scores: of the rows, or without free linear parts of features."""
        assert isinstance(factor, OwnCodes)
        W, F = self.linear.new_zeros(factor.dim, p), factor.features
        if self.axes is not None:
            k = min(p, factor.linear.shape[1])
            W[:k, :k] = torch.diag(self.axes.scale[:k])
            return W
        axes = PrincipalCoordinates.of_vectors(F, p, self.part(len(F)))
        found = factor.solve(axes.of(F) * axes.scale)
        W[:, : found.shape[1]] = found
        return W

    def encoded(self, W: Tensor, rows: slice, reg: float) -> Tensor:
        """What an encoder with the parameters ``[A; V]`` says of some rows."""
        Q = self.linear[rows, : W.shape[1]]
        k, known = Q.shape[1], rows.stop <= len(self.features)
        F = self.features[rows] if known else self.map.features(self.items[self.order[rows]])
        return torch.addmm((Q * linear_unit(reg)) @ W[:k], F, W[k : k + F.shape[1]])


def ordered_rows(
    X: Tensor,
    target: Tensor,
    room: Tensor,
    features: FeatureMap,
    axes: PrincipalCoordinates | None,
    p: int,
    weights: Tensor | None,
    total: float,
    *,
    own: bool,
    fitted: int,
    copies: int = 1,
    outside: Tensor | None = None,
) -> OrderedRows:
    """Arrange rows in a random order and compute what all stages share; ``fitted`` rows are descended on."""
    n = len(X) // copies
    numbers = np.random.RandomState(0).permutation(n)[:, None] + n * np.arange(copies)
    order = torch.from_numpy(numbers.ravel()).to(X.device)
    kept = X.new_empty(min(len(X), fitted), features.dim)
    for start in range(0, len(kept), TILE):
        kept[start : start + TILE] = features.features(X[order[start : start + TILE]])[: len(kept) - start]
    target, w = target[order], None if weights is None else weights[order]
    leading = None if axes is None else leading_directions(target, w, p)
    linear = X.new_empty(len(X), 0) if axes is None else axes.of(X)[order]
    beside = None if outside is None else outside[order]
    return OrderedRows(order, linear, axes, kept, room[order], target, leading, w, total, own, X, features, beside)


def row_outputs(
    goal: Tensor, p: int, weights: Tensor | None, center: bool, scale: bool, *, finer: bool = True
) -> tuple[Euclidean, Tensor]:
    """Targets centred and scaled; ``finer``: in the unit of what ``p`` components leave, where that is less."""
    w = goal.new_full((len(goal),), 1.0 / len(goal)) if weights is None else weights
    mean = w @ goal if center else goal.new_zeros(goal.shape[1])
    T = goal - mean
    if center:
        T -= w @ T  # what rounding left
    variance = float(w @ (T * T).sum(1))
    factor = variance**0.5 if scale and variance > 0.0 else 1.0
    T /= factor
    if scale and finer:
        count = min(len(T), _SAMPLE)
        thin = torch.arange(count) * len(T) // count
        unit = kernel_unit(T[thin], p, w[thin] / w[thin].sum())
        T, factor = T / unit, factor * unit
    return Euclidean(mean.cpu().numpy(), factor, None), T
