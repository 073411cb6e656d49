"""``rkhs fit --predict smiles`` and ``rkhs predict --candidates``: structures of spectra."""

from __future__ import annotations

import csv
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import rkhs
from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.cli.structures import _first_of_left_out, _summary
from rkhs.data import read_items
from rkhs.data.known_columns import candidates_of, labels_of, read_column
from rkhs.data.molecule_files import flat_smiles
from rkhs.data.table_reader import column_titles

if not all(map(find_spec, ("matchms", "rdkit"))):  # imported by the tests alone: it takes a second
    pytest.skip("spectra need matchms, structures RDKit (extra `spectra`)", allow_module_level=True)

PARTS = ("C", "O", "N", "CC", "C(=O)", "c1ccccc1", "S", "Cl", "F", "OC")


def molecule(parts: np.ndarray) -> str:
    """A chain of carbons with the parts on it: parts are peaks of its spectrum."""
    return "C" + "".join(f"C({PARTS[j]})" for j in parts) + "C"


def write(folder: Path, count: int, first: int, name: str, *, known: bool = True) -> list[str]:
    """An .mgf file of spectra whose peaks are the parts of their molecules; the molecules."""
    rng, found, text = np.random.default_rng(first), [], ""
    for i in range(count):
        parts = np.sort(rng.choice(len(PARTS), 3, replace=False))
        found.append(molecule(parts))
        peaks = "".join(f"{100 + 20 * j:.2f} {rng.uniform(50, 100):.1f}\n" for j in parts)
        smiles = f"SMILES={found[-1]}\n" if known else ""
        text += f"BEGIN IONS\nTITLE=s{first + i}\nPEPMASS={200 + i}.5\n{smiles}{peaks}END IONS\n\n"
    (folder / name).write_text(text)
    return found


def lists(folder: Path, named: dict[int, list[str]]) -> str:
    """A table of an item and a candidate a row."""
    with open(folder / "lists.csv", "w", newline="") as file:
        rows = [(f"s{i}", one, 0.5) for i, some in named.items() for one in some]
        csv.writer(file).writerows([("spectrum", "smiles", "mass"), *rows])
    return str(folder / "lists.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spectra")
    write(folder, 60, 0, "spectra.mgf")
    assert main(["fit", str(folder / "spectra.mgf"), "--predict", "smiles", "-o", str(folder / "m.rkhs")]) == 0
    new, known = write(folder, 30, 1000, "new.mgf", known=False), write(folder, 30, 2000, "known.mgf")
    rng = np.random.default_rng(0)
    others = [molecule(np.sort(rng.choice(len(PARTS), 3, replace=False))) for _ in range(5)]
    named = {1000 + i: [*(o for o in others if o != m), m] for i, m in enumerate(new)}
    named |= {2000 + i: [*(o for o in others if o != m), m] for i, m in enumerate(known)}
    lists(folder, named)
    (folder / "truth.txt").write_text("\n".join(new))
    return folder


def test_a_file_of_spectra_has_peaks_tags_and_names(tmp_path: Path) -> None:
    (tmp_path / "a.msp").write_text(
        "Name: one\nPrecursorMZ: 195.0877\nSmiles: CCO\nNum Peaks: 2\n110.5 20; 138.25 100\n\n"
        "Name: two\nPrecursorMZ: 60.5\nSmiles: CCN\nNum Peaks: 1\n45.5 7\n\n"
    )
    data = read_items(tmp_path / "a.msp")
    assert (data.kind, data.row_names) == ("spectra", ("one", "two"))
    np.testing.assert_allclose(data.items[0], [[110.5, 138.25], [20.0, 100.0]])
    assert read_column(tmp_path / "a.msp", "smiles", argument="x").tolist() == ["CCO", "CCN"]
    assert read_column(tmp_path / "a.msp", "precursor_mz", argument="x").tolist() == [195.0877, 60.5]


@pytest.mark.parametrize("text", ["", "no spectra\n", "BEGIN IONS\nTITLE=a\nPEPMASS=1.5\nEND IONS\n"])
def test_files_without_peaks_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.mgf").write_text(text)
    with pytest.raises(InputError, match="expected"):
        read_items(tmp_path / "a.mgf")


def test_records_without_a_peak_are_left_out(tmp_path: Path) -> None:
    one = "BEGIN IONS\nTITLE={}\nPEPMASS=1.5\n{}END IONS\n\n"
    (tmp_path / "a.mgf").write_text(one.format("a", "") + one.format("b", "10.5 2\n"))
    data = read_items(tmp_path / "a.mgf")
    assert (data.row_names, data.row_numbers) == (("b",), [2])


def test_a_record_of_zero_peaks_is_left_out_by_name_and_lends_its_tags_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.msp").write_text(
        "Name: one\nSmiles: CCO\nNum Peaks: 0\n\nName: two\nNum peaks: 1\n45.5 7\n\nName: three\nNUM PEAKS: 0\n"
    )
    data = read_items(tmp_path / "a.msp")
    assert data.row_names == ("two",)
    assert [(bad.row, bad.text, bad.reason) for bad in data.skipped] == [
        (1, "one", "no peaks"),
        (3, "three", "no peaks"),
    ]
    assert read_column(tmp_path / "a.msp", "smiles", argument="x").tolist() == ["CCO", None, None]


def test_the_encoding_of_spectra_is_proposed_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.msp"
    file.write_bytes("".join(f"NAME: \xb5{i}\nSMILES: CCO\nNum Peaks: 1\n50 {i}\n\n" for i in (1, 2)).encode("cp1252"))
    assert main(["fit", str(file), "--predict", "smiles", "-o", str(tmp_path / "m.rkhs")]) == 2
    assert capsys.readouterr().err.strip().endswith("m.rkhs --encoding cp1252")
    assert read_items(file, encoding="cp1252").row_names == ("\xb51", "\xb52")
    assert read_column(file, "smiles", argument="x", encoding="cp1252").tolist() == ["CCO", "CCO"]
    assert "smiles" in column_titles(file, encoding="cp1252")


def test_spectra_of_intact_ions_next_to_those_of_fragments_are_left_out(tmp_path: Path) -> None:
    one = "BEGIN IONS\nFEATURE_ID={}\nPEPMASS=1.5\nMSLEVEL={}\n10.5 {}\nEND IONS\n\n"
    (tmp_path / "a.mgf").write_text("".join(one.format(i, level, level) for i in (7, 9) for level in (1, 2)))
    data = read_items(tmp_path / "a.mgf")
    assert (data.row_names, data.row_numbers) == (("7", "9"), [2, 4])
    assert [float(intensity[0]) for _, intensity in data.items] == [2.0, 2.0]
    (tmp_path / "b.mgf").write_text("".join(one.format(i, 1, 1) for i in (7, 9)))
    assert read_items(tmp_path / "b.mgf").row_names == ("7", "9")


def test_records_of_sirius_are_spectra_of_fragments_by_collision(tmp_path: Path) -> None:
    (tmp_path / "a.ms").write_text(
        ">compound one\n>parentmass 195.0877\n>smiles CCO\n#rt 725.28s\n\n>ms1\n195.1 5\n\n"
        ">collision 35\n50.5 1\n60.5 2\n>collision 20\n70.5 3\n\n>compound two\n>parentmass 60.5\n\n>ms2\n45.5 7\n"
    )
    data = read_items(tmp_path / "a.ms")
    assert data.row_numbers == [2, 3, 4]
    np.testing.assert_allclose(data.items[0], [[50.5, 60.5], [1.0, 2.0]])
    for name, cells in (
        ("smiles", ["CCO", "CCO", "CCO", None]),
        ("compound_name", ["one", "one", "one", "two"]),
        ("precursor_mz", [195.0877, 195.0877, 195.0877, 60.5]),
        ("collision", [np.nan, 35.0, 20.0, np.nan]),
    ):
        np.testing.assert_array_equal(read_column(tmp_path / "a.ms", name, argument="x"), np.array(cells))


def test_candidates_are_ranked_with_sets_and_probabilities(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["predict", str(folder / "m.rkhs"), str(folder / "new.mgf"), "--candidates", str(folder / "lists.csv")]
    capsys.readouterr()
    assert main([*command, "--known", str(folder / "known.mgf"), "-o", str(folder / "ranked.csv")]) == 0
    said = capsys.readouterr().out
    assert "of 30 known items the true structure is first for" in said
    assert "(by guessing 17%), among the first 5 for" in said  # six candidates each
    assert "(by guessing 83%), among the first 10 for 100% (by guessing 100%)" in said
    rows = list(csv.DictReader((folder / "ranked.csv").read_text().splitlines()))
    assert list(rows[0]) == ["item", "rank", "candidate", "score", "probability", "in_set", "in_fit"]
    truth = (folder / "truth.txt").read_text().splitlines()
    first = [row["candidate"] for row in rows if row["rank"] == "1"]
    assert np.mean([a == b for a, b in zip(first, truth, strict=True)]) > 0.6  # one in six by chance
    inside = {row["item"]: row["in_set"] for row in rows if row["candidate"] == truth[int(row["item"][1:]) - 1000]}
    assert np.mean([value == "yes" for value in inside.values()]) > 0.75
    shares = [sum(float(row["probability"]) for row in rows if row["item"] == f"s{1000 + i}") for i in range(30)]
    np.testing.assert_allclose(shares, 1.0)


def test_candidates_of_the_fit_are_counted(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = read_column(folder / "spectra.mgf", "smiles", argument="x")[0]
    for texts, warned in ((["CCO", fitted], True), (["CCO", "CCN"], False)):
        (tmp_path / "a.smi").write_text("\n".join(texts))
        command = ["predict", str(folder / "m.rkhs"), str(folder / "new.mgf"), "--candidates", str(tmp_path / "a.smi")]
        assert main(command) == 0
        out, err = capsys.readouterr()
        assert ("1 of 2 different candidates are structures of the fit" in err) == warned
        marked = {row["candidate"]: row["in_fit"] for row in csv.DictReader(out.splitlines())}
        assert marked == {"CCO": "no", texts[1]: "yes" if warned else "no"}


def test_without_known_items_there_are_sets_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["predict", str(folder / "m.rkhs"), str(folder / "new.mgf"), "--candidates", str(folder / "lists.csv")]
    capsys.readouterr()
    assert main(command) == 0
    out, error = capsys.readouterr()
    assert out.splitlines()[0] == "item,rank,candidate,score,in_set,in_fit"
    assert "no probabilities" in error


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--candidates FILE"),
        (["--candidates", "{}/others.csv"], "must hold names of INPUT"),
        (["--candidates", "{}/lists.csv", "--known", "{}/new.mgf"], "smiles"),
    ],
)
def test_what_is_missing_is_named(
    flags: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "others.csv").write_text("spectrum,smiles\nz1,CCO\nz2,CCN\n")
    command = ["predict", str(folder / "m.rkhs"), str(folder / "new.mgf"), *(flag.format(folder) for flag in flags)]
    assert main(command) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_table_of_candidates_is_refused_before_the_model_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a.csv", "id,Structure\n1,CCO\n"), ("m.rkhs", "no model")):
        (tmp_path / name).write_text(text)
    files = ["m.rkhs", "new.mgf", "a.csv"]
    model, new, table = (str(tmp_path / name) for name in files)
    (tmp_path / "new.mgf").write_text("")
    assert main(["predict", model, new, "--candidates", table]) == 2
    assert "with smiles in its name" in capsys.readouterr().err


def test_spectra_are_found_by_the_identifiers_of_their_compound(tmp_path: Path) -> None:
    records = [("one", "AAA-N", "50-00-0", 7), ("two", "BBB-N", "64-17-5", 8), ("one", "AAA-N", "50-00-0", 9)]
    form = "Name: {}\nInChIKey: {}\nCASNO: {}\nNISTNO: {}\nNum Peaks: 1\n45.5 7\n\n"
    (tmp_path / "a.msp").write_text("".join(form.format(*record) for record in records))
    namings = read_items(tmp_path / "a.msp").namings
    for place in (1, 2):
        rows = dict.fromkeys(record[place] for record in records)
        (tmp_path / "b.csv").write_text("key,y\n" + "".join(f"{key},{i}.5\n" for i, key in enumerate(rows)))
        assert labels_of(tmp_path / "b.csv", "y", namings).tolist() == [0.5, 1.5, 0.5]
    (tmp_path / "b.csv").write_text("key,y\nother,1\n")
    with pytest.raises(InputError, match="expected names such as 'AAA-N' or '50-00-0' or '7'|'one' or 'AAA-N'"):
        labels_of(tmp_path / "b.csv", "y", namings)


def test_one_list_is_for_all(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles\nCCO\nCCN\n")
    (tmp_path / "a.smi").write_text("CCO\nCCN one\n")
    for name in ("a.csv", "a.smi"):
        assert candidates_of(tmp_path / name, "smiles", [["x", "y"]]) == [["CCO", "CCN"]] * 2


def test_names_of_which_none_is_found_are_shown_with_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,y\nS01,0.5\nS02,1.5\n")
    message = "expected names such as 'bam/T01.bam', each once, in a column; got none, but 'S01' and 1 more; write"
    with pytest.raises(InputError, match=message):
        labels_of(tmp_path / "labels.csv", "y", [["bam/T01.bam", "bam/T02.bam"]])


@pytest.mark.parametrize("form", ["bam/{}_sorted.bam", "C:\\runs\\{}.sorted.bam", "{}-1", "out/{}"])
def test_names_of_files_are_those_of_their_items(tmp_path: Path, form: str) -> None:
    (tmp_path / "labels.csv").write_text("id,y\nS11,1.5\nS01,0.5\nS21_B,2.5\n")
    names = [form.format(name) for name in ("S01", "S11", "S21_B")]
    with pytest.warns(UserWarning, match=f"names of rows such as {re.escape(repr(names[0]))} are matched as 'S01'$"):
        assert labels_of(tmp_path / "labels.csv", "y", [names]).tolist() == [0.5, 1.5, 2.5]


def test_labels_are_matched_without_the_start_that_most_names_have(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("run,arm\nS1,a\nS2,b\nS3,a\n")
    names = ["Peptides", "LFQ intensity S1", "LFQ intensity S2", "LFQ intensity S3"]
    with pytest.warns(UserWarning, match="row") as caught:
        labels = labels_of(sheet, "arm", [names])
    assert labels.tolist() == [None, "a", "b", "a"]
    found = "; ".join(str(one.message) for one in caught)
    assert "names of rows such as 'LFQ intensity S1' are matched as 'S1'" in found
    assert "1 item has no row there: Peptides" in found


def test_names_of_files_that_would_be_one_are_not_shortened(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,y\nS01,0.5\nS02,1.5\n")
    with pytest.raises(InputError, match="got none, but 'S01'"):
        labels_of(tmp_path / "labels.csv", "y", [["a/S01.bam", "b/S01.bam"]])


def test_candidates_may_stand_in_the_one_column_with_smiles_in_its_name(tmp_path: Path) -> None:
    for title in ("smiles", "candidate_smiles", "SMILES"):
        (tmp_path / "lists.csv").write_text(f"item,{title},source\nx,CCO,db\nx,CCN,db\ny,CCC,db\n")
        assert candidates_of(tmp_path / "lists.csv", "smiles", [["x", "y"]]) == [["CCO", "CCN"], ["CCC"]]
    (tmp_path / "lists.csv").write_text("item,smiles_a,smiles_b\nx,CCO,CCO\n")
    with pytest.raises(
        InputError, match="with smiles in its name; got the columns 'item', 'smiles_a', 'smiles_b'; rename"
    ):
        candidates_of(tmp_path / "lists.csv", "smiles", [["x"]])


def test_options_of_tables_are_those_of_the_candidates_of_spectra(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = write(tmp_path, 3, 900, "new.mgf", known=False)
    rows = ["Namé;smiles;mass", *(f"s{900 + i};{one};0,5" for i in range(3) for one in named)]
    (tmp_path / "lists.csv").write_bytes("\n".join(rows).encode("cp1252"))
    command = [
        "predict",
        str(folder / "m.rkhs"),
        str(tmp_path / "new.mgf"),
        "--candidates",
        str(tmp_path / "lists.csv"),
    ]
    assert main(command) == 2
    words = shlex.split(capsys.readouterr().err.rstrip().splitlines()[-1])[1:]
    assert words == [*command, "--encoding", "cp1252"]
    assert main(words) == 0
    assert capsys.readouterr().out.count("s90") == 9
    spectra = tmp_path / "new.mgf"  # in the encoding of the candidates too
    spectra.write_bytes(spectra.read_bytes().replace(b"BEGIN IONS\n", b"BEGIN IONS\nCOMMENT=\xb5\n"))
    assert main(command) == 2
    assert main(words) == 0


def test_a_structure_needs_smiles(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "spectra.mgf").read_text().replace("SMILES=C", "SMILES=?")
    (tmp_path / "a.mgf").write_text(text)
    assert main(["fit", str(tmp_path / "a.mgf"), "--predict", "smiles", "-o", str(tmp_path / "m.rkhs")]) == 2
    assert "RDKit can read no SMILES" in capsys.readouterr().err


def test_spectra_of_one_structure_are_left_out_together(folder: Path) -> None:
    spectra = folder / "spectra.mgf"
    smiles = read_column(spectra, "smiles", argument="x").tolist()
    assert len(set(smiles)) < len(smiles)
    model = rkhs.load(folder / "m.rkhs")
    copy = clone(model).fit(read_items(spectra).items, smiles, groups=smiles)
    assert model.leave_one_out_error_ == pytest.approx(copy.leave_one_out_error_)
    assert model.leave_one_out_error_ > clone(model).fit(read_items(spectra).items, smiles).leave_one_out_error_


def test_lists_are_found_by_any_id_of_a_spectrum(tmp_path: Path) -> None:
    one = "BEGIN IONS\nTITLE={}\nSCANS={}\nPEPMASS=1.5\n10.5 2\nEND IONS\n\n"
    (tmp_path / "a.mgf").write_text("".join(one.format(name, 40 + i) for i, name in enumerate("abc")))
    (tmp_path / "lists.csv").write_text("scan,smiles,mass\n41,CCO,1\n40,CCN,2\n41,CCC,3\n")
    (tmp_path / "labels.csv").write_text("scan,y\n42,2.5\n40,0.5\n41,1.5\n")
    data = read_items(tmp_path / "a.mgf")
    assert data.row_names == ("a", "b", "c")
    with pytest.warns(UserWarning, match="1 item has no candidates there: 42"):
        assert candidates_of(tmp_path / "lists.csv", "smiles", data.namings) == [["CCN"], ["CCO", "CCC"], []]
    assert labels_of(tmp_path / "labels.csv", "y", data.namings).tolist() == [0.5, 1.5, 2.5]


def test_how_often_the_true_structure_is_first_is_measured_at_the_fit(folder: Path) -> None:
    """By fits to four fifths of the structures, as closed forms of the whole one say."""
    model, data = rkhs.load(folder / "m.rkhs"), read_items(folder / "spectra.mgf")
    smiles = flat_smiles(read_column(folder / "spectra.mgf", "smiles", argument="x"))
    found = _first_of_left_out(model, smiles)
    place, hits = np.unique(smiles, return_inverse=True)[1], []
    for train, test in GroupKFold(5).split(smiles, groups=place):
        reg = model.reg_ * len(smiles) / len(train)
        part = clone(model).set_params(reg=reg).fit([data.items[i] for i in train], smiles[train].tolist())
        candidates = sorted({*smiles[test].tolist()})
        scores = part.scores([data.items[i] for i in test], candidates)
        hits += [candidates[row.argmax()] == smiles[i] for i, row in zip(test, scores, strict=True)]
    assert found["first"] == np.mean(hits)
    assert found["first"] > 5.0 * found["first by guessing"]
    facts = {"class": "M", "input": {"items": 60, "kind": "spectra"}, "seconds": 1.0, "rows without a structure": 0}
    facts |= {"different structures": 50, "reg": 1.0, "kernel": "k", "left-out error": 0.95, "model": "m"}
    facts["names"] = True
    for first, hardly in ((0.36, False), (0.02, True)):
        said = " ".join(_summary(facts | {"first": first, "first by guessing": 0.01, "structures left out": 10}))
        assert f"the true one is first of about 10 left out with it for {first:.1%} (by guessing 1.0%)" in said
        assert ("hardly predicts better than the mean structure" in said) == hardly
        assert "other columns" not in said


@pytest.mark.parametrize("key", ["ID", "IDENTIFIER", "SPECTRUMID", "MIBIGACCESSION", "PEAKID"])
def test_spectra_are_named_by_their_ids_and_nearest_ones_have_structures(key: str, tmp_path: Path) -> None:
    """CFM-ID, MassSpecGym, GNPS, FERMO and MS-DIAL each have a key of their own; in a library a compound repeats."""
    one = f"BEGIN IONS\nINSILICO=yes\n{key}={{}}\nSMILES={{}}\nPEPMASS=200\n{{}}.5 9\n{{}}.5 4\nEND IONS\n\n"
    known = [("a", "CC", 40, 90), ("b", "CO", 60, 80), ("b", "CO", 62, 80)]
    for name, rows in (("known.mgf", known), ("new.mgf", [("x", "", 60, 80), ("y", "", 40, 90)])):
        (tmp_path / name).write_text("".join(one.format(*row) for row in rows))
    assert read_items(tmp_path / "new.mgf").row_names == ("x", "y")
    files = [str(tmp_path / name) for name in ("known.mgf", "new.mgf", "near.csv")]
    assert main(["nearest", *files[:2], "--top", "1", "-o", files[2]]) == 0
    rows = [line.split(",")[:4] for line in Path(files[2]).read_text().splitlines()]
    assert rows == [["row", "rank", "nearest", "nearest_smiles"], ["x", "1", "b", "CO"], ["y", "1", "a", "CC"]]


def test_spectra_without_names_are_said_to_have_numbers(folder: Path, tmp_path: Path, capsys) -> None:
    text = re.sub("TITLE.*\n", "", (folder / "spectra.mgf").read_text().replace("TITLE=s59", ""))
    (tmp_path / "a.mgf").write_text(text)
    assert main(["fit", str(tmp_path / "a.mgf"), "--predict", "smiles", "-o", str(tmp_path / "m.rkhs")]) == 0
    assert "a table of numbers of items from 1, as these have no names, and SMILES" in capsys.readouterr().out
    command = ["predict", str(tmp_path / "m.rkhs"), str(tmp_path / "a.mgf"), "--candidates", str(folder / "lists.csv")]
    assert main(command) == 2
    assert "a.mgf, whose items have no names but their numbers, such as 1, in a column" in capsys.readouterr().err
