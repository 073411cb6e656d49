"""The end of a fit in stages: the decoder of all rows, with all of them as anchors where its reg may be chosen.

The more rows, the weaker is the best regulariser, and left-out errors at fixed codes mislead: rows are left out, and
coded as new ones with each candidate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rkhs.estimators.autoencoder.fit import Fit, as_array, collapse_warnings, layers_of, with_codes
from rkhs.estimators.autoencoder.opened_rows import Opened
from rkhs.estimators.autoencoder.staged_rows import FIRST, HELD_OUT, REFINING, RowStages, Stage
from rkhs.models import AutoencoderModel, CodePenalty, Compared, Expansion, LinearPart
from rkhs.problems.last_layers import MORE, AnchoredDecoder, AnchorsLayer
from rkhs.problems.leaves import LeavesLayer
from rkhs.problems.refinement import CodeRefinement
from rkhs.solvers.row_newton import descend

_SHARES = (1.0, 0.1, 0.01, 1e-3)  # of the regulariser of the descent: those that are compared
_LEAVES = 2  # that they are compared in
_TURNS = 6  # under a robust loss


def finished(stages: RowStages, stage: Stage, opened: Opened, compared: Compared) -> Fit:
    """Code the other rows, and solve the decoder of all with more anchors."""
    rows, settings = stages.rows, stages.settings
    descended, k = len(stage.codes), rows.linear[:, : len(stage.point[0])].shape[1]
    stage = stages.rotated(stage)
    layers, W, inverse = stage.layers, stage.point, torch.argsort(rows.order)
    last = _last_decoder(stages, stage)
    value = last.layer.value + stage.solution.value - stage.layer.value  # with the price of the encoder
    w = None if rows.weights is None else rows.weights[inverse]
    leading = None if rows.leading is None else as_array(rows.leading)
    model = AutoencoderModel(
        opened.kernel,
        Expansion(opened.map, as_array(opened.map.whiten(W[k : k + opened.map.dim]))),
        None if rows.axes is None else LinearPart.along(rows.axes.with_penalty(stage.reg[0]).leading(k), W[:k]),
        layers_of(settings, layers, stage.hidden, last.layer),
        opened.rebuilt,
        settings.reg,
        np.empty(0),
        None,
        CodePenalty(
            "diagonal", rows.share(descended), None, None, leading, settings.row_constraint, settings.refinable
        ),
        loss=settings.loss,
        gap=0.0 if stages.loss is None else None,
        support=as_array(rows.order[: len(last.layer.anchors)]),
        saturated=np.sort(as_array(rows.order[last.saturated])),
        row_weights=None if w is None else as_array(w),
        compared=compared,
        last_reg=last.reg,
    )
    model = with_codes(model, settings, [Z[inverse] for Z in layers], w)
    warned = tuple(collapse_warnings(value, last.trivial, model.reg))
    return Fit(model, replace(stage.solution, value=value), layers[0][inverse], opened.diag, warned)


class _LastDecoder(NamedTuple):
    """The solved last layer, and what is known of it."""

    layer: AnchoredDecoder
    reg: float | None  # None: that of the descent
    trivial: float  # objective of predicting the mean
    saturated: Tensor  # (n,): rows where the loss is linear


def _last_decoder(stages: RowStages, stage: Stage) -> _LastDecoder:
    """Solve the decoder at codes of all rows, with more anchors than in the descent."""
    rows, loss, codes = stages.rows, stages.loss, stage.codes
    decoder = stages.decoder(rows.target, stage.reg, rows.weights, MORE * stages.settings.feature_storage.m)
    outside = torch.zeros_like(rows.prior_variance) if rows.outside is None else rows.outside
    saturated, reg = torch.zeros(len(codes), dtype=torch.bool), None
    if loss is None:
        missed = 0.5 * float(outside.mean() if rows.weights is None else rows.weights @ outside)
        decoder = replace(decoder, offset=missed)
        if _chooses(stages):
            leaves = _chosen_leaves(stages, decoder, stage)
            layer, reg = leaves.solve(codes), leaves.reg
        else:
            layer = decoder.solve(codes)
    else:
        _, layer = decoder.robust(loss, codes, outside, _TURNS)
        R = decoder.residuals(codes, layer)
        slopes = loss.gradient(R).norm(dim=1)
        saturated = (loss.gradient(2.0 * R).norm(dim=1) <= slopes) & (slopes > 0.0)
    trivial = 0.5 * stages.losses(rows.norms())
    mean = float(trivial.mean() if rows.weights is None else rows.weights @ trivial)
    return _LastDecoder(layer, reg, mean, saturated)


def _chooses(stages: RowStages) -> bool:
    """Whether all rows are anchors: beside a free linear part and one hidden layer, where regs were chosen."""
    chosen = bool(stages.settings.candidates) and len(stages.settings.widths) == 1 and stages.rows.different >= FIRST
    return chosen and stages.rows.axes is not None


def _chosen_leaves(stages: RowStages, decoder: AnchorsLayer, stage: Stage) -> LeavesLayer:
    """The layer with the best of some weaker regs, by rows that it has not seen, coded as new ones."""
    rows, n = stages.rows, stages.rows.different
    last = LeavesLayer.of(decoder, decoder.reg, len(rows), stages.settings.feature_storage.m, rows.leading)
    part = n - min(HELD_OUT * max(1, 2**last.depth // (2 * _LEAVES)), n // 5)
    left_out, Z, count = slice(part, n), stage.codes[:part], rows.share(part)
    few = stages.decoder(rows.targets(slice(0, part)), stage.reg, rows.part(part), stages.anchors)
    near = stages.code(replace(stage, layers=[Z], layer=few.solve(Z)), left_out, count)[-1]
    targets, (start, radius) = rows.targets(left_out), stages.starts(stage, left_out)
    w = torch.ones_like(radius) if rows.weights is None else rows.weights[left_out]
    compared, regs = replace(last, whole=few), [decoder.reg * share for share in _SHARES]
    halves, systems = compared.systems(Z)
    leaf, errors = halves.leaf_of(near), w.new_zeros(len(regs))
    for number in range(0, len(systems), max(1, len(systems) // _LEAVES)):
        A, mine = Z[systems[number]], leaf == number
        for k, found in enumerate(compared.path(Z, systems[number], few.target, regs)):
            where = targets[mine], start[mine], radius[mine], count, found.linear
            problem = CodeRefinement(stages.kernel, A, found.coefficients, *where, row_constraint=stages.row_constraint)
            codes = problem.codes(descend(problem, problem.nearest(), *REFINING))
            errors[k] += w[mine] @ problem.errors(codes, problem.kernel._gram(codes, A))
    return replace(last, reg=regs[int(errors.argmin())])
