"""``rkhs report``: from a file or a model to a page, and one line for wrong use."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
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
    assert main(["report", "table.csv", "--predict", "kind", *FAST, "--save-model", "m.rkhs"]) == 0
    printed = capsys.readouterr().out
    assert "24 items with 3 columns each." in printed
    assert "kind could not be predicted from this: " in printed
    data = data_of("report.html")
    assert data["names"] == [f"n{i}" for i in range(24)]
    assert data["fields"][0]["classes"] == ["<i>x</i>", "y"]
    assert [field["name"] for field in data["fields"][3:]] == ["a", "b", "c"]
    assert "rkhs.load(&#x27;m.rkhs&#x27;)" in Path("report.html").read_text()
    # The model of the file gives the same page for the same rows.
    words = ["report", "m.rkhs", "table.csv", "--predict", "kind", "--index-column", "name", "-o", "again.html"]
    assert main(words) == 0
    assert data_of("again.html") == data


def test_programs_get_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "plain.csv", *FAST, "--json", "-o", "page.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == "page.html"
    assert found["bytes"] == Path("page.html").stat().st_size
    assert found["audit"][0] == "24 items with 3 columns each."
    page = html.unescape(Path("page.html").read_text())
    assert found["summary"][0].startswith("KernelPCA turns each of 24 items into")
    assert all(sentence in page for sentence in (*found["audit"], *found["summary"], *found["warnings"]))


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


def test_fit_and_report_print_one_error_of_one_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{row[0] ** 2 + 0.3 * row[1]};{';'.join(map(str, row))}" for row in X.tolist()]
    Path("sizes.csv").write_text("\n".join(["size;a;b;c", *rows]) + "\n")
    assert main(["report", "sizes.csv", "--predict", "size", "--delimiter", ";"]) == 0
    reported = re.search(r"RMSE ([\d.]+) .*R² ([\d.]+) .*RMSE of ([\d.]+)", capsys.readouterr().out)
    assert main(["fit", "sizes.csv", "--predict", "size", "--delimiter", ";", "-o", "m.rkhs", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert reported is not None
    found = [facts["held-out error"], facts["R^2"], facts["error of the mean"]]
    for text, value in zip(reported.groups(), found, strict=True):
        assert float(text) == pytest.approx(value, abs=0.6 * 10.0 ** -len(text.partition(".")[2]))


def test_the_model_is_a_map_and_the_page_ends_with_commands_that_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"n{i};{2 * row[0] + 0.01 * i};{';'.join(map(str, row))}" for i, row in enumerate(X.tolist())]
    Path("my file.csv").write_text("\n".join(["name;size;a;b;c", *rows]) + "\n")
    words = ["report", "my file.csv", "--predict", "size", "--index-column", "name", "--delimiter", ";"]
    assert main([*words, "--save-model", "map.rkhs"]) == 0
    assert "size can be predicted: RMSE " in capsys.readouterr().out
    assert type(rkhs.load("map.rkhs")) is rkhs.KernelMap
    page = html.unescape(Path("report.html").read_text()).split('<section id="next">')[1].split("</section>")[0]
    lines = [line for block in re.findall(r"<code>(.*?)</code>", page, re.DOTALL) for line in block.split("\n")]
    shell = [shlex.split(line)[1:] for line in lines if line.startswith("rkhs ") and "=" not in line]
    assert [line[0] for line in shell] == ["fit", "predict", "novelty", "nearest", "compare", "transform"]
    Path("new.csv").write_text("\n".join(["name;a;b;c", *(row.split(";")[0] + ";1;2;3" for row in rows[:3])]) + "\n")
    for line in shell:
        assert main(line) == 0, line
    assert main([*words, "--n-components", "2", "--save-model", "codes.rkhs"]) == 0
    assert type(rkhs.load("codes.rkhs")) is KernelAutoencoder


def test_molecules_keep_their_rows_when_some_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    smiles = ["C(", *load_molecules().smiles[:12]]
    Path("m.csv").write_text("\n".join(["s,id,y", *(f"{text},m{i},{i}.5" for i, text in enumerate(smiles))]) + "\n")
    words = ["report", "m.csv", "--smiles", "s", "--predict", "y", "--fingerprint", "morgan(on_error=skip)", *FAST]
    assert main(words) == 0
    assert "1 SMILES could not be read" in capsys.readouterr().out
    data = data_of("report.html")
    assert data["smiles"] == smiles[1:]
    assert data["names"] == [f"m{i} (row {i + 1})" for i in range(1, 13)]  # a column that names rows, and its rows
    assert all(data["drawings"])
    page = Path("report.html").read_text()
    assert re.findall('data-key="(1.5|12.5)">(.*?)<', page) == [("1.5", "1.5"), ("12.5", "12.5")]
    assert "<li>Items are named by id.</li>" in page
    assert "m1 (row 2)</button>" in page.split("<h3>Novel</h3>")[1] or "m12 (row 13)</button>" in page


def test_wrong_rows_are_left_out_of_the_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 4)) + 0.05 * RNG.normal(size=(60, 4))
    rows[[3, 10, 41, 50]] += np.array([8.0, -9.0, 10.0, -11.0])[:, None] * RNG.normal(size=(4, 4))
    np.save("bad.npy", rows)
    assert main(["report", "bad.npy", "--set", "reg=0.001", "--robust", "--save-model", "m.rkhs"]) == 0
    printed = capsys.readouterr().out
    assert "rows look wrong and were left out of the fit: row " in printed
    found = fit_robust(KernelAutoencoder(2, reg=1e-3), rows)
    np.testing.assert_allclose(rkhs.load("m.rkhs").transform(rows), found.model.transform(rows), rtol=1e-9)
    assert main(["compare", "bad.npy", "--model", "m.rkhs"]) == 0
    assert "rows that stand apart from those of the fit: " in capsys.readouterr().out
    assert main(["report", "bad.npy", "--leave-out", "4,11,42,51", *FAST]) == 0
    assert data_of("report.html")["names"][2:5] == ["row 3", "row 5", "row 6"]


def test_the_page_says_how_the_file_was_read(folder: Path) -> None:
    rows = [f"p{i},{i * i},{i % 5} m,{row[0]:.3f}" for i, row in enumerate(X)]
    Path("p.csv").write_text("\n".join(["id,peptide,height,y", *rows]) + "\n")
    words = ["report", "p.csv", "--index-column", "id", "--drop-columns", "peptide", "--predict", "y", *FAST]
    assert main([*words, "-o", "page.html"]) == 0
    page = html.unescape(Path("page.html").read_text())
    assert "<li>Columns left out: peptide.</li>" in page
    assert "<li>Items are named by id.</li>" in page
    assert "<li>Column 'height' is read as numbers in 'm', the unit of all its cells.</li>" in page


def test_a_gram_matrix_is_read_as_one_by_the_commands_of_its_page(folder: Path) -> None:
    K, names = X @ X.T, [f"n{i}" for i in range(24)]
    lines = [",".join([name, *map(str, row)]) for name, row in zip(names, K.tolist(), strict=True)]
    Path("k.csv").write_text("\n".join([",".join(["", *names]), *lines]) + "\n")
    assert main(["report", "k.csv", "--gram", "--labels", "table.csv", "--predict", "kind", *FAST]) == 0
    page = html.unescape(Path("report.html").read_text())
    commands = re.findall(r"<code>(rkhs .*?)</code>", page, re.DOTALL)
    assert [line.split()[1] for line in commands] == ["fit", "novelty", "compare"]
    assert all("--gram" in line for line in commands)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv"], "got 'none.csv', which does not"),
        (["m.rkhs"], "a report on a model needs items too"),
        (["m.rkhs", "plain.csv", "--kernel", "linear"], "--kernel is for a fit"),
        (["m.rkhs", "plain.csv", "--robust"], "--robust is for a fit"),
        (["plain.csv", "--trim", "2"], "--trim needs --robust"),
        (["plain.csv", "-o", "page.txt"], "-o must end in .html, .htm"),
        (["plain.csv", "-o", "no/page.html"], "whose folder does not exist"),
        (["plain.csv", "--predict", "q"], "--predict must name a column of the file; got 'q'"),
        (["rows.npy", "--predict", "0"], "--predict names a column of a table, such as .csv, .xlsx or .parquet"),
        (["plain.csv", "--sha256", "00"], "are for a model file"),
        (["plain.csv", "--at-most", "1"], "--at-most must be an integer >= 2"),
        (["plain.csv", "--save-model", "plain.csv"], "names a model file"),
        (["names.csv"], "expected numbers in every column read"),
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
