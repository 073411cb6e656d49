"""Fitted functions of items and of codes: kernel expansions, layers, free linear parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.stored import Stored, check_shape, check_whole
from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean
from rkhs.problems.semiparametric import PrincipalCoordinates, principal_coordinates
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import check_items_stored


@dataclass(frozen=True, eq=False)
class Expansion(Stored):
    """The function ``raw(x) B + b`` of the raw features of items; with all training items ``k(x, X) B + b``."""

    map: FeatureMap  # of width w
    coefficients: np.ndarray  # (w, p): ``B``
    shift: np.ndarray | None = None  # (p,): ``b``

    def of(self, raw: Tensor) -> Tensor:
        """Values at items with the given raw features of shape (m, w), shape (m, p)."""
        values = raw @ tensor_like(self.coefficients, raw)
        return values if self.shift is None else values + tensor_like(self.shift, raw)

    def in_file(self) -> Self:
        """The expansion without arrays that its map recomputes."""
        return replace(self, map=self.map.in_file())

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_shape("coefficients", self.coefficients, self.map.width, None)
        check_shape("shift", self.shift, self.coefficients.shape[1])

    def weights(self, Z: Tensor) -> Tensor:
        """``Z B^T``: the elements with these coordinates as weights on the kept items, shape (m, w)."""
        return Z @ tensor_like(self.coefficients, Z).mT


@dataclass(frozen=True, eq=False)
class Layer(Stored):
    """The function ``g(z) = k(z, A) C`` of codes; with a free linear part ``k(z, A) C + [z, 1] L``."""

    kernel: Kernel  # on codes, resolved
    anchors: np.ndarray  # (a, p): ``A``: the codes of the training items, or of some of them
    coefficients: Any  # ``C``, (a, r): None in a file that omits it because it can be recomputed
    linear: np.ndarray | None = None  # ``L``, (p + 1, r); None without a free linear part

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_items_stored(self.kernel, self.anchors, len(self.anchors))
        check_whole("number of codes", len(self.anchors), 1)
        check_shape("coefficients", self.coefficients, len(self.anchors), None)
        check_shape("linear", self.linear, self.anchors.shape[1] + 1, None)

    @cached_property
    def at_anchors(self) -> np.ndarray:
        """Values at the anchors, shape (a, r), in the precision of the coefficients: starting points of refinement."""
        return Layer.of(self, torch.from_numpy(self.anchors.astype(self.coefficients.dtype))).numpy()

    def __getstate__(self) -> dict[str, Any]:
        """The state without what can be recomputed."""
        return {name: value for name, value in vars(self).items() if name != "at_anchors"}

    def tensors(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Anchors, coefficients and linear part."""
        linear = None if self.linear is None else tensor_like(self.linear, like)
        return tensor_like(self.anchors, like), tensor_like(self.coefficients, like), linear

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p), shape (m, r)."""
        A, C, linear = self.tensors(Z)
        predicted = self.kernel._gram(Z, A) @ C
        return predicted if linear is None else predicted.add_(linear[-1]).addmm_(Z, linear[:-1])

    @property
    def everywhere(self) -> Layer:
        """The global part of the layer, without leaves."""
        return self

    def along(self, directions: Tensor) -> Layer:
        """The function ``g(z) D`` for directions ``D`` of shape (r, k)."""
        parts = self.coefficients, self.linear
        coefficients = [
            None if part is None else (tensor_like(part, directions) @ directions).cpu().numpy() for part in parts
        ]
        return replace(self, coefficients=coefficients[0], linear=coefficients[1])

    def pull(self, Z: Tensor, G: Tensor) -> Tensor:
        """Gradient of ``sum_i <g_i, layer(z_i)>`` in the codes, shape (m, p)."""
        A, C, linear = self.tensors(Z)
        pulled = self.kernel.cross_pullback(Z, A, G @ C.mT)
        return pulled if linear is None else pulled.addmm(G, linear[:-1].mT)

    def jacobian(self, Z: Tensor) -> Tensor:
        """Derivatives at each code, shape (m, p, r)."""
        A, C, linear = self.tensors(Z)
        J = self.kernel._jacobian(Z, A, C)
        return J if linear is None else J + linear[:-1]


@dataclass(frozen=True, eq=False, kw_only=True)
class CodeRegression(Layer):
    """The function ``g(z) = k(z, A) C`` from codes to targets, in coordinates of their space."""

    output: Euclidean  # turns coordinates into targets
    reg: float  # regulariser that it was fitted with

    def check_stored(self) -> None:
        """Sizes must agree."""
        super().check_stored()
        check_shape("coefficients", self.coefficients, None, self.output.dim)

    def targets(self, Z: Tensor) -> Tensor:
        """Targets of codes of shape (m, p), shape (m, q)."""
        return self.output.decode(self.of(Z))


@dataclass(frozen=True, eq=False)
class LinearPart(Stored):
    """The free linear part ``q(x) A`` of an encoder, with ``q = (rows - center) @ directions - offset``."""

    directions: np.ndarray  # (d, k): in units in which the slopes ``A`` have the penalty of the encoder
    offset: np.ndarray  # (k,)
    center: np.ndarray | None  # (d,)
    coefficients: np.ndarray  # (k, p): ``A``
    mixed: np.ndarray | None = None  # (r, k): ``F^-1 Q``, which the power function needs

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_shape("directions", self.directions, None, None)
        d, k = self.directions.shape
        check_shape("offset", self.offset, k)
        check_shape("center", self.center, d)
        check_shape("coefficients", self.coefficients, k, None)
        check_shape("mixed", self.mixed, None, k)

    @classmethod
    def along(cls, axes: PrincipalCoordinates, coefficients: Tensor, mixed: Tensor | None = None) -> Self:
        """The linear part on principal coordinates in units of their penalty."""
        found = (axes.directions, axes.offset, axes.center, coefficients, mixed)
        return cls(*(None if one is None else one.contiguous().cpu().numpy() for one in found))  # type: ignore[arg-type]

    def coordinates(self, rows: Tensor) -> Tensor:
        """``q`` of rows of shape (m, d), shape (m, k)."""
        center = None if self.center is None else tensor_like(self.center, rows)
        return principal_coordinates(rows, tensor_like(self.directions, rows), tensor_like(self.offset, rows), center)

    def of(self, rows: Tensor) -> Tensor:
        """Values at rows of shape (m, d), shape (m, p)."""
        return self.coordinates(rows) @ tensor_like(self.coefficients, rows)
