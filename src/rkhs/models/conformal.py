"""Leave-one-out calibration of kernel ridge regression: conformal sets, predictive variances, p-values.

All of it comes from one matrix. ``A`` is the inverse of the Gram matrix with the ridge ``r = n reg`` on its diagonal,
with constants projected out where the model has an intercept; ``e_i = (A U)_i / A_ii`` is the leave-one-out residual of
row i, and ``1 / A_ii`` its leave-one-out predictive variance. A new item has the prediction ``h = b^T U`` and the
posterior variance ``d``; with row i left out they are ``h - b_i e_i`` and ``d + b_i^2 / A_ii``. With the nonconformity
score ``||y - h|| / sqrt(d)``, the score of row i is at least that of ``(x, y)`` exactly if ``||y - h + b_i e_i||^2 <=
||e_i||^2 (A_ii d + b_i^2)``. So the outputs for which this holds for at least ``floor(alpha (n + 1))`` rows contain the
true one with probability ``1 - alpha``, if rows are exchangeable and neither kernel nor ridge was chosen from them.

The guarantee also holds for norms in the metric ``S^-1``, ``S = U^T A U``: with the new row ``S`` becomes
``S + t t^T / d``, ``t = y - h``. With inner products in this metric and ``a = A_ii e_i``, row i is at least as
nonconforming exactly if ``(A_ii - <a, a>) <t, t> + <a, t>^2 + 2 b_i <a, t> <= d <a, a>``: an ellipsoid.

Where kernel and regulariser are chosen, each candidate output y of the new row chooses its setting too: the one of
largest likelihood of n of the n + 1 rows, over which row is left out. It minimises ``D^(1 / n) tr S`` over rows and
settings, with the determinant D of the regularised Gram matrix of the n rows. Each term is a quadratic function of y,
constant where the new row is left out, so that an output far off chooses the setting of the training rows. The set
holds y if the exact set of the setting that y chooses holds it. By the likelihood of all n + 1 rows, outputs far off
would choose settings that smooth or interpolate more: intervals of noise-free data were 23 to 91 times as wide.

Rows of one group, as the spectra of a molecule, are left out together. With ``V = A_gg^-1`` of a group, the residuals
of its rows are ``E = V (A U)_g``, and their predictive variances the diagonal of ``V``. The new row of weights b turns
them into ``c - a t`` and ``d q`` with ``u = V b_g``, ``a = u / (d + b_g^T u)``, ``c = E - a b_g^T E`` and ``q = (V_ii -
u a) / d``, so that ``||t||^2 q <= ||c - a t||^2`` is the condition of a row. With ``p = q - a^2`` it is that of a row
alone: ``||t + b e||^2 <= ||e||^2 (A_ii d + b^2)`` with ``c`` for e, ``a / p`` for b and ``1 / (d p)`` for ``A_ii``. A
row counts one over the size of its group, and more than ``alpha (G + 1) - 1`` of G groups are needed, a number that is
no whole one: Lee, Barber and Willett (2023), theorem 1. Whole groups alone, ``floor(alpha (G + 1))`` of them, held .88
for .9 with 20 groups of three rows.

Everything is computed from the Cholesky factor ``L`` of the regularised Gram matrix, by triangular solves. With kernel
values k of a new item and ``v = L^-1 k``, ``d = k(x, x) + r - v^T v`` is a difference of two numbers that rounding
changes by about ``eps k(x, x)``. With an explicit inverse they change by that times ``||K|| / r``, which exceeds d for
a small ridge. Rounding also changes the kernel values themselves, so that a ridge must be well above ``eps tr K``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.copies import copies
from rkhs._core.errors import InputError
from rkhs._core.linalg import cholesky

TIE = 1.0 + 1e-9  # relative tolerance of comparisons: differences by rounding are ties
_PRIOR_ROWS = 10.0  # weight, in rows, of the scale pooled over outputs when the scale of one is shrunk to it
_RATIOS = np.concatenate([[0.0], np.logspace(-6.0, 6.0, 97)])  # candidates: posterior variance over noise
_SMALLEST_SHARE = 1e-9  # of a group, above the rounding errors of sums of shares
_MIN_NOISE = 0.1  # smallest noise variance, as a share of the mean squared residual
_LEAST_RIDGE = 50.0  # in rounding errors ``eps tr K`` of a Gram matrix; regularisers that are chosen exceed twice that
_MOST_SQUARE = (5.0 * 1.4826) ** 2  # of a residual, in medians of their squares: five robust standard deviations


def min_nonconforming_rows(coverage: float, n: int, n_distinct: int | None = None) -> int:
    """``floor((1 - coverage) (n + 1))``: rows whose score must be at least that of an output in the set."""
    # With copies the number is computed for the distinct rows and scaled to all rows.
    m = n if n_distinct is None else n_distinct
    return math.floor(round((1.0 - coverage) * (m + 1), 9)) * n // m


def lengths(rows: np.ndarray, metric: np.ndarray | None = None) -> np.ndarray:
    """Return the lengths of rows (m, q), in a metric (q, q)."""
    return np.asarray(np.linalg.norm(rows, axis=1) if metric is None else np.sqrt(((rows @ metric) * rows).sum(1)))


def conformal_rank(coverage: float, n: int) -> int:
    """Rank, counted from 1, of the sorted score that is the conformal quantile; ``n + 1``: the set is unbounded."""
    return n + 1 - min_nonconforming_rows(coverage, n)


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Prediction sets, one per item, that contain the true output with a guaranteed probability.

    Attributes
    ----------
    coverage : float
        The probability that was asked for.
    guarantee : {"at least", "about"}
        "at least": proved for items exchangeable with the training items. "about": measured only, for boxes, settings
        that were chosen without the new row, and training rows with unequal numbers of copies.
    scope : "items"
        The new items that the guarantee covers: after ``fit(groups=)`` items of new groups.
    center : ndarray of shape (m,) or (m, q)
        Centres of the sets: the predictions.
    lower, upper : ndarray of the shape of ``center``, or None
        Ends of intervals and boxes, in units of the outputs.
    radius : ndarray of shape (m,), or None
        Radius of the ball, or of the ball of the same volume as the ellipsoid.
    metric : ndarray of shape (q, q), or None
        Metric of the ellipsoids, of determinant one: they are ``t^T metric t <= radius^2``, ``t = y - center``.
    informative : ndarray of bool, shape (m,)
        Whether the set excludes any output. With fewer than ``1 / (1 - coverage) - 1`` rows no set does.
    """

    coverage: float
    guarantee: str
    center: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    radius: np.ndarray | None = None
    metric: np.ndarray | None = None
    scope: str = "items"

    @property
    def informative(self) -> np.ndarray:
        """Shape (m,)."""
        if self.radius is not None:
            return np.asarray(np.isfinite(self.radius))
        assert self.upper is not None
        return np.isfinite(self.upper - self.center).reshape(len(self.center), -1).all(1)

    def contains(self, y: np.ndarray) -> np.ndarray:
        """Whether the set of each item contains its output; ``y`` has the shape of ``center``."""
        y = np.asarray(y, dtype=np.float64)
        if y.shape != self.center.shape:
            raise InputError(f"y must have shape {self.center.shape}, one output per item; got {y.shape}")
        if self.radius is not None:
            return lengths((y - self.center).reshape(len(y), -1), self.metric) <= self.radius
        inside = np.logical_and(self.lower <= y, y <= self.upper)
        return np.asarray(inside.reshape(len(y), -1).all(axis=1))


@dataclass(frozen=True, eq=False)
class CandidateSets:
    """Prediction sets of candidates or labels, one per item."""

    coverage: float  # the probability that was asked for
    guarantee: str  # "at least" or "about", as in :class:`PredictionSets`
    members: list[np.ndarray]  # m arrays of bool: which candidates, or labels, are in each set
    probabilities: list[np.ndarray] | None = None  # m arrays: of the candidates; each sums to one
    scope: str = "items"  # as in :class:`PredictionSets`

    @classmethod
    def nearest(
        cls, indices: np.ndarray, distances: np.ndarray, scores: np.ndarray, coverage: float, guarantee: str
    ) -> CandidateSets:
        """Candidates whose distances (m, c) are at most the conformal quantile of the calibration scores (k,)."""
        limit = np.append(np.sort(scores), np.inf)[conformal_rank(coverage, len(scores)) - 1]
        inside = np.zeros(indices.shape, dtype=bool)
        np.put_along_axis(inside, indices, distances <= limit, 1)
        return cls(coverage, guarantee, list(inside))

    @property
    def sizes(self) -> np.ndarray:
        """Number of members of each set, shape (m,)."""
        return np.array([int(one.sum()) for one in self.members])

    @property
    def informative(self) -> np.ndarray:
        """Whether each set excludes any candidate, shape (m,)."""
        return np.array([not one.all() for one in self.members])

    def contains(self, indices: np.ndarray) -> np.ndarray:
        """Whether each set contains the candidate with the given index in its list, shape (m,)."""
        return np.array([bool(one[index]) for one, index in zip(self.members, indices, strict=True)])


@dataclass(frozen=True, eq=False)
class NewItems:
    """Predictions and posterior variances of new items, for calibration."""

    weights: Tensor  # (m, n): b, weights of the training outputs in the prediction
    variance: Tensor  # (m,): posterior variance, with noise
    values: Tensor  # (m, r): coordinates of the predicted outputs
    known: Tensor | None = None  # (m,): whether an item equals a training item, which is then left out


@dataclass(frozen=True, eq=False)
class Calibration:
    """Factor of the regularised Gram matrix and leave-one-out residuals; see the docstring of the module.

    A row is left out with its copies, which are one row of the matrix with a smaller ridge.
    """

    factor: Tensor  # (m, m): L, of the distinct rows
    precisions: Tensor  # (m,): A_ii
    dual: Tensor  # (m, r): A U
    representatives: Tensor  # (m,): index of the first row of each group of copies
    group_of_row: Tensor  # (n,): group of copies of each row
    mean_weights: Tensor  # (m,): weights of the generalised least squares mean; zeros without an intercept
    intercept: Tensor  # (r,): the generalised least squares mean of the targets
    mean_variance: float
    ridge: float  # of a new row
    ridges: Tensor  # (m,)
    dual_moments: Tensor  # (r, r): S
    log_determinant: float  # of the regularised Gram matrix and, where there is one, the intercept
    groups: tuple[Tensor, Tensor] | None = None  # (m, m), (m, m): V; one for two rows of a group, else zero

    @classmethod
    def from_gram(
        cls,
        K: Tensor,
        U: Tensor,
        ridge: float,
        *,
        mean: bool,
        unit: float = 1.0,
        dtype: torch.dtype = torch.float64,
        groups: np.ndarray | None = None,
    ) -> Calibration:
        """Build from the Gram matrix (n, n), computed in ``dtype``, and targets' coordinates (n, r).

        ``mean``: with a free intercept; ``unit``: the ridge over the ``reg`` of the estimator; ``groups`` (n,): of
        copies, None: those that matrix and targets do not tell apart.
        """
        n, (K, U) = len(K), (K.double(), U.double())
        _check_ridge(ridge / unit, unit, K.diagonal(), dtype)
        alike = torch.from_numpy(copies([K], U) if groups is None else groups)
        first, group, counts = torch.unique(alike, return_inverse=True, return_counts=True)
        if len(first) < 3:
            raise InputError(
                f"X must have at least 3 distinct rows for leave-one-out calibration; got {len(first)} among {n}"
            )
        weight_of_copy = 1.0 / counts.double()
        K, U, ridges = K[first][:, first], U[first], ridge * weight_of_copy
        K.diagonal().add_(ridges)
        L = cholesky(K, name="the Gram matrix of the training items")[0]
        precisions, dual = torch.cholesky_inverse(L).diagonal().clone(), torch.cholesky_solve(U, L)
        weights, variance, determinant = L.new_zeros(len(L)), 0.0, 2.0 * float(L.diagonal().log().sum())
        if mean:
            column = torch.cholesky_solve(L.new_ones(len(L), 1), L)[:, 0]
            variance = 1.0 / float(column.sum())
            weights = column * variance
            precisions -= column * weights
            dual -= column[:, None] * (weights @ U)
            determinant -= math.log(variance)
        return cls(
            factor=L,
            precisions=precisions,
            dual=dual,
            representatives=first,
            group_of_row=group,
            mean_weights=weights,
            intercept=weights @ U,
            mean_variance=variance,
            ridge=ridge * float(weight_of_copy.mean()),
            ridges=ridges,
            dual_moments=U.mT @ dual,
            log_determinant=determinant,
        )

    def in_groups(self, labels: np.ndarray | None) -> Calibration:
        """Leave rows (n,) of equal labels out together."""
        if labels is None:
            return self
        numbers = torch.tensor(labels)[self.representatives]
        same = numbers[:, None] == numbers
        V = torch.diag(1.0 / self.precisions)
        for rows in [one.nonzero()[:, 0] for one in same.unique(dim=0) if one.sum() > 1]:
            V[rows[:, None], rows] = torch.linalg.inv(self._block(rows))
        return replace(self, groups=(V, same.to(V)))

    def _block(self, rows: Tensor) -> Tensor:
        """``A_gg`` of some rows, shape (g, g)."""
        units = torch.zeros_like(self.factor[:, : len(rows)])
        units[rows, torch.arange(len(rows))] = 1.0
        half = torch.linalg.solve_triangular(self.factor, units, upper=False)
        weights = self.mean_weights[rows]
        return half.mT @ half - torch.outer(weights, weights / (self.mean_variance or 1.0))

    @property
    def loo_residuals(self) -> Tensor:
        """``e`` of the distinct rows, shape (m, r)."""
        return self.dual / self.precisions[:, None]

    @property
    def equal_copies(self) -> bool:
        """Whether all rows have equally many copies; then leaving copies out together keeps the guarantee."""
        counts = torch.bincount(self.group_of_row)
        return bool((counts == counts[0]).all())

    @property
    def precision(self) -> Tensor:
        """``A_ii``, of rows in groups ``1 / V_ii``: one over the predictive variance of each row, shape (n,)."""
        precisions = self.precisions if self.groups is None else 1.0 / self.groups[0].diagonal()
        return precisions[self.group_of_row]

    @property
    def residuals(self) -> Tensor:
        """``e``, of rows in groups E, shape (n, r)."""
        return (self.loo_residuals if self.groups is None else self.groups[0] @ self.dual)[self.group_of_row]

    @property
    def shares(self) -> Tensor:
        """Weights (n,) of the rows in counts: one, of rows in groups one over the size of the group."""
        if self.groups is None:
            return self.precisions.new_ones(len(self.group_of_row))
        return 1.0 / (self.groups[1] @ torch.bincount(self.group_of_row).double())[self.group_of_row]

    def new(self, K: Tensor, diagonal: Tensor) -> NewItems:
        """Predict new items from kernel values (m, n) with the training items and the diagonal ``k(x, x)`` (m,)."""
        K, diagonal = K.cpu().double()[:, self.representatives], diagonal.cpu().double()
        half = torch.linalg.solve_triangular(self.factor, K.mT, upper=False)
        weights = torch.linalg.solve_triangular(self.factor.mT, half, upper=True).mT
        rest = 1.0 - weights.sum(1)  # weight of the mean
        variance = diagonal + self.ridge - half.square().sum(0) + self.mean_variance * rest**2
        return NewItems(
            weights=(weights + rest[:, None] * self.mean_weights)[:, self.group_of_row],
            variance=variance.clamp_min(self.ridge),  # a posterior variance is not negative
            values=K @ self.dual + self.intercept,
        )

    def p_values(self, new: NewItems, counts: Tensor | None = None) -> np.ndarray:
        """Conformal p-values of new items, shape (m,): ``P(p <= alpha) <= alpha`` for exchangeable items."""
        # counts (n,): number of items that each row represents.
        if counts is None:
            counts = self.shares * (1.0 if self.groups else len(self.representatives) / len(self.group_of_row))
        (_, b, precision), d = self._with_new(new), new.variance[:, None]
        q = 1.0 / (d * precision) + (b / (d * precision)) ** 2
        not_smaller = d + b**2 / precision <= TIE / precision if self.groups is None else q * TIE >= 1.0
        return np.asarray(((1.0 + not_smaller.double() @ counts) / (1.0 + counts.sum())).numpy())

    def min_rows(self, coverage: float) -> float:
        """Number of rows, or of groups, whose score is at least that of an output in the set; zero: it holds all."""
        if self.groups is not None:
            more_than = round((1.0 - coverage) * (round(float(self.shares.sum())) + 1), 9) - 1.0
            return max(more_than + 2.0 * _SMALLEST_SHARE, 0.0)
        return min_nonconforming_rows(coverage, len(self.group_of_row), len(self.representatives))

    def _with_new(self, new: NewItems) -> tuple[Tensor, Tensor, Tensor]:
        """``e``, b and ``A_ii`` of the condition of each row: (m, n, r), (m, n) and (m, n); sizes m may be one."""
        if self.groups is None:
            return self.residuals[None], new.weights, self.precision[None]
        (V, same), b, d = self.groups, new.weights[:, self.representatives], new.variance[:, None]
        E, u = V @ self.dual, b @ V
        a = u / (d + (b * u) @ same)
        p = (V.diagonal() - u * a) / d - a**2
        c = E - a[:, :, None] * (same @ (b[:, :, None] * E))
        return c[:, self.group_of_row], (a / p)[:, self.group_of_row], (1.0 / (d * p))[:, self.group_of_row]

    def interval(self, new: NewItems, coverage: float) -> np.ndarray:
        """Ends (m, 2) of the smallest interval around the exact set of a scalar output, relative to the prediction."""
        min_rows = self.min_rows(coverage)
        if min_rows == 0:
            return np.array([[-np.inf, np.inf]]).repeat(len(new.weights), 0)
        e, b, radii = self._balls(new)
        lower, upper = ((side * radii - b * e[..., 0]).numpy() for side in (-1.0, 1.0))
        shares = self.shares.numpy()
        ends = _first_covered(lower, upper, min_rows, shares), -_first_covered(-upper, -lower, min_rows, shares)
        return np.stack(ends, 1)

    def loo_likelihood_terms(self, new: NewItems) -> tuple[Tensor, Tensor, Tensor]:
        """Terms ``c``, ``s``, ``a`` (m, n + 1) of scores ``c + s <e_i, y - h> + a ||y - h||^2``; last the new row's."""
        # A score increases with the negative log marginal likelihood of the other n rows, at its optimal output scale.
        b, d, precision = new.weights, new.variance[:, None], self.precision
        with_new = precision + b**2 / d
        rank = len(precision) - (self.mean_variance > 0.0)
        unit = ((d.log() + with_new.log() + self.log_determinant) / rank).exp()
        trace, squared_norms, last = self.dual_moments.trace(), (self.residuals**2).sum(1), b.new_zeros(len(b), 1)
        of_new = math.exp(self.log_determinant / rank) * trace
        return (
            torch.cat([unit * (trace - precision**2 * squared_norms / with_new), last + of_new], 1),
            torch.cat([unit * 2.0 * precision * b / (d * with_new), last], 1),
            torch.cat([unit * (1.0 - b**2 / (d * with_new)) / d, last], 1),
        )

    def ball(self, new: NewItems, coverage: float) -> np.ndarray:
        """Radii (m,), in coordinates, of balls around the predictions that contain the exact sets."""
        e, b, radii = self._balls(new)
        return self._largest(b.abs() * torch.linalg.vector_norm(e, dim=2) + radii, coverage)

    def ellipsoid(self, new: NewItems, coverage: float) -> np.ndarray:
        """Radii (m,) in the metric ``S^-1`` of ellipsoids that contain the exact sets of that metric."""
        (e, b, precision), d = self._with_new(new), new.variance[:, None]
        b, dual = b.abs(), e * precision[..., None]
        squared_norms = (dual * torch.linalg.solve(self.dual_moments, dual.mT).mT).sum(-1)
        # The largest squared norm in the ball of each row: on the axis of its residual, or off it.
        on_axis = squared_norms * ((b + (b * b + precision * d).sqrt()) / precision) ** 2
        off_axis = (d * squared_norms + b * b) / (precision - squared_norms).clamp_min(1e-12 * precision)
        farthest_off_axis = (d * squared_norms + 2.0 * b * b) * squared_norms >= precision * b * b
        reach = torch.where(farthest_off_axis & (len(self.dual_moments) > 1), off_axis, on_axis)
        return self._largest(reach.sqrt(), coverage)

    def box(self, residuals: np.ndarray, new: NewItems, coverage: float) -> np.ndarray:
        """Half widths (m, q) of boxes that contain all outputs jointly, from residuals (n, q) in output units."""
        n = len(residuals)
        squares = residuals**2
        others = (squares.sum(0) - squares) / (n - 1)
        w = min(1.0, _PRIOR_ROWS / n)
        scales = np.sqrt((1.0 - w) * others + w * others.mean(1, keepdims=True))
        scores = (np.abs(residuals) / np.maximum(scales, 1e-300)).max(1) * np.sqrt(self.precision.numpy())
        q = self._largest(torch.from_numpy(scores[None]), coverage)[0]
        whole = squares.mean(0)
        scale = np.sqrt((1.0 - w) * whole + w * whole.mean())
        return np.asarray(q * scale * np.sqrt(new.variance.numpy())[:, None])

    def contains(self, new: NewItems, row: int, E: Tensor, squares: Tensor, coverage: float) -> np.ndarray:
        """Whether the exact set of a new item contains candidates of coordinates (c, r), squared distances (c,)."""
        one = replace(new, weights=new.weights[row : row + 1], variance=new.variance[row : row + 1])
        e, b, precision = (part[0] for part in self._with_new(one))
        moved = 2.0 * b[:, None] * (e @ (E.double() - new.values[row]).mT)
        inside = squares.double() + moved <= ((e**2).sum(1) * precision * new.variance[row])[:, None] * TIE
        return np.asarray((self.shares @ inside.double() >= self.min_rows(coverage) - _SMALLEST_SHARE).numpy())

    def variances(self, residuals: np.ndarray, new: NewItems) -> np.ndarray:
        """Predictive variances (m, q): a multiple of the posterior variance plus noise, by leave-one-out likelihood.

        Of a residual farther than five robust standard deviations only so much counts, so that a few wrong targets do
        not widen the variances of all.
        """
        loo_posterior_variance = (1.0 / self.precision - self.ridges[self.group_of_row]).clamp_min(0.0).numpy()
        posterior_variance, unit = new.variance.numpy() - self.ridge, max(float(loo_posterior_variance.mean()), 1e-300)
        relative = 1.0 + _RATIOS[:, None] * loo_posterior_variance / unit
        variances = np.empty((len(posterior_variance), residuals.shape[1]))
        for j, e in enumerate(residuals.T):
            squares = e**2 / relative
            limit = _MOST_SQUARE * np.median(squares, axis=1, keepdims=True)
            squares = np.minimum(squares, np.where(limit > 0.0, limit, np.inf))
            noise = np.maximum(squares.mean(1), max(_MIN_NOISE * float(squares[0].mean()), 1e-300))
            best = int(np.argmin((np.log(noise[:, None] * relative) + squares / noise[:, None]).sum(1)))
            variances[:, j] = noise[best] * (1.0 + _RATIOS[best] * posterior_variance / unit)
        return variances

    def _balls(self, new: NewItems) -> tuple[Tensor, Tensor, Tensor]:
        """``e``, b and the radius of the ball of each row for each new item: (m, n, r), (m, n) and (m, n)."""
        e, b, precision = self._with_new(new)
        return e, b, torch.linalg.vector_norm(e, dim=2) * (precision * new.variance[:, None] + b**2).sqrt()

    def _largest(self, reach: Tensor, coverage: float) -> np.ndarray:
        """The largest reach (m, n) of each new item that rows of enough weight have; infinite if none is needed."""
        needed = self.min_rows(coverage)
        if needed == 0:
            return np.full(len(reach), np.inf)
        order = reach.argsort(dim=1, descending=True)
        places = (self.shares[order].cumsum(1) < needed - _SMALLEST_SHARE).sum(1, keepdim=True)
        return np.asarray(reach.gather(1, order).gather(1, places)[:, 0].numpy())


def _check_ridge(reg: float, unit: float, diagonal: Tensor, dtype: torch.dtype) -> None:
    """Refuse a ridge ``reg * unit`` below the rounding error of a Gram matrix of a precision."""
    least = _LEAST_RIDGE * torch.finfo(dtype).eps * float(diagonal.sum()) / unit
    if reg < least:
        raise InputError(
            f"reg must be at least {least:.1e} for sets, deviations and p-values, which are rounding errors below it: "
            f"kernel values are as large as {float(diagonal.max()):.1e}; got {reg:.1e}. Use a larger reg, or for sets "
            "rows that the fit did not see: predict_set(X, held_out=(X_other, y_other))"
        )


def _first_covered(lower: np.ndarray, upper: np.ndarray, needed: float, shares: np.ndarray) -> np.ndarray:
    """The smallest point per row that intervals (m, n) of weight ``needed`` contain, with weights (n,)."""
    # At the k-th lower end, k intervals have begun, and those have ended whose upper end lies below it.
    found = np.empty(len(lower))
    for row, sides in enumerate(zip(lower, upper, strict=True)):
        orders = [np.argsort(side, kind="stable") for side in sides]
        begins, ends = (side[order] for side, order in zip(sides, orders, strict=True))
        begun, ended = (shares[order].cumsum() for order in orders)
        inside = begun - np.append(0.0, ended)[np.searchsorted(ends, begins, side="left")]
        found[row] = begins[int(np.argmax(inside >= needed - _SMALLEST_SHARE))]
    return found


_POINTS = 17  # grid points on the interval of each setting, and on the bracket of each end that is refined

Setting = tuple["Calibration", "NewItems"]


def chosen_interval(settings: Sequence[Setting], coverage: float) -> np.ndarray:
    """Ends (m, 2) of the smallest intervals around the exact sets of one output; infinite if no output is excluded."""
    # The choice is evaluated on a grid; an end at which it changes is rounded outwards.
    values = np.stack([new.values.numpy() for _, new in settings], 1)  # (m, s, 1)
    ends = values + np.stack([machine.interval(new, coverage) for machine, new in settings], 1)
    if not np.isfinite(ends).all():
        return np.array([[-np.inf, np.inf]]).repeat(len(ends), 0)
    parts = []
    for machine, new in settings:
        constant, slope, curvature = machine.loo_likelihood_terms(new)
        slope[:, :-1] *= machine.residuals[:, 0]
        parts.append(np.stack([constant, slope, curvature], 2))
    return np.array([_hull(*row) for row in zip(np.stack(parts, 1), values, ends, strict=True)])


def chosen_members(
    settings: Sequence[Setting], row: int, E: Tensor, squares: Sequence[Tensor], coverage: float
) -> np.ndarray:
    """Which candidates of coordinates (c, r) a set holds; ``squares``: squared distances (c,) to each prediction."""
    if len(settings) == 1:
        return settings[0][0].contains(settings[0][1], row, E, squares[0], coverage)
    errors, inside = [], []
    for (machine, new), near in zip(settings, squares, strict=True):
        constant, slope, curvature = (part[row][:, None] for part in machine.loo_likelihood_terms(new))
        along = machine.residuals @ (E.double() - new.values[row]).mT
        found = constant + curvature * near.double()
        found[:-1] += slope[:-1] * along
        errors.append(found.min(0).values.numpy())
        inside.append(machine.contains(new, row, E, near, coverage))
    return np.asarray((np.stack(inside) & _least(np.stack(errors))).any(0))


def _least(errors: np.ndarray) -> np.ndarray:
    """Which settings have the least error, along the first axis; ties count."""
    return errors <= errors.min(0) * TIE


def _hull(functions: np.ndarray, values: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """Least and largest output y inside the interval, with ends (s, 2), of the setting that y chooses."""
    # The error of a setting is the least of n + 1 quadratic functions (s, n + 1, 3) of ``y`` minus its prediction.

    def chosen(y: np.ndarray) -> np.ndarray:
        t = (y.ravel() - values)[:, None]
        errors = (functions[:, :, :1] + functions[:, :, 1:2] * t + functions[:, :, 2:] * t * t).min(1)
        return _least(errors).reshape(len(values), *y.shape)

    y = np.sort(np.linspace(ends[:, 0], ends[:, 1], _POINTS).ravel())
    inside = chosen(y) & (ends[:, :1] <= y) & (y <= ends[:, 1:])
    some = np.flatnonzero(inside.any(1))
    if not len(some):
        return np.inf, -np.inf
    found = []
    for sign, bound in ((-1, ends[some, 0]), (1, ends[some, 1])):
        points, flags = np.broadcast_to(y[::sign], (len(some), len(y))), inside[some, ::sign]
        last, beyond = _last(points, flags)
        near = np.linspace(last, sign * np.minimum(sign * beyond, sign * bound), _POINTS, axis=1)
        found.append(sign * (sign * _last(near, chosen(near)[some, np.arange(len(some))])[1]).max())
    return found[0], found[1]


def _last(points: np.ndarray, flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find for each row of points (k, p) the last one with a flag, and the next one."""
    place = flags.shape[1] - 1 - flags[:, ::-1].argmax(1)
    rows = np.arange(len(points))
    return points[rows, place], points[rows, np.minimum(place + 1, flags.shape[1] - 1)]
