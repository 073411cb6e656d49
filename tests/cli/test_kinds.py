"""Files of objects of every kind, from one line to codes and back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs.cli.expressions import parse_kernel
from rkhs.cli.main import main
from rkhs.data import load_molecules
from rkhs.kernels import MoleculeKernel, kernel_from_name, quadrature_weights
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
    Path("a.csv").write_text("0,1,2\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(9)))
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


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_series_and_curves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = np.linspace(0, 1, 12)
    X = np.sin(4 * t + np.linspace(0, 3, N)[:, None])
    rows = ["\t".join([str(1 + i % 2), *map(str, x)]) for i, x in enumerate(X.tolist())]
    Path("train.tsv").write_text("\n".join(rows) + "\n")
    assert fit("train.tsv", "--kind", "series") == 0
    assert "kernel: ShiftInvariant()" in capsys.readouterr().out
    same_codes("train.tsv")
    np.savez("all.npz", A=X, B=X[:, :, None])
    same_codes("all.npz", "--read", "key=B")
    lengths = {f"s{i}": x[: 8 + i % 3] for i, x in enumerate(X)}
    np.savez("some.npz", **lengths)
    assert fit("some.npz", "--kind", "series") == 0
    assert "kernel: GlobalAlignment()" in capsys.readouterr().out
    assert read_table("z.csv").row_names == tuple(lengths)
    same_codes("some.npz")
    header = ",".join(str(round(float(time), 3) ** 2) for time in t)
    Path("curves.csv").write_text(header + "\n" + "\n".join(",".join(map(str, x)) for x in X.tolist()) + "\n")
    assert fit("curves.csv", "--kind", "curves", "--read", "header=0") == 0
    assert "10 curves at 12 times" in (said := capsys.readouterr().out)
    assert "'auto'" not in said  # no kernel of curves, but the default of the estimator
    model = rkhs.load("m.rkhs")
    assert model.columns == "integral"  # their times are not equally spaced
    np.testing.assert_allclose(model.reader_.scaling.scale**-2, quadrature_weights(t.round(3) ** 2, 12))
    assert run("transform", "m.rkhs", "curves.csv", "--read", "header=0", "-o", "again.npy") == 0
    np.testing.assert_allclose(np.load("again.npy"), model.transform(X), atol=1e-6)
    assert run("decode", "m.rkhs", "z.csv", "-o", "back.csv") == 0
    assert read_table("back.csv", header=0).column_names == tuple(header.split(","))
    np.savez("other.npz", X=X, t=t)
    assert run("transform", "m.rkhs", "other.npz", "-o", "z2.csv") == 2
    assert "the model reads curves at 12 other times; resample the curves" in capsys.readouterr().err
    np.savez("even.npz", X=X, t=t)
    assert fit("even.npz", "--kind", "curves") == 0
    assert rkhs.load("m.rkhs").columns == "raw"
    assert fit("curves.csv", "--kind", "curves", "--read", "header=0", "--kernel", "functionalgaussian") == 0
    assert rkhs.load("m.rkhs").columns == "raw"  # its kernel integrates
    np.testing.assert_allclose(rkhs.load("m.rkhs").kernel_.times, t.round(3) ** 2)


def test_fingerprints_are_remembered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit", reason="fingerprints need the extra 'chem'")
    smiles = load_molecules().smiles[:N]
    Path("m.smi").write_text("".join(f"{s}\n" for s in smiles))
    assert fit("m.smi", "--fingerprint", "counts(radius=1, n_bits=64)") == 0
    assert "kernel: MinMax()" in capsys.readouterr().out
    model = rkhs.load("m.rkhs")
    assert model.support_items_.shape == (N, 64)
    assert model.support_items_.max() > 1
    same_codes("m.smi")
    assert run("decode", "m.rkhs", "z.csv", "-o", "near.csv", "--n-best", "1", "--candidates", "m.smi") == 0
    assert table("near.csv")[0]["smiles"] in smiles
    assert run("transform", "m.rkhs", "m.smi", "-o", "z2.csv", "--fingerprint", "counts(radius=3)") == 2
    assert "--fingerprint must be that of the fit" in capsys.readouterr().err
    assert fit("m.smi", "--fingerprint", "maccs") == 0
    same_codes("m.smi")
    assert fit("m.smi", "--fingerprint", "path(radius=3)") == 2
    assert "--fingerprint path has no option radius; it has n_bits, on_error" in capsys.readouterr().err
    assert fit("m.smi", "--fingerprint", "morgan(radius=1 + 1)") == 2
    assert "radius must be an integer from 0 to 100; got '1+1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "words", "message"),
    [
        ("a.xyz", "1 2\n", (), "a folder of graphs or end in .csv"),
        ("a.txt", "", (), "expected a text per line; got an empty file"),
        ("a.csv", "", ("--kind", "series"), "expected a table; got an empty file"),
        (
            "a.csv",
            "1,2,3\n1,2\n",
            ("--kind", "series"),
            "expected 3 cells in each row, as in the first; got 2",
        ),
        ("a.ts", "@data\n1,2:a\n", (), "from aeon.datasets import load_from_ts_file"),
        ("a.tsv", "a\tb\n1\t2\n", ("--kind", "series"), "begins each row with its class"),
        ("a.csv", "a,b\nx,y\n", ("--kind", "sequences"), "sequences stand in one column"),
        ("a.csv", "a,b\n1,2\n3,5\n", ("--kind", "curves"), "named by their times"),
        ("a.csv", "a,b\n1,2\n3,5\n", ("--kernel", "wl"), "WeisfeilerLehman"),
        ("a.csv", "a,b\n1,2\n3,5\n", ("--fingerprint", "path"), "is for molecules, and needs --smiles"),
        ("a.edges", "1 2 three\n4\n", (), "line 2: expected an edge, the names of two nodes; got '4'"),
        ("none", None, (), "name a file or folder that exists"),
    ],
)
def test_bad_files_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, words: tuple[str, ...], message: str
) -> None:
    if text is not None:
        Path(name).write_text(text)
    assert fit(name, *words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_a_table_of_series_has_names_and_a_column_of_classes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n, t = 24, np.linspace(0, 1, 12)
    X = np.sin((4 + 6 * (np.arange(n) % 2))[:, None] * t + np.linspace(0, 3, n)[:, None])
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(12)])
    frame.to_csv("bare.csv", index=False)
    frame["pace"], frame["speed"] = np.where(np.arange(n) % 2, "run", "walk"), X.max(1) + np.arange(n) % 2
    frame.to_csv("s.csv", index=False)
    series = ("s.csv", "--kind", "series")
    assert run("fit", *series, "--drop-columns", "speed,pace", "-o", "m.rkhs", "--estimator", "kernel-pca") == 0
    assert [item.shape for item in rkhs.load("m.rkhs").support_items_] == [(12, 1)] * n
    words = ["--drop-columns", "speed", "--predict", "pace", "-o", "m.rkhs", "--set", "max_iter=9"]
    assert run("fit", *series, *words) == 0
    assert "predicts pace: walk (12), run (12)" in capsys.readouterr().out
    assert run("predict", "m.rkhs", "bare.csv") == 0
    assert [row.split(",")[1] for row in capsys.readouterr().out.split()[1:]] == list(frame["pace"])
    assert run("fit", *series, "--drop-columns", "pace", "--predict", "speed", "-o", "m.rkhs") == 0
    assert run("predict", "m.rkhs", "bare.csv") == 0
