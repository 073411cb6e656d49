"""Anchors, their positives (similar points) and negatives, as rows of one set of points."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_FEW = 8  # up to this many points per anchor, adding rows is faster than a sparse product


@dataclass(frozen=True)
class Links:
    """Links from each anchor to as many points, with equal weights that sum to one."""

    index: Tensor  # (n, m): the points of each anchor
    n_points: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of anchors and number of points."""
        return len(self.index), self.n_points

    @property
    def rows(self) -> Tensor:
        """Anchor of each link, shape (n m,)."""
        return torch.arange(len(self.index), device=self.index.device).repeat_interleave(self.index.shape[1])

    @property
    def cols(self) -> Tensor:
        """Point of each link, shape (n m,)."""
        return self.index.reshape(-1)

    @property
    def weights(self) -> Tensor:
        """Return the weights of each link, shape (n m,)."""
        return torch.full_like(self.cols, 1.0 / self.index.shape[1], dtype=torch.float64)

    @property
    def matrix(self) -> Tensor:
        """The sparse averaging matrix of shape (n, N)."""
        return torch.sparse_coo_tensor(
            torch.stack([self.rows, self.cols]), self.weights, self.shape, check_invariants=False
        ).coalesce()

    def average(self, F: Tensor) -> Tensor:
        """Weighted means of rows of ``F``, one for each anchor, shape (n, r)."""
        if self.index.shape[1] > _FEW:
            return torch.sparse.mm(self.matrix.to(F.dtype), F)
        first, *rest = self.index.unbind(1)
        total = F.index_select(0, first)
        for column in rest:
            total += F.index_select(0, column)
        return total if not rest else total.div_(self.index.shape[1])

    def spread(self, A: Tensor) -> Tensor:
        """Adjoint of :meth:`average`: from rows of anchors, shape (n, h), to points, shape (N, h)."""
        return torch.sparse.mm(self.matrix.mT.to(A.dtype), A)

    def totals(self) -> Tensor:
        """Sum of the weights that each point receives, shape (N,)."""
        return self.weights.new_zeros(self.n_points).index_add_(0, self.cols, self.weights)


@dataclass(frozen=True)
class Groups:
    """Links from each anchor to all other members of its group, with equal weights, which are not listed."""

    anchors: Tensor  # (n,): the point that each anchor is
    groups: Tensor  # (n,): its group, from 0; every group has two anchors or more
    n_points: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of anchors and number of points."""
        return (len(self.anchors), self.n_points)

    def _others(self, A: Tensor) -> Tensor:
        """Means over the other members, for rows of anchors."""
        counts = torch.bincount(self.groups)
        sums = A.new_zeros(len(counts), A.shape[1]).index_add_(0, self.groups, A)
        return (sums[self.groups] - A).div_((counts[self.groups] - 1).to(A.dtype)[:, None])

    def average(self, F: Tensor) -> Tensor:
        """Means of rows of ``F`` over the other members, shape (n, r)."""
        return self._others(F.index_select(0, self.anchors))

    def spread(self, A: Tensor) -> Tensor:
        """Adjoint of :meth:`average`: from rows of anchors, shape (n, h), to points, shape (N, h)."""
        return A.new_zeros(self.n_points, A.shape[1]).index_add_(0, self.anchors, self._others(A))

    def totals(self) -> Tensor:
        """Sum of the weights that each point receives, shape (N,)."""
        totals = torch.zeros(self.n_points, dtype=torch.float64, device=self.anchors.device)
        return totals.index_fill_(0, self.anchors, 1.0)


@dataclass(frozen=True)
class Pairs:
    """Anchors with their positives and negatives, all of them rows of a set of ``N`` points."""

    anchors: Tensor  # (n,): rows of the points that are anchors
    positives: Links | Groups  # points similar to each anchor
    negatives: Links | None  # None: the whole pool, for every anchor
    pool: Tensor  # (N,): weights of the pool, summing to one; used where ``negatives`` is None

    @property
    def n_points(self) -> int:
        """Number of points ``N``."""
        return self.positives.shape[1]

    def differences(self, F: Tensor) -> Tensor:
        """Mean negative minus mean positive of each anchor, for features in the rows of ``F``; shape (n, r)."""
        if self.negatives is None:
            return self.positives.average(F).neg_().add_(self.pool.to(F.dtype) @ F)
        return self.negatives.average(F).sub_(self.positives.average(F))

    def differences_transposed(self, A: Tensor) -> Tensor:
        """Adjoint of :meth:`differences`: coefficients on the points, shape (N, h), of coefficients of shape (n, h)."""
        back = -self.positives.spread(A)
        if self.negatives is None:
            return back + torch.outer(self.pool.to(A.dtype), A.sum(0))
        return back + self.negatives.spread(A)

    def to_points(self, top: Tensor, bottom: Tensor) -> Tensor:
        """Coefficients on the points of ``Phi top + Delta bottom``, shape (N, h)."""
        return self.differences_transposed(bottom).index_add_(0, self.anchors, top)
