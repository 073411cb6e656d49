"""SMILES in place of fingerprints: kernels of bits read them, and models of the command line read what it read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressorCV
from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.data import load_molecules, molecular_fingerprints
from rkhs.kernels import GaussianOf, MinMax, Tanimoto

pytest.importorskip("rdkit", reason="SMILES need the extra 'chem'")

SMILES = list(load_molecules().smiles[:40])
NEW = list(load_molecules().smiles[40:46])
BITS = molecular_fingerprints(SMILES).bits.astype(float)


@pytest.mark.parametrize("kernel", ["tanimoto", 0.5 * Tanimoto(), GaussianOf(Tanimoto())], ids=repr)
def test_smiles_are_morgan_bits(kernel: Any) -> None:
    model, twin = KernelPCA(2, kernel=kernel).fit(SMILES), KernelPCA(2, kernel=kernel).fit(BITS)
    np.testing.assert_array_equal(model.codes_, twin.codes_)
    new = molecular_fingerprints(NEW).bits
    for given in (NEW, tuple(NEW), np.array(NEW), np.array(NEW, dtype=object), new):
        np.testing.assert_array_equal(model.transform(given), twin.transform(new))
    assert model.reader_.fingerprint == {"name": "morgan", "radius": 2, "n_bits": 2048}


def test_min_max_counts() -> None:
    model = KernelPCA(2, kernel=MinMax()).fit(SMILES)
    counts = molecular_fingerprints(SMILES, counts=True).bits
    np.testing.assert_array_equal(model.codes_, KernelPCA(2, kernel=MinMax()).fit(counts).codes_)
    assert counts.max() > 1


def test_molecules_and_columns_of_frames_are_read() -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    from rdkit import Chem

    model = KernelPCA(2, kernel="tanimoto").fit([Chem.MolFromSmiles(text) for text in SMILES])
    np.testing.assert_array_equal(model.transform(pandas.Series(NEW, index=range(7, 13))), model.transform(NEW))


@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")
def test_candidates_and_files(tmp_path: Path) -> None:
    model = KernelAutoencoder(2, kernel="tanimoto", output_kernel="same", max_iter=200).fit(SMILES)
    codes = model.transform(NEW)
    np.testing.assert_array_equal(model.decode(codes, SMILES + NEW, n_best=1).indices[:, 0], np.arange(40, 46))
    assert model.decode(codes, NEW, by="features").distances.shape == (6, 6)
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").transform(NEW), codes)


@pytest.mark.parametrize("words", [[], ["--fingerprint", "path"], ["--fingerprint", "counts(radius=3)"]])
def test_a_model_of_the_command_line_reads_smiles(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.smi").write_text("\n".join(SMILES))
    Path("new.smi").write_text("\n".join(NEW))
    assert main(["fit", "m.smi", "-o", "m.rkhs", "--estimator", "kernel-pca", "--quiet", *words]) == 0
    assert main(["transform", "m.rkhs", "new.smi", "-o", "z.npy"]) == 0
    np.testing.assert_array_equal(rkhs.load("m.rkhs").transform(NEW), np.load("z.npy"))
    rkhs.save(rkhs.load("m.rkhs"), "again.rkhs")  # without the notes
    np.testing.assert_array_equal(rkhs.load("again.rkhs").transform(NEW), np.load("z.npy"))


def test_regressors_read_them_too() -> None:
    y = BITS.sum(1)
    model = OperatorKernelRegressorCV(kernel="tanimoto", cv=2).fit(SMILES, y)
    np.testing.assert_array_equal(model.predict(NEW), model.predict(molecular_fingerprints(NEW).bits))


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(InputError, match=r"pass kernel='tanimoto' for SMILES, kernel='spectrum' for sequences"):
        KernelAutoencoder(2).fit(SMILES)
    with pytest.raises(InputError, match=r"X must hold SMILES .* got 2 of 42 .* item 40 \('C\(': not a valid SMILES\)"):
        KernelPCA(2, kernel="tanimoto").fit([*SMILES, "C(", ""])
    bits = KernelPCA(2, kernel="tanimoto").fit(BITS)
    with pytest.raises(InputError, match=r"X must hold rows of numbers, as in fit; got texts or molecules, the first"):
        bits.transform(NEW)
    model = KernelPCA(2, kernel="tanimoto").fit(SMILES)
    with pytest.raises(InputError, match=r"candidates must hold SMILES that RDKit reads"):
        model.decode(model.codes_[:2], ["C("])
    assert model.fit(BITS).reader_.fingerprint is None
