"""Months such as 03.2019 are dates, however numbers are spelled in their file, and decimal numbers stay such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs._core.dates import are_dates, day_numbers
from rkhs.data import read_mixed, read_table

MONTHS = ["03.2019", "11.2018", "1.2020", "12.2018"]
DAYS = [
    np.datetime64(month).astype("datetime64[D]").astype(int) for month in ("2019-03", "2018-11", "2020-01", "2018-12")
]


def file_of(folder: Path, cells: list[str], *, separator: str, number: str) -> Path:
    path = folder / "a.csv"
    rows = [separator.join([cell, number, "xy"[i % 2]]) for i, cell in enumerate(cells)]
    path.write_text("\n".join([separator.join(["since", "price", "kind"]), *rows, ""]))
    return path


@pytest.mark.parametrize(("separator", "number"), [(",", "1.5"), (";", "1,5"), (";", "15"), ("\t", "1,5")])
@pytest.mark.parametrize("form", ["{0}.{1}", "{1}-{0}", "{1}/{0}", "{0}/{1}"])
def test_months_are_dates(tmp_path: Path, separator: str, number: str, form: str) -> None:
    cells = [form.format(*month.split(".")) for month in MONTHS]
    data = read_mixed(file_of(tmp_path, cells, separator=separator, number=number))
    assert data.dates == ("since",)
    assert data.X[:, 0].tolist() == DAYS
    assert data.X[:, 1].tolist() == [float(number.replace(",", "."))] * 4


def test_months_with_gaps_are_dates_and_numbers_are_none(tmp_path: Path) -> None:
    gap = read_mixed(file_of(tmp_path, ["03.2019", "", "k.A.", "12.2018"], separator=",", number="1"), missing=["k.A."])
    assert gap.X[:, 0].tolist() == [DAYS[0], None, None, DAYS[3]]
    for cells in (["10.2019", "11.2018", "12.2018"], ["1.2020", "3.2018", "13.2018"], ["3.1234", "03.2019", "1.2"]):
        path = file_of(tmp_path, cells, separator=",", number="1")
        np.testing.assert_array_equal(read_table(path, columns=["since"]).X[:, 0], list(map(float, cells)))


@pytest.mark.parametrize("cell", ["11.2018", ""])
def test_a_new_row_alone_holds_a_month_as_the_fit_did(tmp_path: Path, cell: str) -> None:
    new = file_of(tmp_path, [cell], separator=",", number="1")
    assert read_mixed(new, kinds=["date", "number", "text"]).X[0, 0] == (DAYS[1] if cell else None)
    with pytest.raises(ValueError, match=r"held dates in the training file; got texts.*'7'"):
        read_mixed(file_of(tmp_path, ["7"], separator=",", number="1"), kinds=["date", "number", "text"])


def test_times_of_the_day_are_parts_of_one() -> None:
    assert day_numbers(["00:15", "8:05:00", "23:45"]) == [1 / 96, 97 / 288, 95 / 96]
    assert day_numbers(["2024-01-31 24:00", "2024-02-01 00:00"]) == 2 * [19754.0]
    assert not any(map(are_dates, (["36:15"], ["16:9"], [""], ["24:15"], ["2024-01-31", "00:15"])))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("su 3 helmi 2019 01:00", "2019-02-03T01:00"),
        ("12 marraskuuta 2019", "2019-11-12"),
        ("Mo, 4. März 2019 12:00", "2019-03-04T12:00"),
        ("mar. 5 févr. 2019", "2019-02-05"),
        ("1er août 2019", "2019-08-01"),
        ("3 de febrero de 2019", "2019-02-03"),
        ("10 giugno 2019", "2019-06-10"),
        ("segunda-feira 4 março 2019", "2019-03-04"),
        ("5 października 2019", "2019-10-05"),
        ("tors 3 maj 2019", "2019-05-03"),
        ("Mon Jan 14 2019", "2019-01-14"),
        ("mar 3 2019", "2019-03-03"),
    ],
)
def test_dates_of_other_languages(text: str, day: str) -> None:
    """Weekdays are left out, and a month is known by the start of its name."""
    assert day_numbers([text]) == [(np.datetime64(day) - np.datetime64(0, "D")) / np.timedelta64(1, "D")]


@pytest.mark.parametrize("text", ["Sample 3 2019", "So 3", "Mercury 3.2.19", "3 Lockheed 2019"])
def test_other_words_make_no_date(text: str) -> None:
    assert day_numbers([text]) is None
