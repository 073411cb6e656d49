"""Small tables of the UCI repository."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from studies.bench.usefulness.sets import DataSet


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and the class in the last column."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])


def sets(folder: Path | None) -> list[DataSet]:
    """All of them were used while defaults were chosen."""
    if folder is None:
        return []
    paths = {name: folder / "uci_small" / f"{name}.csv" for name in ("satellite", "sonar", "glass")}
    paths["cancer, grades"] = folder / "uci_small" / "breast_cancer_wisconsin.csv"
    paths["wheat"] = folder / "uci_small" / "wheat_seeds.csv"
    paths["ionosphere"] = folder / "ionosphere" / "ionosphere.csv"
    return [
        DataSet(name, "tables", lambda path=path: read(path), standardise=True, development=True)
        for name, path in paths.items()
    ]
