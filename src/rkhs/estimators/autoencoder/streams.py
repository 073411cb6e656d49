"""Rows of files and memory maps: the model of a sample, and then the codes of all rows.

The sample holds as many rows as the encoder is ever fitted to, so that rows in memory and rows of a file have the same
model up to that number, with the same bits. Beyond it the sample is random, and the other rows are in memory
block by block, while they are encoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs.engines import Block, Rows, row_blocks
from rkhs.estimators.autoencoder.choice_on_landmarks import PreparedRows, open_rows
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, Fit
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel
from rkhs.problems.encoders import MAX_ENCODER_ROWS
from rkhs.spaces import BLOCK, gather_rows, positive_rows
from rkhs.spaces.source import Options


def open_any_rows(settings: Settings, training: Training, run: Run) -> PreparedRows:
    """Prepare rows in memory, or a sample of the rows of a file or memory map."""
    rows = training.items
    if not isinstance(rows, Rows):
        return open_rows(settings, training, run)
    chosen = positive_rows(len(training), MAX_ENCODER_ROWS, training.row_weights, np.random.RandomState(0))
    opened = open_rows(settings, _part(training, to_tensor(gather_rows(rows, chosen), **run.options), chosen), run)
    if chosen is None:
        return opened
    return _Sampled(**{one.name: getattr(opened, one.name) for one in fields(opened)}, whole=training, chosen=chosen)


@dataclass(frozen=True, eq=False)
class _Sampled(PreparedRows):
    """A sample of the rows of a file or memory map; the others are encoded with its model."""

    whole: Training = field(kw_only=True)
    chosen: np.ndarray = field(kw_only=True)  # indices of the rows of the sample

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
    """Model and options that encode a block of rows."""

    model: AutoencoderModel
    options: Options
    refine: tuple[int, float] | None


def _coded(items: np.ndarray, block: Block, task: _Coding) -> np.ndarray:
    """Codes of a block of rows, as those of new rows, but refined in single precision."""
    model, X = task.model, to_tensor(items, **task.options)
    raw = model.map.raw(X).to(**task.options)
    return model.to_user(model.encode(X, raw, refine=task.refine, rough=True)[model.narrowest]).cpu().numpy()
