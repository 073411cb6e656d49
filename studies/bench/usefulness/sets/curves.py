"""Curves and series on a common grid, in their own units."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.bench.usefulness.sets import DataSet


def sets(folder: Path | None) -> list[DataSet]:
    """Growth, weather, phoneme, tecator, arrowhead and power were looked at while the form of the model was found."""
    if folder is None:
        return []

    def stored(name: str, file: str) -> np.lib.npyio.NpzFile:
        return np.load(folder / name / f"{file}.npz")

    def growth() -> tuple[np.ndarray, np.ndarray]:
        data = stored("fda_growth", "growth")
        return data["X"], data["sex"]

    def weather() -> tuple[np.ndarray, np.ndarray]:
        data = stored("fda_canadian_weather", "canadian_weather")
        return data["temp"], data["region"]

    def gait() -> tuple[np.ndarray, None]:
        data = stored("fda_gait", "gait")
        return np.hstack([data["hip"], data["knee"]]), None

    def tecator() -> tuple[np.ndarray, np.ndarray]:
        data = stored("fda_tecator", "tecator")
        return data["X"], data["Y"][:, 1]

    def emg() -> tuple[np.ndarray, None]:
        return stored("emg_lip", "emg_lip")["emg"], None

    def series(name: str) -> tuple[np.ndarray, np.ndarray]:
        data = stored(f"ts_{name}" if name != "phoneme" else "fda_phoneme", name)
        X = np.concatenate([data["X_train"], data["X_test"]]).astype(float)
        return X.reshape(len(X), -1), np.concatenate([data["y_train"], data["y_test"]])

    return [
        DataSet("growth", "curves", growth, development=True),
        DataSet("weather", "curves", weather, development=True),
        DataSet("tecator", "curves", tecator, development=True, classes=False),
        DataSet("gait", "curves", gait),
        DataSet("emg", "curves", emg),
        *(
            DataSet(
                name,
                "curves",
                lambda name=name: series(name),
                development=name in ("phoneme", "arrowhead", "italypowerdemand"),
            )
            for name in ("phoneme", "arrowhead", "italypowerdemand", "gunpoint", "coffee", "basicmotions")
        ),
    ]
