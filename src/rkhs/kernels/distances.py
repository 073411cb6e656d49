"""Squared distances without loss of digits, and their medians."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

ROWS = 256  # rows of a sweep: the block of n columns stays in the cache


def new_matrix(n: int, m: int, like: Tensor) -> Tensor:
    """Uninitialised matrix of shape (n, m), with dtype and device of ``like``.

    On the CPU the memory is NumPy's, which asks the system for huge pages where torch does not: at n = 5000 the page
    faults of a fresh Gram matrix cost half as much as its matrix product.
    """
    dtype = {torch.float64: np.float64, torch.float32: np.float32}.get(like.dtype)
    if like.device.type != "cpu" or dtype is None:
        return like.new_empty(n, m)
    return torch.from_numpy(np.empty((n, m), dtype=dtype))


def cancels(ratio: float, dtype: torch.dtype) -> bool:
    """Whether a matrix product on centred data loses the digits of distances: one far point, or groups far apart.

    ``ratio`` is the largest squared norm over the squared distance that matters.
    """
    return ratio > (1e6 if dtype == torch.float64 else 1e4)


def squared_distances(X: Tensor, Y: Tensor | None = None, rate: float = 0.0) -> Tensor:
    """Squared Euclidean distances, shape (n, m), by one matrix product on centred data, clamped at zero.

    Where the product would lose the digits of distances around ``rate^(-1/2)`` they come from differences instead.
    """
    center = (X if Y is None else Y).mean(dim=0)
    A = X - center
    B = A if Y is None else Y - center
    a = (A * A).sum(1)
    b = a if Y is None else (B * B).sum(1)
    if cancels(rate * float(b.max()), A.dtype):
        return torch.cdist(X, X if Y is None else Y, compute_mode="donot_use_mm_for_euclid_dist").square_()
    D = new_matrix(A.shape[0], B.shape[0], A)
    for start in range(0, A.shape[0], ROWS):
        rows = slice(start, min(start + ROWS, A.shape[0]))
        torch.addmm(b[None, :], A[rows], B.mT, alpha=-2.0, out=D[rows])
        D[rows].add_(a[rows, None]).clamp_min_(0.0)
    return D.fill_diagonal_(0.0) if Y is None else D


def weighted_median(values: Tensor, weights: Tensor | None = None) -> float:
    """Median of all entries, weighted if weights of the same shape are given.

    The weighted median is the smallest value at which the cumulative weight reaches one half, averaged with the next
    value when it is reached exactly, so that integer weights and repeated entries give the same number.
    """
    flat = values.reshape(-1)
    if weights is None:
        return float(np.median(flat.cpu().numpy()))  # by partition, where torch sorts
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
    return _median_of_pairs(pairs, n)


def median_squared_distance(X: Tensor, weights: Tensor | None = None) -> float:
    """Median squared distance of all ordered pairs of rows, weighted by ``w_i w_j``; holds n^2 / 2 numbers."""
    n = X.shape[0]
    if weights is not None:
        return weighted_median(squared_distances(X), torch.outer(weights, weights))
    A = X - X.mean(dim=0)
    norms = (A * A).sum(1)
    pairs = np.empty(n * (n - 1) // 2, dtype=np.float64 if X.dtype == torch.float64 else np.float32)
    done = 0
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        block = torch.addmm(norms[None, start:], A[rows], A[start:].mT, alpha=-2.0).add_(norms[rows, None])
        array = block.clamp_min_(0.0).cpu().numpy()
        for i in range(len(array)):
            count = array.shape[1] - i - 1
            pairs[done : done + count] = array[i, i + 1 :]
            done += count
    return _median_of_pairs(pairs, n)


def _median_of_pairs(pairs: np.ndarray, n: int) -> float:
    """Median of n zeros and every pair twice; ``pairs`` is put in another order."""
    middle = list({(n * n - 1) // 2, n * n // 2})
    ranks = [(k - n) // 2 for k in middle if k >= n]
    if ranks:
        pairs.partition(ranks)
    return float(np.mean([0.0 if k < n else float(pairs[(k - n) // 2]) for k in middle]))


def median_bandwidth(D: Tensor, weights: Tensor | None = None) -> float:
    """One over the median distance of all ordered pairs, ``D`` of shape (n, n), weighted by ``w_i w_j``.

    Where more than half of the pairs coincide the mean still has a scale and takes the place of the median; where all
    do, the answer is 1.
    """
    scale = pair_median(D) if weights is None else weighted_median(D, torch.outer(weights, weights))
    if scale <= 0.0:
        scale = float(D.mean() if weights is None else weights @ D @ weights)
    return 1.0 if scale <= 0.0 else 1.0 / scale
