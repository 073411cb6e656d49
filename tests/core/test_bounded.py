"""Files on a full disk, rows in tiles, and fits without memory: bounded, whole, or refused."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import rkhs
from rkhs._core.errors import InputError
from rkhs._core.files import atomic_file
from rkhs._core.memory import refusing
from rkhs.cli import inputs
from rkhs.cli.main import main
from rkhs.data import write_codes
from rkhs.estimators import base, reader
from rkhs.plots.display import save_figure
from rkhs.reports import Report

X = ROWS = np.random.default_rng(0).normal(size=(600, 3))


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # Python would cut what it compiles
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = compiles


def write_picture(path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.add_subplot().plot(X)
    save_figure(figure, path)


def write_table(path: Path, package: str) -> None:
    pytest.importorskip(package, reason="needs the extra 'tables'")
    write_codes(path, X)


def write_onnx(path: Path) -> None:
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    rkhs.to_onnx(rkhs.KernelPCA(2).fit(X), path)


WRITERS = {
    "x.npy": lambda path: write_codes(path, X[:254, :2]),  # 96 bytes too many: the last write of NumPy fails unnoticed
    "x.csv": lambda path: write_codes(path, X),
    "x.xlsx": lambda path: write_table(path, "openpyxl"),
    "x.parquet": lambda path: write_table(path, "pyarrow"),
    "x.rkhs": lambda path: rkhs.save(rkhs.KernelPCA(2).fit(X), path),
    "x.html": lambda path: Report("x" * 5000, (), (), ()).save(path),
    "x.png": write_picture,
    "x.onnx": write_onnx,
}


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    with full_disk(4096), pytest.raises(InputError, match="cannot write"):
        WRITERS[name](path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == [name]
    WRITERS[name](path)
    assert path.stat().st_size > 4096


def test_a_file_is_on_the_disk_before_it_is_moved_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, events = tmp_path / "x.csv", []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        found = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(found.st_mode) else found.st_size)

    def moved(old: Path, new: Path) -> None:
        replace(old, new)
        events.append(os.stat(new).st_size)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    write_codes(path, X)
    assert events == [path.stat().st_size, path.stat().st_size, "folder"]


def test_bytes_that_a_disk_loses_are_an_error_and_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def lose(losing: int) -> None:
        with atomic_file(path) as handle:
            handle.write(b"12345678")
            handle.flush()
            os.truncate(handle.fileno(), losing)

    with pytest.raises(InputError, match="5 of 8 bytes are on the disk"):
        lose(5)
    assert path.read_text() == "old"
    lose(8)
    assert path.read_text() == "12345678"


@pytest.mark.slow
def test_many_tiles_give_the_bits_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X = ROWS[:300]
    train, y = X[:60], X[:60, 0]
    machine, novelty = rkhs.OperatorKernelRegressor().fit(train, y), rkhs.KernelNovelty().fit(X[:200])
    encoder = rkhs.KernelPCA(2).fit(train)
    products, squares = X @ train.T + 1.0, (X**2).sum(1) + 1.0
    given = rkhs.KernelNovelty("precomputed").fit(products[:60])

    def answers() -> list[Any]:
        sets = machine.predict_set(X)
        found = [*machine.predict(X, return_std=True), sets.lower, sets.upper, machine.p_values(X)]
        return [
            *found,
            novelty.p_values(X),
            novelty.score_samples(X),
            given.p_values(products, diag=squares),
            encoder.inverse_transform(X[:, :2]),
        ]

    whole, sizes, steps = answers(), set(), set()
    monkeypatch.setattr(base, "tile_rows", lambda width: 256)
    to_tensor, tiles = base.to_tensor, base.tiles
    for module in (base, reader):
        monkeypatch.setattr(module, "tiles", lambda n, step: steps.add((n, step)) or tiles(n, step))
        monkeypatch.setattr(module, "to_tensor", lambda rows, **to: sizes.add(rows.shape) or to_tensor(rows, **to))
    for one, other in zip(whole, answers(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sizes == {(256, 3), (44, 3), (300, 60), (300, 2)}  # kernel values and codes come as a whole
    assert steps == {(300, 256)}


def test_rows_in_tiles_are_checked_first_and_counted_through(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rkhs.OperatorKernelRegressor().fit(X[:60], X[:60, 0])
    monkeypatch.setattr(base, "tile_rows", lambda width: 256)
    gap, computed = X.copy(), []
    gap[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model._in_tiles(gap, computed.append)
    assert not computed
    with pytest.raises(InputError, match="first in row 300"):
        model._in_tiles(X, lambda rows: torch.where(rows[:, 0] == X[300, 0], torch.inf, rows[:, 0]))
    with pytest.warns(UserWarning, match="3 of 543 items of held_out equal training items"):
        assert model._guarantee_of(np.r_[X[60:], X[:3]]) == "about"


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


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, and models that are fitted to them by the command line."""
    folder = tmp_path_factory.mktemp("known")
    rows = pd.DataFrame(ROWS[:50], columns=["a", "b", "c"])
    tables = {
        "rows": rows,
        "y": rows.assign(y=ROWS[:50] @ [1.0, 2.0, 0.5]),
        "sign": rows.assign(sign=np.where(ROWS[:50, 0] > 0.0, "more", "less")),
    }
    for name, table in tables.items():
        file = folder / f"{name}.csv"
        table.to_csv(file, index=False)
        ask = ["--estimator", "kpca"] if name == "rows" else ["--predict", name]
        assert main(["fit", str(file), *ask, "-o", str(folder / f"{name}.rkhs"), "--quiet"]) == 0
    return folder


def compare_streamed(
    commands: dict[str, list[str]], form: str, known: Path, folder: Path, patch: pytest.MonkeyPatch
) -> None:
    """Commands on a file that is read as a whole and in three parts write the same rows."""
    new = folder / f"new.{form}"
    write_codes(new, ROWS[:48], column_names=None if form == "npy" else ["a", "b", "c"])
    for kind in ("whole", "parts"):
        for name, (command, file, *more) in commands.items():
            words = [command, str(known / file), str(new), *more, "-o", str(folder / f"{kind}_{name}.csv")]
            assert main(words) == 0
        patch.setattr(inputs, "_LARGE", 0)
        patch.setattr(inputs, "_PART", 20)
    for name in commands:
        whole, parts = (pd.read_csv(folder / f"{kind}_{name}.csv") for kind in ("whole", "parts"))
        pd.testing.assert_frame_equal(whole, parts, rtol=1e-9)
        assert whole.iloc[:, 0].astype(str).str.contains(r"\d").all()
        assert len(whole) == 48


def test_commands_stream_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: Path) -> None:
    commands = {
        "sign": ["predict", "sign.rkhs"],
        "y": ["predict", "y.rkhs"],
        "near": ["nearest", "rows.csv", "--top", "1"],
        "codes": ["transform", "rows.rkhs"],
        "novelty": ["novelty", "rows.csv"],
    }
    compare_streamed(commands, "csv", known, tmp_path, monkeypatch)


@pytest.mark.sample(1)
@pytest.mark.parametrize("form", ["parquet", "npy"])
def test_large_files_of_other_forms_are_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: Path, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra 'tables'")
    commands = {"sign": ["predict", "sign.rkhs"], "codes": ["transform", "rows.rkhs"]}
    compare_streamed(commands, form, known, tmp_path, monkeypatch)


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
