"""What every fit of an autoencoder starts and ends with, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tile_rows, tiles
from rkhs._core.errors import CollapseWarning
from rkhs._core.linalg import principal_axes
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.run import Run
from rkhs.models import AutoencoderModel, Compared, Layer, LocalLayer, code_map
from rkhs.problems.encoders import pad_or_truncate
from rkhs.problems.leaves import LocalDecoder
from rkhs.protocols import Solution


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen for a fit."""

    settings: Settings  # with one regulariser a layer
    start: Any = None  # a fit with them to go on from: a model of the same items, or a stage of the same rows
    compared: Compared | None = field(default_factory=Compared)  # None: the fit is one of those that are compared


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit of an autoencoder ends with."""

    model: AutoencoderModel
    solution: Solution  # of the solver, with the objective of the model
    codes: Tensor  # (n, p): of the first hidden layer
    largest: float  # of ``k(x, x)``
    warnings: tuple[Warning, ...] = ()  # what users must know


class Opened(Protocol):
    """Items as fits read them, whatever the regularisers."""

    def fit(self, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
        """Fit all layers, from a previous model of these items if there is one that suits."""


def as_array(values: Tensor) -> np.ndarray:
    """An array in the order in which a file gives it back."""
    return values.contiguous().cpu().numpy()


def on_principal_axes(
    settings: Settings, parts: list[Tensor], codes: list[Tensor], weights: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Rotate the codes of every layer, and the parameters that give them, where the layer above allows it."""
    parts, codes = list(parts), list(codes)
    for layer, Z in enumerate(codes):
        if settings.turns(layer):
            Q = principal_axes(Z, weights)
            parts[layer], codes[layer] = parts[layer] @ Q, Z @ Q
    return parts, codes


def with_identity_layers(
    settings: Settings, parts: list[Tensor], Z: Tensor, count: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Parameters and codes of all layers from those of the first: the others are the identity, over ``count`` items."""
    first, *others = settings.widths
    hidden = parts[1:] or [Z.new_zeros(1, width) for width in others]
    parts = [pad_or_truncate(parts[0], first), *(pad_or_truncate(Phi.mT, count).mT for Phi in hidden)]
    return parts, [pad_or_truncate(Z, width) for width in settings.widths]


def layers_of(settings: Settings, codes: list[Tensor], hidden: list[Tensor], last: Any) -> tuple[Layer, ...]:
    """Layers above codes, each spread over as many of these as it has coefficients; ``last`` is the decoder."""
    found: list[Layer] = []
    kernels = settings.decoder_kernels[-len(codes) :]
    for kernel, Z, C in zip(kernels, codes, [*hidden, last.coefficients], strict=True):
        linear = last.linear
        if len(found) < len(hidden):
            linear = (
                pad_or_truncate(torch.eye(Z.shape[1] + 1, Z.shape[1]).to(Z), C.shape[1]) if settings.shortcut else None
            )
        found.append(Layer(kernel, as_array(Z[: len(C)]), as_array(C), None if linear is None else as_array(linear)))
    if isinstance(last, LocalDecoder):
        found[-1] = _local_layer(found[-1], last)
    return tuple(found)


def _local_layer(rest: Layer, last: LocalDecoder) -> LocalLayer:
    """The layer with its leaves, whose coefficients are kept in single precision."""
    leaves = []
    for A, found in last.leaves:
        linear = None if found.linear is None else as_array(found.linear)
        leaves.append(Layer(rest.kernel, as_array(A), as_array(found.coefficients.float()), linear))
    return LocalLayer(
        rest.kernel,
        rest.anchors,
        rest.coefficients,
        rest.linear,
        normals=as_array(last.halves.normals),
        cuts=as_array(last.halves.cuts),
        widths=as_array(last.halves.widths),
        leaves=tuple(leaves),
        directions=None if last.directions is None else as_array(last.directions),
    )


def with_codes(
    model: AutoencoderModel, settings: Settings, codes: list[Tensor], weights: Tensor | None
) -> AutoencoderModel:
    """The model with codes of its training items, which are given for every layer, in the metric that was asked for."""
    last, Z = model.last, codes[0]
    if settings.code_power > 0.0:
        anchors, coefficients, linear = last.tensors(Z)
        M = code_map(Z, anchors, last.kernel, coefficients, linear, settings.code_power, weights)
        model = replace(model, code_map=None if M is None else as_array(M))
    return replace(model, codes=as_array(model.to_user(codes[model.narrowest])))


def recomputed_codes(settings: Settings, run: Run, model: AutoencoderModel, items: Tensor) -> np.ndarray:
    """Codes of clean items, of a model that was fitted to noisy copies."""
    found = []
    for tile in tiles(len(items), tile_rows(model.map.width)):
        raw = model.map.raw(items[tile]).to(**run.options)
        found.append(model.to_user(model.encode(items[tile], raw)[model.narrowest]))
    return torch.cat(found).cpu().numpy()


def collapse_warnings(value: float, trivial: float, reg: tuple[float, ...]) -> list[Warning]:
    """One if the objective is that of predicting the mean, ``trivial``, or above it, as constraints can make it."""
    if not (trivial > 0.0 and value > 0.999 * trivial):
        return []
    if value > 1.001 * trivial:
        return [
            CollapseWarning(
                f"the objective {value:.4g} is above {trivial:.4g}, that of predicting the mean: the kernel can hardly "
                f"bring the codes to the constraint. Lower reg (now {reg}) or choose a kernel of full rank, such as "
                "'gaussian'"
            )
        ]
    return [
        CollapseWarning(
            f"the codes collapsed to a point: the objective {value:.4g} is that of predicting the mean. Lower reg (now "
            f"{reg}) or choose another kernel"
        )
    ]
