"""Kernels on objects by counts of their parts: substrings, subtrees, paths, atom neighbourhoods.

An object is a sparse vector of counts, one for each part that occurs. A part is identified by a 64-bit hash that does
not depend on the other objects, so that features of different lists are comparable.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from rkhs._core.arrays import check_items
from rkhs.kernels.base import Kernel

_DENSE = 0.05  # product of both fill ratios of a column above which a dense product is cheaper
_ROWS = 512


class Counts(NamedTuple):
    """Counted parts of n objects."""

    hashes: np.ndarray  # (v,): hashes of the parts that occur, ascending
    matrix: Any  # (n, v): how often


def mix(x: np.ndarray) -> np.ndarray:
    """Scramble 64-bit numbers so that every bit of the result depends on every bit of the argument, one to one."""
    x = x.astype(np.uint64, copy=True)
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def count_parts(rows: np.ndarray, hashes: np.ndarray, n: int) -> Counts:
    """Count the parts of ``n`` objects; ``rows`` is the object of each part."""
    known, columns = np.unique(hashes, return_inverse=True)
    matrix = scipy.sparse.coo_array((np.ones(len(hashes)), (rows, columns.ravel())), shape=(n, len(known))).tocsr()
    return Counts(known, matrix)


def in_unary(rows: np.ndarray, hashes: np.ndarray, counts: np.ndarray, n: int) -> Counts:
    """Count parts in unary: a count c becomes c distinct parts, so that inner products are sums of minima."""
    levels = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return count_parts(np.repeat(rows, counts), np.repeat(mix(hashes), counts) + levels.astype(np.uint64), n)


def stack(blocks: list[Counts]) -> Counts:
    """Put the counts of consecutive blocks of objects below each other."""
    if len(blocks) == 1:
        return blocks[0]
    hashes = np.unique(np.concatenate([block.hashes for block in blocks]))
    return Counts(hashes, scipy.sparse.vstack([_placed(block, hashes) for block in blocks], format="csr"))


def _placed(counts: Counts, hashes: np.ndarray) -> Any:
    """Return the matrix with one column for each hash of a superset."""
    old = counts.matrix
    columns = np.searchsorted(hashes, counts.hashes)[old.indices]
    return scipy.sparse.csr_array((old.data, columns, old.indptr), shape=(old.shape[0], len(hashes)))


def common_product(A: Counts, B: Counts) -> np.ndarray:
    """Inner products of all rows, shape (n, m)."""
    if A is B:
        left = right = A.matrix
    else:
        _, a, b = np.intersect1d(A.hashes, B.hashes, assume_unique=True, return_indices=True)
        left, right = A.matrix[:, a], B.matrix[:, b]
    n, m = left.shape[0], right.shape[0]
    if left.shape[1] == 0:
        return np.zeros((n, m))
    fill = np.bincount(left.indices, minlength=left.shape[1]) / n
    fill = fill * np.bincount(right.indices, minlength=left.shape[1]) / m
    full = np.flatnonzero(fill > _DENSE)
    rare = np.flatnonzero((fill > 0.0) & (fill <= _DENSE))
    K = left[:, full].toarray() @ right[:, full].toarray().T if len(full) else np.zeros((n, m))
    if len(rare):
        rare_rows, other = left[:, rare], right[:, rare].T.tocsr()
        for start in range(0, n, _ROWS):
            K[start : start + _ROWS] += (rare_rows[start : start + _ROWS] @ other).toarray()
    return K


class ObjectKernel(Kernel):
    """A kernel on objects: converts them to a plain form and caches the features of the last training list."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def read(self, X: Any) -> list[Any]:
        """Bring every object to the plain form; raises InputError naming the item that cannot be read."""
        return [self._read_item(item, row) for row, item in enumerate(check_items(X))]

    @abstractmethod
    def _read_item(self, item: Any, row: int) -> Any:
        """Read one object in the plain form."""

    @abstractmethod
    def _features(self, items: list[Any]) -> Any:
        """Features of objects in the plain form."""

    @abstractmethod
    def _from_features(self, F: Any, G: Any) -> Tensor:
        """Gram matrix of features; ``F is G`` for one list."""

    def _gram(self, X: list[Any], Y: list[Any] | None = None) -> Tensor:
        if Y is None:
            F = self._remembered(X)
            return self._from_features(F, F)
        G = self._remembered(Y)
        return self._from_features(G if X is Y else self._features(X), G)

    def _remembered(self, items: list[Any]) -> Any:
        """Features of a list of training items, cached because every call for new items needs them."""
        params = self.get_params(deep=False)
        last = getattr(self, "_cache_features", None)
        if last is not None and _same_items(last[0], items) and last[1] == params and last[2] == len(items):
            return last[3]
        features = self._features(items)
        self._cache_features = (items, params, len(items), features)
        return features

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the cached features."""
        return {k: v for k, v in super().__getstate__().items() if not k.startswith("_cache")}


class PartsKernel(ObjectKernel):
    """Inner product of counted parts, or its cosine (``normalize=True``)."""

    normalize: bool

    @abstractmethod
    def _features(self, items: list[Any]) -> Counts:
        """Counted parts of objects in the plain form."""

    @staticmethod
    def _squared_norms(F: Counts) -> np.ndarray:
        return np.asarray(F.matrix.multiply(F.matrix).sum(axis=1)).ravel()

    def _from_features(self, F: Counts, G: Counts) -> Tensor:
        K = common_product(F, G)
        if self.normalize:
            K *= _inverse_norms(self._squared_norms(F))[:, None]
            K *= _inverse_norms(self._squared_norms(G))
            if F is G:
                np.fill_diagonal(K, (self._squared_norms(F) > 0.0).astype(float))
        return torch.from_numpy(K)

    def _diag(self, X: list[Any]) -> Tensor:
        last = getattr(self, "_cache_features", None)
        F = self._remembered(X) if last is not None and last[0] is X else self._features(X)
        squared_norms = self._squared_norms(F)
        return torch.from_numpy((squared_norms > 0.0).astype(float) if self.normalize else squared_norms)


def _same_items(known: list[Any], items: list[Any]) -> bool:
    """Whether two lists are one object, or equal lists of texts: comparing them is cheaper than counting parts."""
    return known is items or (bool(items) and isinstance(items[0], str) and known == items)


def _inverse_norms(squared_norms: np.ndarray) -> np.ndarray:
    """``squared_norms^(-1/2)``, zero for objects without parts."""
    return np.divide(1.0, np.sqrt(squared_norms), out=np.zeros_like(squared_norms), where=squared_norms > 0.0)
