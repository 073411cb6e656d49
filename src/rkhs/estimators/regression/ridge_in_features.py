"""Ridge regression of vectors in finite features: one pass over the rows, one small linear system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.estimators.regression.options import MachineOptions
from rkhs.estimators.run import Run
from rkhs.estimators.storage import announce_features
from rkhs.estimators.training import Training
from rkhs.kernels import Kernel, Separable
from rkhs.models import Certificates, MachineModel
from rkhs.protocols import Reason, Solution
from rkhs.spaces import Data, fit_euclidean, open_source
from rkhs.spaces.features import Storage
from rkhs.spaces.rounding import warn_of_rounding
from rkhs.spaces.sums import Sweep, block_ridge

__all__ = ["fit_in_features"]


def fit_in_features(
    run: Run, storage: Storage, kernel: Kernel, training: Training, options: MachineOptions
) -> tuple[MachineModel, Solution]:
    """The machine of the squared loss in the features of a storage.

    Minimises ``sum_i w_i 1/2 |t_i - V^T F(x_i)|^2 + reg/2 |V|^2``.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), equation 8.
    """
    data, weights, Y = training.items, training.row_weights, training.goal
    columns = data.shape[1] if isinstance(data, Tensor) else storage.m
    announce_features(run, storage, len(training), columns, Y.shape[1], Y.shape[1], layers=1)
    source = open_source(run.options, storage, kernel, data, weights, Y)
    passes = Data(source.rows, source.blocks, run.engine_for(source.blocks))
    output = fit_euclidean(passes, source, center=options.center, scale=False)
    sweep: Sweep = replace(source.sweep(run.options), space=output)
    M, c, total = (torch.as_tensor(part) for part in passes.sum(block_ridge, sweep))
    M.diagonal().add_(options.reg)
    L, info = torch.linalg.cholesky_ex(M)
    if int(info) != 0:
        raise InputError(f"reg={options.reg!r} is lost in the rounding of the normal equations; use a larger reg")
    V = torch.cholesky_solve(c, L)
    value = 0.5 * (float(total) - float((c * V).sum()))
    coefficients = source.features.whiten(V).numpy()
    warn_of_rounding(run.name, run.options["dtype"], source.diag, coefficients, float(total) ** 0.5)
    exact = Certificates(0.0, np.arange(len(coefficients)), np.arange(0))
    machine = MachineModel(Separable(source.kernel), source.features, coefficients, output, exact)
    return machine, Solution(V, value, Reason.CLOSED_FORM, 1, 1)
