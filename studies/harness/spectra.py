"""Tandem mass spectra of MassBank with fingerprints, and candidates for test spectra."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.scripts import data_folder

__all__ = ["Spectra", "load_spectra"]


@dataclass(frozen=True)
class Spectra:
    """Spectra with fingerprints, and test spectra with candidates.

    Parameters
    ----------
    train, test : list of pairs (mz, intensity)
    fingerprints : ndarray of shape (n, bits)
        Of the training spectra.
    masses : ndarray of shape (n,)
        Exact masses of the training compounds.
    pool : ndarray of shape (c, bits)
        Fingerprints of all candidates.
    candidates : ndarray of shape (m, 30)
        Rows of ``pool`` of each test spectrum.
    truth : ndarray of shape (m,)
        Positions of the true candidates.
    split : int
        Number of the split into training and test rows; 0 is that of the files.
    """

    train: list[Any]
    test: list[Any]
    fingerprints: np.ndarray
    masses: np.ndarray
    pool: np.ndarray
    candidates: np.ndarray
    truth: np.ndarray
    split: int = 0


def _candidates(rows: np.ndarray, bits: np.ndarray, formulas: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Rows of the pool for each row: those of its formula, then the nearest masses, 30 in all; equal bits once."""
    first = np.sort(np.unique(bits, axis=0, return_index=True)[1])
    found = []
    for row in rows:
        others = first[(bits[first] != bits[row]).any(1)]
        order = np.lexsort((np.abs(masses[others] - masses[row]), formulas[others] != formulas[row]))
        found.append([row, *others[order[:29]]])
    return np.array(found)


def _drawn(folder: Path, tables: dict[str, Any], pool: Any, split: int) -> tuple[np.ndarray, ...]:
    """Training rows, 400 test rows, bits of the pool, candidates, and truths of another split.

    The pool is that of the usual split and all compounds, so its lists are easier than those of the files.
    """
    with open(folder / "compounds.csv", encoding="utf-8", newline="") as file:
        formulas = np.array([row["formula"] for row in csv.DictReader(file)] + pool["cand_formula"].tolist())
    bits = np.concatenate([tables["fingerprints"]["bits"], pool["cand_bits"]])
    masses = np.concatenate([tables["spectra"]["exact_mass"], pool["cand_mass"]])
    rng = np.random.default_rng(split)
    rows = rng.permutation(len(tables["spectra"]["exact_mass"]))
    train, test = np.split(rows[: len(tables["spectra"]["train_idx"]) + 400], [-400])
    candidates = rng.permuted(_candidates(test, bits, formulas, masses), axis=1)
    return train, test, bits, candidates, (candidates == test[:, None]).argmax(1)


def load_spectra(n_train: int | None = None, n_test: int | None = None, split: int = 0) -> Spectra:
    """The first ``n_train`` training rows of a fixed shuffle, and the first ``n_test`` test spectra; default all.

    Splits other than 0, which is that of the files, are drawn from all compounds.

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets.
    """
    root = data_folder("massbank_pos")
    folder = root / "massbank_pos"
    tables = {name: np.load(folder / f"{name}.npz", allow_pickle=False) for name in ("spectra", "fingerprints")}
    spectra, prints = tables["spectra"], tables["fingerprints"]
    pool = np.load(folder / "candidates.npz", allow_pickle=False)
    pointer, mz, intensity = spectra["indptr"], spectra["mz"].astype(float), spectra["intensity"].astype(float)
    rows, test = np.random.default_rng(0).permutation(spectra["train_idx"]), pool["test_idx"]
    of_pool, candidates, truth = pool["cand_bits"], pool["cand"], pool["true_pos"]
    if split:
        rows, test, of_pool, candidates, truth = _drawn(folder, tables, pool, split)
    rows, test = rows[:n_train], test[:n_test]
    used, where = np.unique(candidates[: len(test)], return_inverse=True)

    def bits(packed: np.ndarray) -> np.ndarray:
        return np.unpackbits(packed, axis=1)[:, : int(prints["n_bits"])].astype(float)

    def peaks(index: np.ndarray) -> list[Any]:
        return [(mz[pointer[i] : pointer[i + 1]], intensity[pointer[i] : pointer[i + 1]]) for i in index]

    return Spectra(
        peaks(rows),
        peaks(test),
        bits(prints["bits"][rows]),
        spectra["exact_mass"][rows],
        bits(of_pool[used]),
        where.reshape(len(test), -1),
        truth[: len(test)].astype(int),
        split,
    )
