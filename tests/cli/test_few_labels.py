"""``rkhs evaluate --few-labels``: the same numbers as the function, and one line for wrong use."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.cli.few_labels import next_step
from rkhs.cli.main import main
from rkhs.data import load_molecules
from rkhs.evaluation import choose_on_labels, few_label_methods, few_labels
from rkhs.evaluation.few_labels import Learner

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
SMALL = ["--kernels", "linear", "--splits", "2", "--seed", "3", "--n-neighbors", "1", "--n-components", "3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{name},{','.join(map(str, row))}" for name, row in zip(NAMES, X.tolist(), strict=True)]
    Path("iris.csv").write_text("\n".join(["class,a,b,c,d", *rows]) + "\n")
    Path("holes.csv").write_text("\n".join(["class,a,b,c,d", *rows, " ,1,2,3,4"]) + "\n")
    Path("single.csv").write_text("\n".join(["class,a,b,c,d", *rows, "odd,1,2,3,5", " ,1,2,3,4"]) + "\n")
    Path("one.csv").write_text("\n".join(["class,a,b,c,d", *rows[:20]]) + "\n")
    np.save("iris.npy", np.column_stack([X, Y]))
    return tmp_path


def test_the_table_is_that_of_the_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--few-labels", "iris.csv", "--labels", "class", *SMALL]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["method", "kernel", "learner", "accuracy", "deviation", "error", "leave-one-out"]
    methods = few_label_methods(3, random_state=3) | {"rkhs fit": make_pipeline(KernelAutoencoder(4, random_state=3))}
    learners: tuple[Learner, ...] = ("neighbours", "smooth")
    expected = few_labels(
        X, Y, methods=methods, kernels=("linear",), n_splits=2, n_neighbors=1, seed=3, learners=learners
    )
    assert [r.method for r in expected[::2]] == ["raw features", *methods]
    expected.append(choose_on_labels(expected[2:], "chosen on labels"))
    for line, row in zip(lines, expected, strict=True):
        assert line.startswith(row.method)
        assert row.error > 0.02  # 68 test rows
        numbers = [f"{value:.3f}" for value in (row.mean, row.std, row.error, np.mean(row.validation))]
        words = ["any", "any"] if row is expected[-1] else [row.kernel, row.learner]
        assert line.split()[-6:] == [*words, *numbers]


def row(method: str, learner: str, accuracy: float) -> dict[str, str | float]:
    return {"method": method, "kernel": "linear", "learner": learner, "accuracy": accuracy, "error": 0.03}


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        (
            (0.8, 0.7, 0.82, 0.75),
            r"learner on codes of pca with the linear kernel, 0.820 \+- 0.030 .*As good within the error: nearest",
        ),
        ((0.8, 0.7, 0.90, 0.75), "smooth learner on codes of pca .*In Python: SmoothClassifier of rkhs.evaluation"),
        (
            (0.7, 0.7, 0.90, 0.88),
            "As good within the error: a smooth learner on codes of rkhs fit, .*--predict class -o",
        ),
        ((0.7, 0.9, 0.75, 0.88), "^Right most often: a smooth learner on raw features, .*In Python: SmoothClassifier"),
    ],
)
def test_the_simplest_of_what_is_right_most_often_is_named(accuracies: tuple[float, ...], said: str) -> None:
    names = (("raw features", "neighbours"), ("raw features", "smooth"), ("pca", "smooth"), ("rkhs fit", "smooth"))
    rows = [row(*pair, value) for pair, value in zip(names, accuracies, strict=True)]
    args = argparse.Namespace(few_labels="t.csv", labels="class", smiles=None)
    assert re.search(said, next_step(args, [*rows, row("chosen on labels", "any", 1.0)]))


def test_molecules_with_labels_of_some(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="SMILES need the extra 'chem'")
    table = load_molecules()
    ring = ["yes" if "c1" in smiles else "no" for smiles in table.smiles[:60]]
    lines = [f"{s},{r if i % 3 else ''}" for i, (s, r) in enumerate(zip(table.smiles[:60], ring, strict=True))]
    Path("molecules.csv").write_text("\n".join(["smiles,ring", *lines, "C(,yes"]) + "\n")
    words = ["--few-labels", "molecules.csv", "--labels", "ring", "--smiles", "smiles", "--skip-bad-smiles"]
    assert main(["evaluate", *words, "--splits", "1", "--json"]) == 0
    said = capsys.readouterr()
    rows = json.loads(said.out)["rows"]
    assert "20 of 60 rows have no class: codes are made from them too" in said.err
    assert {r["kernel"] for r in rows} == {"none", "Tanimoto", "any"}
    known = np.array([r if i % 3 else None for i, r in enumerate(ring)], dtype=object)
    bits = table.fingerprints[:60].astype(float)
    plain = few_labels(bits, known, methods={"pca": KernelPCA(2)}, kernels=("Tanimoto",), n_splits=1)
    assert [rows[i]["accuracy"] for i in (0, 2)] == [row.mean for row in plain]
    assert main(["evaluate", *words, "--fingerprint", "counts", "--splits", "1", "--json"]) == 0
    assert "MinMax" in {r["kernel"] for r in json.loads(capsys.readouterr().out)["rows"]}


def test_columns_in_other_units_are_standardised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{name},{','.join(map(str, row))}" for name, row in zip(NAMES, (X * [1, 1, 1e3, 1]).tolist(), strict=True)]
    Path("units.csv").write_text("\n".join(["class,a,b,c,d", *rows]) + "\n")
    assert main(["evaluate", "--few-labels", "units.csv", "--labels", "class", *SMALL, "--json"]) == 0
    said = capsys.readouterr()
    assert "all are standardised" in said.err
    raw = few_labels((X - X.mean(0)) / X.std(0), Y, methods={}, n_splits=2, n_neighbors=1, seed=3)[0]
    assert json.loads(said.out)["rows"][0]["accuracy"] == raw.mean


def test_columns_choose_the_features(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for words in (
        ["iris.csv", "--labels", "class", "--columns", "a,b"],
        ["iris.npy", "--labels", "4", "--columns", "0,1"],
    ):
        assert main(["evaluate", "--few-labels", *words, *SMALL]) == 0
        printed.append(capsys.readouterr().out)
    raw = few_labels(X[:, :2], Y, methods={}, n_splits=2, n_neighbors=1, seed=3)[0]
    assert printed[0] == printed[1]
    assert f"{raw.mean:.3f}" in printed[0].splitlines()[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--few-labels", "iris.csv"], "name it with --labels COLUMN"),
        (["--few-labels", "iris.csv", "--labels", "kind"], "'kind'"),
        (["--few-labels", "iris.csv", "--labels", "a"], "class"),
        (["--few-labels", "none.csv", "--labels", "a"], "which does not"),
        (["--few-labels", "single.csv", "--labels", "class"], "at least two rows of each class; got one of 'odd'"),
        (["m.rkhs", "iris.csv", "--mixed"], "--mixed is for --few-labels"),
        (["m.rkhs", "iris.csv", "--drop-columns", "a"], "--drop-columns is for --few-labels"),
        (["--few-labels", "one.csv", "--labels", "class"], "at least two classes"),
        (["--few-labels", "iris.npy", "--labels", "class"], "give its position"),
        (["--few-labels", "iris.npy", "--labels", "4", "--columns", "0,4"], "got 4 in both"),
        (["--few-labels", "iris.npy", "--labels", "9"], "9"),
        (["--few-labels", "iris.npy", "--labels", "0"], "class"),
        (["--few-labels", "iris.csv", "--labels", "class", "--kernels", "cubic"], "got 'cubic'"),
        (["--few-labels", "iris.csv", "--labels", "class", "--splits", "0"], "--splits must be"),
        (["--few-labels", "iris.csv", "--labels", "class", "--n-components", "0"], "--n-components"),
        (["--few-labels", "iris.csv", "--labels", "class", "--seed", "-1"], "--seed"),
        (["m.rkhs", "--few-labels", "iris.csv", "--labels", "class"], "got 'model' too"),
        (["--few-labels", "iris.csv", "--labels", "class", "--space", "input"], "got 'space' too"),
        (["m.rkhs", "iris.csv", "--labels", "class"], "--labels is for --few-labels"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["evaluate", *words]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("rkhs: error: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err


def test_without_few_labels_the_model_is_still_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate"])
    assert stop.value.code == 2
    assert "MODEL, INPUT" in capsys.readouterr().err


def test_rows_without_a_class_are_the_unlabelled_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = np.arange(0, 150, 3)
    classes = np.where(np.arange(150) % 3, None, NAMES)
    cells = [",".join(map(str, row)) for row in X.tolist()]
    lines = [f"{i + 500},{classes[i] or ''},{cells[i]}" for i in range(150)]
    Path("gaps.csv").write_text("\n".join(["id,class,a,b,c,d", *lines]) + "\n")
    words = ["evaluate", "--few-labels", "gaps.csv", "--labels", "class", "--drop-columns", "id"]
    assert main([*words, *SMALL, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"][0]
    row = few_labels(X, classes, methods={}, n_splits=2, n_neighbors=1, seed=3)[0]
    assert (found["accuracy"], found["error"]) == (row.mean, row.error)
    assert row.n_test == len(known) // 2


@pytest.mark.slow
def test_a_mixed_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [[NAMES[i] if i % 2 else "", X[i, 0], X[i, 2] if i % 7 else "", "ab"[int(X[i, 3] > 1)]] for i in range(150)]
    lines = [",".join(map(str, row)) for row in cells]
    Path("mixed.csv").write_text("\n".join(["class,a,c,wide", *lines]) + "\n")
    words = ["evaluate", "--few-labels", "mixed.csv", "--mixed", "--labels", "class", "--splits", "1"]
    assert main([*words, "--json"]) == 0
    found = {row["method"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {"raw features", "kernel PCA", "autoencoder", "chosen on labels"} <= found.keys()
    assert found["kernel PCA"]["accuracy"] > 0.6
