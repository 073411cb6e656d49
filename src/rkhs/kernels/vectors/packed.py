"""Similarities of bits and small counts by counting bits of packed words: exact, and faster than products."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from rkhs._core.threads import count_threads

_ROWS = 16  # a tile of this many rows and all columns stays in the cache for up to some ten thousand columns
_LARGEST = 64  # counts above this are not written in unary


def pack_counts(A: np.ndarray, B: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """Write whole numbers in unary and pack the bits into 64-bit words, so that minima become common bits."""
    small = [_small(part) for part in ((A,) if B is None else (A, B))]
    if any(part is None for part in small):
        return None
    largest = np.max([part.max(axis=0, initial=0) for part in small if part is not None], axis=0)
    words = [_words(part, largest) for part in small if part is not None]
    return words[0], words[-1]


def _small(A: np.ndarray) -> np.ndarray | None:
    """The numbers as bytes, or None if one of them is not a whole number from 0 to 64."""
    if A.dtype != np.uint8:
        if not (A.min(initial=0) >= 0 and A.max(initial=0) <= _LARGEST):
            return None
        small = A.astype(np.uint8)
        return small if bool((small == A).all()) else None
    return A if A.max(initial=0) <= _LARGEST else None


def _words(A: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Column t becomes ``largest[t]`` bits, of which the first ``A[:, t]`` are set."""
    parts = [A > 0]
    for level in range(2, int(largest.max(initial=0)) + 1):
        columns = np.flatnonzero(largest >= level)
        parts.append(A[:, columns] >= level)
    bits = np.packbits(np.concatenate(parts, axis=1), axis=1)
    width = -(-max(bits.shape[1], 1) // 8) * 8
    padded = np.zeros((len(bits), width), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def packed_jaccard(A: np.ndarray, B: np.ndarray | None = None) -> Tensor:
    """Common bits over bits in either row; two rows without bits have 1."""
    right = A if B is None else B
    columns = np.ascontiguousarray(right.T)
    left_bits = np.bitwise_count(A).sum(1, dtype=np.int64)
    right_bits = left_bits if B is None else np.bitwise_count(right).sum(1, dtype=np.int64)
    K = np.empty((len(A), len(right)))

    def tile(start: int) -> None:
        rows = A[start : start + _ROWS]
        first = start if B is None else 0
        shape = (len(rows), len(right) - first)
        common = np.zeros(shape, dtype=np.uint16 if A.shape[1] < 1024 else np.uint32)
        both, count = np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=np.uint8)
        for word in range(A.shape[1]):
            np.bitwise_and(rows[:, word, None], columns[word, first:], out=both)
            np.bitwise_count(both, out=count)
            common += count
        either = left_bits[start : start + _ROWS, None] + right_bits[first:] - common
        K[start : start + _ROWS, first:] = np.where(either > 0, common / np.maximum(either, 1), 1.0)

    starts = range(0, len(A), _ROWS)
    threads = count_threads()
    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(tile, starts))
    else:
        for start in starts:
            tile(start)
    if B is None:
        for start in starts:
            K[start + _ROWS :, start : start + _ROWS] = K[start : start + _ROWS, start + _ROWS :].T
            square = K[start : start + _ROWS, start : start + _ROWS]
            square[:] = np.triu(square) + np.triu(square, 1).T
    return torch.from_numpy(K)


def jaccard(X: Tensor, Y: Tensor | None, *, bits_only: bool) -> Tensor | None:
    """The Jaccard index of rows of bits (or of counts, as multisets) by packed words; None for other rows."""
    if X.device.type != "cpu" or X.shape[0] * (X if Y is None else Y).shape[0] < 64:
        return None
    rows = [T.detach().numpy() for T in ((X,) if Y is None else (X, Y))]
    if _small(rows[0][:1]) is None or (bits_only and any(part.max(initial=0) > 1.0 for part in rows)):
        return None
    packed = pack_counts(rows[0], None if Y is None else rows[1])
    if packed is None:
        return None
    return packed_jaccard(packed[0], None if Y is None else packed[1]).to(X.dtype)
