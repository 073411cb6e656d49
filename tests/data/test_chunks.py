"""Chunks of a file together are the table: the first chunk decides what the rows are, and later chunks follow it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import Dataset, read_chunks, read_table


def file_of(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text, newline="")
    return path


def chunks(path: Path, rows: int = 2, **options: Any) -> list[Dataset]:
    return list(read_chunks(path, rows=rows, **options))


def names_of(parts: list[Dataset]) -> tuple[str, ...] | None:
    return None if parts[0].row_names is None else tuple(name for part in parts for name in part.row_names or ("!",))


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ("a,8,9\nb,11,12\n", "column 0 .*'a' in row 3, line 3"),
        ("7,8,9\nb,11,12\n", "column 0 .*'b' in row 4, line 4"),
        ('"1,101",8,9\n', "column 0 .*'1,101' in row 3, line 3"),
        ("inf,8,9\n", r"'inf' in row 3 \(line 3\), column 0"),
        ("7,8,x\n", r"'x' in row 3, line 3"),
        ("7,8\n", r"2 in row 3 \(line 3\)"),
        (",8,9\n", r"'' in row 3 \(line 3\), column 0"),
    ],
)
def test_what_stands_in_a_later_chunk_takes_no_column_away(later: str, told: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, "1,2,4\n4,5,6\n" + later)
    with pytest.raises(InputError, match=told):
        chunks(path)
    with pytest.raises(InputError):
        read_table(path)


@pytest.mark.parametrize(
    ("later", "told"),
    [("3,4\n", r"'3' in row 3 \(line 5\)"), ('"1,101",4\n', "'1,101' in column 'k', which may be numbers")],
)
def test_a_number_among_names_is_refused_where_it_stands(later: str, told: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, 'k,x\n"a\nb",1\nc,2\n' + later)
    with pytest.raises(InputError, match=told):
        chunks(path)
    assert next(part.row_names for part in chunks(path, index_column="k")) == ("a\nb", "c")


def test_names_beside_chosen_columns_follow_the_first_chunk(tmp_path: Path) -> None:
    numbered = file_of(tmp_path, "k,x,y\n1,1,2\n2,3,4\na,5,6\nb,7,8\n")
    parts = chunks(numbered, columns=(name for name in ["x"]))  # an iterator, which is read once
    assert np.concatenate([part.X for part in parts]).ravel().tolist() == [1.0, 3.0, 5.0, 7.0]
    assert names_of(parts) is None
    repeated = file_of(tmp_path, "k,x,y\na,1,2\nb,3,4\nc,5,6\nc,7,8\n", "b.csv")
    assert names_of(chunks(repeated, columns=["x"])) == ("a", "b", "c", "c")


def test_a_column_asked_for_by_name_implies_names(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a,1,2\n1,2,3\n4,5,6\n7,8,9\n")
    whole = read_table(path, columns=["a"])
    np.testing.assert_array_equal(np.concatenate([part.X for part in chunks(path, columns=["a"])]), whole.X)


def random_table(rng: np.random.Generator) -> str:
    """A small table with whatever tables have: names or none, quotation marks, gaps, texts and ragged rows."""
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    mark = ",;"[int(rng.random() < 0.1)]
    cells = [[f"{rng.integers(-9, 10) / 4}" for _ in range(d)] for _ in range(n)]
    if rng.random() < 0.4:
        named = [f"r{i}" for i in rng.permutation(n)] if rng.random() < 0.8 else ["r", "s"] * n
        cells = [[name, *row] for name, row in zip(named, cells, strict=False)]
    if rng.random() < 0.5:
        cells = [[["", "k"][int(rng.random() < 0.5)], "x", "y", "z"][: len(cells[0])], *cells]
    tokens = ["", "a", "b", "nan", "1e999", '"1,101"', "7", "=x", '"q\nr"', "1_0", "0x1", " 3 ", "1,5", "1;2"]
    for _ in range(int(rng.integers(0, 3))):
        row = cells[int(rng.integers(len(cells)))]
        row[int(rng.integers(len(row)))] = str(rng.choice(tokens))
    lines = [mark.join(row) for row in cells]
    if rng.random() < 0.1:
        lines.insert(int(rng.integers(len(lines) + 1)), "")
    return "\n".join(lines)


@pytest.mark.parametrize("files", [80, pytest.param(400, marks=pytest.mark.slow)])
def test_chunks_of_any_file_are_the_table_or_the_refusal(tmp_path: Path, files: int) -> None:
    read = refused = 0
    for seed in range(files):
        rng = np.random.default_rng(seed)
        path = file_of(tmp_path, random_table(rng))
        options: dict[str, Any] = [{}, {}, {"header": True}, {"index_column": 0}, {"columns": [1]}][seed % 5]
        count = int(rng.integers(1, 4))
        try:
            whole = read_table(path, **options)
        except InputError as error:
            refused += 1
            if "more than once" not in str(error) or "column names" in str(error):  # names differ within a chunk
                with pytest.raises(InputError):
                    chunks(path, count, **options)
            continue
        read += 1
        parts = chunks(path, count, **options)
        np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), whole.X, err_msg=f"seed {seed}")
        assert all(part.column_names == whole.column_names for part in parts)
        if "columns" not in options:
            assert names_of(parts) == whole.row_names, seed
    assert read > files // 4
    assert refused > files // 4


def test_arrays_in_chunks_keep_type_and_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for dtype in ("<f4", ">f4", ">f8", "f2", "i2", "bool", "g"):
        np.save(path, np.arange(10).reshape(5, 2).astype(dtype))
        whole = read_table(path)
        for part in chunks(path):
            assert part.X.dtype == whole.X.dtype
            assert part.X.dtype.isnative
        np.testing.assert_array_equal(np.concatenate([part.X for part in chunks(path)]), whole.X)
    np.save(path, np.full((3, 2), 2**53 + 1))
    with pytest.raises(InputError, match=r"integers up to 2\*\*53"):
        chunks(path)
    np.savez(tmp_path / "b.npz", X=np.ones((3, 2)))
    (tmp_path / "b.npz").rename(path)
    with pytest.raises(InputError, match="got an archive"):
        chunks(path)


def test_molecules_in_chunks(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit")
    path = file_of(tmp_path, "CCO one\nCCN two\x0cthree\nCCC\n(\nc1ccccc1 five\n)\n", "a.smi")
    skip: dict[str, Any] = {"on_error": "skip", "n_bits": 64}
    whole = read_table(path, **skip)
    for count in (1, 2, 3, 6):
        parts = chunks(path, count, **skip)
        np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), whole.X)
        assert sum((part.skipped for part in parts), ()) == whole.skipped
        assert sum((part.smiles or () for part in parts), ()) == whole.smiles
    assert names_of(chunks(path, 2, **skip)) == ("one", "two\x0cthree", "", "five")
    table = file_of(tmp_path, "k,s\n1,CCO\n2,CCN\nthree,CCC\n")
    assert names_of(chunks(table, 2, smiles_column="s", n_bits=64)) is None
    for text in ("(\n)\n", "(\n"):
        with pytest.raises(InputError, match=r"of \d that it does not"):
            chunks(file_of(tmp_path, text, "b.smi"), 1, **skip)
    with pytest.raises(InputError, match="row 2"):
        chunks(file_of(tmp_path, "CCO\n(\n", "c.smi"), 2)
