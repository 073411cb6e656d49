"""Incremental kernel PCA: components from sums over the features of all rows so far."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from rkhs._core.arrays import Items
from rkhs.engines import row_blocks
from rkhs.kernels.base import Kernel
from rkhs.spaces import BLOCK, Components
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import EvaluatedMap
from rkhs.spaces.mapped import feature_components, with_signs
from rkhs.spaces.source import Options
from rkhs.spaces.sums import BlockPass, block_moments, feature_moments

RowSums = tuple[np.ndarray, np.ndarray, float]
"""Sums of raw features of shape (w,), of their products of shape (w, w), and of ``k(x, x)``."""


def add_rows(options: Options, kernel: Kernel, features: FeatureMap, rows: Items, before: RowSums | None) -> RowSums:
    """Add further rows to the sums, in blocks of a fixed size."""
    block_pass = BlockPass(EvaluatedMap(features), options["dtype"], str(options["device"]), features.width, None, 1)
    first, second, diag = before or (np.zeros(features.width), np.zeros((features.width,) * 2), 0.0)
    for block in row_blocks(len(rows), BLOCK):
        tile = rows[block.start : block.stop]
        parts = block_moments(features.raw(tile), block, block_pass)
        first, second = first + parts[0], second + parts[1]
        diag += float(kernel._diag(tile).sum())
    return first, second, diag


def components_of(
    features: FeatureMap, sums: RowSums, n: int, rows: Items, count: int | float | None, *, center: bool
) -> Components:
    """Components of ``n`` rows from their sums, with the scores of ``rows``."""
    moments = feature_moments(features, sums[0] / n, sums[1] / n, center=center)
    found = feature_components(features, moments, sums[2] / n, n, count, center=center)
    raw: Tensor = features.raw(rows)
    return with_signs(found, raw @ found.coefficients.to(raw) + found.shift.to(raw))
