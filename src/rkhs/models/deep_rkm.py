"""A fitted deep restricted kernel machine: codes of items in every layer, and decoding of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.stored import Stored, check_shape
from rkhs.kernels.base import Kernel
from rkhs.models.functions import Expansion
from rkhs.problems.code_ridge import decoded_by_ridge, solve_psd
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import preimages
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import check_kernel_stored, check_resolved


@dataclass(frozen=True, eq=False)
class DeepRKMQuality(Stored):
    """Errors of the encoders of a machine, one number per layer."""

    defects: np.ndarray  # (L,): relative errors of the training codes if the items are encoded as new ones
    ridges: np.ndarray  # (L,): ridge of each encoder; NaN without one
    errors: np.ndarray  # (L,): its leave-one-out error; NaN without a ridge
    infeasibility: float  # ``||H^T H - I||``


@dataclass(frozen=True, eq=False)
class DeepRKMModel(Stored):
    """Layers of codes ``H_1, ..., H_L``: each has components of the features of the layer below."""

    kernel: Kernel  # of the items, resolved
    encoder: Expansion  # from items to codes of layer 1
    upper: tuple[Expansion, ...]  # of the layers 2..L, from scaled codes of the layer below
    kernels: tuple[Kernel, ...]  # of codes, for the layers 2..L
    scale: float  # what codes are multiplied by before a kernel reads them
    codes: np.ndarray  # (n, S): of the training items, all layers side by side
    layer_codes: list[np.ndarray]  # (n, s_l)
    moments: list[np.ndarray]  # (s_l, s_l): ``H_l^T K_(l-1) H_l``
    values: list[np.ndarray]  # (s_l,): their diagonals
    means: list[np.ndarray | None]  # (n,): mean kernel values of each layer; raw features (w,) with ``directions``
    directions: np.ndarray | None  # (w, s_1): components of layer 1 on raw features; None: on the training items
    mean_weights: np.ndarray | None  # (w,): the mean feature as weights on raw features
    items: Any  # (n, d): training items on which pre-images are based
    diagonal: np.ndarray | None  # (n,): ``k(x, x)`` of the training items
    quality: DeepRKMQuality

    @property
    def map(self) -> FeatureMap:
        """Feature map of the items."""
        return self.encoder.map

    @property
    def coefficients(self) -> list[np.ndarray]:
        """Return the coefficients of the encoders."""
        return [self.encoder.coefficients, *(one.coefficients for one in self.upper)]

    @property
    def shifts(self) -> list[np.ndarray | None]:
        """Return the shifts of the encoders."""
        return [self.encoder.shift, *(one.shift for one in self.upper)]

    def encode(self, raw: Tensor) -> list[Tensor]:
        """Codes of every layer from raw features of items of shape (m, w)."""
        codes = [self.encoder.of(raw)]
        for one in self.upper:
            codes.append(one.of(one.map.raw(self.scale * codes[-1])))
        return codes

    def code_rows(self, layer: int, codes: Tensor) -> Tensor:
        """Kernel values of codes of a layer (from 1) with the training codes, shape (m, n)."""
        train = self.scale * tensor_like(self.layer_codes[layer - 1], codes)
        return self.kernels[layer - 1]._gram(self.scale * codes, train)

    def components(self, index: int, like: Tensor) -> Tensor:
        """Components of a layer (from 0) as weights on training items, or on raw features of layer 1."""
        found = self.layer_codes[0] if self.directions is None else self.directions
        return tensor_like(found if index == 0 else self.layer_codes[index], like)

    def errors(self, raw: Tensor, diagonal: Tensor) -> Tensor:
        """Squared distances of features from their projections on the components of layer 1, shape (m,)."""
        if self.means[0] is not None:
            mean = tensor_like(self.means[0], raw)
            if self.mean_weights is None:
                diagonal = diagonal - 2.0 * raw.mean(dim=1) + mean.mean()
            else:
                weights = tensor_like(self.mean_weights, raw)
                diagonal = diagonal - 2.0 * (raw @ weights) + mean @ weights
            raw = raw - mean
        scores = raw @ self.components(0, raw)
        kept = solve_psd(tensor_like(self.moments[0], raw), scores.mT).mT
        return (diagonal - (kept * scores).sum(1)).clamp_min(0.0)

    def projected(self, index: int, rows: Tensor, kept: list[int], *, whitened: bool) -> Tensor:
        """Weights (m, n) of projections of features, given by kernel rows, on the components ``kept`` of a layer."""
        H, mean = self.components(index, rows)[:, kept], self.means[index]
        if mean is not None:
            rows = rows - tensor_like(mean, rows)
            if index > 0 or self.directions is None:
                rows = rows - rows.mean(dim=1, keepdim=True)
        scores = rows @ H
        if whitened:
            scores = solve_psd(tensor_like(self.moments[index][np.ix_(kept, kept)], rows), scores.mT).mT
        return self.uncentred(index, scores @ H.mT)

    def uncentred(self, index: int, weights: Tensor) -> Tensor:
        """Convert weights on the centred features of a layer (from 0) to weights on features."""
        centred = self.means[index] is not None
        if index == 0 and self.directions is not None:
            if self.map.kept_raw() is None:
                raise InputError(
                    "weights on training items need storage='dense' or Nystroem(m): random features keep no items"
                )
            return weights + tensor_like(self.mean_weights, weights) if centred else weights
        return weights - weights.mean(dim=1, keepdim=True) + 1.0 / weights.shape[1] if centred else weights

    def nearest_codes(self, layer: int, weights: Tensor, start: Tensor | None) -> Tensor:
        """Pre-images among the codes of a layer (from 1) of combinations of the training features."""
        train = self.scale * tensor_like(self.layer_codes[layer - 1], weights)
        problem = Preimage(self.kernels[layer - 1], train, weights)
        first = problem.X[problem.nearest()] if start is None else self.scale * start
        return preimages(problem, first) / self.scale

    def regressed(self, Z: Tensor, layer: int | None, kept: list[int] | None = None) -> Tensor:
        """Decode codes of a layer (from 1), or of all, by kernel ridge regression; the ridge by leave-one-out."""
        X = tensor_like(self.items, Z)
        codes = self.encode(self.map.raw(X).to(Z))
        train = torch.cat(codes, 1) if layer is None else codes[layer - 1]
        return decoded_by_ridge(train if kept is None else train[:, kept], X, Z)

    def vectors(self, weights: Tensor, start: Tensor | None = None) -> Tensor:
        """Pre-images of combinations of the features of the kept items; the search begins at ``start``."""
        problem = Preimage(self.kernel, tensor_like(self.items, weights), weights)
        return preimages(problem, problem.X[problem.nearest()] if start is None else start)

    def descend(self, layer: int, block: Tensor, codes: list[Tensor] | None) -> Tensor:
        """Weights on the training items from codes of a layer, through the pre-images of every layer below."""
        for below in range(layer - 1, 0, -1):
            weights = self.uncentred(below, block @ self.components(below, block).mT)
            block = self.nearest_codes(below, weights, None if codes is None else codes[below - 1])
        return self.uncentred(0, block @ self.components(0, block).mT)

    def check_stored(self) -> None:
        """Sizes must agree."""
        sizes = [self.encoder.coefficients.shape[1], *(one.coefficients.shape[1] for one in self.upper)]
        n, w, S = len(self.codes), self.map.width, len(sizes)
        check_shape("codes", self.codes, None, sum(sizes))
        lists: tuple[list[Any], ...] = (self.layer_codes, self.moments, self.values, self.means)
        if not {S} == {*map(len, lists), len(self.kernels) + 1} or self.encoder.shift is None:
            raise InputError(f"a machine of a model file must have {S} layers in each of its lists")
        for size, codes, moment, values, mean in zip(sizes, *lists, strict=True):
            check_shape("layer codes", codes, n, size)
            check_shape("moments", moment, size, size)
            check_shape("values", values, size)
            check_shape("means", mean, w if self.directions is not None and mean is self.means[0] else n)
        self._check_upper(sizes)
        check_kernel_stored(self.kernel, self.map)
        if self.kernel.domain == "vectors":
            check_shape("items", np.asarray(self.items), None if self.map.kept is None else w, self.map.reads)
        check_shape("directions", self.directions, w, sizes[0])
        check_shape("mean weights", self.mean_weights, w)
        check_shape("diagonal", self.diagonal, n)

    def _check_upper(self, sizes: list[int]) -> None:
        """Encoders must read the codes of the layer below."""
        for one, kernel, below, codes in zip(self.upper, self.kernels, sizes, self.layer_codes, strict=False):
            if one.map.reads != below:
                raise InputError(f"an encoder of a model file must read the {below} codes of the layer below it")
            check_kernel_stored(kernel, one.map)
            check_resolved(kernel, codes)
