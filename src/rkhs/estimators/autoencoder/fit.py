"""The fit of an autoencoder: read the items, choose the settings that were left open, solve the stages.

Settings are chosen in the same way for every storage. A criterion measures held-out errors: in memory of rows that are
left out (:mod:`rkhs.estimators.autoencoder.choice_in_memory`), on landmarks of rows that only later stages use
(:mod:`rkhs.estimators.autoencoder.choice_on_landmarks`). Among the candidates whose error is close to the least, the
one with the strongest regularisation is chosen. Then hidden layers that are the identity are compared with others,
which are taken if they are better by a standard error.

Rows that are read from where they are: the model is that of a sample of as many rows as an encoder is ever fitted to,
so that rows in memory and rows of a file have the same model up to that number, with the same bits. Of the others,
only blocks that are being coded are in memory.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs.engines import Block, Rows, row_blocks
from rkhs.estimators.autoencoder.choice_in_memory import ItemsCriterion
from rkhs.estimators.autoencoder.choice_on_landmarks import OpenedRows, RowsCriterion, one_thread, open_rows
from rkhs.estimators.autoencoder.dense import OpenedItems, open_items
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, Fit, fit_opened
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel, Compared
from rkhs.problems.encoders import MOST
from rkhs.selection.path import Comparison, gain
from rkhs.spaces import BLOCK, gather_rows, positive_rows
from rkhs.spaces.source import Options

Opened = OpenedItems | OpenedRows
Criterion = ItemsCriterion | RowsCriterion


def fit(settings: Settings, training: Training, run: Run, previous: AutoencoderModel | None = None) -> Fit:
    """Fit an autoencoder in any storage, from a previous model of these items if there is one that suits."""
    in_memory = isinstance(settings.storage, str)
    opened = (open_items if in_memory else _open_rows)(settings, training, run)
    deep = bool(settings.shortcut and settings.candidates)
    single = settings.shallow if deep else settings
    with nullcontext() if in_memory else one_thread(run):
        criterion = _criterion(opened, single, run).prepared()
        found = criterion.compare()
        chosen, choice = criterion.opened, Choice(criterion.settings)
        if np.isfinite(found.means).any():  # otherwise the fit to come gives the reason
            chosen, choice = _taken(criterion, found)
        if deep:
            chosen, choice = _with_depth(opened, settings, choice, run)
        return chosen.completed(fit_opened(chosen, choice, run, previous), choice, run)


def _criterion(opened: Opened, settings: Settings, run: Run) -> Criterion:
    """Criterion that compares the candidates in a storage."""
    if isinstance(opened, OpenedRows):
        return RowsCriterion(opened, settings, run)
    return ItemsCriterion.of(opened, settings, run)


def _taken(criterion: Any, found: Comparison) -> tuple[Opened, Choice]:
    """The choice of the strongest candidate about as good as the best, and what follows from it."""
    at = found.taken
    compared = Compared(np.array(found.candidates), found.means, float(np.nanmin(found.means)))
    settings = replace(criterion.settings, reg=found.candidates[at])
    return criterion.finish(Choice(settings, found.fits[at], compared), found, at)


def _with_depth(opened: Opened, settings: Settings, single: Choice, run: Run) -> tuple[Opened, Choice]:
    """Keep the hidden layers the identity, or choose the regulariser at which they are better by a standard error."""
    candidates, kernel = settings.depths(single.settings), settings.kernel
    settings = settings.deepened(single.settings)
    if settings.kernel is not kernel:
        opened = opened.reopened(settings, run)
    criterion: Any = _criterion(opened, settings, run)
    start, compared = single.start, single.compared
    compared = compared.deepened(len(settings.widths) - 1)
    found = criterion.compare_depths(candidates, start)
    if found.candidates:
        at, means = gain(found.errors, found.weights)
        if at:
            settings, start = replace(settings, reg=candidates[at]), found.fits[at] or start
            compared = replace(compared, candidates=np.array(candidates), errors=means, held_out=float(means[at]))
            compared = criterion.reported(compared, start)
    return criterion.opened, Choice(settings, start, compared)


def _open_rows(settings: Settings, training: Training, run: Run) -> OpenedRows:
    """Rows in memory, or a sample of those that are read from where they are."""
    rows = training.items
    if not isinstance(rows, Rows):
        return open_rows(settings, training, run)
    chosen = positive_rows(len(training), MOST, training.row_weights, np.random.RandomState(0))
    opened = open_rows(settings, _part(training, to_tensor(gather_rows(rows, chosen), **run.options), chosen), run)
    if chosen is None:
        return opened
    return _Sampled(**{one.name: getattr(opened, one.name) for one in fields(opened)}, whole=training, chosen=chosen)


@dataclass(frozen=True, eq=False)
class _Sampled(OpenedRows):
    """A sample of rows that are read from where they are: the others are coded with its model."""

    whole: Training = field(kw_only=True)
    chosen: np.ndarray = field(kw_only=True)  # numbers of the rows of the sample

    def completed(self, fit: Fit, choice: Choice, run: Run) -> Fit:
        """The fit with codes of all rows."""
        found, n = super().completed(fit, choice, run), len(self.whole)
        model = found.model
        codes = np.empty((n, model.codes.shape[1]))
        task, blocks = _Coding(model, run.options, choice.settings.refine), row_blocks(n, BLOCK)
        parts = run.engine_for(blocks).map(_coded, blocks, self.whole.items, task)
        for block, part in zip(blocks, parts, strict=True):
            codes[block.start : block.stop] = part
        codes[self.chosen] = model.codes
        support, weights = self.chosen[model.support], self.whole.row_weights
        return replace(found, model=replace(model, codes=codes, support=support, row_weights=weights))


def _part(training: Training, items: Tensor, chosen: np.ndarray | None) -> Training:
    w, total = training.weights, training.total
    if chosen is not None:
        part = None if w is None else w[torch.as_tensor(chosen)]
        total = float(len(chosen)) if part is None else total * float(part.sum())
        w = None if part is None or bool((part == part[0]).all()) else part / part.sum()
    return replace(training, items=items, targets=items, weights=w, total=total)


@dataclass(frozen=True, eq=False)
class _Coding:
    """What a block of rows is coded with."""

    model: AutoencoderModel
    options: Options
    refine: tuple[int, float] | None


def _coded(items: np.ndarray, block: Block, task: _Coding) -> np.ndarray:
    """Codes of a block of rows, as those of new rows, but refined in single precision."""
    model, X = task.model, to_tensor(items, **task.options)
    raw = model.map.raw(X).to(**task.options)
    return model.to_user(model.encode(X, raw, refine=task.refine, rough=True)[model.narrowest]).cpu().numpy()
