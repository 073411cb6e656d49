"""Whole numbers that stand for classes, by every door: columns, ``--targets`` and ``--labels``; and ways back."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import Run, printed, table

RNG = np.random.default_rng(4)
SIDE = np.repeat([0, 1], 12)
X = RNG.normal(size=(24, 2)) + 4.0 * SIDE[:, None]
FEW = ["--estimator", "kernel-pca", "-o", "m.rkhs"]
READ = "its whole numbers are read as classes; --target-kind numbers predicts a number"


def written(y: np.ndarray) -> None:
    """A table with the values, their Gram matrix, and the values alone, with a title and without one."""
    table("a.csv", ["a,b,y", *(f"{a:.4f},{b:.4f},{c}" for (a, b), c in zip(X, y.tolist(), strict=True))])
    np.save("g.npy", np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(2)))
    table("titled.csv", ["y", *map(str, y.tolist())])
    table("plain.txt", [*map(str, y.tolist())])


@pytest.mark.parametrize(
    "words",
    [
        ["a.csv", "--predict", "y"],
        ["g.npy", "--gram", "--targets", "titled.csv"],
        ["g.npy", "--gram", "--targets", "plain.txt"],
        ["g.npy", "--gram", "--labels", "plain.txt", "--predict", "0"],
    ],
)
def test_two_whole_numbers_are_classes_by_every_door(words: list[str], run: Run) -> None:
    written(SIDE + 1)
    status, said, out = run("fit", *words, *FEW)
    assert status == 0, said
    assert READ in out
    assert "1 (12), 2 (12)" in out
    if words[0] == "a.csv":
        assert run("predict", "m.rkhs", "a.csv", "-o", "p.csv")[0] == 0
        assert Path("p.csv").read_text().splitlines()[1].startswith("1,1,1,")  # the row, the class, that of the file
        status, _, out = run("fit", *words, "-o", "m.rkhs", "--target-kind", "numbers", "--set", "regs=[0.1]")
        assert (status, READ in out, "held-out error" in out) == (0, False, True)


def test_more_whole_numbers_are_numbers_and_the_command_makes_them_classes(run: Run) -> None:
    written(SIDE + np.arange(24) % 2 + 1)
    for words in (["a.csv", "--predict", "y"], ["g.npy", "--gram", "--targets", "plain.txt", "--predict", "0"]):
        status, _, out = run("fit", *words, "-o", "m.rkhs", "--set", "regs=[0.1]", "--loss", "squared")
        assert status == 0
        command = printed(out)
        assert command == ["fit", *words, "-o", "m.rkhs", "--target-kind", "classes"]
        assert "1 (6)" in run(*command, "--estimator", "kernel-pca")[2]


def test_a_file_without_names_is_predicted_by_the_command(run: Run) -> None:
    written(SIDE + 1)
    for flag in ("--targets", "--labels"):
        status, said, _ = run("fit", "g.npy", "--gram", flag, "plain.txt", "--predict", "class", *FEW)
        assert (status, "so no names: give the position of the column, 0" in said) == (2, True)
        assert printed(said)[-2:] == ["--predict", "0"]
        assert run(*printed(said))[0] == 0
    status, said, _ = run("fit", "g.npy", "--gram", "--targets", "plain.txt", "--predict", "1", *FEW)
    assert "the file has one column, which is 0" in said
    status, said, _ = run("fit", "a.csv", "--targets", "titled.csv", "--leave-out", "3", *FEW)
    assert (status, "one row for each row of the input" in said) == (0, False)
    table("titled.csv", ["y", "0", "0", "1", "1"])
    assert (
        "--targets must have one row for each row of the input, 24; got 4"
        in run("fit", "a.csv", "--targets", "titled.csv", *FEW)[1]
    )


def test_a_file_of_scikit_learn_is_read_by_the_command_and_new_ones_like_it(run: Run) -> None:
    texts = ["".join(RNG.choice([*"ACDE"[: 2 + 2 * side]], 8)) for side in SIDE]
    table("a.csv", ["24,1,not,amp", *(f"{text}, {side}" for text, side in zip(texts, SIDE, strict=True))])
    table("new.csv", ["24,1,not,amp", *texts[:3]])
    status, said, _ = run("fit", "a.csv", "--kind", "sequences", "--predict", "amp", "--kernel", "spectrum(2)", *FEW)
    assert (status, "numbers of rows and columns, and names of classes" in said) == (2, True)
    words = printed(said)
    assert words[-6:] == ["--skip-rows", "1", "--header", "no", "--predict", "1"]
    status, said, out = run(*words)
    assert status == 0, said
    assert "1: its whole numbers are read as classes" in out
    status, said, _ = run("predict", "m.rkhs", "new.csv", "-o", "p.csv")
    assert status == 0, said
    assert len(Path("p.csv").read_text().splitlines()) == 4


def test_only_rows_with_another_value_are_counted_so(run: Run) -> None:
    y = RNG.normal(size=24).round(3)
    rows = [f"{a:.4f},{b:.4f},{c}" for (a, b), c in zip(X, y.tolist(), strict=True)]
    table("a.csv", ["a,b,y", *rows, *rows[:3], f"{X[5, 0]:.4f},{X[5, 1]:.4f},9"])
    _, _, out = run("fit", "a.csv", "--predict", "y", "-o", "m.rkhs", "--set", "regs=[0.1]")
    assert "equal items: 4 of 28 rows repeat the item of an earlier row, 1 of them with another value;" in out


def test_labels_are_not_suspicious_where_the_model_hardly_predicts(run: Run) -> None:
    rng = np.random.default_rng(1)
    rows = [f"{a:.4f},{b:.4f},{'ill' if i % 6 == 0 else 'well'}" for i, (a, b) in enumerate(rng.normal(size=(30, 2)))]
    table("a.csv", ["a,b,y", *rows])
    _, _, out = run("fit", "a.csv", "--predict", "y", *FEW)
    assert "hardly predicts better than the most common class does; another --kernel, more rows, or other" in out
    assert "suspicious labels" not in out
    _, _, found = run("fit", "a.csv", "--predict", "y", *FEW, "--json")
    assert json.loads(found)["suspicious labels"]
