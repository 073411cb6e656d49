"""What scikit-learn brings: tables, digits, patches of photographs, and made sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.feature_extraction.image import extract_patches_2d

from studies.bench.usefulness.sets import DataSet


def patches() -> tuple[np.ndarray, np.ndarray]:
    """Patches of 8 x 8 grey pixels of two photographs; the class is the photograph."""
    found = []
    for name in ("china.jpg", "flower.jpg"):
        grey = datasets.load_sample_image(name).mean(2) / 255.0
        found.append(extract_patches_2d(grey, (8, 8), max_patches=1000, random_state=0).reshape(1000, -1))
    return np.vstack(found), np.repeat([0, 1], 1000)


def linnerud() -> tuple[np.ndarray, None]:
    """Exercise and body measures of 20 men."""
    both = datasets.load_linnerud()
    return np.hstack([both.data, both.target]), None


def waves() -> tuple[np.ndarray, np.ndarray]:
    """Breiman's waveforms: random mixtures of two of three triangles, with noise; 21 columns, three classes."""
    rng = np.random.default_rng(0)
    bases = np.stack([np.clip(6.0 - np.abs(np.arange(1, 22) - centre), 0.0, None) for centre in (7, 15, 11)])
    y = rng.integers(3, size=1500)
    u = rng.uniform(size=(1500, 1))
    return u * bases[[0, 0, 1]][y] + (1.0 - u) * bases[[1, 2, 2]][y] + rng.normal(size=(1500, 21)), y


def sets(folder: Path | None) -> list[DataSet]:
    """Development: those of the eleven on which the defaults were found."""

    def both(load):
        return lambda: load(return_X_y=True)

    return [
        DataSet("iris", "tables", both(datasets.load_iris), standardise=True),
        DataSet("wine", "tables", both(datasets.load_wine), standardise=True, development=True),
        DataSet("cancer", "tables", both(datasets.load_breast_cancer), standardise=True, development=True),
        DataSet("diabetes", "tables", both(datasets.load_diabetes), standardise=True, classes=False),
        DataSet("linnerud", "tables", linnerud, standardise=True),
        DataSet("waveform", "made", waves, standardise=True),
        DataSet(
            "swiss roll",
            "made",
            lambda: datasets.make_swiss_roll(1500, noise=0.3, random_state=0),
            standardise=True,
            classes=False,
        ),
        DataSet("digits", "images", lambda: _over(datasets.load_digits(return_X_y=True), 16.0), development=True),
        DataSet("patches", "images", patches),
    ]


def _over(pair: tuple[np.ndarray, np.ndarray], largest: float) -> tuple[np.ndarray, np.ndarray]:
    return pair[0] / largest, pair[1]
