"""Regression of several outputs whose targets have gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import GapWarning, InputError, warn
from rkhs.losses import Loss, Squared
from rkhs.models import Certificates, MachineModel
from rkhs.outputs import Euclidean
from rkhs.problems.gapped_ridge import GappedRidge
from rkhs.protocols import Reason, Solution
from rkhs.spaces import training_gram
from rkhs.spaces.features import WholeMap

if TYPE_CHECKING:
    from rkhs.estimators.regression.options import MachineOptions
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels import OperatorKernel

__all__ = ["check_gaps", "fit_with_gaps"]


def check_gaps(training: Training, kernel: OperatorKernel, loss: Loss, *, dense: bool = True) -> bool:
    """Whether targets have gaps; an error where the machine cannot be fitted with them."""
    gaps = torch.isnan(training.goal)
    if not bool(gaps.any()):
        return False
    if training.goal.shape[1] == 1:
        row = int(gaps[:, 0].nonzero()[0])
        raise InputError(f"y must be known in every row if there is one output; got NaN in row {row}. Drop such rows")
    known = ~gaps if training.weights is None else ~gaps & (training.weights > 0.0)[:, None]
    if not bool(known.any(0).all()):
        output = int((~known.any(0)).nonzero()[0])
        raise InputError(f"output {output} of y is NaN in every row of positive weight; leave it out")
    plain = len(kernel.pairs) == 1 and kernel.pairs[0].operator is None
    if not (dense and plain and isinstance(loss, Squared)):
        raise InputError(
            "y may have gaps (NaN) only with loss='squared', one kernel without operator, and storage='dense': outputs "
            "are then fitted one by one. Fill the gaps, drop their rows, or change these parameters"
        )
    return True


def fit_with_gaps(
    run: Run, kernel: OperatorKernel, training: Training, options: MachineOptions
) -> tuple[MachineModel, Solution]:
    """The machine of the squared loss, each output fitted to the rows where it is known."""
    goal, weights = training.goal, training.weights
    gaps = torch.isnan(goal)
    warn(
        f"y has {int(gaps.sum())} gaps (NaN) in {int(gaps.any(0).sum())} of {goal.shape[1]} outputs: each output is "
        "fitted to the rows where it is known",
        GapWarning,
    )
    resolved = kernel.resolve(training.items, weights, goal.shape[1])
    term = resolved.pairs[0].kernel
    K = training_gram(term, training.items, run.options, run.psd)
    ridge = GappedRidge(K, goal, weights, options.center)
    C, value = ridge.solve(options.reg)
    bound = float(torch.linalg.vector_norm(ridge.targets, dim=1).max())
    support = C.any(1).nonzero()[:, 0].cpu().numpy()
    found = Certificates(0.0, support, np.arange(0), kernel_bound=float(K.diagonal().max()), output_bound=bound)
    items = None if resolved.domain == "gram" else as_numpy(training.items)
    features, output = WholeMap(term, items, len(goal)), Euclidean(_array(ridge.mean))
    model = MachineModel(resolved, features, _array(C), output, found, options.loss)
    return model, Solution(C, value, Reason.CLOSED_FORM, 1, 1)


def _array(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
