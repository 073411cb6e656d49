"""Ridge regression of many rows: an exact machine in each leaf of a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs.kernels import Kernel, Separable
from rkhs.kernels.base import Mapped
from rkhs.models import Certificates, MachineModel
from rkhs.outputs import Euclidean
from rkhs.problems.leaves import Halves, one_leaf, principal_axis
from rkhs.protocols import Reason, Solution
from rkhs.selection.halving import Rows, candidate_kernels, halving, left_out, solved
from rkhs.selection.input_metric import mean_outer_gradients
from rkhs.selection.path import progress_reporter
from rkhs.spaces.features import Leaves, LeavesMap
from rkhs.spaces.features.base import resolve_subsampled

if TYPE_CHECKING:
    from rkhs.estimators.regression.options import MachineOptions
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels import OperatorKernel

MOST_DENSE_ROWS = 8000
"""Rows up to which ``storage="auto"`` solves one system."""

_COMPARED_LEAVES = 3  # whose rows choose kernel and regulariser
_CUT_ROWS = 600  # of a node, whose gradients give the direction of its cut


def takes_leaves(kernel: OperatorKernel) -> bool:
    """Whether a kernel is one of dense vectors, without operator."""
    plain = len(kernel.pairs) == 1 and kernel.pairs[0].operator is None
    return plain and kernel.domain == "vectors" and kernel.row_width is None


def rows_of(training: Training, targets: Tensor, groups: np.ndarray | None, *, center: bool) -> Rows:
    """The rows of a regression with targets in some units; without groups, equal rows of measured values are copies."""
    n = len(training)
    v = targets.new_full((n,), 1.0 / n) if training.weights is None else training.weights.to(targets)
    if groups is None and training.of_few_values:
        groups = np.arange(n)
    return Rows(training.items.double(), targets.double(), v.double(), groups, center)


def mapped_part(kernel: Kernel, X: Tensor) -> tuple[Kernel, Tensor]:
    """The kernel and rows such that it reads these as they are: those of a mapped kernel are in its metric."""
    return (kernel.parts[0], kernel._mapped(X)) if isinstance(kernel, Mapped) else (kernel, X)


def gradient_cuts(rows: Rows) -> Callable[[Tensor], Tensor]:
    """The direction of a cut of some rows: along it a fit on a sample of them changes most.

    Its kernel is chosen for samples of that size: one for the rows of a leaf is too narrow.
    """
    sample = rows.part(rows.subsample(_CUT_ROWS, 0))
    chosen = halving([sample], candidate_kernels(sample))[0]
    kernel, reg = chosen.kernel, chosen.reg

    def direction(at: Tensor) -> Tensor:
        count = min(len(at), _CUT_ROWS)
        sample = rows.part(at[torch.arange(count, device=at.device) * len(at) // count].cpu().numpy())
        M = mean_outer_gradients(kernel, sample, solved(kernel, sample, reg))
        values, V = torch.linalg.eigh(M)
        return V[:, -1] if bool(values[-1] > 0.0) else principal_axis(sample.X)

    return direction


def rows_of_some_leaves(rows: Rows, leaves: Leaves) -> list[np.ndarray]:
    """Indices of the rows of some leaves, which are as dense as those of a fit."""
    cuts, depth, rng = gradient_cuts(rows), leaves.depth(len(rows)), np.random.default_rng(0)
    return [one_leaf(rows.X, rng.integers(0, 2, depth), cuts).cpu().numpy() for _ in range(_COMPARED_LEAVES)]


def fit_in_leaves(
    run: Run,
    kernel: OperatorKernel,
    training: Training,
    options: MachineOptions,
    leaves: Leaves,
    groups: np.ndarray | None = None,
    *,
    chooses: bool,
) -> tuple[MachineModel, Solution, float]:
    """The machine in leaves, and its regulariser: that of the options, or one chosen on a leaf."""
    weights = training.weights
    resolved = resolve_subsampled(kernel.pairs[0].kernel, training.items, weights)
    output, U = Euclidean.fit(training.targets, weights, center=options.center, scale=False, rotate=False)
    rows = rows_of(training, U, groups, center=options.center)
    base, Z = mapped_part(resolved, rows.X)
    mapped = rows.on(Z)
    reg = options.reg
    if chooses:
        reg = halving([mapped.part(at) for at in rows_of_some_leaves(mapped, leaves)], [base])[0].reg
    direction = gradient_cuts(mapped)
    halves, parts = Halves.of(Z, leaves.depth(len(rows)), leaves.shared, direction, leaves.shared)
    found, left, constants, value = [], [], [], 0.0
    report = progress_reporter(run.name, run.verbose)
    for done, at in enumerate(parts):
        part = mapped.part(at.cpu().numpy())
        C, residuals = left_out(base, part, reg)
        value += 0.5 * reg * float((C * (part.Y - part.mean)).sum() / part.v.sum()) / len(parts)
        found.append(C)
        left.append(residuals)
        constants.append(part.mean)
        report(done + 1, len(parts))
    coefficients = torch.cat([*found, torch.stack(constants)])
    places, sizes = torch.cat(parts), np.cumsum([0, *map(len, parts)])
    cuts = [part.cpu().numpy() for part in _cuts_of_rows(halves, resolved, rows.X, Z)]
    features = LeavesMap(resolved, rows.X.cpu().numpy(), places.cpu().numpy(), sizes, *cuts)
    residuals = _blended(features, torch.cat(left), coefficients, rows)
    certificates = Certificates(0.0, np.arange(len(rows)), np.arange(0))
    certificates = certificates.on_rows(training.kept, training.given.n_given)
    model = MachineModel(
        Separable(resolved),
        features,
        coefficients.cpu().numpy(),
        output,
        certificates,
        options.loss,
        reg=reg if weights is None else None,
        left_out=residuals.cpu().numpy(),
    )
    return model, Solution(coefficients, value, Reason.CLOSED_FORM, 1, 1), reg


def _cuts_of_rows(halves: Halves, kernel: Kernel, X: Tensor, Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cuts of mapped rows ``Z`` as cuts of rows ``X``, whose origin may be another."""
    if not isinstance(kernel, Mapped) or not len(halves.cuts):
        return halves.normals, halves.cuts, halves.widths
    normals = kernel._back(halves.normals, X[:1])
    return normals, halves.cuts + (X[:1] @ normals.mT - Z[:1] @ halves.normals.mT)[0], halves.widths


def _blended(features: LeavesMap, residuals: Tensor, coefficients: Tensor, rows: Rows) -> Tensor:
    """Residuals (n, q) of rows by the machines of all leaves that predict them, each without the row.

    ``y - sum_l s_l f_l^(-i)`` is ``sum_l s_l (y - f_l^(-i))``, because the weights of the leaves sum to one.
    ``residuals``: (m, q), of the places in the leaves. Rows that tie on a cut can count for a leaf that has not seen
    them.
    """
    found = torch.zeros_like(rows.Y)
    for leaf, inside, share in features.tree(rows.X).parts(rows.X):
        first, last = int(features.starts[leaf]), int(features.starts[leaf + 1])
        at = torch.from_numpy(features.in_leaf(leaf)).to(inside)
        place = torch.full((len(rows),), -1, dtype=torch.long, device=inside.device)
        place[at] = torch.arange(first, last, device=inside.device)
        left = residuals[place[inside].clamp_min(0)]
        for some in (place[inside] < 0).nonzero()[:, 0].split(_CUT_ROWS):
            other = inside[some]
            K = features.kernel._gram(rows.X[other], rows.X[at])
            left[some] = rows.Y[other] - K @ coefficients[first:last] - coefficients[len(residuals) + leaf]
        found.index_add_(0, inside, share[:, None] * left)
    return found
