"""Shortest paths of a graph are counted some nodes at a time, and every dense fit announces its memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rkhs import (
    DeepRKM,
    KernelContrastive,
    KernelMap,
    KernelNovelty,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.kernels import Gaussian, MoleculeKernel, ShiftInvariant, ShortestPath, Spectrum, Views
from rkhs.kernels.objects import graphs


def test_paths_of_some_nodes_at_a_time_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    r = np.random.default_rng(0)
    items = [(r.integers(0, 30, (40, 2)).tolist(), r.integers(0, 3, 30)) for _ in range(4)]
    whole = ShortestPath(normalize=False)(items)
    monkeypatch.setattr(graphs, "_PAIRS", 100)
    assert np.array_equal(ShortestPath(normalize=False)(items), whole)


@pytest.mark.slow
def test_paths_of_a_long_graph_take_less_than_its_matrix_of_distances() -> None:
    n = 2200
    items = [([(i, i + 1) for i in range(n - 1)], n)]
    tracemalloc.start()
    try:
        ShortestPath()(items)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n


@pytest.mark.parametrize("estimator", [DeepRKM, KernelContrastive, KernelMap, KernelNovelty])
def test_dense_fits_announce_their_memory(estimator: type) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert estimator().fit(X).announced_bytes_ > 8 * 60**2


def test_features_of_items_are_announced() -> None:
    series = [np.random.default_rng(i).normal(size=2000) for i in range(40)]
    plain = KernelPCA(2).fit(np.eye(40)).announced_bytes_
    for kernel in (ShiftInvariant(), 0.5 * ShiftInvariant(), ShiftInvariant() + ShiftInvariant(2.0)):
        assert KernelPCA(2, kernel=kernel).fit(series).announced_bytes_ > plain + 2**27


def test_outputs_and_a_choice_are_announced() -> None:
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.random.default_rng(1).normal(size=(60, 300))
    one = OperatorKernelRegressor().fit(X, Y[:, 0]).announced_bytes_
    assert OperatorKernelRegressor().fit(X, Y).announced_bytes_ > one + 2 * 8 * 60 * 300
    assert OperatorKernelRegressorCV("gaussian").fit(X, Y[:, 0]).announced_bytes_ > one + 2 * 8 * 60**2


def test_views_and_molecules_are_announced() -> None:
    views = Views((Gaussian(), Spectrum(2)))
    assert views._memory([0] * 100) > 3 * 8 * 100**2
    assert MoleculeKernel()._memory(["C" * 100] * 10) > 10**6
