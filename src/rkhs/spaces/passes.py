"""Passes over rows in blocks, and the moments of features that one of them gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs.engines import Block, Engine, Journal, Rows
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.sums import Sweep, block_codes


@dataclass(frozen=True)
class Data:
    """Rows, in blocks, and who computes them."""

    rows: Rows
    blocks: tuple[Block, ...]
    engine: Engine
    journal: Journal | None = None  # keeps the sums, so that a fit that was cut off goes on from them

    def sum(self, function: Any, sweep: Sweep) -> tuple[np.ndarray, ...]:
        """Sum of a block function."""
        if self.journal is None:
            return self.engine.sum(function, self.blocks, self.rows, sweep)
        stage = f"{function.__name__} {sweep.digest()}"
        return self.engine.sum(function, self.blocks, self.rows, sweep, journal=self.journal, stage=stage)

    def codes(self, sweep: Sweep) -> Tensor:
        """Codes of all rows, shape (n, p)."""
        parts = self.engine.map(block_codes, self.blocks, self.rows, sweep)
        out: np.ndarray | None = None
        for block, part in zip(self.blocks, parts, strict=True):
            if out is None:
                out = np.empty((self.blocks[-1].stop, part.shape[1]), part.dtype)
            out[block.start : block.stop] = part
        assert out is not None
        return torch.from_numpy(out)


@dataclass(frozen=True)
class FeatureMoments:
    """Mean and covariance of whitened features."""

    mean: Tensor  # (dim,)
    covariance: Tensor  # (dim, dim): around the mean, or around zero
    raw_mean: Tensor  # (width,): of the raw features


def feature_moments(features: FeatureMap, first: Any, second: Any, *, center: bool = True) -> FeatureMoments:
    """Moments of the features from the sums that :func:`~rkhs.spaces.sums.block_moments` gives."""
    raw_mean, M = torch.as_tensor(first), torch.as_tensor(second)
    mean = features.whiten_adjoint(raw_mean[:, None])[:, 0]
    C = features.whiten_adjoint(features.whiten_adjoint(M).mT.contiguous())
    C = (C + C.mT) / 2
    return FeatureMoments(mean, C - torch.outer(mean, mean) if center else C, raw_mean)
