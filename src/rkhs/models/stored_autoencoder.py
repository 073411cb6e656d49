"""Arrays of an autoencoder in a model file: which are omitted, how they are checked and recomputed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.stored import check_places, check_shape, completing, leanest
from rkhs.engines import thread_limit
from rkhs.losses import Squared
from rkhs.models.completion import STRIP, best_layer, layer_on_landmarks, spares_memory
from rkhs.models.kept import KeptItems
from rkhs.models.layers import AutoencoderLayers
from rkhs.models.local_layer import LocalLayer
from rkhs.outputs import RKHS, Euclidean
from rkhs.spaces.features import LandmarkMap
from rkhs.spaces.features.base import check_items_stored, check_kernel_stored

if TYPE_CHECKING:
    from rkhs.models.functions import LinearPart

Model = TypeVar("Model", bound=AutoencoderLayers)


def in_file(model: Model) -> Model:
    """The model without arrays that can be recomputed."""
    if model.map.kept is not None:  # the factor can be recomputed
        model = replace(model, penalty=replace(model.penalty, cholesky=None, pivots=None))
    return leanest(replace(model, items=None), _lean(model), _parts)


def _parts(model: AutoencoderLayers) -> tuple[Any, ...]:
    """Arrays that a file may omit."""
    output, layer = model.rebuilt.output, model.last
    span = output.cholesky if isinstance(output, RKHS) else output.basis if isinstance(output, Euclidean) else None
    return span, layer.coefficients, layer.linear, model.penalty.directions


def _lean(model: Model) -> Iterator[Model]:
    """Models without arrays that can be recomputed, the smallest first."""
    output, squared = model.rebuilt.output, isinstance(model.loss, Squared)
    if isinstance(output, Euclidean):
        items = _rebuilt_items(model)
        if squared and items is not None and spares_memory(items):
            yield _without_layer(_with_output(model, output.without_basis()))
    elif isinstance(output, RKHS) and (_on_landmarks(model) or model.gram_of_targets is not None):
        spanned = _with_output(model, output.without_cholesky())
        if squared and (model.items is not None or not _on_landmarks(model)):
            yield _without_layer(spanned)
        yield replace(spanned, items=None)


def _on_landmarks(model: AutoencoderLayers) -> bool:
    """Whether the features of the items are the targets, in the span of landmarks or of random features."""
    return model.rebuilt.self_targets and not model.map.whole


def _with_output(model: Model, output: Euclidean | RKHS) -> Model:
    """The model with another space of the targets."""
    return replace(model, rebuilt=replace(model.rebuilt, output=output))


def _without_layer(model: Model) -> Model:
    """The model without coefficients of its last layer."""
    last, penalty = replace(model.last, coefficients=None), replace(model.penalty, directions=None)
    return replace(model, layers=(*model.layers[:-1], last), penalty=penalty)


def from_file(model: Model) -> Model:
    """The model of a file with omitted arrays recomputed."""
    output, layer, U = model.rebuilt.output, model.last, None
    with completing():
        if isinstance(output, RKHS) and output.cholesky is None:
            with thread_limit(1 if _on_landmarks(model) else None):
                output, U = output.recomputed(_gram_of_targets(model))
            model = _with_output(model, output)
        if layer.coefficients is not None:
            return model
        return _with_layer_on_landmarks(model) if _on_landmarks(model) else _with_layer(model, U)


def _gram_of_targets(model: AutoencoderLayers) -> Tensor:
    """Gram matrix of targets that are features, or of the landmarks that span them."""
    if isinstance(model.map, LandmarkMap) and model.rebuilt.self_targets:
        return model.map.kept_raw()
    gram = None if _on_landmarks(model) else model.gram_of_targets
    if gram is None:
        raise InputError("cholesky must be an array if the training targets are not stored; got None")
    return gram()


def _with_layer(model: Model, U: Tensor | None) -> Model:
    """The model with the last layer on the codes of all items; ``U`` are coordinates of features as targets."""
    output, layer = model.rebuilt.output, model.last
    if isinstance(output, Euclidean):
        items = _rebuilt_items(model)
        if items is not None:
            Y = torch.from_numpy(items.astype(layer.anchors.dtype, order="C"))
            output, U = output.recomputed(Y, None if model.row_weights is None else tensor_like(model.row_weights, Y))
            model = _with_output(model, output)
    if U is None:
        raise InputError("the last layer must have coefficients, or targets to recompute them; got neither")
    kernel, free = layer.kernel.radial or layer.kernel, layer.linear is not None
    C, L = best_layer(kernel, layer.anchors, U, model.reg[-1], model.row_weights, free=free)
    linear = None if L is None else L.contiguous().numpy()
    last = replace(layer, coefficients=np.asarray(C.numpy(), order="C"), linear=linear)
    return replace(model, layers=(*model.layers[:-1], last))


def _rebuilt_items(model: AutoencoderLayers) -> np.ndarray | None:
    """Vectors that are both kept items and targets; None if the targets are not the items that the model keeps."""
    items = model.map.kept
    whole = model.map.whole and model.rebuilt.self_targets and isinstance(items, np.ndarray) and items.ndim == 2
    if not whole or model.penalty.directions is not None or len(items) != len(model.last.anchors):
        return None
    return np.asarray(items)


def with_kept_items(model: Model, items: Any) -> Model:
    """A fitted model with its training items, if its file is smaller with them than with the last layer."""
    layer, n = model.last, len(items)
    spread = model.kernel.domain == "vectors" and model.rebuilt.self_targets and isinstance(model.rebuilt.output, RKHS)
    if not spread or not isinstance(model.loss, Squared) or len(layer.anchors) != n or isinstance(layer, LocalLayer):
        return model
    directions = model.penalty.directions
    kept = KeptItems.of(items.cpu().numpy())
    size = layer.coefficients.nbytes + (0 if directions is None else directions.nbytes)
    return replace(model, items=kept) if kept.array.nbytes < size else model


def _with_layer_on_landmarks(model: Model) -> Model:
    """The model with the last layer in the span of landmarks, from kept items in the order of the fit."""
    n, kept, landmarks = len(model.last.anchors), model.items, model.map.kept
    layer, output = model.last, model.rebuilt.output
    if kept is None or not isinstance(landmarks, np.ndarray) or not isinstance(output, RKHS):
        raise InputError("the last layer must have coefficients, or training items to recompute them; got neither")
    if kept.rows.shape != (n, landmarks.shape[1]) or not np.array_equal(np.sort(model.support), np.arange(n)):
        raise InputError(f"training items must be {n} rows of {landmarks.shape[1]} columns, each used once")
    components, free = min(one.anchors.shape[1] for one in model.layers), layer.linear is not None
    with thread_limit(1):  # as in the fit
        order = torch.as_tensor(model.support)
        raw = torch.cat([model.map.raw(tile).to(torch.float64) for tile in torch.from_numpy(kept.rows).split(STRIP)])
        target = torch.cat([output.encode(tile) for tile in raw.split(STRIP)])[order]
        w = None if model.row_weights is None else torch.as_tensor(model.row_weights)[order]
        C, linear, directions = layer_on_landmarks(
            layer.kernel,
            layer.anchors,
            target,
            model.reg[-1],
            w,
            components=components,
            free=free,
            last_reg=model.last_reg,
        )
    last = replace(layer, coefficients=C, linear=linear)
    return replace(model, layers=(*model.layers[:-1], last), penalty=replace(model.penalty, directions=directions))


def check(model: AutoencoderLayers) -> None:
    """Refuse a model of a file whose sizes do not agree."""
    sizes = [layer.anchors.shape[1] for layer in model.layers]
    kept = model.items is None or isinstance(model.items, KeptItems)
    if not sizes or len(model.reg) != len(model.layers) + 1 or not kept:
        raise InputError("an autoencoder of a model file must have a regulariser per layer, and codes between them")
    check_kernel_stored(model.kernel, model.map)
    check_shape("coefficients", model.encoder.coefficients, model.map.width, sizes[0])
    _check_layers(model, [*sizes[1:], model.rebuilt.output.dim])
    if model.linear is not None:
        _check_linear(model, model.linear)
    check_places("pivots", model.penalty.pivots, model.map.width)
    check_shape("directions", model.penalty.directions, model.rebuilt.output.dim, None)
    check_shape("weights", model.row_weights, None)
    check_places("support", model.support, 2**31)
    check_places("saturated", model.saturated, 2**31)
    _check_codes(model, sizes[model.narrowest])
    _check_targets(model)


def _check_layers(model: AutoencoderLayers, widths: list[int]) -> None:
    for layer, above in zip(model.layers, widths, strict=True):
        if layer.coefficients is None and layer is not model.last:
            raise InputError("a layer of a model file must have coefficients")
        check_shape("layer codes", layer.anchors, model.map.width if model.map.whole else None, None)
        check_shape("coefficients", layer.coefficients, None, above)
        lacks = layer.coefficients is None and isinstance(model.rebuilt.output, Euclidean)  # and its basis
        check_shape("linear", layer.linear, None, None if lacks else above)


def _check_linear(model: AutoencoderLayers, linear: LinearPart) -> None:
    whole = model.map.whole
    if (model.last.linear if not whole else linear.mixed) is None:
        raise InputError("a free linear part must have mixed or, on landmarks, one of the decoder too")
    of_items = model.kernel.domain == "vectors" and (whole or model.rebuilt.kernel is None)
    check_shape("directions", linear.directions, model.map.reads if of_items else model.map.width, None)
    check_shape("coefficients", linear.coefficients, None, model.encoder.coefficients.shape[1])


def _check_codes(model: AutoencoderLayers, p: int) -> None:
    check_shape("codes", model.codes, None, p)
    n = len(model.codes)
    if model.map.whole and (n == 0 or model.map.width % n):  # noisy copies of an item share its code
        raise InputError(f"codes in a model file must be of the {model.map.width} items; got {n}")
    check_shape("inactive", model.inactive, p)
    check_shape("code map", model.code_map, p, p)
    if model.code_map is not None and np.linalg.matrix_rank(model.code_map) < p:
        raise InputError("the code map of a model file must be invertible")


def _check_targets(model: AutoencoderLayers) -> None:
    rebuilt, features = model.rebuilt, model.map
    if isinstance(rebuilt.output, Euclidean):
        if rebuilt.kernel is not None and not model.rebuilds_rows:
            raise InputError("features of a model file must be rebuilt as features")
        check_shape(
            "mean", rebuilt.output.mean, features.reads if rebuilt.self_targets and rebuilt.kernel is None else None
        )
        return
    if not isinstance(rebuilt.output, RKHS) or rebuilt.kernel is None:
        raise InputError("an autoencoder of a model file must rebuild vectors or features of a kernel")
    n = len(rebuilt.output.gram_mean)
    check_shape("diagonal", rebuilt.diagonal, n if features.whole else len(model.codes))
    if rebuilt.self_targets:
        check_shape("gram mean", rebuilt.output.gram_mean, features.width)
        check_kernel_stored(rebuilt.kernel, features)
    else:
        check_shape("gram mean", rebuilt.output.gram_mean, None)
        check_items_stored(rebuilt.kernel, rebuilt.items, n)
