"""``rkhs novelty``: rows unlike the others, or unlike those of another file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rkhs import KernelNovelty
from rkhs.cli.main import main
from rkhs.cli.novelty import _Found
from rkhs.data import Dataset
from rkhs.kernels import Gaussian


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["mass", "length", "age"])
    table.loc[7, "length"] = 9.0
    table.index = pd.Index([f"r{i}" for i in range(60)], name="id")
    table.to_csv("known.csv")
    new = table.iloc[:5].copy() + 0.3
    new.loc["r2", "age"] = -8.0
    new[["age", "mass", "length"]].to_csv("new.csv")  # columns are found by their names
    return tmp_path


def test_new_rows_are_compared_with_the_known_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["novelty", "known.csv", "new.csv", "-o", "p.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    first = found["novel"][0]
    assert (first["row"], first["p"], first["differs in"]) == ("r2", 2 / 61, ["age"])  # r7 is as strange
    known, new = (pd.read_csv(name, index_col=0) for name in ("known.csv", "new.csv"))
    model = KernelNovelty().fit(known)
    written = pd.read_csv("p.csv", index_col=0)
    assert written.index.tolist() == new.index.tolist()
    np.testing.assert_allclose(written["p"], model.p_values(new[known.columns]))
    np.testing.assert_allclose(written["score"], -model.score_samples(new[known.columns]))


def test_columns_that_are_left_out_are_left_out_of_both_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["novelty", "known.csv", "new.csv", "--drop-columns", "age", "-o", "p.npy"]) == 0
    known, new = (pd.read_csv(name, index_col=0)[["mass", "length"]] for name in ("known.csv", "new.csv"))
    np.testing.assert_allclose(np.load("p.npy")[:, 0], KernelNovelty().fit(known).p_values(new))


def test_raw_columns_and_gram_matrices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = pd.read_csv("known.csv", index_col=0)
    assert main(["novelty", "known.csv", "--scale-columns", "no", "-o", "p.npy"]) == 0
    of_new = KernelNovelty(columns="raw").fit(known).p_values(known)  # counts each row and one equal to it
    np.testing.assert_allclose(60 * np.load("p.npy")[:, 0], 61 * of_new - 1)
    K = Gaussian(0.3)(known.to_numpy())
    np.save("K.npy", K)
    np.save("cross.npy", K[:4])
    assert main(["novelty", "K.npy", "cross.npy", "--gram", "-o", "q.npy"]) == 0
    np.testing.assert_allclose(np.load("q.npy")[:, 0], KernelNovelty("precomputed").fit(K).p_values(K[:4]))


def test_texts_and_too_few_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("words.txt").write_text("\n".join(["red apple", "green apple", "red pear", "green pear", "a zebra"]))
    assert main(["novelty", "words.txt", "--alpha", "0.4"]) == 0
    assert "row 5: score 1.01, p 0.2" in capsys.readouterr().out
    assert main(["novelty", "words.txt"]) == 0
    assert "no p can be at most 0.05 with so few rows, as it is at least 1/5 = 0.2" in capsys.readouterr().out


@pytest.mark.parametrize(("n", "flags"), [(19, []), (20, []), (18, ["one.csv"]), (19, ["one.csv"])])
def test_where_no_p_can_be_small_the_most_unusual_rows_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], n: int, flags: list[str]
) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 3)), columns=["mass", "length", "age"])
    far = table[:1].assign(age=50.0)
    if flags:
        far.to_csv("one.csv", index=False)
    else:
        table.loc[5] = far.loc[0]
    table.to_csv("few.csv", index=False)
    assert main(["novelty", "few.csv", *flags, "-o", "p.csv"]) == 0
    first, *_ = out = capsys.readouterr().out.splitlines()
    row, least = ("row 1", n + 1) if flags else ("row 6", n)
    assert pd.read_csv("p.csv")["p"].min() == pytest.approx(1 / least)
    assert first.startswith(f"no p can be at most 0.05 with so few rows, as it is at least 1/{least}") == (least < 20)
    named = rf"  {row}: {r'score [01].[0-9]+, ' * (not flags or least < 20)}p {1 / least:.3g}, in .*age.*"
    assert any(re.fullmatch(named, line) for line in out)
    assert any("although no p can be small" in line for line in out) == (least < 20)


def test_wrong_arguments_are_refused_in_the_words_of_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["novelty", "known.csv", "--alpha", "2"]) == 2
    assert "--alpha must be > 0 and <= 0.5; got 2.0" in capsys.readouterr().err
    assert main(["novelty", "known.csv", "missing.csv"]) == 2
    assert "missing.csv" in capsys.readouterr().err
    Path("model.rkhs").write_text("")
    assert main(["novelty", "model.rkhs", "new.csv"]) == 2
    assert "model.rkhs: expected a file of items" in capsys.readouterr().err


def test_names_of_compounds_are_no_numbers_and_keep_their_title(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rdkit", reason="needs the extra 'chem'")
    ids = [f"CPD-{i:04d}" for i in range(12)]
    smiles = ["C" * (i + 1) + "O" for i in range(12)]
    pd.DataFrame({"compound": ids, "smiles": smiles, "y": range(12)}).to_csv("mol.csv", index=False)
    pd.DataFrame({"compound": ids, "a": range(12), "b": np.arange(12) ** 2}).to_csv("plain.csv", index=False)
    for name, flags in (("mol.csv", ["--smiles", "smiles"]), ("plain.csv", [])):
        assert main(["novelty", name, *flags, "-o", "p.csv"]) == 0
        assert pd.read_csv("p.csv")["compound"].tolist() == ids


def test_molecules_are_compared_as_smiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="molecules need the extra 'chem'")
    known = ["C" * i + end for i in range(2, 9) for end in ("O", "N", "C(=O)O")]
    Path("known.smi").write_text("\n".join(known) + "\n")
    Path("new.smi").write_text("CCCCCCCCCO\nc1ccc2[nH]ccc2c1\n")
    assert main(["novelty", "known.smi", "new.smi", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kernel"] == "MoleculeKernel()"
    assert [row["row"] for row in found["novel"]] == ["c1ccc2[nH]ccc2c1"]
    expected = KernelNovelty("molecules").fit(known).p_values(["c1ccc2[nH]ccc2c1"])[0]
    assert found["novel"][0]["p"] == pytest.approx(expected)
    assert main(["novelty", "known.smi", "new.smi", "--kernel", "tanimoto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "Tanimoto()"


def test_novel_rows_stand_in_the_order_of_p_and_are_judged_by_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    def judge(items: np.ndarray, **_: object) -> tuple[np.ndarray, np.ndarray]:
        threads.append(torch.get_num_threads())
        return np.array([0.03, 0.01, 0.02, 0.01]), np.array([0.4, 0.1, 0.3, 0.2])

    threads: list[int] = []
    model = KernelNovelty().fit(np.random.default_rng(0).normal(size=(50, 2)))
    monkeypatch.setattr(model, "_judged", judge)
    found, before = _Found(0.05, model, 3), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found.add(Dataset(np.zeros((4, 1)), "vectors", None, None, None))
    finally:
        torch.set_num_threads(before)
    assert [row["p"] for row, _ in found.novel()] == [0.01, 0.01, 0.02]
    assert [row["row"] for row, _ in found.novel()] == ["row 4", "row 2", "row 3"]  # of equal p the farthest first
    assert threads == [1]


def test_the_strangest_row_is_named_with_its_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["novelty", "known.csv"]) == 0
    first, *_ = said = capsys.readouterr().out.splitlines()
    assert "of 60 rows of known.csv among the others have p of at most 0.05; if all are like the known ones" in first
    assert "about 3 of 60 have" in first
    assert f"  r7: score 1.01, p {1 / 60:.3g}" in "\n".join(said)


def test_of_many_novel_rows_only_those_that_are_printed_are_kept(tmp_path: Path) -> None:
    model = KernelNovelty().fit(np.random.default_rng(0).normal(size=(50, 2)))
    few, all_of_them = _Found(0.05, model, 10), _Found(0.05, model, sys.maxsize)
    for part in range(3):
        path = tmp_path / f"{part}.csv"
        rows = np.random.default_rng(part).normal(size=(15, 2)) + 8.0
        for found in (few, all_of_them):
            found.add(Dataset(rows, "vectors", None, None, str(path)))
    assert few.count == all_of_them.count == 45
    assert len(few._novel) == 10
    assert [row for row, _ in few.novel()] == [row for row, _ in all_of_them.novel()][:10]


def test_new_rows_of_a_gram_matrix_need_their_diagonal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is not constant: p-values are those of Python, and the items of the matrix need none."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(60, 4)) * 3.0, rng.normal(size=(20, 4)) * 3.0
    np.savetxt("k.csv", (X @ X.T) ** 2, delimiter=",")
    np.savetxt("new.csv", (Y @ X.T) ** 2, delimiter=",")
    np.save("diagonal.npy", (Y**2).sum(1) ** 2)
    assert main(["novelty", "k.csv", "new.csv", "--gram", "-o", "p.npy"]) == 2
    assert "write it to a .npy file, one number a row, and name that with --diag" in capsys.readouterr().err
    assert main(["novelty", "k.csv", "new.csv", "--gram", "-o", "p.npy", "--diag", "diagonal.npy"]) == 0
    model = KernelNovelty("precomputed").fit((X @ X.T) ** 2)
    expected = model.p_values((Y @ X.T) ** 2, diag=(Y**2).sum(1) ** 2)
    np.testing.assert_allclose(np.load("p.npy")[:, 0], expected)
    assert (expected <= 0.05).sum() <= 4
    assert main(["novelty", "k.csv", "--gram", "-o", "p.npy"]) == 0
    assert (np.load("p.npy")[:, 0] <= 0.05).sum() <= 6
    assert "unknown" not in capsys.readouterr().err
    assert main(["novelty", "k.csv", "--gram", "--diag", "1"]) == 2
    assert "--diag is for --gram and kernel values of new rows" in capsys.readouterr().err
