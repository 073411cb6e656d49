"""Held-out errors of many settings of one machine: regularisers, losses and folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_operator
from rkhs.estimators.regression.operator_kernels import in_coordinates
from rkhs.estimators.regression.options import MachineOptions
from rkhs.kernels import OperatorKernel
from rkhs.losses import Loss
from rkhs.models import path_values
from rkhs.outputs import Euclidean
from rkhs.problems.dual import dual_problem
from rkhs.problems.gapped_ridge import GappedRidge
from rkhs.selection.operator_path import refit_residuals


@dataclass(frozen=True, eq=False)
class MachineGrid:
    """The settings of one kernel that are compared."""

    kernel: OperatorKernel  # resolved
    grams: list[Tensor]  # (n, n): one per term
    targets: Tensor  # (n, q): NaN at a gap
    weights: Tensor  # (n,): mean one
    losses: list[Loss]
    regs: list[float]
    options: MachineOptions  # of the fits
    criterion: str  # error on held-out rows: "squared" or "norm"

    def errors(self, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> Tensor:
        """Held-out errors, shape (regs, losses, folds)."""
        parts = [(torch.as_tensor(np.array(train)), torch.as_tensor(np.array(test))) for train, test in folds]
        if bool(self.targets.isnan().any()):
            ridge = GappedRidge(self.grams[0], self.targets, self.weights, self.options.center)
            return torch.stack([ridge.held_out_errors(*part, self.regs) for part in parts], -1)[:, None]
        return torch.stack([self._of(*part) for part in parts], -1)

    def left_out_errors(self, rows: Tensor, weights: Tensor, together: Tensor | None = None) -> Tensor:
        """Leave-one-out errors of some rows, or of groups of them, shape (regs, 1, rows or groups)."""
        w = weights
        squares = torch.stack([(left**2).sum(1) for left in self.left_out_residuals(rows, w, together)])[:, None]
        errors = squares if self.criterion == "squared" else squares.sqrt()
        if together is None:
            return errors
        total = torch.bincount(together, w)
        return errors.new_zeros(*errors.shape[:2], len(total)).index_add_(2, together, errors * w) / total

    def left_out_residuals(self, rows: Tensor, weights: Tensor, together: Tensor | None = None) -> Iterator[Tensor]:
        """Residuals (rows, q) of each regulariser of some rows, or groups of them, by fits without them."""
        (K,), (term,), Y = self.grams, self.kernel.pairs, self.targets[rows]
        A = None if term.operator is None else tensor_like(check_operator(term.operator, "operator", Y.shape[1]), Y)
        shares = weights / weights.sum()
        return refit_residuals(K[rows][:, rows], Y, A, self.regs, shares, together, center=self.options.center)

    def _of(self, a: Tensor, b: Tensor) -> Tensor:
        """Errors on the rows ``b`` of machines fitted to the rows ``a``, shape (regs, losses)."""
        Y, weights, options = self.targets, self.weights, self.options
        share = weights[a] / weights[a].sum()
        rotate = all(loss.isotropic for loss in self.losses)
        output, U = Euclidean.fit(Y[a], share, center=options.center, scale=False, rotate=rotate)
        fitted = in_coordinates(self.kernel, output, U, share)
        matrices = [None if term.operator is None else tensor_like(term.operator, U) for term in fitted.pairs]
        terms = [(K[a][:, a], A) for K, A in zip(self.grams, matrices, strict=True)]
        regs = [reg for reg in self.regs for _ in self.losses]
        problem = dual_problem(terms, U, self.losses * len(self.regs), regs, weights[a])
        batch = options.solver_for(problem).solve_batch(problem)
        coefs = problem.coefficients(batch.points)
        values = path_values(fitted, [K[b][:, a] for K in self.grams], coefs)
        S, r = values.shape[1:]
        residuals = output.decode(values.view(-1, r)).view(len(b), S, -1) - Y[b][:, None]
        squares = (residuals**2).sum(-1)
        criteria = squares if self.criterion == "squared" else squares.sqrt()
        left = weights[b] / weights[b].sum().clamp_min(torch.finfo(weights.dtype).tiny)
        return (left @ criteria).view(len(self.regs), -1)
