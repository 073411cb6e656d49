"""The demonstration on a part of its molecules: files that can be read, numbers that are what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main as command
from rkhs.data import load_molecules
from studies import demo
from tests.tables import read_table


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
def test_the_demo_writes_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    pytest.importorskip("pyarrow", reason="needs the extra tables")
    found = demo.run_demo(tmp_path / "out", splits=2, seed=1, n_molecules=120)
    printed = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"molecules.rkhs", "codes.csv", "codes.parquet", "map.png", "reconstruction.csv"}
    assert {path.name for path in found["files"]} == names
    codes = read_table(tmp_path / "out" / "codes.csv")
    model = rkhs.load(tmp_path / "out" / "molecules.rkhs")
    X = load_molecules().fingerprints[:120].astype(float)
    np.testing.assert_array_equal(codes.X, model.transform(X))
    np.testing.assert_array_equal(codes.X, read_table(tmp_path / "out" / "codes.parquet").X)
    assert (tmp_path / "out" / "map.png").read_bytes()[1:4] == b"PNG"
    medians = read_table(tmp_path / "out" / "reconstruction.csv")
    key = ("K2AE", 10)
    assert medians.X[1, 1] == np.median(found["shares"][key])
    assert f"{medians.X[1, 1]:.1%}" in printed
    assert all(len(places) == 48 and places.min() >= 1 and places.max() <= 120 for places in found["ranks"].values())
    assert command(["info", str(tmp_path / "out" / "molecules.rkhs")]) == 0


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
def test_missing_extras_are_said_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    demo.run_demo(tmp_path, splits=1, n_molecules=120)
    printed = capsys.readouterr().out
    assert "codes.parquet is left out" in printed
    assert "rkhs[tables]" in printed
    assert "map.png is left out" in printed
    assert "rkhs[plots]" in printed


@pytest.mark.parametrize(
    ("smiles", "share"),
    [("CCO", 0.0), ("c1ccccc1", 1.0), ("Clc1ccccc1", 6 / 7), ("c1cc[nH]c1C", 5 / 6), ("C[N+](C)(C)C[C@H](O)Br", 0.0)],
)
def test_aromatic_share(smiles: str, share: float) -> None:
    assert demo.aromatic_share(smiles) == pytest.approx(share)
