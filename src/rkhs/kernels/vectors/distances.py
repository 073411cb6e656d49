"""Squared distances between rows without cancellation, and their medians for bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import column_means

ROWS = 64  # rows of a block: with some thousand columns it stays in the second-level cache
_SAMPLE = 1024  # rows whose pairs bracket the median
_MARGIN = 0.05  # half of the share of pairs inside the bracket
TILE = 256  # side of a square tile: the distances and the terms of a sum fit the second-level cache
_GPU_ROWS = 2048  # of a block on a GPU: large products fill it, and each block costs some launches


def height(like: Tensor, on_cpu: int = ROWS) -> int:
    """Rows of a block by the device: what a cache holds, or what fills a GPU."""
    return on_cpu if like.device.type == "cpu" else _GPU_ROWS


def plain_squared_distances(X: Tensor, Y: Tensor) -> Tensor:
    """Squared distances (n, m) for derivatives of any order; in a graph, by one product."""
    if not torch.jit.is_tracing() and not torch.compiler.is_compiling():
        return ((X[:, None, :] - Y) ** 2).sum(-1)  # exact where rows coincide, as second derivatives need it
    X, Y = X - Y.mean(0), Y - Y.mean(0)
    return ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - 2.0 * X.mm(Y.T)).clamp_min(0.0)


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
        self._side = max(1, min(n, height(like, TILE)))
        self._buffer = like.new_empty(self._side**2)

    def __iter__(self) -> Iterator[tuple[slice, slice, Tensor]]:
        """Rows, columns from the diagonal on, and space for the values."""
        for near in blocks(len(self.matrix), self._side):
            for far in blocks(len(self.matrix), self._side, near.start):
                shape = (near.stop - near.start, far.stop - far.start)
                yield near, far, self._buffer[: shape[0] * shape[1]].view(shape)

    def place(self, near: slice, far: slice, values: Tensor) -> None:
        """Store a tile and its transpose."""
        if near != far:
            self.matrix[near, far] = values
            self.matrix[far, near] = values.mT
        else:  # a matrix product is symmetric up to rounding, which a large rate makes visible
            torch.maximum(values, values.mT, out=self.matrix[near, near])


def blocks(n: int, height: int = ROWS, first: int = 0) -> Iterator[slice]:
    """Yield slices of ``height`` rows from row ``first`` on."""
    for start in range(first, n, height):
        yield slice(start, min(start + height, n))


def strips(K: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of whole rows that fit the cache, as slices and views."""
    for rows in blocks(len(K), max(height(K), 2 * TILE**2 // max(K.shape[1], 1))):
        yield rows, K[rows]


def cancels(ratio: float, dtype: torch.dtype) -> bool:
    """Whether a matrix product on centred data loses the digits of distances: one far point, or groups far apart."""
    return ratio > (1e6 if dtype == torch.float64 else 1e4)


def rounding(norms: Tensor) -> float:
    """Bound the rounding error of a squared distance of zero, given the squared norms of centred points."""
    return 8.0 * torch.finfo(norms.dtype).eps * float(norms.max()) if len(norms) else 0.0


def upper_distances(A: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Squared distances between centred rows, right of the diagonal, block by block; exact zero diagonal."""
    norms = (A * A).sum(1)
    lowered = norms - rounding(norms)  # equal points are at distance zero on every machine
    for rows in blocks(len(A), height(A)):
        D = torch.addmm(norms[None, rows.start :], A[rows], A[rows.start :].mT, alpha=-2.0)
        yield rows, D.add_(lowered[rows, None]).clamp_min_(0.0).fill_diagonal_(0.0)


def squared_distances(
    X: Tensor, Y: Tensor | None = None, rate: float = 0.0, of: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """``of`` the squared distances (n, m), by one product of centred data unless ``rate`` shows that digits cancel."""
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


def weighted_median(values: Tensor, weights: Tensor) -> float:
    """Median of all entries, by weights of the same shape."""
    flat = values.reshape(-1)
    order = torch.argsort(flat)
    ordered, w = flat[order], weights.reshape(-1)[order]
    kept = w > 0
    ordered, w = ordered[kept], w[kept]
    cumulative = torch.cumsum(w, 0) / w.sum()
    half = torch.tensor(0.5, dtype=cumulative.dtype, device=cumulative.device)
    slack = 1e-12
    lower = int(torch.searchsorted(cumulative, half - slack))
    upper = int(torch.searchsorted(cumulative, half + slack))
    last = len(ordered) - 1
    return float((ordered[min(lower, last)] + ordered[min(upper, last)]) / 2)


def pair_median(D: Tensor) -> float:
    """Median of all entries of a symmetric matrix with a zero diagonal, from the entries above the diagonal alone."""
    n = D.shape[0]
    array = D.cpu().numpy()
    pairs = np.empty(n * (n - 1) // 2, dtype=array.dtype)
    done = 0
    for i in range(n - 1):
        pairs[done : done + n - 1 - i] = array[i, i + 1 :]
        done += n - 1 - i
    return _mean_of_middle(_middle(iter([pairs]), n))


def _mean_of_middle(values: list[float]) -> float:
    """Mean of one or two values, halved first: the largest numbers do not overflow."""
    return float(values[0]) / 2.0 + float(values[-1]) / 2.0


def median_squared_distance(X: Tensor, weights: Tensor | None = None) -> float:
    """Median squared distance of all ordered pairs of rows, weighted by ``w_i w_j``."""
    if weights is not None:
        return weighted_median(squared_distances(X), torch.outer(weights, weights))
    return _mean_of_middle(middle_squared_distances(X))


def middle_squared_distances(X: Tensor) -> list[float]:
    """The one or two middle values of the n^2 squared distances between rows, in order."""
    n = X.shape[0]
    ranks = _pair_ranks(n)
    if n <= _SAMPLE or not ranks:
        return _middle(_upper_distances(X), n)
    chosen = np.random.default_rng(0).choice(n, _SAMPLE, replace=False)  # any choice gives the same answer
    sample = _joined(_upper_distances(X[torch.from_numpy(chosen).to(X.device)]))
    share = ranks[0] / (n * (n - 1) / 2)
    ends = [int(np.clip(q * len(sample), 0, len(sample) - 1)) for q in (share - _MARGIN, share + _MARGIN)]
    sample.partition(ends)
    low, high = sample[ends[0]], sample[ends[1]]
    below, inside = 0, []
    for values in _upper_distances(X):
        below += int(np.count_nonzero(values < low))
        inside.append(values[(values >= low) & (values <= high)])
    kept = np.concatenate(inside)
    found = [rank - below for rank in ranks]
    if found[0] < 0 or found[-1] >= len(kept):
        return _middle(_upper_distances(X), n)
    kept.partition(found)
    return [float(kept[k]) for k in found]


def _upper_distances(X: Tensor) -> Iterator[np.ndarray]:
    """Squared distances of the pairs ``i < j``, in blocks of rows."""
    for _, D in upper_distances(X - column_means(X)):
        array, count = D.cpu().numpy(), len(D)
        yield array[:, :count][np.triu_indices(count, 1)]
        yield array[:, count:]


def _joined(blocks: Iterator[np.ndarray]) -> np.ndarray:
    return np.concatenate([block.ravel() for block in blocks])


def _middle(blocks: Iterator[np.ndarray], n: int) -> list[float]:
    """Middle values of n zeros and of every pair twice."""
    pairs = _joined(blocks)
    ranks = _pair_ranks(n)
    if not ranks:
        return [0.0]
    pairs.partition(ranks)
    middle = [float(pairs[k]) for k in ranks]
    return middle if len(middle) == len(_middle_ranks(n)) else [0.0, *middle]


def _middle_ranks(n: int) -> list[int]:
    """Ranks of the middle among ``n^2`` values: one, or two."""
    return sorted({(n * n - 1) // 2, n * n // 2})


def _pair_ranks(n: int) -> list[int]:
    """Ranks of these values among the ``n (n - 1) / 2`` pairs, each of which occurs twice after n zeros."""
    return [(k - n) // 2 for k in _middle_ranks(n) if k >= n]


def median_bandwidth(D: Tensor, weights: Tensor | None = None) -> float:
    """Return one over the median distance of all ordered pairs, ``D`` of shape (n, n), weighted by ``w_i w_j``."""
    weights = None if weights is None else weights.to(D)  # distances of several views are float64
    scale = pair_median(D) if weights is None else weighted_median(D, torch.outer(weights, weights))
    if scale <= 0.0:
        scale = float(D.mean() if weights is None else weights @ D @ weights)
    return 1.0 if scale <= 0.0 else 1.0 / scale
