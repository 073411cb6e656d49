"""Files on a full disk, rows in tiles, and fits without memory: bounded, whole, or refused."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs._core.errors import InputError
from rkhs._core.memory import refusing
from rkhs.cli import inputs
from rkhs.cli.main import main
from rkhs.data import read_table, write_codes
from rkhs.estimators import base

X = np.random.default_rng(0).normal(size=(600, 3))


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.xlsx", "x.parquet"])
def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_codes(path, X[:2])
    before = path.read_bytes()
    with full_disk(4096), pytest.raises(InputError, match="cannot write"):
        write_codes(path, X[:254, :2] if name == "x.npy" else X)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_many_tiles_give_the_bits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    train, y = X[:60], X[:60, 0]
    machine, novelty = rkhs.OperatorKernelRegressor().fit(train, y), rkhs.KernelNovelty().fit(train)

    def answers() -> list[Any]:
        sets = machine.predict_set(X)
        found = [*machine.predict(X, return_std=True), sets.lower, sets.upper, machine.p_values(X)]
        return [*found, novelty.p_values(X), novelty.score_samples(X)]

    whole, sizes = answers(), set()
    monkeypatch.setattr(base, "tile_rows", lambda width: 256)
    opened = base.KernelEstimator._opened
    monkeypatch.setattr(base.KernelEstimator, "_opened", lambda *args: sizes.add(args[2]) or opened(*args))
    for one, other in zip(whole, answers(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sizes == {256}


_PEAKS = """
import numpy as np
from rkhs import KernelNovelty
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
X = np.random.default_rng(0).normal(size=(100_000, 20))
model = KernelNovelty().fit(X[:500])
model.p_values(X[:10_000])
before = peak()
model.p_values(X)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read where Linux writes them")
def test_memory_does_not_grow_with_the_tiles() -> None:
    done = subprocess.run([sys.executable, "-c", _PEAKS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200_000  # kB; small results kept between the blocks of tiles took 600,000


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_commands_stream_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    write_codes("known.csv", X[:60], column_names=["a", "b", "c"])
    write_codes(f"new.{form}", X, column_names=None if form == "npy" else ["a", "b", "c"])
    assert main(["fit", "known.csv", "--estimator", "kpca", "-o", "m.rkhs", "--quiet"]) == 0
    for name in ("whole", "parts"):
        assert main(["transform", "m.rkhs", f"new.{form}", "-o", f"{name}.npy"]) == 0
        assert main(["novelty", "known.csv", f"new.{form}", "-o", f"{name}.csv"]) == 0
        monkeypatch.setattr(inputs, "_LARGE", 0)
        monkeypatch.setattr(inputs, "_PART", 256)
    np.testing.assert_allclose(np.load("whole.npy"), np.load("parts.npy"), rtol=1e-12, atol=1e-12)
    assert Path("whole.csv").read_text().split()[0] == Path("parts.csv").read_text().split()[0]
    whole, parts = (read_table(f"{name}.csv", index_column="row_from_1") for name in ("whole", "parts"))
    assert whole.row_names == parts.row_names == tuple(map(str, range(1, 601)))
    np.testing.assert_array_equal(whole.X, parts.X)


def test_what_memory_does_not_hold_is_refused_in_our_words() -> None:
    for error in (MemoryError("Unable to allocate 27 GiB"), RuntimeError("DefaultCPUAllocator: not enough memory")):
        with (
            pytest.raises(MemoryError, match="KernelPCA needs more memory than the .* give fewer"),
            refusing("KernelPCA"),
        ):
            raise error
    with pytest.raises(RuntimeError, match="another"), refusing("KernelPCA"):
        raise RuntimeError("another")


def test_wide_tables_are_announced() -> None:
    wide = np.random.default_rng(0).normal(size=(20, 100_000))
    model = rkhs.OperatorKernelRegressor().fit(wide, wide[:, 0])
    assert model.announced_bytes_ > 5 * wide.nbytes
