"""Reading text tables and Gram matrices: numbers, names, and every file that is not right refused by name."""

import builtins
from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import read_chunks, read_mixed, read_table

X = np.array([[1.5, -2.0, 3e-7], [0.1, 1e300, 4.0]])
NEEDS_TABLES = "parquet needs pandas and pyarrow (extra `tables`)"
NEEDS_CHEM = "fingerprints need RDKit (extra `chem`)"


@pytest.fixture
def write(tmp_path):
    def _write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def _hide(monkeypatch, package):
    """Make one package impossible to import, whether or not it was imported before."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["123.456.789-0{}", "12.345.678/0001-9{}", "12.345.{}78-K"])
def test_numbers_of_persons_and_firms_name_the_rows(write, code):
    """A number between points, before a hyphen and check digits, is no number with separators or a unit."""
    codes = tuple(code.format(i) for i in range(3))
    data = read_table(write("".join(["cpf;age\n", *(f"{one};{i}.5\n" for i, one in enumerate(codes))])))
    assert (data.row_names, data.column_names) == (codes, ("age",))


def test_csv_with_names_and_an_id_column(write):
    data = read_table(write("id,a,b,c\nr1,1.5,-2.0,3e-7\nr2,0.1,1e300,4\n"))
    np.testing.assert_array_equal(data.X, X)
    assert (data.kind, data.row_names, data.column_names) == ("vectors", ("r1", "r2"), ("a", "b", "c"))
    assert data.source.endswith("table.csv")
    assert (data.n_samples, data.smiles, data.skipped) == (2, None, ())
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert data.X.flags.writeable


def test_csv_without_names_is_data_from_the_first_row(write):
    data = read_table(write("1.5,-2,3e-7\n0.1,1e300,4\n"))
    np.testing.assert_array_equal(data.X, X)
    assert data.row_names is None
    assert data.column_names is None


def test_first_column_of_numbers_with_a_name_is_data(write):
    data = read_table(write("id,a\n7,1\n8,2\n"))
    np.testing.assert_array_equal(data.X, [[7, 1], [8, 2]])
    data = read_table(write("id,a\n7,1\n8,2\n"), index_column="id")
    np.testing.assert_array_equal(data.X, [[1], [2]])
    assert data.row_names == ("7", "8")


def test_first_column_without_a_name_is_row_names_even_if_numbers(write):
    data = read_table(write(",0,1\n0,5,6\n1,7,8\n"))  # as pandas writes an unnamed frame
    np.testing.assert_array_equal(data.X, [[5, 6], [7, 8]])
    assert (data.row_names, data.column_names) == (("0", "1"), ("0", "1"))


def test_columns_choose_and_order(write):
    path = write("id,a,colour,b\nr1,1,red,2\nr2,3,blue,4\n")
    data = read_table(path, columns=["b", "a"])
    np.testing.assert_array_equal(data.X, [[2, 1], [4, 3]])
    assert (data.row_names, data.column_names) == (("r1", "r2"), ("b", "a"))
    data = read_table(path, columns=[3, "a"], index_column="colour")
    assert (data.row_names, data.column_names) == (("red", "blue"), ("b", "a"))
    np.testing.assert_array_equal(read_table(path, columns=np.array([1]), header=True).X, [[1], [3]])


def test_a_text_column_that_was_not_asked_for_never_becomes_an_error(write):
    data = read_table(write("class,a\nx,1\nx,2\n"), columns=["a"])
    assert data.row_names is None
    np.testing.assert_array_equal(data.X, [[1], [2]])


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        ("a\tb\n1\t2\n", {"name": "t.tsv"}),
        ("a;b\n1;2\n", {"delimiter": ";"}),
        ("\ufeffa,b\r\n1,2\r\n", {}),
        ('"a","b"\n"1"," 2 "\n\n\n', {}),
        ("a,b\n1,2", {}),
        ("A,B\n1,2".encode("utf-16"), {"encoding": "utf-16"}),
    ],
)
def test_dialects(write, content, arguments):
    name = arguments.pop("name", "t.csv")
    data = read_table(write(content, name), **arguments)
    np.testing.assert_array_equal(data.X, [[1, 2]])
    assert tuple(map(str.lower, data.column_names)) == ("a", "b")


def test_quoted_names_may_hold_commas_and_line_ends(write):
    data = read_table(write('id,a\n"x, y",1\n"two\nlines",2\n'))
    assert data.row_names == ("x, y", "two\nlines")


def test_a_long_file_is_read_block_by_block_without_loss(write):
    values = np.random.default_rng(0).normal(size=(20_001, 2))
    path = write("a,b\n" + "\n".join(f"{a!r},{b!r}" for a, b in values.tolist()))
    np.testing.assert_array_equal(read_table(path).X, values)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", {}, "got an empty file"),
        ("a,b\n", {}, "got the names only"),
        ("a,b\n1,2,3,4\n5,6,7,8\n", {}, r"expected 2 cells in every row.*got 4 in row 1 \(line 2\)"),
        ("a,b\n1,2\n3\n", {}, r"expected 2 cells in every row.*got 1 in row 2 \(line 3\)"),
        ("a,b\n1,2\n3,4,5\n", {}, r"expected 2 cells.*got 3 in row 2 \(line 3\)"),
        ("a,b\n1,2\n,4\n", {}, r"got '' in row 2 \(line 3\), column 'a' \(1 such cells"),
        ("a,b\n1,NA\n3,nan\n", {}, r"got 'NA' in row 1 \(line 2\), column 'b' \(2 such cells"),
        ("a,b\n1,2\n3,-inf\n", {}, r"got '-inf' in row 2 \(line 3\), column 'b'"),
        ("1,2,4\n1,,4\n", {}, r"got '' in row 2 \(line 2\), column 1"),
        (
            "id,a,c\nr1,1,red\nr2,2,blue\n",
            {},
            r"text in column 'c' \(2 cells, first 'red' in row 1, line 2\).*columns=",
        ),
        ("a,b,c\n1,x,y\n", {}, "text in column 'b' .*, column 'c' "),
        ("a,b\n1,1_000\n", {}, "text in column 'b'"),
        ("a b\n1;2\n", {}, r"text in column 'a b'.*delimiter="),
        ('a,b\n1,"2,5"\n', {}, "text in column 'b' .*'2,5'"),
        ("class,a\nx,1\nx,2\n", {}, "row names, which must differ; got 'x' more than once in column 'class'"),
        ("class,a\n< 5 DM,1\n< 5 DM,2\n", {}, "row names, which must differ; got '< 5 DM' more than once .*read_mixed"),
        (
            "a,b\n1,2\n3,4\noops,4\n",
            {},
            r"text in column 'a' \(1 cells, first 'oops' in row 3, line 4\); correct them, name them with missing=",
        ),
        ("0,1,2\n1,2,4\n", {}, "clearly names or clearly data; got '0', '1', '2'; pass header=True"),
        ("400,402,404\n1,2,4\n", {}, "clearly names or clearly data"),
        ("r1,1,2\nr2,3,4\n", {}, "clearly names or clearly data.*header=False"),
        ("a,b\n1,2\n", {"columns": ["c"]}, "`columns` must name a column of the file; got 'c'"),
        ("mass,b\n1,2\n", {"columns": ["mas"]}, "did you mean 'mass'"),
        ("a,b\n1,2\n", {"columns": "a"}, r"got the single string 'a'; write \['a'\]"),
        ("a,b\n1,2\n", {"columns": []}, "got an empty list"),
        ("a,b\n1,2\n", {"columns": ["a", 0]}, "each column once"),
        ("a,b\n1,2\n", {"columns": [2]}, "from 0 to 1; got 2"),
        ("a,b\n1,2\n", {"columns": [-1]}, "from 0 to 1; got -1"),
        ("a,b\n1,2\n", {"columns": [True]}, "names or positions; got True"),
        ("a,b\n1,2\n", {"columns": ["a"], "header": False}, "file without names"),
        ("a,b\n1,2\n", {"index_column": "a", "columns": ["a"]}, "must not be among the columns read"),
        ("a\n1\n", {"index_column": "a"}, "expected a column besides the row names"),
        ("a,b\n1,2\n", {"delimiter": ";;"}, "`delimiter` must be one character"),
        ("a,b\n1,2\n", {"header": "yes"}, "`header` must be"),
        ("a,b\n1,2\n", {"gram": "square"}, "`gram` must be"),
        ("a,b\n1,2\n", {"encoding": "no-such"}, "`encoding` must be one that Python knows"),
        ("ä,b\n1,2\n".encode("latin-1"), {}, "expected text in utf-8.*cp1252"),
        ('a,b\n1,"2\n', {}, "cannot be split"),
        ("a,b\n1,2\n", {"key": "x"}, "a .csv file takes the arguments .*; got `key`; leave it out"),
        ("a,b\n1,2\n", {"on_error": "skip"}, "is for SMILES"),
        ("a,b\n1,2\n", {"on_error": "ignore"}, "on_error must be one of"),
    ],
)
def test_text_that_is_not_right_is_refused(write, content, arguments, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content), **arguments)


def test_csv_needs_no_optional_package(write, monkeypatch):
    for package in ("pyarrow", "rdkit"):
        _hide(monkeypatch, package)
    assert read_table(write("a\n1\n2\n")).n_samples == 2


def test_paths_that_are_not_right_are_refused(write, tmp_path):
    with pytest.raises(InputError, match=r"must name a file or folder that exists; got '.*nothing.csv'"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="got the folder"):
        read_table(tmp_path)
    with pytest.raises(
        InputError, match=r"must end in .csv, .*, .fasta, .fa, .*; got 'a.ods'; convert it with Python: import pandas"
    ):
        read_table(write("", "a.ods"))
    with pytest.raises(InputError, match="give arrays to the estimator"):
        read_table(X)
    assert read_table(str(write("a\n1\n", "UPPER.CSV"))).n_samples == 1


# --- Gram matrices ----------------------------------------------------------------------------------------------------


def test_a_gram_matrix_shares_the_names_of_rows_and_columns(write, tmp_path):
    K = [[1, 0.5], [0.5, 1]]
    for content in ("x,y\n1,.5\n.5,1\n", ",x,y\nx,1,.5\ny,.5,1\n"):
        data = read_table(write(content), gram=True)
        np.testing.assert_array_equal(data.X, K)
        assert (data.kind, data.row_names, data.column_names) == ("gram", ("x", "y"), ("x", "y"))
    np.save(tmp_path / "K.npy", K)
    data = read_table(tmp_path / "K.npy", gram=True)
    assert (data.kind, data.row_names, data.column_names) == ("gram", None, None)


def test_a_cross_gram_need_not_be_square(write):
    data = read_table(write(",x,y\nnew,1,.5\n"), gram="cross")
    assert (data.kind, data.X.shape, data.row_names, data.column_names) == ("gram", (1, 2), ("new",), ("x", "y"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,4\n2,1,3\n", r"must be square; got shape \(2, 3\).*header=True.*gram=\"cross\""),
        ("1,2,4,9\n2,1,3,9\n", r"must be square; got shape \(2, 4\); use gram=\"cross\""),
        (",x,y\nx,1,.5\nz,.5,1\n", "got row 'z' against column 'y' at position 2"),
        ("1,nan\n2,1\n", "finite number"),
    ],
)
def test_gram_matrices_that_are_not_right_are_refused(write, content, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content), gram=True)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_character_between_cells_is_found_where_no_comma_splits(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a{mark}b\n1{mark}2\n\n".rstrip("\n") + f"\n3{mark}4\n")
    found = read_table(path)
    assert found.column_names == ("a", "b")
    np.testing.assert_array_equal(found.X, [[1.0, 2.0], [3.0, 4.0]])
    assert read_mixed(path).X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [len(part.X) for part in read_chunks(path, rows=1)] == [1, 1]
    tsv = tmp_path / "a.tsv"
    tsv.write_text(path.read_text().replace(mark, ","))
    np.testing.assert_array_equal(read_table(tsv).X, found.X)


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        ("a;b,c\n1,2\n", ("a;b", "c"), [1.0, 2.0]),  # a comma splits
        ("a\n1\n", ("a",), [1.0]),  # nothing splits
        ("a;b\n1\n2\n", ("a;b",), [1.0]),  # not all lines
    ],
)
def test_commas_stay_where_they_split_or_nothing_else_does(
    text: str, names: tuple[str, ...], first: list[float], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(text)
    found = read_table(tmp_path / "a.csv")
    assert found.column_names == names
    assert found.X[0].tolist() == first
    (tmp_path / "b.csv").write_text("a;b|c\n1;2|3\n")
    with pytest.raises(InputError, match=r"text in column 'a;b\|c'"):  # two characters split: no guess
        read_table(tmp_path / "b.csv")
