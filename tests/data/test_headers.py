"""Names of columns where several rows, or rows of units, stand above the data, where names repeat, and in workbooks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import read_items, read_mixed, read_table
from rkhs.data.headers import numbered

GROUPS = "Assay,,Epitope,,Assay,\n"
NAMES = "IRI,When,IRI,Name,Units,Value\n"
ROWS = "".join(f"a{i},{1990 + i},e{i},PEP{i},nM,{i}.5\n" for i in range(8))
NUMBERS = "".join(f"r{i},{i}.5,{i * i},{7 - i},{i % 3}\n" for i in range(8))
CASES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "groups above names that repeat": (
        GROUPS + NAMES + ROWS,
        ("Assay IRI", "When", "Epitope IRI", "Name", "Units", "Value"),
        "names of columns are united from several rows: 'Assay IRI', 'Epitope IRI'",
    ),
    "one of two rows of groups tells the names apart": (
        ",Normalised,,Raw,\n,Ill,Well,Ill,Well\nwho,s1,s2,s1,s2\n" + NUMBERS,
        ("who", "Normalised s1", "Normalised s2", "Raw s1", "Raw s2"),
        "several rows: 'Normalised s1'",
    ),
    "names in two rows, as pandas writes them": (
        ",a,a,b,b\n,x,y,x,y\nwho,,,,\n" + NUMBERS,
        ("who", "a x", "a y", "b x", "b y"),
        "several rows: 'a x'",
    ),
    "an empty name below a title": (
        "who,plain,Ill,,\n,,u,v,w\n" + NUMBERS,
        ("who", "plain", "u", "v", "w"),
        "united from several rows: 'who'",
    ),
    "names that repeat alone": (
        "who,a,s,b,s\n" + NUMBERS,
        ("who", "a", "s", "b", "s.1"),
        "names that repeat have numbers behind them: 's.1'",
    ),
    "names that are empty": (
        "who,a,,b,\n" + NUMBERS,
        ("who", "a", "column 2", "b", "column 4"),
        "columns without a name are called by their places, from 0: 'column 2', 'column 4'",
    ),
    "formats below the names": (
        "who\ta\tb\tc\td\n5s\t14n\t14n\t6n\t6n\n".replace("\t", ",") + NUMBERS,
        ("who", "a", "b", "c", "d"),
        "the row below the names, 5s, 14n, 14n and 2 more, is taken for units",
    ),
    "units below names that repeat": (
        "who,a,a,b,b\n,(nm),[s],(nm),[s]\n" + NUMBERS,
        ("who", "a", "a.1", "b", "b.1"),
        "taken for units",
    ),
    "rows of values of samples above the names": (
        "Export,,,,\nlane,,1,2,3\nfile,,f1,f2,f3\n,,,,\nwho,a,b,c,d\n" + NUMBERS,
        ("who", "a", "b", "c", "d"),
        "rows above the table left out: 3",
    ),
    "rows of another width above": (
        "by X, of 2024\nat, all, of, them, and, more\nwho,a,b,c,d\n" + NUMBERS,
        ("who", "a", "b", "c", "d"),
        "left out: 2",
    ),
    "notes below": (
        "who,a,b,c,d\n" + NUMBERS + '\n"Means, of all"\nMade by: X\n',
        ("who", "a", "b", "c", "d"),
        "rows below the table left out: 2, the first",
    ),
    "a note right below": (
        "who,a,b,c,d\n" + NUMBERS + "* taken by hand\n",
        ("who", "a", "b", "c", "d"),
        "rows below the table left out: 1, the first '* taken by hand'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_names_are_found_and_said(tmp_path: Path, case: str) -> None:
    text, names, said = CASES[case]
    (path := tmp_path / "a.csv").write_text(text)
    found = read_mixed(path)
    assert (found.row_title, *(found.column_names or ())) == names
    assert said in " ".join(found.guessed)
    assert found.n_samples == 8


def test_workbooks_are_read_as_texts_are(tmp_path: Path) -> None:
    """Titles of any shape above a row of numbers as names, and notes below."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra tables")
    book = openpyxl.Workbook()
    above = [["Made by: X"], [], ["Date:", "14.03.2024"], ["Label", "", "", 600, "nm"], [], ["Cycle", *range(1, 13)]]
    wells = [[f"A{i}", *np.random.default_rng(i).normal(size=12).round(3).tolist()] for i in range(20)]
    for row in [*above, *wells, [], ["End:", "15.03.2024 17:09"]]:
        book.active.append(row)
    book.save(path := tmp_path / "plate.xlsx")
    found = read_table(path)
    assert found.column_names == tuple(map(str, range(1, 13)))
    assert (found.X.shape, found.row_names) == ((20, 12), tuple(f"A{i}" for i in range(20)))
    assert "rows below the table left out: 1, the first 'End:,15.03.2024 17:09'" in found.guessed
    curves = read_items(path, kind="curves", skip_rows=5)
    assert curves.times is not None
    assert curves.times.tolist() == list(range(1, 13))


def test_an_axis_behind_words_names_the_columns(tmp_path: Path) -> None:
    """Wavelengths at unequal steps, below lines of another width; the first row of rising curves is no axis."""
    axis = np.cumsum(np.random.default_rng(0).uniform(0.2, 0.9, 40)).round(3)
    rows = [f"2024-05-{i + 1:02d} 09:00\t{i}\t" + "\t".join(f"{i * j % 7}.5" for j in range(40)) for i in range(9)]
    lines = [*(f"Key {i}: value {i}" for i in range(12)), ">>>begin", "\t\t" + "\t".join(map(str, axis)), *rows]
    (path := tmp_path / "a.txt").write_text("\n".join(lines))
    found = read_table(path)
    assert found.column_names == tuple(map(str, axis))
    assert "the second column, without a name in front of an axis, is left out" in found.guessed
    assert found.X.shape == (9, 40)
    wide = "\t".join(f"{j / 7:.9f}" for j in range(1500))
    rows = [f"2024-05-{i + 1:02d} 09:00\t{i}\t" + "\t".join(f"{i * j % 7}.25" for j in range(1500)) for i in range(6)]
    (path := tmp_path / "c.txt").write_text("\n".join([*lines[:13], "\t\t" + wide, *rows]))
    assert read_table(path).X.shape == (6, 1500)
    (path := tmp_path / "d.csv").write_text("by\nwho,0,1,2.5,4\nu,1,2,3,4\nv,2,1,1,2\n")
    curves = read_items(path, kind="curves", skip_rows=1)
    assert (curves.times.tolist(), curves.row_names) == ([0.0, 1.0, 2.5, 4.0], ("u", "v"))
    rising = [f"s{i},u{i}," + ",".join(map(str, np.cumsum(np.arange(12) + i))) for i in range(9)]
    (path := tmp_path / "b.csv").write_text("\n".join(rising))
    with pytest.raises(InputError, match="clearly names or clearly data"):
        read_table(path)


def test_a_text_with_equal_cells_is_a_table(tmp_path: Path) -> None:
    rows = [f"USGS\tsite {i}\t2024-01-{i + 1:02d} 00:00\tEST\t{i}.5\tA\tP" for i in range(9)]
    (path := tmp_path / "a.txt").write_text("# by the agency\n" + "\n".join(["a\tb\tt\tz\tx\tk\tl", *rows]) + "\n")
    assert read_mixed(path).column_names == ("a", "b", "t", "z", "x", "k", "l")
    (path := tmp_path / "b.txt").write_text("\n".join(f"one, two {i}, three" for i in range(9)))
    assert read_items(path).kind == "texts"


def test_data_are_no_names_and_no_notes(tmp_path: Path) -> None:
    """A later row of texts, rows of few cells at the end, and a cell that is cut off stay what they are."""
    (path := tmp_path / "a.csv").write_text(
        "who,a,b,c,d\nr,1,2,3,4\nlost,x,y,z,u\n" + NUMBERS[NUMBERS.index("r2") :] + "s9,,,,5\nt,,,,\n"
    )
    found = read_mixed(path, missing=["x", "y", "z", "u"])
    assert (found.n_samples, found.column_names) == (8, ("a", "b", "c", "d"))
    assert [bad.text for bad in found.skipped] == ["lost", "t"]
    days = [f"2024-01-0{i} 00:00;{i}.5;{'x' * (i < 8)}\n" for i in range(1, 9)]
    path.write_text("when;a;b\n" + "".join(days) + "2024-01-09 00:00;;\n")
    assert read_mixed(path).n_samples == 9
    path.write_text("who,a,b,c,d\n" + NUMBERS + "r9")
    with pytest.raises(InputError, match="expected 5 cells in every row, as in the first one; got 1 in row 9"):
        read_table(path)


def test_numbers_behind_names_are_free() -> None:
    assert numbered(["a", "a", "a.1", "", "a", ""]) == ["a", "a.2", "a.1", "", "a.3", ""]


def test_a_comment_below_one_column_of_numbers_is_no_cell(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text("# x\n0.5\nnan\n2.5\n# end of file\n")
    assert read_table(path).X.tolist() == [[0.5], [2.5]]
    (path := tmp_path / "b.csv").write_text("# x\n0.5\nred\n# blue\n")
    assert read_mixed(path).X.tolist() == [["0.5"], ["red"], ["# blue"]]
