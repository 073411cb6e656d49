"""What the fit of an autoencoder of many rows stores, and what it takes up again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import principal_axes
from rkhs.estimators.autoencoder_fit import warn_on_collapse
from rkhs.estimators.code_metric import code_map, from_outside, to_outside
from rkhs.estimators.row_stages import RowStages, Stage
from rkhs.estimators.staged_rows import MORE, MOST
from rkhs.problems.anchored_autoencoder import AnchoredLayer
from rkhs.problems.semiparametric import PrincipalCoordinates, linear_unit
from rkhs.spaces import Source

__all__ = ["previous_codes", "store_rows"]


def previous_codes(model: Any, stages: RowStages) -> Tensor | None:
    """Codes of the rows that are descended on, of the last fit, if it was one to as many rows."""
    codes = getattr(model, "codes_", None) if model.warm_start else None
    if codes is None or codes.shape != (len(stages.rows), stages.p) or getattr(model, "decoder_linear_", None) is None:
        return None
    Z = from_outside(model, torch.as_tensor(codes, dtype=torch.float64).to(stages.rows.target.device))
    return Z[stages.rows.order[:MOST]]


def store_rows(
    model: Any,
    stages: RowStages,
    stage: Stage,
    history: list[dict[str, Any]],
    axes: PrincipalCoordinates,
    source: Source,
) -> None:
    """Code the other rows, solve the decoder of all with more anchors, and store what was found."""
    rows, n, size = stages.rows, len(stages.rows), len(stage.codes)
    codes = stage.codes
    if size < n:
        codes = torch.cat([codes, stages.code(stage, slice(size, n), rows.share(size))])
    Q = principal_axes(codes, rows.weights) if stages.kernel.rotation_invariant else torch.eye(stages.p).to(codes)
    codes, W = codes @ Q, stage.point @ Q
    layer = stages.decoder(rows.target, stage.reg, rows.weights, MORE * stages.anchors).solve(codes)
    k, unit = rows.linear.shape[1], linear_unit(stage.reg[0])
    price = 0.5 * stage.reg[0] * float((W * W).sum())
    model._total_weight = rows.share(size)  # what the price of a code was weighed against
    model.linear_coef_ = W[:k].cpu().numpy()
    model.linear_directions_ = (axes.directions * unit).cpu().numpy()
    model.linear_offset_ = (axes.offset * unit).cpu().numpy()
    model.linear_center_ = None if axes.center is None else axes.center.cpu().numpy()
    model.encoder_coefs_ = [source.features.whiten(W[k : k + source.features.dim]).cpu().numpy()]
    model.code_price_ = "diagonal"
    model.goal_directions_ = None if rows.leading is None else rows.leading.cpu().numpy()
    _store_decoder(model, stages, layer)
    inverse = torch.argsort(rows.order)
    w = None if rows.weights is None else rows.weights[inverse]
    model._row_weights = None if w is None else w.cpu().numpy()
    codes = codes[inverse]
    power = float(model.code_metric)
    M = code_map(codes, layer.anchors, stages.kernel, layer.coefficients, layer.linear, power, w)
    model.code_map_ = None if M is None else M.cpu().numpy()
    model.codes_ = model._to_output(to_outside(model, codes))
    model._warn_of_rounding(source.diag, model.encoder_coefs_[0], codes)
    model.support_items_, model.target_items_, model.train_diag_ = source.features.kept, None, None
    value = layer.value + price
    model._record(replace(stage.solution, value=value, history=tuple(history)))
    trivial = rows.target.square().sum(1)
    warn_on_collapse(model, 0.5 * float(trivial.mean() if rows.weights is None else rows.weights @ trivial))


def _store_decoder(model: Any, stages: RowStages, layer: AnchoredLayer) -> None:
    model.decoder_kernels_ = (stages.kernel,)
    model.layer_codes_, model.decoder_coef_ = [layer.anchors.cpu().numpy()], layer.coefficients.cpu().numpy()
    model.decoder_linear_ = layer.linear.cpu().numpy()
    model.bottleneck_, model.gap_ = 0, 0.0
    model.support_, model.saturated_ = stages.rows.order[: len(layer.anchors)].cpu().numpy(), np.arange(0)
    model.encoder_triangle_, model.encoder_pivots_, model._cache_encoder = None, None, None
    model.linear_mixed_ = None
