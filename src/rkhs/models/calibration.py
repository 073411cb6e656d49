"""Leave-one-out calibration of kernel ridge regression: conformal sets, predictive variances, p-values.

All of it comes from one matrix. ``A`` is the inverse of the Gram matrix with the ridge ``r = n reg`` on its diagonal,
with constants projected out where the machine has a mean; ``e_i = (A U)_i / A_ii`` is the left-out residual of row i,
and ``1 / A_ii`` its left-out posterior variance. A new item has values ``h = b^T U`` and the posterior variance ``d``;
without row i they are ``h - b_i e_i`` and ``d + b_i^2 / A_ii``. With the score ``||y - h|| / sqrt(d)``, full conformal
prediction calls row i at least as strange as ``(x, y)`` exactly if ``||y - h + b_i e_i||^2 <= ||e_i||^2 (A_ii d +
b_i^2)``. So the outputs for which this holds for at least ``floor(alpha (n + 1))`` rows hold the truth with probability
``1 - alpha``, if rows are exchangeable and neither kernel nor ridge was chosen from them.

Lengths in the metric of the inverse of ``S = U^T A U`` keep the guarantee too: the new row makes ``S + t t^T / d`` of
``S``, ``t = y - h``. With products in this metric and ``a = A_ii e_i``, row i is at least as strange exactly if
``(A_ii - <a, a>) <t, t> + <a, t>^2 + 2 b_i <a, t> <= d <a, a>``: an ellipsoid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.copies import copies
from rkhs._core.errors import InputError
from rkhs._core.linalg import cholesky

_TIE = 1.0 + 1e-9  # variances that differ by rounding alone are equal
_SHRINKING = 10.0  # rows whose worth the mean scale of all outputs has, next to the scale of one
_RATIOS = np.concatenate([[0.0], np.logspace(-6.0, 6.0, 97)])  # of the two parts of a variance
_LEAST_NOISE = 0.1  # of the mean squared residual


def rows_at_least(coverage: float, n: int, different: int | None = None) -> int:
    """``floor(alpha (n + 1))``: at least as many rows must be as strange as an output that a set holds."""
    # Of rows with copies as many as stand for so many of the rows that differ.
    m = n if different is None else different
    return math.floor(round((1.0 - coverage) * (m + 1), 9)) * n // m


def lengths(rows: np.ndarray, metric: np.ndarray | None = None) -> np.ndarray:
    """Return the lengths of rows (m, q), in a metric (q, q)."""
    return np.asarray(np.linalg.norm(rows, axis=1) if metric is None else np.sqrt(((rows @ metric) * rows).sum(1)))


def conformal_rank(coverage: float, n: int) -> int:
    """Which of ``n`` sorted scores, from 1, bounds the set; ``n + 1``: none does."""
    return n + 1 - rows_at_least(coverage, n)


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Sets of outputs, one an item, that hold the true output with a guaranteed probability.

    Attributes
    ----------
    coverage : float
        The probability that was asked for.
    guarantee : {"at least", "about"}
        Whether it is a theorem for items exchangeable with those of the fit, or was measured only: of boxes, where a
        choice of settings from these rows takes no part in the set, and where some rows have more copies than others.
    scope : {"items", "items of known groups"}
        The new items that the guarantee speaks of: after ``fit(groups=)`` those of the groups of the fit.
    center : ndarray of shape (m,) or (m, q)
        What the sets lie around.
    lower, upper : ndarray of the shape of ``center``, or None
        Ends of intervals and boxes, in units of the outputs.
    radius : ndarray of shape (m,), or None
        Of balls around the centre, also of those that are as large as the ellipsoids.
    metric : ndarray of shape (q, q), or None
        Of ellipsoids: outputs at ``y - center = t`` with ``t^T metric t <= radius^2`` are inside. Of determinant one.
    informative : ndarray of bool, shape (m,)
        Whether the set leaves anything out. With fewer than ``1 / (1 - coverage) - 1`` rows no set does.
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
        """Whether the set of each item holds its output; ``y`` has the shape of ``center``."""
        y = np.asarray(y, dtype=np.float64)
        if y.shape != self.center.shape:
            raise InputError(f"y must have shape {self.center.shape}, one output an item; got {y.shape}")
        if self.radius is not None:
            return lengths((y - self.center).reshape(len(y), -1), self.metric) <= self.radius
        inside = np.logical_and(self.lower <= y, y <= self.upper)
        return np.asarray(inside.reshape(len(y), -1).all(axis=1))


@dataclass(frozen=True, eq=False)
class MemberSets:
    """Sets of candidates, or of labels, one an item."""

    coverage: float  # the probability that was asked for
    guarantee: str  # "at least" or "about", as in :class:`PredictionSets`
    members: list[np.ndarray]  # m arrays of bool: which candidates, or labels, belong to each set
    probabilities: list[np.ndarray] | None = None  # m arrays: of the candidates; they sum to one in each
    scope: str = "items"  # that the guarantee speaks of, as in :class:`PredictionSets`

    @classmethod
    def nearest(
        cls, indices: np.ndarray, distances: np.ndarray, scores: np.ndarray, coverage: float, guarantee: str
    ) -> MemberSets:
        """Find candidates with distances (m, c) within the conformal quantile of known distances (k,)."""
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
        """Whether each set leaves anything out, shape (m,)."""
        return np.array([not one.all() for one in self.members])

    def contains(self, places: np.ndarray) -> np.ndarray:
        """Whether each set holds the candidate at a place of its list, shape (m,)."""
        return np.array([bool(one[place]) for one, place in zip(self.members, places, strict=True)])


@dataclass(frozen=True, eq=False)
class NewItems:
    """New items as a calibrated machine sees them."""

    shares: Tensor  # (m, n): b, what each training row has of a value
    variance: Tensor  # (m,): posterior variance, with noise
    values: Tensor  # (m, r): coordinates of the predicted outputs
    known: Tensor | None = None  # (m,): whether an item equals a training item, and is judged without it


@dataclass(frozen=True, eq=False)
class Calibration:
    """One inverse of a Gram matrix with its ridge, and the residual of each row left out; see the head of this file.

    A row is left out with its copies, which are one row of the matrix with a smaller ridge.
    """

    inverse: Tensor  # (m, m): A, of the rows that differ
    first: Tensor  # (m,): their places
    place: Tensor  # (n,): which of them each row is
    left_out: Tensor  # (m, r): e
    mean_shares: Tensor  # (m,): of the mean; zeros without one
    mean_values: Tensor  # (r,): what they make of the targets
    mean_variance: float
    ridge: float  # of a new row
    ridges: Tensor  # (m,)
    moments: Tensor  # (r, r): S
    log_determinant: float  # of the Gram matrix with its ridge and, where there is one, the mean

    @classmethod
    def of(cls, K: Tensor, U: Tensor, ridge: float, *, mean: bool) -> Calibration:
        """Build it of the Gram matrix (n, n) and coordinates (n, r) of the targets; with a mean that is free."""
        n, (K, U) = len(K), (K.double(), U.double())
        first, place, counts = torch.unique(torch.from_numpy(copies([K], U)), return_inverse=True, return_counts=True)
        if len(first) < 3:
            raise InputError(
                f"X must have at least 3 different rows to leave each out in turn; got {len(first)} among {n}"
            )
        shares_of_copies = 1.0 / counts.double()
        K, U, ridges = K[first][:, first], U[first], ridge * shares_of_copies
        K.diagonal().add_(ridges)
        L = cholesky(K, name="the Gram matrix of the training items")[0]
        P, determinant = torch.cholesky_inverse(L), 2.0 * float(L.diagonal().log().sum())
        shares, variance = P.new_zeros(len(K)), 0.0
        if mean:
            column = P.sum(1)
            variance = 1.0 / float(column.sum())
            shares = column * variance
            P = P - column[:, None] * shares
            determinant -= math.log(variance)
        dual = P @ U
        left_out = dual / P.diagonal()[:, None]
        of_new = ridge * float(shares_of_copies.mean())
        return cls(
            inverse=P,
            first=first,
            place=place,
            left_out=left_out,
            mean_shares=shares,
            mean_values=shares @ U,
            mean_variance=variance,
            ridge=of_new,
            ridges=ridges,
            moments=U.mT @ dual,
            log_determinant=determinant,
        )

    @property
    def even(self) -> bool:
        """Whether all rows have as many copies: sets that leave these out together are exact then."""
        counts = torch.bincount(self.place)
        return bool((counts == counts[0]).all())

    @property
    def precision(self) -> Tensor:
        """``A_ii``, shape (n,)."""
        return self.inverse.diagonal()[self.place]

    @property
    def residuals(self) -> Tensor:
        """``e``, shape (n, r)."""
        return self.left_out[self.place]

    def new(self, K: Tensor, diagonal: Tensor) -> NewItems:
        """New items by their kernel values (m, n) with the training items and with themselves (m,)."""
        K, diagonal = K.cpu().double()[:, self.first], diagonal.cpu().double()
        parts = K @ self.inverse
        variance = diagonal + (self.ridge + self.mean_variance) - (parts * K).sum(1) - 2.0 * (K @ self.mean_shares)
        values = K @ (self.left_out * self.inverse.diagonal()[:, None]) + self.mean_values
        return NewItems((parts + self.mean_shares)[:, self.place], variance.clamp_min(1e-12 * self.ridge), values)

    def p_values(self, new: NewItems, counts: Tensor | None = None) -> np.ndarray:
        """Conformal p-values of new items: at most ``alpha`` with probability at most ``alpha``; shape (m,)."""
        # counts (n,) says how many items each row stands for.
        per_row = 1.0 / self.precision
        many = torch.full_like(per_row, len(self.first) / len(per_row)) if counts is None else counts
        stranger = (new.variance[:, None] + new.shares**2 * per_row <= per_row * _TIE).double()
        return np.asarray(((1.0 + stranger @ many) / (1.0 + many.sum())).numpy())

    def needed(self, coverage: float) -> int:
        """How many rows must be as strange as an output that a set holds."""
        return rows_at_least(coverage, len(self.place), len(self.first))

    def interval(self, new: NewItems, coverage: float) -> np.ndarray:
        """Ends (m, 2), less the value, of the smallest interval that holds the exact set of one output."""
        needed = self.needed(coverage)
        if needed < 1:
            return np.array([[-np.inf, np.inf]]).repeat(len(new.shares), 0)
        middle, radii = -new.shares * self.residuals[:, 0], self._radii(new)
        lower, upper = (np.sort(part.numpy(), 1) for part in (middle - radii, middle + radii))
        ends = _first_with(lower, upper, needed), -_first_with(-upper[:, ::-1], -lower[:, ::-1], needed)
        return np.stack(ends, 1)

    def unlikelihood(self, new: NewItems) -> tuple[Tensor, Tensor, Tensor]:
        """Numbers (m, n + 1), one for each of the n + 1 rows, the new one last: how unlikely all others are."""
        # That is c + s <e_i, y - h> + a ||y - h||^2, which grows with minus the logarithm of the marginal likelihood
        # of the others at its best scale of the outputs.
        b, d, per_row = new.shares, new.variance[:, None], self.precision
        with_new = per_row + b**2 / d
        rank = len(per_row) - (self.mean_variance > 0.0)
        unit = ((d.log() + with_new.log() + self.log_determinant) / rank).exp()
        trace, sizes, last = self.moments.trace(), (self.residuals**2).sum(1), b.new_zeros(len(b), 1)
        of_new = math.exp(self.log_determinant / rank) * trace
        return (
            torch.cat([unit * (trace - per_row**2 * sizes / with_new), last + of_new], 1),
            torch.cat([unit * 2.0 * per_row * b / (d * with_new), last], 1),
            torch.cat([unit * (1.0 - b**2 / (d * with_new)) / d, last], 1),
        )

    def ball(self, new: NewItems, coverage: float) -> np.ndarray:
        """Radii (m,), in coordinates, of balls around the values that hold the exact sets."""
        sizes = torch.linalg.vector_norm(self.residuals, dim=1)
        return _outermost(new.shares.abs() * sizes + self._radii(new), self.needed(coverage))

    def ellipsoid(self, new: NewItems, coverage: float) -> np.ndarray:
        """Return the balls in the metric of ``S^-1``: of ellipsoids that hold the exact sets of the lengths in it."""
        per_row, b, d = self.precision, new.shares.abs(), new.variance[:, None]
        dual = self.residuals * per_row[:, None]
        sizes = (dual * torch.linalg.solve(self.moments, dual.mT).mT).sum(1)
        along = sizes * ((b + (b * b + per_row * d).sqrt()) / per_row) ** 2  # squares of the farthest point of each row
        across = (d * sizes + b * b) / (per_row - sizes).clamp_min(1e-12 * per_row)
        off_line = ((d * sizes + 2.0 * b * b) * sizes >= per_row * b * b) & (len(self.moments) > 1)
        reach = torch.where(off_line, across, along)
        return _outermost(reach.sqrt(), self.needed(coverage))

    def band(self, residuals: np.ndarray, new: NewItems, coverage: float) -> np.ndarray:
        """Half widths (m, q) of boxes that hold all outputs at once, for residuals (n, q) in their units."""
        n = len(residuals)
        squares = residuals**2
        others = (squares.sum(0) - squares) / (n - 1)
        w = min(1.0, _SHRINKING / n)
        scales = np.sqrt((1.0 - w) * others + w * others.mean(1, keepdims=True))
        scores = (np.abs(residuals) / np.maximum(scales, 1e-300)).max(1) * np.sqrt(self.precision.numpy())
        place = n + 1 - self.needed(coverage)
        q = np.inf if place > n else np.sort(scores)[place - 1]
        whole = squares.mean(0)
        scale = np.sqrt((1.0 - w) * whole + w * whole.mean())
        return np.asarray(q * scale * np.sqrt(new.variance.numpy())[:, None])

    def holds(self, new: NewItems, row: int, E: Tensor, squares: Tensor, coverage: float) -> np.ndarray:
        """Whether the exact set of one new item holds candidates of coordinates (c, r) at squared distances (c,)."""
        sizes = (self.residuals**2).sum(1)
        moved = 2.0 * new.shares[row][:, None] * (self.residuals @ (E.double() - new.values[row]).mT)
        alike = squares.double() + moved <= (sizes * self.precision * new.variance[row])[:, None] * _TIE
        return np.asarray((alike.sum(0) >= self.needed(coverage)).numpy())

    def variances(self, residuals: np.ndarray, new: NewItems) -> np.ndarray:
        """Predictive variances (m, q): a part of the posterior variance and a constant, by left-out likelihood."""
        per_row = (1.0 / self.precision - self.ridges[self.place]).numpy()
        new_part = new.variance.numpy() - self.ridge
        found = np.empty((len(new_part), residuals.shape[1]))
        for j, e in enumerate(residuals.T):
            squares = e**2
            mean = max(float(squares.mean()), 1e-300)
            shapes = 1.0 + _RATIOS[:, None] * per_row / max(float(per_row.mean()), 1e-300)
            noise = np.maximum((squares / shapes).mean(1), _LEAST_NOISE * mean)
            each = noise[:, None] * shapes
            best = int(np.argmin((np.log(each) + squares / each).sum(1)))
            found[:, j] = noise[best] * (1.0 + _RATIOS[best] * new_part / max(float(per_row.mean()), 1e-300))
        return found

    def _radii(self, new: NewItems) -> Tensor:
        """Return the radii of the ball that each row gives to each new item, shape (m, n)."""
        sizes = torch.linalg.vector_norm(self.residuals, dim=1)
        return sizes * (self.precision * new.variance[:, None] + new.shares**2).sqrt()


def _outermost(reach: Tensor, needed: int) -> np.ndarray:
    """The radius within which the points of so many rows are, of how far each row (m, n) reaches."""
    m, n = reach.shape
    if needed < 1:
        return np.full(m, np.inf)
    return np.asarray(np.partition(reach.numpy(), n - needed, axis=1)[:, n - needed])


def _first_with(lower: np.ndarray, upper: np.ndarray, needed: int) -> np.ndarray:
    """The least point of each row that lies in at least so many of its intervals; their ends are sorted."""
    # At the k-th lower end, k intervals have begun, and those have ended whose upper end lies below it.
    found = np.empty(len(lower))
    for row, (begins, ends) in enumerate(zip(lower, upper, strict=True)):
        inside = np.arange(1, len(begins) + 1) - np.searchsorted(ends, begins, side="left")
        found[row] = begins[int(np.argmax(inside >= needed))]
    return found
