"""The model that the fit of an autoencoder of many rows ends with, and what a later fit takes up of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rkhs._core.linalg import principal_axes
from rkhs.estimators.autoencoder_fit import Fit, as_array, collapse_warnings
from rkhs.estimators.row_stages import RowStages, Stage
from rkhs.estimators.staged_rows import MORE, MOST
from rkhs.models import AutoencoderModel, Compared, Expansion, Layer, LinearPart, Pricing, Rebuilt
from rkhs.models.code_metric import code_map
from rkhs.outputs import Euclidean
from rkhs.problems.semiparametric import PrincipalCoordinates, linear_unit
from rkhs.spaces import Source

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["previous_codes", "row_model"]


def previous_codes(estimator: KernelAutoencoder, stages: RowStages) -> Tensor | None:
    """Codes of the rows that are descended on, of the last fit, if it was one to as many rows."""
    model: AutoencoderModel | None = getattr(estimator, "model_", None) if estimator.warm_start else None
    if model is None or model.codes.shape != (len(stages.rows), stages.p) or model.last.linear is None:
        return None
    Z = model.read(torch.as_tensor(model.codes, dtype=torch.float64).to(stages.rows.target.device))
    return Z[stages.rows.order[:MOST]]


def row_model(
    estimator: KernelAutoencoder,
    stages: RowStages,
    stage: Stage,
    axes: PrincipalCoordinates,
    source: Source,
    output: Euclidean,
    compared: Compared,
    *,
    own: bool,
) -> Fit:
    """Code the other rows, and solve the decoder of all with more anchors."""
    rows, n, size, kernel = stages.rows, len(stages.rows), len(stage.codes), stages.kernel
    codes = stage.codes
    if size < n:
        codes = torch.cat([codes, stages.code(stage, slice(size, n), rows.share(size))])
    Q = principal_axes(codes, rows.weights) if kernel.rotation_invariant else torch.eye(stages.p).to(codes)
    codes, W = codes @ Q, stage.point @ Q
    layer = stages.decoder(rows.target, stage.reg, rows.weights, MORE * stages.anchors).solve(codes)
    k, unit = rows.linear.shape[1], linear_unit(stage.reg[0])
    inverse = torch.argsort(rows.order)
    w = None if rows.weights is None else rows.weights[inverse]
    codes, power = codes[inverse], float(estimator.code_metric)
    M = code_map(codes, layer.anchors, kernel, layer.coefficients, layer.linear, power, w)
    center = None if axes.center is None else as_array(axes.center)
    leading = None if rows.leading is None else as_array(rows.leading)
    model = AutoencoderModel(
        source.kernel,
        Expansion(source.features, as_array(source.features.whiten(W[k : k + source.features.dim]))),
        LinearPart(as_array(axes.directions * unit), as_array(axes.offset * unit), center, as_array(W[:k])),
        (Layer(kernel, as_array(layer.anchors), as_array(layer.coefficients), as_array(layer.linear)),),
        Rebuilt(output, None, own),
        stage.reg,
        as_array(codes),
        None if M is None else as_array(M),
        Pricing("diagonal", rows.share(size), directions=leading),
        support=as_array(rows.order[: len(layer.anchors)]),
        row_weights=None if w is None else as_array(w),
        compared=compared,
    )
    model = replace(model, codes=estimator._to_output(model.shown(codes)))
    estimator._warn_of_rounding(source.diag, model.encoder.coefficients, codes)
    value = layer.value + 0.5 * stage.reg[0] * float((W * W).sum())
    squares = rows.target.square().sum(1)
    trivial = 0.5 * float(squares.mean() if rows.weights is None else rows.weights @ squares)
    return Fit(model, replace(stage.solution, value=value), tuple(collapse_warnings(value, trivial, model.reg)))
