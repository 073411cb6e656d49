"""A storage as a user would write it: no class of the library is its base, but for the map, which is an interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs.features import FeatureMap


class RowsMap(FeatureMap):
    """Kernel values with some rows, whitened by the inverse root of their Gram matrix."""

    def __init__(self, kernel: Any, rows: Any, root: Any) -> None:
        self.kernel, self.rows, self.root = kernel, rows, root

    @property
    def width(self) -> int:
        return len(self.rows)

    @property
    def kept(self) -> Any:
        return self.rows

    def support(self, like: Tensor) -> Tensor:
        return torch.as_tensor(self.rows).to(like)

    def kept_raw(self) -> Tensor:
        return torch.as_tensor(self.root @ self.root)

    def raw(self, items: Tensor) -> Tensor:
        return self.kernel._gram(items, self.support(items))

    def whiten(self, V: Tensor) -> Tensor:
        return torch.linalg.solve(torch.as_tensor(self.root).to(V), V)

    def whiten_adjoint(self, G: Tensor) -> Tensor:
        return self.whiten(G)  # the root is symmetric

    def raw_of(self, F: Tensor) -> Tensor:
        return F @ torch.as_tensor(self.root).to(F)


class EvenlySpaced:
    """Every so many rows are landmarks."""

    keeps_items, random_state = True, None

    def __init__(self, m: int) -> None:
        self.m = m

    def check(self) -> None:
        assert self.m > 0

    def sample_size(self, n: int) -> int:
        return n

    def build(self, kernel: Any, items: Any, rng: Any) -> RowsMap:
        rows = items[torch.arange(self.m) * len(items) // self.m]
        values, vectors = np.linalg.eigh(kernel._gram(rows).numpy().astype(float))
        return RowsMap(kernel, rows.numpy(), (vectors * values.clip(1e-14) ** 0.5) @ vectors.T)
