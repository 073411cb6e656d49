"""Regression in finite features: normal equations for the squared loss, the dual problem for other losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError, quote
from rkhs.estimators.regression.rows_in_features import FeatureRows
from rkhs.estimators.regression.terms import certificates_of
from rkhs.kernels import Separable
from rkhs.losses import Loss, Squared
from rkhs.models import Certificates, MachineModel
from rkhs.problems.dual import dual_problem
from rkhs.protocols import Reason, Solution
from rkhs.solvers import ADMM, Direct
from rkhs.spaces.feature_gram import FeatureGram
from rkhs.spaces.rounding import warn_of_rounding

if TYPE_CHECKING:
    from rkhs.estimators.regression.options import MachineOptions
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels import OperatorKernel
    from rkhs.spaces.features import Storage


def fit_in_features(
    run: Run, storage: Storage, kernel: OperatorKernel, training: Training, options: MachineOptions
) -> tuple[MachineModel, Solution]:
    """The machine of one kernel ``k A`` in finite features."""
    rows = FeatureRows.open(run, storage, kernel, training, options)
    loss, solver = options.loss, options.solver
    squared = isinstance(loss, Squared)
    allowed, kind = ("direct", Direct) if squared else ("admm", ADMM)
    if not isinstance(solver, kind) and solver not in ("auto", allowed):
        raise InputError(
            f"solver must be 'auto' or {allowed!r} for loss={loss!r} with landmarks or random features; got "
            f"{quote(solver)}. Other solvers need storage='dense'"
        )
    if rows.kernel.pairs[0].operator is not None and not loss.isotropic:
        raise InputError(f"an operator with {loss!r}, which is not isotropic, needs storage='dense'")
    return _ridge(rows) if squared else _machine(rows)


def _ridge(rows: FeatureRows) -> tuple[MachineModel, Solution]:
    A = rows.operator()
    V = _solved(rows, A)
    value = 0.5 * (rows.total - float((rows.c * (V if A is None else V @ A)).sum()))
    exact = Certificates(0.0, np.arange(len(V)), np.arange(0))
    return _model(rows, V, A, exact), Solution(V, value, Reason.CLOSED_FORM, 1, 1)


def _solved(rows: FeatureRows, A: Tensor | None) -> Tensor:
    """``V`` of the squared loss, with ``h(x) = A V^T F(x)``."""
    M, reg, c = rows.M.clone(), rows.options.reg, rows.c
    if A is None:
        M.diagonal().add_(reg)
        L, info = torch.linalg.cholesky_ex(M)
        if int(info) != 0:
            raise InputError(f"reg={reg!r} is below the rounding error of the normal equations; use a larger reg")
        return torch.cholesky_solve(c, L)
    (values, E), (a, R) = torch.linalg.eigh(M), torch.linalg.eigh(A)
    return E @ (E.mT @ c @ R / (values.clamp_min(0.0)[:, None] * a.clamp_min(0.0) + reg)) @ R.mT


def _machine(rows: FeatureRows) -> tuple[MachineModel, Solution]:
    """The machine of another loss by its dual; the Gram matrix ``F F^T`` enters by products only."""
    A, features, training, options = rows.operator(), rows.features(), rows.training, rows.options
    loss, output = rows.settled(features, A)
    rows = rows.around(output)
    U, n = rows.targets, len(training)
    gram = FeatureGram(features, rows.M, torch.ones(n, dtype=torch.float64), float(n))
    weights = None if training.row_weights is None else rows.weights * n
    problem = dual_problem([(gram, A)], U, loss, options.reg, weights)
    solution = options.solver_for(problem).solve(problem, monitor=options.monitor("fit"))
    norm = 1.0 if A is None else float(torch.linalg.matrix_norm(A, 2))
    largest = norm * float(features.lengths(torch.eye(len(rows.M), dtype=torch.float64)).max())
    found = certificates_of(problem, solution, largest, U).on_rows(training.kept, training.given.n_given)
    return _model(rows, features.adjoint(solution.point), A, found, loss), solution


def _model(
    rows: FeatureRows, V: Tensor, A: Tensor | None, found: Certificates, loss: Loss | None = None
) -> MachineModel:
    """The model ``h(x) = A V^T F(x)``."""
    source, run = rows.source, rows.run
    coefficients = source.features.whiten(V).numpy()
    warn_of_rounding(run.name, run.options["dtype"], source.diag, coefficients, rows.total**0.5)
    kernel = Separable(source.kernel, None if A is None else A.numpy())
    return MachineModel(kernel, source.features, coefficients, rows.output, found, loss)
