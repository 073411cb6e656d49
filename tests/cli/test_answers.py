"""Files that hold their answer: tags of molecules, classes of series, labels in a second file, messy tables."""

from __future__ import annotations

import gzip
import json
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
    rows = [f"Patient {i},{names[i]},{'ab'[group[i]]},{50 + 9 * group[i]}" for i in reversed(range(12))]
    (tmp_path / "people.csv").write_text("title,sample,group,age\n" + "\n".join(rows) + "\n")
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


def days_with_gaps(gaps: tuple[int, ...], titles: str = "time,load_kW") -> str:
    """Half hours of ten days, the load of some of which is not known."""
    times = np.datetime64("2024-01-01T00:00") + 30 * np.arange(480).astype("timedelta64[m]")
    load = 10.0 + np.sin(np.arange(480) * np.pi / 24) + np.random.default_rng(1).normal(size=480)
    cells = ["" if i in gaps else f"{value:.3f}" for i, value in enumerate(load)]
    rows = (f"{str(time).replace('T', ' ')},{cell}" for time, cell in zip(times, cells, strict=True))
    return titles + "\n" + "\n".join(rows) + "\n"


GAPS = (101, 102, 103, 104, 105, 129)  # of the third day


IN_A_ROW = "in more than a tenth of a window or of its length in a row"
LOST = f"1 of 10 windows left out for cells without a number, and times that are missing or stand twice, {IN_A_ROW}"


def test_numbers_of_a_ts_file_are_predicted_and_colour_a_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    speeds = np.random.default_rng(0).uniform(1.0, 3.0, 30)
    lines = [",".join(f"{v:.3f}" for v in np.sin(s * np.arange(20) / 4)) + f":{s:.3f}" for s in speeds]
    lines[3] = lines[3].rpartition(":")[0] + ":?"
    Path("w.ts").write_text("@timeStamps false\n@targetlabel true\n@data\n" + "\n".join(lines) + "\n")
    assert main(["fit", "w.ts", "--predict", "target", "-o", "w.rkhs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["predicts"], found["rows without a value"]) == (["target"], 1)
    assert found["R^2"] > 0.5
    assert main(["map", "w.ts", "--color", "target", "-o", "w.html"]) == 0
    assert main(["fit", "w.ts", "--predict", "class", "-o", "w.rkhs"]) == 2
    assert "write target" in capsys.readouterr().err
    Path("w.ts").write_text("@targetlabel true\n@data\n" + "\n".join([*lines[:5], "1,2,3:fast"]) + "\n")
    assert main(["fit", "w.ts", "--predict", "target", "-o", "w.rkhs"]) == 2
    assert "ends in a number; got texts" in capsys.readouterr().err
