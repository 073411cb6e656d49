"""Arrays and curves as the flags of a table say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main

RNG = np.random.default_rng(0)


def codes(path: str) -> np.ndarray:
    lines = [line.split(",") for line in Path(path).read_text().splitlines()[1:]]
    return np.array([[float(c) for c in cells[-2:]] for cells in lines])


def test_columns_of_an_array_are_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    X = RNG.normal(size=(30, 5))
    np.save("x.npy", X)
    np.save("xt.npy", X.T)
    np.savez("xt.npz", X=X.T)
    assert main(["fit", "x.npy", "--n-components", "2", "-o", "a.rkhs"]) == 0
    assert main(["transform", "a.rkhs", "x.npy", "-o", "a.csv"]) == 0
    for name in ("xt.npy", "xt.npz"):
        assert main(["fit", name, "--transpose", "--n-components", "2", "-o", "b.rkhs"]) == 0
        assert main(["transform", "b.rkhs", name, "-o", "b.csv"]) == 0
        np.testing.assert_array_equal(codes("b.csv"), codes("a.csv"))
    capsys.readouterr()
    Path("x.txt").write_text("ACGT\nACCT\nGGGT\n")
    assert main(["fit", "x.txt", "--transpose", "-o", "c.rkhs"]) == 2
    assert "--transpose is for tables and arrays of numbers" in capsys.readouterr().err


def test_times_of_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    T = np.linspace(0, 1, 12)
    X = np.sin(T + RNG.uniform(0, 3, (40, 1)))
    Path("c.csv").write_text("\n".join(",".join(map(repr, r.tolist())) for r in [T, *X]) + "\n")
    assert main(["fit", "c.csv", "--kind", "curves", "-o", "m.rkhs"]) == 0
    said = capsys.readouterr()
    assert "40" in said.out + said.err
    assert "41" not in said.out
    assert main(["transform", "m.rkhs", "c.csv", "-o", "z.csv"]) == 0
    assert len(Path("z.csv").read_text().splitlines()) == 41
    assert main(["fit", "c.csv", "--kind", "curves", "--read", "header=None", "-o", "m.rkhs"]) == 0
    assert main(["transform", "m.rkhs", "c.csv", "-o", "z.csv"]) == 0
    assert len(Path("z.csv").read_text().splitlines()) == 42
