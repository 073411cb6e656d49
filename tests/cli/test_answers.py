"""Files that hold their answer: tags of molecules, classes of series, labels in a second file, messy tables."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs.cli.main import main
from tests.tables import read_table

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


def test_tags_of_molecules_colour_a_map_and_are_predicted(molecules: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(molecules)
    assert main(["map", "m.sdf.gz", "--color", "ring", "-o", "m.png"]) == 0
    assert main(["fit", "m.sdf", "--predict", "weight", "-o", "w.rkhs"]) == 0
    out = capsys.readouterr()
    assert "predicts weight" in out.out
    assert "'relation' says > or < in 1 of 16 rows" in out.err
    Path("n.sdf").write_text(Path("m.sdf").read_text().replace("\n37.5\n", "\n> 30\n"))
    assert main(["fit", "n.sdf", "--predict", "weight", "-o", "n.rkhs"]) == 2
    assert "--missing '> 30'" in capsys.readouterr().err
    assert main(["fit", "n.sdf", "--predict", "weight", "--missing", "> 30", "-o", "n.rkhs"]) == 0
    assert "rows without a value: left out" in capsys.readouterr().out
    Path("n.smi").write_text("CCO\n")
    assert main(["predict", "n.rkhs", "n.smi"]) == 0
    capsys.readouterr()
    assert main(["predict", "w.rkhs", "one.mol"]) == 0
    assert capsys.readouterr().out.startswith("smiles,weight,")
    assert main(["fit", "m.sdf", "--predict", "ring", "-o", "r.rkhs"]) == 0
    assert "predicts ring: no (10), yes (6)" in capsys.readouterr().out
    assert main(["map", "m.sdf", "--color", "weighd", "-o", "m.png"]) == 2
    assert "did you mean 'weight'" in capsys.readouterr().err
    assert read_table("m.sdf", columns=["weight"]).X[0, 0] == 37.5
    assert read_table("m.sdf.gz").row_names == read_table("m.sdf").row_names


def test_bounds_of_an_sdf_file_are_named_at_once_and_warned_of(molecules: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(molecules)
    text = Path("m.sdf").read_text()
    for value, bound, count in (("37.5", ">30", 1), ("50.0", "<= 50", 1), ("37.5", ">60", 9), ("50.0", ">70", 9)):
        text = text.replace(f"\n{value}\n", f"\n{bound}\n", count)  # more than half of the values
    Path("n.sdf").write_text(text)
    assert main(["fit", "n.sdf", "--predict", "weight", "-o", "n.rkhs"]) == 2
    error = capsys.readouterr().err
    assert re.search(r"\(\d+ cells, first '>30' in row \d \('m\d'\), then '>60', '<= 50' and 1 more\)", error)
    words = shlex.split(error[error.rindex("  rkhs fit") :])[1:]
    assert words[-1] == ">30,>60,<= 50,>70"
    assert main(words) == 0
    out = capsys.readouterr()
    assert "rows without a value: left out" in out.out
    assert (
        "bounds such as '>30', '>60', '<= 50' and 1 more are taken as gaps: the model knows no values above or"
        in out.err
    )
    assert main(["fit", "m.sdf", "--predict", "weight", "--missing", ">30", "-o", "n.rkhs"]) == 0
    assert "taken as gaps" not in capsys.readouterr().err  # there is none


def test_the_logarithm_of_a_tag_is_predicted(molecules: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(molecules)
    Path("n.sdf").write_text(Path("m.sdf").read_text().replace("\n37.5\n", "\n>30\n"))
    words = ["fit", "n.sdf", "--predict", "weight", "--missing", ">30", "--log10", "-o", "n.rkhs"]
    assert main(words) == 0
    assert "predicts log10(weight)" in capsys.readouterr().out
    assert main(["predict", "n.rkhs", "m.sdf", "-o", "p.csv"]) == 0
    header, *rows = Path("p.csv").read_text().splitlines()
    assert header.startswith("id,log10(weight)") or "log10(weight)" in header
    assert all(1.0 < float(row.split(",")[1]) < 3.0 for row in rows)


def test_rdkit_writes_nothing_of_an_sdf_file(molecules: Path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(molecules)
    blocks = Path("m.sdf").read_text().split("$$$$\n")
    crowded = blocks[0].replace("  1  2  1  0", "  1  2  3  0").replace(" C   0", " F   0")
    Path("n.sdf").write_text("$$$$\n".join([crowded, *blocks[1:]]))
    assert main(["fit", "n.sdf", "--skip-bad-smiles", "-o", "n.rkhs"]) == 0
    error = capfd.readouterr().err
    assert "row 1 left out" in error
    assert "Explicit valence" not in error


def test_classes_of_series_are_a_column(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [np.sin((1 + 2 * (i % 2)) * np.arange(12) / 3) + 0.2 * RNG.random(12) for i in range(12)]
    lines = [f"{','.join(f'{v:.3f}' for v in row)}:{('slow', 'fast')[i % 2]}" for i, row in enumerate(rows)]
    Path("w.ts").write_text("@timeStamps false\n@classLabel true slow fast\n@data\n" + "\n".join(lines) + "\n")
    assert main(["map", "w.ts", "--color", "class", "-o", "w.png"]) == 0
    assert main(["fit", "w.ts", "--predict", "class", "-o", "w.rkhs"]) == 0
    assert "predicts class: slow (6), fast (6)" in capsys.readouterr().out
    assert main(["map", "w.ts", "--color", "speed", "-o", "w.png"]) == 2
    assert "one column next to its items, class" in capsys.readouterr().err


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
    assert "people.csv names the columns of genes.csv, not its rows: add --transpose" in capsys.readouterr().err
    assert main(["fit", "genes.csv", *FAST, "-o", "g.rkhs"]) == 0
    assert "pass --transpose" in capsys.readouterr().out
    assert main(["report", "genes.csv", *FAST, "-o", "g.html"]) == 0
    assert "pass --transpose" in capsys.readouterr().out
    assert "pass --transpose" in Path("g.html").read_text()


def test_versions_name_each_package_once(capsys) -> None:
    assert main(["versions"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert len(names) == len(set(names))


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


def test_one_long_series_is_cut_into_windows(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    times = np.datetime_as_string(np.datetime64("2024-01-01T00:00") + 180 * np.arange(120).astype("timedelta64[m]"))
    load = 10.0 + np.sin(np.arange(120) * np.pi / 4) + 0.1 * RNG.normal(size=120)
    lines = [f"{time.replace('T', ' ')},{value:.3f}" for time, value in zip(times, load, strict=True)]
    Path("load.csv").write_text("time,load\n" + "\n".join(lines) + "\n")
    assert main(["fit", "load.csv", *FAST, "-o", "s.rkhs"]) == 0
    assert "120 rows are times of one long series, 15 windows of a day" in capsys.readouterr().err
    assert main(["fit", "load.csv", "--window", "8", "--step", "4", *FAST, "-o", "s.rkhs"]) == 0
    assert "29 rows of 8 columns" in capsys.readouterr().out
    assert main(["transform", "s.rkhs", "load.csv", "-o", "codes.csv"]) == 0
    assert Path("codes.csv").read_text().splitlines()[2].startswith("2024-01-01 12:00,")
    capsys.readouterr()
    assert main(["novelty", "load.csv", "--window", "7", "--drop-columns", "time"]) == 0
    said = capsys.readouterr()
    assert "17 windows of load.csv among the others" in said.out
    assert "load.csv: rows at the end that make no whole window: 1" in said.err
    assert main(["fit", "load.csv", "--window", "100", "--step", "40", "-o", "s.rkhs"]) == 2
    assert "must leave at least two windows; got 120 rows" in capsys.readouterr().err


def test_a_lost_hour_hides_no_series(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    hours = np.delete(np.arange(200), [50, 120])
    times = np.datetime_as_string(np.datetime64("2024-01-01T00:00") + hours.astype("timedelta64[h]"))
    lines = [f"{time},{np.sin(i):.3f}" for i, time in enumerate(times)]
    Path("old.csv").write_text("time,load\n" + "\n".join(lines[:150]) + "\n")
    Path("new.csv").write_text("time,load\n" + "\n".join(lines[150:]) + "\n")
    for words in (["fit", "old.csv", *FAST, "-o", "s.rkhs"], ["novelty", "old.csv", "new.csv"]):
        assert main(words) == 0
        said = capsys.readouterr().err
        assert "150 rows are times of one long series" in said
        assert "--window 24 makes an item of each, without time" in said
        assert "--drop-columns time leaves the time out" in said
    Path("old.csv").write_text("time,load\n" + "\n".join(lines[:150:2] + lines[1:150:7]) + "\n")
    assert main(["fit", "old.csv", *FAST, "-o", "s.rkhs"]) == 0
    assert "one long series" not in capsys.readouterr().err


def test_columns_of_many_texts_are_named_first(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    names = ",".join(f"t{j}" for j in range(8))
    rows = [f"{i}," + ",".join("ab"[i % 2] for _ in range(7)) + f",m{i % 25}" for i in range(100)]
    Path("t.csv").write_text(f"x,{names}\n" + "\n".join(rows) + "\n")
    assert main(["fit", "t.csv", "-o", "t.rkhs"]) == 0
    assert "zeros and ones (t7 with 25, t0, t1, t2, t3 and 3 more)" in capsys.readouterr().out


def test_a_table_of_genes_loses_what_describes_them(genes: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(genes)
    first, *lines = Path("genes.csv").read_text().splitlines()
    gene, _, samples = first.partition(",")
    rows = [line.partition(",") for line in lines]
    table = [
        f"{gene},Chr,Start,End,Strand,Length,{samples}",
        *(f"{row[0]},chr1,1,2,+,{i},{row[2]}" for i, row in enumerate(rows)),
    ]
    Path("counts.csv").write_text("\n".join(table) + "\n")
    words = ["--transpose", "--labels", "people.csv", "--predict", "group", "-o", "g.rkhs"]
    assert main(["fit", "counts.csv", *words]) == 2
    said = capsys.readouterr().err
    assert "columns of texts or gaps, 'Chr', 'Strand'; this command reads the others, and leaves 'Start', 'End'" in said
    assert said.rstrip().endswith("--drop-columns Chr,Strand,Start,End,Length")
    assert main(["fit", "counts.csv", *words, "--drop-columns", "Chr,Start,End,Strand,Length"]) == 0
    capsys.readouterr()
    found = []
    for path in ("counts.csv", "genes.csv"):
        assert main(["predict", "g.rkhs", path]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


def test_smiles_with_an_empty_cell_are_advised(molecules: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(molecules)
    rows = [f"{'' if i == 4 else text},{i % 3},{'' if i % 2 else f'name {i}'}" for i, text in enumerate(SMILES[::-1])]
    Path("x.csv").write_text("Smiles,mass,Name\n" + "\n".join(rows) + "\n")
    assert main(["fit", "x.csv", "-o", "x.rkhs"]) == 2
    words = capsys.readouterr().err.rstrip().splitlines()[-1].split()
    assert words[1:] == ["fit", "x.csv", "-o", "x.rkhs", "--smiles", "Smiles", "--skip-bad-smiles"]
    assert main(words[1:]) == 0
    assert (
        "1 SMILES could not be read and was left out; the first is an empty cell in row 5." in capsys.readouterr().out
    )


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


def test_windows_are_cut_where_the_rows_of_the_file_are(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gaps.csv").write_text(days_with_gaps(GAPS))
    Path("clean.csv").write_text(days_with_gaps(()))
    flags = ["--window", "48", "--columns", "load_kW", "-o"]
    assert main(["fit", "clean.csv", *flags, "m.rkhs"]) == 0
    assert main(["transform", "m.rkhs", "clean.csv", "-o", "clean_codes.csv"]) == 0
    capsys.readouterr()
    assert main(["transform", "m.rkhs", "gaps.csv", "-o", "codes.csv"]) == 0
    assert f"{LOST}: 2024-01-03 00:00\n" in capsys.readouterr().err
    lines = Path("clean_codes.csv").read_text().splitlines()
    assert Path("codes.csv").read_text().splitlines() == [*lines[:3], *lines[4:]]
    assert main(["fit", "gaps.csv", "--missing", "9999", *flags, "m.rkhs"]) == 0
    assert "9 rows of 48 columns" in capsys.readouterr().out
    lone = [line.partition(",")[2] for line in days_with_gaps(GAPS).splitlines()]
    Path("lone.csv").write_text("\n".join([*lone, "", ""]))
    capsys.readouterr()
    assert main(["transform", "m.rkhs", "lone.csv", "-o", "lone_codes.csv"]) == 0
    assert f"1 of 10 windows left out for cells without a number, {IN_A_ROW}: 97-144" in capsys.readouterr().err
    assert main(["transform", "m.rkhs", "gaps.csv", "-o", "codes.csv"]) == 0
    lone, dated = (Path(name).read_text().splitlines() for name in ("lone_codes.csv", "codes.csv"))
    assert [line.partition(",")[2] for line in lone] == [line.partition(",")[2] for line in dated]
    Path("gaps.csv").write_text(days_with_gaps(tuple(range(150, 190))))
    assert main(["fit", "gaps.csv", "--window", "200", "--step", "100", "-o", "m.rkhs"]) == 2
    assert "must leave at least two windows; got 2 of 3 windows left out" in capsys.readouterr().err


def test_windows_are_cut_at_the_times_of_rows_that_a_file_lacks(tmp_path: Path, monkeypatch, capsys) -> None:
    """Rows 101 to 105 are not in the file: the days after them begin at midnight all the same."""
    monkeypatch.chdir(tmp_path)
    whole = days_with_gaps(()).splitlines(keepends=True)
    Path("whole.csv").write_text("".join(whole))
    Path("lacking.csv").write_text("".join(whole[:101] + whole[106:]))
    assert main(["fit", "whole.csv", "--window", "48", "-o", "m.rkhs"]) == 0
    for name in ("whole", "lacking"):
        assert main(["transform", "m.rkhs", f"{name}.csv", "-o", f"{name}_codes.csv"]) == 0
    assert f"{LOST}: 2024-01-03 00:00\n" in capsys.readouterr().err
    kept, found = (Path(f"{name}_codes.csv").read_text().splitlines() for name in ("whole", "lacking"))
    assert [line.split(",")[1:] for line in found] == [line.split(",")[1:] for line in [*kept[:3], *kept[4:]]]
    assert found[3].startswith("2024-01-04 00:00,")


def test_short_gaps_of_windows_are_filled_by_straight_lines(tmp_path: Path, monkeypatch, capsys) -> None:
    """Of lost rows and empty cells, at the ends too, in a fit and in a file for it; constant columns are no inputs."""
    monkeypatch.chdir(tmp_path)
    first, *lines = days_with_gaps((0, 101, 102, 116, 479)).splitlines(keepends=True)
    rows = [f"7,{line}" for i, line in enumerate(lines) if i not in (201, 202)]
    Path("gaps.csv").write_text("".join(["site_no," + first, *rows]))
    flags = ["--window", "48", "--estimator", "kernel-pca", "--n-components", "2", "-o", "m.rkhs"]
    assert main(["fit", "gaps.csv", "--mixed", *flags]) == 0
    said = capsys.readouterr()
    assert "10 rows of 48 columns" in said.out
    assert "constant, and left out of the windows: 'site_no'" in said.err
    assert "4 of 10 windows lack 7 cells of 192, which are filled by straight lines" in said.err
    data = pd.read_csv("gaps.csv", parse_dates=[1]).set_index(pd.read_csv("gaps.csv").columns[1])
    known = data["load_kW"].asfreq("30min").interpolate(limit_direction="both")
    full = [f"{time:%Y-%m-%d %H:%M},{value!r}" for time, value in known.items()]
    Path("full.csv").write_text("\n".join([first.strip(), *full]) + "\n")
    for name in ("gaps", "full"):
        assert main(["transform", "m.rkhs", f"{name}.csv", "-o", f"{name}_codes.csv"]) == 0
    gaps, full = (np.loadtxt(f"{name}_codes.csv", delimiter=",", skiprows=1, usecols=1) for name in ("gaps", "full"))
    np.testing.assert_allclose(gaps, full, atol=1e-9)


def test_windows_of_working_days_are_cut_by_rows(tmp_path: Path, monkeypatch, capsys) -> None:
    """Weekends are no missing rows."""
    monkeypatch.chdir(tmp_path)
    days = np.datetime64("2024-01-01") + np.arange(140)
    working = days[np.is_busday(days)]
    rows = [f"{day},{value:.3f}" for day, value in zip(working, RNG.normal(size=len(working)), strict=True)]
    Path("prices.csv").write_text("day,close\n" + "\n".join(rows) + "\n")
    assert main(["fit", "prices.csv", "--window", "10", "-o", "m.rkhs"]) == 0
    said = capsys.readouterr()
    assert "10 rows of 10 columns" in said.out
    assert "left out" not in said.err


def test_windows_name_the_columns_that_hold_texts(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    first, *lines = days_with_gaps(GAPS).splitlines()
    rows = [f"{line},{'AB'[i % 2]},{i % 7}" for i, line in enumerate(lines)]
    Path("sites.csv").write_text("\n".join([first + ",site,flow", *rows]) + "\n")
    assert main(["fit", "sites.csv", "--window", "48", "-o", "m.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "got texts in 'site'; this command cuts the others" in said
    assert said.rstrip().endswith("rkhs fit sites.csv --window 48 -o m.rkhs --columns load_kW,flow")
    assert main(["fit", "sites.csv", "--window", "48", "-o", "m.rkhs", "--drop-columns", "time"]) == 2
    command = capsys.readouterr().err.rstrip().splitlines()[-1]
    assert command.endswith("rkhs fit sites.csv --window 48 -o m.rkhs --columns load_kW,flow")  # not both
    assert main(["fit", "sites.csv", "--window", "48", "-o", "m.rkhs", "--columns", "load_kW,flow"]) == 0
    assert "9 rows of 96 columns" in capsys.readouterr().out


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


def test_classes_of_a_file_of_series_stand_next_to_those_predicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    waves = [",".join(f"{v:.3f}" for v in np.sin((1 + i % 2) * np.arange(12) / 2 + i / 9)) for i in range(20)]
    lines = "\n".join(f"{wave}:{'fast' if i % 2 else 'slow'}" for i, wave in enumerate(waves))
    Path("w.ts").write_text(f"@timeStamps false\n@classLabel true slow fast\n@data\n{lines}\n")
    assert main(["fit", "w.ts", "--predict", "class", "-o", "w.rkhs", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", "w.rkhs", "w.ts"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][1:3] == ["class", "in_file"]
    assert [row[2] for row in rows[1:]] == ["slow", "fast"] * 10


def test_a_table_of_another_country_is_read_with_its_units_and_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A title with a comma, semicolons, decimal commas, points between thousands, units in cells, another encoding."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    areas = rng.uniform(30.0, 160.0, 60)
    rows = [f"{a:.1f} m²;{rng.integers(1900, 2020)}".replace(".", ",") for a in areas]
    prices = [f"{1e4 * a:,.0f}".replace(",", ".") for a in areas]
    title = "Wohnungen in München, Stand 2024\n\nWohnung;Fläche;Baujahr"
    Path("a.csv").write_text(
        f"{title};Preis\n" + "\n".join(f"W{i};{row};{p}" for i, (row, p) in enumerate(zip(rows, prices, strict=True))),
        encoding="cp1252",
    )
    Path("new.csv").write_text(f"{title}\nW77;{rows[0]}\nW78;{rows[1]}\n", encoding="cp1252")
    fit = ["fit", "a.csv", "--predict", "Preis", "-o", "m.rkhs", "--encoding", "cp1252"]
    assert main(fit) == 2
    assert "pass --thousands . if " in capsys.readouterr().err
    assert main([*fit, "--thousands", ".", "--mixed"]) == 0
    out, error = capsys.readouterr()
    assert "read as numbers in 'm²'" in error
    assert "R^2 0.99" in out or "R^2 1.0" in out
    assert "e+0" not in out.partition("columns:")[0].partition("held-out")[2]
    assert main(["predict", "m.rkhs", "new.csv"]) == 0
    table = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in table] == ["Wohnung", "W77", "W78"]
    np.testing.assert_allclose([float(row[1]) for row in table[1:]], 1e4 * areas[:2], rtol=0.05)


def test_notes_on_molecules_are_of_their_kernel(tmp_path: Path, monkeypatch, capsys) -> None:
    """Equal fingerprints where the kernel reads these, equal SMILES elsewhere; and which molecules a fit has seen."""
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    chains = [f"{'C' * i}O" for i in range(8, 20)]  # of one fingerprint
    rows = "".join(f"{smiles},{i}.5,'{'>' if i == 3 else '='}'\n" for i, smiles in enumerate([*SMILES, *chains, "CCO"]))
    Path("m.csv").write_text(f"smiles,y,Standard Relation\n{rows}")
    assert main(["fit", "m.csv", "--smiles", "smiles", "--predict", "y", "-o", "m.rkhs"]) == 0
    out = capsys.readouterr()
    assert "equal items: 1 of 29 rows repeat the item of an earlier row, 1 of them with another value" in out.out
    assert "fingerprint" not in out.out
    assert "'Standard Relation' says > or < in 1 of" in out.err
    assert main(["fit", "m.csv", "--smiles", "smiles", "--codes", "z.csv"]) == 0
    assert "have the fingerprint of an earlier one" in capsys.readouterr().out
    Path("new.smi").write_text("CCO\nCCCCCCCN\n")
    assert main(["predict", "m.rkhs", "new.smi"]) == 0
    assert "molecules in the fit: 1, such as 'CCO'" in capsys.readouterr().err


def test_rows_in_the_order_of_a_series_are_noted_without_dates(tmp_path: Path, monkeypatch, capsys) -> None:
    """The note has the command, with the columns of numbers; the same rows in any order get none."""
    monkeypatch.chdir(tmp_path)
    time = np.datetime_as_string(np.datetime64("2024-01-01T00:00") + np.arange(400).astype("timedelta64[h]"))
    flow = np.sin(np.arange(400) * np.pi / 12) + 0.05 * RNG.normal(size=400)
    lines = np.array(
        [f"{t.replace('T', ' ')},{a:.3f},{b}" for t, a, b in zip(time, flow, ["ok", "no"] * 200, strict=True)]
    )
    Path("a.csv").write_text("time,flow,state\n" + "\n".join(lines) + "\n")
    Path("b.csv").write_text("time,flow,state\n" + "\n".join(RNG.permutation(lines)) + "\n")
    named, left_out = ["--index-column", "time"], ["--drop-columns", "time"]
    for words, dropped, found in ((named, "state", "are"), (left_out, "time,state", "look like")):
        assert main(["novelty", "a.csv", *words]) == 0
        said = capsys.readouterr().err
        assert f"the 400 rows {found} times of one long series" in said
        command = shlex.split(said.rstrip().splitlines()[-1])[1:]
        assert command[-4:] == ["--window", "24", "--drop-columns", dropped]
        assert main(command) == 0
        assert "16 windows of a.csv" in capsys.readouterr().out
        assert main(["novelty", "b.csv", *words]) == 0
        assert "series" not in capsys.readouterr().err
