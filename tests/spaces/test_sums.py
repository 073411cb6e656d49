"""Sums over blocks against the same sums written out for all rows at once, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from rkhs.engines import Serial, as_rows, row_blocks
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.outputs import Euclidean
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.sums import (
    STRIP,
    BlockPass,
    block_codes,
    block_lengths,
    block_moments,
    block_normal,
    block_ridge,
)

N = 2500  # more than two strips of one block
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
WEIGHTS = RNG.uniform(size=N)
WEIGHTS /= WEIGHTS.sum()


def build(weights: np.ndarray | None, dtype: torch.dtype) -> BlockPass:
    features = Nystroem(12).build(Gaussian(0.3), torch.as_tensor(X), np.random.RandomState(0))
    rng = np.random.default_rng(1)
    maps, anchors = (torch.as_tensor(rng.normal(size=shape)) for shape in ((12, 2), (7, 2)))
    sweep = BlockPass(features, dtype, "cpu", 3, weights, N, kernel=Gaussian(0.2), space=Euclidean(np.zeros(3), 2.0))
    return sweep.cast(maps=maps, anchors=anchors)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("size", [N, 600])
def test_sums_of_strips_are_sums_over_all_rows(size: int, weights: np.ndarray | None, dtype: torch.dtype) -> None:
    sweep = build(weights, dtype)
    exact = build(weights, torch.float64)
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if weights is None else torch.as_tensor(weights)
    raw, T = exact.features.raw(torch.as_tensor(X)), torch.as_tensor(X) / 2.0
    assert exact.maps is not None
    assert exact.anchors is not None
    psi = torch.exp(-0.2 * ((raw @ exact.maps)[:, None] - exact.anchors).square().sum(2))
    F, square = exact.features.features(torch.as_tensor(X)), (w * T.square().sum(1)).sum()
    expected = {
        block_moments: (w @ raw, raw.mT @ (w[:, None] * raw)),
        block_ridge: (F.mT @ (w[:, None] * F), F.mT @ (w[:, None] * T), square),
        block_normal: (psi.mT @ (w[:, None] * psi), psi.mT @ (w[:, None] * T), square),
    }
    tolerance = 1e-11 if dtype == torch.float64 else 2e-4
    for function, parts in expected.items():
        found = Serial().sum(function, row_blocks(N, size), as_rows(X), sweep)
        for one, other in zip(found, parts, strict=True):
            assert one.dtype == np.float64
            np.testing.assert_allclose(one, other, atol=tolerance * float(other.abs().max()))
    codes = np.concatenate(list(Serial().map(block_codes, row_blocks(N, size), as_rows(X), sweep)))
    np.testing.assert_allclose(codes, (raw @ exact.maps).numpy(), atol=50 * tolerance)


@pytest.mark.parametrize("function", [block_codes, block_lengths, block_moments, block_ridge, block_normal])
def test_features_of_a_block_are_computed_strip_by_strip(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., object]
) -> None:
    """Those of all rows of a block would be the largest array of a fit."""
    sweep, heights = build(None, torch.float64), []
    raw = type(sweep.features).raw

    def recording(features: FeatureMap, rows: torch.Tensor) -> torch.Tensor:
        heights.append(len(rows))
        return raw(features, rows)

    monkeypatch.setattr(type(sweep.features), "raw", recording)
    (block,) = row_blocks(N, N)
    function(X, block, sweep)
    assert heights == [STRIP, STRIP, N - 2 * STRIP]
