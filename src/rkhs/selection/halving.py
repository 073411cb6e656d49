"""Kernel, bandwidth and regulariser of ridge regression by left-out rows of subsamples that grow, while candidates go.

The machine of a kernel solves ``(K + reg diag(1/v)) C = Y - mean`` with weights ``v`` that sum to one over all rows. A
part of the rows keeps its weights, so that ``reg`` is that of all rows: the noise of a row does not depend on how many
others there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from rkhs._core.copies import copies
from rkhs._core.linalg import cholesky, solve_positive
from rkhs.kernels import Gaussian, Kernel, Matern
from rkhs.kernels.vectors.distances import median_bandwidth, squared_distances
from rkhs.selection.operator_path import refit_residuals
from rkhs.selection.path import subsample

RELATIVE_REGS = 10.0 ** np.arange(-8.0, 1.01, 0.5)
"""Regularisers that are compared, in units of the variance of the features."""

_GAUSSIAN = 4.0 ** np.arange(1, -5, -1)  # multiples of one over the median squared distance
_MATERN = 2.0 ** np.arange(0, -6, -1)  # multiples of one over the median distance
_MAX_COMPARED = 1000  # rows whose pairs are compared
_ROUNDS = ((400, 2, 4), (1000, 1, 2))  # rows of a subsample, number of subsamples, candidates that stay


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a regression: items, targets, and weights that sum to one over all rows."""

    X: Tensor  # (n, d)
    Y: Tensor  # (n, q)
    v: Tensor  # (n,)
    groups: np.ndarray | None  # (n,): rows of a group stay together; None: equal rows with equal targets do
    center: bool  # whether the mean of the targets is subtracted

    def __len__(self) -> int:
        return len(self.Y)

    def part(self, rows: np.ndarray) -> Rows:
        """Some of the rows."""
        at = torch.as_tensor(rows, device=self.Y.device)
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=self.X[at], Y=self.Y[at], v=self.v[at], groups=groups)

    def on(self, X: Tensor) -> Rows:
        """The rows with other items."""
        return replace(self, X=X)

    def standardised(self) -> tuple[Rows, Tensor]:
        """The rows with targets in their standard deviations (q,), one for a constant target; and these."""
        w = self.v / self.v.sum()
        found = (w @ (self.Y - w @ self.Y).square()).sqrt()
        scale = torch.where(found > 1e-12 * self.Y.abs().amax(0), found, 1.0)
        return replace(self, Y=self.Y / scale), scale

    @property
    def mean(self) -> Tensor:
        """Weighted mean (q,) of the targets, zero where it is not subtracted."""
        return self.v @ self.Y / self.v.sum() if self.center else torch.zeros_like(self.Y[0])

    @cached_property
    def numbers(self) -> np.ndarray:
        """Number (n,) of the group of each row."""
        if self.groups is not None:
            return np.unique(self.groups, return_inverse=True)[1]
        if len(self) <= _MAX_COMPARED:
            found = copies([Gaussian(typical_gamma(self))._gram(self.X)], self.Y)
            return np.unique(found, return_inverse=True)[1]
        facts = torch.cat([self.X, self.Y.to(self.X)], 1).cpu().numpy()
        return np.unique(facts, axis=0, return_inverse=True)[1].reshape(-1)

    @property
    def together(self) -> Tensor | None:
        """Number of the group of each row; None where every row is alone."""
        numbers = self.numbers
        return None if numbers.max() + 1 == len(numbers) else torch.as_tensor(numbers, device=self.Y.device)

    def subsample(self, size: int, seed: int, number: int = 0) -> np.ndarray:
        """Indices of about ``size`` rows in whole groups; those of different numbers have none in common."""
        return subsample(len(self), None if self.groups is None else self.numbers, size, seed, number)


@dataclass(frozen=True)
class Candidate:
    """A kernel with its best regulariser."""

    kernel: Kernel  # resolved
    reg: float = 0.0
    error: float = np.inf  # mean over outputs of the share of the variance of left-out rows that is lost


@dataclass(frozen=True, eq=False)
class RidgeOfAll:
    """Ridge regression of a kernel with every regulariser, by one eigendecomposition."""

    kernel: Kernel
    rows: Rows

    @cached_property
    def gram(self) -> Tensor:
        """Gram matrix (n, n)."""
        return self.kernel._gram(self.rows.X)

    @cached_property
    def regs(self) -> np.ndarray:
        """``RELATIVE_REGS`` times the variance of the features, for the share of the weights that these rows have."""
        K, v = self.gram, self.rows.v / self.rows.v.sum()
        variance = float(v @ K.diagonal())
        if self.rows.center:
            variance -= float(v @ K @ v)
        return RELATIVE_REGS * max(variance, 1e-6 * float(K.diagonal().max())) * float(self.rows.v.sum())

    @cached_property
    def _eigen(self) -> tuple[Tensor, Tensor, Tensor]:
        root = self.rows.v.sqrt()[:, None]
        values, Q = torch.linalg.eigh(root * self.gram * root.mT)
        return values.clamp_min(0.0), Q, (root * Q).mT @ (self.rows.Y - self.rows.mean)

    def coefficients(self, reg: float) -> Tensor:
        """Coefficients (n, q) of one regulariser."""
        values, Q, turned = self._eigen
        return self.rows.v.sqrt()[:, None] * (Q @ (turned / (values + reg)[:, None]))

    def held_out_errors(self, rows: Rows) -> np.ndarray:
        """Sum of the squared errors of other rows, by their weights, for every regulariser."""
        values, Q, turned = self._eigen
        cross = self.kernel._gram(rows.X, self.rows.X) @ (self.rows.v.sqrt()[:, None] * Q)
        target = rows.Y - self.rows.mean
        errors = []
        for reg in self.regs:
            left = target - cross @ (turned / (values + reg)[:, None])
            errors.append(float(rows.v @ (left * left).sum(1)))
        return np.array(errors)

    def left_out_errors(self, regs: np.ndarray) -> np.ndarray:
        """Mean squared error of left-out rows, or groups, and over outputs, for each regulariser."""
        rows, (values, Q, _) = self.rows, self._eigen
        total = float(rows.v.sum())
        w, pairs = rows.v / total, (values / total, Q)
        path = refit_residuals(
            self.gram, rows.Y, None, regs / total, w, rows.together, center=rows.center, eigenpairs=pairs
        )
        return np.array([float(w @ (left * left).mean(1)) for left in path])

    @cached_property
    def best(self) -> Candidate:
        """The kernel with its best reg."""
        errors = self.left_out_errors(self.regs)
        return Candidate(self.kernel, least(self.regs, errors), float(np.nanmin(errors)))


def least(regs: np.ndarray, errors: np.ndarray) -> float:
    """Strength at the minimum of the parabola through the least error and its neighbours, over logarithms."""
    at = int(np.nanargmin(errors))
    if at in (0, len(errors) - 1) or not (errors[at - 1 : at + 2] > 0.0).all():
        return float(regs[at])
    before, here, after = np.log(errors[at - 1 : at + 2])
    shift = 0.5 * (before - after) / max(before - 2.0 * here + after, 1e-12)
    return float(regs[at] * (regs[at + 1] / regs[at]) ** float(np.clip(shift, -0.5, 0.5)))


def typical_gamma(rows: Rows) -> float:
    """One over the median squared distance of at most a thousand rows."""
    v = rows.v[:_MAX_COMPARED]
    return median_bandwidth(squared_distances(rows.X[:_MAX_COMPARED]), None if bool((v == v[0]).all()) else v)


def candidate_kernels(rows: Rows) -> list[Kernel]:
    """Gaussian kernels and Matern kernels of smoothness 3/2, with six bandwidths each."""
    gamma = typical_gamma(rows)
    gaussian: list[Kernel] = [Gaussian(float(factor * gamma)) for factor in _GAUSSIAN]
    return gaussian + [Matern(1.5, float(factor * gamma**0.5)) for factor in _MATERN]


def halving(pools: Sequence[Rows], kernels: Sequence[Kernel], seed: int = 0) -> list[Candidate]:
    """The kernels that remain with their regs, the best first, by the rows of some pools.

    Of one pool twelve kernels are compared on 400 rows, twice, and four on 1,000: some ten eigendecompositions of 1,000
    rows, however many rows there are. Of several pools one subsample of each is taken.
    """
    alive = [Candidate(kernel) for kernel in kernels]
    most = max(map(len, pools))
    for size, parts, kept in _ROUNDS:
        if len(alive) == 1 and size < min(most, _ROUNDS[-1][0]):
            continue
        samples = _samples(pools, size, parts, seed)
        alive = sorted((_compared(one.kernel, samples) for one in alive), key=lambda one: one.error)[:kept]
        if most <= size:
            break
    return alive


def _samples(pools: Sequence[Rows], size: int, parts: int, seed: int) -> list[Rows]:
    """A subsample of each of several pools, or so many of one that is large enough."""
    if len(pools) > 1 or len(pools[0]) < parts * size:
        parts = 1
    return [pool.part(pool.subsample(size, seed, number)) for pool in pools for number in range(parts)]


def _compared(kernel: Kernel, samples: list[Rows]) -> Candidate:
    """A kernel with its best reg by the mean error of several samples."""
    ridges = [RidgeOfAll(kernel, sample) for sample in samples]
    regs = np.mean([ridge.regs for ridge in ridges], axis=0)
    errors = np.mean([ridge.left_out_errors(regs) for ridge in ridges], axis=0)
    return Candidate(kernel, least(regs, errors), float(np.nanmin(errors)))


def solved(kernel: Kernel, rows: Rows, reg: float) -> Tensor:
    """Coefficients (n, q) of one machine, by a Cholesky factorisation. O(n^3 / 3)."""
    G = kernel._gram(rows.X)
    G.diagonal().add_(reg / rows.v)
    return solve_positive(G, rows.Y - rows.mean, name="the system K + n reg I")


def left_out(kernel: Kernel, rows: Rows, reg: float) -> tuple[Tensor, Tensor]:
    """Coefficients (n, q) of one machine, and residuals (n, q) of rows, or groups, by the machine without them.

    As in :func:`~rkhs.selection.operator_path.refit_residuals` the mean is that of the other rows. O(n^3).
    """
    G = kernel._gram(rows.X)
    G.diagonal().add_(reg / rows.v)
    L = cholesky(G, name="the system K + n reg I")[0]
    C = torch.cholesky_solve(rows.Y - rows.mean, L)
    A = torch.cholesky_inverse(L)
    together, centred = rows.together, rows.Y - rows.mean
    sums, mass = rows.v[:, None] * centred, rows.v
    if together is not None:
        sums = torch.zeros_like(sums).index_add_(0, together, sums)[together]
        mass = torch.zeros_like(mass).index_add_(0, together, mass)[together]
    others = -sums / (rows.v.sum() - mass)[:, None] if rows.center else torch.zeros_like(sums)
    ones = A.sum(1, keepdim=True)
    if together is None:
        return C, (C - ones * others) / A.diagonal()[:, None]
    found = torch.empty_like(C)
    for number in range(int(together.max()) + 1):
        at = (together == number).nonzero()[:, 0]
        found[at] = torch.linalg.solve(A[at][:, at], C[at] - ones[at] * others[at])
    return C, found
