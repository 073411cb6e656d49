"""A regression problem, its solution by the dual, and the fitted machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, tensor_like
from rkhs.kernels import OperatorKernel
from rkhs.losses import Loss, Squared
from rkhs.models import Certificates, MachineModel
from rkhs.outputs import Euclidean, OutputSpace
from rkhs.problems.certificates import sample_report
from rkhs.problems.dual import DualProblem, dual_problem
from rkhs.protocols import Reason, Solution
from rkhs.selection.loss_scale import copies, effective_gram, typical_residual, warn_of_repeats
from rkhs.selection.operator_path import errors_of_subsamples, left_out_path, regs_above_rounding
from rkhs.spaces import training_gram
from rkhs.spaces.features import WholeMap

if TYPE_CHECKING:
    from rkhs.estimators.regression.options import MachineOptions
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels import Kernel


REGS = np.logspace(0.0, -8.0, 17)
MANY_ROWS = 2000
"""Rows from which regularisers are compared on subsamples."""

FIXED_REG = 1e-3  # where no error of left-out rows has a closed form


@dataclass(frozen=True, eq=False)
class Regression:
    """Data of a regression: targets in coordinates, and the Gram matrix of every term."""

    kernel: OperatorKernel  # resolved, with operators in the coordinates
    training: Training
    grams: list[Tensor]  # (n, n)
    output: OutputSpace
    targets: Tensor  # (n, r): coordinates
    one_output: bool = False  # whether targets were numbers, not rows

    @classmethod
    def of(
        cls,
        run: Run,
        kernel: OperatorKernel,
        training: Training,
        output: OutputSpace,
        targets: Tensor,
        one_output: bool = False,
        known: Sequence[tuple[Kernel, Tensor]] = (),
    ) -> Self:
        """Build it with the Gram matrices of the kernel, some of which may be known."""
        return cls(kernel, training, term_grams(run, kernel, training.items, known), output, targets, one_output)

    @property
    def map(self) -> WholeMap:
        """Feature map of new items: kernel values with all training items."""
        items = None if self.kernel.domain == "gram" else as_numpy(self.training.items)
        return WholeMap(self.kernel.pairs[0].kernel, items, len(self.training))

    @property
    def operators(self) -> list[Tensor | None]:
        """Operators of the terms; None is the identity."""
        terms = self.kernel.pairs
        return [None if term.operator is None else tensor_like(term.operator, self.targets) for term in terms]

    @property
    def copies(self) -> np.ndarray:
        """Group of each item, shape (n,): copies with equal targets share one and count as one of more weight."""
        return self._copies(self.grams, self.targets)

    def _copies(self, grams: Sequence[Tensor], targets: Tensor) -> np.ndarray:
        """Group of each of some rows, with its copies; rows of few values have none."""
        return np.arange(len(targets)) if self.training.of_few_values else copies(grams, targets)

    @property
    def largest(self) -> float:
        """Largest ``k_t(x, x)``."""
        return max(float(K.diagonal().max()) for K in self.grams)

    def _warned_copies(self, K: Tensor, targets: Tensor) -> np.ndarray:
        """Group of each of some rows, with its copies, and a warning of repeats."""
        groups = self._copies([K], targets)
        if not self.training.has_few_items:
            warn_of_repeats(K, targets, groups)
        return groups

    @property
    def _mean_size(self) -> float:
        """Mean of ``k(x, x)`` of the first term over the items, by their weights."""
        diagonal, w = self.grams[0].diagonal(), self.training.weights
        return float(diagonal.mean() if w is None else w @ diagonal)

    def settled(self, losses: list[Loss], reg: float, *, center: bool) -> tuple[list[Loss], Regression]:
        """Losses with their automatic parameters resolved, and targets around the mean of the inliers."""
        if not any(loss.automatic for loss in losses):
            return losses, self
        U = self.targets
        K = effective_gram(self.grams, self.operators, U, self.training.weights)
        output = self.output if center and isinstance(self.output, Euclidean) else None
        size, shift = typical_residual(K, U, reg, self.training.weights, self.copies, center=output is not None)
        found = self if output is None else replace(self, output=output.moved(shift), targets=U - shift)
        return [loss.resolve(size) for loss in losses], found

    def chosen_reg(self, loss: Loss, group_ids: np.ndarray | None) -> tuple[float, float | None, Any]:
        """Choose the regulariser by leave-one-out or leave-one-group-out errors; return its error and all candidates.

        The error is a share of the variance. Candidates are a list as in ``_compared``: empty for copies and groups.
        """
        if len(self.grams) > 1 or not isinstance(loss, Squared):
            return FIXED_REG, None, None
        K, U = self.grams[0], self.targets
        w = U.new_full((len(U),), 1.0 / len(U)) if self.training.weights is None else self.training.weights
        T, values, regs = self._compared_regs()
        if len(U) > MANY_ROWS:
            errors = errors_of_subsamples(K, T, values, regs, w, group_ids, self._copies)
            return float(regs[int(np.argmin(errors))]), float(errors.min()), []
        groups = self._warned_copies(K, U) if group_ids is None else None
        path = left_out_path(K, T, values, regs, w, groups, group_ids)
        errors = np.array([float(w @ (residuals * residuals).sum(1)) for residuals, _ in path])
        best = int(np.argmin(errors))
        alone = groups is not None and len(np.unique(groups)) == len(self.targets)
        share = float(errors[best]) / (float(w @ (U * U).sum(1)) or 1.0)
        return float(regs[best]), share, [(None, regs)] if alone else []

    def _compared_regs(self) -> tuple[Tensor, Tensor, np.ndarray]:
        """Targets (n, r) in the eigenbasis of the operator, its eigenvalues (r,), and the regularisers to compare."""
        (A,), U = self.operators, self.targets
        if A is None:
            values, T = U.new_ones(U.shape[1]), U
        else:
            values, turned = torch.linalg.eigh(A)
            T = U @ turned
        if not len(values):
            return T, values, REGS * (self._mean_size or 1.0)
        regs = REGS * (self._mean_size * float(values.max()) or 1.0)
        return T, values, regs_above_rounding(regs, self.grams[0], values)

    def problem(self, losses: Loss | list[Loss], regs: float | list[float]) -> DualProblem:
        """The dual problem, or a batch of them."""
        terms, U, weights = list(zip(self.grams, self.operators, strict=True)), self.targets, self.training.weights
        return dual_problem(terms, U, losses, regs, None if weights is None else weights * len(U))

    def solve(self, options: MachineOptions) -> tuple[MachineModel, Solution]:
        """The machine of a loss and a regulariser."""
        (loss,), found = self.settled([options.loss], options.reg, center=options.center)
        problem = found.problem(loss, options.reg)
        solution = options.solver_for(problem).solve(problem, monitor=options.monitor("fit"))
        reg = options.reg if self.training.weights is None else None
        model = found.machine(problem, solution, loss)
        return replace(model, reg=reg, equal_alone=self.training.of_few_values), solution

    def machine(self, problem: DualProblem, solution: Solution, loss: Loss) -> MachineModel:
        """The model of a solved problem, with its dual certificates."""
        U = self.targets
        diagonal = U.new_zeros(len(U))
        for K, term in zip(self.grams, self.kernel.pairs, strict=True):
            norm = 1.0 if term.operator is None else float(np.linalg.norm(np.asarray(term.operator), 2))
            diagonal += norm * K.diagonal()
        given = self.training.given
        found = certificates_of(problem, solution, float(diagonal.max()), U).on_rows(given.kept, given.n_given)
        coefficients = solution.point.cpu().numpy()
        return MachineModel(self.kernel, self.map, coefficients, self.output, found, loss, self.one_output)

    def closed_form(self, C: Tensor, value: float, output: OutputSpace, loss: Loss) -> tuple[MachineModel, Solution]:
        """The machine of targets with gaps, which has no certificates of single samples."""
        support, given = C.any(1).nonzero()[:, 0].cpu().numpy(), self.training.given
        largest = float(torch.linalg.vector_norm(self.targets, dim=1).max())
        found = Certificates(0.0, support, np.arange(0), kernel_bound=self.largest, output_bound=largest)
        found = found.on_rows(given.kept, given.n_given)
        model = MachineModel(self.kernel, self.map, C.cpu().numpy(), output, found, loss, self.one_output)
        return model, Solution(C, value, Reason.CLOSED_FORM, 1, 1)

    def unsolved(self) -> MachineModel:
        """The model without coefficients, which reads items for several machines."""
        nothing = Certificates(0.0, np.arange(0), np.arange(0))
        empty = np.empty((0, self.targets.shape[1]))
        return MachineModel(self.kernel, self.map, empty, self.output, nothing, None, self.one_output)


def term_grams(
    run: Run, kernel: OperatorKernel, items: Any, known: Sequence[tuple[Kernel, Tensor]] = ()
) -> list[Tensor]:
    """The Gram matrix of every term of a resolved kernel; terms share those of equal kernels, and ``known`` ones."""
    found = list(known)
    for term in kernel.pairs:
        same = next((K for other, K in found if other == term.kernel), None)
        found.append((term.kernel, training_gram(term.kernel, items, run.options) if same is None else same))
    return [K for _, K in found[len(known) :]]


def certificates_of(problem: DualProblem, solution: Solution, largest: float, U: Tensor) -> Certificates:
    """Dual certificates of a solved problem with targets ``U``; ``largest``: the largest ``k(x, x) ||A||``."""
    points = problem.points(solution.point[None])
    report = sample_report(problem, points.permute(2, 0, 1))
    return Certificates(
        float(solution.gap or 0.0),
        report.support[:, 0].nonzero()[:, 0].cpu().numpy(),
        report.saturated[:, 0].nonzero()[:, 0].cpu().numpy(),
        (report.gaps * (len(U) / float(problem.total)))[:, 0].cpu().numpy(),
        report.kkt[:, 0].cpu().numpy(),
        float(problem.certificates(points)[0].sum() / problem.total),
        largest,
        float(torch.linalg.vector_norm(U, dim=1).max()),
    )
