"""Similarities of counts and fingerprints, Tanimoto and MinMax; small counts are packed into bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, symmetric_rows
from rkhs._core.threads import count_threads
from rkhs.kernels.base import VectorKernel
from rkhs.kernels.vectors.distances import TILE, blocks, height

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


class Tanimoto(VectorKernel):
    """Tanimoto kernel ``k(x, y) = x.y / (|x|^2 + |y|^2 - x.y)`` of real vectors.

    On fingerprints (rows of 0 and 1) it is the Jaccard index of the two sets. Two zero vectors have ``k = 1``, a zero
    vector and another ``k = 0``.

    Notes
    -----
    Positive semi-definite on all of R^d, not only on fingerprints: ``1 / (a + b)`` is an integral of
    ``exp(-t a) exp(-t b)``, and ``k`` a geometric series of products of that and the linear kernel. One matrix product:
    O(n m d). Rows of 0 and 1 on the CPU are packed into 64-bit words and their common bits counted: the same values,
    several times faster (``./dev bench objects``).

    References
    ----------
    Ralaivola et al. (2005), section 3.1; the output kernel of Laforgue et al. (2020), section 5.

    Examples
    --------
    >>> from rkhs.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 0]], [[1, 1, 1, 1]])
    array([[0.5]])
    """

    @property
    def rotation_invariant(self) -> bool:
        """It reads inner products only."""
        return True

    @staticmethod
    def _parts(X: Tensor, Y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Values and reciprocal denominators; both are zero where both vectors are."""
        P = X @ Y.mT
        D = (a[:, None] + b).sub_(P)
        R = torch.where(D > 0.0, D.reciprocal(), 0.0)
        return P.mul_(R), R

    def from_products(self, P: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from inner products ``P`` of shape (n, m), which are overwritten, and squared norms ``a``, ``b``."""
        D = (a[:, None] + b).sub_(P)
        return torch.where(D > 0.0, P.div_(D), 1.0)

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        P = X.mm(Y.T)
        D = (X * X).sum(1)[:, None] + (Y * Y).sum(1) - P
        return torch.where(D > 0.0, P / torch.where(D > 0.0, D, 1.0), 1.0)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        packed = jaccard(X, Y, bits_only=True)
        if packed is not None:
            return packed
        B = X if Y is None else Y
        s, t = X.abs().amax(1), B.abs().amax(1)
        if _squares_fit(torch.cat([s, t])):
            a = (X * X).sum(1)
            b = a if Y is None else (B * B).sum(1)
            K = X.new_empty(X.shape[0], B.shape[0])
            for rows in blocks(len(X), height(X, TILE)):
                K[rows] = self._parts(X[rows], B, a[rows], b)[0]
        else:
            K = _of_any_size(X, B, s, t)
        K[(s == 0.0).nonzero(), (t == 0.0).nonzero()[:, 0]] = 1.0
        if Y is None:
            K.fill_diagonal_(1.0)
        return K

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_ones(X.shape[0])

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        G = torch.empty_like(X)
        for rows in blocks(len(X), height(X, TILE)):
            M = symmetric_rows(S, rows.start, rows.stop)
            M[torch.arange(len(M)), torch.arange(rows.start, rows.stop)] = 0.0  # k(x, x) = 1 does not move
            G[rows] = self._cross_pullback(X[rows], X, M)
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        # grad_1 k = (1 + k) y / D - 2 k x / D
        K, R = self._parts(X, Y, (X * X).sum(1), (Y * Y).sum(1))
        M = R.mul_(S)
        return torch.addmm((M * K).sum(1, keepdim=True) * X, K.add_(1.0).mul_(M), Y, beta=-2.0)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)


def _squares_fit(sizes: Tensor) -> bool:
    """Whether squares of rows with these largest moduli stay in the range of numbers; rows of zeros have no square."""
    info, sizes = torch.finfo(sizes.dtype), sizes[sizes > 0.0]
    return len(sizes) == 0 or (bool(info.tiny ** (3 / 8) < sizes.min()) and bool(sizes.max() < info.max ** (3 / 8)))


def _of_any_size(X: Tensor, Y: Tensor, s: Tensor, t: Tensor) -> Tensor:
    """Tanimoto values of rows ``x = s a`` and ``y = t b`` whose squares leave the range of numbers."""
    s, t = (torch.where(size > 0.0, size, torch.ones_like(size)) for size in (s, t))
    A, B = X / s[:, None], Y / t[:, None]
    a, b, K = (A * A).sum(1), (B * B).sum(1), A @ B.mT
    for rows in blocks(len(A), height(A, TILE)):
        ratio = s[rows, None] / t
        K[rows] /= ratio * a[rows, None] + b / ratio - K[rows]
    K[a == 0.0] = 0.0
    K[:, b == 0.0] = 0.0
    return K


class MinMax(VectorKernel):
    """MinMax kernel ``k(x, y) = sum_t min(x_t, y_t) / sum_t max(x_t, y_t)`` of non-negative vectors.

    On fingerprints it equals :class:`Tanimoto`; on counts it does not. Two zero vectors have ``k = 1``.

    Raises
    ------
    InputError
        For a negative entry: the kernel is then not positive semi-definite.

    Notes
    -----
    With ``s = |x|_1 + |y|_1`` and ``D = |x - y|_1`` it is ``(s - D) / (s + D)``: O(n m d) elementwise work and no
    memory beyond the result. Whole numbers up to 64 on the CPU are written in unary and packed into 64-bit words, whose
    common bits are the minima: the same values, tens of times faster. It has no gradient and cannot act on codes.

    References
    ----------
    Ralaivola et al. (2005), section 3.2.

    Examples
    --------
    >>> from rkhs.kernels import MinMax
    >>> MinMax()([[1, 2, 0]], [[2, 1, 1]])
    array([[0.4]])
    """

    @staticmethod
    def _refuse_negative(X: Tensor) -> None:
        if bool((X < 0).any()):
            row = int((X < 0).any(1).nonzero()[0])
            raise InputError(
                f"MinMax reads numbers >= 0; got {float(X[row].min()):g} in row {row}. "
                "Shift the columns to be non-negative, or use Tanimoto"
            )

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        self._refuse_negative(X)
        if Y is not None:
            self._refuse_negative(Y)
        packed = jaccard(X, Y, bits_only=False)
        if packed is not None:
            return packed
        B = X if Y is None else Y
        K = self.from_distances(torch.cdist(X, B, p=1.0), X.sum(1), B.sum(1))
        return K.fill_diagonal_(1.0) if Y is None else K

    @staticmethod
    def from_distances(D: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from L1 distances ``D`` of shape (n, m), which are overwritten, and sums of rows ``a`` and ``b``."""
        for rows in blocks(len(D), height(D, TILE)):
            part, total = D[rows], a[rows, None] + b
            top = (total - part).clamp_min_(0.0)
            part.add_(total)
            top[part == 0.0] = part[part == 0.0] = 1.0
            torch.div(top, part, out=part)
        return D

    def _diag(self, X: Tensor) -> Tensor:
        self._refuse_negative(X)
        return X.new_ones(X.shape[0])
