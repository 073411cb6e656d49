"""Ordinary tables come back with their numbers, names and gaps; what could be lost in silence is refused or said."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import rkhs.data
from rkhs._core.errors import InputError
from rkhs.data import read_chunks, read_mixed, read_table
from rkhs.data.known_columns import read_column, read_numbers


def file_of(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


MEASURED = ["16.6 mm", "<16.6", "1.66D+01", "16.6±0.1", "16.6*", "16.6 EUR", "0x40f6", "\u221216.6", "$16.6",
            "EUR 16.6", "16.6 (est.)", "16,6 mm", "16\u00b0", "16.6a", "1 166.5", "12:30", "3/4",
            "(16.6)"]  # fmt: skip


@pytest.mark.sample(9)
@pytest.mark.parametrize("cell", MEASURED)
def test_a_first_column_of_measurements_is_not_taken_for_names(tmp_path: Path, cell: str) -> None:
    other = [cell.replace("6", str(digit)) + ("" if "6" in cell else " " * digit) for digit in (6, 7, 8, 9)]
    rows = "".join(f'"{text}",{i},{i * i}\n' for i, text in enumerate(other))
    path = file_of(tmp_path, "size,b,c\n" + rows)
    for read in (read_table, lambda path: next(read_chunks(path, rows=2))):
        with pytest.raises(InputError, match=r"got .* in column 'size'"):
            read(path)
    named = read_table(path, index_column=0)
    assert named.row_names == tuple(text.strip() for text in other)
    titled = read_table(
        file_of(
            tmp_path,
            "sample_id,b,c\n" + rows.replace(' "', '"') if len(set(named.row_names)) == 4 else "id,b,c\nx,1,2\n",
        )
    )
    assert titled.row_names is not None


GAPS = ["", "NA", "#N/A", ".", "-", "<NA>", "\\N", "#DIV/0!", "1.#QNAN", "n.d.", "nan", "NULL", "?", "n/a", "--"]


@pytest.mark.parametrize("gap", GAPS)
def test_known_tokens_are_gaps_of_numbers(tmp_path: Path, gap: str) -> None:
    path = file_of(tmp_path, f"a,b\n1,5\n2,6\n{gap},7\n4,8\n")
    assert read_mixed(path).X[:, 0].tolist() == [1.0, 2.0, None, 4.0]
    np.testing.assert_array_equal(read_column(path, "a", argument="column"), [1.0, 2.0, np.nan, 4.0])
    with pytest.raises(
        InputError, match=r"expected a finite number in every cell; got .* in row 3 \(line 4\), column 'a'"
    ):
        read_table(path)


@pytest.mark.parametrize("cell", [">6.5", "3.5%", "3,5", "oops", "12 m"])
def test_other_cells_of_numbers_are_named_or_taken_as_gaps(tmp_path: Path, cell: str) -> None:
    path = file_of(tmp_path, f'a,b\n1,5\n2,6\n"{cell}",7\n4,8\n')
    for read in (read_table, read_mixed, lambda path: read_column(path, "a", argument="column")):
        with pytest.raises(InputError, match=rf"column 'a' \(1 cells, first '{cell}' in row 3, line 4\).*missing="):
            read(path)
    assert read_mixed(path, missing=[cell]).X[:, 0].tolist() == [1.0, 2.0, None, 4.0]


def test_a_minus_is_a_category_among_texts(tmp_path: Path) -> None:
    path = file_of(tmp_path, "strand,b\n+,1\n-,2\n+,3\n-,4\n")
    assert read_mixed(path).X[:, 0].tolist() == ["+", "-", "+", "-"]


X = [[1.5, 2.0], [3.0, 4.25], [5.0, 6.0]]
ROWS = "1.5,2\n3,4.25\n5,6\n"
LAYOUTS: dict[str, tuple[str | bytes, str]] = {
    "title": (f"Results of 2024\n\na,b\n{ROWS}", "rows above the table left out: 1"),
    "padded title": ("Results of 2024,,\nid,a,b\nu,1.5,2\nv,3,4.25\nw,5,6\n", "rows above the table left out: 1"),
    "comments": (f"# made by hand\n# in 2024\na,b\n{ROWS}", "lines above the table that begin with # left out: 2"),
    "comments between rows": (
        f"# one\na,b\n{ROWS}# two, three, four\n",
        "lines above the table that begin with # left out: 1",
    ),
    "percents": (f"% one\n% two\na,b\n%,kg\n{ROWS}", "lines above the table that begin with % left out: 2"),
    "slashes": ("// one\n\na,b\n1.5,2\n// two\n3,4.25\n5,6\n", "lines above the table that begin with // left out: 1"),
    "sep": (("sep=;\na,b\n" + ROWS).replace(",", ";"), ""),
    "sep, tabulator": (("sep=\t\na,b\n" + ROWS).replace(",", "\t"), ""),
    "units": (f"a,b\nmm,kg\n{ROWS}", "taken for units"),
    "questions of Qualtrics": (
        'a,b\n"How, or\nwhy?",When?\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n' + ROWS,
        "rows of questions and ImportIds of Qualtrics below the names left out: 2",
    ),
    "ending delimiters": ("a,b,\n1.5,2,\n3,4.25,\n5,6,\n", "columns without name and cells are left out: 1"),
    "only rows end with one": ("a,b\n1.5,2,\n3,4.25,\n5,6,\n", "every row ends with a delimiter"),
    "blank column": ("a,,b\n1.5,,2\n3,,4.25\n5,,6\n", "columns without name and cells are left out: 1"),
    "blank rows": ("a,b\n1.5,2\n,\n3,4.25\nNA,\n5,6\n", "rows without a known cell are left out: 2"),
    "blank line": ("a,b\n1.5,2\n\n3,4.25\n5,6\n", "rows without a known cell are left out: 1"),
    "R": ('"a" "b"\n"1" 1.5 2\n"2" 3 4.25\n"3" 5 6\n', "names the rows"),
    "R, commas": ('"a","b"\n"u",1.5,2\n"v",3,4.25\n"w",5,6\n', "names the rows"),
    "white space": ("  a   b\n1.5 2\n  3   4.25\n 5\t6\n", "cells are split at white space"),
    "a column of texts": ("who,a,b\nu,1.5,2\nv,3,4.25\nw,5,6\n", "column 'who' names the rows"),
    "UTF-16": (b"\xff\xfe" + f"a\tb\n{ROWS}".replace(",", "\t").encode("utf-16-le"), "cells are split at tabs"),
    "byte order mark": (f"\ufeffa,b\n{ROWS}", ""),
    "decimal commas": ("a;b\n1,5;2\n3;4,25\n5;6\n", "numbers are read with decimal commas"),
}


@pytest.mark.parametrize("form", LAYOUTS)
def test_ordinary_layouts_are_read_and_said(tmp_path: Path, form: str) -> None:
    text, said = LAYOUTS[form]
    path = file_of(tmp_path, text)
    found = read_table(path)
    np.testing.assert_array_equal(found.X, X)
    assert found.column_names == ("a", "b")
    assert said in " ".join(found.guessed)
    assert bool(said) == bool(found.guessed)
    np.testing.assert_array_equal(np.concatenate([part.X for part in read_chunks(path, rows=2)]), X)


COMMAS: dict[str, tuple[str, str, Any]] = {
    "a column of decimal commas": ("a.csv", "who;x\nu;-1,80\nv;9,00\n", [[-1.8], [9.0]]),
    "white space": ("a.csv", " x\nu 1951,5\nv 470,78\n", [[1951.5], [470.78]]),
    "too many digits for a thousand": ("a.csv", "x;y\n1158,239;2,814\n8,945;1\n", [[1158.239, 2.814], [8.945, 1.0]]),
    "quoted text": ("a.txt", '"who"|"x"\n"Größe, 1"|"1,5"\n"Größe, 2"|"2,5"\n', [[1.5], [2.5]]),
    "a comma in a name": ("a.csv", "id;weight, kg\nu;0,00\nv;1,00\n", r"',' and ';' split alike; pass delimiter="),
    "one column": ("a.csv", "x\n1,5\n2,5\n", r"decimal=',' if commas are decimal"),
    "exponents": ("a.csv", 'a,b\n"2,0e+03","1,5e-02"\n', "pass decimal=','"),
    "a title over numbers": ("a.csv", "Results\n1.5,2\n3,4.25\n", "skip_rows= if this is a title"),
    "an empty first column": ("a.csv", "made by\nNA;1.5\n2.5;3\n", "skip_rows= if this is a title"),
    "years": ("a.csv", "1990,1991\n1.5,2.5\n3.5,4.5\n", "pass header=True"),
    "names beside years": (
        "a.csv",
        "id,1990,1991,1992\nu,1.5,2.5,3\nv,3.5,4.5,5\n",
        [[1.5, 2.5, 3.0], [3.5, 4.5, 5.0]],
    ),
    "no header, and decimal commas": ("a.csv", "1,5;7,5\n3,5;4,5\n5,5;6,5\n", [[1.5, 7.5], [3.5, 4.5], [5.5, 6.5]]),
    "bars in names": ("a.csv", "protein,x\ngi|1|ref|A|,-1\ngi|2|ref|B|,-2\n", [[-1.0], [-2.0]]),
    "several numbers in a cell": ("a.csv", "made by hand\n1 2\n1 2\n", "several numbers; name the character between"),
}


@pytest.mark.parametrize("case", COMMAS)
def test_commas_titles_and_names_are_told_from_numbers(tmp_path: Path, case: str) -> None:
    name, text, expected = COMMAS[case]
    path = file_of(tmp_path, text.encode("latin-1" if name.endswith(".txt") else "utf-8"), name)
    options = {"encoding": "latin-1"} if name.endswith(".txt") else {}
    if isinstance(expected, list):
        for kind in ("read_items", "read_table"):
            np.testing.assert_array_equal(getattr(rkhs.data, kind)(path, **options).X, expected)
    else:
        with pytest.raises(InputError, match=expected):
            read_mixed(path)


def test_a_first_row_with_numbers_is_no_row_of_names_or_units(tmp_path: Path) -> None:
    bare = file_of(tmp_path, "1.5,2\n3,\n,6\n")
    assert read_mixed(bare).X.tolist() == [[1.5, 2.0], [3.0, None], [None, 6.0]]
    first = file_of(tmp_path, "a,b\n10,.\n-9,-1\n.,-3\n", "b.csv")
    assert read_mixed(first).X.tolist() == [[10.0, None], [-9.0, -1.0], [None, -3.0]]


def test_rows_of_weak_gaps_are_left_out_and_counted(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a,b\n1,5\n.,-\n3,7\n4,oops\n5,9\n")
    found = read_mixed(path, missing=["oops"])
    assert found.X.tolist() == [[1.0, 5.0], [3.0, 7.0], [4.0, None], [5.0, 9.0]]
    assert found.guessed == ("rows without a known cell are left out: 1",)
    with pytest.raises(InputError, match="expected a number or text in some cell"):
        read_mixed(file_of(tmp_path, "a,b\n.,-\n-,.\n", "b.csv"))


def test_options_lead_through_other_layouts(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Made by, X\nin, 2024\na,b\n# first\n1.5,2\n3,4.25\n// second\n5,6\n")
    with pytest.raises(InputError, match=r"pass comment='#'"):
        read_table(path, skip_rows=2)
    with pytest.raises(InputError, match=r"pass comment='//'"):
        read_table(path, skip_rows=2, comment="#")
    path.write_text(path.read_text().replace("//", "#"))
    np.testing.assert_array_equal(read_table(path, skip_rows=2, comment="#").X, X)
    thousands = file_of(tmp_path, "a;b\n1,500;2\n3,000;4\n", "b.csv")
    with pytest.raises(InputError, match="decimal=','"):
        read_table(thousands)
    np.testing.assert_array_equal(read_table(thousands, decimal=",").X, [[1.5, 2.0], [3.0, 4.0]])


def test_comments_are_lines_alone_and_no_rows_to_skip(tmp_path: Path) -> None:
    text = "% made by\n% hand\nid\trF\tb\n\t%\t\u00b0C\nu\t1,5\t2\n% later\nv\t3\t4,25\nw\t5\t6\n"
    path = file_of(tmp_path, text, "a.txt")
    for options in ({}, {"comment": "%"}, {"skip_rows": 2}, {"comment": "%", "skip_rows": 2, "delimiter": "\t"}):
        found = read_table(path, **options)
        np.testing.assert_array_equal(found.X, X)
        assert (found.row_names, found.column_names) == (("u", "v", "w"), ("rF", "b"))
    hashes = file_of(tmp_path, "# by hand\nwho,note,x\n#1,a # b,1\n#N/A,b,2\n#2,c,x\n", "b.csv")
    rows = read_mixed(hashes, missing=["x"]).X.tolist()
    assert rows == [["#1", "a # b", 1.0], [None, "b", 2.0], ["#2", "c", None]]
    errors = file_of(tmp_path, "who,x\na,1\n# b\n#N/A,2\n", "c.csv")
    assert read_mixed(errors, comment="#").X.tolist() == [["a", 1.0], [None, 2.0]]


def test_blank_lines_below_the_rows_to_skip_are_left_out(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"Results\n\na,b\n{ROWS}")
    np.testing.assert_array_equal(read_table(path, skip_rows=1).X, X)


def test_a_first_column_without_a_name_is_data_where_it_is_asked_for(tmp_path: Path) -> None:
    path = file_of(tmp_path, ",a,b\n7,1.5,2\n8,3,4.25\n")
    np.testing.assert_array_equal(read_table(path, columns=[1, 0]).X, [[1.5, 7.0], [3.0, 8.0]])
    found = read_table(path, index_column="a")
    np.testing.assert_array_equal(found.X, [[7.0, 2.0], [8.0, 4.25]])
    assert found.row_names == ("1.5", "3")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x1f\x8b\x08\x00rest", "gzip"),
        (b"PAR1rest", "a parquet file"),
        (b"PK\x03\x04rest", r"\.xlsx"),
        (b"a,b\n1,2\n3,\x004\n", "a NUL character at place 10"),
        ("a,b\n1,2\n".encode("utf-16-le"), "a NUL character at place 1"),
    ],
)
def test_what_is_no_text_is_said_to_be_what_it_is(tmp_path: Path, content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_table(file_of(tmp_path, content))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64) | st.integers(-9999, 9999).map(float)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, list[str]]:
    """Numbers with gaps, no row and no column of gaps alone, and names of rows."""
    n, d = draw(st.integers(2, 6)), draw(st.integers(2, 4))
    values = np.array(draw(st.lists(NUMBERS, min_size=n * d, max_size=n * d))).reshape(n, d)
    gap = np.array(draw(st.lists(st.integers(0, 5), min_size=n * d, max_size=n * d))).reshape(n, d) == 0
    gap[:, 0] = gap[0] = False
    return np.where(gap, np.nan, values), [f"row {i}" for i in draw(st.permutations(range(n)))]


WRITERS: dict[str, dict[str, Any]] = {
    "pandas": {},
    "pandas, NA": {"na_rep": "NA"},
    "pandas, tab": {"sep": "\t", "na_rep": "nan"},
    "R": {"na_rep": "NA", "quoting": 2},
    "R write.table": {"sep": " ", "na_rep": "NA", "quoting": 2},
    "Excel": {"lineterminator": "\r\n", "encoding": "utf-8-sig"},
    "Excel, comma": {"sep": ";", "decimal": ",", "lineterminator": "\r\n", "encoding": "utf-8-sig"},
    "Excel, Unicode": {"sep": "\t", "lineterminator": "\r\n", "encoding": "utf-16"},
}


@pytest.mark.parametrize("writer", WRITERS)
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_tables_of_any_writer_come_back(tmp_path: Path, writer: str, table: tuple[np.ndarray, list[str]]) -> None:
    values, names = table
    options = dict(WRITERS[writer])
    frame = pandas.DataFrame(values, index=names, columns=[f"x{j}" for j in range(values.shape[1])])
    text = frame.to_csv(**{name: value for name, value in options.items() if name != "encoding"})
    if writer == "R write.table":
        text = text.removeprefix('"" ')
    given: dict[str, Any] = {}
    if options.get("decimal") and not any("," in c and len(c.partition(",")[2]) != 3 for c in text.split(";")):
        given["decimal"] = ","  # 1,234 alone may be a thousand
    path = file_of(tmp_path, text.encode(options.get("encoding", "utf-8")))
    found = read_mixed(path, **given)
    np.testing.assert_array_equal(found.X.astype(float), values)
    assert found.row_names == tuple(names)
    assert found.column_names == tuple(frame.columns)
    if not np.isnan(values).any():
        plain = read_table(path, **given)
        np.testing.assert_array_equal(plain.X, values)
        assert plain.row_names == tuple(names)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), delimiter=st.sampled_from([" ", ",", "\t"]), header=st.sampled_from(["", "x0"]))
def test_tables_of_numpy_come_back(
    tmp_path: Path, table: tuple[np.ndarray, list[str]], delimiter: str, header: str
) -> None:
    values, out = np.nan_to_num(table[0]), io.StringIO()
    names = delimiter.join(f"x{j}" for j in range(values.shape[1])) if header else ""
    np.savetxt(out, values, delimiter=delimiter, header=names, fmt="%.17g")
    found = read_table(file_of(tmp_path, out.getvalue()), **({} if header else {"header": False}))
    np.testing.assert_array_equal(found.X, values)
    assert found.column_names == (tuple(f"x{j}" for j in range(values.shape[1])) if header else None)


def test_a_title_with_a_comma_is_not_taken_for_names(tmp_path: Path) -> None:
    text = "Heights, and weights\nid,a,b\n" + "".join(f"s{i},{i}.5,{i * i}\n" for i in range(6))
    found = read_table(file_of(tmp_path, text))
    assert found.column_names == ("a", "b")
    assert found.guessed[0] == "rows above the table left out: 1"


def test_infinite_cells_may_be_named_as_gaps(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a,b\n1,5\ninf,6\n3,7\n")
    for read in (read_table, read_mixed):
        with pytest.raises(InputError, match="got 'inf' in row 2.* or name them with missing="):
            read(path)
    assert read_mixed(path, missing=["inf"]).X[1].tolist() == [None, 6.0]


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv", ";")])
def test_bars_in_names_are_no_delimiter(tmp_path: Path, name: str, mark: str) -> None:
    text = "protein,class\ngi|1|ref|A|,x\ngi|2|r|B|,y\n".replace(",", mark)
    assert rkhs.data.read_mixed(file_of(tmp_path, text.encode(), name)).column_names == ("class",)


def test_thousands_and_a_unit_go_together(tmp_path: Path) -> None:
    """In targets and in inputs, with a decimal comma too; groups of two digits are none."""
    file = file_of(tmp_path, 'size,price\n1.5,"8,119 EUR"\n2.5,950 EUR\n3.5,"1,234,567 EUR"\n', "prices.csv")
    with pytest.warns(UserWarning, match="'EUR', the unit of all its cells"):
        found = read_column(file, "price", argument="target", thousands=",")
    assert found.tolist() == [8119.0, 950.0, 1234567.0]
    for read in (read_table, read_numbers):
        with pytest.raises(InputError, match="pass thousands=','"):
            read(file, columns=["price"])
    with pytest.warns(UserWarning, match="'EUR', the unit of all its cells"):
        assert read_mixed(file, thousands=",").X[:, 1].tolist() == [8119.0, 950.0, 1234567.0]
    commas = file_of(tmp_path, "size;price\n1,5;8.119,25 EUR\n2,5;950,50 EUR\n", "commas.csv")
    with pytest.warns(UserWarning, match="'EUR', the unit of all its cells"):
        found = read_column(commas, "price", argument="target", decimal=",", thousands=".")
    assert found.tolist() == [8119.25, 950.5]
