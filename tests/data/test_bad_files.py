"""Files that lie, never end, or hold numbers written for people: a typed error at once, nothing altered in silence."""

from __future__ import annotations

import gc
import io
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
