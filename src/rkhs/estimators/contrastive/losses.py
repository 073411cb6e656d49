"""Minimisation of the contrastive losses, on the Gram matrix of the points or on their features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import CollapseWarning, InputError, warn
from rkhs._core.linalg import factorize, flips
from rkhs.models import ContrastFacts
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Pairs
from rkhs.problems.spectral_contrastive import PooledSpectral, SpectralContrastive
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.lbfgs import LBFGS
from rkhs.spaces import InMemoryItems

_AUTO_POOL = 0.01  # share of the reg at which the last component would vanish
_AUTO_TRIES = 6


@dataclass(frozen=True, eq=False)
class Contrast:
    """Codes that minimise a loss."""

    coefficients: Tensor  # (N or r, h): on the points or on their features
    solution: Solution
    facts: ContrastFacts


def fit_contrast(in_memory: InMemoryItems, pairs: Pairs, given: Mapping[str, Any]) -> Contrast:
    """Minimise the loss that the parameters of an estimator, by name, ask for."""
    h, reg = given["n_components"], None if isinstance(given["reg"], str) else float(given["reg"])
    if given["loss"] == "simple":
        return _fit_simple(SimpleContrastive(in_memory.values, pairs, h, given["strict"], in_memory.factored))
    if pairs.negatives is None:
        return _fit_pooled(PooledSpectral(in_memory.values, pairs, h, in_memory.factored), reg)
    solver = LBFGS(given["max_iter"], given["tol"])
    monitor = Monitor(verbose=given["verbose"], label="KernelContrastive")
    if in_memory.factored:
        return _fit_given(SpectralContrastive(in_memory.values, pairs, h, 0.0), reg, solver, monitor)
    factor = factorize(in_memory.values)
    found = _fit_given(SpectralContrastive(factor.matrix, pairs, h, 0.0), reg, solver, monitor)
    return replace(found, coefficients=factor.coefficients(found.coefficients))


def _fit_simple(problem: SimpleContrastive) -> Contrast:
    best, h, strict = problem.solve(), problem.n_components, problem.strict
    holds = best.n_positive >= h
    if not holds:
        what = "are kept, because strict=True" if strict else "are zero columns"
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


def _fit_pooled(problem: PooledSpectral, given: float | None) -> Contrast:
    bounds, regs = problem.reg_bounds(), problem.active_regs()
    positive = regs[regs > 1e-9 * max(bounds[1], 1e-300)]
    auto = _AUTO_POOL * float(positive[-1]) if len(positive) else 0.0
    reg = auto if given is None else given
    best = problem.solve(reg)
    facts = _spectral_facts(best.codes, reg, bounds, best.eigenvalues.cpu().numpy())
    route = "features" if problem.factored else "pool"
    return Contrast(best.coefficients, _closed(best.coefficients, best.value, route), facts)


def _fit_given(problem: SpectralContrastive, given: float | None, solver: LBFGS, monitor: Monitor) -> Contrast:
    low, high = problem.reg_bounds()
    active = problem.active_regs()
    last = float(active[-1]) if len(active) else 0.0
    reg = 0.5 * (low + (last if last > low else high)) if given is None else given
    if given is not None and reg < low:
        warn(
            f"reg={reg:g} is below {low:.4g}, under which the spectral loss is unbounded; stop early by "
            f"max_iter, or use reg between {low:.4g} and {high:.4g}, or negatives='pool'",
            UserWarning,
        )
    for _ in range(_AUTO_TRIES if given is None else 1):
        problem = replace(problem, reg=reg)
        solution = solver.solve(problem, problem.start(), monitor)
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
    turned = solution.point @ Vh.mT  # the loss is rotation invariant: principal axes, fixed signs
    turned = turned * flips(codes @ Vh.mT)
    return Contrast(turned, solution, _spectral_facts(problem.codes(turned), reg, (low, high)))


def _spectral_facts(
    codes: Tensor, reg: float, bounds: tuple[float, float], eigenvalues: np.ndarray | None = None
) -> ContrastFacts:
    """Diagnostics of spectral codes, with a warning of zero components; theorem 1 holds with a penalty."""
    sizes = (codes * codes).mean(0)
    found, h = int((sizes > 1e-8 * max(1e-3, float(sizes.max()))).sum()), codes.shape[1]
    if found < h:
        warn(
            f"{h - found} of {h} components are zero: reg={reg:.4g}, and from {bounds[1]:.4g} on all are. Lower reg or "
            "n_components",
            CollapseWarning,
        )
    return ContrastFacts(found, reg > 0.0, eigenvalues, bounds, reg)
