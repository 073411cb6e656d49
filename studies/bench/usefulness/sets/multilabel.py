"""Tables with many labels at once, predicted as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.bench.usefulness.sets import DataSet


def sets(folder: Path | None) -> list[DataSet]:
    """None of them was used while defaults were chosen."""
    if folder is None:
        return []
    names = {"yeast": "yeast", "emotions": "ml_emotions", "scene": "ml_scene", "cal500": "ml_cal500"}

    def read(name: str) -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(folder / names[name] / f"{name}.npz")
        return stored["X"].astype(float), stored["Y"].astype(float)

    return [
        DataSet(name, "multi-label", lambda name=name: read(name), standardise=True, classes=False) for name in names
    ]
