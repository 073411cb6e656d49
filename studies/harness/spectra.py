"""Tandem mass spectra of MassBank with fingerprints, and candidates for test spectra."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    train: list[Any]
    test: list[Any]
    fingerprints: np.ndarray
    masses: np.ndarray
    pool: np.ndarray
    candidates: np.ndarray
    truth: np.ndarray


def load_spectra(n_train: int | None = None, n_test: int | None = None) -> Spectra:
    """The first ``n_train`` training rows of a fixed shuffle, and the first ``n_test`` test spectra; default all.

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
    rows = np.random.default_rng(0).permutation(spectra["train_idx"])[:n_train]
    test = pool["test_idx"][:n_test]
    used, where = np.unique(pool["cand"][: len(test)], return_inverse=True)

    def bits(packed: np.ndarray) -> np.ndarray:
        return np.unpackbits(packed, axis=1)[:, : int(prints["n_bits"])].astype(float)

    def peaks(index: np.ndarray) -> list[Any]:
        return [(mz[pointer[i] : pointer[i + 1]], intensity[pointer[i] : pointer[i + 1]]) for i in index]

    return Spectra(
        peaks(rows),
        peaks(test),
        bits(prints["bits"][rows]),
        spectra["exact_mass"][rows],
        bits(pool["cand_bits"][used]),
        where.reshape(len(test), -1),
        pool["true_pos"][: len(test)].astype(int),
    )
