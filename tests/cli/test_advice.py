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
from rkhs.reports.answers import answer_in_columns
from rkhs.reports.held_out import logarithm_note

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
    assert "suspicious rows, the 10 strongest of 14 (all with --json), held-out residual above" in said
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


def amounts(n: int, zeros: int = 0) -> pd.DataFrame:
    """Amounts of a lognormal law, of which no column says much, and zeros."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, n))
    y = np.where(np.arange(n) < zeros, 0.0, np.exp(0.5 * a + 1.1 * noise))
    return pd.DataFrame({"a": a, "b": b, "y": y})


def test_large_amounts_are_kept_by_their_logarithm_and_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under two decades; a robust fit prints errors of all rows, and which it left out; predictions repeat that."""
    monkeypatch.chdir(tmp_path)
    data = amounts(120, zeros=3)
    data.loc[60, "y"] = 400.0
    data.to_csv("t.csv", index=False)
    words = ["fit", "t.csv", "--predict", "y", *FEW, "-o", "m.rkhs"]
    for more in ([], ["--robust", "--trim", "3"]):
        assert main([*words, *more]) == 0
        said = capsys.readouterr().out
        assert "y is positive and nine tenths of its values span 1." in said
        assert said.count("\n  rkhs ") == 1
        assert f"\n  rkhs {shlex.join([*words, '--log10'])}\n" in said
    found = re.search(r"held-out error: ([\d.]+) over all 120 rows \(root mean square\), R\^2 (-?[\d.]+); ", said)
    least = re.search(r"\nwithout the (\d+) rows left out, the held-out error: ([\d.]+) \+-", said)
    kept = re.search(r"they hold 0 of the (\d+) left out, and so about (\d+)% of all rows", said)
    assert found is not None
    assert least is not None
    assert kept is not None
    out = int(least[1])
    assert float(found[1]) > 10.0 * float(least[2])
    assert float(found[1]) > 0.9 * np.std(data["y"])
    assert float(found[2]) == pytest.approx(1.0 - (float(found[1]) / np.std(data["y"])) ** 2, abs=2e-3)
    assert (int(kept[1]), int(kept[2])) == (out, round(100 * 0.9 * (120 - out) / 120))
    assert f"\nall {out} rows left out are in the largest quarter of y: they may be right" in said
    assert main(["predict", "m.rkhs", "t.csv", "-o", "p.csv"]) == 0
    assert (
        f"--robust left {out} rows out of the fit: predictions and their ends are for rows" in capsys.readouterr().err
    )
    assert main([*words, "--log10"]) == 0
    said = capsys.readouterr()
    assert "3 cells of 0 have no logarithm" in said.err
    assert "117 items, predicts log10(y)" in said.out
    assert main(["predict", "m.rkhs", "t.csv", "-o", "p.csv"]) == 0
    assert "--robust" not in capsys.readouterr().err
    amounts(120, zeros=12).to_csv("t.csv", index=False)
    assert main([*words, "--log10"]) == 2
    assert "--log10 takes columns of positive numbers; got 0" in capsys.readouterr().err
    assert main(words) == 0
    assert "--log10" not in capsys.readouterr().out


def test_errors_of_the_decimal_point_are_not_answered_by_a_logarithm() -> None:
    """Of a normal law they are not; a lognormal one needs its logarithm with them too, and an even one never."""
    r = np.random.default_rng(0)
    wrong = np.where(np.arange(300) < 18, 10.0, 1.0)
    for values, advised in (
        (np.exp(r.normal(size=300)), True),
        (np.exp(r.normal(size=300)) * wrong, True),
        (np.exp(0.4 * r.normal(size=300)), False),
        (r.normal(10.0, 2.0, 300) * wrong, False),
        (r.uniform(size=300), False),
        (np.maximum(np.exp(1.8 * r.normal(size=300)), 0.9), False),  # half of them at a floor
    ):
        assert bool(logarithm_note("y", values)) == advised


def test_a_column_equal_to_the_target_is_named_whatever_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = amounts(100).assign(n=lambda t: np.where(t.index % 20 == 3, 5, 1), total=lambda t: t["n"] * t["y"])
    data.to_csv("t.csv", index=False)
    words = ["fit", "t.csv", "--predict", "y", *FEW, "-o", "m.rkhs"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert float(said.partition("R^2 ")[2][:5]) < 0.98
    assert "total is y in nearly all rows: if total is known only with it, this command fits without:" in said
    assert f"\n  rkhs {shlex.join([*words, '--drop-columns', 'total'])}\n" in said
    sparse = np.where(np.arange(100) % 25 == 0, data["y"], 0.0)  # a column equal to it where both are zero
    other = np.where(np.arange(100) % 25 == 1, data["y"], 0.0)
    X = np.column_stack([data[["a", "b"]], other])
    assert answer_in_columns(X, ["a", "b", "other"], sparse, "y") == ("", [])
    sums = np.column_stack([data["a"], data["b"], data["y"] * 1e4])  # near most rows by a tail of the target alone
    y = data["a"] + np.where(np.arange(100) < 5, 1e5, 0.3 * data["b"])
    assert answer_in_columns(sums, ["a", "b", "c"], y.to_numpy(), "y") == ("", [])
