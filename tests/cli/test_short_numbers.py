"""Numbers that people read: six digits and four of the error; what is refused, matched by order and advised."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
REGS = ["--set", "regs=[0.01, 1.0]"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, head: str, *columns: object) -> None:
    rows = zip(*columns, strict=True)
    Path(path).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def read(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def test_predictions_have_six_digits_and_four_of_their_error(capsys: pytest.CaptureFixture[str]) -> None:
    stamps = 1.7e9 + X[:, 0] + 0.1 * RNG.normal(size=40)
    write("t.csv", "a,b,time", X[:, 0], X[:, 1], stamps.tolist())
    assert main(["fit", "t.csv", "--predict", "time", "-o", "m.rkhs", *REGS]) == 0
    for name in ("p.csv", "p.npy"):
        assert main(["predict", "m.rkhs", "t.csv", "-o", name]) == 0
    capsys.readouterr()
    assert main(["predict", "m.rkhs", "t.csv", "--json"]) == 0
    exact = np.array(json.loads(capsys.readouterr().out)["predictions"])[:, 0]
    np.testing.assert_array_equal(np.load("p.npy")[:, 0], exact)
    cells = [row["time"] for row in read("p.csv")]
    assert max(len(cell.partition(".")[2]) for cell in cells) in (3, 4, 5)  # four digits of an error near 0.1
    assert 0.0 < np.abs(np.array(cells, dtype=float) - exact).max() < 1e-3
    assert all(len(row["novelty_p"].lstrip("0.")) <= 6 for row in read("p.csv"))
    assert main(["nearest", "t.csv", "-o", "n.csv", "--top", "1"]) == 0
    assert max(len(row["distance"].replace(".", "").lstrip("0")) for row in read("n.csv")) <= 6


def test_a_predictor_is_refused_before_rows_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    write("t.csv", "a,b,y", X[:, 0], X[:, 1], X.sum(1))
    assert main(["fit", "t.csv", "--predict", "y", "-o", "m.rkhs", *REGS]) == 0
    Path("bad.csv").write_bytes(b"no table at all\n")
    assert main(["compare", "bad.csv", "--model", "m.rkhs"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("\n\n  rkhs predict m.rkhs bad.csv -o predicted.csv")


def test_labels_of_rows_without_names_are_matched_by_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("K.csv").write_text("\n".join(",".join(map(repr, row)) for row in (X @ X.T).tolist()) + "\n")
    write("numbers.csv", "size", X[:, 0] + X[:, 1])
    words = ["fit", "K.csv", "--gram", "--labels", "numbers.csv", "--predict", "size", "-o", "m.rkhs"]
    assert main([*words, *REGS]) == 0
    said = capsys.readouterr()
    assert "K.csv has no names of rows: those of numbers.csv belong to its rows in the order of the file" in said.err
    assert float(said.out.partition("R^2 ")[2][:5]) > 0.9  # of another order nothing could be predicted
    write("short.csv", "side", ["left", "right"] * 19)
    assert main(["map", "K.csv", "--gram", "--labels", "short.csv", "--color", "side", "-o", "m.html"]) == 2
    said = capsys.readouterr().err
    assert "expected a row for each of the 40 rows of K.csv, which have no names to find them by; got 38" in said


def test_a_robust_fit_advises_the_logarithm(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.linspace(0.0, 2.0, 120)
    noise = np.exp(0.3 * np.random.default_rng(1).normal(size=120))
    write("t.csv", "a,b,y", x, np.cos(9.0 * x), np.exp(x) * noise)
    assert main(["fit", "t.csv", "--predict", "y", "--loss", "huber", "-o", "m.rkhs", *REGS]) == 0
    said = capsys.readouterr().out
    assert "rkhs predict writes no low and high ends with this model" in said
    assert "the errors of y grow with it" in said
    assert "--loss huber -o m.rkhs --set" in said
    assert "--log10" in said
