"""Sums of Cauchy similarities over all rows of a map, on a grid by fast Fourier transforms: O(n), not O(n^2).

With masses ``m_j`` at places ``z_j`` and ``w = 1 / (1 + ||z - z_j||^2)`` the grid gives, at any place,

    phi(z) = sum_j m_j w_j(z),   F(z) = sum_j m_j w_j(z)^2 (z - z_j) = -1/2 grad phi(z).

Masses are spread on the nodes around them by cubic interpolation, convolved with ``w`` and ``w^2 z``, and read off by
the same interpolation: the method of Linderman et al. (2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

_MAX_NODES = {1: 4096, 2: 1024, 3: 96}  # per axis, by the number of axes
MAX_ALL_PAIRS = 1000  # rows up to which all pairs are summed
_MARGIN = 3  # nodes beyond the outermost row
_STEP = 32  # sizes of an axis are its multiples, so that the transformed similarities serve many steps


@dataclass(eq=False)
class CauchyGrid:
    """Sums over moving rows; the transforms of the similarity are cached."""

    spacing: float  # of the nodes, in units of the map; wider where the map would take too many nodes
    border: float = 0.0  # width, around the rows
    kept: dict[tuple[float, tuple[int, ...]], Tensor] = field(default_factory=dict)

    def of(self, Z: Tensor, mass: Tensor) -> Sums:
        """The sums of rows at places ``Z`` (n, p) with masses (n,)."""
        p = Z.shape[1]
        low, high = Z.amin(0) - self.border, Z.amax(0) + self.border
        spacing = max(self.spacing, float((high - low).max()) / (_MAX_NODES[p] - 2 * _MARGIN - _STEP))
        nodes = ((high - low) / spacing).ceil().long() + 2 * _MARGIN
        sizes = tuple(_STEP * math.ceil(int(count) / _STEP) for count in nodes)
        sums = Sums(low - _MARGIN * spacing, spacing, sizes, Z.new_empty(0))
        cells, weights = sums.around(Z)
        grid = Z.new_zeros(math.prod(sizes)).index_add_(0, cells.flatten(), (weights * mass[:, None]).flatten())
        wide = tuple(2 * size for size in sizes)
        spread = torch.fft.rfftn(grid.view(sizes), s=wide)
        fields = torch.fft.irfftn(self._similarities(spacing, wide, Z) * spread, s=wide, dim=tuple(range(1, p + 1)))
        sums.fields = fields[(slice(None), *(slice(size) for size in sizes))].reshape(p + 1, -1)
        return sums

    def _similarities(self, spacing: float, wide: tuple[int, ...], like: Tensor) -> Tensor:
        """Transforms of ``w`` and of ``w^2 z`` along each axis, shape (p + 1, ...)."""
        key = (spacing, wide)
        if key not in self.kept:
            axes = [(torch.arange(size, device=like.device) + size // 2) % size - size // 2 for size in wide]
            offsets = torch.stack(torch.meshgrid(*(axis.double() * spacing for axis in axes), indexing="ij"))
            w = 1.0 / (1.0 + (offsets * offsets).sum(0))
            self.kept = {key: torch.fft.rfftn(torch.cat([w[None], w * w * offsets]).to(like.dtype), s=wide)}
        return self.kept[key]


@dataclass(eq=False)
class ExactSums:
    """The same sums over all rows, O(n) per place."""

    places: Tensor  # (n, p)
    mass: Tensor  # (n,)

    def at(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        """``phi`` and ``F`` at places (m, p)."""
        offsets = [z[:, None] - places for z, places in zip(Z.mT, self.places.mT, strict=True)]
        w = 1.0 / sum((d * d for d in offsets), start=torch.ones(()).to(Z))
        return (self.mass * w).sum(1), torch.stack([(self.mass * w * w * d).sum(1) for d in offsets], 1)


@dataclass(eq=False)
class Sums:
    """The sums at the nodes of a grid."""

    low: Tensor  # (p,): place of the first node
    spacing: float
    sizes: tuple[int, ...]
    fields: Tensor  # (p + 1, nodes): ``phi`` and ``F``

    def around(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        """Indices and weights of the ``4^p`` nodes around each place; places off the grid are moved to its border."""
        most = torch.tensor([size - 2.001 for size in self.sizes]).to(Z)
        u = torch.minimum(((Z - self.low) / self.spacing).clamp_min(1.0), most)
        first = u.floor()
        t = u - first
        a, b, c = t + 1.0, t - 1.0, t - 2.0
        axis = torch.stack([-t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0], 2)
        cells, weights = torch.zeros(len(Z), 1, dtype=torch.int64, device=Z.device), Z.new_ones(len(Z), 1)
        for i, size in enumerate(self.sizes):
            places = first[:, i, None].long() + torch.arange(-1, 3, device=Z.device)
            cells = (cells[:, :, None] * size + places[:, None]).flatten(1)
            weights = (weights[:, :, None] * axis[:, i, None]).flatten(1)
        return cells, weights

    def at(self, Z: Tensor, masses: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``phi`` and ``F`` at places (m, p), without the rows of ``masses`` (m,) that lie at these places."""
        cells, weights = self.around(Z)
        found = (self.fields[:, cells.flatten()].view(len(self.fields), *cells.shape) * weights).sum(2)
        phi = found[0] if masses is None else found[0] - masses * ((weights @ self._nodes(Z)) * weights).sum(1)
        return phi, found[1:].mT

    def _nodes(self, like: Tensor) -> Tensor:
        # ``w`` between the nodes around one place, shape (4^p, 4^p): what a row adds to the sum at its place.
        axes = torch.cartesian_prod(*[torch.arange(4.0) * self.spacing] * len(self.sizes)).view(-1, len(self.sizes))
        return (1.0 / (1.0 + torch.cdist(axes.double(), axes.double()) ** 2)).to(like)
