"""Reading npy, npz, parquet and molecules: the same numbers and names as from text, and the same care."""

import gzip
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from rkhs._core.errors import InputError, MissingExtraError
from rkhs.data import read_items
from rkhs.data.formats import advice
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
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)


# --- npy and npz ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"got shape \(3,\); reshape it"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), "at least one row and one column"),
        (np.float64(1.0), r"got shape \(\)"),
        (np.zeros((2, 2), dtype=complex), "got dtype complex128"),
        (np.array([["a", "b"]]), "got dtype <U1"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "got dtype datetime64"),
        (np.zeros(2, dtype=[("a", float)]), "expected an array of real numbers"),
        (np.array([[2**60, 1]]), "look like identifiers"),
        (np.array([[1.0, np.nan], [np.inf, 1.0]]), r"got nan in row 1, column 1 \(2 such cells in all\)"),
        (np.array([[object()]], dtype=object), "got Python objects, which would have to be unpickled"),
    ],
)
def test_arrays_that_are_not_right_are_refused(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "a.npz", array, allow_pickle=True)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InputError, match=message):
            read_table(tmp_path / name, **({"key": "arr_0"} if name == "a.npz" else {}))


# --- parquet ----------------------------------------------------------------------------------------------------------


def test_parquet_without_the_extra_names_it(write, monkeypatch):
    path = write(b"", "t.parquet")
    _hide(monkeypatch, "pyarrow")
    with pytest.raises(MissingExtraError, match=r"pyarrow.*pip install \"rkhs\[tables\]\""):
        read_table(path)


# --- molecules --------------------------------------------------------------------------------------------------------


def test_molecules_without_the_extra_name_it(write, monkeypatch):
    path = write("CCO\n", "m.smi")
    _hide(monkeypatch, "rdkit")
    with pytest.raises(MissingExtraError, match=r"rdkit.*pip install \"rkhs\[chem\]\""):
        read_table(path)


# --- workbooks, packed texts, feather, txt, SDF -----------------------------------------------------------------------

COLUMNS = "name,a,b\nfirst,1.5,-2\n,,\nsecond,0.1,1e300\n"
NUMBERS = [[1.5, -2.0], [0.1, 1e300]]


def _workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl", reason=NEEDS_TABLES)
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [["name", "a", "b"], ["first", 1.5, -2], [None, None, None], ["second", 0.1, 1e300]]


def test_feather_gives_what_parquet_gives(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    frame = pandas.DataFrame({"a": [1.5, 0.1], "b": [-2.0, 1e300]})
    frame.to_feather(tmp_path / "t.feather")
    data = read_table(tmp_path / "t.feather")
    np.testing.assert_array_equal(data.X, NUMBERS)
    assert data.column_names == ("a", "b")


@pytest.mark.parametrize("text", ["ACGT\nACCT\n", "the year 2024 was warm\n3 words here\n"])
def test_other_txt_files_are_texts(write, text):
    from rkhs.data import read_items

    assert read_items(write(text, "t.txt")).kind in ("sequences", "texts")


def test_the_line_that_converts_libsvm_runs(write, tmp_path, monkeypatch):
    path = write("1 1:0.5 3:2\n-1 2:1e-3\n", "t.svm")
    with pytest.raises(InputError) as refused:
        read_table(path)
    monkeypatch.chdir(tmp_path)
    exec(str(refused.value).split("with Python: ")[1], {})
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").X, [[0.5, 0, 2], [0, 1e-3, 0]])


def test_blank_lines_between_rows_are_left_out(write):
    np.testing.assert_array_equal(read_table(write("a,b\n\n1.5,-2\n\n0.1,1e300\n\n")).X, NUMBERS)


def test_rows_of_a_workbook_that_end_early_have_empty_cells(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", Sheet=[["a", "b", "c"], [1.5, 2, 3], [4], [5, 6]])
    assert read_table(path).X.tolist() == [[1.5, 2.0, 3.0], [4.0, None, None], [5.0, 6.0, None]]


WRONG = [
    ("a.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "packed by gzip; rename it to end in .csv.gz"),
    ("a.txt", gzip.compress(b"a b\n1 2\n", mtime=0), "packed by gzip"),
    ("a.parquet", b"PK\x03\x04rest", "got an archive"),
    ("a.xlsx", b"\xd0\xcf\x11\xe0rest", "an old Excel file"),
    ("a.csv", b"<html><body>", "a web page"),
    ("a.npy", b"a,b\n1,2\n", "NumPy did not write"),
    ("a.npz", b"a,b\n1,2\n", "NumPy did not write"),
    ("a.smi", b"%PDF-1.7", "got a PDF"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_a_file_under_a_false_name_is_said_to_be_what_it_is(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_items(tmp_path / name)


def test_the_line_that_converts_a_sparse_matrix_runs(tmp_path):
    matrix = scipy.sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(0))
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
    exec(advice(tmp_path / "a.mtx").removeprefix("convert it with Python: "), {})
    np.testing.assert_allclose(read_table(tmp_path / "a.npy").X, matrix.toarray())


@pytest.mark.parametrize("name", ["a.xls", "a.json", "a.dta", "a.sav", "a.svm", "a.mzML", "a.ts", "a.net"])
def test_other_formats_are_refused_with_a_line_of_python(tmp_path, name):
    line = advice(tmp_path / name).removeprefix("convert it with Python: ").split(" (needs")[0]
    assert repr(str(tmp_path / name)) in line
    compile(line, name, "exec")
