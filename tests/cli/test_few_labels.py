"""``rkhs evaluate --few-labels``: the same numbers as the function, and one line for wrong use."""

from __future__ import annotations

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
    Path("one.csv").write_text("\n".join(["class,a,b,c,d", *rows[:20]]) + "\n")
    np.save("iris.npy", np.column_stack([X, Y]))
    return tmp_path


@pytest.mark.parametrize("words", [["iris.csv", "--labels", "class"]])
def test_the_table_is_that_of_the_function(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["evaluate", "--few-labels", *words, *SMALL]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["method", "kernel", "accuracy", "deviation", "leave-one-out"]
    expected = few_labels(
        X, Y, methods=few_label_methods(3, random_state=3), kernels=("linear",), n_splits=2, n_neighbors=1, seed=3
    )
    assert [r.method for r in expected] == ["raw features", *few_label_methods()]
    expected.append(choose_on_labels(expected[1:], "chosen on labels"))
    for line, row, kernel in zip(lines, expected, [*(r.kernel for r in expected[:-1]), "any"], strict=True):
        assert line.startswith(row.method)
        numbers = [f"{value:.3f}" for value in (row.mean, row.std, np.mean(row.validation))]
        assert line.split()[-4:] == [kernel, *numbers]


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
        (["--few-labels", "iris.csv", "--labels", "a"], "text in"),
        (["--few-labels", "none.csv", "--labels", "a"], "which does not"),
        (["--few-labels", "holes.csv", "--labels", "class"], "got '' in row 151 (1 such rows in all)"),
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
