"""Gram matrices of codes inside a deep restricted kernel machine: dense, or a tile of rows at a time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from rkhs._core.linalg import Outer
from rkhs.kernels import Gaussian, Kernel, Scaled, Sum
from rkhs.kernels.vectors.distances import squared_distances
from rkhs.kernels.vectors.dot_product import DotProduct, Linear
from rkhs.kernels.vectors.radial import Radial

LinearMap = Callable[[Tensor], Tensor]

_TILE_BYTES = 2**26


class InnerGram(ABC):
    """The Gram matrix ``K = k(Z, Z)`` of codes ``Z`` of shape (n, s), as a deep machine uses it."""

    @abstractmethod
    def times(self, V: Tensor) -> Tensor:
        """``K V``, shape (n, q)."""

    @abstractmethod
    def pullback(self, T: Tensor) -> Tensor:
        """Gradient of ``Tr(T^T k(Z, Z) T)`` with respect to ``Z``, shape (n, s)."""

    @abstractmethod
    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """The pull-back as ``V -> B V`` with ``B`` frozen at ``Z`` and ``B Z`` the gradient; None without that form."""


class ExactGram(InnerGram):
    """The dense matrix of any differentiable kernel."""

    def __init__(self, kernel: Kernel, Z: Tensor) -> None:
        self.kernel = kernel
        self.Z = Z
        self.K = kernel._gram(Z)

    def times(self, V: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return self.K @ V

    def pullback(self, T: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return self.kernel.pullback(self.Z, Outer(T, T), self.K)

    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """See :class:`InnerGram`."""
        return _linear_pullback(self.kernel, self.Z, T, self.K)


class TiledGram(InnerGram):
    """The exact matrix of any differentiable kernel, of which a tile of rows is held at one time."""

    def __init__(self, kernel: Kernel, Z: Tensor, rows: int | None = None) -> None:
        self.kernel = kernel
        self.Z = Z
        n = Z.shape[0]
        step = max(1, _TILE_BYTES // (8 * n)) if rows is None else rows
        self.tiles = [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def times(self, V: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        return torch.cat([self.kernel._gram(self.Z[tile], self.Z) @ V for tile in self.tiles])

    def pullback(self, T: Tensor) -> Tensor:
        """See :class:`InnerGram`."""
        parts = [self.kernel._cross_pullback(self.Z[tile], self.Z, T[tile] @ T.mT) for tile in self.tiles]
        return torch.cat(parts).mul_(2.0)

    def linear_pullback(self, T: Tensor) -> LinearMap | None:
        """See :class:`InnerGram`; the tiles are computed again at every application."""
        edges = _edges(self.kernel)
        if edges is None:
            return None

        def apply(V: Tensor) -> Tensor:
            out = torch.empty_like(V)
            for tile in self.tiles:
                outer, total = T[tile] @ T.mT, torch.zeros_like(V[tile])
                for values, factor, laplacian in edges:
                    W = outer * values(self.Z[tile], self.Z)
                    part = W.sum(1, keepdim=True) * V[tile] - W @ V if laplacian else W @ V
                    total.add_(part, alpha=factor)
                out[tile] = total
            return out

        return apply


def growth(kernel: Kernel, s: int) -> tuple[float, float]:
    """Power ``q`` and factor ``a`` of the growth ``k(z, z) ~ a |z|^q`` far from the origin."""
    z = torch.full((2, s), 1.0 / math.sqrt(s), dtype=torch.float64)
    near, far = (float(v) for v in kernel._diag(z * torch.tensor([[1e5], [1e6]], dtype=torch.float64)))
    power = math.log10(far / near) if near > 0.0 and far > 0.0 else 0.0
    return power, far / 10.0 ** (6.0 * round(power))


Edges = tuple[Callable[..., Tensor], float, bool]
"""Weights ``w(X, Y)`` of shape (m, n) of the pairs, a factor, and whether they act as a graph Laplacian."""


def _edges(kernel: Kernel) -> list[Edges] | None:
    """What the pull-back of ``Tr(T^T K T)`` multiplies with, term by term of a sum; None without that form."""
    found = [_edge(term, factor) for term, factor in _terms(kernel)]
    known = [edge for edge in found if edge is not None]
    return known if len(known) == len(found) else None


def _terms(kernel: Kernel, factor: float = 1.0) -> Iterator[tuple[Kernel, float]]:
    """The terms of a sum, with the factors before them."""
    if isinstance(kernel, Scaled):
        yield from _terms(kernel.base, factor * kernel.scale)
    elif isinstance(kernel, Sum):
        for part in kernel.parts:
            yield from _terms(part, factor)
    else:
        yield kernel, factor


def _edge(kernel: Kernel, factor: float) -> Edges | None:
    if isinstance(kernel, Gaussian):
        return kernel._gram, -4.0 * kernel._gamma * factor, True
    if isinstance(kernel, Radial) and kernel.radial is not None:
        return lambda X, Y=None: kernel._slope(squared_distances(X, Y)), 4.0 * factor, True
    if isinstance(kernel, DotProduct) and not (isinstance(kernel, Linear) and kernel.offset is not None):
        return lambda X, Y=None: kernel._slope(X @ (X if Y is None else Y).mT), 2.0 * factor, False
    return None


def _linear_pullback(kernel: Kernel, Z: Tensor, T: Tensor, K: Tensor) -> LinearMap | None:
    edges = _edges(kernel)
    if edges is None:
        return None
    maps = []
    for values, factor, laplacian in edges:
        W = (T @ T.mT).mul_(K if isinstance(kernel, Gaussian) else values(Z))
        maps.append(_edge_map(W, factor, W.sum(1, keepdim=True) if laplacian else None))
    return maps[0] if len(maps) == 1 else lambda V: torch.stack([one(V) for one in maps]).sum(0)


def _edge_map(W: Tensor, factor: float, degrees: Tensor | None) -> LinearMap:
    if degrees is None:
        return lambda V: (W @ V).mul_(factor)
    return lambda V: torch.addmm(degrees * V, W, V, alpha=-1.0).mul_(factor)
