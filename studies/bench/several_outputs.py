"""Regression with several outputs: what `OperatorKernelRegressorCV` chooses by itself, beside one bandwidth and a peer.

Run: RKHS_DATA=... ./dev bench several_outputs [--rows 400] [--splits 5] [--part development]. Standardised columns,
rows for training at random, at most 1,000 others to score on. "halves" predict the second half of a picture, a spectrum
or a curve from the first. The peer is scikit-learn's KernelRidge with a Gaussian kernel, its regulariser and bandwidth
chosen together by five-fold cross-validation over eight times five values. The two bandwidths of ``"gaussian"`` were
chosen on the development sets; nothing was chosen on the others. Printed: the share of the variance of the outputs that
is lost on new rows, and seconds of processor, with the standard error over splits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from rkhs import OperatorKernelRegressorCV
from rkhs.kernels import Gaussian
from studies.bench.label_sets import read
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

Pair = tuple[np.ndarray, np.ndarray]


def halves(X: np.ndarray) -> Pair:
    middle = X.shape[1] // 2
    return X[:, :middle], X[:, middle:]


def tecator() -> Pair:
    stored = np.load(data_folder() / "fda_tecator" / "tecator.npz")
    return stored["X"], stored["Y"]


def satellite() -> Pair:
    return halves(np.genfromtxt(data_folder() / "uci_small" / "satellite.csv", delimiter=",", skip_header=1)[:, :36])


def phoneme() -> Pair:
    stored = np.load(data_folder() / "fda_phoneme" / "phoneme.npz")
    return halves(np.vstack([stored["X_train"], stored["X_test"]]))


def arrowhead() -> Pair:
    stored = np.load(data_folder() / "ts_arrowhead" / "arrowhead.npz")
    return halves(np.vstack([stored["X_train"], stored["X_test"]]).reshape(-1, 251))


def sonar() -> Pair:
    return halves(np.genfromtxt(data_folder() / "uci_small" / "sonar.csv", delimiter=",", skip_header=1)[:, :60])


DEVELOPMENT: dict[str, Callable[[], Pair]] = {
    "emotions": lambda: read("emotions"),
    "scene": lambda: read("scene"),
    "digits, halves": lambda: halves(load_digits().data / 16.0),
    "tecator": tecator,
    "satellite, halves": satellite,
}
OTHERS: dict[str, Callable[[], Pair]] = {
    "yeast": lambda: read("yeast"),
    "cal500": lambda: read("cal500"),
    "phoneme, halves": phoneme,
    "arrowhead, halves": arrowhead,
    "sonar, halves": sonar,
}


def peer(X: np.ndarray, Y: np.ndarray) -> GridSearchCV:
    median = Gaussian("median").resolve(torch.from_numpy(X)).gamma
    grid = {"alpha": len(X) * 10.0 ** np.arange(-6.0, 2.0), "gamma": [median * 4.0**k for k in range(-3, 2)]}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5, scoring="neg_mean_squared_error").fit(X, Y)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "median alone": lambda X, Y: OperatorKernelRegressorCV("gaussian", gammas=None).fit(X, Y),
    "two bandwidths": lambda X, Y: OperatorKernelRegressorCV("gaussian").fit(X, Y),
    "default": lambda X, Y: OperatorKernelRegressorCV().fit(X, Y),
    "KernelRidge, searched": peer,
}


def splits(X: np.ndarray, Y: np.ndarray, rows: int, count: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Training and new rows: standardised columns, outputs less the mean of the training ones."""
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(X))
        size = min(rows, len(X) // 2)
        a, b = order[:size], order[size : size + 1000]
        mean, scale, center = X[a].mean(0), X[a].std(0), Y[a].mean(0)
        scale[scale == 0.0] = 1.0
        yield (X[a] - mean) / scale, Y[a] - center, (X[b] - mean) / scale, Y[b] - center


def main() -> None:
    arguments = bench_arguments(
        __doc__, rows=400, splits=5, part={"choices": ("development", "others"), "help": "one list of sets alone"}
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for part, sets in (("development", DEVELOPMENT), ("others", OTHERS)):
        if arguments.part not in (None, part):
            continue
        print(f"{part:20}" + "".join(f"{name:>34}" for name in METHODS))
        for name, load in sets.items():
            X, Y = load()
            found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
            for A, U, B, V in splits(X, Y, arguments.rows, arguments.splits):
                for method, fit in METHODS.items():
                    started = time.process_time()
                    predicted = fit(A, U).predict(B)
                    seconds = time.process_time() - started
                    found[method].append((float(((predicted - V) ** 2).sum() / (V**2).sum()), seconds))
            cells = ""
            for pairs in found.values():
                lost, seconds = np.array(pairs).T
                error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.nan
                cells += f"{lost.mean():16.4f} +- {error:.4f}{seconds.mean():6.2f} s"
            print(f"{name:20}{cells}", flush=True)


if __name__ == "__main__":
    run_script(main)
