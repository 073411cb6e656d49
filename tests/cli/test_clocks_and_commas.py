"""Meters as utilities export them: decimal commas, a word for days not measured, date and time in two columns."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main
from rkhs.data import read_mixed

DAYS, STEPS = 40, 24
START = datetime.datetime(2023, 3, 1, 6)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_meter(*, word: str, first: str = "Ab-Datum;Ab-Uhrzeit", lost: tuple[int, ...] = ()) -> None:
    """A meter with three decimals in each value, which might be thousands, and 24 hours without one."""
    rng = np.random.default_rng(0)
    rows = [f"{first};Wirkarbeit [kWh]"]
    for i in range(DAYS * STEPS):
        moment = START + datetime.timedelta(hours=i)
        value = 5.0 + 2.0 * np.sin(2.0 * np.pi * moment.hour / 24.0) + 0.3 * rng.normal()
        cell = word if 200 <= i < 224 and word else f"{value:.3f}".replace(".", ",")
        time = ";".join([moment.strftime("%d.%m.%Y")] + [moment.strftime("%H:%M")] * (";" in first))
        rows += [f"{time};{cell}"] * (i not in lost)
    Path("meter.csv").write_text("\n".join(rows) + "\n")


def command_of(said: str) -> list[str]:
    """The words of the command at the end of an error."""
    return shlex.split(said.rstrip().splitlines()[-1])[1:]


@pytest.mark.parametrize(("first", "window"), [("Ab-Datum;Ab-Uhrzeit", ["--window", "24"]), ("Ab-Datum", [])])
def test_numbers_with_commas_among_words_are_no_categories(
    capsys: pytest.CaptureFixture[str], first: str, window: list[str]
) -> None:
    write_meter(word="---", first=first)
    assert main(["fit", "meter.csv", "--plan", *window]) == 2
    said = capsys.readouterr().err
    assert "936 of 960 cells of Wirkarbeit [kWh] are numbers such as '" in said
    rest = "whose commas may separate thousands too; 24 are not, the first '---': pass --decimal ',' --missing=---"
    assert rest in said
    words = command_of(said)
    assert words == ["fit", "meter.csv", "--plan", *window, "--missing=---", "--decimal", ",", "--mixed"]
    assert main(words) == 0


def test_dates_are_not_blamed_for_words_among_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{START + datetime.timedelta(days=i):%d.%m.%Y};{i % 7},5;{i % 5},2" for i in range(60)]
    rows[30] = rows[30].replace(",5;", ",5;k.A.").removesuffix("0,2")
    Path("days.csv").write_text("Datum;Wert;Temp\n" + "\n".join(rows) + "\n")
    assert main(["fit", "days.csv", "--plan"]) == 2
    said = capsys.readouterr().err
    assert "column 'Temp' (1 cells, first 'k.A.' in row 31, line 32)" in said
    assert main(command_of(said)) == 0


def test_date_and_time_in_two_columns_are_one_clock(capsys: pytest.CaptureFixture[str]) -> None:
    write_meter(word="", lost=(300, 301, 302))
    command = ["fit", "meter.csv", "--window", "24", "--step", "24", "--decimal", ","]
    assert main([*command, "-o", "m.rkhs", "--estimator", "kernel-pca", "--n-components", "2"]) == 0
    said = capsys.readouterr().err
    assert "column 'Ab-Datum' and column 'Ab-Uhrzeit' are read as one time" in said
    assert "windows begin at 02.03.2023 00:00 by the clock of the file; rows before: 18" in said
    assert "1 of 39 windows left out" in said
    assert "13.03.2023 00:00" in said


def test_days_of_hours_that_are_named_by_their_ends_begin_after_midnight(capsys: pytest.CaptureFixture[str]) -> None:
    """24:00 is the end of a day, in a column next to that of dates, and one day is far from all others."""
    rows = [
        f"{START + datetime.timedelta(days=i // 24):%d-%m-%Y},{1 + i % 24:02}:00,{i * i % 7 + 90 * (i // 24 == 30)}"
        for i in range(24 * 40 - 3)
    ]
    Path("hours.csv").write_text("Date,time,NO2\n" + "\n".join(rows[3:]) + "\n")
    assert main(["novelty", "hours.csv", "-o", "n.csv"]) == 0
    said = capsys.readouterr().err
    assert "windows of a day" in said
    assert command_of(said) == ["novelty", "hours.csv", "-o", "n.csv", "--window", "24"]
    assert main(command_of(said)) == 0
    said = capsys.readouterr()
    assert "of 38 windows of hours.csv" in said.out
    assert f"  {START + datetime.timedelta(days=30):%d-%m-%Y} 01:00: score 1.01, p 0.0263, in NO2+" in said.out


@pytest.mark.parametrize("command", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("report", "map")), "fit"])
def test_rows_of_a_series_are_noted_with_its_clock(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_meter(word="")
    more = ["--plan"] if command == "fit" else ["-o", "x.html"]
    assert main([command, "meter.csv", "--decimal", ",", "--mixed", *more]) == 0
    said = capsys.readouterr().err
    assert "40 windows of a day" in said
    assert "--window 24 makes an item of each, without Ab-Datum, Ab-Uhrzeit" in said
    assert "--drop-columns Ab-Datum,Ab-Uhrzeit leaves" in said


def test_many_different_texts_are_no_column_of_classes_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i % 17}.5,{i % 13}.25,town {i % 600}" for i in range(1800)]
    Path("towns.csv").write_text("a,b,town\n" + "\n".join(rows) + "\n")
    assert main(["fit", "towns.csv", "--plan"]) == 2
    words = command_of(capsys.readouterr().err)
    assert words[-3:] == ["--mixed", "--drop-columns", "town"]
    with pytest.warns(UserWarning, match="'town' holds 600 different texts, each a category"):
        read_mixed("towns.csv")


@pytest.mark.parametrize("cells", [["0", "1,125"], ["1,125", "7,500", "12,250"]])
def test_commas_before_three_digits_are_ambiguous_by_themselves(
    capsys: pytest.CaptureFixture[str], cells: list[str]
) -> None:
    Path("a.csv").write_text("\n".join(["id;x", *(f"row {i};{cell}" for i, cell in enumerate(cells))]) + "\n")
    assert main(["fit", "a.csv", "--plan"]) == 2
    said = capsys.readouterr().err
    assert "--decimal ','" in said
    assert "--thousands ','" in said
