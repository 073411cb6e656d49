"""A local last layer for many rows: a global decoder, and a decoder for each leaf of a tree of the codes.

Near a cut of the tree the decoders of both sides are blended with smooth weights that sum to one, so that the decoder
is continuous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs._core.stored import check_shape
from rkhs.models.functions import Layer
from rkhs.problems.refinement import CodeRefinement
from rkhs.solvers.row_newton import descend

_TILE = 1024  # rows whose codes are refined at once


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalLayer(Layer):
    """The function ``g(z) + D (sum_l s_l(z) h_l(z) - D^T g(z))`` of leaves ``h_l`` with weights ``s_l``."""

    normals: np.ndarray  # (2^depth - 1, p): of the cuts of the tree, level by level
    cuts: np.ndarray  # (2^depth - 1,): thresholds of ``<normal, z>``
    widths: np.ndarray  # (2^depth - 1,): half-widths of the zones in which both sides are blended
    leaves: tuple[Layer, ...]  # (2^depth,): ``h_l``
    directions: np.ndarray | None = None  # (r, k): ``D``, orthonormal columns; None: all

    def check_stored(self) -> None:
        """Sizes must agree."""
        super().check_stored()
        (_, p), cuts = self.anchors.shape, len(self.leaves) - 1
        if self.coefficients is None or cuts < 1 or cuts & (cuts + 1):
            raise InputError(f"a layer of a model file must have 2, 4, 8 or more leaves; got {len(self.leaves)}")
        check_shape("normals", self.normals, cuts, p)
        check_shape("cuts", self.cuts, cuts)
        check_shape("widths", self.widths, cuts)
        check_shape("directions", self.directions, self.coefficients.shape[1], None)
        width = self.coefficients.shape[1] if self.directions is None else self.directions.shape[1]
        for leaf in self.leaves:
            check_shape("leaf codes", leaf.anchors, None, p)
            check_shape("coefficients", leaf.coefficients, None, width)

    @property
    def everywhere(self) -> Layer:
        """The global decoder ``g``."""
        return Layer(self.kernel, self.anchors, self.coefficients, self.linear)

    def along(self, directions: Tensor) -> Layer:
        """The function ``g(z) D`` for directions ``D`` of shape (r, k), without leaves."""
        return self.everywhere.along(directions)

    def shares(self, Z: Tensor, constant: Callable[[np.ndarray], Tensor] | None = None) -> Tensor:
        """Weights of the leaves at codes of shape (m, p), shape (m, 2^depth): smooth, with compact support, sum one."""
        read = constant or (lambda array: tensor_like(array, Z))
        S = ((Z.mm(read(self.normals.T)) - read(self.cuts)) / read(2.0 * self.widths) + 0.5).clamp(0.0, 1.0)
        S, found = S * S * (3.0 - 2.0 * S), torch.ones_like(Z[:, :1])
        for level in range(len(self.leaves).bit_length() - 1):
            above = S[:, 2**level - 1 : 2 ** (level + 1) - 1]
            found = torch.stack([found * (1.0 - above), found * above], 2).flatten(1)
        return found

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p), shape (m, r); leaves of weight zero are not evaluated."""
        shares, found = self.shares(Z), super().of(Z)
        D = None if self.directions is None else tensor_like(self.directions, Z)
        near = torch.zeros(len(Z), found.shape[1] if D is None else D.shape[1]).to(Z)
        for leaf, share in zip(self.leaves, shares.mT, strict=True):
            rows = share.nonzero()[:, 0]
            if len(rows):
                near[rows] += share[rows, None] * leaf.of(Z[rows])
        return near if D is None else found.addmm_(near - found @ D, D.mT)


def codes_in_leaves(
    last: LocalLayer,
    targets: Tensor,
    start: Tensor,
    squared_radius: Tensor,
    near: Tensor,
    limits: tuple[int, float],
    codes_of: Callable[[CodeRefinement, Tensor, Tensor], Tensor],
    *,
    n: float,
    **how: Any,
) -> Tensor:
    """Refine codes ``near`` (m, p) again, each in its leaf of largest weight; keep those whose objective would rise."""
    leading_targets = targets if last.directions is None else targets @ tensor_like(last.directions, targets)
    chosen, found, order = last.shares(near).argmax(1), [], []
    for number, leaf in enumerate(last.leaves):
        for rows in (chosen == number).nonzero()[:, 0].split(_TILE):
            if len(rows):
                problem = CodeRefinement.of(
                    (leaf,), leading_targets[rows], start[rows], squared_radius[rows].sqrt(), n, **how
                )
                with torch.no_grad():
                    U = descend(problem, problem.nearest(tensor_like(leaf.at_anchors, start)), *limits)
                found.append(codes_of(problem, U, squared_radius[rows]))
                order.append(rows)
    codes = torch.cat(found)[torch.argsort(torch.cat(order))]

    def objective(Z: Tensor) -> Tensor:
        return ((targets - last.of(Z)) ** 2).sum(1) / n + ((Z - start) ** 2).sum(1) / divisor(squared_radius)

    with torch.no_grad():
        better = objective(codes) < objective(near)
    return torch.where(better[:, None], codes, near)
