"""Prepared rows of a fit in stages: vectors, or features of a kernel in the span of landmarks.

Where features are rebuilt, each item is its kernel values with the landmarks. The targets are coordinates of its
feature in their span. The part outside the span cannot be rebuilt and counts in every error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rkhs._core.copies import copies_last
from rkhs._core.linalg import factorize
from rkhs.engines import Block, row_blocks
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.training import Training
from rkhs.models import Rebuilt
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.coordinates import STRIP, Coordinates, PerRowCodes
from rkhs.problems.encoders import MAX_ENCODER_ROWS
from rkhs.problems.semiparametric import SAMPLE, PrincipalCoordinates, kernel_unit, leading_directions, linear_unit
from rkhs.spaces.features.base import EvaluatedMap, FeatureMap, subsampled
from rkhs.spaces.source import Options, open_source

if TYPE_CHECKING:
    from rkhs.kernels.base import Kernel

TILE = STRIP  # rows that are coded at once


def strips(n: int) -> tuple[Block, ...]:
    """Strips of the rows whose codes are optimised."""
    return row_blocks(min(n, MAX_ENCODER_ROWS), STRIP)


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Training rows in the order in which stages take them."""

    order: Tensor  # (n,): indices of the rows as they were given
    linear: Tensor  # (n, k): principal coordinates of unit variance; no columns without free linear parts
    axes: PrincipalCoordinates | None  # of these coordinates; None: linear parts are those of the kernels
    features: Tensor  # (f, m): of the rows whose codes are optimised
    prior_variance: Tensor  # (n,): ``s^2 = k(x, x)``
    target: Tensor  # (n, q)
    leading: Tensor | None  # (q, r): leading directions of the targets, fitted in the descent; None: all
    weights: Tensor | None  # (n,)
    total: float  # original sum of the weights
    per_row_codes: bool  # whether the code of each row is free
    items: Tensor  # (n, d): as they were given
    map: FeatureMap
    different: int  # number of first rows that are no copies: held-out rows are among these
    outside: Tensor | None = None  # (n,): squared norms of the targets outside their coordinates; None: zero

    def __len__(self) -> int:
        return len(self.order)

    def share(self, size: int) -> float:
        """Sum of the weights, as given, of the first rows, as far as their codes are optimised."""
        size = min(size, len(self.features))  # codes of further rows have the penalty of new rows
        return self.total * (size / len(self) if self.weights is None else float(self.weights[:size].sum()))

    def part(self, size: int) -> Tensor | None:
        """Weights of the first rows, normalised to sum one."""
        return None if self.weights is None else self.weights[:size] / self.weights[:size].sum()

    def targets(self, rows: slice) -> Tensor:
        """Targets of some rows in the leading directions."""
        return self.target[rows] if self.leading is None else self.target[rows] @ self.leading

    def residual(self, rows: slice) -> Tensor:
        """Squared norms of the targets of some rows outside the leading directions, shape (m,)."""
        targets = self.targets(rows)
        return (self.norms(rows) - (targets * targets).sum(1)).clamp_min(0.0)

    def norms(self, rows: slice = slice(None)) -> Tensor:
        """Squared norms of the targets of some rows, shape (m,), with what lies outside of their coordinates."""
        target = self.target[rows]
        inside = (target * target).sum(1)
        return inside if self.outside is None else inside + self.outside[rows]

    def coordinates(self, size: int, reg: float, p: int) -> PerRowCodes:
        """Coordinates of ``p`` codes of the first rows, with ``p`` linear columns in units of their penalty."""
        w, spread = self.part(size), None
        if self.per_row_codes:
            spread = (self.prior_variance[:size] / (self.share(size) * (1.0 / size if w is None else w))).sqrt()
        return PerRowCodes(self.linear[:size, :p] * linear_unit(reg), self.features[:size], spread)

    def principal(self, factor: Coordinates, p: int) -> Tensor:
        """Parameters (dim, p) of principal component scores: of the rows, or without free linear parts of features."""
        assert isinstance(factor, PerRowCodes)
        W, F = self.linear.new_zeros(factor.dim, p), factor.features
        if self.axes is not None:
            k = min(p, factor.linear.shape[1])
            W[:k, :k] = torch.diag(self.axes.scale[:k])
            return W
        axes = PrincipalCoordinates.of_vectors(F, p, self.part(len(F)))
        found = factor.solve(axes.of(F) * axes.scale)
        W[:, : found.shape[1]] = found
        return W

    def encoded(self, W: Tensor, rows: slice, reg: float) -> Tensor:
        """Codes of some rows by an encoder with the parameters ``[A; V]``."""
        Q = self.linear[rows, : W.shape[1]]
        k, known = Q.shape[1], rows.stop <= len(self.features)
        F = self.features[rows] if known else self.map.features(self.items[self.order[rows]])
        return torch.addmm((Q * linear_unit(reg)) @ W[:k], F, W[k : k + F.shape[1]])


def ordered_rows(
    X: Tensor,
    target: Tensor,
    prior_variance: Tensor,
    features: FeatureMap,
    axes: PrincipalCoordinates | None,
    p: int,
    weights: Tensor | None,
    total: float,
    *,
    per_row_codes: bool,
    fitted: int,
    copies: int = 1,
    outside: Tensor | None = None,
    of_few_values: bool = False,
) -> OrderedRows:
    """Arrange rows in a random order and compute what all stages share; the codes of ``fitted`` rows are optimised."""
    n = len(X) // copies
    drawn, different = np.random.RandomState(0).permutation(n), n
    if not of_few_values:
        drawn, different = copies_last(X[:n], drawn)
    numbers = drawn[:, None] + n * np.arange(copies)
    order = torch.from_numpy(numbers.ravel()).to(X.device)
    kept = X.new_empty(min(len(X), fitted), features.dim)
    for start in range(0, len(kept), TILE):
        kept[start : start + TILE] = features.features(X[order[start : start + TILE]])[: len(kept) - start]
    target, w = target[order], None if weights is None else weights[order]
    leading = None if axes is None else leading_directions(target, w, p)
    linear = X.new_empty(len(X), 0) if axes is None else axes.of(X)[order]
    residual = None if outside is None else outside[order]
    return OrderedRows(
        order,
        linear,
        axes,
        kept,
        prior_variance[order],
        target,
        leading,
        w,
        total,
        per_row_codes,
        X,
        features,
        different * copies,
        residual,
    )


def row_outputs(
    targets: Tensor, p: int, weights: Tensor | None, center: bool, scale: bool, *, finer: bool = True
) -> tuple[Euclidean, Tensor]:
    """Centre and scale the targets; ``finer``: in the unit of what ``p`` components leave of them."""
    w = targets.new_full((len(targets),), 1.0 / len(targets)) if weights is None else weights
    space, T = Euclidean.fit(targets, w, center=center, scale=scale, rotate=False)
    if not (scale and finer):
        return space, T
    some = subsampled(w, SAMPLE)
    unit = kernel_unit(subsampled(T, SAMPLE), p, some / some.sum())
    return space.rescaled(unit), T / unit


def landmark_space(
    features: FeatureMap, raw_mean: Tensor, diag: float, *, center: bool, scale: bool
) -> tuple[RKHS, float]:
    """Features of a kernel as targets, in coordinates of the span of the landmarks, and their total variance."""
    K = features.kept_raw()
    assert K is not None
    mean = features.whiten_adjoint(raw_mean[:, None])
    gram_mean = raw_mean if center else torch.zeros_like(raw_mean)
    mean_squared_norm = float((mean * mean).sum()) if center else 0.0
    C = (K.to(gram_mean) - gram_mean[:, None]).sub_(gram_mean[None, :]).add_(mean_squared_norm)
    variance = max(diag - mean_squared_norm, 0.0)
    deviation = variance**0.5 if scale and variance > 0.0 else 1.0
    factor = factorize(C.div_(deviation**2))
    weights = features.whiten(mean)[:, 0].cpu().numpy() if center else None
    space = RKHS(
        mean=weights,
        gram_mean=gram_mean.cpu().numpy(),
        mean_squared_norm=mean_squared_norm,
        scale=deviation,
        cholesky=factor.cholesky.cpu().numpy(),
        pivots=factor.pivots.cpu().numpy(),
    )
    return space, variance / deviation**2


class PreparedData(NamedTuple):
    """Prepared rows of a fit in stages."""

    rows: OrderedRows
    rebuilt: Rebuilt
    kernel: Kernel  # resolved
    map: FeatureMap  # of the storage
    largest: float  # mean of ``k(x, x)``, in place of the largest

    @property
    def axes(self) -> PrincipalCoordinates | None:
        """Principal coordinates for a free linear part."""
        return self.rows.axes


def open_vectors(
    settings: Settings,
    training: Training,
    targets: tuple[Euclidean, Tensor],
    options: Options,
    w: Tensor | None,
    *,
    per_row_codes: bool,
    part: Tensor | None = None,
) -> PreparedData:
    """Prepare rows that are rebuilt as vectors."""
    (output, T), X, total = targets, training.items, training.total
    if part is not None:
        X, T, total = X[part], T[part], float(len(part))
    source = open_source(options, settings.feature_storage, settings.kernel, X, training.row_weights)
    kernel, features, p = source.kernel, source.features, max(settings.widths)
    X = X.to(torch.float64)
    prior_variance = torch.cat([kernel._diag(tile) for tile in X.split(TILE)])
    axes = PrincipalCoordinates.of_vectors(X, p, w) if settings.linear_part == "free" else None
    n_copies = settings.n_copies
    few = min(settings.widths)
    rows = ordered_rows(
        X,
        T,
        prior_variance,
        features,
        axes,
        few,
        w,
        total,
        per_row_codes=per_row_codes,
        fitted=MAX_ENCODER_ROWS,
        copies=n_copies,
        of_few_values=training.of_few_values,
    )
    return PreparedData(rows, Rebuilt(output, None, training.self_targets), kernel, features, source.diag)


def open_features(
    settings: Settings, training: Training, options: Options, w: Tensor | None, *, per_row_codes: bool
) -> PreparedData:
    """Prepare items whose features are rebuilt; the kernel is evaluated once. Parameters as in :func:`open_vectors`."""
    items, p, center, axes = training.items, max(settings.widths), bool(settings.center), None
    source = open_source(options, settings.feature_storage, settings.kernel, items, training.row_weights)
    kernel, features = source.kernel, source.features
    # A Gram matrix knows its diagonal as a whole.
    tiles = [items] if training.gram else [items[start : start + TILE] for start in range(0, len(items), TILE)]
    raw = torch.cat([features.raw(tile).to(torch.float64) for tile in tiles])
    prior_variance = torch.cat([kernel._diag(tile).to(raw) for tile in tiles])
    mean, diag = (raw.mean(0), prior_variance.mean()) if w is None else (w @ raw, w @ prior_variance)
    output, _ = landmark_space(features, mean, float(diag), center=center, scale=bool(settings.scale))
    T = torch.cat([output.encode(tile) for tile in raw.split(TILE)])
    norms = torch.cat(
        [output.squared_norms(*tile) for tile in zip(raw.split(TILE), prior_variance.split(TILE), strict=True)]
    )
    outside = (norms / output.scale**2 - (T * T).sum(1)).clamp_min_(0.0)
    if settings.linear_part == "free":
        axes = PrincipalCoordinates.of_vectors(features.whiten_adjoint(raw.mT).mT, p, w)
        assert axes.center is not None
        offset = axes.offset + axes.center @ axes.directions
        axes = PrincipalCoordinates(features.whiten(axes.directions), offset, None, axes.scale)  # of raw features
    read, total, few = EvaluatedMap(features), training.total, min(settings.widths)
    rows = ordered_rows(
        raw,
        T,
        prior_variance,
        read,
        axes,
        few,
        w,
        total,
        per_row_codes=per_row_codes,
        fitted=MAX_ENCODER_ROWS,
        outside=outside,
    )
    rebuilt = Rebuilt(
        output, kernel, training.self_targets, diagonal=prior_variance.cpu().numpy() if training.gram else None
    )
    return PreparedData(rows, rebuilt, kernel, features, source.diag)
