"""The span of finite features, whose rows are read block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_count
from rkhs._core.eigen import top_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import flips
from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean
from rkhs.spaces.base import Components, Space, Targets, enough
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import RESOLVE, pick, sample_rows
from rkhs.spaces.source import Source
from rkhs.spaces.sums import BlockPass, Data, FeatureMoments, block_moments, block_normal, feature_moments


class MappedSpace(Space):
    """Functions ``raw(x) B`` of finite features, in passes over the rows."""

    def __init__(
        self, source: Source, passes: Data, block_pass: BlockPass, anchors: int, diagonal: Tensor | None = None
    ) -> None:
        self.source, self.passes, self.block_pass = source, passes, block_pass  # parameters of every block
        self.anchors = anchors  # number of anchors of a regression, if the features keep no items
        self.map, self.kernel, self.n, self.size = source.features, source.kernel, source.n, source.diag
        self.weights = None if source.weights is None else torch.from_numpy(source.weights)
        self.diagonal = diagonal  # of a Gram matrix

    def principal(self, count: int | float | None, *, center: bool) -> Components:
        """Eigenvectors of the covariance of the features; see :meth:`Space.principal`. Two passes over the rows."""
        moments = feature_moments(self.map, *self.passes.sum(block_moments, self.block_pass), center=center)
        found = feature_components(self.map, moments, self.size, self.n, count, center=center)
        scores = self.passes.codes(self.block_pass.cast(maps=found.coefficients, shift=found.shift))
        return with_signs(found, scores)

    def targets(self) -> Targets:
        """Mean and scale of the rows, in two passes."""
        return Targets(fit_euclidean(self.passes, self.source, center=True, scale=True), None)

    def resolve_on_codes(self, kernel: Kernel, found: Components) -> Kernel:
        """Resolve on 3000 scores at most."""
        chosen = sample_rows(len(found.scores), RESOLVE, np.random.RandomState(0))
        part = pick(found.scores, chosen)
        w = self.source.weights
        if w is None:
            return kernel.resolve(part, None)
        weights = torch.as_tensor(w if chosen is None else w[chosen]).to(part)
        return kernel.resolve(part, weights / weights.sum())

    def regress(self, kernel: Kernel, found: Components, targets: Targets, reg: float) -> tuple[Tensor, Tensor]:
        """Normal equations on the scores of the kept items, or of some rows; see :meth:`Space.regress`. One pass."""
        anchors = self._anchors(found)
        block_pass = self.block_pass.in_double().cast(maps=found.coefficients, shift=found.shift, anchors=anchors)
        sums = self.passes.sum(block_normal, replace(block_pass, kernel=kernel, space=targets.output))
        N, c, _ = (torch.as_tensor(part) for part in sums)
        G = kernel._gram(anchors).to(N)
        ridge = max(1e-12, 4.0 * torch.finfo(block_pass.dtype).eps * len(anchors) ** 0.5)  # against rounding
        N.add_(G, alpha=reg).diagonal().add_(ridge * float(G.diagonal().max()))
        L, info = torch.linalg.cholesky_ex(N)
        if int(info) != 0:
            raise InputError("the normal equations of the pre-image must be positive definite; use a larger reg")
        return anchors, torch.cholesky_solve(c, L)

    def _anchors(self, found: Components) -> Tensor:
        raw = self.map.kept_raw()
        if raw is not None:
            return raw @ found.coefficients.to(raw) + found.shift.to(raw)
        rng = np.random.RandomState(0)
        sample_rows(len(found.scores), RESOLVE, rng)  # the rows that resolve bandwidths are drawn first
        return pick(found.scores.to(torch.float64), sample_rows(self.n, min(self.anchors, self.n), rng))


def with_signs(found: Components, scores: Tensor) -> Components:
    """Components with these scores, whose largest entries become positive."""
    signs = flips(scores).to(found.coefficients)
    coefficients, shift = found.coefficients * signs, found.shift * signs
    return replace(found, coefficients=coefficients, shift=shift, scores=scores * signs.to(scores))


def feature_components(
    features: FeatureMap, moments: FeatureMoments, diag: float, n: int, count: int | float | None, *, center: bool
) -> Components:
    """Principal components from the moments of features, without scores."""
    mean = moments.mean if center else torch.zeros_like(moments.mean)
    norm, width = float(mean @ mean), len(mean)
    size = width
    if count is not None and not isinstance(count, float):
        size = check_count(count, "n_components", at_most=width, why=" (the number of features)")
    values, vectors = top_eigenpairs(moments.covariance, size)
    variance = max(diag - norm, float(values.clamp_min(0.0).sum()), 0.0)
    positive = values > n * torch.finfo(torch.float64).eps * max(float(values[0]), diag)
    if count is None:
        size = max(1, int(positive.sum()))
    elif isinstance(count, float):
        size = enough(values, count, variance) or width
    values = torch.where(positive, values, torch.zeros_like(values))[:size]
    U = vectors[:, :size] * (values > 0.0)
    raw_mean = moments.raw_mean if center else torch.zeros_like(moments.raw_mean)
    return Components(
        features.whiten(U),
        -(mean @ U),
        values.new_empty(0, size),
        values,
        variance,
        features.whiten(mean[:, None])[:, 0] if center else None,
        raw_mean,
        norm,
    )


def block_spread(items: Any, block: Any, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
    """Weighted sums of the targets and of their squared distances from the first mean, ``block_pass.shift``."""
    rows = block_pass.read(items).to(torch.float64)
    targets = rows if rows.shape[1] == block_pass.columns else rows[:, block_pass.columns :]
    root = block_pass.root_weights(block)
    w = rows.new_full((len(rows), 1), 1.0 / block_pass.n) if root is None else root * root
    if block_pass.shift is None:
        return ((w * targets).sum(0).cpu().numpy(),)
    return (np.asarray(float((w * (targets - block_pass.shift.to(targets)) ** 2).sum())),)


def fit_euclidean(passes: Data, source: Source, *, center: bool, scale: bool) -> Euclidean:
    """Mean and scale of vector targets, in two passes over the rows."""
    plain = BlockPass(source.features, torch.float64, "cpu", source.columns, source.weights, source.n)
    mean = torch.as_tensor(passes.sum(block_spread, plain)[0])
    if not center:
        mean = torch.zeros_like(mean)
    deviation = 1.0
    if scale:
        variance = float(passes.sum(block_spread, plain.cast(shift=mean))[0])
        deviation = variance**0.5 if variance > 0.0 else 1.0
    return Euclidean(mean.numpy(), deviation, None)
