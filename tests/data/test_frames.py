"""Tables as pandas reads them: what is refused and how, what may not be lost, and ten messes, a line of pandas each."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.data import write_codes
from rkhs.data.cells import column_cells
from rkhs.data.frames import read_frame
from tests.tables import read_blocks, read_table

NUMBERS = np.array([[1.5, -2.0], [0.1, 3.0], [2.25, 4.0]])
PLAIN = "a,b\n1.5,-2\n0.1,3\n2.25,4\n"
PACKED = (".csv.gz", ".parquet", ".xlsx", ".feather")


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_as(frame: pd.DataFrame, path: Path) -> Path:
    """A frame as a file of the format that the name of the path says."""
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix in (".parquet", ".feather"):
        getattr(frame, f"to_{path.suffix[1:]}")(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


def many(texts: list[str]) -> str:
    """A column of texts that is too long for classes."""
    return "a,b\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts))


BAD: dict[str, tuple[str | bytes, str, list[str]]] = {  # the file, its name, and what the error names
    "NUL characters": (b"a,b\n1,2\n\0\0,3\n", "t.csv", ["NUL character", "--read encoding=utf-16"]),
    "units": (
        many([f"{i} kg" for i in range(30)]),
        "t.csv",
        ["column 'b'", "'0 kg', '1 kg', '2 kg'", "--drop-columns"],
    ),
    "currencies": (many([f"€{i},000" for i in range(30)]), "t.csv", ["column 'b'", "'€0,000'", "--read thousands=,"]),
    "decimal commas": (many([f"{i},5" for i in range(30)]), "t.csv", ["column 'b'", "'0,5'", "--read decimal=,"]),
    "a word for gaps": ("a,b\n1,2\n2,n.d.\n3,4\n", "t.csv", ["column 'b'", "'n.d.'", "--read na_values=n.d."]),
    "a short row": ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "t.csv", ["line 3", "3 cells", "got 2", "correct the row"]),
    "a header that is one name short": (
        "a,b\n1,2,3\n4,5,6\n7,8,9\n",
        "t.csv",
        ["2 cells", "got 3 in line 2", "--read index_col=0"],
    ),
    "a comma behind each row": ("a,b\n1,2,\n3,4,\n5,6,\n", "t.csv", ["2 cells", "got 3 in line 2"]),
    "decimal commas in the first column": (
        "x;y\n" + "".join(f"1,{i};0.{i}\n" for i in range(30)),
        "t.csv",
        ["column 'x'", "'1,0'", "--read decimal=,"],
    ),
    "a long row": ("a,b\n1,2\n3,4,5\n6,7\n", "t.csv", ["line 3", "saw 3", "--read OPTION=VALUE"]),
    "another encoding": ("name,x\nZürich,1\nBern,2\n".encode("cp1252"), "t.csv", ["--read encoding=cp1252"]),
    "an empty file": ("", "t.csv", ["got an empty file", "check"]),
    "a header alone": ("a,b\n", "t.csv", ["0 rows", "check the file"]),
    "a binary file": (bytes(range(256)) * 20, "t.csv", ["t.csv", "encoding"]),
    "a parquet file by another name": (b"PAR1" + bytes(60), "t.csv", ["a parquet file", "rename it"]),
    "names that repeat": ("a,b,a\n1,2,3\n", "t.csv", ["'a' more than once", "rename them", "--read header=None"]),
    "infinity": ("a,b\n1,2\ninf,4\n", "t.csv", ["finite", "inf", "row 2", "'a'"]),
    "infinity beside gaps": ("a,b\n1,\n2,4\ninf,5\n", "t.csv", ["finite", "inf", "row 3", "'a'"]),
    "another format": ("{}", "t.json", ["pandas.read_json", "to_csv"]),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_of_numbers_is_refused_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, file, named = BAD[name]
    write(tmp_path, content, file)
    monkeypatch.chdir(tmp_path)
    assert main(["fit", file, "-o", "m.rkhs"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert file in line
    assert [part for part in named if part not in line] == [], line


@pytest.mark.parametrize("end", PACKED)
def test_a_file_that_is_cut_off_is_refused_by_its_name(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{end}"
    if end == ".csv.gz":
        path.write_bytes(gzip.compress(PLAIN.encode() * 50))
    else:
        write_as(pd.DataFrame(NUMBERS, columns=["a", "b"]), path)
    content = path.read_bytes()
    for size in (len(content) - 9, len(content) // 2, 30):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=f"{re.escape(str(path))}: expected a complete") as error:
            read_table(path)
        assert "\n" not in str(error.value)


def test_a_folder_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f").mkdir()
    assert main(["fit", str(tmp_path / "f"), "-o", str(tmp_path / "m.rkhs")]) == 2
    assert "NAME_A.txt" in capsys.readouterr().err


def test_the_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, package in (("t.parquet", "pyarrow"), ("t.xlsx", "openpyxl")):
        write_as(pd.DataFrame(NUMBERS, columns=["a", "b"]), tmp_path / name)
        with monkeypatch.context() as patched:
            patched.setitem(__import__("sys").modules, package, None)
            assert main(["fit", str(tmp_path / name), "-o", str(tmp_path / "m.rkhs")]) == 2
        assert 'pip install "rkhs[tables]"' in capsys.readouterr().err


def test_a_hundred_thousand_columns_of_numbers_are_read(tmp_path: Path) -> None:
    d = 100_000
    names, row = ",".join(f"c{j}" for j in range(d)), ",".join(["1.5"] * d)
    assert read_table(write(tmp_path, f"{names}\n{row}\n{row}\n{row}\n")).X.shape == (3, d)


@pytest.mark.parametrize(
    ("option", "part"),
    [
        ("sepp=;", "has no option 'sepp' that may be given; did you mean sep?"),
        ("chunksize=5", "has no option 'chunksize'"),
        ("sep", "--read must read OPTION=VALUE"),
        ("encoding=utf-99", "--read OPTION=VALUE"),
        ("usecols=['z']", "--read OPTION=VALUE"),
    ],
)
def test_wrong_options_are_refused(option: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(write(tmp_path, PLAIN)), "--read", option, "-o", str(tmp_path / "m.rkhs")]) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.xlsx", "t.parquet", "t.feather"])
def test_every_format_gives_the_same_numbers_names_and_gaps(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.5, np.nan, 2.25], "b": ["x", "y", None], "c": [1, 2, 3]})
    found = read_table(write_as(frame, tmp_path / name))
    assert (found.kind, found.column_names, found.row_names) == ("table", ("a", "b", "c"), None)
    assert found.X.tolist() == [[1.5, "x", 1.0], [None, "y", 2.0], [2.25, None, 3.0]]
    found = read_table(write_as(pd.DataFrame(NUMBERS, columns=["a", "b"]), tmp_path / name))
    np.testing.assert_array_equal(found.X, NUMBERS)


def test_a_stored_index_of_parquet_names_the_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame(NUMBERS, columns=["a", "b"], index=pd.Index(["x", "y", "z"], name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert (found.row_names, found.row_title, found.column_names) == (("x", "y", "z"), "id", ("a", "b"))
    assert [part.row_names for part in read_blocks(tmp_path / "t.parquet", rows=2)] == [("x", "y"), ("z",)]


def test_names_that_look_like_formulas_are_written_with_a_quote_and_read_without(tmp_path: Path) -> None:
    for name in ("t.csv", "t.xlsx", "t.parquet"):
        write_codes(tmp_path / name, NUMBERS, row_names=["=a", "+b", "@c"], column_names=["=x", "-y"])
        found = read_table(tmp_path / name)
        assert (found.row_names, found.column_names) == (("=a", "+b", "@c"), ("=x", "-y")), name


def test_iso_dates_are_dates_and_dates_in_words_are_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"iso": ["2024-01-01", "2024-03-01"] * 2, "word": ["1 May 2024", "Mai 3rd, 2024"] * 2})
    found = read_table(write_as(frame, tmp_path / "t.csv"))
    assert found.dates == ("iso",)
    assert np.diff([float(day) for day in found.X[:2, 0]]) == [60.0]
    assert found.X[:2, 1].tolist() == ["1 May 2024", "Mai 3rd, 2024"]


def test_classes_that_begin_like_numbers_are_classes(tmp_path: Path) -> None:
    found = read_table(write(tmp_path, "a,b\n1,1st\n2,2nd\n3,1st\n"))
    assert found.X[:, 1].tolist() == ["1st", "2nd", "1st"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.parquet", "t.npy"])
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_blocks_are_the_whole(name: str, rows: int, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(9)], "a": np.arange(9) / 7, "b": np.arange(9.0)})
    frame = frame.set_index("id") if name == "t.parquet" else frame
    path = tmp_path / name
    if name == "t.npy":
        np.save(path, np.arange(18.0).reshape(9, 2))
    else:
        write_as(frame, path)
    whole = read_table(path)
    parts = read_blocks(path, rows, index_column=None if name == "t.parquet" else whole.row_title)
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), whole.X)
    assert [name for part in parts for name in part.row_names or ()] == list(whole.row_names or ())
    assert {part.column_names for part in parts} == {whole.column_names}


# Ten messes, the line of pandas that reads each, and the first row that it gives: the page "Read any file" has them.
MESSES: dict[str, tuple[str | bytes, str, list[Any]]] = {
    "semicolons and decimal commas": ("a;b\n1,5;2\n2,5;3\n", "pd.read_csv(f, sep=';', decimal=',')", [1.5, 2]),
    "thousands": ('a,b\n"1,200",2\n"3,400",3\n', "pd.read_csv(f, thousands=',')", [1200, 2]),
    "words for gaps": ("a,b\n1,n.d.\n2,3\n", "pd.read_csv(f, na_values=['n.d.'])", [1, np.nan]),
    "lines above the table": ("From a lab\n\na,b\n1,2\n3,4\n", "pd.read_csv(f, skiprows=2)", [1, 2]),
    "comments": ("# made today\na,b\n1,2\n3,4\n", "pd.read_csv(f, comment='#')", [1, 2]),
    "another encoding": (
        "a,b\nZürich,2\nBern,3\n".encode("cp1252"),
        "pd.read_csv(f, encoding='cp1252')",
        ["Zürich", 2],
    ),
    "two rows of names": ("a,b\nkg,m\n1,2\n3,4\n", "pd.read_csv(f, skiprows=[1])", [1, 2]),
    "no names": ("x,2\ny,4\n", "pd.read_csv(f, header=None)", ["x", 2]),
    "units": (
        "a,b\n1 kg,2\n3 kg,4\n",
        "pd.read_csv(f).assign(a=lambda t: t['a'].str.extract(r'([\\d.]+)', expand=False).astype(float))",
        [1.0, 2],
    ),
    "dates in words": (
        "a,b\n1 May 2024,2\n3 May 2024,4\n",
        "pd.read_csv(f, parse_dates=['a'], date_format='%d %B %Y')",
        [pd.Timestamp("2024-05-01"), 2],
    ),
}


@pytest.mark.parametrize("name", MESSES)
def test_a_line_of_pandas_reads_the_mess(name: str, tmp_path: Path) -> None:
    content, line, first = MESSES[name]
    frame = eval(line, {"pd": pd, "f": write(tmp_path, content)})
    np.testing.assert_equal(frame.iloc[0].tolist(), first)
    options = re.fullmatch(r"pd\.read_csv\(f, (.*)\)", line)
    if options is not None:  # the command reads it by the same options
        read = eval(f"dict({options[1]})")
        np.testing.assert_equal(
            read_frame(tmp_path / "t.csv", read).reset_index().iloc[0, -len(first) :].tolist(), first
        )


def test_a_header_that_is_one_name_short_names_rows_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\nx,1,2\ny,3,4\n")
    with pytest.raises(InputError, match="index_col=0"):
        list(read_blocks(path, 1))
    data = read_table(path, index_col=0)
    assert data.row_names == ("x", "y")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])


def test_texts_that_all_are_numbers_are_read_as_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"a": ["1", "2.5", None], "b": [3, 4, 5]}).to_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(read_table(tmp_path / "t.parquet").X[:2].astype(float), [[1, 3], [2.5, 4]])
    np.testing.assert_array_equal(
        read_table(write(tmp_path, PLAIN), dtype="str").X, read_table(write(tmp_path, PLAIN)).X
    )


def test_long_texts_are_read(tmp_path: Path) -> None:
    long = "A" * 200_000
    assert read_table(write(tmp_path, f"a,b\n1,{long}\n2,c\n")).X[0, 1] == long


def test_numbers_in_a_column_of_dates_are_refused() -> None:
    with pytest.raises(InputError, match="t: expected dates, as 2024-01-31; got '2024', '2025'"):
        column_cells(pd.Series([2024, 2025]), "t", "date")


def test_codes_of_digits_and_letters_name_rows(tmp_path: Path) -> None:
    rows = "".join(f"{i}_at,{i}\n" for i in range(1000, 1030))
    assert read_table(write(tmp_path, f"probe,x\n{rows}")).row_title == "probe"
