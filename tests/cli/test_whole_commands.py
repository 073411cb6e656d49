"""Messages that print a whole command say what each flag in it does that the user did not type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.cli import columns
from rkhs.data import read_table
from rkhs.data.known_columns import read_column
from tests.cli.commands import printed, table

MONTHS = ["Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"]


def cars(n: int = 48) -> list[str]:
    """Cars with kilometres in one unit, some prices in another, and days in Turkish."""
    km, price = [f"{i * i % 90 + 1}.{i % 10}00 km" for i in range(n)], [f"{i % 37 + 3}.{i % 7}50 TL" for i in range(n)]
    km[5], price[7], price[11] = "0", "1.250 EUR", "ask"
    days = [f"{i % 28 + 1:02d} {MONTHS[i % 12]} 2024" for i in range(n)]
    return ["km;price;day", *map(";".join, zip(km, price, days, strict=True))]


def test_gaps_of_another_column_are_named_and_dates_are_kept(run) -> None:
    """The message is about the first column; the command takes cells of the second one as gaps."""
    table("a.csv", cars())
    status, said, _ = run("novelty", "a.csv")
    assert status == 2
    assert "takes '1.250 EUR', 'ask' as gaps, which are no numbers in the unit of their column (--missing)" in said
    assert "keeps texts and gaps (--mixed)" in said
    words = ["novelty", "a.csv", "--thousands", ".", "--missing", "1.250 EUR,ask", "--mixed"]
    assert printed(said) == words  # 0 is a number in any unit, and the days are read
    assert run(*words)[0] == 0


def test_an_address_names_the_rows_and_other_lone_texts_are_said_to_go(run) -> None:
    rows = [f"{i % 7};ann{i}@example.com;{'ab'[i % 2]};{i}-{i * i}" for i in range(24)]
    table("a.csv", ["visits;Email;kind;phone", *rows])
    status, said, _ = run("novelty", "a.csv")
    assert status == 2
    assert "--index-column Email names the rows by it" in said
    assert "--drop-columns leaves out 'phone', whose texts hardly repeat" in said
    assert {"--index-column", "Email", "--drop-columns", "phone", "--mixed"} <= {*printed(said)}
    status, said, _ = run(*printed(said), "-o", "n.csv")
    assert status == 0
    assert "ann3@example.com" in Path("n.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", ["", " mg"])
def test_approximate_numbers_are_numbers_and_counted(tmp_path: Path, unit: str) -> None:
    cells = ["ca. 1.78", "~1.5", "\u2248 2", "approx. 3", "circa 2.5", "4"]
    file = tmp_path / "a.csv"
    file.write_text("x,dose\n" + "".join(f"{i},{cell}{unit}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    with pytest.warns() as caught:
        found = read_column(file, "dose", argument="target")
    np.testing.assert_array_equal(found, [1.78, 1.5, 2.0, 3.0, 2.5, 4.0])
    sentence = f"column 'dose': cells of approximate numbers, such as 'ca. 1.78{unit}', are read as their numbers: 5"
    assert sentence in str(caught[0].message)


def test_names_that_begin_like_approximate_numbers_are_texts(tmp_path: Path) -> None:
    """A mutation, a home directory and an amount in words."""
    (tmp_path / "a.csv").write_text("id,x\nc.35delG,1\n~user1,2\nca. 3 to 4,3\n", encoding="utf-8")
    assert read_table(tmp_path / "a.csv").row_names == ("c.35delG", "~user1", "ca. 3 to 4")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["fit", "-o", "m.rkhs"], "--predict"),
        (["report"], "--predict"),
        (["map", "-o", "m.png"], "--color"),
        (["compare"], "--predict"),
    ],
)
def test_labels_without_a_column_print_the_command_for_the_likely_one(run, words: list[str], flag: str) -> None:
    """Texts that repeat before numbers; names of rows are no such column."""
    table("a.csv", ["id,x,y", *(f"p{i},{i * i % 17},{i % 5}" for i in range(24))])
    table("b.csv", ["id,age,sex", *(f"p{i},{20 + i},{'mf'[i % 2]}" for i in range(24))], "cp1252")
    command = [words[0], "a.csv", *words[1:], "--labels", "b.csv"]
    status, said, _ = run(*command)
    assert status == 2
    assert f"--labels needs {flag} COLUMN; b.csv has the columns 'age', 'sex'" in said
    assert printed(said) == [*command, flag, "sex"]
    if words[0] == "map":
        assert run(*printed(said))[0] == 0


def long_form(n: int) -> None:
    cells = [(f"p{i}", f"prot{j}", j, (i * 7 + j * 3) % 11 + 0.5) for i in range(n // 10) for j in range(10)]
    table("npx.csv", ["Person,Protein,LOD,NPX", *(",".join(map(str, row)) for row in cells)])


def test_many_rows_in_long_form_are_refused_before_a_long_fit(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are noted; the command says that rows are items; a first column that names rows hides nothing."""
    monkeypatch.setattr(columns, "_SLOW", 210)
    long_form(220)
    words = ["fit", "npx.csv", "-o", "m.rkhs", "--mixed"]
    for more in ([], ["--index-column", "Person"]):
        status, said, _ = run(*words, *more)
        assert status == 2
        assert "this writes a row of each Person to wide.csv:" in said
        assert "this command takes each row for an item:" in said
        assert printed(said) == [*words, *more, "--window", "1"]
    status, said, _ = run(*printed(said))
    assert (status, "long form" in said) == (0, False)
    assert run("transform", "m.rkhs", "npx.csv", "-o", "c.csv")[0] == 0
    long_form(200)
    assert run(*words, "--plan")[0] == 0
    status, said, _ = run(*words)
    assert (status, "a table in long form" in said) == (0, True)


@pytest.mark.parametrize("spectra", [True, False])
def test_many_rows_of_a_series_are_refused_with_two_commands(
    run, monkeypatch: pytest.MonkeyPatch, spectra: bool
) -> None:
    """Windows, or columns that are curves; and the rows as they are, where a person knows better."""
    monkeypatch.setattr(columns, "_SLOW", 250)
    t, more = np.arange(260.0), ["--transpose"] if spectra else ["--window", "20"]
    curves = (
        [np.exp(-(((t - 100 - j % 3) / 30.0) ** 2)) for j in range(24)]
        if spectra
        else [np.sin(t * np.pi / 10.0), np.cos(t * np.pi / 10.0)]
    )
    table(
        "a.csv",
        [
            ",".join(["t", *(f"s{j}" for j in range(len(curves)))]),
            *(",".join(f"{c:.4f}" for c in row) for row in zip(t, *curves, strict=True)),
        ],
    )
    status, said, _ = run("map", "a.csv", "-o", "m.png")
    assert status == 2
    assert "the second one takes each row for an item:" in said
    first, second = said.rpartition("\n\n")[0], said
    assert printed(second) == ["map", "a.csv", "-o", "m.png", "--window", "1"]
    assert printed(first)[4:] == more
    status, said, _ = run("fit", "a.csv", "-o", "m.rkhs", "--predict", "s0")
    assert status == 0  # rows of a series are what is predicted


def test_spectra_in_columns_are_curves(run) -> None:
    """The axis falls, as wavenumbers do; a new file is read as that of the fit was."""
    t = np.arange(400.0, 300.0, -2.5)
    spectra = [np.exp(-(((t - 340.0 - i) / 9.0) ** 2)) for i in range(14)]
    rows = [",".join(f"{cell:.5g}" for cell in row) for row in zip(t, *spectra, strict=True)]
    table("a.csv", [",".join(["cm-1", *(f"s{i}" for i in range(14))]), *rows])
    status, said, _ = run("fit", "a.csv", "--kind", "curves", "-o", "m.rkhs")
    assert "this command reads each column as a curve over the first one:" in said
    assert printed(said) == ["fit", "a.csv", "--kind", "curves", "-o", "m.rkhs", "--transpose"]
    status, said, out = run(*printed(said))
    assert status == 0, said
    assert "14 curves at 40 times" in out
    assert run("transform", "m.rkhs", "a.csv", "-o", "c.csv")[0] == 0
    assert Path("c.csv").read_text(encoding="utf-8").splitlines()[1].startswith("s0,")
