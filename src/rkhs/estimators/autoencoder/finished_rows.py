"""The end of a fit in stages: the decoder of all rows, with all of them as anchors where its reg may be chosen.

The more rows, the weaker is the best regulariser, and leave-one-out errors at fixed codes mislead: held-out rows are
coded as new ones with each candidate, by the encoder of the last stage that has not seen them. Their error with the
chosen one estimates that of the model, which its last stage and these rows still improve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs.estimators.autoencoder.staged_rows import FIRST, HELD_OUT, RowStages, joined
from rkhs.estimators.autoencoder.stages import SolvedDecoder, Stage, as_array, on_principal_axes
from rkhs.models import CodePenalty
from rkhs.problems.last_layers import MORE, AnchorsLayer
from rkhs.problems.leaves import CODE_STEPS, LeavesLayer
from rkhs.problems.refinement import CodeRefinement
from rkhs.selection.path import TIE_FACTOR
from rkhs.solvers.row_newton import descend

_SHARES = (1.0, 0.1, 0.01, 1e-3)  # candidates, as shares of the regulariser of the descent
_LEAVES = 2  # leaves in which candidates are compared
_TURNS = 6  # majorise-minimise iterations under a robust loss


@dataclass(frozen=True, eq=False)
class AllStages(RowStages):
    """The stages of a fit, and the decoder of all rows."""

    def ended(self, found: list[Stage]) -> Stage:
        """The last of the stages, with the steps of all."""
        histories = [[{**row, "rows": len(one.codes)} for row in one.solution.history] for one in found]
        return replace(found[-1], solution=joined([one.solution for one in found], histories), earlier=tuple(found))

    def of_all_rows(self, stage: Stage) -> Stage:
        """The stage with codes of all rows, on principal axes if the next kernel is rotation invariant."""
        layers, parts = self.coded(stage, len(self.rows)), [stage.point, *stage.hidden]
        (point, *hidden), layers = on_principal_axes(self.settings, parts, layers, self.rows.weights)
        return replace(stage, point=point, hidden=hidden, layers=layers)

    def coefficients(self, stage: Stage) -> tuple[Tensor, Tensor | None]:
        """Coefficients on the raw features of the storage."""
        features, k = self.inputs.map, stage.linear_columns
        return features.whiten(stage.point[k : k + features.dim]), None

    def penalty(self, stage: Stage) -> CodePenalty:
        """Penalty of changes of codes, as in the descent."""
        settings, leading = self.settings, self.rows.leading
        return CodePenalty(
            "diagonal",
            self.rows.share(len(stage.codes)),
            directions=None if leading is None else as_array(leading),
            row_constraint=settings.row_constraint,
            free=settings.refinable,
        )

    def residual_scale(self, stage: Stage) -> float:
        """Median residual norm of the rows that follow those of the stage."""
        size = float(self.next_errors(stage).sqrt().median())
        return max(size, torch.finfo(torch.float64).tiny)

    def last_layer(self, stage: Stage) -> SolvedDecoder:
        """Solve the decoder at codes of all rows, with more anchors than in the descent."""
        rows, loss, codes = self.rows, self.loss, stage.codes
        decoder = self.decoder(rows.target, stage.reg, rows.weights, MORE * self.settings.feature_storage.m)
        outside = torch.zeros_like(rows.prior_variance) if rows.outside is None else rows.outside
        saturated, reg, held_out = torch.zeros(len(codes), dtype=torch.bool), None, None
        if loss is None:
            missed = 0.5 * float(outside.mean() if rows.weights is None else rows.weights @ outside)
            decoder = replace(decoder, offset=missed)
            if self._chooses:
                last, held_out = _chosen_layer(self, decoder, stage)
                layer, reg = last.solve(codes), last.reg
            else:
                layer = decoder.solve(codes)
        else:
            _, layer = decoder.robust(loss, codes, outside, _TURNS)
            R = decoder.residuals(codes, layer)
            slopes = loss.gradient(R).norm(dim=1)
            saturated = (loss.gradient(2.0 * R).norm(dim=1) <= slopes) & (slopes > 0.0)
        trivial = 0.5 * self.losses(rows.norms())
        return SolvedDecoder(
            layer,
            value=layer.value + stage.solution.value - stage.layer.value,  # with the penalty of the encoder
            trivial=float(trivial.mean() if rows.weights is None else rows.weights @ trivial),
            support=rows.order[: len(layer.anchors)],
            saturated=rows.order[saturated].sort().values,
            gap=0.0 if loss is None else None,
            reg=reg,
            held_out=held_out,
        )

    @property
    def _chooses(self) -> bool:
        """Whether all rows are anchors: with a free linear part, one hidden layer, and a choice of ``reg``."""
        settings, rows = self.settings, self.rows
        single = len(settings.widths) == 1
        return bool(settings.candidates) and single and rows.different >= FIRST and rows.axes is not None


def _chosen_layer(
    stages: RowStages, decoder: AnchorsLayer, stage: Stage
) -> tuple[LeavesLayer | AnchorsLayer, float | None]:
    """The layer with the best of some weaker regularisers by held-out rows, coded as new ones, and their error."""
    rows, n = stages.rows, stages.rows.different
    last = LeavesLayer.of(decoder, decoder.reg, len(rows), stages.settings.feature_storage.m, rows.leading)
    part = n - min(HELD_OUT * max(1, 2**last.depth // (2 * _LEAVES)), n // 5)
    unaware = _unaware(stage, part)
    by = unaware or stage
    left_out, w = slice(part, n), torch.ones_like(rows.prior_variance) if rows.weights is None else rows.weights
    error_of = partial(_held_out_error, stages, by, left_out, w[left_out])
    Z = stages.coded(by, part)[-1][:part]
    few = stages.decoder(rows.targets(slice(0, part)), stage.reg, rows.part(part), stages.anchors)
    sums = few.sums(Z)
    single = few.solve(Z, sums)
    near = stages.code(replace(by, layers=[Z], layer=single), left_out, rows.share(part))[-1]
    regs = [decoder.reg * share for share in _SHARES]
    errors, used = _leaf_errors(replace(last, whole=few), Z, near, regs, error_of)
    chosen: LeavesLayer | AnchorsLayer = replace(last, reg=regs[int(errors.argmin())])
    if last.depth and errors.min() * TIE_FACTOR > error_of(single, single.anchors, used):
        used = torch.arange(n - part, device=Z.device) < HELD_OUT
        layers = [replace(few, reg=reg).solve(Z, sums) for reg in regs]
        errors = np.array([error_of(layer, single.anchors, used) for layer in layers])
        chosen = replace(decoder, reg=regs[int(errors.argmin())])
    whole = float(w[left_out][used].sum()) * stages.of_the_mean
    return chosen, float(errors.min()) / whole if unaware and whole else None


def _leaf_errors(
    layer: LeavesLayer, Z: Tensor, near: Tensor, regs: list[float], error_of: Callable[..., float]
) -> tuple[np.ndarray, Tensor]:
    """Errors of the held-out rows in some leaves by regulariser, and which rows these are by their codes ``near``."""
    halves, systems = layer.systems(Z)
    leaf, errors = halves.leaf_of(near), np.zeros(len(regs))
    used = torch.zeros_like(leaf, dtype=torch.bool)
    for number in range(0, len(systems), max(1, len(systems) // _LEAVES)):
        A, mine = Z[systems[number]], leaf == number
        path = layer.path(Z, systems[number], layer.whole.target, regs)
        errors += [error_of(found, A, mine) for found in path]
        used |= mine
    return errors, used


def _held_out_error(
    stages: RowStages, by: Stage, left_out: slice, w: Tensor, layer: Any, A: Tensor, some: Tensor
) -> float:
    # The weighted sum of squared errors of some rows left out, coded as new rows with a layer on anchors ``A``.
    rows, (start, radius) = stages.rows, stages.starts(by, left_out)
    where = rows.targets(left_out)[some], start[some], radius[some], rows.share(left_out.start), layer.linear
    problem = CodeRefinement(stages.kernel, A, layer.coefficients, *where, row_constraint=stages.row_constraint)
    codes = problem.codes(descend(problem, problem.nearest(), *CODE_STEPS))
    errors = problem.errors(codes, problem.kernel._gram(codes, A)) + rows.residual(left_out)[some]
    return float(w[some] @ errors)


def _unaware(stage: Stage, size: int) -> Stage | None:
    """The last stage that has not seen rows after the first ones; if it is the last of all, with codes of all rows."""
    found = [one for one in stage.earlier if len(one.codes) <= size]
    if not found:
        return None
    return stage if found[-1] is stage.earlier[-1] else found[-1]
