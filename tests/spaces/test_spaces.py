"""Spaces agree: all items in memory, in tiles, and as landmarks span the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rkhs._core.linalg import center_gram
from rkhs.engines import Serial
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Matern
from rkhs.spaces import Data, MappedSpace, Space, WholeSpace, open_source
from rkhs.spaces.grams import Blocked, Dense

N = 40
OPTIONS: Any = {"dtype": torch.float64, "device": torch.device("cpu")}
X = torch.from_numpy(np.random.default_rng(0).normal(size=(N, 3)))
NEW = torch.from_numpy(np.random.default_rng(1).normal(size=(7, 3)))
WEIGHTS = torch.arange(1.0, N + 1.0, dtype=torch.float64) / (N * (N + 1) / 2)
KERNEL = Gaussian(0.2)


def mapped(weights: torch.Tensor | None, storage: Any = None) -> MappedSpace:
    w = None if weights is None else weights.numpy()
    source = open_source(OPTIONS, storage or Nystroem(N), KERNEL, X, w)
    return MappedSpace(source, Data(source.rows, source.blocks, Serial()), source.block_pass(OPTIONS), N)


def spaces(weights: torch.Tensor | None) -> list[Space]:
    grams = Dense(KERNEL._gram(X)), Blocked(KERNEL, X, max_bytes=8 * N * 7)
    return [*(WholeSpace(gram, KERNEL, X, weights) for gram in grams), mapped(weights)]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("center", [True, False])
def test_components_are_the_same_and_by_definition(weights: torch.Tensor | None, center: bool) -> None:
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if weights is None else weights
    C = center_gram(KERNEL._gram(X), w) if center else KERNEL._gram(X)
    values = torch.linalg.eigvalsh(w.sqrt()[:, None] * C * w.sqrt()).flip(0)[:4]
    for space in spaces(weights):
        found = space.principal(4, center=center)
        torch.testing.assert_close(found.variances, values, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(found.shares, values / float(w @ C.diagonal()), rtol=1e-8, atol=1e-10)
        assert (found.mean is None) is not center
        raw = space.map.raw(X)
        torch.testing.assert_close(raw @ found.coefficients + found.shift, found.scores, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(found.scores.mT @ (w[:, None] * found.scores), values.diag(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_shares_and_counts(weights: torch.Tensor | None) -> None:
    for space in spaces(weights):
        found = space.principal(0.8, center=True)
        assert float(found.shares.sum()) >= 0.8 > float(found.shares[:-1].sum())
        assert float(space.principal(None, center=True).shares.sum()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_the_way_back_is_kernel_ridge_regression(weights: torch.Tensor | None) -> None:
    w = torch.full((N,), 1.0 / N, dtype=torch.float64) if weights is None else weights
    for space in spaces(weights):
        found, kernel, reg = space.principal(2, center=True), Matern(1.5, 0.7), 1e-3
        targets = space.targets()
        anchors, coefficients = space.regress(kernel, found, targets, reg)
        K, U = kernel._gram(found.scores), targets.output.encode(X)
        torch.testing.assert_close(w @ U, torch.zeros(3, dtype=torch.float64), atol=1e-12, rtol=0.0)
        assert float(w @ (U * U).sum(1)) == pytest.approx(1.0)
        expected = K @ torch.linalg.solve(K + torch.diag(reg / w), U)
        torch.testing.assert_close(kernel._gram(found.scores, anchors) @ coefficients, expected, rtol=1e-4, atol=1e-5)


def test_maps_keep_what_they_need() -> None:
    whole, landmarks, random = spaces(None)[0].map, mapped(None).map, mapped(None, RandomFeatures(16)).map
    assert [m.whole for m in (whole, landmarks, random)] == [True, False, False]
    assert random.kept is None
    assert random.kept_raw() is None
    np.testing.assert_array_equal(whole.kept, X.numpy())
    torch.testing.assert_close(whole.raw(NEW), KERNEL._gram(NEW, X))
    torch.testing.assert_close(landmarks.kept_raw(), landmarks.raw(landmarks.support(X)))
