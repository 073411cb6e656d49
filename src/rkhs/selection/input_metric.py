"""A metric of the inputs from the gradients of a fit: columns and directions along which the outputs change.

With the fit ``f`` on rows ``x W`` the matrix ``M = 1/n sum_i J(x_i)^T J(x_i)`` of its derivatives by the columns gives
the next map ``W = (M / tr M)^(1/2) sqrt(d)``, or its diagonal: weights of columns. Whether to learn it, and for how
many turns, is decided by folds of rows that the metric has not seen: rows left out by a fit whose metric has seen them
look too well predicted (60 rows of 20 columns, a linear function: an error of .0125 was announced, new rows had .94).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from rkhs._core.eigen import top_eigenpairs
from rkhs.kernels import Gaussian, Kernel, MappedInputs, ScaledInputs
from rkhs.selection.halving import (
    Candidate,
    RidgeOfAll,
    Rows,
    candidate_kernels,
    halving,
    least,
    left_out,
    solved,
    typical_gamma,
)

Kind = Literal["columns", "full", "scaled"]
KINDS: tuple[Kind, ...] = ("columns", "full")
"""Metrics that are compared: weights of columns, all directions."""

_FOLDS, _TURNS = 3, 3
_MIN_GROUPS = 20  # rows, or groups of them, from which folds can tell metrics apart
_MARGIN = 0.97  # of the error without a metric: what a learned one must reach
_SLOWER = 0.98  # of the error of the turn before: what another turn must reach
_MAX_ROWS = 1000  # rows from which a metric is learned
_UNSEEN = 400  # rows that a metric has not seen, of which kernel and regulariser can be chosen by left-out errors
_FACTORS = (0.25, 1.0)  # bandwidths of the Gaussian fits whose gradients are taken
_ALIKE = 0.9  # least over largest standard deviation of columns that are in the same unit
_LEAST_WEIGHT = 1e-6  # of a column or direction: smaller ones are raised to it, or left out
_OUTPUTS = 8  # directions of the outputs whose gradients are summed


@dataclass(frozen=True, eq=False)
class InputMetric:
    """A map of the inputs, learned or not."""

    kind: Kind | None = None  # "scaled", "columns", "full"; None: the columns as they are
    turns: int = 0
    W: Tensor | None = None  # (d,) weights of columns, or (d, r)

    def mapped(self, X: Tensor) -> Tensor:
        """Rows of shape (n, d) in the metric."""
        if self.W is None:
            return X
        return X * self.W if self.W.ndim == 1 else X @ self.W

    def kernel(self, base: Kernel) -> Kernel:
        """The kernel of rows ``X`` whose base reads mapped rows."""
        if self.W is None:
            return base
        W = self.W.cpu().numpy()
        return ScaledInputs(base, W) if W.ndim == 1 else MappedInputs(base, W)

    def ridges(self, rows: Rows, kernels: Sequence[Kernel] = ()) -> list[RidgeOfAll]:
        """Ridge regressions of some kernels of mapped rows; without any, the Gaussian ones of the turns."""
        mapped = rows.on(self.mapped(rows.X))
        gamma = typical_gamma(mapped)
        return [RidgeOfAll(kernel, mapped) for kernel in kernels or [Gaussian(c * gamma) for c in _FACTORS]]

    def following(self, rows: Rows, ridges: list[RidgeOfAll], kind: Kind) -> InputMetric:
        """The metric after one more turn: gradients of the best of some fits in this one."""
        best = min(ridges, key=lambda ridge: ridge.best.error)
        M = mean_outer_gradients(self.kernel(best.kernel), rows, best.coefficients(best.best.reg))
        return InputMetric.of(M, kind, self.turns + 1)

    @classmethod
    def of_deviations(cls, rows: Rows) -> InputMetric | None:
        """Columns in units of their standard deviations; None where that is what they are already."""
        w = rows.v / rows.v.sum()
        deviations = ((rows.X - w @ rows.X).square().mT @ w).sqrt()
        largest = float(deviations.max())
        if not largest > 0.0 or float(deviations.min()) > _ALIKE * largest:
            return None
        W = torch.where(deviations > _LEAST_WEIGHT * largest, 1.0 / deviations.clamp_min(1e-300), 1.0 / largest)
        return cls("scaled", 0, W)

    @classmethod
    def of(cls, M: Tensor, kind: Kind, turns: int) -> InputMetric:
        """The metric of a mean outer product (d, d) of gradients."""
        trace, d = M.trace(), len(M)
        if not bool(trace > 0.0):
            return cls()
        M = M / trace
        if kind == "columns":
            shares = M.diagonal()
            return cls(kind, turns, (d * shares.clamp_min(_LEAST_WEIGHT * float(shares.max()))).sqrt())
        values, V = torch.linalg.eigh(M)
        kept = values > _LEAST_WEIGHT * values[-1]
        return cls(kind, turns, V[:, kept] * (d * values[kept]).sqrt())


@dataclass(frozen=True, eq=False)
class Choice:
    """What a regression was chosen to be."""

    metric: InputMetric
    candidate: Candidate  # its kernel reads mapped rows
    errors: dict[str, float]  # least error of held-out rows, by metric and turns
    seen: np.ndarray  # rows from which the metric was learned
    residuals: Tensor  # (k, q): of rows that were left out or held out, in standard deviations of the targets
    v: Tensor  # (k,): their weights

    @property
    def kernel(self) -> Kernel:
        """The kernel of the rows as they are."""
        return self.metric.kernel(self.candidate.kernel)


def mean_outer_gradients(kernel: Kernel, rows: Rows, C: Tensor) -> Tensor:
    """``M`` (d, d) of the fit ``k(x, X) C``: the sum over leading directions of the outputs, by the weights of rows."""
    if C.shape[1] > _OUTPUTS:
        C = C @ top_eigenpairs(C.mT @ C, _OUTPUTS)[1]
    M = rows.X.new_zeros(rows.X.shape[1], rows.X.shape[1])
    for column in C.T:
        G = kernel._cross_pullback(rows.X, rows.X, column.expand(len(column), -1))
        M += G.mT @ (G * (rows.v / rows.v.sum())[:, None])
    return M


@dataclass(frozen=True, eq=False)
class Fold:
    """A metric that was learned from some rows, and rows that it has not seen."""

    train: Rows
    test: Rows
    metric: InputMetric

    @cached_property
    def ridges(self) -> list[RidgeOfAll]:
        """The Gaussian fits of the turns."""
        return self.metric.ridges(self.train)

    def with_metric(self, metric: InputMetric) -> Fold:
        """The fold with another metric."""
        return replace(self, metric=metric)

    def following(self, kind: Kind) -> Fold:
        """The fold after one more turn."""
        return self.with_metric(self.metric.following(self.train, self.ridges, kind))


def choose(rows: Rows, kinds: Sequence[Kind] = KINDS, *, most: int = _MAX_ROWS, seed: int = 0) -> Choice:
    """Choose a metric by at most so many rows, then kernel, bandwidth and regulariser by rows that it has not seen."""
    seen = rows.subsample(most, seed) if len(rows) > most else np.arange(len(rows))
    sample = rows.part(seen)
    metric, errors, folds = _chosen_metric(sample, kinds, seed)
    unseen = np.concatenate([rows.subsample(most, seed, number) for number in (1, 2, 3)])
    kernels = candidate_kernels(sample.on(metric.mapped(sample.X)))
    by_folds = metric.turns > 0 and len(unseen) < _UNSEEN
    if by_folds:
        found = _by_folds(kernels, folds)
        residuals, v = _held_out_residuals(found, folds)
    else:
        part = rows if metric.turns == 0 else rows.part(unseen)
        pool = part.on(metric.mapped(part.X))
        found = halving([pool], kernels, seed)[0]
        some = pool.part(pool.subsample(most, seed))
        residuals, v = left_out(found.kernel, some, found.reg)[1], some.v
    return Choice(metric, found, errors, seen, residuals, v)


def importances(choice: Choice, sample: Rows) -> np.ndarray:
    """Mean squared derivative by each column, times its variance, of a fit to some rows, shape (d,); the sum is one."""
    C = solved(choice.kernel, sample, choice.candidate.reg)
    w = sample.v / sample.v.sum()
    variances = w @ (sample.X - w @ sample.X).square()
    found = (mean_outer_gradients(choice.kernel, sample, C).diagonal() * variances).clamp_min(0.0)
    return (found / found.sum().clamp_min(1e-300)).cpu().numpy()


def _folds(sample: Rows, seed: int) -> list[Fold]:
    """Folds without a metric, groups whole."""
    fold = np.random.default_rng(seed + 1).permutation(sample.numbers.max() + 1) % _FOLDS
    each = fold[sample.numbers]
    parts = [(sample.part(np.flatnonzero(each != k)), sample.part(np.flatnonzero(each == k))) for k in range(_FOLDS)]
    return [Fold(train, test, InputMetric()) for train, test in parts]


def _chosen_metric(sample: Rows, kinds: Sequence[Kind], seed: int) -> tuple[InputMetric, dict[str, float], list[Fold]]:
    """The metric of least held-out error, taken only where it is clearly better; errors; and the folds with theirs."""
    if not kinds or sample.numbers.max() + 1 < _MIN_GROUPS:
        return InputMetric(), {}, []
    start, folds, errors = _unlearned(sample, _folds(sample, seed))
    plain, before = folds, min(errors.values())
    smallest, kind_of_least, turns = _MARGIN * before, KINDS[0], 0
    for kind in kinds:
        walked, last = plain, before
        for turn in range(1, _TURNS + 1):
            walked = [fold.following(kind) for fold in walked]
            error = errors[f"{kind}, {turn}"] = _error(walked)
            if error < smallest:
                smallest, kind_of_least, turns, folds = error, kind, turn, walked
            if error > _SLOWER * last:
                break
            last = error
    metric = start
    for _ in range(turns):
        metric = metric.following(sample, metric.ridges(sample), kind_of_least)
    return metric, errors, folds


def _unlearned(sample: Rows, folds: list[Fold]) -> tuple[InputMetric, list[Fold], dict[str, float]]:
    """The columns as they are or in their standard deviations, whichever has less error; its folds; and the errors."""
    errors = {"none": _error(folds)}
    scaled = InputMetric.of_deviations(sample)
    if scaled is None:
        return InputMetric(), folds, errors
    of_scaled = [fold.with_metric(scaled) for fold in folds]
    errors["scaled"] = _error(of_scaled)
    if errors["scaled"] < errors["none"]:
        return scaled, of_scaled, errors
    return InputMetric(), folds, errors


def _error(folds: list[Fold]) -> float:
    """Least held-out error of the Gaussian fits of the turns, the share of the variance that is lost."""
    return float(np.nanmin(_held_out(folds)[0]))


def _held_out(folds: list[Fold], kernels: Sequence[Kernel] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Held-out errors (kernels, regs) of all folds together, and the regs."""
    found, regs, spread = [], [], 0.0
    for fold in folds:
        test, ridges = fold.test, fold.metric.ridges(fold.train, kernels) if kernels else fold.ridges
        mapped = test.on(fold.metric.mapped(test.X))
        found.append([ridge.held_out_errors(mapped) for ridge in ridges])
        regs.append([ridge.regs for ridge in ridges])
        spread += float(test.v @ ((test.Y - fold.train.mean) ** 2).sum(1))
    return np.sum(found, axis=0) / (spread or 1.0), np.mean(regs, axis=0)


def _by_folds(kernels: Sequence[Kernel], folds: list[Fold]) -> Candidate:
    """Kernel, bandwidth and regulariser in a learned metric, by rows that the metrics of the folds have not seen."""
    errors, regs = _held_out(folds, kernels)
    at = int(np.nanargmin(np.nanmin(errors, axis=1)))
    return Candidate(kernels[at], least(regs[at], errors[at]), float(np.nanmin(errors[at])))


def _held_out_residuals(found: Candidate, folds: list[Fold]) -> tuple[Tensor, Tensor]:
    """Residuals (k, q) of the held-out rows of all folds, each by a fit to the others, and their weights."""
    residuals = []
    for fold in folds:
        train, test = (rows.on(fold.metric.mapped(rows.X)) for rows in (fold.train, fold.test))
        C = solved(found.kernel, train, found.reg)
        residuals.append(test.Y - train.mean - found.kernel._gram(test.X, train.X) @ C)
    return torch.cat(residuals), torch.cat([fold.test.v for fold in folds])
