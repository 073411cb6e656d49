"""The bundled molecules: shape, licence, checksums, and fingerprints that RDKit computes again."""

import csv
import hashlib
import signal
from importlib.resources import files

import numpy as np
import pytest

from rkhs._core.errors import InputError, RkhsError
from rkhs.data import load_molecules, molecular_fingerprints

FOLDER = files("rkhs.data") / "molecules"
RDKIT = "fingerprints need RDKit (extra `chem`)"


def test_all_fields_are_aligned_and_filled():
    molecules = load_molecules()
    assert molecules.n_samples == 500
    assert molecules.fingerprints.shape == (500, 2048)
    assert molecules.fingerprints.dtype == np.uint8
    assert set(np.unique(molecules.fingerprints)) == {0, 1}
    assert molecules.fingerprints.any(axis=1).all()
    for field in ("smiles", "names", "licences", "contributors"):
        values = getattr(molecules, field)
        assert len(values) == 500
        assert all(values)
    for field in ("smiles", "names"):
        assert len(set(getattr(molecules, field))) == 500


def test_the_licence_of_every_molecule_allows_bundling_and_every_contributor_is_credited():
    molecules = load_molecules()
    assert set(molecules.licences) == {"CC0", "CC BY"}
    assert molecules.licences.count("CC0") == 235
    provenance = (FOLDER / "PROVENANCE.md").read_text(encoding="utf-8")
    for pair in set(zip(molecules.contributors, molecules.licences, strict=True)):
        n_given = sum(other == pair for other in zip(molecules.contributors, molecules.licences, strict=True))
        assert f"| {pair[0]} | {pair[1]} | {n_given} |" in provenance


def test_the_files_are_those_of_the_provenance_and_small():
    provenance = (FOLDER / "PROVENANCE.md").read_text(encoding="utf-8")
    contents = [(FOLDER / name).read_bytes() for name in ("molecules.csv", "fingerprints.npy")]
    assert sum(map(len, contents)) < 300_000
    for content in contents:
        assert hashlib.sha256(content).hexdigest() in provenance


def test_rdkit_gives_the_bundled_fingerprints():
    pytest.importorskip("rdkit", reason=RDKIT)
    molecules = load_molecules()
    np.testing.assert_array_equal(molecular_fingerprints(molecules.smiles).bits, molecules.fingerprints)


def test_loading_twice_gives_independent_arrays():
    first = load_molecules()
    first.fingerprints[:] = 0
    assert load_molecules().fingerprints.any()


def test_a_damaged_installation_is_named(monkeypatch, tmp_path):
    folder = tmp_path / "molecules"
    folder.mkdir()
    (folder / "fingerprints.npy").write_bytes((FOLDER / "fingerprints.npy").read_bytes())
    rows = (FOLDER / "molecules.csv").read_text(encoding="utf-8").splitlines()[:-1]
    (folder / "molecules.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr("rkhs.data.bundled.files", lambda package: tmp_path)
    with pytest.raises(RkhsError, match="got 499 rows and 500 fingerprints; install the library again"):
        load_molecules()


def test_unreadable_smiles_are_named_by_row_or_skipped():
    pytest.importorskip("rdkit", reason=RDKIT)
    smiles = ["CCO", "not smiles", "", "c1ccccc1"]
    with pytest.raises(InputError, match=r"2 of 4.*row 2 \('not smiles': not a valid SMILES\), row 3 \('': missing\)"):
        molecular_fingerprints(smiles)
    prints = molecular_fingerprints(smiles, on_error="skip")
    assert prints.kept.tolist() == [0, 3]
    assert [bad.row for bad in prints.skipped] == [2, 3]
    np.testing.assert_array_equal(prints.bits, molecular_fingerprints(["CCO", "c1ccccc1"]).bits)
    with pytest.raises(InputError, match=r"got 1 of 1.*check that this is the SMILES column"):
        molecular_fingerprints(["?"], on_error="skip")


def test_fingerprint_arguments_are_checked():
    pytest.importorskip("rdkit", reason=RDKIT)
    assert molecular_fingerprints(["CCO"], n_bits=64).bits.shape == (1, 64)
    assert molecular_fingerprints(["CCO"], radius=0).bits.sum() < molecular_fingerprints(["CCO"]).bits.sum()
    with pytest.raises(InputError, match=r"got the single string 'CCO'; write \['CCO'\]"):
        molecular_fingerprints("CCO")
    with pytest.raises(InputError, match="on_error"):
        molecular_fingerprints(["CCO"], on_error="ignore")
    for wrong in ({"radius": -1}, {"n_bits": 0}, {"n_bits": 2.5}, {"radius": True}):
        with pytest.raises(InputError, match="must be an integer"):
            molecular_fingerprints(["CCO"], **wrong)


def test_the_table_is_plain_csv():
    with (FOLDER / "molecules.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    assert rows[0] == ["accession", "smiles", "licence", "contributor"]
    assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize("fingerprint", ["morgan", "path", "maccs"])
def test_ctrl_c_works_after_fingerprints(fingerprint):
    pytest.importorskip("rdkit", reason=RDKIT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        molecular_fingerprints(["CCOc1ccccc1", "CCN"], fingerprint=fingerprint)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
