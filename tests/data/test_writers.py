"""Writing: what is written is read back to the same bits, and a failure leaves the old file."""

import os
import sys

import numpy as np
import pytest

from rkhs._core.errors import InputError, MissingExtraError
from rkhs._core.files import atomic_path
from rkhs.data import write_codes
from tests.tables import read_table

NEEDS_TABLES = "needs pyarrow and openpyxl (extra `tables`)"


def _codes(dtype="float64"):
    codes = np.random.default_rng(0).normal(size=(50, 3)) * [1e-300, 1.0, 1e300 if dtype == "float64" else 1e30]
    return codes.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("extension", ["csv", "parquet", "npy"])
def test_round_trip_to_the_last_bit(tmp_path, extension, dtype):
    if extension == "parquet":
        pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    codes = _codes(dtype)
    path = tmp_path / f"codes.{extension}"
    write_codes(path, codes)
    data = read_table(path)
    np.testing.assert_array_equal(data.X, codes)
    assert data.row_names is None
    assert data.column_names == (None if extension == "npy" else ("code0", "code1", "code2"))
    assert os.listdir(tmp_path) == [path.name]


def test_lists_and_tensors_are_accepted(tmp_path):
    torch = pytest.importorskip("torch")
    write_codes(tmp_path / "a.csv", torch.ones(2, 1))
    np.testing.assert_array_equal(read_table(tmp_path / "a.csv").X, [[1], [1]])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("a.txt", {}, "must end in .csv, .xlsx, .parquet, .npy; got 'a.txt'"),
        ("a.csv", {"codes": np.zeros(3)}, r"got shape \(3,\)"),
        ("a.csv", {"codes": np.zeros((0, 2))}, "at least one row"),
        ("a.csv", {"codes": [[1.0, np.nan]]}, "got nan in row 1, column 1"),
        ("a.csv", {"codes": [["x"]]}, "got dtype"),
        ("a.csv", {"codes": [[1j]]}, "got dtype complex128"),
        ("a.csv", {"row_names": ["a"]}, "`row_names` must hold 2 names; got 1"),
        ("a.csv", {"row_names": "ab"}, "must be a list of 2 names"),
        ("a.csv", {"column_names": ["a", "a"]}, "must be names that differ"),
        ("a.csv", {"column_names": ["", "a"]}, "must be names that differ"),
        ("a.npy", {"row_names": ["a", "b"]}, "a npy file holds numbers only"),
        ("nowhere/a.csv", {}, "whose folder does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path, name, arguments, message):
    with pytest.raises(InputError, match=message):
        write_codes(tmp_path / name, **{"codes": np.zeros((2, 2)), **arguments})
    assert os.listdir(tmp_path) == []


def test_ragged_codes_are_refused(tmp_path):
    with pytest.raises(InputError, match="`codes` must be"):
        write_codes(tmp_path / "a.csv", [[1, 2], [3]])


@pytest.mark.parametrize(("module", "extension"), [("pyarrow", "parquet"), ("openpyxl", "xlsx")])
def test_what_needs_an_extra_names_it(tmp_path, monkeypatch, module, extension):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"rkhs\[tables\]"):
        write_codes(tmp_path / f"a.{extension}", np.zeros((2, 2)))
    assert os.listdir(tmp_path) == []


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_codes(path, [[1.0]])
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_codes(path, [[2.0]])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_interrupted_block_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_stays_a_link(tmp_path):
    real = tmp_path / "real.csv"
    real.write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(real)
    write_codes(link, [[1.0]])
    assert link.is_symlink()
    assert real.read_text() == "code0\n1.0\n"


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="got the folder"):
        write_codes(tmp_path / "a.csv", [[1.0]])
