"""Distinct training items, in an order that depends on their contents alone, and their distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tiles
from rkhs.estimators.training import Training, equal_rows, item_keys
from rkhs.kernels.base import Kernel
from rkhs.problems.neighbours import Distances
from rkhs.spaces.features import Nystroem
from rkhs.spaces.features.base import KernelValues, pick
from rkhs.spaces.source import Options
from rkhs.spaces.whole import training_gram

_WHOLE, _LANDMARKS = 3000, 500  # largest number of objects with a Gram matrix, and landmarks for more objects


@dataclass(frozen=True, eq=False)
class DistinctItems:
    """The training items of a map; equal ones are one item with the sum of their weights."""

    kernel: Kernel  # resolved
    distinct: Tensor  # (n,): index of the first of each group of equal items
    kind: Tensor  # (N,): group of each training item
    weights: Tensor  # (n,): sums to one
    diagonal: Tensor  # (n,): ``k(x, x)``
    table: Any  # (n, d): vectors, or the Gram matrix, or features of landmarks
    landmarks: KernelValues | None = None  # map whose features compare many objects

    @classmethod
    def of(cls, kernel: Kernel, training: Training, options: Options) -> DistinctItems:
        """Find the distinct training items: of vectors, or of other items by their Gram matrix."""
        items, weights, vectors = training.items, training.weights, kernel.domain == "vectors"
        if kernel.domain == "objects" and len(items) > _WHOLE:
            return cls._by_landmarks(kernel, training)
        kernel = kernel if vectors else kernel.resolve(items, weights)
        table = items if vectors else _rounded(training_gram(kernel, items, options))
        distinct, kind = distinct_rows(table, gram=not vectors)
        weights = _weights(training, kind)
        if vectors:
            table = table[distinct]
            kernel = kernel.resolve(table, None if bool((weights == weights[0]).all()) else weights.to(table))
            return cls(kernel, distinct, kind, weights, kernel._diag(table), table)
        table = table[distinct][:, distinct].double()
        return cls(kernel, distinct, kind, weights, table.diagonal(), table)

    @classmethod
    def _by_landmarks(cls, kernel: Kernel, training: Training) -> DistinctItems:
        """Find the distinct items of many objects, in the order of their contents; landmarks compare them."""
        items, (keys, kinds) = training.items, (item_keys(training.items), equal_rows(training.items))
        first = np.unique(kinds, return_index=True)[1]
        order = np.array(sorted(range(len(first)), key=lambda i: keys[first[i]]), dtype=np.int64)
        distinct, kind = torch.as_tensor(first[order]), torch.as_tensor(np.argsort(order)[kinds])
        few = pick(items, distinct[torch.linspace(0, len(distinct) - 1, min(_LANDMARKS, len(distinct))).long()])
        kernel = kernel.resolve(few, None)
        found = Nystroem(_LANDMARKS).build(kernel, few, np.random.RandomState(0))
        table = torch.cat([found.features(pick(items, distinct[tile])).float() for tile in tiles(len(distinct), 4096)])
        return cls(kernel, distinct, kind, _weights(training, kind), (table * table).sum(1), table, found)

    def distances(self, dtype: torch.dtype) -> Distances:
        """Squared distances of the items, as a function of two index tensors."""
        if self.landmarks is not None:
            F, norms = self.table.to(dtype), self.diagonal.to(dtype)
            return lambda a, b: torch.addmm(norms[a, None] + norms[b], F[a], F[b].mT, alpha=-2.0)
        if self.kernel.domain != "vectors":
            return lambda a, b: (self.diagonal[a, None] + self.diagonal[b] - 2.0 * self.table[a[:, None], b]).to(dtype)
        X, kernel = self.table.to(dtype), self.kernel
        diagonal = kernel._diag(X)
        return lambda a, b: kernel._gram(X[a], X[b]).mul_(-2.0).add_(diagonal[a, None]).add_(diagonal[b])


def _weights(training: Training, kind: Tensor) -> Tensor:
    """Weights of the groups of equal items, shape (n,)."""
    counts = torch.ones(len(kind)) if training.weights is None else training.weights * training.total
    weights = torch.zeros(int(kind.max()) + 1, dtype=torch.float64).index_add_(0, kind, counts.double())
    weights = (weights / weights.sum()).float().double()  # copies of a row and an equal weight must round alike
    return weights / weights.sum()


def _rounded(K: Tensor) -> Tensor:
    """Round kernel values to twelve digits of the largest, so that those of equal items are equal."""
    size = 2.0 ** math.ceil(math.log2(max(float(K.abs().max()), 1e-300)))  # a power of two, which rounds nothing
    return K.double().div(size).round(decimals=13).mul_(size)


def distinct_rows(table: Tensor, *, gram: bool) -> tuple[Tensor, Tensor]:
    """Return distinct rows, in an order that depends on their contents alone, and for each row its place among them."""
    # By the distance to the mean, to nine digits; where it is equal by the values. Those of a Gram matrix are sorted in
    # each row, so that the order of its columns does not matter.
    kinds = equal_rows(table)
    _, first = np.unique(kinds, return_index=True)
    content = table[first].double()
    if gram:
        content = content[:, first].sort(1).values
        far = table.diagonal()[first].double() - 2.0 * content.mean(1)
    else:
        far = (content - content.sort(0).values.mean(0)).square().sum(1)
    rounded = (far / far.abs().max().clamp_min(1e-300)).numpy().round(9)
    keys = [(key, row.tobytes()) for key, row in zip(rounded.tolist(), content.numpy() + 0.0, strict=True)]
    order = sorted(range(len(first)), key=keys.__getitem__)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return torch.as_tensor(first[order]), torch.as_tensor(rank[kinds])
