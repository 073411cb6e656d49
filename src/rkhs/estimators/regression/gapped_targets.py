"""Regression of several outputs whose targets have gaps."""

from __future__ import annotations

import torch

from rkhs._core.errors import GapWarning, InputError, warn
from rkhs.estimators.regression.options import MachineOptions
from rkhs.estimators.regression.terms import Regression, term_grams
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.kernels import OperatorKernel
from rkhs.losses import Loss, Squared
from rkhs.models import MachineModel
from rkhs.outputs import Euclidean
from rkhs.problems.gapped_ridge import GappedRidge
from rkhs.protocols import Solution


def check_gaps(training: Training, kernel: OperatorKernel, loss: Loss, *, dense: bool = True) -> bool:
    """Whether targets have gaps; an error where the machine cannot be fitted with them."""
    gaps = torch.isnan(training.targets)
    if not bool(gaps.any()):
        return False
    if training.targets.shape[1] == 1:
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
    gaps = torch.isnan(training.targets)
    warn(
        f"y has {int(gaps.sum())} gaps (NaN) in {int(gaps.any(0).sum())} of {gaps.shape[1]} outputs: each output is "
        "fitted to the rows where it is known",
        GapWarning,
    )
    resolved = kernel.resolve(training.items, training.weights, gaps.shape[1])
    ridge = GappedRidge(
        term_grams(run, resolved, training.items)[0], training.targets, training.weights, options.center
    )
    output = Euclidean(ridge.mean.cpu().numpy())
    regression = Regression(resolved, training, [ridge.K], output, ridge.targets)
    return regression.closed_form(*ridge.solve(options.reg), output, options.loss)
