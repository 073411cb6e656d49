"""Held-out error of deep autoencoders beside that of one hidden layer with the same size of code.

Run: RKHS_DATA=... ./dev bench depth [--sets digits wine] [--splits 3] [--rows 600] [--development] [--landmarks 0].

Sets that score: seven tables, two sets of images, molecules by their fingerprints, which the Tanimoto kernel reads.
With ``--landmarks M`` fits are on M landmarks, and the sets have a thousand training rows or more: two tables, four
sets of images. ``--development`` takes the sets that the choice of the hidden layers was made on. At most
``--rows`` rows train (with landmarks 3,000), at most 300 (500) are held out; tables are standardised by their training
part. Printed for each set and model: error over that of one hidden layer, the mean difference over its paired
standard error of the held-out rows of all splits, seconds of processor time, and regularisers of the last split.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from rkhs import KernelAutoencoder
from rkhs.features import Nystroem
from rkhs.kernels import Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.development import read_table
from studies.harness.scripts import data_folder, run_script

MODELS: dict[int | tuple[int, ...], int | tuple[int, ...]] = {
    2: 2,
    (2, 10): 2,
    (10, 2): 2,
    (10, 2, 10): 2,
    10: 10,
    (10, 30): 10,
}


def _images(folder: Path, name: str) -> np.ndarray:
    with np.load(folder / name / f"{name}.npz", allow_pickle=False) as stored:
        X = stored["X"]
    X = X.mean(-1) if X.ndim == 4 else X  # colours in grey
    return X.reshape(len(X), -1) / 255.0


def _molecules(folder: Path, name: str) -> np.ndarray:
    stored = np.load(folder / name / "fingerprints.npz", allow_pickle=False)
    return np.unpackbits(stored["morgan"], axis=1).astype(float)


def _table(folder: Path, name: str) -> np.ndarray:
    with np.load(folder / "adbench" / f"{name}.npz", allow_pickle=False) as stored:
        X = np.unique(stored["X"].astype(float), axis=0)
    return X[:, X.std(0) > 0.0]


def _roll(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    t, height = 4.7 * (1.0 + 2.0 * rng.uniform(size=n)), 21.0 * rng.uniform(size=n)
    roll = np.stack([t * np.cos(t), height, t * np.sin(t)], 1) + 0.3 * rng.normal(size=(n, 3))
    return np.sin(roll @ rng.normal(size=(3, 10)) / 8.0) + 0.05 * rng.normal(size=(n, 10))


DEVELOPMENT: dict[str, Callable[[Path], np.ndarray]] = {
    "iris": lambda folder: load_iris().data,
    "cancer": lambda folder: load_breast_cancer().data,
    "roll": lambda folder: _roll(400),
}
SCORED: dict[str, Callable[[Path], np.ndarray]] = {
    "digits": lambda folder: load_digits().data / 16.0,
    "wine": lambda folder: load_wine().data,
    "diabetes": lambda folder: load_diabetes().data,
    "glass": lambda folder: read_table(folder / "uci_small" / "glass.csv", 9),
    "wheat": lambda folder: read_table(folder / "uci_small" / "wheat_seeds.csv", 7),
    "sonar": lambda folder: read_table(folder / "uci_small" / "sonar.csv", 60),
    "ionosphere": lambda folder: read_table(folder / "ionosphere" / "ionosphere.csv", 34),
    "satellite": lambda folder: read_table(folder / "uci_small" / "satellite.csv", 36),
    "mnist": lambda folder: _images(folder, "mnist10k"),
    "esol": lambda folder: _molecules(folder, "esol"),
}
MANY_DEVELOPMENT: dict[str, Callable[[Path], np.ndarray]] = {
    "roll": lambda folder: _roll(3300),
    "waveform": lambda folder: _table(folder, "Waveform"),
    "fault": lambda folder: _table(folder, "fault"),
    "letter": lambda folder: _table(folder, "letter"),
}
MANY_SCORED: dict[str, Callable[[Path], np.ndarray]] = {
    "digits": SCORED["digits"],
    "satellite": SCORED["satellite"],
    "cardiotocography": lambda folder: _table(folder, "Cardiotocography"),
    "mnist": SCORED["mnist"],
    "cifar": lambda folder: _images(folder, "cifar10_train"),
    "coil": lambda folder: _images(folder, "coil20"),
}
_AS_THEY_ARE = ("digits", "mnist", "cifar", "coil", "esol")  # all columns have one unit


def splits(name: str, X: np.ndarray, count: int, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out parts."""
    for seed in range(count):
        order = np.random.default_rng(100 + seed).permutation(len(X))
        cut = min(rows, int(0.7 * len(X)))
        train, test = X[order[:cut]], X[order[cut : cut + (500 if rows > 1000 else 300)]]
        if name not in _AS_THEY_ARE:
            spread = train.std(0)
            spread[spread == 0.0] = 1.0
            train, test = (train - train.mean(0)) / spread, (test - train.mean(0)) / spread
        yield train, test


def compare(name: str, X: np.ndarray, asked: argparse.Namespace) -> None:
    """Print the rows of a set."""
    kernel: dict[str, Any] = {"kernel": Tanimoto()} if name == "esol" else {}
    storage = Nystroem(asked.landmarks) if asked.landmarks else "dense"
    errors: dict[Any, list[np.ndarray]] = {widths: [] for widths in MODELS}
    seconds, regs = dict.fromkeys(MODELS, 0.0), {}
    identity = dict.fromkeys(MODELS, True)
    for train, test in splits(name, X, asked.splits, asked.rows):
        for widths in MODELS:
            started = time.process_time()
            model = KernelAutoencoder(widths, storage=storage, **kernel).fit(train)
            seconds[widths] += time.process_time() - started
            whole = model._target_spread(test).mean()
            errors[widths].append(model.reconstruction_error(test) / whole)
            regs[widths] = model.reg_
            identity[widths] &= bool(np.isinf(model.reg_[1:-1]).all())
    for widths, like in MODELS.items():
        ours, one = (np.concatenate(errors[each]) for each in (widths, like))
        d = ours - one
        # Where all further layers are the identity the models agree up to rounding.
        apart = "the same" if identity[widths] else f"{d.mean() / (d.std() / len(d) ** 0.5):+.1f} standard errors"
        said = ", ".join(f"{reg:g}" for reg in regs[widths])
        print(
            f"{name:10s} {widths!s:12s} error {ours.mean():.4f}, {ours.mean() / one.mean():.3f} of one layer "
            f"({apart}), {seconds[widths] / asked.splits:.1f} s, reg {said}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    asked = bench_arguments(
        __doc__,
        sets={"nargs": "*", "default": []},
        splits=3,
        rows=0,
        landmarks=0,
        development=False,
    )
    warnings.simplefilter("ignore")
    asked.rows = asked.rows or (3000 if asked.landmarks else 600)
    scored, development = (MANY_SCORED, MANY_DEVELOPMENT) if asked.landmarks else (SCORED, DEVELOPMENT)
    sets = development if asked.development else scored
    for name in asked.sets or sets:
        compare(name, sets[name](data_folder()), asked)


if __name__ == "__main__":
    run_script(main)
