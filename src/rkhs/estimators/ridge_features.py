"""Ridge regression of vectors in finite features: one pass over the rows, one small linear system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.estimators.machine_options import read_operator_kernel
from rkhs.estimators.storage import announce_features
from rkhs.estimators.tiles import read_row_weights
from rkhs.features import Storage
from rkhs.kernels.operator_valued import Separable
from rkhs.losses import Squared, as_loss
from rkhs.models import Certificates, MachineModel
from rkhs.protocols import Reason, Solution
from rkhs.spaces import Data, fit_euclidean, open_source
from rkhs.spaces.sums import Sweep, block_ridge

if TYPE_CHECKING:
    from rkhs.estimators.operator_regressor import OperatorKernelRegressor

__all__ = ["fit_ridge"]


def fit_ridge(
    model: OperatorKernelRegressor, storage: Storage, X: Any, Y: Tensor, sample_weight: Any
) -> tuple[MachineModel, Solution]:
    """Fit a regressor with the squared loss in the features of a storage.

    Minimises ``sum_i w_i 1/2 |t_i - V^T F(x_i)|^2 + reg/2 |V|^2``.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), equation 8.
    """
    kernel = _scalar_kernel(model, storage)
    data, Y, weights, _ = read_row_weights(model, sample_weight, X, kernel, Y)
    n, columns = len(data), data.shape[1] if isinstance(data, Tensor) else storage.m
    announce_features(model._run, storage, n, columns, Y.shape[1], Y.shape[1], layers=1)
    source = open_source(model._options, storage, kernel, data, weights, Y)
    passes = Data(source.rows, source.blocks, model._run.engine_for(source.blocks))
    output = fit_euclidean(passes, source, center=bool(model.center), scale=False)
    sweep: Sweep = replace(source.sweep(model._options), space=output)
    M, c, total = (torch.as_tensor(part) for part in passes.sum(block_ridge, sweep))
    M.diagonal().add_(model.reg)
    L, info = torch.linalg.cholesky_ex(M)
    if int(info) != 0:
        raise InputError(f"reg={model.reg!r} is lost in the rounding of the normal equations; use a larger reg")
    V = torch.cholesky_solve(c, L)
    value = 0.5 * (float(total) - float((c * V).sum()))
    coefficients = source.features.whiten(V).numpy()
    model._warn_of_rounding(source.diag, coefficients, float(total) ** 0.5)
    exact = Certificates(0.0, np.arange(len(coefficients)), np.arange(0))
    machine = MachineModel(Separable(source.kernel), source.features, coefficients, output, exact)
    return machine, Solution(V, value, Reason.CLOSED_FORM, 1, 1)


def _scalar_kernel(model: OperatorKernelRegressor, storage: Storage) -> Any:
    """The one scalar kernel; what needs the dual is refused."""
    check_number(model.reg, "reg", above=0.0)
    if not isinstance(as_loss(model.loss), Squared):
        raise InputError(f"loss={model.loss!r} needs storage='dense'; use loss='squared' with storage={storage!r}")
    pairs = read_operator_kernel(model.kernel, model.operator).pairs
    if len(pairs) != 1 or pairs[0].operator is not None:
        raise InputError(f"operators need storage='dense'; use one kernel and operator=None with storage={storage!r}")
    return pairs[0].kernel
