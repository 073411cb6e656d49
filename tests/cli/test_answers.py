"""Files that hold their answer: tags of molecules, classes of series, labels in a second file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main

SMILES = [
    "CCO",
    "CCN",
    "CCCC",
    "CCOC",
    "NCCO",
    "CCCl",
    "CCCCO",
    "OCCO",
    "CCS",
    "CC=O",
    "c1ccccc1O",
    "c1ccccc1",
    "c1ccncc1",
    "c1ccccc1N",
    "c1ccsc1",
    "c1ccoc1",
]
RNG = np.random.default_rng(0)
FAST = ["--estimator", "kernel-pca"]  # where only sentences count


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    Chem = pytest.importorskip("rdkit.Chem")
    path = tmp_path / "m.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for i, smiles in enumerate(SMILES):
            molecule = Chem.MolFromSmiles(smiles)
            molecule.SetProp("_Name", f"m{i}")
            tags = {"weight": f"{12.5 * molecule.GetNumAtoms()}", "relation": ">" if i == 5 else "="}
            for name, value in (tags | {"ring": "yes" if i > 9 else "no"}).items():
                molecule.SetProp(name, value)
            writer.write(molecule)
    path.with_suffix(".sdf.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "one.mol").write_text(Chem.MolToMolBlock(Chem.MolFromSmiles("CCCO")))
    return tmp_path


@pytest.fixture
def genes(tmp_path: Path) -> Path:
    group, names = np.arange(12) % 2, [f"S{i}" for i in range(12)]
    X = 8.0 + 3.0 * RNG.normal(size=(240, 1)) + 0.5 * RNG.normal(size=(240, 12))
    X[:30] += 3.0 * group
    lines = [f"gene{j}," + ",".join(f"{v:.3f}" for v in row) for j, row in enumerate(X)]
    (tmp_path / "genes.csv").write_text("gene," + ",".join(names) + "\n" + "\n".join(lines) + "\n")
    rows = [f"{names[i]},Patient {i},{'ab'[group[i]]},{50 + 9 * group[i]}" for i in reversed(range(12))]
    (tmp_path / "people.csv").write_text("sample,title,group,age\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_kernels_asked_of_the_package_are_found() -> None:

    assert rkhs.SmoothClassifier.__name__ == "SmoothClassifier"
    assert rkhs.SmoothRegressor.__name__ == "SmoothRegressor"
    with pytest.raises(AttributeError, match=r"it is rkhs\.kernels\.Tanimoto"):
        rkhs.Tanimoto  # noqa: B018


def test_an_sdf_file_and_a_table_of_smiles_are_compared(tmp_path: Path, monkeypatch, capsys) -> None:
    Chem = pytest.importorskip("rdkit.Chem")
    monkeypatch.chdir(tmp_path)
    smiles = ["C" * n + end for n in range(1, 8) for end in ("O", "N", "F", "Cl")]
    with Chem.SDWriter("known.sdf") as writer:
        for one in smiles:
            writer.write(Chem.MolFromSmiles(one))
    Path("new.csv").write_text("id,structure\na,CCCCO\nb,c1ccccc1C(=O)O\n")
    words = ["novelty", "known.sdf", "new.csv", "--smiles", "structure", "-o", "p.csv"]
    assert main(words) == 0, capsys.readouterr().err
    assert len(Path("p.csv").read_text().splitlines()) == 3


def test_rdkit_writes_nothing_of_an_sdf_file(molecules: Path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(molecules)
    blocks = Path("m.sdf").read_text().split("$$$$\n")
    crowded = blocks[0].replace("  1  2  1  0", "  1  2  3  0").replace(" C   0", " F   0")
    Path("n.sdf").write_text("$$$$\n".join([crowded, *blocks[1:]]))
    assert main(["fit", "n.sdf", "--fingerprint", "morgan(on_error=skip)", "-o", "n.rkhs"]) == 0
    error = capfd.readouterr().err
    assert "Explicit valence" not in error


def test_classes_of_series_are_a_column(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [np.sin((1 + 2 * (i % 2)) * np.arange(12) / 3) + 0.2 * RNG.random(12) for i in range(12)]
    np.savetxt("w.tsv", np.column_stack([np.arange(12) % 2, rows]), delimiter="\t", fmt="%.3f")
    words = ["w.tsv", "--kind", "series"]
    assert main(["map", *words, "--color", "class", "-o", "w.png"]) == 0
    assert main(["fit", *words, "--predict", "class", "-o", "w.rkhs"]) == 0
    assert "predicts class: 0 (6), 1 (6)" in capsys.readouterr().out
    assert main(["map", *words, "--color", "speed", "-o", "w.png"]) == 2
    assert "one column beside its items, class; got speed" in capsys.readouterr().err


def test_labels_of_a_second_file_are_found_by_name(genes: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(genes)
    labels = ["genes.csv", "--transpose", "--labels", "people.csv"]
    assert main(["map", *labels, "--color", "group", "-o", "m.png"]) == 0
    assert main(["fit", *labels, "--predict", "group", "-o", "g.rkhs"]) == 0
    assert "predicts group: a (6), b (6)" in capsys.readouterr().out
    assert main(["predict", "g.rkhs", "genes.csv"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [[f"S{i}", "ab"[i % 2]] for i in range(12)]
    assert main(["fit", *labels, "--predict", "age", "-o", "a.rkhs"]) == 0
    assert main(["fit", "genes.csv", "--labels", "people.csv", "--predict", "age", "-o", "a.rkhs"]) == 2
    assert main(["fit", "genes.csv", *FAST, "-o", "g.rkhs"]) == 0
    assert main(["report", "genes.csv", *FAST, "-o", "g.html"]) == 0


def test_notes_on_molecules_are_of_their_kernel(tmp_path: Path, monkeypatch, capsys) -> None:
    """Equal fingerprints where the kernel reads these, equal SMILES elsewhere."""
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    chains = [f"{'C' * i}O" for i in range(8, 20)]  # of one fingerprint
    rows = "".join(f"{smiles},{i}.5,'{'>' if i == 3 else '='}'\n" for i, smiles in enumerate([*SMILES, *chains, "CCO"]))
    Path("m.csv").write_text(f"smiles,y,Standard Relation\n{rows}")
    assert main(["fit", "m.csv", "--smiles", "smiles", "--predict", "y", "-o", "m.rkhs"]) == 0
    out = capsys.readouterr()
    assert "fingerprint" not in out.out
    assert main(["fit", "m.csv", "--smiles", "smiles", "--codes", "z.csv"]) == 0
    assert "have the fingerprint of an earlier one" in capsys.readouterr().out


def test_tags_of_molecules_colour_a_map_and_are_predicted(molecules: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(molecules)
    assert main(["map", "m.sdf.gz", "--color", "ring", "-o", "m.png"]) == 0
    assert main(["fit", "m.sdf", "--predict", "weight", "-o", "w.rkhs"]) == 0
    out = capsys.readouterr()
    assert "predicts weight" in out.out
    Path("n.smi").write_text("CCO\n")
    assert main(["predict", "w.rkhs", "n.smi"]) == 0
    capsys.readouterr()
    assert main(["predict", "w.rkhs", "one.mol"]) == 0
    assert capsys.readouterr().out.startswith("smiles,weight,")
    assert main(["fit", "m.sdf", "--predict", "ring", "-o", "r.rkhs"]) == 0
    assert "predicts ring: no (10), yes (6)" in capsys.readouterr().out
    assert main(["map", "m.sdf", "--color", "weighd", "-o", "m.png"]) == 2
    assert "did you mean 'weight'" in capsys.readouterr().err


def test_classes_of_a_file_of_series_stand_next_to_those_predicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    waves = [[1 + i % 2, *np.sin((1 + i % 2) * np.arange(12) / 2 + i / 9)] for i in range(20)]
    np.savetxt("w.tsv", waves, delimiter="\t", fmt="%.3f")
    assert main(["fit", "w.tsv", "--kind", "series", "--predict", "class", "-o", "w.rkhs", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", "w.rkhs", "w.tsv"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][1:3] == ["class", "p(1)"]
    assert [row[1] for row in rows[1:]] == ["1", "2"] * 10
