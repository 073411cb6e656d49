"""A fitted map that keeps neighbours: places of new items, the decoder, and how good the map is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items, as_tensor, row_index, tensor_like, tiles
from rkhs._core.errors import InputError
from rkhs._core.stored import Stored, check_places, check_shape, check_types, check_whole
from rkhs.kernels.base import Kernel
from rkhs.models.functions import CodeRegression, Layer
from rkhs.problems.cauchy_grid import MAX_ALL_PAIRS, CauchyGrid, ExactSums, Sums
from rkhs.problems.neighbour_map import OutOfSample
from rkhs.problems.neighbours import affinities
from rkhs.solvers.row_newton import descend
from rkhs.spaces.features.base import KernelValues, check_kernel_stored, subsampled

_SPACING, _BORDER = 0.25, 2.0  # of the nodes of the grid of a fixed map, and around its rows
_STEPS, _TOL = 40, 1e-4  # of placing
_ROWS = 128  # that are placed in one batch
_LEFT = 1e-3  # share of the decoded variance outside the directions that places are searched in
_VARIED = 500  # anchors that these directions are found from


def perplexity(n_neighbors: int, n: int) -> float:
    """``n_neighbors``, at most a third of the other rows."""
    return max(1.0, min(float(n_neighbors), (n - 1) / 3.0))


def fixed_sums(Z: Tensor, weights: Tensor, exact: int = MAX_ALL_PAIRS) -> Sums | ExactSums:
    """The repulsion of a map that stays as it is; of more than ``exact`` rows on a grid."""
    return ExactSums(Z, weights) if len(Z) <= exact else CauchyGrid(_SPACING, _BORDER).of(Z, weights)


def embedded(problem: OutOfSample) -> Tensor:
    """Find where the rows of a problem go, shape (m, p)."""
    return descend(problem, problem.start(), _STEPS, _TOL)


def leading_targets(back: CodeRegression) -> tuple[Layer, Tensor]:
    """A decoder along the directions that it varies in at some anchors, and these, shape (r, k)."""
    _, s, axes = torch.linalg.svd(back.of(subsampled(as_tensor(back.anchors), _VARIED)), full_matrices=False)
    left = s.square().sum() - s.square().cumsum(0)
    directions = axes[: int((left > _LEFT * s.square().sum()).sum()) + 1].mT
    return back.along(directions), directions


@dataclass(frozen=True, eq=False)
class MapQuality(Stored):
    """How far a map can be trusted."""

    recall: float  # share of ten neighbours that the map keeps, of rows placed as if they were new
    row_recall: np.ndarray  # (n,): the same of each row at its place
    correlation: float  # of distances to some rows, in the data and in the map
    lost: float | None  # share of the variance that the decoder loses of rows left out


@dataclass(frozen=True, eq=False)
class NeighbourMapModel(Stored):
    """Places of the distinct training items; new items are placed one by one."""

    kernel: Kernel  # resolved
    map: KernelValues  # of all training items, or of landmarks
    distinct: np.ndarray  # (n,): one of each kind of equal items, by number
    kind: np.ndarray  # (N,): which of these each training item equals
    places: np.ndarray  # (n, p)
    weights: np.ndarray  # (n,): sums to one
    diagonal: np.ndarray  # (n,): ``k(x, x)``
    n_neighbors: int
    quality: MapQuality
    back: CodeRegression | None = None  # from codes to vectors
    features: np.ndarray | None = None  # (n, m): of the distinct items, where the map is one of landmarks
    misfit: float = 1.0  # weight of what it loses of a new item, where that is placed

    def check_stored(self) -> None:
        """Sizes must agree."""
        n, count = len(self.distinct), len(self.kind) if self.features is not None else self.map.width
        check_kernel_stored(self.kernel, self.map)
        check_places("distinct items", self.distinct, count)
        check_places("kinds", self.kind, n)
        check_shape("kinds", self.kind, count, kinds="i")
        check_shape("features", self.features, n, self.map.dim)
        check_shape("places", self.places, n, None)
        check_shape("weights", self.weights, n)
        check_shape("diagonal", self.diagonal, n)
        check_whole("number of neighbours", self.n_neighbors, 1)
        check_types(NeighbourMapModel, {"misfit": self.misfit})
        check_shape("row recall", self.quality.row_recall, count)
        if self.back is not None:
            check_shape("anchors", self.back.anchors, None, self.places.shape[1])
            check_shape("mean", self.back.output.mean, self.map.reads)
        if n < 2 or not (self.weights > 0.0).all():
            raise InputError("a map of a model file must have two items or more, of positive weight")

    @property
    def codes(self) -> np.ndarray:
        """Return the codes of all training items, shape (N, p)."""
        return self.places[self.kind]

    @cached_property
    def sums(self) -> Sums | ExactSums:
        """The repulsion at any place."""
        return fixed_sums(*self._tensors[:2])

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Places, weights and ``k(x, x)``."""
        like = torch.zeros(0, dtype=torch.float64)
        return tensor_like(self.places, like), tensor_like(self.weights, like), tensor_like(self.diagonal, like)

    @cached_property
    def targets(self) -> tuple[FixedRows, Tensor] | None:
        """The decoder along the directions that it varies in, and these, shape (r, k); None without a decoder."""
        if self.back is None:
            return None
        layer, directions = leading_targets(self.back)
        return FixedRows(layer), directions

    def encode(self, items: Items) -> Tensor:
        """Places of items, shape (m, p), each by itself; an item that equals a training item has its place."""
        return torch.cat([self._tile(items[tile]) for tile in tiles(len(items), _ROWS)])

    def _tile(self, items: Items) -> Tensor:
        """Place a few items: products of matrices have one shape, so that other items do not change the rounding."""
        m, (Z, _, diagonal) = len(items), self._tensors
        items = padded(items) if isinstance(items, Tensor) else items
        raw, mine = self._values(items)
        tiny, raw = torch.finfo(raw.dtype).eps ** 0.75, raw.double()
        D, columns = (diagonal - 2.0 * raw).topk(min(3 * self.n_neighbors, len(Z)), 1, largest=False)
        problem = OutOfSample(Z, self.sums, columns, affinities(D, perplexity(self.n_neighbors, len(Z))))
        if self.back is not None and self.targets is not None:
            decoder, directions = self.targets
            targets = self.back.output.encode(tensor_like(items, Z)) @ directions
            problem = replace(problem, decoder=decoder, targets=targets, misfit=self.misfit)
        near = diagonal[columns[:, 0]]
        self_similarity = near if mine is None else mine.double()
        equal = self_similarity + D[:, 0] <= tiny * (self_similarity + near)
        return torch.where(equal[:, None], Z[columns[:, 0]], embedded(problem))[:m]

    def _values(self, items: Items) -> tuple[Tensor, Tensor | None]:
        """Kernel values of a tile with the distinct items, and with each item itself; None for a Gram matrix."""
        raw = padded(self.map.raw(items))
        if self.features is not None:
            F = self.map.whiten_adjoint(raw.mT).mT.float()
            return F @ tensor_like(self.features, F).mT, (F * F).sum(1)
        mine = None if self.kernel.domain == "gram" else padded(self.kernel._diag(items)[:, None])[:, 0]
        return raw[:, row_index(self.distinct, raw)], mine


@dataclass(frozen=True, eq=False)
class FixedRows:
    """A layer on batches of one size."""

    layer: Layer

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p)."""
        return self.layer.of(padded(Z))[: len(Z)]

    def pull(self, Z: Tensor, G: Tensor) -> Tensor:
        """Gradients of ``<g_i, layer(z_i)>``, shape (m, p)."""
        return self.layer.pull(padded(Z), padded(G))[: len(Z)]


def padded(T: Tensor) -> Tensor:
    """The rows of a tile with its last row repeated."""
    return T if len(T) == _ROWS else torch.cat([T, T[-1:].expand(_ROWS - len(T), *T.shape[1:])])
