"""Squared distances without loss of digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import column_means

ROWS = 64  # rows of a sweep: a block of some thousand columns stays in the second-level cache
TILE = 256  # side of a square tile: the distances and the terms of a sum fit the second-level cache


def new_matrix(n: int, m: int, like: Tensor) -> Tensor:
    """Uninitialised matrix of shape (n, m), with dtype and device of ``like``."""
    dtype = {torch.float64: np.float64, torch.float32: np.float32}.get(like.dtype)
    if like.device.type != "cpu" or dtype is None:
        return like.new_empty(n, m)
    return torch.from_numpy(np.empty((n, m), dtype=dtype))


class SymmetricTiles:
    """A symmetric matrix of shape (n, n) in square tiles: a loop over them computes each while it is cached."""

    def __init__(self, n: int, like: Tensor) -> None:
        self.matrix = new_matrix(n, n, like)
        self._buffer = like.new_empty(TILE * TILE)

    def __iter__(self) -> Iterator[tuple[slice, slice, Tensor]]:
        """Rows, columns from the diagonal on, and space for the values."""
        for near in blocks(len(self.matrix), TILE):
            for far in blocks(len(self.matrix), TILE, near.start):
                shape = (near.stop - near.start, far.stop - far.start)
                yield near, far, self._buffer[: shape[0] * shape[1]].view(shape)

    def place(self, near: slice, far: slice, values: Tensor) -> None:
        """Write a tile down, and its mirror."""
        if near != far:
            self.matrix[near, far] = values
            self.matrix[far, near] = values.mT
        else:  # a matrix product is symmetric up to rounding, which a large rate makes visible
            torch.maximum(values, values.mT, out=self.matrix[near, near])


def blocks(n: int, height: int = ROWS, first: int = 0) -> Iterator[slice]:
    """Rows in blocks, from the first on."""
    for start in range(first, n, height):
        yield slice(start, min(start + height, n))


def strips(K: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Whole rows of a matrix, so few that they are written in place while cached."""
    for rows in blocks(len(K), max(ROWS, 2 * TILE**2 // max(K.shape[1], 1))):
        yield rows, K[rows]


def cancels(ratio: float, dtype: torch.dtype) -> bool:
    """Whether a matrix product on centred data loses the digits of distances: one far point, or groups far apart."""
    return ratio > (1e6 if dtype == torch.float64 else 1e4)


def rounding(norms: Tensor) -> float:
    """What rounding can make of a squared distance of zero, given the squared norms of centred points."""
    return 8.0 * torch.finfo(norms.dtype).eps * float(norms.max()) if len(norms) else 0.0


def upper_distances(A: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Squared distances between centred rows, right of the diagonal, block by block; exact zero diagonal."""
    norms = (A * A).sum(1)
    lowered = norms - rounding(norms)  # equal points are at distance zero on every machine
    for rows in blocks(len(A)):
        D = torch.addmm(norms[None, rows.start :], A[rows], A[rows.start :].mT, alpha=-2.0)
        yield rows, D.add_(lowered[rows, None]).clamp_min_(0.0).fill_diagonal_(0.0)


def squared_distances(
    X: Tensor, Y: Tensor | None = None, rate: float = 0.0, of: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Squared Euclidean distances, shape (n, m), by one matrix product on centred data, clamped at zero."""
    center = column_means(X if Y is None else Y)
    A = X - center
    B = A if Y is None else Y - center
    a = (A * A).sum(1)
    b = a if Y is None else (B * B).sum(1)
    if cancels(rate * float(b.max()), A.dtype):
        D = torch.cdist(X, X if Y is None else Y, compute_mode="donot_use_mm_for_euclid_dist").square_()
        return D if of is None else of(D)
    lowered, right = a - rounding(b), B.mT.contiguous()
    D = new_matrix(len(A), len(B), A)
    for rows, strip in strips(D):
        torch.addmm(b[None, :], A[rows], right, alpha=-2.0, out=strip).add_(lowered[rows, None]).clamp_min_(0.0)
        if Y is None:
            strip[:, rows].fill_diagonal_(0.0)
        if of is not None:
            strip.copy_(of(strip))  # costs nothing where the function wrote in place
    return D
