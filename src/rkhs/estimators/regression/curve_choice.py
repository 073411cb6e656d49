"""Kernel and regulariser of a regression of curves by leave-one-out errors, with outlying curves left out.

The first fit has the curves whose outputs are nearest to the median curve. Then every curve gets an error of a machine
that has not seen it: in closed form for those in the fit, as a new curve for the others. Curves whose root error is
within ``trim`` times the upper quartile of these roots are in the next fit, until they stay the same; once, those that
are a little above are added to the fit. In the end, if the inliers are predicted as well with all curves in the fit,
nothing is left out. Then the other basis of the outputs is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from rkhs.estimators.regression.terms import REGS, Regression
from rkhs.kernels import FunctionalGaussian, FunctionalLaplacian, Gaussian, Kernel, Linear
from rkhs.outputs import Functional
from rkhs.selection.operator_path import left_out_path, regs_above_rounding
from rkhs.selection.trimmed import CORE, HARM, trimmed_fit

_ROUNDS = 11
_FEWEST = 8  # with fewer curves none is left out
BASES = ("fourier", "empirical")  # that are compared: one that is fixed, and the best for the curves of a fit
Open = Callable[..., Regression]  # of a kernel (None: the given one), weights (n,) and a basis (default: the first)


@dataclass(frozen=True)
class CurveChoice:
    """The chosen kernel and regulariser, and the inliers."""

    kernel: Kernel | None
    reg: float
    inliers: np.ndarray  # (n,): curves in the fit
    score: np.ndarray | None  # (n,): root of the held-out error over the threshold; None if no curve was judged
    error: float  # leave-one-out error of the choice, the mean over the curves in the fit
    basis: Kernel | str


@dataclass(frozen=True)
class _Best:
    error: float
    kernel: Kernel | None
    reg: float
    errors: np.ndarray


@dataclass(frozen=True)
class _Curves:
    """The curves that are judged: those without gaps."""

    regression: Regression  # of these curves
    places: np.ndarray  # (n,): place among them of each curve
    whole: np.ndarray  # (n,): which these are

    def targets(self, curves: np.ndarray) -> Tensor:
        """Outputs of some of them."""
        return self.regression.training.targets[torch.as_tensor(self.places[curves])]

    def kernel_values(self, fitted: Regression, curves: np.ndarray, inside: np.ndarray) -> Tensor:
        """Kernel values of some of them with those of a fit."""
        kernel, items, rows = fitted.kernel.pairs[0].kernel, self.regression.training.items, self.places[curves]
        if kernel.domain == "gram":
            return items[torch.as_tensor(rows)][:, torch.as_tensor(self.places[inside])]
        some = [items[i] for i in rows] if isinstance(items, list) else items[torch.as_tensor(rows)]
        return kernel._gram(some, fitted.training.items).to(fitted.targets)


def candidate_kernels(times: Sequence[float] | np.ndarray | None, rule: str) -> list[Kernel]:
    """Kernels for rough and for smooth curves, and linear ones with a wide or a narrow Gaussian correction."""
    linear = Linear("mean_norm", "mean")
    wide, narrow = Gaussian("4*median") + linear, 0.1 * Gaussian("median") + linear
    return [FunctionalLaplacian(times=times, rule=rule), FunctionalGaussian(times=times, rule=rule), wide, narrow]


def choose_for_curves(
    open_regression: Open,
    kernels: Sequence[Kernel | None],
    weights: np.ndarray,
    whole: np.ndarray,
    trim: float | None,
    bases: Sequence[Kernel | str],
) -> CurveChoice:
    """Choose kernel, regulariser, the curves that are fitted, and the basis of these.

    ``whole`` (n,) are the curves without gaps, among them all of positive weight: those of weight zero get a score too.
    """
    given = weights > 0.0
    every = _Curves(open_regression(kernels[0], whole.astype(np.float64)), np.cumsum(whole) - 1, whole)

    def best(masks: np.ndarray, among: Sequence[Kernel | None], judged: np.ndarray | None = None) -> _Best:
        found = [_errors(open_regression, every, kernel, weights, masks, judged) for kernel in among]
        return min(found, key=lambda one: one.error)

    def of_bases(kept: np.ndarray, score: np.ndarray | None) -> CurveChoice:
        basis, chosen = bases[0], best(kept, kernels)
        for other in bases[1:]:
            found = _errors(partial(open_regression, basis=other), every, chosen.kernel, weights, kept, None)
            if found.error < chosen.error:
                basis, chosen = other, found
        return CurveChoice(chosen.kernel, chosen.reg, kept, score, chosen.error, basis)

    if trim is None or given.sum() < _FEWEST:
        return of_bases(given, None)
    core = _core(every, weights)
    first = best(core, kernels)

    def fit(kept: np.ndarray) -> tuple[_Best, np.ndarray]:
        found = first if kept is core else best(kept, [first.kernel])
        return found, np.where(given, np.sqrt(found.errors), np.inf)

    def limit(roots: np.ndarray) -> float:
        return trim * float(np.quantile(roots[given], 0.75, weights=weights[given], method="inverted_cdf"))

    found = trimmed_fit(fit, limit, core, given, _ROUNDS)
    kept, errors = found.kept, found.fitted.errors
    if (given & ~kept).any():
        with_all = best(given, [first.kernel], kept)
        inside = float(weights[kept] @ errors[kept]) / float(weights[kept].sum())
        kept = given if with_all.error <= HARM * inside else kept
    score = np.sqrt(errors) / max(found.threshold, 1e-300)
    return of_bases(kept, score)


def _core(every: _Curves, weights: np.ndarray) -> np.ndarray:
    """The curves whose outputs are nearest to the median curve, as a mask of all rows."""
    rows = np.flatnonzero(weights > 0.0)
    Y, w = every.targets(rows).cpu().numpy().astype(np.float64), weights[rows]
    middle = np.quantile(Y, 0.5, axis=0, weights=w, method="inverted_cdf")
    distances = np.linalg.norm(Y - middle, axis=1)
    kept = np.zeros(len(weights), dtype=bool)
    kept[rows] = distances <= np.quantile(distances, CORE, weights=w, method="inverted_cdf")
    return kept


def _errors(
    open_regression: Open,
    every: _Curves,
    kernel: Kernel | None,
    weights: np.ndarray,
    kept: np.ndarray,
    judged: np.ndarray | None,
) -> _Best:
    """Best regulariser by the mean error of the curves that are judged (default: those in the fit), and all errors."""
    fitted = open_regression(kernel, weights * kept)
    output = fitted.output
    assert isinstance(output, Functional)
    regs = regs_above_rounding(REGS, fitted.grams[0], torch.as_tensor(output.eigenvalues).to(fitted.targets))
    found, duals = left_out_errors(fitted, regs)
    inside = found.cpu().numpy()
    rows = np.flatnonzero(kept)
    counted = np.ones(len(rows), dtype=bool) if judged is None else judged[rows]
    means = inside[:, counted] @ weights[rows][counted] / weights[rows][counted].sum()
    s = int(np.argmin(means))
    errors = np.full(len(weights), np.nan)  # of a curve with gaps, which has weight zero
    errors[rows] = inside[s]
    others = np.flatnonzero(~kept & every.whole)
    if len(others):
        raw = every.kernel_values(fitted, others, rows)
        new = raw @ duals[s] * torch.as_tensor(output.eigenvalues).to(fitted.targets)
        errors[others] = output.squared_distances(every.targets(others), output.decode(new)).cpu().numpy()
    return _Best(float(means[s]), kernel, float(regs[s]), errors)


def left_out_errors(regression: Regression, regs: Sequence[float] | np.ndarray) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Squared L2 errors (S, n) of the curves, each left out with its copies, and the dual coefficients of all."""
    output, U, w = regression.output, regression.targets, regression.training.weights
    assert isinstance(output, Functional)
    eigenvalues = torch.as_tensor(output.eigenvalues).to(U)
    path = left_out_path(regression.grams[0], U, eigenvalues, regs, w, regression.copies)
    residuals, duals = zip(*path, strict=True)
    Y = regression.training.targets
    return torch.stack([output.squared_distances(Y, output.decode(U - R)) for R in residuals]), duals


def median_error(regression: Regression, reg: float) -> float:
    """Median of the left-out errors of a regulariser, over the curves of positive weight."""
    errors, w = left_out_errors(regression, [reg])[0][0].cpu().numpy(), regression.training.weights
    shares = np.ones(len(errors)) if w is None else w.cpu().numpy()
    rows = shares > 0.0
    return float(np.quantile(errors[rows], 0.5, weights=shares[rows], method="inverted_cdf"))
