"""``rkhs nearest``: the same neighbours as by hand, of items of any kind, under the names of the file."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances

from rkhs.cli import inputs, nearest as nearest_command
from rkhs.cli.main import main
from rkhs.cli.nearest import _nearest
from rkhs.data import load_molecules, molecular_fingerprints, write_codes
from rkhs.kernels import Gaussian, MinMax, Spectrum

MOLECULES = load_molecules()
WINE = load_wine().data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nearest(*words: str) -> list[dict[str, str]]:
    assert main(["nearest", *words, "-o", "near.csv"]) == 0
    with open("near.csv", newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_molecules_have_their_names_and_tanimoto_similarities(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    named = list(zip(MOLECULES.smiles[:60], MOLECULES.names[:60], strict=True))
    Path("known.smi").write_text("".join(f"{smiles} {name}\n" for smiles, name in named[:50]))
    Path("new.smi").write_text("".join(f"{smiles} {name}\n" for smiles, name in named[50:]))
    rows = nearest("known.smi", "new.smi", "--top", "3")
    assert "3 nearest of 50 items for each of 10, by the similarity Tanimoto()" in capsys.readouterr().out
    bits = MOLECULES.fingerprints.astype(bool)
    alike = 1.0 - pairwise_distances(bits[50:60], bits[:50], metric="jaccard")
    best = np.argsort(-alike, axis=1, kind="stable")[:, :3]
    assert [row["row"] for row in rows] == [name for _, name in named[50:] for _ in range(3)]
    assert [row["nearest"] for row in rows] == [named[j][1] for j in best.ravel()]
    assert [row["nearest_smiles"] for row in rows] == [named[j][0] for j in best.ravel()]
    got = [float(row["tanimoto"]) for row in rows]
    np.testing.assert_allclose(got, np.take_along_axis(alike, best, 1).ravel(), rtol=5e-6)


def test_one_item_alone_is_near_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text("a,b\n1,2\n")
    assert main(["nearest", "one.csv"]) == 2
    assert "expected at least two items" in capsys.readouterr().err
    assert len(nearest("one.csv", "one.csv")) == 1


def test_counts_are_compared_by_minmax() -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    Path("bare.smi").write_text("\n".join(MOLECULES.smiles[:12]) + "\n")
    rows = nearest("bare.smi", "--fingerprint", "counts", "--top", "1")
    counts = molecular_fingerprints(MOLECULES.smiles[:12], counts=True).bits
    K = np.asarray(MinMax()(counts)) - np.eye(12)
    np.testing.assert_allclose([float(row["minmax"]) for row in rows], K.max(1), rtol=5e-6)
    assert [row["nearest"] for row in rows] == [MOLECULES.smiles[j] for j in K.argmax(1)]
    assert [row["smiles"] for row in rows] == list(MOLECULES.smiles[:12])


def test_rows_of_a_table_are_compared_by_standardised_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    write_codes("wine.csv", WINE, [f"bottle {i}" for i in range(len(WINE))], [f"x{j}" for j in range(13)], "bottle")
    monkeypatch.setattr("rkhs.cli.nearest._BLOCK", 1000)  # several blocks
    rows = nearest("wine.csv", "--top", "2")
    D = pairwise_distances((WINE - WINE.mean(0)) / WINE.std(0))
    np.fill_diagonal(D, np.inf)  # a bottle is not near itself
    best = np.argsort(D, axis=1, kind="stable")[:, :2]
    assert [row["nearest"] for row in rows] == [f"bottle {j}" for j in best.ravel()]
    got = [float(row["distance"]) for row in rows]
    np.testing.assert_allclose(got, np.take_along_axis(D, best, 1).ravel(), rtol=5e-6)
    assert rows[0]["bottle"] == "bottle 0"


def test_new_rows_are_read_in_the_units_of_the_known_ones() -> None:
    titles = [f"x{j}" for j in range(13)]
    write_codes("known.csv", WINE[:150], None, titles)
    write_codes("new.csv", WINE[150:, ::-1], None, titles[::-1])  # columns are found by name
    rows = nearest("known.csv", "new.csv", "--top", "1")
    mean, scale = WINE[:150].mean(0), WINE[:150].std(0)
    D = pairwise_distances((WINE[150:] - mean) / scale, (WINE[:150] - mean) / scale)
    assert [row["nearest"] for row in rows] == [str(1 + j) for j in D.argmin(1)]
    assert rows[0]["row_from_1"] == "1"


def test_objects_are_compared_by_the_kernel_of_their_kind() -> None:
    letters = np.random.default_rng(0).choice(list("ACGT"), (12, 60))
    texts = ["".join(row) for row in letters]
    Path("reads.txt").write_text("\n".join(texts) + "\n")
    rows = nearest("reads.txt", "--top", "1")
    K = np.asarray(Spectrum()(texts))
    D = np.sqrt(np.diag(K)[:, None] + np.diag(K) - 2.0 * K)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose([float(row["distance"]) for row in rows], D.min(1), rtol=5e-6)


def test_tables_with_texts_and_curves_with_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mixed.csv").write_text("colour,size\nred,1\nred,1.1\nblue,9\nblue,9.2\nred,\nblue,8\n")
    assert [row["nearest"] for row in nearest("mixed.csv", "--top", "1")][:4] == ["2", "1", "4", "3"]
    times = np.linspace(0.0, 1.0, 8)
    curves = np.sin(times + np.arange(6)[:, None])
    lines = [",".join(map(repr, row.tolist())) for row in curves]
    lines[2] = lines[2].replace(repr(float(curves[2, 3])), "")
    Path("curves.csv").write_text("\n".join([",".join(map(repr, times.tolist())), *lines]) + "\n")
    assert nearest("curves.csv", "--kind", "curves", "--top", "1")[0]["row_from_1"] == "1"
    assert main(["nearest", "mixed.csv", "--top", "0"]) == 2
    assert "--top must be" in capsys.readouterr().err


def test_an_excel_file_holds_what_a_csv_file_holds() -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra tables")
    write_codes("wine.csv", WINE[:12], column_names=[f"c{j}" for j in range(13)])
    rows = nearest("wine.csv", "--top", "2")
    assert main(["nearest", "wine.csv", "--top", "2", "-o", "near.xlsx"]) == 0
    titles, *cells = openpyxl.load_workbook("near.xlsx").active.iter_rows(values_only=True)
    assert list(titles) == list(rows[0])
    assert [tuple(row.values())[:3] for row in rows] == [tuple(map(str, row))[:3] for row in cells]
    np.testing.assert_allclose([row[3] for row in cells], [float(row["distance"]) for row in rows], rtol=1e-15)


def test_a_model_is_no_file_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.rkhs").write_text("")
    Path("known.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    for words in (("m.rkhs",), ("known.csv", "m.rkhs")):
        assert main(["nearest", *words]) == 2
        assert "m.rkhs: expected a file of items" in capsys.readouterr().err


def test_a_large_file_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    write_codes("known.csv", WINE[:60], column_names=[f"c{j}" for j in range(13)])
    write_codes("new.csv", WINE, column_names=[f"c{j}" for j in range(13)])
    whole, read = nearest("known.csv", "new.csv", "--top", "2"), []
    monkeypatch.setattr(inputs, "_LARGE", 0)
    monkeypatch.setattr(inputs, "_PART", 64)
    measured = nearest_command._nearest
    monkeypatch.setattr(nearest_command, "_nearest", lambda *a, **k: read.append(len(a[2])) or measured(*a, **k))
    assert nearest("known.csv", "new.csv", "--top", "2") == whole
    assert read == [64, 64, 50]


def test_nearest_items_take_the_memory_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rkhs.cli.nearest._BLOCK", 50_000)
    known, new = (torch.from_numpy(np.random.default_rng(i).normal(size=(n, 2))) for i, n in enumerate((500, 8_000)))
    tracemalloc.start()
    try:
        _nearest(Gaussian(1.0), known, new, 1, alone=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 500 * 8_000 / 4


@pytest.mark.sample(2)
@pytest.mark.parametrize("command", ["nearest", "novelty"])
@pytest.mark.parametrize("texts", [False, True])
def test_columns_that_the_new_file_lacks_are_named(
    capsys: pytest.CaptureFixture[str], command: str, texts: bool
) -> None:
    word = "red" if texts else "1"
    Path("known.csv").write_text("a,b,c\n" + "".join(f"{i},{i % 3},{word}\n" for i in range(20)))
    Path("new.csv").write_text(f"a,cc,b\n1,{word},3\n2,{word},5\n")
    assert main([command, "known.csv", "new.csv"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rkhs: error: new.csv lacks 'c', of the columns of the training file; it has 'a', 'cc', 'b'")
    assert main([command, "known.csv", "new.csv", "--drop-columns", "c"]) == 0
