"""Classes of time series of the UCR archive by one ridge machine, beside nearest neighbours and what ROCKET publishes.

Run: RKHS_DATA=... ./dev bench series [--splits 10] [--seed 0]. First the sets of the archive with the training and test
series that it gives, then sets of curves cut into random halves. The machine has one column per class, its regulariser
is chosen by leave-one-out errors, and the largest column is the answer; nothing else is chosen. Printed: accuracy in
percent (random halves: mean and standard error) and seconds of processor of the Gram matrices and all machines.

``default`` is the kernel of ``rkhs fit`` (the first of :func:`rkhs.kernels.kernels_for`). ``mean`` is the plain mean of
six unlike kernels of unit diagonal: all shifts, global alignment, dynamic time warping, and Gaussian kernels of the
values, of their differences and of their ranks. ``weighted`` has weights by alignment with the classes of the training
series, ``half`` is half of each. Bandwidths are medians over all series, without classes. ``euclid`` and ``warping``
are the nearest neighbour by these distances, without a window. ROCKET: Dempster, Petitjean and Webb (2020), appendix of
the paper, mean of ten runs on the same test series.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rkhs import OperatorKernelRegressor
from rkhs.kernels import (
    DynamicTimeWarping,
    Gaussian,
    GlobalAlignment,
    Kernel,
    ShiftInvariant,
    kernels_for,
)
from studies.harness.alignment import alignment_weights
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

ARCHIVE = ("arrowhead", "gunpoint", "coffee", "italypowerdemand", "basicmotions")
ROCKET = {"arrowhead": 81.4, "gunpoint": 100.0, "coffee": 100.0, "italypowerdemand": 96.9}
MODELS = ("default", "mean", "weighted", "half", "euclid", "warping")


def gram(kernel: Kernel, items: Any) -> np.ndarray:
    """Gram matrix of unit diagonal."""
    K = np.asarray(kernel(items))
    root = np.sqrt(K.diagonal())
    return K / root[:, None] / root


def views(items: list[np.ndarray]) -> list[np.ndarray]:
    """Gram matrices of unlike kernels of series of one length, each (length, channels)."""
    flat = np.stack([item.ravel() for item in items])
    steps = np.stack([np.diff(item, axis=0).ravel() for item in items])
    ranks = np.stack([item.argsort(0).argsort(0).ravel() for item in items]).astype(float)
    near = [gram(Gaussian("median"), part) for part in (flat, steps, ranks)]
    return [*(gram(kernel, items) for kernel in (ShiftInvariant(), GlobalAlignment(), DynamicTimeWarping())), *near]


def accuracy(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    names, targets = np.unique(y), (y[train, None] == np.unique(y)).astype(float)
    model = OperatorKernelRegressor("precomputed", reg="auto").fit(K[np.ix_(train, train)], targets)
    return float(np.mean(names[model.predict(K[np.ix_(test, train)]).argmax(1)] == y[test]))


def nearest(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    return float(np.mean(y[train][K[np.ix_(test, train)].argmax(1)] == y[test]))


def scores(
    default: np.ndarray, several: list[np.ndarray], y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> list[float]:
    """Accuracies of all models; kernels of nearest neighbours fall with the distance."""
    w = alignment_weights([K[np.ix_(train, train)] for K in several], y[train])
    mean = np.full(len(several), 1.0 / len(several))
    sums = [sum(a * K for a, K in zip(v, several, strict=True)) for v in (mean, w / w.sum(), (mean + w / w.sum()) / 2)]
    found = [accuracy(K, y, train, test) for K in (default, *sums)]
    return [*found, nearest(several[3], y, train, test), nearest(several[2], y, train, test)]


def curves(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Sets of curves with classes, at most 300 of each."""
    growth, phoneme = np.load(folder / "fda_growth" / "growth.npz"), np.load(folder / "fda_phoneme" / "phoneme.npz")
    weather = np.load(folder / "fda_canadian_weather" / "canadian_weather.npz")
    sounds, names = (np.concatenate([phoneme[f"{kind}_{part}"] for part in ("train", "test")]) for kind in "Xy")
    some = np.random.default_rng(0).permutation(len(sounds))[:300]
    return {
        "growth": (growth["X"], growth["sex"]),
        "weather": (weather["temp"][:, ::5], weather["region"]),
        "phoneme": (sounds[some], names[some]),
    }


def line(name: str, cells: list[str], seconds: float) -> None:
    print(name.ljust(18) + "".join(f"{cell:>13}" for cell in cells) + f"{seconds:9.1f}", flush=True)


def main() -> None:
    options = bench_arguments(__doc__, splits=10, seed=0)
    warnings.simplefilter("ignore")
    print("set".ljust(18) + "".join(f"{model:>13}" for model in (*MODELS, "ROCKET")) + "  seconds")
    for name in ARCHIVE:
        data, started = np.load(data_folder() / f"ts_{name}" / f"{name}.npz"), time.process_time()
        items = [item.T.astype(float) for part in ("X_train", "X_test") for item in data[part]]
        y, n = np.concatenate([data["y_train"], data["y_test"]]), len(data["y_train"])
        parts = np.arange(n), np.arange(n, len(y))
        found = scores(gram(kernels_for("series", items[:n])[0], items), views(items), y, *parts)
        cells = [f"{100.0 * value:.1f}" for value in found]
        line(name, [*cells, str(ROCKET.get(name, ""))], time.process_time() - started)
    for name, (X, y) in curves(data_folder()).items():
        items, started, table = [row[:, None].astype(float) for row in X], time.process_time(), []
        default, several = gram(kernels_for("series", items)[0], items), views(items)
        rng = np.random.default_rng(options.seed)
        for _ in range(options.splits):
            table.append(scores(default, several, y, *np.array_split(rng.permutation(len(y)), 2)))
        errors = 100.0 * np.std(table, 0, ddof=1) / options.splits**0.5
        cells = [f"{m:.1f} +- {e:.1f}" for m, e in zip(100.0 * np.mean(table, 0), errors, strict=True)]
        line(f"{name}, halves", [*cells, ""], time.process_time() - started)


if __name__ == "__main__":
    run_script(main)
