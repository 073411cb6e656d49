"""The last layer with all rows as anchors: one linear system, or one per leaf of a tree of the codes.

At the end of a fit in stages every row is an anchor, which helps the more the more rows there are: codes are halved
along principal axes down to leaves of ``2 m`` rows at most, and each leaf solves

    g(z) = k(z, Z_I) C + [z, 1] b,   (K_I + reg diag(1 / w_I)) C + [Z_I, 1] b = T_I

on its rows ``I`` and the ``m`` nearest others, with the weights ``w`` of all rows: all leaves have the prior of one
layer, at the cost O(n (3 m)^2) with ``m`` landmarks of the encoder. Near the cuts a code is decoded by the leaves of
both sides, with weights that sum to one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.eigen import top_eigenpairs
from rkhs._core.linalg import fix_signs
from rkhs.kernels.vectors.distances import squared_distances
from rkhs.problems.decoder import Decoder
from rkhs.problems.last_layers import MORE, AnchoredDecoder, AnchorsLayer
from rkhs.problems.semiparametric import semiparametric_decoder
from rkhs.spaces.features.base import subsampled

MOST_IN_LEAVES = 32_768
"""Largest number of rows of all leaves: the first ones, a random sample."""

# Largest number and tolerance of the steps that refine a code in a leaf: with weak regularisers ten are too few.
CODE_STEPS = (30, 1e-5)
_MIN_NEAREST = 100  # nearest other rows of a leaf
_BLENDED = 10  # ``m // 10`` rows on each side of a cut are decoded by both leaves
_MAX_COEFFICIENTS = 6000  # largest number of coefficients of all leaves over ``m``: bounds the size of model files
_NARROW = 1e-30  # half of the width of a zone if its codes are equal
_SAMPLED = 500  # rows of a leaf from which distances to the others are computed


@dataclass(frozen=True, eq=False)
class Halves:
    """A complete binary tree that halves codes along principal axes, level by level."""

    normals: Tensor  # (2^depth - 1, p)
    cuts: Tensor  # (2^depth - 1,): medians along the normals
    widths: Tensor  # (2^depth - 1,): half of the widths of the zones in which both sides count

    @classmethod
    def of(
        cls,
        Z: Tensor,
        depth: int,
        blended: int,
        direction: Callable[[Tensor], Tensor] | None = None,
        shared: int = 0,
    ) -> tuple[Self, list[Tensor]]:
        """The tree of codes of shape (n, p), and the rows of its leaves; by rank, for equal codes are halved too.

        ``direction(rows)``: the normal of a cut of these rows; None: their principal axis. ``shared`` rows on each side
        of a cut are in both halves.
        """
        parts, found = [torch.arange(len(Z), device=Z.device)], []
        for _ in range(depth):
            sides = []
            for rows in parts:
                normal = principal_axis(Z[rows]) if direction is None else direction(rows)
                along = Z[rows] @ normal
                order = torch.argsort(along, stable=True)
                s, half = along[order], len(rows) // 2
                cut, near = 0.5 * (s[half - 1] + s[half]), min(blended, half)
                width = 0.5 * (s[half + near - 1] - s[half - near])
                if shared > 0:  # every row of the zone is in both halves
                    width = torch.minimum(cut - s[half - near], s[half + near - 1] - cut)
                found.append((normal, cut, width.clamp_min(_NARROW)))
                sides += [rows[order[: half + shared]], rows[order[max(half - shared, 0) :]]]
            parts = sides
        if not found:
            return cls(Z[:0], Z[0, :0], Z[0, :0]), parts
        return cls(*(torch.stack(part) for part in zip(*found, strict=True))), parts

    def leaf_of(self, Z: Tensor) -> Tensor:
        """Indices of the leaves that codes of shape (m, p) lie in, shape (m,)."""
        at = torch.zeros(len(Z), dtype=torch.long, device=Z.device)
        while len(Z) and int(at[0]) < len(self.cuts):
            at = 2 * at + 1 + ((Z * self.normals[at]).sum(1) > self.cuts[at])
        return at - len(self.cuts)


@dataclass(frozen=True, eq=False)
class LocalDecoder(AnchoredDecoder):
    """A solved last layer, replaced by the layers of leaves in leading directions of the targets."""

    halves: Halves
    leaves: list[tuple[Tensor, Decoder]]  # anchors of each leaf and what was solved there
    directions: Tensor | None  # (r, k), orthonormal columns; None: all


@dataclass(frozen=True, eq=False)
class LeavesLayer:
    """The last layer of many rows with a free linear part, on all of them: one system, or one per leaf of the codes."""

    whole: AnchorsLayer  # of the same rows: for the directions without leaves
    reg: float
    m: int = 0  # a leaf has ``2 m`` rows at most, and the ``m`` nearest others
    depth: int = 0  # how often codes are halved; 0: there is one system
    directions: Tensor | None = None  # (r, k): of the targets, in which there are leaves; None: all

    @classmethod
    def of(cls, whole: AnchorsLayer, reg: float, n: int, m: int, leading: Tensor | None = None) -> Self:
        """The layer of ``n`` rows, with leaves in as many leading directions as a model file may hold."""
        used, m = min(n, MOST_IN_LEAVES), max(m, _MIN_NEAREST)
        if n <= MORE * m:
            return cls(whole, reg)
        depth = math.ceil(math.log2(used / (2 * m)))
        count = _MAX_COEFFICIENTS * m // (used + m * 2**depth)
        if leading is None and whole.target.shape[1] > count:
            leading = top_eigenpairs(whole.target.mT @ whole.target, count)[1]
        return cls(whole, reg, m, depth, None if leading is None else leading[:, :count])

    def systems(self, Z: Tensor) -> tuple[Halves, list[Tensor]]:
        """The tree of the codes, and the rows of the system of each leaf. O(n p)."""
        used = Z[:MOST_IN_LEAVES]
        halves, parts = Halves.of(used, self.depth, self.m // _BLENDED)
        return halves, [_with_nearest(used, part, self.m) for part in parts] if self.depth else parts

    def path(self, Z: Tensor, rows: Tensor, target: Tensor, regs: Sequence[float]) -> Iterator[Decoder]:
        """The layer on some of the rows, at the weights that they have among all, for each of some regularisers."""
        A, w, n = Z[rows], self.whole.weights, min(len(Z), MOST_IN_LEAVES)
        w = Z.new_full((len(rows),), 1.0 / n) if w is None else w[rows] / w[:n].sum()
        K = (self.whole.kernel.radial or self.whole.kernel)._gram(A)
        for reg in regs:
            yield semiparametric_decoder(K.clone(), A, target[rows], reg, weights=w)

    def solve(self, Z: Tensor) -> AnchoredDecoder:
        """The layer at codes ``Z`` of shape (n, p). O(n (3 m)^2)."""
        halves, systems = self.systems(Z)
        T = self.whole.target if self.directions is None else self.whole.target @ self.directions
        leaves = [(Z[rows], next(self.path(Z, rows, T, [self.reg]))) for rows in systems]
        if self.depth > 0:
            return LocalDecoder(**vars(self.whole.solve(Z)), halves=halves, leaves=leaves, directions=self.directions)
        ((A, found),) = leaves
        return AnchoredDecoder(A, found.coefficients, found.linear, found.value + self.whole.offset, Z[:0])


def one_leaf(Z: Tensor, sides: np.ndarray, direction: Callable[[Tensor], Tensor]) -> Tensor:
    """Rows of the leaf on the given sides (depth,) of the cuts, 0 or 1, without the other leaves. O(n p)."""
    rows = torch.arange(len(Z), device=Z.device)
    for side in sides:
        order, half = torch.argsort(Z[rows] @ direction(rows), stable=True), len(rows) // 2
        rows = rows[order[half:] if side else order[:half]]
    return rows


def principal_axis(Z: Tensor) -> Tensor:
    """Direction of largest variance of rows (n, p), shape (p,)."""
    X = Z - Z.mean(0)
    return fix_signs(torch.linalg.eigh(X.mT @ X)[1][:, -1:])[:, 0]


def _with_nearest(Z: Tensor, part: Tensor, count: int) -> Tensor:
    """Rows of a leaf, and the ``count`` other rows nearest to a sample of them. O(n p)."""
    distance = squared_distances(Z, subsampled(Z[part], _SAMPLED)).min(1).values
    distance[part] = -1.0
    return torch.argsort(distance, stable=True)[: len(part) + count]
