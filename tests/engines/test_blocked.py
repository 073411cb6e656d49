"""Exact products with a Gram matrix that nobody holds, on engines: the bits of one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rkhs import KernelPCA
from rkhs.engines import Dask, Serial, Threads
from rkhs.kernels import FromFunction, Gaussian
from rkhs.spaces.grams import Blocked
from studies.reliability.cluster_kills import digest

X = np.random.default_rng(0).normal(size=(300, 3))
V = torch.as_tensor(np.random.default_rng(1).normal(size=(300, 4)))


def product(engine: Any, dtype: torch.dtype = torch.float64, **options: Any) -> np.ndarray:
    items = torch.as_tensor(X).to(dtype)
    return Blocked(Gaussian(0.3), items, 8 * 300 * 32, engine=engine, **options).matmul(V).numpy()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_products_have_the_bits_of_one_thread(dtype: torch.dtype) -> None:
    expected = product(Serial(), dtype)
    for engine in (Threads(2), Threads(5)):
        np.testing.assert_array_equal(product(engine, dtype), expected)
    np.testing.assert_allclose(expected, product(None, dtype), atol=1e-3 if dtype == torch.float32 else 1e-12)
    np.testing.assert_allclose(expected, Gaussian(0.3)(X) @ V.numpy(), atol=1e-3 if dtype == torch.float32 else 1e-12)


def test_objects_and_vectors_of_one_column() -> None:
    words = [a + b for a in "abcdef" for b in "uvwxyz"]
    overlap = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    got = Blocked(overlap, words, 8 * 36 * 5, engine=Threads(2)).matmul(V[:36, 0])
    np.testing.assert_allclose(got, overlap(words) @ V[:36, 0].numpy(), atol=1e-12)


def fit(**options: Any) -> KernelPCA:
    return KernelPCA(3, kernel=Gaussian(0.3), storage="blocked", reg=1e-3, **options).fit(X)


def test_kernel_pca_is_the_same_from_every_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Blocked.__init__, "__defaults__", (8 * 300 * 32,))
    serial, dense = fit(engine="serial"), KernelPCA(3, kernel=Gaussian(0.3), reg=1e-3).fit(X)
    assert digest(fit(engine=Threads(2))) == digest(serial)
    np.testing.assert_allclose(serial.transform(X), dense.transform(X), atol=1e-9)


@pytest.mark.slow
def test_a_cluster_of_processes_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(Blocked.__init__, "__defaults__", (8 * 300 * 32,))
    serial = fit(engine="serial")
    with Dask(n_workers=2, patience=250.0) as engine:
        np.testing.assert_array_equal(product(engine), product(Serial()))
        assert digest(fit(engine=engine)) == digest(serial)
