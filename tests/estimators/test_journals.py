"""Journals of evaluations, fingerprints of data, codes in files: what long fits are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rkhs import KernelPCA
from rkhs._core.errors import InputError
from rkhs.engines import Journal, Threads
from rkhs.estimators.encode_files import encode_to_parquet
from rkhs.estimators.run import data_fingerprint, recorded

X = np.random.default_rng(0).normal(size=(9000, 4))


def test_recorded_problems_answer_from_the_journal(tmp_path: Path) -> None:
    class Quadratic:
        calls = 0

        def value_and_grad(self, point: torch.Tensor) -> tuple[float, torch.Tensor]:
            self.calls += 1
            return float((point**2).sum()), 2.0 * point

    inner, point = Quadratic(), torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    with Journal(tmp_path / "j", "t") as journal:
        problem = recorded(inner, journal)
        assert isinstance(problem, Quadratic)
        first, again = problem.value_and_grad(point), recorded(inner, journal).value_and_grad(point)
        assert first[0] == again[0]
        assert torch.equal(first[1], again[1])
        assert inner.calls == 1
        problem.value_and_grad(2.0 * point)
        assert inner.calls == 2
    assert recorded(inner, None) is inner


def test_fingerprints_of_data(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    changed = X.copy()
    changed[0, 0] += 1e-12
    kinds = [X, changed, X[:-1], X.astype(np.float32), ["a", "b"], ["a", "c"], [[1, 2], [3]], None]
    prints = [data_fingerprint(kind) for kind in kinds]
    assert len(set(prints)) == len(kinds)
    assert data_fingerprint(X.copy()) == prints[0]
    assert data_fingerprint(mapped) == data_fingerprint(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert data_fingerprint([(1, [2, 3])]) == data_fingerprint([(1, [2, 3])])


def test_codes_go_to_parquet_by_blocks_and_go_on(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    model = KernelPCA(2).fit(X[:60])
    folder = tmp_path / "codes"
    assert encode_to_parquet(model, X, folder, block_size=2000) == 9000
    files = sorted(folder.glob("*.parquet"))
    assert len(files) == 5
    table = np.concatenate([parquet.read_table(file).to_pandas().to_numpy() for file in files])
    np.testing.assert_allclose(table, model.transform(X), atol=1e-12)
    first = [file.read_bytes() for file in files]
    files[1].unlink()
    untouched = files[2].stat().st_mtime_ns
    encode_to_parquet(model, X, folder, engine=Threads(2), block_size=2000)
    assert [file.read_bytes() for file in files] == first
    assert files[2].stat().st_mtime_ns == untouched
    with pytest.raises(InputError, match="codes of another model, other rows or another block size"):
        encode_to_parquet(model, X[:-1], folder, block_size=2000)
