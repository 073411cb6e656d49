"""What a model file holds of an autoencoder, how it is checked, and the way back.

A file lacks what follows from the items or the landmarks (:mod:`rkhs.models.computed_again`) where the same steps, made
once more when the file is written, give the same numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.stored import check_places, check_shape
from rkhs.losses import Squared
from rkhs.models.computed_again import LayerAgain, LayerOnLandmarks
from rkhs.models.functions import LinearPart
from rkhs.models.kept import GramOf, KeptItems
from rkhs.models.layers import AutoencoderLayers
from rkhs.outputs import RKHS, Euclidean
from rkhs.spaces.features import FeatureMap, LandmarkMap
from rkhs.spaces.features.base import check_items_stored, check_kernel_stored

Model = TypeVar("Model", bound=AutoencoderLayers)

_SAME = 1e-10  # of the largest number: on the machine of the fit all bits agree, another rounds otherwise


class _Held(NamedTuple):
    """What a model file must hold beside codes and coefficients of the encoder."""

    map: Any
    output: Any  # space of the targets
    coefficients: np.ndarray | None  # (a, r): of the last layer; None: computed again
    directions: np.ndarray | None = None  # (r, k): of the targets; None: all, or computed again with the layer
    items: Any = None  # training items, where the layer is computed again and the map does not keep them


def in_file(model: Model) -> Model:
    """The model without what its items say."""
    held = _of_all_items(model) if model.map.whole or not model.rebuilt.own else _of_landmarks(model)
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
    return _with_all_items(model) if model.map.whole or not model.rebuilt.own else _with_landmarks(model)


def _of_all_items(model: AutoencoderLayers) -> _Held:
    """What a file of a model with all training items must hold."""
    output, gram, lacks = model.rebuilt.output, model.gram_of_targets, False
    if isinstance(output, Euclidean):
        output, lacks = _vectors_in_file(model, output)
    elif gram is not None:
        output, lacks = _features_in_file(model, output, gram)
    return _Held(model.map, output, None if lacks else model.last.coefficients)


def _vectors_in_file(model: AutoencoderLayers, output: Euclidean) -> tuple[Euclidean, bool]:
    """The space of vectors, without its basis where the items give it, and whether they give the layer too."""
    layer, again = model.last, _layer_again(model, output)
    if callable(layer.held):  # from such a file
        return output, True
    spares = isinstance(model.loss, Squared) and again is not None and again.spares_room
    if not spares or again is None or not again.gives(layer.coefficients, layer.linear, output.axes):
        return output, False
    return output.without_basis(again.other), True


def _features_in_file(model: AutoencoderLayers, output: RKHS, gram: GramOf) -> tuple[RKHS, bool]:
    """The space of features, without its triangle where the items give it, and whether they give the layer too."""
    layer = model.last
    if output.triangle is None:  # from such a file
        return output, callable(layer.held)
    lean = output.without_triangle(gram)
    again = _layer_again(model, lean)
    assert again is not None
    try:
        found = again.coefficients()
    except InputError:  # a system that has no solution
        return output, False
    if not _same(lean.rows, output.triangle):
        return output, False
    # Solutions of other losses agree within their stopping at best.
    return lean, isinstance(model.loss, Squared) and _same(found, layer.coefficients)


def _with_all_items(model: Model) -> Model:
    output, layer, gram = model.rebuilt.output, model.last, model.gram_of_targets
    if isinstance(output, RKHS) and output.triangle is None and gram is not None:
        output = output.without_triangle(gram)
        again = _layer_again(model, output)
        assert again is not None
        layer = replace(layer, held=again.coefficients) if layer.held is None else layer
    elif layer.held is None:
        again = _layer_again(model, output) if isinstance(output, Euclidean) else None
        if again is None or not isinstance(output, Euclidean):
            raise InputError("the last layer must have coefficients, or targets to compute them again; got neither")
        layer = replace(layer, held=again.coefficients, held_linear=again.linear if again.free else None)
        output = output.without_basis(again.other)
    return replace(model, rebuilt=replace(model.rebuilt, output=output), layers=(*model.layers[:-1], layer))


def _layer_again(model: AutoencoderLayers, output: Euclidean | RKHS) -> LayerAgain | None:
    """None where vectors are rebuilt that are not the items that the model keeps."""
    layer, items = model.last, None
    if isinstance(output, Euclidean):
        items = model.map.kept
        whole = model.map.whole and model.rebuilt.own and isinstance(items, np.ndarray) and items.ndim == 2
        if not whole or model.pricing.held_directions is not None or len(items) != len(layer.anchors):
            return None
    kernel, free, dtype = layer.kernel.radial or layer.kernel, layer.held_linear is not None, layer.anchors.dtype
    return LayerAgain(kernel, layer.anchors, output, items, model.reg[-1], dtype, free, model.row_weights)


def _same(found: np.ndarray, held: np.ndarray) -> bool:
    """Whether numbers agree as they do on two machines."""
    return found.shape == held.shape and bool(
        np.abs(found - held).max(initial=0.0) <= _SAME * np.abs(held).max(initial=0.0)
    )


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


def _of_landmarks(model: AutoencoderLayers) -> _Held:
    """What a file of a model on landmarks or other finite features must hold."""
    features, output, layer, pricing = model.map.in_file(), model.rebuilt.output, model.last, model.pricing
    if isinstance(features, LandmarkMap) and isinstance(output, RKHS) and output.triangle is not None:
        lean = output.without_triangle(features.kept_raw, 1)
        output = lean if np.array_equal(lean.rows, output.triangle) else output
    if not isinstance(layer.held, np.ndarray):  # from such a file
        return _Held(features, output, None, None, model.items)
    if model.items is not None and _layer_on_landmarks(model, features, output).gives(
        layer.coefficients, layer.linear, pricing.directions
    ):
        return _Held(features, output, None, None, model.items)
    return _Held(features, output, layer.coefficients, pricing.directions)


def _with_landmarks(model: Model) -> Model:
    output, layer = model.rebuilt.output, model.last
    if isinstance(output, RKHS) and output.triangle is None:
        if not isinstance(model.map, LandmarkMap):
            raise InputError("triangle must be an array where there are no landmarks to compute it again; got None")
        output = output.without_triangle(model.map.kept_raw, 1)
        model = replace(model, rebuilt=replace(model.rebuilt, output=output))
    if layer.held is not None:
        return model
    _check_kept(model)
    again = _layer_on_landmarks(model, model.map, output)
    pricing = replace(model.pricing, held_directions=again.other)
    return replace(model, layers=(*model.layers[:-1], replace(layer, held=again.coefficients)), pricing=pricing)


def _check_kept(model: AutoencoderLayers) -> None:
    """Refuse a file that has neither a last layer nor the items that it follows from."""
    n, kept, landmarks = len(model.last.anchors), model.items, model.map.kept
    if kept is None or not isinstance(landmarks, np.ndarray) or not model.rebuilt.output.dim:
        raise InputError("the last layer must have coefficients, or training items to compute them again; got neither")
    if kept.rows.shape != (n, landmarks.shape[1]) or not np.array_equal(np.sort(model.support), np.arange(n)):
        raise InputError(f"training items must be {n} rows of {landmarks.shape[1]} columns, each used once")


def _layer_on_landmarks(model: AutoencoderLayers, features: FeatureMap, output: Any) -> LayerOnLandmarks:
    layer, components = model.last, min(one.anchors.shape[1] for one in model.layers)
    items, reg = model.items, model.reg[-1]
    assert items is not None
    kept = (layer.kernel, layer.anchors, model.support, items, features, output)
    return LayerOnLandmarks(*kept, reg, components, layer.held_linear is not None, model.row_weights)


def check(model: AutoencoderLayers) -> None:
    """Refuse a model of a file whose sizes do not agree."""
    sizes = [layer.anchors.shape[1] for layer in model.layers]
    kept = model.items is None or isinstance(model.items, KeptItems)
    if not sizes or len(model.reg) != len(model.layers) + 1 or not kept:
        raise InputError("an autoencoder of a model file must have a regulariser a layer, and codes between them")
    check_kernel_stored(model.kernel, model.map)
    check_shape("coefficients", model.encoder.coefficients, model.map.width, sizes[0])
    _check_layers(model, [*sizes[1:], model.rebuilt.output.dim])
    if model.linear is not None:
        _check_linear(model, model.linear)
    check_places("pivots", model.pricing.pivots, model.map.width)
    check_shape("directions", model.pricing.held_directions, model.rebuilt.output.dim, None)
    check_shape("weights", model.row_weights, None)
    check_places("support", model.support, 2**31)
    check_places("saturated", model.saturated, 2**31)
    _check_codes(model, sizes[model.narrowest])
    _check_targets(model)


def _check_layers(model: AutoencoderLayers, widths: list[int]) -> None:
    for layer, above in zip(model.layers, widths, strict=True):
        if layer.held is None and layer is not model.last:
            raise InputError("a layer of a model file must have coefficients")
        check_shape("layer codes", layer.anchors, model.map.width if model.map.whole else None, None)
        check_shape("coefficients", layer.held, None, above)
        lacks = layer.held is None and isinstance(model.rebuilt.output, Euclidean)  # and the number of coordinates
        check_shape("linear", layer.held_linear, None, None if lacks else above)


def _check_linear(model: AutoencoderLayers, linear: LinearPart) -> None:
    whole = model.map.whole
    if (model.last.held_linear if not whole else linear.mixed) is None:
        raise InputError("an autoencoder of a model file must have both sides of its linear part")
    of_items = model.kernel.domain == "vectors" and (whole or model.rebuilt.kernel is None)
    check_shape("directions", linear.directions, model.map.reads if of_items else model.map.width, None)
    check_shape("coefficients", linear.coefficients, None, model.encoder.coefficients.shape[1])


def _check_codes(model: AutoencoderLayers, p: int) -> None:
    check_shape("codes", model.codes, None, p)
    n = len(model.codes)
    if model.map.whole and (n == 0 or model.map.width % n):  # noisy copies of an item share its code
        raise InputError(f"codes in a model file must be of the {model.map.width} items; got {n}")
    check_shape("resting", model.resting, p)
    check_shape("code map", model.code_map, p, p)
    if model.code_map is not None and np.linalg.matrix_rank(model.code_map) < p:
        raise InputError("the code map of a model file must be invertible")


def _check_targets(model: AutoencoderLayers) -> None:
    rebuilt, features = model.rebuilt, model.map
    if isinstance(rebuilt.output, Euclidean):
        if rebuilt.kernel is not None and not model.rebuilds_rows:
            raise InputError("features of a model file must be rebuilt as features")
        check_shape("mean", rebuilt.output.mean, features.reads if rebuilt.own and rebuilt.kernel is None else None)
        return
    if not isinstance(rebuilt.output, RKHS) or rebuilt.kernel is None:
        raise InputError("an autoencoder of a model file must rebuild vectors or features of a kernel")
    n = len(rebuilt.output.gram_mean)
    check_shape("diagonal", rebuilt.diagonal, n if features.whole else len(model.codes))
    if rebuilt.own:
        check_shape("gram mean", rebuilt.output.gram_mean, features.width)
        check_kernel_stored(rebuilt.kernel, features)
    else:
        check_shape("gram mean", rebuilt.output.gram_mean, None)
        check_items_stored(rebuilt.kernel, rebuilt.items, n)
