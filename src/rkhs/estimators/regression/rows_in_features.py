"""Rows of a regression in finite features: normal equations, products, typical residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from rkhs.estimators.regression.operator_kernels import in_coordinates
from rkhs.estimators.run import Run
from rkhs.estimators.storage import announce_features
from rkhs.estimators.training import Training
from rkhs.losses import Loss, Squared
from rkhs.outputs import Euclidean
from rkhs.selection.loss_scale import mean_factor, merged_copies, typical_size
from rkhs.spaces import Data, Source, fit_euclidean, open_source
from rkhs.spaces.feature_gram import PassedFeatures, RowFeatures
from rkhs.spaces.features import Storage
from rkhs.spaces.sums import BlockPass, block_ridge

if TYPE_CHECKING:
    from rkhs.estimators.regression.options import MachineOptions
    from rkhs.kernels import OperatorKernel

HELD = 2**30
"""Largest size in bytes of features that are kept in memory and not recomputed for every product."""
_STATE = 4  # memory of the solver, in units of three arrays of the size of the targets


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Rows in blocks, with their normal equations."""

    run: Run
    kernel: OperatorKernel  # one term
    training: Training  # with targets
    options: MachineOptions
    source: Source
    passes: Data
    block_pass: BlockPass  # with the space of the targets
    M: Tensor  # (m, m): ``sum_i w_i F_i F_i^T``
    c: Tensor  # (m, q): ``sum_i w_i F_i t_i^T``
    total: float  # ``sum_i w_i |t_i|^2``

    @classmethod
    def open(
        cls, run: Run, storage: Storage, kernel: OperatorKernel, training: Training, options: MachineOptions
    ) -> Self:
        """Choose the features and sum the normal equations, in one pass."""
        data, weights, Y = training.items, training.row_weights, training.targets
        columns = data.shape[1] if isinstance(data, Tensor) else storage.m
        codes, resident = (1, 0) if isinstance(options.loss, Squared) else (_STATE, HELD)
        announce_features(
            run, storage, len(training), columns, Y.shape[1], codes * Y.shape[1], layers=1, resident=resident
        )
        source = open_source(run.options, storage, kernel.pairs[0].kernel, data, weights, Y)
        passes = Data(source.rows, source.blocks, run.engine_for(source.blocks))
        output = fit_euclidean(passes, source, center=options.center, scale=False)
        block_pass = replace(source.block_pass(run.options), space=output)
        M, c, total = (torch.as_tensor(part) for part in passes.sum(block_ridge, block_pass))
        return cls(run, kernel, training, options, source, passes, block_pass, M, c, float(total))

    @property
    def output(self) -> Euclidean:
        """The space of the targets."""
        assert isinstance(self.block_pass.space, Euclidean)
        return self.block_pass.space

    @property
    def targets(self) -> Tensor:
        """Coordinates of the targets, in double precision."""
        return self.output.encode(self.training.targets.cpu().to(torch.float64))

    @property
    def weights(self) -> Tensor:
        """Return the weights of the rows; they sum to one."""
        n, w = len(self.training), self.training.row_weights
        return torch.full((n,), 1.0 / n, dtype=torch.float64) if w is None else torch.from_numpy(w).to(torch.float64)

    def operator(self) -> Tensor | None:
        """The operator ``A`` in the coordinates of the targets."""
        (term,) = in_coordinates(self.kernel, self.output, self.targets, self.weights).pairs
        return None if term.operator is None else torch.as_tensor(term.operator)

    def around(self, output: Euclidean) -> Self:
        """The rows with targets in another output space; the normal equations are not updated."""
        return replace(self, block_pass=replace(self.block_pass, space=output))

    def features(self) -> RowFeatures:
        """Features of all rows: in memory if they are small enough, else recomputed for every product."""
        rows = PassedFeatures(self.passes, self.block_pass.in_double())
        return rows.in_memory() if 8 * len(self.training) * self.source.evaluated.width <= HELD else rows

    def settled(self, rows: RowFeatures, A: Tensor | None) -> tuple[Loss, Euclidean]:
        """The loss with its automatic parameters resolved, and the output space around the mean of the inliers."""
        loss, reg = self.options.loss, self.options.reg
        if not loss.automatic:
            return loss, self.output
        T, w, center = self.targets, self.weights, self.options.center
        g, groups = mean_factor(A, T, w), self.training.groups
        place = merged_copies(groups, w)[1]

        def residuals(kept: Tensor, targets: Tensor) -> Tensor:
            v = w * kept
            values, E = torch.linalg.eigh(self.M if bool(kept.all()) else self._second(v))
            c = rows.adjoint(targets * v[:, None])
            D = g * values.clamp_min(0.0) + reg
            predicted = g * rows.values(E @ (E.mT @ c / D[:, None]))
            # A row is left out with all of its weight and with its copies.
            rest = 1.0 - g * merged_copies(groups, v)[2][place] * rows.lengths(E / D.sqrt())
            return (targets - predicted) / rest[:, None].clamp_min(torch.finfo(T.dtype).eps)

        size, shift = typical_size(residuals, T, w, center=center)
        return loss.resolve(size), self.output.moved(shift) if self.options.center else self.output

    def _second(self, weights: Tensor) -> Tensor:
        """``M`` with other weights, in one pass."""
        block_pass = replace(self.block_pass, weights=weights.numpy())
        return torch.as_tensor(self.passes.sum(block_ridge, block_pass)[0])
