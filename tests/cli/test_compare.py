"""``rkhs compare``: the numbers of the function, the sentence, and one line for wrong use."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from rkhs.cli import compare
from rkhs.cli.main import main, whole_parser
from rkhs.cli.targets import read_rows
from rkhs.evaluation import compare_codes, comparison

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)).round(6)
Y = np.where(X[:, 0] > 0.0, "big", "small")
FEW = ["--n-components", "2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "_TREES", 5)
    monkeypatch.setattr(compare, "_SPLITS", 2)
    rows = [f"{name},{','.join(map(str, row))}" for name, row in zip(Y, X.tolist(), strict=True)]
    Path("table.csv").write_text("\n".join(["size,a,b,c", *rows]) + "\n")
    Path("gap.csv").write_text("\n".join(["size,a,b,c", *rows, ",1,2,3"]) + "\n")
    Path("labels.csv").write_text("\n".join(["size", *Y]) + "\n")
    Path("numbers.csv").write_text("\n".join(["size", *map(str, X[:, 0])]) + "\n")
    Path("few.csv").write_text("1\n2\n3\n")
    np.save("gram.npy", X @ X.T)
    return tmp_path


def test_the_table_and_the_sentence_are_those_of_the_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "table.csv", "--predict", "size", *FEW]) == 0
    first_line, *lines = capsys.readouterr().out.splitlines()
    assert first_line.startswith("size is known of all 40 rows. In each of 2 splits 10 rows are set aside")
    expected = compare_codes(X, Y, n_components=2, n_splits=2)
    assert lines[-1] == expected.verdict
    first = expected.rows[0]
    assert lines[2].startswith(first.method)
    assert f"{first.mean:.3f} +- {first.error:.3f}" in lines[2]


def test_a_kernel_is_that_of_the_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "table.csv", "--predict", "size", "--kernel", "laplacian", *FEW]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "10 rows are set aside and predicted" in said
    assert "codes are learned from 30 other rows without size, learners from 30 rows with it" in said
    assert compare_codes(X, Y, n_components=2, n_splits=2, kernel="laplacian").verdict in said


@pytest.mark.slow
def test_gram_matrices_take_a_file_of_targets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gram.npy", "--gram", "--targets", "numbers.csv", *FEW]) == 0
    said = capsys.readouterr().out
    assert "\nR^2, mean of 2 splits" in said
    assert "UMAP" not in said
    assert "PCA  " in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table.csv", "--predict", "colour"], "colour"),
        (["table.csv"], "compare predicts a column from the others: name it with --predict COLUMN"),
        (["gram.npy", "--gram", "--predict", "0"], "gram.npy has none beside its items; name a table with --labels"),
        (["gram.npy", "--gram", "--targets", "table.csv"], "predicts one column; got 4; name one with --predict"),
        (["gram.npy", "--gram", "--targets", "missing.csv"], "missing.csv"),
        (
            ["gap.csv", "--columns", "a,b", "--targets", "few.csv"],
            "few.csv: expected one row for each row of gap.csv, 41; got 3",
        ),
        (
            ["gram.npy", "--gram", "--targets", "labels.csv", "--kernel", "linear"],
            "--kernel cannot be given with --gram",
        ),
        (["table.csv", "--predict", "size", "--errors", "e.csv"], "--errors is for --model"),
        (["table.csv", "--model", "m.rkhs", "--drop-columns", "a"], "--drop-columns is for a target"),
    ],
)
def test_wrong_use_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    try:
        status = main(["compare", *words, *FEW])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert said in capsys.readouterr().err


def test_errors_of_a_gram_matrix_need_its_diagonal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    K = np.exp(-((X[:, None] - X) ** 2).sum(2)) * np.outer(*2 * [np.linspace(1.0, 2.0, 40)])
    np.save("train.npy", K[:20, :20])
    np.save("new.npy", K[20:, :20])
    assert main(["fit", "train.npy", "--gram", "-o", "g.rkhs"]) == 0
    assert main(["compare", "new.npy", "--model", "g.rkhs"]) == 2
    assert "new.npy: errors need k(x, x) of these rows" in capsys.readouterr().err
    root = np.sqrt(np.diag(K))
    np.save("train.npy", (K / np.outer(root, root))[:20, :20])  # one up to rounding
    np.save("new.npy", (K / np.outer(root, root))[20:, :20])
    assert main(["fit", "train.npy", "--gram", "-o", "g.rkhs"]) == 0
    assert main(["compare", "new.npy", "--model", "g.rkhs"]) == 0


def test_names_of_rows_are_no_column_of_the_input(folder: Path) -> None:
    lines = Path("table.csv").read_text().splitlines()
    Path("named.csv").write_text("\n".join(f"{'id' if i == 0 else f'r{i}'},{line}" for i, line in enumerate(lines)))
    said = []
    for name in ("table.csv", "named.csv"):
        rows = read_rows(arguments(name), predict="size")
        said.append((rows.data.X, rows.column("--predict")))
    np.testing.assert_array_equal(said[0][0], said[1][0])
    np.testing.assert_array_equal(said[0][1], said[1][1])


def arguments(path: str) -> argparse.Namespace:
    return whole_parser().parse_args(["compare", path, "--predict", "size"])


@pytest.mark.slow
def test_rows_without_a_class_and_a_mixed_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["id,zone,a,b,class"]
    for i, row in enumerate(X.tolist()):
        lines.append(f"{1000 + i},{'ns'[i % 2]},{row[0]},{'' if i == 5 else row[1]},{Y[i] if i < 30 else ''}")
    Path("mixed.csv").write_text("\n".join(lines) + "\n")
    words = ["compare", "mixed.csv", "--predict", "class"]
    assert main([*words, *FEW]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("note: id: all values differ")
    assert any(line.startswith("class is known of 30 of the 40 rows. In each of 2 splits 8 rows are") for line in said)
    assert "+- 0.000" not in "".join(said)
    assert main([*words, *FEW, "--drop-columns", "id", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["notes"] == []
    assert facts["sizes"]["known"] == 30
