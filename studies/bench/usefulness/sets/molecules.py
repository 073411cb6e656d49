"""Molecules: Tanimoto kernel of fingerprints, as Gram matrices."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from rkhs.kernels import Tanimoto
from studies.bench.usefulness.sets import DataSet, unpacked


def sets(folder: Path | None) -> list[DataSet]:
    """The cancer set was used while the kernel form of the model was studied."""
    if folder is None:
        return []

    def column(name: str) -> np.ndarray:
        with (folder / name / "data.csv").open(newline="") as file:
            return np.array([row[-1] for row in list(csv.reader(file))[1:]], dtype=float)

    def measured(name: str):
        def sample(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            bits = unpacked(folder / name / "fingerprints.npz", "morgan")[rows]
            return Tanimoto()(bits), column(name)[rows]

        return sample

    def cancer(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bits = unpacked(folder / "nci_cancer" / "fingerprints.npz", "fp2")[rows]
        return Tanimoto()(bits), np.load(folder / "nci_cancer" / "molecules.npz")["Y"][rows, :6].astype(float)

    def metabolites(rows: np.ndarray) -> tuple[np.ndarray, None]:
        return Tanimoto()(unpacked(folder / "massbank_pos" / "fingerprints.npz", "bits", 3380)[rows]), None

    def gram(name: str, count: int, sample, **options) -> DataSet:
        return DataSet(name, "molecules", lambda: (np.empty(count), None), gram=True, sample=sample, **options)

    return [
        gram("esol", 1127, measured("esol"), classes=False),
        gram("lipophilicity", 4200, measured("lipophilicity"), classes=False),
        gram("bbbp", 2039, measured("bbbp")),
        gram("qm7", 6829, measured("qm7"), classes=False),
        gram("nci cancer", 1788, cancer, development=True, classes=False),
        gram("metabolites", 3931, metabolites),
    ]
