"""``rkhs report``: from a file or a model to a page, and one line for wrong use."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import KernelAutoencoder, fit_robust
from rkhs.cli.main import main
from rkhs.data import load_molecules

RNG = np.random.default_rng(2)
X = RNG.normal(size=(24, 3)).round(5)
FAST = ["--estimator", "kernel-pca"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"n{i},{'<i>x</i>' if i % 2 else 'y'},{','.join(map(str, row))}" for i, row in enumerate(X.tolist())]
    Path("table.csv").write_text("\n".join(["name,kind,a,b,c", *rows]) + "\n")
    Path("plain.csv").write_text("\n".join(["a,b,c", *(row.split(",", 2)[2] for row in rows)]) + "\n")
    Path("names.csv").write_text("\n".join(["name,other,a", *(f"n{i},m{i},{i}" for i in range(9))]) + "\n")
    np.save("rows.npy", X)
    return tmp_path


def data_of(path: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', Path(path).read_text(), re.DOTALL)
    assert found
    return json.loads(found.group(1))


def test_a_table_with_names_and_a_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "table.csv", "--predict", "kind", *FAST]) == 0
    printed = capsys.readouterr().out
    assert "24 items with 3 columns each." in printed
    assert "kind could not be predicted from this: " in printed
    data = data_of("report.html")
    assert data["names"] == [f"n{i}" for i in range(24)]
    assert data["fields"][0]["classes"] == ["<i>x</i>", "y"]
    assert [field["name"] for field in data["fields"][3:]] == ["a", "b", "c"]
    # A model of the same items gives the same page.
    fit = ["fit", "table.csv", "--drop-columns", "kind", *FAST, "-o", "m.rkhs"]
    assert main(fit) == 0
    words = ["report", "m.rkhs", "table.csv", "--predict", "kind", "--index-column", "name", "-o", "again.html"]
    assert main(words) == 0
    assert data_of("again.html") == data


def test_whole_numbers_are_numbers_unless_they_are_called_classes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path("plain.csv").read_text().splitlines()
    rows = [f"{row},{i % 2}" for i, row in enumerate(lines[1:])]
    Path("whole.csv").write_text("\n".join([f"{lines[0]},passes", *rows]) + "\n")
    for flags, words in (([], "RMSE "), (["--classes"], "% correct ")):
        assert main(["report", "whole.csv", "--predict", "passes", *FAST, *flags]) == 0
        assert words in capsys.readouterr().out
        assert ("classes" in data_of("report.html")["fields"][0]) == bool(flags)


def test_what_is_printed_stands_in_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "plain.csv", *FAST, "-o", "page.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("page: page.html (")
    assert "24 items with 3 columns each." in lines
    page = html.unescape(Path("page.html").read_text())
    (summary,) = [line for line in lines if line.startswith("KernelPCA turns each of 24 items into")]
    assert summary in page
    assert "24 items with 3 columns each." in page


def test_gaps_in_a_target_are_gaps(folder: Path) -> None:
    lines = Path("table.csv").read_text().splitlines()
    Path("gap.csv").write_text("\n".join([lines[0], lines[1].replace(",y,", ",NA,"), *lines[2:]]) + "\n")
    assert main(["report", "gap.csv", "--predict", "kind", *FAST]) == 0
    assert data_of("report.html")["fields"][0]["of"][:3] == [-1, 0, 1]


def test_parquet_tables_have_targets(folder: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra tables")
    pytest.importorskip("pyarrow", reason="needs the extra tables")
    pandas.read_csv("table.csv").to_parquet("table.parquet")
    assert main(["report", "table.parquet", "--predict", "kind", *FAST]) == 0
    assert data_of("report.html")["names"][1] == "n1"


def test_the_page_says_how_the_file_was_read(folder: Path) -> None:
    rows = [f"p{i},{i * i},{i % 5} m,{row[0]:.3f}" for i, row in enumerate(X)]
    Path("p.csv").write_text("\n".join(["id,peptide,height,y", *rows]) + "\n")
    words = ["report", "p.csv", "--index-column", "id", "--drop-columns", "peptide", "--predict", "y", *FAST]
    assert main([*words, "-o", "page.html"]) == 0
    page = html.unescape(Path("page.html").read_text())
    assert "<li>Columns left out: peptide.</li>" in page
    assert "<li>Items are named by id.</li>" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv"], "got 'none.csv', which does not"),
        (["m.rkhs"], "a report on a model needs items too"),
        (["m.rkhs", "plain.csv", "--kernel", "linear"], "--kernel is for a fit"),
        (["m.rkhs", "plain.csv", "--robust"], "--robust is for a fit"),
        (["plain.csv", "--classes"], "--classes needs --predict COLUMN"),
        (["plain.csv", "-o", "page.txt"], "-o must end in .html, .htm"),
        (["plain.csv", "-o", "no/page.html"], "whose folder does not exist"),
    ],
)
def test_wrong_use_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["fit", "rows.npy", "-o", "m.rkhs", "--quiet", *FAST]) == 0
    before = sorted(os.listdir())
    assert main(["report", *words, *([] if "m.rkhs" in words else FAST)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.replace("\n\n  rkhs", "").count("\n") == 1
    assert sorted(os.listdir()) == before


def test_molecules_keep_their_rows_when_some_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    smiles = ["C(", *load_molecules().smiles[:12]]
    Path("m.csv").write_text("\n".join(["s,id,y", *(f"{text},m{i},{i}.5" for i, text in enumerate(smiles))]) + "\n")
    words = [
        "report",
        "m.csv",
        "--smiles",
        "s",
        "--predict",
        "y",
        "--fingerprint",
        "morgan(on_error=skip)",
        "--index-column",
        "id",
        *FAST,
    ]
    assert main(words) == 0
    data = data_of("report.html")
    assert data["smiles"] == smiles[1:]
    assert data["names"] == [f"m{i}" for i in range(1, 13)]
    assert all(data["drawings"])
    page = Path("report.html").read_text()
    assert re.findall('data-key="(1.5|12.5)">(.*?)<', page) == [("1.5", "1.5"), ("12.5", "12.5")]
    assert re.search("m[0-9]+</button>", page)


def test_wrong_rows_are_left_out_of_the_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 4)) + 0.05 * RNG.normal(size=(60, 4))
    rows[[3, 10, 41, 50]] += np.array([8.0, -9.0, 10.0, -11.0])[:, None] * RNG.normal(size=(4, 4))
    np.save("bad.npy", rows)
    assert main(["report", "bad.npy", "--set", "reg=0.001", "--robust"]) == 0
    printed = capsys.readouterr().out
    assert "rows look wrong and were left out of the fit: row " in printed
    assert main(["fit", "bad.npy", "--set", "reg=0.001", "--robust", "-o", "m.rkhs"]) == 0
    found = fit_robust(KernelAutoencoder(2, reg=1e-3), rows)
    np.testing.assert_allclose(rkhs.load("m.rkhs").transform(rows), found.model.transform(rows), rtol=1e-9)
    assert main(["compare", "bad.npy", "--model", "m.rkhs"]) == 0
    assert "rows that stand apart from those of the fit: " in capsys.readouterr().out
