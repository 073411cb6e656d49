"""Which items are alike and which are not: anchors, their positives and their negatives, as rows of one set of points."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Links", "Pairs"]


@dataclass(frozen=True)
class Links:
    """Weighted links from anchors to points; the weights of each anchor sum to one.

    Parameters
    ----------
    rows : Tensor of shape (e,), integers
        Anchor of each link.
    cols : Tensor of shape (e,), integers
        Point of each link.
    weights : Tensor of shape (e,)
        Not negative.
    shape : tuple of int
        Number of anchors and number of points.
    """

    rows: Tensor
    cols: Tensor
    weights: Tensor
    shape: tuple[int, int]

    @classmethod
    def from_index(cls, index: Tensor, n_points: int, dtype: torch.dtype = torch.float64) -> Links:
        """Equal weights on the points ``index[i]`` of each anchor; ``index`` of shape (n,) or (n, m)."""
        index = index.reshape(index.shape[0], -1)
        n, m = index.shape
        rows = torch.arange(n, device=index.device).repeat_interleave(m)
        weights = torch.full((n * m,), 1.0 / m, dtype=dtype, device=index.device)
        return cls(rows, index.reshape(-1), weights, (n, n_points))

    @property
    def matrix(self) -> Tensor:
        """The sparse averaging matrix of shape (n, N)."""
        return torch.sparse_coo_tensor(
            torch.stack([self.rows, self.cols]), self.weights, self.shape, check_invariants=False
        ).coalesce()

    def average(self, F: Tensor) -> Tensor:
        """Weighted means of rows of ``F``, one for each anchor, shape (n, r)."""
        return torch.sparse.mm(self.matrix.to(F.dtype), F)

    def totals(self) -> Tensor:
        """Sum of the weights that each point receives, shape (N,)."""
        return self.weights.new_zeros(self.shape[1]).index_add_(0, self.cols, self.weights)


@dataclass(frozen=True)
class Pairs:
    """Anchors with their positives and negatives, all of them rows of a set of ``N`` points.

    Parameters
    ----------
    anchors : Tensor of shape (n,), integers
        Rows of the points that are anchors.
    positives : Links
        Points alike each anchor.
    negatives : Links or None
        Points unlike each anchor; None: the whole pool, for every anchor alike.
    pool : Tensor of shape (N,)
        Weights of the pool, summing to one; used where ``negatives`` is None.

    References
    ----------
    Esser et al. (2024), the triplet setting before definition 1; means over several positives and negatives as in
    Saunshi et al. (2019), section 6.3.
    """

    anchors: Tensor
    positives: Links
    negatives: Links | None
    pool: Tensor

    @property
    def n_points(self) -> int:
        """Number of points ``N``."""
        return self.positives.shape[1]

    def differences(self, F: Tensor) -> Tensor:
        """Mean negative minus mean positive of each anchor, for features in the rows of ``F``; shape (n, r)."""
        if self.negatives is None:
            return (self.pool.to(F.dtype) @ F)[None, :] - self.positives.average(F)
        return self.negatives.average(F) - self.positives.average(F)

    def differences_transposed(self, A: Tensor) -> Tensor:
        """Adjoint of :meth:`differences`: coefficients on the points, shape (N, h), of coefficients of shape (n, h)."""
        back = -torch.sparse.mm(self.positives.matrix.mT.to(A.dtype), A)
        if self.negatives is None:
            return back + torch.outer(self.pool.to(A.dtype), A.sum(0))
        return back + torch.sparse.mm(self.negatives.matrix.mT.to(A.dtype), A)

    def to_points(self, top: Tensor, bottom: Tensor) -> Tensor:
        """Coefficients on the points of ``Phi top + Delta bottom``, shape (N, h)."""
        return self.differences_transposed(bottom).index_add_(0, self.anchors, top)
