"""The Gram matrix ``F F^T`` of the features of all rows, for solvers that need its products and inverses only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rkhs.spaces.features import FeatureMap
from rkhs.spaces.sums import STRIP, BlockPass, Data, block_adjoint, block_features, block_lengths


class RowFeatures(Protocol):
    """The n x m features ``F`` of all rows, by their products."""

    def values(self, V: Tensor) -> Tensor:
        """``F V`` of shape (n, p)."""

    def adjoint(self, T: Tensor) -> Tensor:
        """``F^T T`` of shape (m, p)."""

    def lengths(self, V: Tensor) -> Tensor:
        """``|V^T F_i|^2`` of every row, shape (n,)."""


@dataclass(frozen=True, eq=False)
class PassedFeatures:
    """Features that every product recomputes, block by block."""

    passes: Data  # the rows
    block_pass: BlockPass  # with the features, in double precision if the device has it

    def _maps(self, V: Tensor) -> BlockPass:
        return self.block_pass.cast(maps=self.block_pass.features.whiten(V))

    def values(self, V: Tensor) -> Tensor:
        """Take one pass. O(n m p) and the kernel."""
        return self.passes.codes(self._maps(V)).to(V)

    def adjoint(self, T: Tensor) -> Tensor:
        """Take one pass. O(n m p) and the kernel."""
        (raw,) = self.passes.sum(block_adjoint, replace(self.block_pass, side=T))
        return self.block_pass.features.whiten_adjoint(torch.as_tensor(raw))

    def lengths(self, V: Tensor) -> Tensor:
        """Take one pass. O(n m p) and the kernel."""
        passes = self.passes
        parts = passes.engine.map(block_lengths, passes.blocks, passes.rows, self._maps(V))
        return torch.from_numpy(np.concatenate(list(parts))).to(V)

    def in_memory(self) -> InMemoryFeatures:
        """Compute the features once."""
        passes = self.passes
        raw = torch.empty(passes.blocks[-1].stop, self.block_pass.features.width, dtype=torch.float64)
        parts = passes.engine.map(block_features, passes.blocks, passes.rows, self.block_pass)
        for block, part in zip(passes.blocks, parts, strict=True):
            raw[block.start : block.stop] = torch.from_numpy(part)
        return InMemoryFeatures(raw, self.block_pass.features)


@dataclass(frozen=True, eq=False)
class InMemoryFeatures:
    """Features whose raw part is in memory."""

    raw: Tensor  # (n, width)
    features: FeatureMap

    def values(self, V: Tensor) -> Tensor:
        """Take one product."""
        return self.raw @ self.features.whiten(V).to(self.raw)

    def adjoint(self, T: Tensor) -> Tensor:
        """Take one product."""
        return self.features.whiten_adjoint(self.raw.mT @ T.to(self.raw))

    def lengths(self, V: Tensor) -> Tensor:
        """Strip by strip: memory holds the features once, and no second copy."""
        B, found = self.features.whiten(V).to(self.raw), self.raw.new_empty(len(self.raw))
        for start in range(0, len(self.raw), STRIP):
            Z = self.raw[start : start + STRIP] @ B
            found[start : start + STRIP] = torch.linalg.vecdot(Z, Z)
        return found


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """``diag(s) F F^T diag(s)``, never formed."""

    # With ``F^T diag(s^2) F = E diag(v) E^T`` and any function ``g``, ``g(F F^T) = g(0) I + F E diag((g(v) - g(0)) / v)
    # E^T F^T`` where rows outnumber features.

    rows: RowFeatures  # ``F``
    second: Tensor  # (m, m): ``F^T diag(w) F``, the weights ``w`` of the rows, which sum to one
    scale: Tensor  # (n,): ``s``, with squares that are ``total`` times ``w``
    total: float  # sum of the squares of ``s``

    def weighted(self, s: Tensor) -> FeatureGram:
        """``diag(s) K diag(s)`` for ``s`` of shape (n,)."""
        scale = self.scale * s
        return replace(self, scale=scale, total=float(scale @ scale))

    @cached_property
    def _eigenpairs(self) -> tuple[Tensor, Tensor]:
        values, vectors = torch.linalg.eigh(self.second * self.total)
        return values.clamp_min(0.0), vectors

    def spectrum(self) -> Tensor:
        """Eigenvalues, shape (m,), or with a zero where rows outnumber features."""
        values = self._eigenpairs[0]
        more = len(self.scale) > len(values)
        return torch.cat([values.new_zeros(int(more)), values])

    def adjoint(self, T: Tensor) -> Tensor:
        """``F^T diag(s) T`` of shape (m, p) for ``T`` of shape (n, p)."""
        return self.rows.adjoint(T * self.scale[:, None])

    def values(self, V: Tensor) -> Tensor:
        """``diag(s) F V`` of shape (n, p) for ``V`` of shape (m, p)."""
        return self.rows.values(V) * self.scale[:, None]

    def __matmul__(self, W: Tensor) -> Tensor:
        """``K W`` for ``W`` of shape (n, p)."""
        return self.values(self.adjoint(W))

    def resolvent(self, a: Tensor, shift: Tensor, floor: float) -> FeatureResolvent:
        """``(K (x) diag(a) + shift)^-1`` for ``shift`` of shape (B,); nothing is divided by less than ``floor``."""
        values, vectors = self._eigenpairs
        D = values[:, None, None] * a[:, None] + shift
        outside = 1.0 / shift.clamp_min(floor)
        inside = 1.0 / D.clamp_min(floor) - outside
        divisor = values[:, None, None]
        inside = torch.where(divisor > 0.0, inside / divisor.clamp_min(torch.finfo(values.dtype).tiny), 0.0)
        return FeatureResolvent(self, vectors, inside, outside)


@dataclass(frozen=True, eq=False)
class FeatureResolvent:
    """``(K (x) diag(a) + shift)^-1``."""

    gram: FeatureGram
    vectors: Tensor  # (m, m): ``E``
    inside: Tensor  # (m, q or 1, B): ``(g(v) - g(0)) / v``
    outside: Tensor  # (B,): ``g(0)``

    def __call__(self, T: Tensor) -> Tensor:
        """Apply the matrix to ``T`` of shape (n, q, B)."""
        n, q, B = T.shape
        rotated = (self.vectors.mT @ self.gram.adjoint(T.reshape(n, q * B))).view(-1, q, B) * self.inside
        found = self.gram.values(self.vectors @ rotated.reshape(-1, q * B))
        return torch.addcmul(found.view(n, q, B), T, self.outside)

    def add_to(self, out: Tensor, T: Tensor, alpha: float) -> None:
        """Add ``alpha`` times the product with ``T`` to ``out``."""
        out.add_(self(T), alpha=alpha)
