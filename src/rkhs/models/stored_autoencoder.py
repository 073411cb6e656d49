"""What a model file holds of an autoencoder, how it is checked, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.stored import check_places, check_shape
from rkhs.models.computed_again import what_a_file_holds, with_computed_again
from rkhs.models.landmarks_again import KeptItems, landmarks_in_file, with_landmarks_again
from rkhs.outputs import RKHS, Euclidean
from rkhs.spaces.features.base import check_kernel_stored

if TYPE_CHECKING:
    from rkhs.models.autoencoder import AutoencoderModel

__all__ = ["check", "from_file", "in_file"]

Model = TypeVar("Model", bound="AutoencoderModel")


def in_file(model: Model) -> Model:
    """The model without what its items say."""
    held = what_a_file_holds(model) if model.map.whole or not model.rebuilt.own else landmarks_in_file(model)
    pricing = replace(model.pricing, held_directions=held.directions)
    if model.map.kept is not None:  # the factor can be computed again
        pricing = replace(pricing, triangle=None, pivots=None)
    last = replace(model.last, held=held.coefficients, held_linear=model.last.linear)
    return replace(
        model,
        encoder=replace(model.encoder, map=held.map),
        rebuilt=replace(model.rebuilt, output=held.output),
        layers=(*model.layers[:-1], last),
        pricing=pricing,
        items=held.items,
    )


def from_file(model: Model) -> Model:
    """The model of a file, which computes what the file lacks when it is asked for."""
    return with_computed_again(model) if model.map.whole or not model.rebuilt.own else with_landmarks_again(model)


def check(model: AutoencoderModel) -> None:
    """Refuse a model of a file whose sizes do not agree."""
    sizes, dim = [layer.anchors.shape[1] for layer in model.layers], model.rebuilt.output.dim
    kept = model.items is None or isinstance(model.items, KeptItems)
    if not sizes or len(model.reg) != len(model.layers) + 1 or not kept:
        raise InputError("an autoencoder of a model file must have a regulariser a layer, and codes between them")
    check_kernel_stored(model.kernel, model.map)
    check_shape("coefficients", model.encoder.coefficients, model.map.width, sizes[0])
    for layer, above in zip(model.layers, [*sizes[1:], dim], strict=True):
        check_shape("layer codes", layer.anchors, model.map.width if model.map.whole else None, None)
        check_shape("coefficients", layer.held, None, above)
        check_shape("linear", layer.held_linear, None, None if layer.held is None else above)
    if model.linear is not None:
        if model.last.held_linear is None and not model.map.whole:
            raise InputError("an autoencoder on landmarks of a model file must have a linear part on both sides")
        check_shape("coefficients", model.linear.coefficients, None, sizes[0])
    check_places("pivots", model.pricing.pivots, model.map.width)
    check_shape("directions", model.pricing.held_directions, dim, None)
    check_shape("weights", model.row_weights, None)
    check_places("support", model.support, 2**31)
    check_places("saturated", model.saturated, 2**31)
    _check_codes(model, sizes[model.narrowest])
    _check_targets(model)


def _check_codes(model: AutoencoderModel, p: int) -> None:
    check_shape("codes", model.codes, model.map.width if model.map.whole else None, p)
    check_shape("resting", model.resting, p)
    check_shape("code map", model.code_map, p, p)
    if model.code_map is not None and np.linalg.matrix_rank(model.code_map) < p:
        raise InputError("the code map of a model file must be invertible")


def _check_targets(model: AutoencoderModel) -> None:
    rebuilt, features = model.rebuilt, model.map
    if isinstance(rebuilt.output, Euclidean):
        if rebuilt.kernel is not None and not model.rebuilds_rows:
            raise InputError("features of a model file must be rebuilt as features")
        check_shape("mean", rebuilt.output.mean, features.reads if rebuilt.own and rebuilt.kernel is None else None)
        return
    if not isinstance(rebuilt.output, RKHS) or rebuilt.kernel is None:
        raise InputError("an autoencoder of a model file must rebuild vectors or features of a kernel")
    held = None if rebuilt.items is None else len(rebuilt.items)
    check_shape("gram mean", rebuilt.output.gram_mean, features.width if rebuilt.own else held)
