"""Files of objects of every kind, from one line to codes and back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.expressions import parse_kernel
from rkhs.cli.main import main
from rkhs.data import load_molecules
from rkhs.kernels import MoleculeKernel, kernel_from_name
from rkhs.kernels.registry import _BY_NAME
from tests.tables import read_table

N = 10


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    return main(list(words))


def fit(*words: str) -> int:
    return run(
        "fit", *words, "-o", "m.rkhs", "--codes", "z.csv", "--set", "max_iter=20", "--set", "reg=0.01", "--seed", "0"
    )


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def same_codes(*words: str) -> None:
    """The codes of the training file, read again, are those of the model."""
    assert run("transform", "m.rkhs", *words, "-o", "again.npy") == 0
    model = rkhs.load("m.rkhs")
    np.testing.assert_allclose(np.load("again.npy"), model.transform(model.support_items_), atol=1e-6)


def ring(n: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % n) for i in range(n)]


def test_folders_of_graphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rings").mkdir()
    for i in range(N):
        edges = [*ring(3 + i // 2), *([(0, 9)] if i % 2 else [])]
        Path(f"rings/g{i}.edgelist").write_text("# a ring\n" + "\n".join(f"{a} {b}" for a, b in edges) + "\n")
    assert fit("rings") == 0
    printed = capsys.readouterr().out
    both = "Sum(terms=(WeisfeilerLehman(n_iter=2), ShortestPath()))"
    assert f"kernel: {both} (default for graphs; choose with --kernel)" in printed
    assert "10 graphs, codes of 2 components" in printed
    assert read_table("z.csv").row_names == tuple(f"g{i}" for i in range(N))
    same_codes("rings")
    assert run("decode", "m.rkhs", "z.csv", "-o", "near.csv", "--n-best", "1", "--candidates", "rings") == 0
    assert {row["name"] for row in table("near.csv")} <= {f"g{i}" for i in range(N)}
    assert run("compare", "rings", "--model", "m.rkhs") == 0
    assert "variance rebuilt" in capsys.readouterr().out
    assert run("transform", "m.rkhs", "rings", "-o", "z2.csv", "--kind", "series") == 2
    assert "the model reads graphs; got --kind series" in capsys.readouterr().err


def test_strings_and_texts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGT"), size=15)) for _ in range(N)]
    Path("reads.txt").write_text("\n".join(texts) + "\n")
    Path("reads.csv").write_text("name,dna,class\n" + "".join(f"r{i},{t},+\n" for i, t in enumerate(texts)))
    assert fit("reads.csv", "--kind", "sequences", "--columns", "dna", "--kernel", "spectrum(2)") == 0
    assert rkhs.load("m.rkhs").kernel_.k == 2
    same_codes("reads.csv")
    same_codes("reads.txt")
    for library in ([], ["--candidates", "reads.txt"], ["--candidates", "reads.csv"]):
        assert run("decode", "m.rkhs", "z.csv", "-o", "near.csv", "--n-best", "1", *library) == 0
        assert all(row["text"] == texts[int(row["candidate"]) - 1] for row in table("near.csv"))
    Path("notes.txt").write_text("\n".join(f"the {a} of {b}" for a in ("cat", "dog") for b in "abcde") + "\n")
    capsys.readouterr()
    assert fit("notes.txt") == 0
    assert "kernel: Spectrum(k=1, tokens='words') (default for texts" in capsys.readouterr().out
    same_codes("notes.txt")


def test_a_missing_extra_names_its_install_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    monkeypatch.setitem(sys.modules, "networkx.readwrite.graphml", None)
    Path("a.graphml").write_text("<graphml/>")
    assert fit("a.graphml") == 2
    assert 'pip install "rkhs[graphs]"' in capsys.readouterr().err


def test_names_of_kernels_mean_the_same_in_python() -> None:
    for name in _BY_NAME.keys() - {"precomputed"}:
        assert repr(parse_kernel(name)) == repr(kernel_from_name(name))


@pytest.mark.parametrize("kind", ["sequences", "curves"])
def test_the_kernel_of_tables_takes_no_other_items(kind: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("".join(f"{i},{i % 3},{i % 5}\n" for i in range(9)))
    Path("a.fasta").write_text("".join(f">s{i}\nACGT{'ACG'[i % 3]}\n" for i in range(9)))
    words = {"sequences": ["a.fasta"], "curves": ["a.csv", "--kind", "curves"]}[kind]
    assert main(["fit", *words, "--kernel", "mixed_table", "-o", "m.rkhs"]) == 2
    assert f"--kernel mixed_table compares rows of tables; got {kind}; leave it out" in capsys.readouterr().err


def test_a_kernel_of_objects_reads_smiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="molecules need the extra 'chem'")
    smiles = load_molecules().smiles[:N]
    Path("m.smi").write_text("".join(f"{s}\n" for s in smiles))
    assert fit("m.smi", "--kernel", "molecules") == 0
    assert rkhs.load("m.rkhs").kernel_ == MoleculeKernel()
    assert rkhs.load("m.rkhs").support_items_ == list(smiles)
    same_codes("m.smi")
    assert run("decode", "m.rkhs", "z.csv", "-o", "near.csv", "--n-best", "1", "--candidates", "m.smi") == 0
    assert table("near.csv")[0]["smiles"] in smiles
    assert run("transform", "m.rkhs", "m.smi", "-o", "z2.csv", "--fingerprint", "morgan(radius=3)") == 2
