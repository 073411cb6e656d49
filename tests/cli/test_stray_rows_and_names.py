"""Rows and names that are not what they seem: totals, spellings, rows far from the fit, names that are nearly right."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import pytest

import rkhs
from rkhs.cli.columns import _order_note
from rkhs.cli.main import main
from rkhs.data import Dataset
from rkhs.features import FilledTable

RNG = np.random.default_rng(0)
FAST = ["--estimator", "kernel-pca", "-o", "s.rkhs"]  # where only sentences count


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Items with two numbers and the price, whose last line is to be filled in."""
    monkeypatch.chdir(tmp_path)
    rows = [f"s{i},{i % 7 + 1.5},{i * 3 % 11},{2 * (i % 7) + i * 3 % 11}" for i in range(30)]
    Path("sales.csv").write_text("\n".join(["shop,area,staff,asking price", *rows]) + "\n")
    return tmp_path / "sales.csv"


@pytest.mark.parametrize("name", ["Total", "SUM:", "Grand total"])
def test_a_last_row_of_sums_is_reported(sales: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    whole = sales.read_text()
    cells = np.array([line.split(",")[1:] for line in whole.splitlines()[1:]], dtype=float)
    sales.write_text(f"{whole}{name},{','.join(map(str, cells.sum(0)))}\n")
    assert main(["fit", "sales.csv", *FAST]) == 0
    assert capsys.readouterr().err.count(f"the row '{name}' holds the sums of those above it: delete it") == 1


def test_a_last_row_without_such_a_name_or_without_sums_is_a_row(
    sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = sales.read_text()
    cells = np.array([line.split(",")[1:] for line in whole.splitlines()[1:]], dtype=float)
    for last in (f"s30,{','.join(map(str, cells.sum(0)))}\n", "Total,1,2,3\n", ""):
        sales.write_text(whole + last)
        assert main(["fit", "sales.csv", *FAST]) == 0
        assert "holds the sums" not in capsys.readouterr().err


def test_categories_that_differ_in_case_alone_are_named(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *lines = sales.read_text().splitlines()
    fuels = ["Petrol", "petrol", "diesel", "LPG"]
    rows = [f"{line},{fuels[i % 4]}" for i, line in enumerate(lines)]
    sales.write_text("\n".join([f"{first},fuel", *rows]) + "\n")
    for more in ([], ["--predict", "fuel"]):
        assert main(["fit", "sales.csv", *FAST, *more]) == 0
        said = capsys.readouterr().err
        assert said.count("column 'fuel': 'Petrol' and 'petrol' differ in case or spaces alone") == 1
    sales.write_text(sales.read_text().replace("petrol", "Petrol"))
    assert main(["fit", "sales.csv", *FAST]) == 0
    assert "in case or spaces" not in capsys.readouterr().err


def test_a_part_of_a_name_is_recognised(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "sales.csv", "--predict", "Price", "-o", "s.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "did you mean 'asking price'; this command reads it:" in said
    assert said.endswith("\n\n  rkhs fit sales.csv -o s.rkhs --predict 'asking price'\n")
    titles = "Some House, Inc., Ghent\nof sales, 2024, all\n"
    Path("titled.csv").write_text(titles + Path("sales.csv").read_text())
    assert main(["fit", "titled.csv", "--predict", "Price", "-o", "s.rkhs"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("\n\n  rkhs fit titled.csv -o s.rkhs --predict 'asking price'\n")
    assert said.count("rkhs fit") == 1


def test_rows_far_from_those_of_the_fit_are_counted(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the range of each column, of tables of numbers and of texts; in Python too, and not a little outside."""
    assert main(["fit", "sales.csv", "--predict", "asking price", "-o", "s.rkhs"]) == 0
    Path("new.csv").write_text("shop,area,staff\nx,11000,3\ny,8.1,12\nz,900,1\n")
    text = "rows far outside of the range of the fit: column 'area' 2 of 3, such as 11,000; the fit has"
    capsys.readouterr()
    assert main(["predict", "s.rkhs", "new.csv"]) == 0
    assert f"new.csv: {text} 1.5 to 7.5" in (said := capsys.readouterr().err)
    assert "'staff'" not in said
    first, *lines = sales.read_text().splitlines()
    sales.write_text("\n".join([f"{first},town", *(f"{line},{'ab'[i % 2]}" for i, line in enumerate(lines))]) + "\n")
    assert main(["fit", "sales.csv", "--predict", "asking price", "-o", "s.rkhs"]) == 0
    rows = [{"area": area, "staff": 3.0, "town": "a"} for area in (11000.0, 8.1, 900.0)]
    model = rkhs.load("s.rkhs")
    with pytest.warns(UserWarning, match=text):
        model.predict(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows[1:2])


def test_no_rows_are_refused_in_words_of_the_user() -> None:
    table = FilledTable().fit([(1.0, "a"), (2.0, "b"), (3.0, "a"), (4.0, "b")])
    with pytest.raises(rkhs.errors.InputError, match="^X must hold at least one row; got none"):
        table.transform([])


def test_a_file_of_other_columns_is_refused_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where genes stand in rows too, and the names of the other file are numbers."""
    monkeypatch.chdir(tmp_path)
    genes = [f"g{j}," + ",".join(f"{x:.2f}" for x in RNG.normal(size=12)) for j in range(20)]
    Path("genes.csv").write_text("gene," + ",".join(f"p{i}" for i in range(12)) + "\n" + "\n".join(genes) + "\n")
    assert main(["fit", "genes.csv", "--transpose", "-o", "g.rkhs"]) == 0
    runs = [f"r{j}," + ",".join(f"{x:.2f}" for x in RNG.normal(size=8)) for j in range(6)]
    Path("runs.csv").write_text("run," + ",".join(f"{i / 5}" for i in range(8)) + "\n" + "\n".join(runs) + "\n")
    capsys.readouterr()
    assert main(["transform", "g.rkhs", "runs.csv", "-o", "c.csv"]) == 2
    said = capsys.readouterr().err
    assert "runs.csv lacks 'g0', 'g1', 'g2', 'g3', 'g4' and 15 more, of the columns of the training file" in said


def test_genes_with_gaps_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they are few; the first command that is printed fits, and new samples need the genes of the model alone."""
    monkeypatch.chdir(tmp_path)

    def write(path: str, gaps: list[int]) -> None:
        cells = [
            ["NA" if (i, j) in {(gap, gap % 12) for gap in gaps} else f"{RNG.normal():.2f}" for j in range(12)]
            for i in range(40)
        ]
        lines = [f"g{i},{'' if i == 3 else f'S{i}'}," + ",".join(row) for i, row in enumerate(cells)]
        Path(path).write_text("gene,symbol," + ",".join(f"p{i}" for i in range(12)) + "\n" + "\n".join(lines) + "\n")

    write("genes.csv", [4, 17, 18, 30])
    Path("people.csv").write_text("name,group\n" + "".join(f"p{i},{'ab'[i % 2]}\n" for i in range(12)))
    words = ["--transpose", "--labels", "people.csv", "--predict", "group", "-o", "g.rkhs"]
    assert main(["fit", "genes.csv", *words]) == 2
    said = capsys.readouterr().err
    assert said.rstrip().endswith("rkhs fit genes.csv " + " ".join([*words, "--drop-columns", "symbol"]))
    assert main(["fit", "genes.csv", *words, "--drop-columns", "symbol"]) == 0
    said = capsys.readouterr()
    what = "genes.csv: 4 of 40 rows of the file have cells without a number and are left out: g4, g17, g18 and 1 more"
    assert (said.err.count(what), "12 items" in said.out) == (1, True)
    write("new.csv", [4, 17])
    assert main(["predict", "g.rkhs", "new.csv", "-o", "p.csv"]) == 0
    write("new.csv", [4, 6])
    capsys.readouterr()
    assert main(["predict", "g.rkhs", "new.csv", "-o", "p.csv"]) == 2
    said = capsys.readouterr().err
    assert "1 of 40 rows of the file have cells without a number, which the model reads: g6; fill these cells" in said
    assert "--mixed" not in said
    write("genes.csv", [4, 17, 18, 30, 31])
    assert main(["fit", "genes.csv", *words, "--drop-columns", "symbol"]) == 0
    what = "5 of 40 rows of the file have cells without a number and are filled from the nearest items: g4, g17, g18"
    assert what in capsys.readouterr().err


def hours(start: str, count: int) -> str:
    """Hours of a series from this time on, of which the first column is the load."""
    times = np.datetime64(start) + np.arange(count).astype("timedelta64[h]")
    load = 10.0 + np.sin(np.arange(count) * np.pi / 12) + RNG.normal(size=count)
    lines = [f"{x:.3f},{str(time).replace('T', ' ')}" for x, time in zip(load, times, strict=True)]
    return "\n".join(["load,time", *lines]) + "\n"


def test_windows_of_days_begin_at_midnight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In either file, and where the column of dates is left out; windows of other lengths begin at the first row."""
    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text(hours("2024-01-01T00:00", 240))
    Path("new.csv").write_text(hours("2024-03-01T05:00", 240))
    for more in ([], ["--columns", "load"], ["--drop-columns", "time"]):
        assert main(["novelty", "old.csv", "new.csv", "--window", "24", *more, "-o", "n.csv"]) == 0
        begin = "windows begin at 2024-03-02 00:00 by the clock of the file; rows before: 19"
        assert f"new.csv: {begin}" in capsys.readouterr().err
        lines = Path("n.csv").read_text().splitlines()
        assert (lines[1].split(",")[0], len(lines)) == ("2024-03-02 00:00", 10)
    assert main(["novelty", "old.csv", "new.csv", "--window", "10", "-o", "n.csv"]) == 0
    assert Path("n.csv").read_text().splitlines()[1].startswith("2024-03-01 05:00,")
    assert main(["novelty", "old.csv", "new.csv", "--window", "6", "-o", "n.csv"]) == 0
    assert Path("n.csv").read_text().splitlines()[1].startswith("2024-03-01 06:00,")


def test_missing_rows_are_found_by_dates_that_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = hours("2024-01-01T00:00", 240).splitlines(keepends=True)
    Path("old.csv").write_text("".join(lines[:101] + lines[104:]))
    assert main(["novelty", "old.csv", "--window", "24", "--columns", "load", "-o", "n.csv"]) == 0
    lost = (
        "1 of 10 windows left out for cells without a number, and times that are missing or stand twice, in more than"
    )
    assert f"{lost} a tenth of a window or of its length in a row: 2024-01-05 00:00\n" in capsys.readouterr().err


def long_hours(form: str, zone: str, days: int, first: datetime) -> str:
    """A column of hours and their times, in this form, by the clock of a zone that is set forward and back."""
    start, clock = first.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC), ZoneInfo(zone)
    times = ((start + timedelta(hours=i)).astimezone(clock) for i in range(24 * days))
    lines = (f"{RNG.normal():.3f};{time:{form}}" for time in times)
    return "\n".join(["load;time", *lines]) + "\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize("form", ["%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S%z"])
def test_days_begin_at_midnight_where_the_clock_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """An hour of the days of 23 and 25 hours is filled, in times with and without an offset from UTC."""
    monkeypatch.chdir(tmp_path)
    Path("year.csv").write_text(long_hours(form, "Africa/Casablanca", 50, datetime(2023, 3, 10)))
    assert main(["novelty", "year.csv", "--window", "24", "-o", "n.csv"]) == 0
    changes = [f"{datetime(2023, *day):{form.removesuffix('%z')}}" for day in ((3, 19), (4, 23))]
    said = capsys.readouterr()
    assert "2 of 50 windows lack 2 cells of 48, which are filled by straight lines" in said.err
    names = [line.split(",")[0] for line in Path("n.csv").read_text().splitlines()[1:]]
    assert len(names) == 50
    assert {*changes} < {*names}
    assert all("00:00" in name for name in names)
    assert any(f"  {name}: score " in said.out for name in names)


def test_two_series_in_one_file_are_cut_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So are times that are not equal steps apart."""
    monkeypatch.chdir(tmp_path)
    first, *lines = hours("2024-01-01T05:00", 240).splitlines(keepends=True)
    Path("old.csv").write_text("".join([first, *lines, *lines]))
    assert main(["novelty", "old.csv", "--window", "24", "-o", "n.csv"]) == 0
    assert "old.csv: its times repeat, or differ in steps: windows are cut by rows" in capsys.readouterr().err
    assert Path("n.csv").read_text().splitlines()[1].startswith("1-24,")


def test_values_far_from_all_others_are_few_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where one row is wrong in many columns, and other rows in one each."""
    monkeypatch.chdir(tmp_path)
    X = RNG.normal(size=(60, 12)) * 10.0 ** np.arange(12)
    X[7, 5:] *= 1e4
    X[range(5), range(5)] *= 1e6
    np.savetxt("x.csv", X, delimiter=",", header=",".join("abcdefghijkl"), comments="")
    assert main(["novelty", "x.csv"]) == 0
    said = capsys.readouterr().out
    assert said.count("holds one value far from all others") == 3
    assert "note: row 8 holds values far from all others in 7 columns (f, g, h, i, j and 2 more)" in said
    assert "note: 2 more values stand far from all others of their columns: d (" in said
    assert " in row 4), e (" in said


@pytest.mark.parametrize(
    "words",
    [
        ["novelty", "year.csv", "year.csv"],
        pytest.param(["fit", "year.csv", "--robust", "-o", "y.rkhs"], marks=pytest.mark.slow),
    ],
)
def test_many_single_hours_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """The command with windows is printed in place of a lack of memory."""
    monkeypatch.chdir(tmp_path)
    Path("year.csv").write_text(long_hours("%d.%m.%Y %H:%M", "UTC", 210, datetime(2023, 1, 1)))
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "the 5040 rows are times of one long series, 210 windows of a day" in said
    assert (
        "--drop-columns time leaves the time out of single rows; this command compares windows, the second one takes"
        in said
    )
    assert said.rstrip().splitlines()[-3].split() == ["rkhs", *words, "--window", "24"]
    assert main([*words, "--window", "24"]) == 0


def test_classes_of_sequences_are_named_by_labels_or_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sequences = ["".join(RNG.choice(list("ACGT"), 30)) for _ in range(24)]
    Path("s.fasta").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(sequences)))
    Path("c.csv").write_text("name,class\n" + "".join(f"s{i},{'ab'[i % 2]}\n" for i in range(24)))
    words = ["fit", "s.fasta", "--predict", "class", "-o", "s.rkhs"]
    assert main(words) == 2
    assert "name a table with --labels FILE" in capsys.readouterr().err
    for flag in ("--targets", "--labels"):
        assert main([*words, flag, "c.csv"]) == 0


def test_the_note_on_a_series_stands_before_what_is_novel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text(hours("2024-01-01T00:00", 240))
    assert main(["novelty", "old.csv"]) == 0
    said = capsys.readouterr()
    assert "times of one long series" in said.err
    assert "have p of at most" in said.out


def test_labels_of_no_item_are_counted_with_an_example(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,a,b\n" + "\n".join(f"M{i},{i % 7},{i % 5}" for i in range(40)))
    Path("l.csv").write_text(
        "id,gas\n" + "\n".join(f"{f'M{i:03}' if i < 9 else f'M{i}'},{'xy'[i % 2]}" for i in range(30))
    )
    assert main(["fit", "a.csv", "--labels", "l.csv", "--predict", "gas", "-o", "m.rkhs"]) == 0
    assert (
        "19 items have no row there: M0, M1, M2, M3, M4 and 14 more; 9 rows there are of no item, such as 'M000'"
        in (capsys.readouterr().err)
    )


def test_a_column_without_a_cell_is_left_out(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{'xy'[i % 2]},{i % 7},," for i in range(40)]
    Path("a.csv").write_text("a,b,c,Unnamed: 3,d\n" + "\n".join(rows))
    assert main(["fit", "a.csv", "--predict", "c", "-o", "m.rkhs"]) == 0
    out = capsys.readouterr()
    assert out.err.count("left out, because no cell is known: column 'Unnamed: 3', column 'd'") == 1
    assert "empty cells" not in out.out
    Path("b.csv").write_text("a,b\n1,x\n")
    assert main(["predict", "m.rkhs", "b.csv"]) == 0


def test_times_that_are_not_read_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows named by other texts are cut by their numbers, which missing hours shift."""
    monkeypatch.chdir(tmp_path)
    lines = [f"week {i // 168} hour {i % 168},{i % 24}.{i * 7 % 10}" for i in range(240)]
    Path("counts.csv").write_text("\n".join(["when,bikes", *lines]) + "\n")
    assert main(["novelty", "counts.csv", "--window", "24", "-o", "n.csv"]) == 0
    said = "no time of its rows is read: windows are cut by rows, and missing or doubled hours shift the windows behind"
    assert f"counts.csv: {said}" in capsys.readouterr().err


def test_a_table_in_long_form_is_said_before_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each person stands with each protein: the note makes a row of each person, and none is made of groups."""
    monkeypatch.chdir(tmp_path)
    cells = [(f"p{i}", f"prot{j}", j, (i * 7 + j * 3) % 11 + 0.5) for i in range(20) for j in range(10)]
    lines = [",".join(map(str, row)) for row in cells]
    Path("npx.csv").write_text("\n".join(["Person,Protein,LOD,NPX", *lines]) + "\n")
    assert main(["fit", "npx.csv", "-o", "m.rkhs", "--mixed"]) == 0
    said = capsys.readouterr().err
    assert "each of 20 values of Person stands with each of 10 of Protein" in said
    exec(str(re.search(r'python -c "(.*)"', said)[1]))  # type: ignore[index]
    assert pandas.read_csv("wide.csv", index_col=0).shape == (20, 10)
    lines = [f"p{i % 20},prot{i * i % 7},{i},{i * 7 % 11}.5" for i in range(200)]
    Path("npx.csv").write_text("\n".join(["Person,Protein,LOD,NPX", *lines]) + "\n")
    assert main(["fit", "npx.csv", "-o", "m.rkhs", "--mixed"]) == 0
    assert "long form" not in capsys.readouterr().err


def test_the_window_of_a_series_is_a_period_and_not_a_few_rows() -> None:
    """Rows next to each other are alike in all smooth series; pulses repeat after 300 rows, nearly."""
    rng = np.random.default_rng(0)
    phase = np.cumsum(1.0 + 0.3 * np.repeat(rng.normal(size=20), 300)) / 300.0
    data = Dataset(np.sin(2.0 * np.pi * phase)[:, None], "vectors", None, ("v",), "scope.csv")
    note = _order_note(data)
    assert note is not None
    assert note[1] > 200
    assert f"--window {note[1]} makes an item of each {note[1]} rows" in note[0]
