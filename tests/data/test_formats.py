"""Reading npy, npz, parquet and molecules: the same numbers and names as from text, and the same care."""

import gzip
import sys
import zipfile

import numpy as np
import pandas
import pytest
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


@pytest.mark.parametrize("dtype", ["float64", ">f8", "float32", "float16", "int64", "uint8", "bool"])
def test_npy_keeps_the_numbers(tmp_path, dtype):
    values = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    data = read_table(tmp_path / "a.npy")
    np.testing.assert_array_equal(data.X, values)
    assert data.X.dtype == (np.float32 if dtype == "float32" else np.float64)
    assert data.X.dtype.isnative
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(read_table(tmp_path / "a.npy", columns=[2, 0]).X, values[:, [2, 0]])


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"got shape \(3,\); reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), "at least one row and one column"),
        (np.float64(1.0), r"got shape \(\)"),
        (np.zeros((2, 2), dtype=complex), "got complex ones"),
        (np.array([["a", "b"]]), "got dtype <U1"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "got dtype datetime64"),
        (np.zeros(2, dtype=[("a", float)]), "expected an array of numbers"),
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


def test_npz_takes_the_only_array_or_the_named_one(tmp_path):
    np.savez(tmp_path / "one.npz", a=X)
    np.savez_compressed(tmp_path / "two.npz", a=X, b=X + 1)
    np.testing.assert_array_equal(read_table(tmp_path / "one.npz").X, X)
    np.testing.assert_array_equal(read_table(tmp_path / "two.npz", key="b").X, X + 1)
    with pytest.raises(InputError, match="got 2 arrays and no key; the arrays are 'a', 'b'"):
        read_table(tmp_path / "two.npz")
    with pytest.raises(InputError, match="got 'c'; the arrays are 'a', 'b'"):
        read_table(tmp_path / "two.npz", key="c")
    with zipfile.ZipFile(tmp_path / "none.npz", "w"):
        pass
    with pytest.raises(InputError, match="got 0 arrays"):
        read_table(tmp_path / "none.npz")


def test_damaged_and_misnamed_arrays_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "b.npz", a=X)
    whole = {name: (tmp_path / name).read_bytes() for name in ("a.npy", "b.npz")}
    for name, content in whole.items():
        for damaged in (b"", b"hello", content[: len(content) // 2], content[:-10]):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(InputError, match=r"cannot be read|did not write|cut off"):
                read_table(tmp_path / name)
    (tmp_path / "a.npy").write_bytes(whole["b.npz"])
    with pytest.raises(InputError, match=r"rename it to end in \.npz"):
        read_table(tmp_path / "a.npy")
    (tmp_path / "b.npz").write_bytes(whole["a.npy"])
    with pytest.raises(InputError, match=r"rename it to end in \.npy"):
        read_table(tmp_path / "b.npz")
    (tmp_path / "a.npy").write_bytes(whole["a.npy"])
    with pytest.raises(
        InputError, match=r"a \.npy file takes the arguments `columns`, `drop_columns`, `gram`; got `header`"
    ):
        read_table(tmp_path / "a.npy", header=False)
    with pytest.raises(InputError, match="file without names"):
        read_table(tmp_path / "a.npy", columns=["a"])


# --- parquet ----------------------------------------------------------------------------------------------------------


def test_parquet_gives_what_csv_gives(tmp_path):
    pandas = pytest.importorskip("pandas", reason=NEEDS_TABLES)
    pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    frame = pandas.DataFrame({"id": ["r1", "r2"], "a": [1.5, 2.5], "b": [1, 2], "c": [True, False], "d": ["u", "v"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    chosen = read_table(tmp_path / "t.parquet", columns=["b", "a"])
    other = read_table(tmp_path / "t.csv", columns=["b", "a"])
    np.testing.assert_array_equal(chosen.X, other.X)
    assert (chosen.row_names, chosen.column_names) == (other.row_names, other.column_names)
    np.testing.assert_array_equal(read_table(tmp_path / "t.parquet", columns=["c"]).X, [[1], [0]])
    with pytest.raises(InputError, match=r"text in column 'd' \(.*columns="):
        read_table(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", columns=["a"], index_column="d").row_names == ("u", "v")


def test_parquet_keeps_a_stored_index_and_float32(tmp_path):
    pandas = pytest.importorskip("pandas", reason=NEEDS_TABLES)
    pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    pandas.DataFrame(np.zeros((2, 3), "float32"), index=["p", "q"], columns=list("abc")).to_parquet(
        tmp_path / "t.parquet"
    )
    data = read_table(tmp_path / "t.parquet")
    assert (data.row_names, data.column_names, data.X.dtype) == (("p", "q"), ("a", "b", "c"), np.float32)
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(read_table(tmp_path / "t.parquet", columns=["a"]).X, [[0], [0]])


def test_parquet_that_is_not_right_is_refused(tmp_path):
    pandas = pytest.importorskip("pandas", reason=NEEDS_TABLES)
    pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    path = tmp_path / "t.parquet"

    def refused(frame, message):
        frame.to_parquet(path)
        with pytest.raises(InputError, match=message):
            read_table(path)

    refused(pandas.DataFrame({"a": [1.0, None]}), r"got nan in row 2, column 'a'")
    refused(pandas.DataFrame({"a": pandas.array([None, 2], dtype="Int64")}), r"got nan in row 1, column 'a'")
    refused(pandas.DataFrame({"a": [1.0], "b": [np.inf]}, index=["r"]), r"got inf in row 1 \('r'\), column 'b'")
    refused(pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01"])}), "text in column 'a'.*2020-01-01")
    refused(pandas.DataFrame({"a": [1.0]}).iloc[:0], "at least one row")
    refused(pandas.DataFrame({"a": [2**60]}), "column 'a'.*identifiers")
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match="complete parquet file"):
        read_table(path)


def test_parquet_without_the_extra_names_it(write, monkeypatch):
    path = write(b"", "t.parquet")
    _hide(monkeypatch, "pyarrow")
    with pytest.raises(MissingExtraError, match=r"pyarrow.*pip install \"rkhs\[tables\]\""):
        read_table(path)


# --- molecules --------------------------------------------------------------------------------------------------------


def test_smi_and_csv_and_parquet_give_the_same_fingerprints(write, tmp_path):
    pytest.importorskip("rdkit", reason=NEEDS_CHEM)
    data = read_table(write("# comment\nCCO ethanol\n\nc1ccccc1\tbenzene ring\n", "m.smi"))
    assert (data.kind, data.X.shape, data.X.dtype) == ("molecules", (2, 2048), np.uint8)
    assert data.smiles == ("CCO", "c1ccccc1")
    assert data.row_names == ("ethanol", "benzene ring")
    other = read_table(write("name,mass,smiles\nethanol,46,CCO\nbenzene ring,78,c1ccccc1\n"), smiles_column="smiles")
    np.testing.assert_array_equal(other.X, data.X)
    assert (other.smiles, other.row_names) == (data.smiles, data.row_names)
    pandas = pytest.importorskip("pandas", reason=NEEDS_TABLES)
    pandas.DataFrame({"name": data.row_names, "smiles": data.smiles}).to_parquet(tmp_path / "m.parquet")
    third = read_table(tmp_path / "m.parquet", smiles_column="smiles")
    np.testing.assert_array_equal(third.X, data.X)
    assert third.row_names == data.row_names


def test_smi_without_all_names_has_none(write):
    pytest.importorskip("rdkit", reason=NEEDS_CHEM)
    assert read_table(write("CCO ethanol\nCC\n", "m.smi")).row_names is None
    data = read_table(write("CCO\nCC\n", "m.csv"), smiles_column=0, header=False)
    assert (data.smiles, data.row_names) == (("CCO", "CC"), None)
    data = read_table(write("smiles,id\nCCO,7\nCC,7\n", "m.csv"), smiles_column="smiles", index_column="id")
    assert data.row_names == ("7", "7")


def test_unreadable_smiles_are_named_or_skipped_and_reported(write):
    pytest.importorskip("rdkit", reason=NEEDS_CHEM)
    path = write("id,smiles\na,CCO\nb,oops\nc,\nd,CC\n")
    with pytest.raises(
        InputError, match=r"table.csv.*2 of 4.*row 2 \('oops'.*row 3 \('': missing\).*on_error=\"skip\""
    ):
        read_table(path, smiles_column="smiles")
    data = read_table(path, smiles_column="smiles", on_error="skip")
    assert (data.smiles, data.row_names, data.n_samples) == (("CCO", "CC"), ("a", "d"), 2)
    assert [(bad.row, bad.text, bad.reason) for bad in data.skipped] == [
        (2, "oops", "not a valid SMILES"),
        (3, "", "missing"),
    ]


def test_missing_smiles_in_parquet_are_reported(tmp_path):
    pytest.importorskip("rdkit", reason=NEEDS_CHEM)
    pandas = pytest.importorskip("pandas", reason=NEEDS_TABLES)
    pandas.DataFrame({"smiles": ["CC", None], "n": [1, 2]}).to_parquet(tmp_path / "m.parquet")
    data = read_table(tmp_path / "m.parquet", smiles_column="smiles", on_error="skip")
    assert [(bad.row, bad.reason) for bad in data.skipped] == [(2, "missing")]
    with pytest.raises(InputError, match="check that this is the SMILES column"):
        read_table(tmp_path / "m.parquet", smiles_column="n")


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("m.smi", "\n# only a comment\n", {}, "got an empty file"),
        ("m.smi", b"\xff\xfe", {}, "expected text in utf-8"),
        (
            "m.smi",
            "CC\n",
            {"columns": ["a"]},
            "a .smi file takes the arguments `encoding`, `fingerprint`, `n_bits`, `on_error`, `radius`; got `columns`",
        ),
        ("m.csv", "a,b\nCC,1\n", {"smiles_column": "smiles"}, "`smiles_column` must name a column"),
        ("m.csv", "smiles,b\nCC,1\n", {"smiles_column": "smiles", "columns": ["b"]}, "got `columns` too"),
        ("m.csv", "smiles,b\nCC,1\n", {"smiles_column": "smiles", "gram": True}, "got `gram` too"),
        ("m.csv", "smiles,b\nCC\n", {"smiles_column": "smiles"}, "expected 2 cells"),
    ],
)
def test_molecule_files_that_are_not_right_are_refused(write, name, content, arguments, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content, name), **arguments)


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


def test_a_workbook_gives_what_its_text_gives(tmp_path, write):
    book = read_table(_workbook(tmp_path / "t.xlsx", Sheet=ROWS))
    text = read_table(write(COLUMNS))
    np.testing.assert_array_equal(book.X, NUMBERS)
    np.testing.assert_array_equal(book.X, text.X)
    assert (book.row_names, book.column_names) == (text.row_names, text.column_names)


def test_the_first_sheet_is_read_and_said_and_another_on_demand(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", Data=ROWS, More=[["x"], [3], [4.25]])
    assert any("'Data'" in text and "More" in text for text in read_table(path).guessed)
    data = read_table(path, key="More")
    np.testing.assert_array_equal(data.X, [[3.0], [4.25]])
    assert not any("sheet" in text for text in data.guessed)
    with pytest.raises(InputError, match=r"must name a sheet; got 'Other'; the sheets are 'Data', 'More'"):
        read_table(path, key="Other")


def test_days_errors_and_empty_cells_of_a_workbook(tmp_path):
    from datetime import datetime

    rows = [["day", "time", "x"], *([datetime(2024, 1, i), datetime(2024, 1, i, 12, 30), i] for i in (1, 2, 3))]
    path = _workbook(tmp_path / "t.xlsx", Sheet=[*rows, [datetime(2024, 1, 4), None, "#DIV/0!"]])
    from rkhs.data.known_columns import read_column

    from rkhs.data import read_items

    assert read_items(path, kind="texts", columns=["day"]).items.tolist() == [f"2024-01-0{i}" for i in (1, 2, 3, 4)]
    assert np.isnan(read_column(path, "x", argument="columns")).tolist() == [False, False, False, True]
    days = read_column(path, "time", argument="columns")
    np.testing.assert_allclose(days, [19723 + 12.5 / 24, 19724 + 12.5 / 24, 19725 + 12.5 / 24, np.nan])


def test_a_damaged_workbook_is_refused(write):
    pytest.importorskip("openpyxl", reason=NEEDS_TABLES)
    with pytest.raises(InputError, match=r"expected a complete \.xlsx file; got one that cannot be read"):
        read_table(write(b"PK\x03\x04 nothing", "t.xlsx"))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv.gz", "t.txt.gz"])
def test_packed_text_is_unpacked(write, name):
    import gzip

    text = COLUMNS if ".csv" in name else COLUMNS.replace(",", "\t")
    data = read_table(write(gzip.compress(text.encode()), name))
    np.testing.assert_array_equal(data.X, NUMBERS)
    assert data.row_names == ("first", "second")
    with pytest.raises(InputError, match="cannot be unpacked"):
        read_table(write(gzip.compress(text.encode())[:-12], name))


def test_feather_gives_what_parquet_gives(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    frame = pandas.DataFrame({"a": [1.5, 0.1], "b": [-2.0, 1e300]})
    frame.to_feather(tmp_path / "t.feather")
    data = read_table(tmp_path / "t.feather")
    np.testing.assert_array_equal(data.X, NUMBERS)
    assert data.column_names == ("a", "b")


@pytest.mark.parametrize(
    "text", ["a b\n1.5 -2\n0.1 1e300\n", "a\tb\n1.5\t-2\n0.1\t1e300\n", "a,b\n1.5,-2\n0.1,1e300\n"]
)
def test_numbers_in_a_txt_file_are_a_table(write, text):
    from rkhs.data import read_items

    data = read_items(write(text, "t.txt"))
    assert (data.kind, data.column_names) == ("vectors", ("a", "b"))
    np.testing.assert_array_equal(data.X, NUMBERS)


@pytest.mark.parametrize("text", ["ACGT\nACCT\n", "the year 2024 was warm\n3 words here\n"])
def test_other_txt_files_are_texts(write, text):
    from rkhs.data import read_items

    assert read_items(write(text, "t.txt")).kind in ("sequences", "texts")


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.svm"])
def test_rows_of_libsvm_are_told(write, name):
    from rkhs.data import read_items

    with pytest.raises(InputError, match="load_svmlight_file"):
        read_items(write("1 1:0.5 3:2\n-1 2:1e-3 # note\n", name))


def test_the_line_that_converts_libsvm_runs(write, tmp_path, monkeypatch):
    path = write("1 1:0.5 3:2\n-1 2:1e-3\n", "t.svm")
    with pytest.raises(InputError) as refused:
        read_table(path)
    monkeypatch.chdir(tmp_path)
    exec(str(refused.value).split("with Python: ")[1], {})
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").X, [[0.5, 0, 2], [0, 1e-3, 0]])


def test_blank_lines_between_rows_are_left_out(write):
    np.testing.assert_array_equal(read_table(write("a,b\n\n1.5,-2\n\n0.1,1e300\n\n")).X, NUMBERS)


def test_molecules_of_an_sdf_file(tmp_path):
    Chem = pytest.importorskip("rdkit.Chem", reason=NEEDS_CHEM)
    smiles = ["CCO", "c1ccccc1"]
    with Chem.SDWriter(str(tmp_path / "t.sdf")) as writer:
        for text, name in zip(smiles, ["ethanol", "benzene"], strict=True):
            molecule = Chem.MolFromSmiles(text)
            molecule.SetProp("_Name", name)
            molecule.SetProp("id", f"00{len(name)}{name == 'ethanol':d}")
            writer.write(molecule)
    assert read_table(tmp_path / "t.sdf", index_column="id").row_names == ("0071", "0070")
    assert read_table(tmp_path / "t.sdf", columns=[1], index_column=1 - 1).row_names == tuple(smiles)
    data = read_table(tmp_path / "t.sdf")
    assert (data.kind, data.smiles, data.row_names) == ("molecules", tuple(smiles), ("ethanol", "benzene"))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_a_sparse_matrix_of_scipy_is_read_with_its_zeros(tmp_path, form):
    from scipy.sparse import csr_array, save_npz

    values = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
    save_npz(tmp_path / "m.npz", csr_array(values).asformat(form))
    np.testing.assert_array_equal(read_table(tmp_path / "m.npz").X, values)
    np.testing.assert_array_equal(read_table(tmp_path / "m.npz", columns=[1]).X, values[:, [1]])
    damaged = (tmp_path / "m.npz").read_bytes()[:-40]
    (tmp_path / "n.npz").write_bytes(damaged)
    with pytest.raises(InputError, match="n.npz"):
        read_table(tmp_path / "n.npz")


def test_a_workbook_that_says_too_small_a_size_is_read_whole(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", Sheet=ROWS)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b'<dimension ref="A1:C4"' in parts[sheet]
    parts[sheet] = parts[sheet].replace(b'<dimension ref="A1:C4"', b'<dimension ref="A1"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    np.testing.assert_array_equal(read_table(path).X, NUMBERS)


def test_rows_of_a_workbook_that_end_early_have_empty_cells(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", Sheet=[["a", "b", "c"], [1.5, 2, 3], [4], [5, 6]])
    assert read_table(path).X.tolist() == [[1.5, 2.0, 3.0], [4.0, None, None], [5.0, 6.0, None]]


def test_the_unicode_text_of_excel_is_a_table(tmp_path):
    from rkhs.data import read_items

    path = tmp_path / "t.txt"
    path.write_bytes(COLUMNS.replace(",", "\t").replace("\n", "\r\n").encode("utf-16"))
    data = read_items(path)
    assert (data.kind, data.row_names) == ("vectors", ("first", "second"))
    np.testing.assert_array_equal(data.X, NUMBERS)


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


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_any_matrix_that_scipy_saves_is_read(tmp_path, form):
    matrix = scipy.sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(0)).asformat(form)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    np.testing.assert_array_equal(read_table(tmp_path / "a.npz").X, matrix.toarray())


@pytest.mark.parametrize("name", ["a.xls", "a.json", "a.dta", "a.sav", "a.svm", "a.mzML"])
def test_other_formats_are_refused_with_a_line_of_python(tmp_path, name):
    line = advice(tmp_path / name).removeprefix("convert it with Python: ").split(" (needs")[0]
    assert repr(str(tmp_path / name)) in line
    compile(line, name, "exec")


def test_the_line_that_converts_a_file_of_datawarrior_runs(tmp_path):
    tags = '<datawarrior-{0}>\n<axisColumn="{0}">\n</datawarrior-{0}>\n'
    text = tags.format("fileinfo") + "Name\tlogD\nµ1\t2.5\nµ2\t0.5\n" + tags.format("properties")
    (tmp_path / "a.dwar").write_text(text, encoding="utf-8")
    exec(advice(tmp_path / "a.dwar").removeprefix("convert it with Python: "), {})
    assert read_table(tmp_path / "a.tsv").row_names == ("µ1", "µ2")


def test_a_pickled_frame_and_networks_of_pajek_are_read_after_their_lines(tmp_path):
    frame = pandas.DataFrame(np.eye(3) + 0.5, list("abc"), list("abc"))
    frame.to_pickle(tmp_path / "a.pkl")
    exec(advice(tmp_path / "a.pkl").removeprefix("convert it with Python: ").partition(" (only of")[0], {})
    np.testing.assert_array_equal(read_table(tmp_path / "a.csv", gram=True).X, frame)
    (tmp_path / "nets").mkdir()
    for name in ("a", "b"):
        (tmp_path / "nets" / f"{name}.net").write_text('*vertices 2\n1 "x" 0 0 box\n2 "y" 0 0 box\n*edges\n1 2 1.0\n')
    with pytest.raises(InputError, match="files alone; convert it with Python: import networkx") as caught:
        read_items(tmp_path / "nets")
    exec(str(caught.value).partition("convert it with Python: ")[2], {})
    assert read_items(tmp_path / "nets").row_names == ("a", "b")


def test_formulas_without_values_are_named(tmp_path):
    rows = [["a", "b", "c"], *([i + 0.5, i % 3, f"=A{i + 2}"] for i in range(6))]
    with pytest.warns(UserWarning, match="no cell is known: column 'c'"):
        data = read_table(_workbook(tmp_path / "t.xlsx", Sheet=rows))
    said = "formulas without a value are read as gaps; a spreadsheet stores values when it saves the file"
    assert data.guessed == (said,)
    assert read_table(_workbook(tmp_path / "u.xlsx", Sheet=[row[:2] for row in rows])).guessed == ()
