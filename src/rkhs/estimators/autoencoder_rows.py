"""Fitting a two-layer autoencoder in finite features with free linear parts: every row has a code of its own.

Rows are vectors in memory. The problem is that of :mod:`rkhs.problems.anchored_autoencoder`, its stages those of
:mod:`rkhs.estimators.row_stages`; in the end the decoder is solved once more, with more anchors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.engines import Rows, Serial, Threads, thread_limit
from rkhs.estimators.autoencoder_fit import Fit
from rkhs.estimators.autoencoder_settings import Settings, read_settings
from rkhs.estimators.row_choice import best_stage
from rkhs.estimators.row_model import previous_codes, row_model
from rkhs.estimators.row_stages import RowStages
from rkhs.estimators.staged_rows import announce_rows, row_outputs, staged_rows, strips
from rkhs.estimators.tiles import read_row_weights, read_rows
from rkhs.estimators.training import read_targets
from rkhs.features import Storage
from rkhs.spaces import open_source

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["fit_rows"]


def fit_rows(model: KernelAutoencoder, storage: Storage, X: Any, targets: Any, sample_weight: Any) -> Fit:
    """Fit a :class:`KernelAutoencoder` with free linear parts in the features of a storage."""
    kernel = model._kernel_for(X)
    settings = read_settings(model, kernel, refined=bool(model.refine) and targets is None)
    data = read_rows(model, X, kernel)
    _refuse(model, storage, settings, data)
    goal = read_targets(model, targets, data, kernel, settings)
    data, goal, weights, weight = read_row_weights(model, sample_weight, data, kernel, goal)
    goal = goal.to(torch.float64)
    settings.check_rows(len(data), goal.shape[1])
    p = settings.widths[0]
    announce_rows(model, storage, len(data), data.shape[1], goal.shape[1], p)
    source = open_source(model._options, storage, kernel, data, weights)
    w = None if weights is None else torch.as_tensor(weights).to(goal)
    output, T = row_outputs(goal, p, w, center=bool(model.center), scale=bool(model.scale))
    own = bool(model.refine) and targets is None
    rows, axes = staged_rows(data.to(torch.float64), T, source.kernel, source.features, p, w, weight, own=own)
    engine = model._run.engine_for(strips(len(data)))
    if not isinstance(engine, (Serial, Threads)):
        raise InputError("linear_part='free' needs one machine; use linear_part='kernel' with this engine")
    stages = RowStages(
        rows,
        settings.decoder_kernels[0],
        p,
        storage.m,
        engine,
        model.max_iter,
        model.tol,
        model.verbose,
        type(model).__name__,
        model._run.journal,
    )
    with thread_limit(1 if data.device.type == "cpu" else None):
        stage, compared = best_stage(model, settings, stages, previous_codes(model, stages))
        return row_model(model, stages, stage, axes, source, output, compared, own=targets is None)


def _refuse(model: KernelAutoencoder, storage: Storage, settings: Settings, data: Any) -> None:
    """Refuse what has no closed form on anchors, or is read from elsewhere, and say what to use."""
    kernel = f"use linear_part='kernel' with storage={storage!r}"
    if isinstance(data, Rows):
        raise InputError(f"linear_part='free' needs rows in memory; {kernel}")
    if not isinstance(data, Tensor) or model._input_kernel().domain != "vectors" or settings.features:
        raise InputError(f"linear_part='free' of what is not vectors that are rebuilt needs storage='dense'; {kernel}")
    if model.solver != "lbfgs":
        raise InputError(f"solver={model.solver!r} needs storage='dense'; use solver='lbfgs' with storage={storage!r}")
    if model._noisy:
        raise InputError(f"noise beside linear_part='free' needs storage='dense'; {kernel}")
