"""Ridge regression of curves with missing values (gaps)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import GapWarning, InputError, warn
from rkhs._core.memory import Estimate, check_memory
from rkhs.estimators.regression.options import MachineOptions
from rkhs.estimators.regression.terms import REGS, Regression
from rkhs.kernels import Kernel
from rkhs.losses import Loss, Squared
from rkhs.models import MachineModel
from rkhs.outputs import Functional
from rkhs.problems.gapped_curves import GappedCurves
from rkhs.protocols import Solution
from rkhs.selection.operator_path import regs_above_rounding


def check_loss_with_gaps(loss: Loss, *, default: bool) -> None:
    """Refuse losses other than the squared one; ``default``: whether ``reg="auto"`` would replace the loss."""
    if not isinstance(loss, Squared):
        other = " or reg='auto'" if default else ""
        raise InputError(
            f"y may have gaps (NaN) only with the squared loss; got loss={loss!r}. Write loss='squared'{other}, or "
            "fill the gaps: rkhs.data.curves_on_grid(y) joins known values by straight lines"
        )


def filled_with_means(Y: Tensor, weights: Tensor | None, basis: Any) -> Tensor:
    """Curves with the mean of the known values of a time in place of a gap, so that they have the same mean."""
    gaps = torch.isnan(Y)
    if bool(gaps.all()):
        raise InputError("y must hold known values; got NaN (gaps) only")
    w = Y.new_full((len(Y),), 1.0 / len(Y)) if weights is None else weights
    shares = torch.where(gaps, 0.0, w[:, None])
    for axis, what in ((0, "time"), (1, "curve")):
        known = shares.sum(0) > 0.0 if axis == 0 else ~gaps.all(1)
        if not bool(known.all()):
            number = int((~known).nonzero()[0])
            raise InputError(
                f"y must be known somewhere in every {what}; {what} {number} is NaN throughout. Leave it out"
            )
    if isinstance(basis, str) and basis == "empirical":
        raise InputError("basis='empirical' needs whole curves, and y has gaps (NaN); use basis='fourier'")
    mean = (shares * torch.nan_to_num(Y)).sum(0) / shares.sum(0)
    return torch.where(gaps, mean, Y)


def choose_with_gaps(
    open_regression: Callable[[Kernel | None], Regression], kernels: Sequence[Kernel | None], *, center: bool
) -> tuple[Kernel | None, float, float]:
    """Kernel and regulariser of the least leave-one-out error over the known values, and this error."""
    found: list[tuple[float, Kernel | None, float]] = []
    for kernel in kernels:
        problem = _problem(open_regression(kernel), center=center, matrices=4)
        regs = regs_above_rounding(REGS, problem.K, problem.eigenvalues)
        errors = problem.left_out_errors(regs)
        s = int(errors.argmin())
        found.append((float(errors[s]), kernel, float(regs[s])))
    error, kernel, reg = min(found, key=lambda one: one[0])
    return kernel, reg, error


def _problem(regression: Regression, *, center: bool, matrices: int) -> GappedCurves:
    output, targets, K = regression.output, regression.training.targets, regression.grams[0]
    assert isinstance(output, Functional)
    m = len(output.functions)
    n_bytes = matrices * targets.element_size() * (len(targets) * m) ** 2
    what = f"a regression of {len(targets)} curves with gaps on {m} functions"
    check_memory(Estimate(what, n_bytes, "one system of all coordinates"), "Use a smaller n_basis or fewer curves")
    functions, eigenvalues, q = (tensor_like(p, K) for p in (output.functions, output.eigenvalues, output.weights))
    return GappedCurves(K, targets, functions, eigenvalues, q, regression.training.weights, center)


def fit_curves_with_gaps(
    regression: Regression, options: MachineOptions, *, chosen: bool = False
) -> tuple[MachineModel, Solution]:
    """The machine of the squared loss; the loss of a curve is the quadrature over its known times."""
    training, output = regression.training, regression.output
    gaps = torch.isnan(training.targets)
    assert isinstance(output, Functional)
    problem = _problem(regression, center=options.center, matrices=3)
    warn(
        f"y has {int(gaps.sum())} gaps (NaN) in {int(gaps.any(1).sum())} of {len(gaps)} curves: the squared loss of a "
        f"curve is that of its known values{', and no curve is left out' if chosen else ''}",
        GapWarning,
    )
    C, mean, value = problem.solve(options.reg)
    output = Functional(mean.cpu().numpy(), output.functions, output.eigenvalues, output.weights)
    return regression.closed_form(C, value, output, options.loss)
