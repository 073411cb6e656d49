"""What models of features on landmarks can compute again, so that model files need not hold it.

Three things follow from the landmarks and a few numbers: their triangle, the triangle of the targets, and what is made
of both. The last layer and the directions of the targets follow from the training items too, which landmarks do not
need. A model keeps the items where they take less room than what they replace: 256 bytes a molecule of 2,048 bits,
beside 8,000 bytes of the layer. A file lacks what comes out the same to the last bit when it is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.stored import Stored, check_shape
from rkhs.engines import thread_limit
from rkhs.kernels.base import Kernel
from rkhs.losses import Squared
from rkhs.models.computed_again import InFile, equal
from rkhs.outputs import RKHS
from rkhs.problems.coordinates import STRIP
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.semiparametric import leading_directions
from rkhs.spaces.features import FeatureMap, LandmarkMap

if TYPE_CHECKING:
    from rkhs.models.autoencoder import AutoencoderModel

__all__ = ["KeptItems", "LayerOnLandmarks", "landmarks_in_file", "with_kept_items", "with_landmarks_again"]

Model = TypeVar("Model", bound="AutoencoderModel")


@dataclass(frozen=True, eq=False)
class KeptItems(Stored):
    """Training items, eight zeros and ones a byte where they are such."""

    held: np.ndarray  # (n, d)
    columns: int | None  # ``d`` where bits are packed; None: the items as they are
    dtype: np.dtype  # of the items

    def check_stored(self) -> None:
        """Bytes must hold the columns."""
        columns = self.held.shape[-1] if self.columns is None else (self.columns + 7) // 8
        check_shape("items", self.held, None, columns, kinds="f" if self.columns is None else "u")
        if self.columns is not None and (self.held.dtype != np.uint8 or self.columns < 1):
            raise InputError(f"bits of a model file must be bytes; got {self.held.dtype}")

    @classmethod
    def of(cls, items: np.ndarray) -> KeptItems:
        """A copy of items."""
        if ((items == 0) | (items == 1)).all():
            return cls(np.packbits(items != 0, axis=1), items.shape[1], items.dtype)
        return cls(items.copy(), None, items.dtype)

    @property
    def rows(self) -> np.ndarray:
        """The items."""
        if self.columns is None:
            return self.held
        return np.unpackbits(self.held, axis=1, count=self.columns).astype(self.dtype)


@dataclass(frozen=True, eq=False)
class LayerOnLandmarks:
    """The last layer of the squared loss at fixed codes, and directions of the targets, by the steps of the fit."""

    kernel: Kernel  # on codes, resolved
    codes: np.ndarray  # (n, p): in the order of the fit
    order: np.ndarray  # (n,): numbers of the items in that order
    items: KeptItems
    map: FeatureMap  # of the landmarks
    output: RKHS  # of targets in their span
    reg: float
    components: int  # of the widest layer
    weights: np.ndarray | None = None  # (n,): of the items in their own order

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        with thread_limit(1):  # as in the fit
            order = torch.as_tensor(self.order)
            raw = torch.cat([self.map.raw(tile).to(torch.float64) for tile in self._items.split(STRIP)])
            target = torch.cat([self.output.encode(tile) for tile in raw.split(STRIP)])[order]
            w = None if self.weights is None else torch.as_tensor(self.weights)[order]
            leading = leading_directions(target, w, self.components)
            decoder = AnchorsLayer.of(target, self.kernel, len(target), self.reg, w, None)
            layer = decoder.solve(torch.as_tensor(self.codes))
        found = (layer.coefficients, layer.linear, leading)
        return tuple(None if part is None else part.contiguous().numpy() for part in found)  # type: ignore[return-value]

    @property
    def _items(self) -> Tensor:
        return torch.from_numpy(self.items.rows)

    def coefficients(self) -> np.ndarray:
        """Shape (n, r)."""
        return self._found[0]

    def directions(self) -> np.ndarray | None:
        """Shape (r, k); None for all."""
        return self._found[2]

    def gives(self, model: AutoencoderModel) -> bool:
        """Whether layer and directions come out to the last bit, so that a file may lack them."""
        try:
            found = self._found
        except InputError:  # a system that has no solution
            return False
        held = (model.last.coefficients, model.last.linear, model.pricing.directions)
        return all(equal(a, b) for a, b in zip(found, held, strict=True))


def with_kept_items(model: Model, items: Any) -> Model:
    """A model that was just fitted, with its training items where its file needs them and they take little room."""
    layer, n = model.last, len(items)
    spread = model.kernel.domain == "vectors" and model.rebuilt.own and isinstance(model.rebuilt.output, RKHS)
    if not spread or not isinstance(model.loss, Squared) or len(layer.anchors) != n:
        return model
    directions = model.pricing.directions
    kept = KeptItems.of(items.cpu().numpy())
    room = layer.coefficients.nbytes + (0 if directions is None else directions.nbytes)
    return replace(model, items=kept) if kept.held.nbytes < room else model


def landmarks_in_file(model: AutoencoderModel) -> InFile:
    """What a file of a model on landmarks or other finite features must hold."""
    features, output, layer, pricing = model.map.in_file(), model.rebuilt.output, model.last, model.pricing
    if isinstance(features, LandmarkMap) and isinstance(output, RKHS) and output.triangle is not None:
        lean = output.without_triangle(features.kept_raw, 1)
        output = lean if np.array_equal(lean.rows, output.triangle) else output
    if not isinstance(layer.held, np.ndarray):  # from such a file
        return InFile(features, output, None, None, model.items)
    if model.items is not None and _layer(model, features, output).gives(model):
        return InFile(features, output, None, None, model.items)
    return InFile(features, output, layer.coefficients, pricing.directions)


def with_landmarks_again(model: Model) -> Model:
    """The model of a file, which computes what the file lacks when it is asked for."""
    output, layer = model.rebuilt.output, model.last
    if isinstance(output, RKHS) and output.triangle is None:
        if not isinstance(model.map, LandmarkMap):
            raise InputError("triangle must be an array where there are no landmarks to compute it again; got None")
        output = output.without_triangle(model.map.kept_raw, 1)
        model = replace(model, rebuilt=replace(model.rebuilt, output=output))
    if layer.held is not None:
        return model
    _check_kept(model)
    again = _layer(model, model.map, output)
    pricing = replace(model.pricing, held_directions=again.directions)
    return replace(model, layers=(*model.layers[:-1], replace(layer, held=again.coefficients)), pricing=pricing)


def _check_kept(model: AutoencoderModel) -> None:
    """Refuse a file that has neither a last layer nor the items that it follows from."""
    n, kept, landmarks = len(model.last.anchors), model.items, model.map.kept
    if kept is None or not isinstance(model.rebuilt.output, RKHS) or not isinstance(landmarks, np.ndarray):
        raise InputError("the last layer must have coefficients, or training items to compute them again; got neither")
    if kept.rows.shape != (n, landmarks.shape[1]) or not np.array_equal(np.sort(model.support), np.arange(n)):
        raise InputError(f"training items must be {n} rows of {landmarks.shape[1]} columns, each used once")


def _layer(model: AutoencoderModel, features: FeatureMap, output: Any) -> LayerOnLandmarks:
    layer, components = model.last, max(one.anchors.shape[1] for one in model.layers)
    items, reg = model.items, model.reg[-1]
    assert items is not None
    kept = (layer.kernel, layer.anchors, model.support, items, features, output)
    return LayerOnLandmarks(*kept, reg, components, model.row_weights)
