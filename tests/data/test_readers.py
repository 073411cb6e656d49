"""Reading: every format gives the same numbers and names, and every file that is not right is refused by name."""

import builtins
import zipfile

import numpy as np
import pytest

from rkhs._core.errors import InputError, MissingExtraError
from rkhs.data import read_table

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
        ("\n1,2\n", {}, "got a blank first line"),
        ("a,b\n", {}, "got the names only"),
        ("a,b\n1,2\n3\n", {}, r"expected 2 cells in every row.*got 1 in row 2 \(line 3\)"),
        ("a,b\n1,2\n3,4,5\n", {}, r"expected 2 cells.*got 3 in row 2 \(line 3\)"),
        ("a,b\n1,2\n\n3,4\n", {}, "got a blank line 3"),
        ("a,b\n1,2\n,4\n", {}, r"got '' in row 2, column 'a' \(1 such cells"),
        ("a,b\n1,NA\n3,nan\n", {}, r"got 'NA' in row 1 \(line 2\), column 'b' \(2 such cells"),
        ("a,b\n1,2\n3,-inf\n", {}, r"got '-inf' in row 2 \(line 3\), column 'b'"),
        ("a\n1\nNA\n", {}, "got 'NA' in row 2"),
        ("1,2,4\n1,,4\n", {}, r"got '' in row 2 \(line 2\), column 1"),
        (
            "id,a,c\nr1,1,red\nr2,2,blue\n",
            {},
            r"text in column 'c' \(2 cells, first 'red' in row 1, line 2\).*columns=",
        ),
        ("a,b,c\n1,x,y\n", {}, "text in column 'b' .*, column 'c' "),
        ("a,b\n1,1_000\n", {}, "text in column 'b'"),
        ("a;b\n1;2\n", {}, r"text in column 'a;b'.*delimiter="),
        ('a,b\n1,"2,5"\n', {}, "text in column 'b' .*'2,5'"),
        ("class,a\nx,1\nx,2\n", {}, "row names, which must differ; got 'x' more than once in column 'class'"),
        ("a,b\n1,2\noops,4\n", {}, "all numbers or all names; got both, 'oops' in row 2 of column 'a'"),
        ("a,a\n1,2\n", {}, "column names must differ; got 'a' more than once"),
        ("a,\n1,2\n", {"header": True}, "got an empty name for column 1"),
        ("0,1,2\n1,2,4\n", {}, "clearly names or clearly data; got 0, 1, 2; pass header=True"),
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
        ("ä,b\n1,2\n".encode("latin-1"), {}, "expected text in utf-8.*latin-1"),
        ('a,b\n1,"2\n', {}, "cannot be split"),
        ("a,b\n1,2\n", {"key": "x"}, "a .csv file takes the arguments .*; got key; leave it out"),
        ("a,b\n1,2\n", {"on_error": "skip"}, "is for SMILES"),
        ("a,b\n1,2\n", {"on_error": "ignore"}, "on_error must be one of"),
    ],
)
def test_text_that_is_not_right_is_refused(write, content, arguments, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content), **arguments)


def test_csv_needs_no_optional_package(write, monkeypatch):
    for package in ("pandas", "pyarrow", "rdkit"):
        _hide(monkeypatch, package)
    assert read_table(write("a\n1\n2\n")).n_samples == 2


def test_paths_that_are_not_right_are_refused(write, tmp_path):
    with pytest.raises(InputError, match=r"must name a file that exists; got '.*nothing.csv'"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="got the folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match=r"must end in .csv, .tsv, .parquet, .npy, .npz, .smi; got 'a.xlsx'"):
        read_table(write("", "a.xlsx"))
    with pytest.raises(InputError, match="pass arrays to the estimator directly"):
        read_table(X)
    assert read_table(str(write("a\n1\n", "UPPER.CSV"))).n_samples == 1


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
    with pytest.raises(InputError, match="got 2 arrays and no key; the arrays are a, b"):
        read_table(tmp_path / "two.npz")
    with pytest.raises(InputError, match="got 'c'; the arrays are a, b"):
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
            with pytest.raises(InputError, match=r"cannot be read|unpickled"):
                read_table(tmp_path / name)
    (tmp_path / "a.npy").write_bytes(whole["b.npz"])
    with pytest.raises(InputError, match=r"rename it to end in \.npz"):
        read_table(tmp_path / "a.npy")
    (tmp_path / "b.npz").write_bytes(whole["a.npy"])
    with pytest.raises(InputError, match=r"rename it to end in \.npy"):
        read_table(tmp_path / "b.npz")
    (tmp_path / "a.npy").write_bytes(whole["a.npy"])
    with pytest.raises(InputError, match=r"a \.npy file takes the arguments columns, gram; got header"):
        read_table(tmp_path / "a.npy", header=False)
    with pytest.raises(InputError, match="file without names"):
        read_table(tmp_path / "a.npy", columns=["a"])


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
        ("1,2,4,9\n2,1,3,9\n", r"must be square; got shape \(2, 4\); pass gram=\"cross\""),
        (",x,y\nx,1,.5\nz,.5,1\n", "got row 'z' against column 'y' at position 2"),
        ("1,nan\n2,1\n", "finite number"),
    ],
)
def test_gram_matrices_that_are_not_right_are_refused(write, content, message):
    with pytest.raises(InputError, match=message):
        read_table(write(content), gram=True)


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
    with pytest.raises(InputError, match=r"other types in column 'd' \(.*columns="):
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
    refused(pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01"])}), r"column 'a' \(datetime64")
    refused(pandas.DataFrame({"a": [1.0]}).iloc[:0], "at least one row")
    refused(pandas.DataFrame({"a": [2**60]}), "column 'a'.*identifiers")
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match="complete parquet file"):
        read_table(path)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_parquet_without_the_extra_names_it(write, monkeypatch, package):
    path = write(b"", "t.parquet")
    _hide(monkeypatch, package)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install \"rkhs\[tables\]\""):
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
        ("m.smi", "CC\n", {"columns": ["a"]}, "a .smi file takes the arguments encoding, on_error; got columns"),
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
