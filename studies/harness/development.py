"""Sets on which defaults of the autoencoder are chosen; whatever scores the defaults uses others.

Eight tables and two sets of images, and four made ones for what these lack: smooth curves with few rows, a curved
surface with noise, heavy tails. Tables standardised by their training part, images divided by their largest value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine


def read_table(path: Path, columns: int) -> np.ndarray:
    """The first columns of a file of numbers separated by commas, under one line of names."""
    return np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(columns))


def _curves(n: int, seed: int, roughness: float) -> np.ndarray:
    """Sums of a few smooth waves of random weight, warped in time: 60 columns, n rows."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, 60)
    warped = t[None, :] ** np.exp(0.15 * rng.normal(size=(n, 1)))
    waves = np.stack([np.cos(np.pi * k * warped) / (k + 1.0) ** roughness for k in range(8)], 2)
    return (waves * rng.normal(size=(n, 1, 8))).sum(2) + 0.01 * rng.normal(size=(n, 60))


def _surface(n: int, seed: int) -> np.ndarray:
    """Three latent numbers through random waves into 20 columns, with noise."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    return np.sin(z @ rng.normal(size=(3, 20)) + rng.uniform(0.0, 6.0, 20)) + 0.1 * rng.normal(size=(n, 20))


def _heavy(n: int, seed: int) -> np.ndarray:
    """Correlated columns with the tails of Student's t with three degrees of freedom."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(3.0 / rng.chisquare(3.0, size=(n, 1)))
    return (rng.normal(size=(n, 6)) @ rng.normal(size=(6, 18)) + 0.5 * rng.normal(size=(n, 18))) * scale


def development_sets(folder: Path) -> dict[str, tuple[np.ndarray, str]]:
    """Each set with its kind, ``"table"``, ``"images"`` or ``"curves"``."""
    uci = folder / "uci_small"
    mnist = np.load(folder / "mnist10k" / "mnist10k.npz")
    coil = np.load(folder / "coil20" / "coil20.npz")
    return {
        "satellite": (read_table(uci / "satellite.csv", 36), "table"),
        "ionosphere": (read_table(folder / "ionosphere" / "ionosphere.csv", 34), "table"),
        "sonar": (read_table(uci / "sonar.csv", 60), "table"),
        "glass": (read_table(uci / "glass.csv", 9), "table"),
        "cancer": (load_breast_cancer().data, "table"),
        "cancer, grades": (read_table(uci / "breast_cancer_wisconsin.csv", 9), "table"),
        "wine": (load_wine().data, "table"),
        "wheat": (read_table(uci / "wheat_seeds.csv", 7), "table"),
        "mnist": (_images(mnist), "images"),
        "coil20": (_images(coil), "images"),
        "smooth curves": (_curves(60, 0, 1.5), "curves"),
        "rough curves": (_curves(150, 1, 0.7), "curves"),
        "surface": (_surface(500, 2), "table"),
        "heavy tails": (_heavy(400, 3), "table"),
    }


def _images(stored: np.lib.npyio.NpzFile) -> np.ndarray:
    X = next(stored[name] for name in stored.files if stored[name].ndim >= 2)
    return X.reshape(len(X), -1)[:4000].astype(float)


def splits(X: np.ndarray, kind: str, count: int, most: int = 500) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Random training and test parts, scaled by the training part."""
    for seed in range(count):
        order = np.random.default_rng(100 + seed).permutation(len(X))
        cut = min(most, int(0.7 * len(X)))
        train, test = X[order[:cut]], X[order[cut : cut + 400]]
        if kind == "table":
            spread = train.std(0)
            spread[spread == 0.0] = 1.0
            train, test = (train - train.mean(0)) / spread, (test - train.mean(0)) / spread
        elif kind == "images":
            train, test = train / train.max(), test / train.max()
        yield train, test


def components(d: int) -> int:
    """Ten, and four for fewer than 13 columns."""
    return 10 if d >= 13 else 4
