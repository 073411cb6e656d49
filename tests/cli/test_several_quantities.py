"""One column of results of several assays: the column that tells them apart is named, and rows of one are read."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rkhs.cli.main import main

FEW = ["--set", "regs=[0.01, 1.0]"]


def test_results_of_two_assays_are_told_apart_by_the_printed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a = rng.normal(size=70)
    second = np.arange(70) % 3 == 0
    table = {"id": [f"m{i}" for i in range(70)], "a": a, "b": rng.normal(size=70), "Kind": np.where(second, "x", "y")}
    table |= {
        "Result Type": np.where(second, "Solubility", "LogD"),
        "Result": np.where(second, 80.0 + 5.0 * a, 2.0 + a),
    }
    pd.DataFrame(table).to_csv("assays.csv", index=False)
    words = ["assays.csv", "--index-column", "id", "--columns", "a,b", "--predict", "Result"]
    assert main(["fit", *words, "-o", "m.rkhs", *FEW]) == 0
    said = capsys.readouterr().err
    assert "column 'Result Type' has 2 values whose Result differ in size (nine in ten are below: 'LogD' " in said
    assert "this command reads the rows of LogD" in said
    command = shlex.split(said.partition("\n  rkhs ")[2].splitlines()[0])
    assert command[-2:] == ["--only", "Result Type=LogD"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "OperatorKernelRegressor: 46 items" in out
    assert "differ in size" not in err
    assert main(["fit", *words, "-o", "m.rkhs", "--only", "Result Type=logD"]) == 2
    assert "must keep two rows at least; got 0; the column holds 'LogD', 'Solubility'" in capsys.readouterr().err
