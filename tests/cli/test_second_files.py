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
@pytest.mark.parametrize("name", ["city", "0"])
def test_a_column_of_the_input_with_the_name_of_the_answer_is_no_input(second: list[str], name: str) -> None:
    """It would be the answer itself."""
    words = ["--predict", "city", "-o", "m.rkhs", *second]
    if name == "0":
        for file in ("labels.csv", "targets.csv"):
            pd.read_csv(file)[["city", "id"]].to_csv(file, index=False)
    expected = read_rows(whole_parser().parse_args(["fit", "plain.csv", *words]), predict=["city"])
    args = whole_parser().parse_args(["fit", "with_city.csv", *words])
    with pytest.warns(UserWarning, match="with_city.csv: its column city is no input: "):
        found = read_rows(args, predict=[int(name) if name == "0" else name])
    assert found.data.column_names == ("a", "b")
    np.testing.assert_array_equal(found.data.X, expected.data.X)
    assert found.columns["--predict"][0].tolist() == expected.columns["--predict"][0].tolist() == CITIES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["with_city.csv", "--columns", "a,city", "--labels", "labels.csv"], "--columns must not contain the column"),
        (["plain.csv", "--labels", "missing.csv"], "missing.csv"),
        (
            ["plain.csv", "--labels", "short.csv", "--index-column", "id"],
            "expected a column with the names of the rows",
        ),
        (["plain.csv", "--targets", "short.csv"], "short.csv: expected one row for each row of plain.csv, 12; got 3"),
        (["plain.csv", "--targets", "labels.csv"], "must have the rows of the input in the same order; got 'r11' in"),
    ],
)
def test_second_files_that_do_not_fit_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"city": CITIES[:3], "a": range(3)}).to_csv("short.csv", index=False)
    assert main(["fit", *words, "--predict", "city", "-o", "m.rkhs"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("m.rkhs").exists()
