"""One command is printed that mends what is wrong: columns with the answer, or many suspicious rows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rkhs.cli.main import main
from rkhs.cli.summaries import gap_sentence

FEW = ["--set", "regs=[0.01, 1.0]"]


def homes(n: int = 80, wrong: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size, rooms, area = rng.integers(40, 200, n), rng.integers(1, 6, n), rng.uniform(900.0, 1500.0, n).round(1)
    price = (size * area).round(-2)
    price[:wrong] += 400_000.0
    columns = {"size": size, "rooms": rooms, "floor": rng.uniform(size=n), "priceByArea": area, "price": price}
    return pd.DataFrame(columns)


def test_a_column_that_gives_the_target_with_another_is_named_with_the_command_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    homes().to_csv("homes.csv", index=False)
    assert main(["fit", "homes.csv", "--predict", "price", "-o", "m.rkhs"]) == 0
    said = capsys.readouterr().out
    assert "size times priceByArea is price in nearly all rows: if priceByArea is known only with it, this comm" in said
    command = said.partition("\n  rkhs ")[2].splitlines()[0]
    assert command == "fit homes.csv --predict price -o m.rkhs --drop-columns priceByArea"
    assert main(["report", "homes.csv", "--predict", "price", "-o", "p.html"]) == 0
    said = capsys.readouterr().out
    assert "priceByArea is known only with it, leave out what is (--drop-columns priceByArea)." in said
    assert main(shlex.split(command)) == 0
    assert "in nearly all rows" not in capsys.readouterr().out


def test_many_suspicious_rows_are_left_out_by_a_robust_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    homes(200, wrong=14).drop(columns=["priceByArea", "floor", "rooms"]).to_csv("homes.csv", index=False)
    assert main(["fit", "homes.csv", "--predict", "price", "-o", "m.rkhs", *FEW]) == 0
    said = capsys.readouterr().out
    assert "more (all with --json)" in said
    assert "; if they are wrong, this command leaves out those that change the fit:\n\n  rkhs fit homes.csv" in said
    assert " --robust\n" in said


def test_a_row_that_decides_the_fit_is_named_with_what_leaves_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = np.random.default_rng(0).uniform(10.0, 90.0, 60)
    prices = [12345678 if i == 17 else round(1000.0 + 100.0 * size) for i, size in enumerate(sizes)]
    lines = [f"{size:.2f},{i % 7},{price}" for i, (size, price) in enumerate(zip(sizes, prices, strict=True))]
    Path("homes.csv").write_text("\n".join(["size,rooms,price", *lines]) + "\n")
    assert main(["fit", "homes.csv", "--predict", "price", *FEW, "-o", "m.rkhs"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\nrow 18 brings 9\d% of the squared error: if it is wrong, this command leaves out those", said)
    assert said.count("\n  rkhs ") == 1
    assert said.partition("\n  rkhs ")[2].splitlines()[0].endswith(" -o m.rkhs --robust")
    assert "logarithm" not in said
    assert main(["fit", "homes.csv", "--predict", "price", *FEW, "-o", "m.rkhs", "--leave-out", "18"]) == 0
    assert "squared error:" not in capsys.readouterr().out
    assert main(["report", "homes.csv", "--predict", "price"]) == 0
    assert "% of the squared error: if it is wrong, pass --robust or --leave-out 18." in capsys.readouterr().out


def test_no_gap_is_said_where_none_is_known() -> None:
    assert gap_sentence(float("nan"), 1.0) == gap_sentence(float("inf"), 1.0) == gap_sentence(None, 1.0) == []
