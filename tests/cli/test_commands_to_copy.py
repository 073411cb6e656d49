"""Commands that errors and warnings about a file print: copied literally, they do what the message says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.data import read_items
from tests.cli.commands import printed, table


@pytest.mark.parametrize(("encoding", "other"), [("cp1252", "cp1252"), ("utf-16-le", "utf-16-le")])
def test_another_encoding(run, encoding: str, other: str) -> None:
    table("a.csv", ["Stadt;x", *(f"Köln{i};{i * i % 7}" for i in range(12))], encoding)
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 2
    assert printed(said) == ["novelty", "a.csv", "-o", "b.csv", "--encoding", other]
    assert run(*printed(said))[0] == 0
    assert "Köln3" in Path("b.csv").read_text(encoding="utf-8")


def test_bytes_that_windows_does_not_write(run) -> None:
    Path("a.txt").write_bytes(b"".join(b"na\xefve \x81 %d\n" % i for i in range(12)))
    status, said, _ = run("novelty", "a.txt", "--encoding", "cp1252")
    assert status == 2
    assert "as --encoding NAME ('latin-1' takes any bytes)" in said
    assert run("novelty", "a.txt", "--encoding", "latin-1")[0] == 0


def customers(n: int = 24) -> list[str]:
    """A table whose first column names its rows, one of them twice."""
    return ["Nr.;kind;x", *(f"K{max(i, 1)};{'abc'[i % 3]};{i * i % 11}" for i in range(n))]


@pytest.mark.parametrize("mixed", [[], ["--mixed"]])
def test_names_that_repeat_name_the_rows(run, mixed: list[str]) -> None:
    table("a.csv", customers())
    status, said, out = run("novelty", "a.csv", *mixed, "-o", "b.csv")
    assert status == (0 if mixed else 2)
    assert "'K1'" in said
    assert "takes names that repeat" in said
    assert "--drop-columns Nr." not in said + out
    assert {*printed(said)} == {"novelty", "a.csv", "--mixed", "-o", "b.csv", "--index-column", "Nr."}
    assert run(*printed(said))[0] == 0
    assert "K17" in Path("b.csv").read_text(encoding="utf-8")


def test_molecules_whose_names_repeat_are_named(run) -> None:
    table("a.csv", ["Compound ID;SMILES", *(f"VX-{max(i, 1)};{'C' * (i + 1)}O" for i in range(12))])
    status, said, _ = run("nearest", "a.csv", "--smiles", "SMILES", "-o", "b.csv")
    assert status == 0
    assert said.count("'VX-1' stands there more than once") == 1
    assert run(*printed(said))[:2] == (0, "")
    assert "VX-7" in Path("b.csv").read_text(encoding="utf-8")


TITLES = ["Assay: CYP", "Export: M, 12.03.2025", ""]


@pytest.mark.parametrize(
    ("above", "mark", "rows"),
    [(TITLES, ",", 2), (["Export: M; 12.03.2025"], ";", 1), (["Export, M, 12.03.2025"], ",", 1)],
)
def test_rows_above_a_table_are_left_out(run, above: list[str], mark: str, rows: int) -> None:
    table("a.csv", [*above, *(mark.join(cells) for cells in named_numbers())])
    status, said, out = run("fit", "a.csv", "-o", "m.rkhs")
    assert status == 0
    assert f"left out: {rows}\n" in said + out
    assert "24 rows of 3 columns" in said + out


def named_numbers() -> list[list[str]]:
    """A table with the names of its columns and rows."""
    return [["ID", "a", "b", "c"], *([f"x{i}", f"{i * i % 17}", f"{i % 7}", f"{i * i % 5}"] for i in range(24))]


@pytest.mark.parametrize("above", [TITLES, ["Heights", "of plants"]])
def test_several_titles_are_skipped(run, above: list[str]) -> None:
    table("a.csv", [*above, *(";".join(f'"{cell}"' for cell in cells) for cells in named_numbers())])
    status, _, said = run("novelty", "a.csv")
    assert status == 0
    assert f"rows above the table left out: {sum(map(bool, above))}" in said


def test_a_row_that_lacks_a_cell_is_no_title(run) -> None:
    rows = [",".join(cells) for cells in named_numbers()]
    table("a.csv", [*rows[:5], "x4,1,2", *rows[5:]])
    status, said, _ = run("novelty", "a.csv")
    assert status == 2
    assert "got 3 in row 5 (line 6)" in said
    assert "this command" not in said


@pytest.mark.parametrize(("late", "status"), [("4.020", 2), ("4.02", 0), ("12.03.2025", 0)])
def test_points_below_the_first_rows(run, late: str, status: int) -> None:
    """Cells with points in row 300 are thousands or decimals, as those of the first rows are."""
    table("a.csv", ["name;day;price", *(f"M{i};{i % 7};{i % 9}" for i in range(300)), f"M300;{late};{late}"])
    found, said, _ = run("nearest", "a.csv", *["--mixed"] * (late.count(".") > 1), "--columns", "day")
    assert found == status
    if status:
        assert "column 'day': numbers such as '4.020' are ambiguous" in said
        assert printed(said)[-2:] == ["--thousands", "."]
        assert run(*printed(said))[0] == 0


def test_thousands_in_labels(run) -> None:
    """The same marks may be those of the items; where they are not, no command is printed."""
    for name, cell in (("a.csv", "{}"), ("b.csv", "{},5")):
        table(name, ["name;x;z", *(f"M{i};{i * i % 17};{cell.format(i % 3)}" for i in range(24))])
    table("c.csv", ["name,x,z", *(f"M{i},{i * i % 17},{i % 3}.5" for i in range(24))])
    table("labels.csv", ["name;price", *(f"M{i};{1 + i % 5}.{100 + i}" for i in range(24))])
    for name in ("a.csv", "b.csv"):
        status, said, _ = run("map", name, "--labels", "labels.csv", "--color", "price", "-o", "m.png")
        assert status == 2
        assert "labels.csv: column 'price': numbers such as '1.100' are ambiguous" in said
        assert printed(said)[-2:] == ["--decimal", "."]
        said = said.rpartition("\n\n")[0]
        assert printed(said)[-2:] == ["--thousands", "."]
        assert run(*printed(said))[0] == 0
    status, said, _ = run("map", "c.csv", "--labels", "labels.csv", "--color", "price", "-o", "m.png")
    assert status == 2
    assert said.endswith("options that read it do not read c.csv: write both files alike\n")


def test_labels_in_another_encoding(run) -> None:
    table("a.csv", ["name,x,z", *(f"M{i},{i * i % 17},{i % 3}.5" for i in range(24))])
    table("labels.csv", ["name,Größe", *(f"M{i},{i % 5}" for i in range(24))], "cp1252")
    status, said, _ = run("map", "a.csv", "--labels", "labels.csv", "--color", "Größe", "-o", "m.png")
    assert (status, "labels.csv: read as text in cp1252, of Excel" in said) == (0, True)


def test_cells_that_are_no_numbers_in_many_columns_are_one_line(run) -> None:
    words = {(3, 1): "OVR", (4, 2): "OVR", (5, 3): "OVR", (6, 3): "OVR", (7, 1): "---x"}
    rows = [[f"M{i}", *(words.get((i, j), f"{i * j % 7}.5") for j in range(4))] for i in range(24)]
    table("a.csv", ["name,a,b,c,d", *map(",".join, rows)])
    table("labels.csv", ["name,y", *(f"M{i},{i % 5}" for i in range(24))])
    words = ["--labels", "labels.csv", "--color", "y", "-o", "m.png"]
    status, said, _ = run("map", "a.csv", "--mixed", *words)
    assert (status, said.count("no numbers")) == (0, 1)
    assert "are read as gaps: 'OVR' (4 cells in 3 columns), '---x' (1 cell in 1 column)" in said


@pytest.mark.parametrize("name", ["{},5 ms", "{}.5s", "{},5", "{} nm"])
def test_times_of_curves_with_a_unit(run, name: str) -> None:
    cells = [[f"{(i + 3 * k) % 11}{',5' if ',' in name else '.5'}" for k in range(8)] for i in range(24)]
    mark = ";" if "," in name else "\t"
    table("a.tsv", [mark.join(["probe", *map(name.format, range(8))]), *(mark.join(["p", *row]) for row in cells)])
    found = read_items("a.tsv", kind="curves")
    assert found.times.tolist() == [k + (".5" in name.replace(",", ".")) / 2 for k in range(8)]


@pytest.mark.parametrize("names", [["0 s", "1 s", "2 ms"], ["0 s", "2 s", "1 s"]])
def test_times_of_several_units_are_refused(run, names: list[str]) -> None:
    table("a.csv", [",".join(names), *(f"{i},{i % 3},{i % 4}" for i in range(24))])
    with pytest.raises(InputError, match="times"):
        read_items("a.csv", kind="curves")


def test_a_transposed_table_of_vectors_may_have_gaps(run) -> None:
    rows = [[f"g{i}", *(f"{(i * i + 3 * j) % 11}" for j in range(12))] for i in range(24)]
    rows[4][2] = ""
    table("a.csv", [",".join(["gene", *(f"s{j}" for j in range(12))]), *map(",".join, rows)])
    status, said, _ = run("nearest", "a.csv", "--transpose", "--kind", "vectors")
    assert status == 0
    assert "1 of 24 rows of the file have cells without a number and are left out: g4" in said


def test_columns_that_cannot_be_predicted(run) -> None:
    """What fits is named, not to leave columns out; ``--color`` is named by its flag."""
    rows = [f"{i * i % 17},{i % 5}.5,{'abc'[i % 3]},{i if i % 3 else 'bad'}" for i in range(24)]
    table("a.csv", ["x,y,kind,mix", *rows])
    for words, expected in (
        (["fit", "a.csv", "--predict", "kind,y"], "--predict takes columns of numbers, or one column of classes\n"),
        (["fit", "a.csv", "--predict", "mix"], "correct them, or take them as gaps; this command takes them as gaps:"),
        (["map", "a.csv", "--color", "mix"], "correct them, or take them as gaps; this command takes them as gaps:"),
    ):
        status, said, _ = run(*words, "-o", "m.rkhs" if words[0] == "fit" else "m.png")
        assert status == 2
        assert expected in said
        assert "leave columns out" not in said
    assert "--missing bad" in said


def test_two_readings_of_a_comma_are_two_commands(run) -> None:
    """A person who knows what 1,073 means copies one of them."""
    table("a.csv", ["x;hours", *(f"{i};{1 + i % 5},{100 + i}" for i in range(24))])
    status, said, _ = run("fit", "a.csv", "--predict", "hours", "-o", "m.rkhs")
    assert status == 2
    assert "--thousands ',' if commas separate thousands, or --decimal ','" in said
    first, second = said.rpartition("\n\n")[0], said
    for text, flag in ((first, "--thousands"), (second, "--decimal")):
        assert printed(text)[-2:] == [flag, ","]
        assert run(*printed(text))[0] == 0


def test_a_column_of_classes_next_to_curves_is_left_out(run) -> None:
    """The command names the column, with those that the words leave out already."""
    table(
        "a.csv", ["id;0 ms;1 ms;2 ms;who;state", *(f"B{i};{i},5;{i % 3},2;1,{i};x{i};{'pq'[i % 2]}" for i in range(12))]
    )
    status, said, _ = run("fit", "a.csv", "--kind", "curves", "--drop-columns", "who", "-o", "m.rkhs")
    assert status == 2
    assert "this command leaves them out:" in said
    assert printed(said)[-2:] == ["--drop-columns", "who,state"]
    assert run(*printed(said))[0] == 0


def test_windows_without_a_column_that_is_mostly_empty(run) -> None:
    """A date next to a clock in UTC is one time; names of columns with commas are quoted and read."""
    rows = ["Data;Hora UTC;Radiação, horária;Chuva, total;Vento, m/s"]
    for i in range(20 * 24):
        sun = f"{i * i % 89},5" if 9 <= i % 24 < 20 else ""
        rows.append(f"2023/01/{1 + i // 24:02};{i % 24:02}00 UTC;{sun};{i * i % 17},2;{i % 24 + i * i % 5},1")
    table("inmet.csv", rows)
    status, said, _ = run("novelty", "inmet.csv", "--window", "24", "-o", "b.csv")
    assert status == 2
    assert said.count("'Hora UTC' are read as one time") == 1
    assert "(Radiação, horária in most); this command" in said
    words = printed(said)
    assert words[-2:] == ["--columns", '"Chuva, total","Vento, m/s"']
    assert run(*words)[0] == 0
    assert len(Path("b.csv").read_text("utf-8").splitlines()) == 21


def test_gaps_with_commas_are_quoted_in_commands(run) -> None:
    """Obeyed, the command takes these cells as gaps and no others."""
    prices = [f"{200 + 37 * i}kg" for i in range(40)] + ["1t,200kg", "1t,250kg"]
    table("a.csv", ["x;note;p", *(f"{i % 7}.5;about {chr(65 + i)}{i};{price}" for i, price in enumerate(prices))])
    status, said, _ = run("fit", "a.csv", "--predict", "p", "-o", "m.rkhs")
    assert status == 2
    assert "(2 of these hold digits, such as '1t,200kg', which gaps lose: write them as numbers in kg" in said
    words = printed(said)
    assert '"1t,200kg","1t,250kg"' in words
    status, _, said = run(*words)
    assert status == 0
    assert "40 items" in said


def test_one_run_prints_one_command(run) -> None:
    """A warning before an error printed a command without the correction of the error, and the error one without that
    of the warning.
    """
    rows = [f"2024-03-{i + 1:02d},{'ab'[i % 2]},{i % 5}.5,{i * i % 7}" for i in range(28)]
    table("a.csv", ["day,kind,size,mass", *rows])
    table("b.csv", ["day,kind,mass", *(f"2024-03-01,a,{i}" for i in range(4))])
    status, said, _ = run("nearest", "a.csv", "b.csv", "--mixed", "-o", "n.csv")
    assert status == 2
    assert "this command compares the other columns, and does what the warning above advises:" in said
    assert said.count("\n\n  rkhs ") == 1
    assert printed(said)[-2:] == ["--drop-columns", "day,size"]
    assert run(*printed(said))[:2] == (0, "")


def test_a_command_that_was_run_is_not_printed_as_its_own_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers with a minus behind them, which no separator reads."""
    monkeypatch.chdir(tmp_path)
    rows = [f"n{i};1.2{i % 10}0,{i:03d};{i}" for i in range(30)]
    Path("a.csv").write_text("\n".join(["name;y;x", *rows, "m;1.250,500-;3"]) + "\n")
    words = ["novelty", "a.csv", "--thousands", "."]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "got 1 with separators, first '1.250,500-'" in said
    assert "this command" not in said
