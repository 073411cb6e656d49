"""Fitting the contrastive losses, on the Gram matrix of the points or on features of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rkhs._core.errors import CollapseWarning, InputError
from rkhs._core.linalg import fix_signs
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Pairs
from rkhs.problems.spectral_contrastive import PooledSpectral, SpectralContrastive
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers.lbfgs import LBFGS

if TYPE_CHECKING:
    from rkhs.estimators.kernel_contrastive import KernelContrastive

__all__ = ["Contrast", "fit_loss"]

_AUTO_POOL = 0.01  # share of the reg at which the last component would vanish
_AUTO_TRIES = 6


@dataclass(frozen=True)
class Contrast:
    """What a loss sees of the points.

    Parameters
    ----------
    values : Tensor of shape (N, N) or (N, r)
        Their Gram matrix, or features of them.
    pairs : Pairs
    factored : bool
        Whether ``values`` are features.
    """

    values: Tensor
    pairs: Pairs
    factored: bool


def fit_loss(model: KernelContrastive, contrast: Contrast) -> tuple[Tensor, Solution]:
    """Minimise the loss of the model; coefficients on the points or on their features, shape (N or r, h)."""
    if model.loss == "simple":
        return _fit_simple(model, contrast)
    return _fit_pooled(model, contrast) if contrast.pairs.negatives is None else _fit_given(model, contrast)


def _fit_simple(model: KernelContrastive, contrast: Contrast) -> tuple[Tensor, Solution]:
    K, h = contrast.values, model.n_components
    best = SimpleContrastive(K, contrast.pairs, h, bool(model.strict), contrast.factored).solve()
    model.eigenvalues_ = best.eigenvalues.cpu().numpy()
    model.representer_holds_ = best.n_positive >= h
    model.n_components_ = h if model.strict else best.n_positive
    if not model.representer_holds_:
        what = "are taken all the same, as strict=True asks" if model.strict else "are zero columns"
        warnings.warn(
            f"the simple loss has {best.n_positive} positive eigenvalues, fewer than n_components={h}; the other "
            f"components {what}. Lower n_components or change kernel or pairs",
            CollapseWarning,
            stacklevel=5,
        )
    return best.coefficients, _closed(K, best.value, best.route)


def _closed(K: Tensor, value: float, route: str) -> Solution:
    row = {"iteration": 0, "value": value, "measure": 0.0, "route": route}
    return Solution(K, value, Reason.CLOSED_FORM, 1, 1, history=(row,))


def _fit_pooled(model: KernelContrastive, contrast: Contrast) -> tuple[Tensor, Solution]:
    K = contrast.values
    problem = PooledSpectral(K, contrast.pairs, model.n_components, contrast.factored)
    bounds = problem.lambda_bounds()
    regs = problem.active_regs()
    positive = regs[regs > 1e-9 * max(bounds[1], 1e-300)]
    auto = _AUTO_POOL * float(positive[-1]) if len(positive) else 0.0
    reg = auto if isinstance(model.reg, str) else float(model.reg)
    best = problem.solve(reg)
    model.reg_, model.lambda_bounds_ = reg, bounds
    model.eigenvalues_ = best.eigenvalues.cpu().numpy()
    _count_components(model, best.codes, reg, bounds[1])
    return best.coefficients, _closed(K, best.value, "features" if contrast.factored else "pool")


def _fit_given(model: KernelContrastive, contrast: Contrast) -> tuple[Tensor, Solution]:
    problem = SpectralContrastive(contrast.values, contrast.pairs, model.n_components, 0.0, factored=contrast.factored)
    low, high = problem.lambda_bounds()
    model.lambda_bounds_ = low, high
    auto = isinstance(model.reg, str)
    active = problem.active_regs()
    last = float(active[-1]) if len(active) else 0.0
    reg = 0.5 * (low + (last if last > low else high)) if auto else float(model.reg)
    if not auto and reg < low:
        warnings.warn(
            f"reg={reg:g} is below {low:.4g}, under which the spectral loss is unbounded; stop early by "
            f"max_iter, or use reg between {low:.4g} and {high:.4g}, or negatives='pool'",
            UserWarning,
            stacklevel=5,
        )
    for _ in range(_AUTO_TRIES if auto else 1):
        problem = replace(problem, reg=reg)
        monitor = Monitor(verbose=model.verbose, label=type(model).__name__)
        solution = LBFGS(model.max_iter, model.tol).solve(problem, problem.start(), monitor)
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
    model.reg_ = reg
    codes = problem.codes(solution.point)
    _, _, Vh = torch.linalg.svd(codes, full_matrices=False)
    turned = solution.point @ Vh.mT  # the loss does not see rotations: principal axes, fixed signs
    turned = turned * torch.where((fix_signs(codes @ Vh.mT) * (codes @ Vh.mT)).sum(0) < 0.0, -1.0, 1.0)
    _count_components(model, problem.codes(turned), reg, high)
    return (turned if contrast.factored else problem.factor.coefficients(turned)), solution


def _count_components(model: KernelContrastive, codes: Tensor, reg: float, high: float) -> None:
    """Report components that the penalty shrank to zero. Theorem 1: with a penalty the optimum is in the span."""
    sizes = (codes * codes).mean(0)
    model.n_components_ = int((sizes > 1e-8 * max(1e-3, float(sizes.max()))).sum())
    model.representer_holds_ = reg > 0.0
    if model.n_components_ < model.n_components:
        warnings.warn(
            f"{model.n_components - model.n_components_} of {model.n_components} components are zero: reg={reg:.4g}, "
            f"and from {high:.4g} on all are. Lower reg or n_components",
            CollapseWarning,
            stacklevel=6,
        )
