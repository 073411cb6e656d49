"""``rkhs evaluate --few-labels``: the same numbers as the function, and one line for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rkhs.cli.main import main
from rkhs.evaluation import choose_on_labels, few_label_methods, few_labels

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


@pytest.mark.parametrize("words", [["iris.csv", "--labels", "class"]])
def test_the_table_is_that_of_the_function(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["evaluate", "--few-labels", *words, *SMALL]) == 0
    printed = capsys.readouterr()
    assert "rkhs fit iris.csv --predict class -o model.rkhs" in printed.err
    head, *lines = printed.out.splitlines()
    assert head.split() == ["method", "kernel", "accuracy", "deviation", "error", "leave-one-out"]
    expected = few_labels(
        X, Y, methods=few_label_methods(3, random_state=3), kernels=("linear",), n_splits=2, n_neighbors=1, seed=3
    )
    assert [r.method for r in expected] == ["raw features", *few_label_methods()]
    expected.append(choose_on_labels(expected[1:], "chosen on labels"))
    for line, row, kernel in zip(lines, expected, [*(r.kernel for r in expected[:-1]), "any"], strict=True):
        assert line.startswith(row.method)
        assert row.error > 0.02  # 68 test rows
        numbers = [f"{value:.3f}" for value in (row.mean, row.std, row.error, np.mean(row.validation))]
        assert line.split()[-5:] == [kernel, *numbers]


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
