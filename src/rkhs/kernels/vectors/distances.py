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
        """Rows, columns from the diagonal on, and room for the values."""
        n = len(self.matrix)
        for i in range(0, n, TILE):
            near = slice(i, min(i + TILE, n))
            for j in range(i, n, TILE):
                far = slice(j, min(j + TILE, n))
                shape = (near.stop - i, far.stop - j)
                yield near, far, self._buffer[: shape[0] * shape[1]].view(shape)

    def place(self, near: slice, far: slice, values: Tensor) -> None:
        """Write a tile down, and its mirror."""
        K = self.matrix
        if near != far:
            K[near, far] = values
            K[far, near] = values.mT
        else:  # a matrix product is symmetric up to rounding, which a large rate makes visible
            torch.maximum(values, values.mT, out=K[near, near])


def strips(K: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Whole rows of a matrix, so few that they are written in place while cached."""
    n, m = K.shape
    height = max(ROWS, 2 * TILE**2 // max(m, 1))
    for start in range(0, n, height):
        rows = slice(start, min(start + height, n))
        yield rows, K[rows]


def cancels(ratio: float, dtype: torch.dtype) -> bool:
    """Whether a matrix product on centred data loses the digits of distances: one far point, or groups far apart."""
    return ratio > (1e6 if dtype == torch.float64 else 1e4)


def rounding(norms: Tensor) -> float:
    """What rounding can make of a squared distance of zero, given the squared norms of centred points."""
    return 8.0 * torch.finfo(norms.dtype).eps * float(norms.max()) if len(norms) else 0.0


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
