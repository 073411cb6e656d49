"""The contrastive losses minimised, on the Gram matrix of the points or on features of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import CollapseWarning, InputError, warn
from rkhs._core.linalg import factorize, fix_signs
from rkhs.models import ContrastFacts
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Pairs
from rkhs.problems.spectral_contrastive import PooledSpectral, SpectralContrastive
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.lbfgs import LBFGS

__all__ = ["Contrast", "ContrastOptions", "fit_contrast"]

_AUTO_POOL = 0.01  # share of the reg at which the last component would vanish
_AUTO_TRIES = 6


@dataclass(frozen=True)
class ContrastOptions:
    """Which loss is minimised, and how."""

    loss: str
    n_components: int
    reg: float | str  # of the spectral loss
    strict: bool  # components of the simple loss whatever the sign of their eigenvalues
    max_iter: int  # of the one loss without a closed form
    tol: float
    verbose: int


@dataclass(frozen=True, eq=False)
class Contrast:
    """Codes that minimise a loss."""

    coefficients: Tensor  # (N or r, h): on the points or on their features
    solution: Solution
    facts: ContrastFacts


def fit_contrast(values: Tensor, pairs: Pairs, options: ContrastOptions, *, factored: bool) -> Contrast:
    """Minimise a loss."""
    if options.loss == "simple":
        return _fit_simple(SimpleContrastive(values, pairs, options.n_components, options.strict, factored))
    if pairs.negatives is None:
        return _fit_pooled(PooledSpectral(values, pairs, options.n_components, factored), options)
    factor = None if factored else factorize(values)
    F = values if factor is None else factor.matrix
    found = _fit_given(SpectralContrastive(F, pairs, options.n_components, 0.0), options)
    return found if factor is None else replace(found, coefficients=factor.coefficients(found.coefficients))


def _fit_simple(problem: SimpleContrastive) -> Contrast:
    best, h, strict = problem.solve(), problem.n_components, problem.strict
    holds = best.n_positive >= h
    if not holds:
        what = "are taken all the same, as strict=True asks" if strict else "are zero columns"
        warn(
            f"the simple loss has {best.n_positive} positive eigenvalues, fewer than n_components={h}; the other "
            f"components {what}. Lower n_components or change kernel or pairs",
            CollapseWarning,
        )
    facts = ContrastFacts(h if strict else best.n_positive, holds, best.eigenvalues.cpu().numpy())
    return Contrast(best.coefficients, _closed(best.coefficients, best.value, best.route), facts)


def _closed(point: Tensor, value: float, route: str) -> Solution:
    row = {"iteration": 0, "value": value, "measure": 0.0, "route": route}
    return Solution(point, value, Reason.CLOSED_FORM, 1, 1, history=(row,))


def _fit_pooled(problem: PooledSpectral, options: ContrastOptions) -> Contrast:
    bounds, regs = problem.lambda_bounds(), problem.active_regs()
    positive = regs[regs > 1e-9 * max(bounds[1], 1e-300)]
    auto = _AUTO_POOL * float(positive[-1]) if len(positive) else 0.0
    reg = auto if isinstance(options.reg, str) else float(options.reg)
    best = problem.solve(reg)
    facts = _spectral_facts(best.codes, reg, bounds, best.eigenvalues.cpu().numpy())
    route = "features" if problem.factored else "pool"
    return Contrast(best.coefficients, _closed(best.coefficients, best.value, route), facts)


def _fit_given(problem: SpectralContrastive, options: ContrastOptions) -> Contrast:
    low, high = problem.lambda_bounds()
    auto = isinstance(options.reg, str)
    active = problem.active_regs()
    last = float(active[-1]) if len(active) else 0.0
    reg = 0.5 * (low + (last if last > low else high)) if auto else float(options.reg)
    if not auto and reg < low:
        warn(
            f"reg={reg:g} is below {low:.4g}, under which the spectral loss is unbounded; stop early by "
            f"max_iter, or use reg between {low:.4g} and {high:.4g}, or negatives='pool'",
            UserWarning,
        )
    for _ in range(_AUTO_TRIES if auto else 1):
        problem = replace(problem, reg=reg)
        monitor = Monitor(verbose=options.verbose, label="KernelContrastive")
        solution = LBFGS(options.max_iter, options.tol).solve(problem, problem.start(), monitor)
        if solution.reason is not Reason.DIVERGED:
            break
        reg, tried = 0.5 * (reg + high), reg
    else:
        reg = tried
    if solution.reason is Reason.DIVERGED:
        raise InputError(
            f"reg={reg:g} is too small: the codes grew without limit, the spectral loss is unbounded below. Use a "
            f"reg closer to {high:.4g} (zero codes from there on; surely unbounded under {low:.4g}), or "
            "negatives='pool'"
        )
    codes = problem.codes(solution.point)
    _, _, Vh = torch.linalg.svd(codes, full_matrices=False)
    turned = solution.point @ Vh.mT  # the loss does not see rotations: principal axes, fixed signs
    turned = turned * torch.where((fix_signs(codes @ Vh.mT) * (codes @ Vh.mT)).sum(0) < 0.0, -1.0, 1.0)
    facts = _spectral_facts(problem.codes(turned), reg, (low, high))
    return Contrast(turned, solution, facts)


def _spectral_facts(
    codes: Tensor, reg: float, bounds: tuple[float, float], eigenvalues: np.ndarray | None = None
) -> ContrastFacts:
    """With components that the penalty shrank to zero. Theorem 1: with a penalty the optimum is in the span."""
    sizes = (codes * codes).mean(0)
    found, h = int((sizes > 1e-8 * max(1e-3, float(sizes.max()))).sum()), codes.shape[1]
    if found < h:
        warn(
            f"{h - found} of {h} components are zero: reg={reg:.4g}, and from {bounds[1]:.4g} on all are. Lower reg or "
            "n_components",
            CollapseWarning,
        )
    return ContrastFacts(found, reg > 0.0, eigenvalues, bounds, reg)
