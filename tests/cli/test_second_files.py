"""Second files: tables of labels and targets, whose columns are no inputs, and errors that name the file at fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rkhs.cli.main import main, whole_parser
from rkhs.cli.targets import read_rows

RNG = np.random.default_rng(0)
NAMES = [f"r{i}" for i in range(12)]
CITIES = ["Ulm" if i % 3 else "Bonn" for i in range(12)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"id": NAMES, "a": RNG.normal(size=12), "b": RNG.normal(size=12)})
    table.to_csv("plain.csv", index=False)
    table.assign(city=CITIES).to_csv("with_city.csv", index=False)
    answers = pd.DataFrame({"id": NAMES, "city": CITIES})
    answers.to_csv("targets.csv", index=False)
    answers[::-1].to_csv("labels.csv", index=False)


@pytest.mark.parametrize("second", [["--labels", "labels.csv"], ["--targets", "targets.csv"]])
def test_a_column_of_the_input_with_the_name_of_the_answer_is_refused(
    second: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be the answer itself."""
    words = ["--predict", "city", "-o", "m.rkhs", *second]
    assert main(["fit", "with_city.csv", *words]) == 2
    assert "leave it out with --drop-columns city" in capsys.readouterr().err
    args = whole_parser().parse_args(["fit", "with_city.csv", "--drop-columns", "city", *words])
    found = read_rows(args, predict=["city"])
    assert found.data.column_names == ("a", "b")
    assert found.columns["--predict"][0].tolist() == CITIES


def test_labels_are_found_by_equal_names_of_the_first_column(capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"age": range(12), "id": NAMES, "city": CITIES}).to_csv("other.csv", index=False)
    words = ["fit", "plain.csv", "--labels", "other.csv", "--predict", "city", "-o", "m.rkhs"]
    assert main(words) == 2
    assert "such as 'r0', each once in the first column or that of --index-column" in capsys.readouterr().err
    assert main([*words, "--index-column", "id"]) == 0
    pd.DataFrame({"id": NAMES[:9], "city": CITIES[:9]}).to_csv("other.csv", index=False)
    assert main([*words, "--index-column", "id"]) == 0
    printed = capsys.readouterr()
    assert "other.csv: 3 items have no row there: r9, r10, r11" in printed.err
    assert "3 of 12 rows have no class" in printed.out
    np.save("plain.npy", RNG.normal(size=(12, 2)))
    assert main(["fit", "plain.npy", *words[2:]]) == 2
    assert "plain.npy has none; name their column with --index-column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["with_city.csv", "--columns", "a,city", "--labels", "labels.csv"], "which would be the answer"),
        (["plain.csv", "--labels", "missing.csv"], "missing.csv"),
        (["plain.csv", "--labels", "short.csv"], "expected the names of the rows of plain.csv, such as 'r0'"),
        (["plain.csv", "--targets", "short.csv"], "short.csv: expected one row for each row of plain.csv, 12; got 3"),
        (["plain.csv", "--targets", "labels.csv"], "must have the rows of the input in the same order; got 'r11' in"),
    ],
)
def test_second_files_that_do_not_fit_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"n": range(3), "city": CITIES[:3]}).to_csv("short.csv", index=False)
    assert main(["fit", *words, "--predict", "city", "-o", "m.rkhs"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("m.rkhs").exists()
