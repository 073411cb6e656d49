"""Files that lie, never end, or hold numbers written for people: a typed error at once, nothing altered in silence."""

from __future__ import annotations

import csv
import gc
import io
import os
import time
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rkhs._core import memory
from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.data import arrays as array_files, molecular_fingerprints, read_items, write_codes
from rkhs.data.text import escape_formula, unescape_formula
from tests.tables import read_table

read_graphs, read_series = (partial(read_items, kind=kind) for kind in ("graphs", "series"))
NEEDS_TABLES = "parquet needs pandas and pyarrow (extra `tables`)"


def header(shape: tuple[int, ...], version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


READERS: dict[str, list[Any]] = {
    "x.npy": [read_table, read_series, read_items],
    "x.npz": [read_table, read_series, read_graphs, lambda path: read_items(path, kind="curves")],
}


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("name", READERS)
def test_arrays_are_not_larger_than_their_file(tmp_path: Path, name: str, version: tuple[int, int]) -> None:
    path, data = tmp_path / name, header((10**13, 1), version) + bytes(64)
    if name.endswith(".npy"):
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("edges.npy", data)
    for read in READERS[name]:
        started = time.perf_counter()
        with pytest.raises(InputError, match=r"expected an array of 73 TiB, as its header says; got 64 B"):
            read(path)
        assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("name", READERS)
def test_arrays_are_not_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path, X = tmp_path / name, np.ones((40, 2))
    np.save(path, X) if name.endswith(".npy") else np.savez_compressed(path, edges=X)
    monkeypatch.setattr(array_files, "available_bytes", lambda: 600)
    for read in READERS[name]:
        with pytest.raises(InputError, match="got 640 B, with 600 B there"):
            read(path)
    assert memory.available_bytes() > 640
    monkeypatch.undo()
    np.testing.assert_array_equal(read_table(path).X, X)


# ---------------------------------------------------------------- formulas in csv

NAMES = ["=cmd|' /C calc'!A0", "+x", "-x", "@x", "\tx", "\rx", "'=x", "''=x", "'x", "-1.5", "+3e2", "plain", "=", "-"]


def test_escaping_can_be_undone_for_every_text() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        text = "".join(rng.choice(list("'=+-@\t\r1a "), size=rng.integers(0, 6)))
        assert unescape_formula(escape_formula(text)) == text


# ---------------------------------------------------------------- long values


def test_a_smiles_that_rdkit_would_read_for_minutes_is_refused() -> None:
    pytest.importorskip("rdkit", reason="fingerprints need the extra 'chem'")
    long = "C" * 100_000
    with pytest.raises(InputError, match="longer than 10000 characters") as caught:
        molecular_fingerprints(["CC", long])
    assert len(str(caught.value)) < 400
    found = molecular_fingerprints(["CC", long], on_error="skip")
    assert found.kept.tolist() == [0]
    assert found.skipped[0].text == long
    assert len(molecular_fingerprints(["C" * 5000]).bits) == 1


# ---------------------------------------------------------------- arguments of another kind


def test_a_graph_file_of_blank_lines_holds_no_labels(tmp_path: Path) -> None:
    for name, text in {"A": "1, 2\n", "graph_indicator": "1\n1\n", "node_labels": " \n# none\n"}.items():
        (tmp_path / f"S_{name}.txt").write_text(text)
    with pytest.raises(InputError, match="node_labels"):
        read_graphs(tmp_path)


def test_fingerprints_refuse_what_is_no_list_and_sizes_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit", reason="fingerprints need the extra 'chem'")
    for bad in (3.0, True, None, b"CCO", np.array("CCO")):
        with pytest.raises(InputError, match="smiles"):
            molecular_fingerprints(bad)
    with pytest.raises(InputError, match="n_bits"):
        molecular_fingerprints(["CCO"], n_bits=10**9)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**27)
    with pytest.raises(InputError, match="n_bits=16777216"):
        molecular_fingerprints(["CCO"] * 3, n_bits=2**24)


def test_codes_are_written_from_tensors_of_every_kind(tmp_path: Path) -> None:
    codes = torch.tensor([[0.5, -2.0]], dtype=torch.float64)
    for given in (codes.clone().requires_grad_(), codes.bfloat16(), codes.mT.contiguous().mT):
        write_codes(tmp_path / "z.csv", given)
        np.testing.assert_array_equal(read_table(tmp_path / "z.csv").X, codes.numpy())
    with pytest.raises(InputError, match="codes must be a dense tensor"):
        write_codes(tmp_path / "z.csv", codes.to_sparse())


@pytest.mark.parametrize("words", [[], ["--gram"], ["--kind", "graphs"], ["--kind", "curves"]])
def test_a_damaged_archive_is_closed(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.npz"
    file.write_bytes(b"PK\x03\x04 is no archive")
    with warnings.catch_warnings():
        warnings.simplefilter("always", ResourceWarning)
        assert main(["fit", str(file), "--codes", str(tmp_path / "z.csv"), *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rkhs: error: ")
    assert said.count("\n") == 1


def test_a_damaged_archive_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones((2, 2)))
    content = path.read_bytes()
    for damaged in (content[:40], b"PK" + content[3:], content[:-1], b"PK\x03\x04" + bytes(40)):
        path.write_bytes(damaged)
        for read in (read_items, read_graphs, read_series, read_table):
            with pytest.raises(InputError):  # an open handle would be a warning, and warnings are errors
                read(path)
    gc.collect()


def test_only_the_array_that_is_asked_for_counts(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("large.npy", header((10**13, 1)))
        archive.writestr("small.npy", header((2, 1)) + bytes(16))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npz", key="small").X, np.zeros((2, 1)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        *((f"x{extension}", read_table) for extension in (".csv", ".npy", ".npz", ".parquet", ".smi")),
        *((f"x{extension}", read_items) for extension in (".txt", ".edgelist", ".npz")),
        ("x.fasta", read_items),
        ("x.txt", partial(read_items, kind="texts")),
        ("x.csv", read_series),
        ("x_A.txt", read_graphs),
    ],
)
def test_pipes_and_devices_are_not_read(tmp_path: Path, name: str, read: Any) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    for _ in range(2):
        with pytest.raises(InputError, match="which is a (pipe|device); copy what it gives"):
            read(path)
        path.unlink()
        path.symlink_to("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("b.gml", {}),
        ("b.edges", {}),
        ("D_A.txt", {"D_graph_indicator.txt": "1\n1\n"}),
        ("D_graph_indicator.txt", {"D_A.txt": "1,2\n2,1\n"}),
    ],
)
def test_pipes_in_a_folder_are_not_read(tmp_path: Path, name: str, others: dict[str, str]) -> None:
    for other, text in others.items():
        (tmp_path / other).write_text(text)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="which is a pipe; copy what it gives"):
        read_items(tmp_path)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)  # a test may run as root, who may read everything
    with pytest.raises(InputError, match="which you may not read"):
        read_table(path)


def test_formulas_are_escaped_in_csv_and_names_come_back(tmp_path: Path) -> None:
    path = tmp_path / "z.csv"
    write_codes(path, np.ones((len(NAMES), 2)) * -1.5, row_names=NAMES, column_names=["=a", "-b"])
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["", "'=a", "'-b"]
    for row, name in zip(rows[1:], NAMES, strict=True):
        assert row[1:] == ["-1.5", "-1.5"]
        assert row[0] == (name if name in ("'x", "-1.5", "+3e2", "plain") else f"'{name}")
    found = read_table(path)
    assert found.row_names == tuple(NAMES)
    assert found.column_names == ("=a", "-b")
    assert read_table(path, columns=["=a"]).column_names == ("=a",)
    assert read_table(path).row_names == tuple(NAMES)


def test_long_values_are_shortened_in_messages(tmp_path: Path) -> None:
    cell = "x" * 100_000
    path = tmp_path / "x.csv"
    for content in (f"a,b\n1,2\n2,5\n3,{cell}\n", f"{cell},b\ninf,2\n", f"{cell},{cell}\n1,2\n"):
        path.write_text(content)
        with pytest.raises(InputError, match=r"\(100000 characters\)") as caught:
            read_table(path)
        assert len(str(caught.value)) < 700


@pytest.mark.parametrize("read", [read_table, read_graphs, read_items, read_series])
@pytest.mark.parametrize("path", [3, None, b"a.csv", ["a.csv"]])
def test_what_is_no_name_of_a_file_is_refused_by_its_argument(read: Any, path: Any) -> None:
    with pytest.raises(InputError, match="`path`"):
        list(read(path))
    with pytest.raises(InputError, match="`path`"):
        write_codes(path, np.ones((2, 2)))


def test_damaged_headers_and_notes_are_typed_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for text in (b"{'descr': '<f8', (", b"{\n  'a'\n 'b'", b"[" * 200):
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
        for read in (read_table, read_series):
            with pytest.raises(InputError, match="cannot be read"):
                list(read(path))
    pq = pytest.importorskip("pyarrow.parquet", reason=NEEDS_TABLES)
    pa = pytest.importorskip("pyarrow", reason=NEEDS_TABLES)
    damaged = pa.table({"a": [1.0]}).replace_schema_metadata({"pandas": '{"columns": [{}], "index_columns": ["b"]}'})
    pq.write_table(damaged, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"complete \.parquet file"):
        read_table(tmp_path / "a.parquet")
