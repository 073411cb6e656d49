"""Reading text tables and Gram matrices: numbers, names, and every file that is not right refused by name."""

import builtins

import numpy as np
import pytest

from rkhs._core.errors import InputError
from tests.tables import read_table

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
    data = read_table(write(",a\n17,5\n4,7\n"))  # as pandas writes some rows of it
    assert data.row_names == ("17", "4")


def test_columns_choose_and_order(write):
    path = write("id,a,colour,b\nr1,1,red,2\nr2,3,blue,4\n")
    data = read_table(path, columns=["b", "a"])
    np.testing.assert_array_equal(data.X, [[2, 1], [4, 3]])
    assert (data.row_names, data.column_names) == (("r1", "r2"), ("b", "a"))
    data = read_table(path, columns=[2, "a"], index_column="colour")  # positions beside the names of rows
    assert (data.row_names, data.column_names) == (("red", "blue"), ("b", "a"))
    np.testing.assert_array_equal(read_table(path, columns=np.array([2])).X, [[2], [4]])


def test_quoted_names_may_hold_commas_and_line_ends(write):
    data = read_table(write('id,a\n"x, y",1\n"two\nlines",2\n'))
    assert data.row_names == ("x, y", "two\nlines")


def test_paths_that_are_not_right_are_refused(write, tmp_path):
    with pytest.raises(InputError, match=r"must name a file or folder that exists; got '.*nothing.csv'"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"expected one file NAME_A.txt of the TU format, or .* files; got 0 and 0"):
        read_table(tmp_path)
    with pytest.raises(
        InputError, match=r"or end in .csv, .*, .fasta, .fa, .*; got 'a.ods'; convert it with Python: import pandas"
    ):
        read_table(write("", "a.ods"))
    with pytest.raises(InputError, match="give arrays to the estimator"):
        read_table(X)
    assert read_table(str(write("a\n1\n", "UPPER.CSV"))).n_samples == 1


# --- Gram matrices ----------------------------------------------------------------------------------------------------
