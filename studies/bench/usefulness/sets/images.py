"""Images as rows of pixels between 0 and 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.bench.usefulness.sets import DataSet


def sets(folder: Path | None) -> list[DataSet]:
    """MNIST and COIL were used while defaults were chosen; CIFAR and dSprites were not."""
    if folder is None:
        return []

    def mnist() -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(folder / "mnist10k" / "mnist10k.npz")
        return stored["X"].reshape(10000, -1) / 255.0, stored["y"]

    def coil() -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(folder / "coil20" / "coil20.npz")
        return stored["X"].reshape(1440, -1) / 255.0, stored["factors"][:, 0]

    def cifar() -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(folder / "cifar10_train" / "cifar10_train.npz")
        grey = stored["X"].astype(float).mean(3) / 255.0
        return grey.reshape(2000, 16, 2, 16, 2).mean((2, 4)).reshape(2000, -1), stored["y"]

    def sprites() -> tuple[np.ndarray, np.ndarray]:
        path = folder / "dsprites" / "dsprites_rerender.npz"
        rows = np.random.default_rng(0).permutation(46080)[:2000]
        stored = np.load(path)
        X = np.unpackbits(stored["bits"][rows], axis=1).reshape(-1, 16, 4, 16, 4).mean((2, 4)).reshape(2000, -1)
        return X, stored["factors"][rows, 0]

    return [
        DataSet("mnist", "images", mnist, development=True),
        DataSet("coil20", "images", coil, development=True),
        DataSet("cifar10, grey", "images", cifar),
        DataSet("dsprites", "images", sprites),
    ]
