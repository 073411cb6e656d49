"""Free linear parts for rows that are read from where they are: the model of a sample, and then the codes of all.

The sample holds as many rows as the encoder is ever fitted to, so that rows in memory and rows of a file have the same
model up to that number, with the same bits. Beyond it the sample is random, and all that is ever in memory of the other
rows are the blocks that are being coded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs.engines import Block, Rows, row_blocks, thread_limit
from rkhs.estimators.autoencoder.fit import Fit
from rkhs.estimators.autoencoder.rows import fit_rows
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.options.memory_needs import MOST
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel
from rkhs.spaces import BLOCK, gather_rows, positive_rows
from rkhs.spaces.source import Options

__all__ = ["fit_any_rows"]


def fit_any_rows(settings: Settings, training: Training, run: Run, previous: AutoencoderModel | None) -> Fit:
    """Fit two layers with free linear parts; rows are in memory, or read from where they are."""
    rows = training.items
    if not isinstance(rows, Rows):
        return fit_rows(settings, training, run, previous)
    n, weights = len(training), training.row_weights
    chosen = positive_rows(n, MOST, weights, np.random.RandomState(0))
    sample = _part(training, to_tensor(gather_rows(rows, chosen), **run.options), chosen)
    found = fit_rows(settings, sample, run, previous)
    if chosen is None:
        return found
    model = found.model
    codes, task = np.empty((n, model.codes.shape[1])), _Coding(model, run.options, settings.refinement)
    blocks = row_blocks(n, BLOCK)
    engine = run.engine_for(blocks)
    with thread_limit(1 if run.options["device"].type == "cpu" else None):
        for block, part in zip(blocks, engine.map(_coded, blocks, rows, task), strict=True):
            codes[block.start : block.stop] = part
    codes[chosen] = model.codes
    return replace(found, model=replace(model, codes=codes, support=chosen[model.support], row_weights=weights))


def _part(training: Training, items: Tensor, chosen: np.ndarray | None) -> Training:
    """The rows of a sample."""
    w, total = training.weights, training.total
    if chosen is not None:
        part = None if w is None else w[torch.as_tensor(chosen)]
        total = float(len(chosen)) if part is None else total * float(part.sum())
        w = None if part is None or bool((part == part[0]).all()) else part / part.sum()
    return replace(training, items=items, goal=items, weights=w, total=total)


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
    return model.shown(model.encode(X, raw, refine=task.refine, rough=True)[model.narrowest]).cpu().numpy()
