"""A fitted neighbour embedding: out-of-sample codes, decoder and measures of quality."""

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

_SPACING, _BORDER = 0.25, 2.0  # of the nodes of the grid of a fixed map, and its margin around the codes
_STEPS, _TOL = 40, 1e-4  # largest number of steps that place an item, and their tolerance
_ROWS = 128  # rows of a batch
_LEFT = 1e-3  # share of the decoded variance outside the directions that placements use
_VARIED = 500  # anchors from which these directions are computed


def perplexity(n_neighbors: int, n: int) -> float:
    """``n_neighbors``, at most a third of the other rows."""
    return max(1.0, min(float(n_neighbors), (n - 1) / 3.0))


def fixed_sums(Z: Tensor, weights: Tensor, exact: int = MAX_ALL_PAIRS) -> Sums | ExactSums:
    """Repulsion from the codes of a fixed map; on a grid for more than ``exact`` rows."""
    return ExactSums(Z, weights) if len(Z) <= exact else CauchyGrid(_SPACING, _BORDER).of(Z, weights)


def embedded(problem: OutOfSample) -> Tensor:
    """Solve an out-of-sample problem: codes of its rows, shape (m, p)."""
    return descend(problem, problem.start(), _STEPS, _TOL)


def projected_decoder(back: CodeRegression) -> tuple[Layer, Tensor]:
    """The decoder projected on the leading directions of its values at some anchors, and these, shape (r, k)."""
    _, s, axes = torch.linalg.svd(back.of(subsampled(as_tensor(back.anchors), _VARIED)), full_matrices=False)
    left = s.square().sum() - s.square().cumsum(0)
    directions = axes[: int((left > _LEFT * s.square().sum()).sum()) + 1].mT
    return back.along(directions), directions


@dataclass(frozen=True, eq=False)
class MapQuality(Stored):
    """Measures of the quality of a map."""

    recall: float  # share of ten neighbours that the map keeps, of rows placed as if they were new
    row_recall: np.ndarray  # (n,): the same for each row with its training code
    correlation: float  # of distances to some rows, in the data and in the map
    lost: float | None  # held-out error of the decoder, as a share of the variance; None without a decoder


@dataclass(frozen=True, eq=False)
class NeighbourMapModel(Stored):
    """Codes (places) of the distinct training items; new items are placed one by one."""

    kernel: Kernel  # resolved
    map: KernelValues  # of all training items, or of landmarks
    distinct: np.ndarray  # (n,): index of the first of each group of equal items
    kind: np.ndarray  # (N,): group of each training item
    places: np.ndarray  # (n, p): codes of the distinct items
    weights: np.ndarray  # (n,): sums to one
    diagonal: np.ndarray  # (n,): ``k(x, x)``
    n_neighbors: int
    quality: MapQuality
    back: CodeRegression | None = None  # from codes to vectors
    features: np.ndarray | None = None  # (n, m): of the distinct items, if ``map`` has landmarks
    misfit: float = 1.0  # weight of the decoder's error in the placement of new items

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
        """Repulsion from the codes at any point of the map."""
        return fixed_sums(*self._tensors[:2])

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Places, weights and ``k(x, x)``."""
        like = torch.zeros(0, dtype=torch.float64)
        return tensor_like(self.places, like), tensor_like(self.weights, like), tensor_like(self.diagonal, like)

    @cached_property
    def decoder(self) -> tuple[FixedRows, Tensor] | None:
        """The projected decoder and its directions, shape (r, k); None without a decoder."""
        if self.back is None:
            return None
        layer, directions = projected_decoder(self.back)
        return FixedRows(layer), directions

    def encode(self, items: Items) -> Tensor:
        """Codes of items, shape (m, p), one by one; an item that equals a training item has its code."""
        return torch.cat([self._tile(items[tile]) for tile in tiles(len(items), _ROWS)])

    def _tile(self, items: Items) -> Tensor:
        """Place a batch of items, padded to a fixed size so that other items do not change the rounding."""
        m, (Z, _, diagonal) = len(items), self._tensors
        items = padded(items) if isinstance(items, Tensor) else items
        raw, new_diagonal = self._values(items)
        tiny, raw = torch.finfo(raw.dtype).eps ** 0.75, raw.double()
        D, columns = (diagonal - 2.0 * raw).topk(min(3 * self.n_neighbors, len(Z)), 1, largest=False)
        problem = OutOfSample(Z, self.sums, columns, affinities(D, perplexity(self.n_neighbors, len(Z))))
        if self.back is not None and self.decoder is not None:
            decoder, directions = self.decoder
            targets = self.back.output.encode(tensor_like(items, Z)) @ directions
            problem = replace(problem, decoder=decoder, targets=targets, misfit=self.misfit)
        near = diagonal[columns[:, 0]]
        self_similarity = near if new_diagonal is None else new_diagonal.double()
        equal = self_similarity + D[:, 0] <= tiny * (self_similarity + near)
        return torch.where(equal[:, None], Z[columns[:, 0]], embedded(problem))[:m]

    def _values(self, items: Items) -> tuple[Tensor, Tensor | None]:
        """Kernel values of a batch with the distinct items, and ``k(x, x)``; None for a Gram matrix."""
        raw = padded(self.map.raw(items))
        if self.features is not None:
            F = self.map.whiten_adjoint(raw.mT).mT.float()
            return F @ tensor_like(self.features, F).mT, (F * F).sum(1)
        new_diagonal = None if self.kernel.domain == "gram" else padded(self.kernel._diag(items)[:, None])[:, 0]
        return raw[:, row_index(self.distinct, raw)], new_diagonal


@dataclass(frozen=True, eq=False)
class FixedRows:
    """A layer that is evaluated on batches of a fixed size."""

    layer: Layer

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p)."""
        return self.layer.of(padded(Z))[: len(Z)]

    def pull(self, Z: Tensor, G: Tensor) -> Tensor:
        """Gradients of ``<g_i, layer(z_i)>``, shape (m, p)."""
        return self.layer.pull(padded(Z), padded(G))[: len(Z)]


def padded(T: Tensor) -> Tensor:
    """Pad a batch to its fixed size by repeating the last row."""
    return T if len(T) == _ROWS else torch.cat([T, T[-1:].expand(_ROWS - len(T), *T.shape[1:])])
