"""Items in memory with their Gram matrix, or with finite features of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs.kernels import Kernel
from rkhs.kernels.base import not_finite
from rkhs.spaces.features import FeatureMap, Storage
from rkhs.spaces.features.base import check_sample_memory, pick, resolve_subsampled, sample_rows
from rkhs.spaces.rounding import check_row_digits, refuse_identical
from rkhs.spaces.source import BLOCK, Options
from rkhs.spaces.whole import whole_items


@dataclass(frozen=True, eq=False)
class InMemoryItems:
    """Items with their Gram matrix, or with features of them."""

    kernel: Kernel  # resolved
    items: Any  # (n, d)
    values: Tensor  # (n, n): their Gram matrix, or features of them
    map: FeatureMap  # feature map of new items

    @classmethod
    def open(cls, options: Options, storage: Storage | str, kernel: Kernel, items: Any) -> Self:
        """Resolve a kernel on the items and compute their Gram matrix or features; landmarks are among the items."""
        if isinstance(storage, Storage):
            check_sample_memory(storage, items)
            rng, n = check_seed(storage.random_state), len(items)
            sample = pick(items, None if kernel.domain == "gram" else sample_rows(n, storage.sample_size(n), rng))
            kernel = resolve_subsampled(kernel, sample, None)
            check_row_digits(kernel, sample, squared=True)
            features: FeatureMap = storage.build(kernel, sample, rng)
            values = item_features(kernel, features, items)
        else:
            kernel = kernel.resolve(items)
            features, values = whole_items(kernel, items, options)
        refuse_identical(values, factored=not features.whole)
        return cls(kernel, items, values, features)

    def of(self, items: Any, options: Options) -> Self:
        """Return the same kernel and features with other items."""
        if self.factored:
            return replace(self, items=items, values=item_features(self.kernel, self.map, items))
        features, values = whole_items(self.kernel, items, options)
        return replace(self, items=items, values=values, map=features)

    @property
    def factored(self) -> bool:
        """Whether ``values`` are features."""
        return not self.map.whole

    @property
    def diagonal(self) -> Tensor:
        """``k(x, x)`` of the items, shape (n,)."""
        return (self.values * self.values).sum(1) if self.factored else self.values.diagonal()

    def rows(self, tile: slice) -> Tensor:
        """Kernel values of some items with all items."""
        return self.values[tile] @ self.values.mT if self.factored else self.values[tile]


def item_features(kernel: Kernel, features: FeatureMap, items: Any) -> Tensor:
    """Features of all items, shape (n, r)."""
    F = torch.cat([features.features(items[i : i + BLOCK]) for i in range(0, len(items), BLOCK)])
    if not bool(torch.isfinite(F.sum())):
        raise not_finite(kernel, F)
    return F
