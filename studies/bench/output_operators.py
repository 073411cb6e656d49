"""Is an operator of the decoder worth having? Dense autoencoders with `operators=(None, A)` beside none.

Run: RKHS_DATA=... ./dev bench output_operators [--sets satellite coil20 patches] [--rows 500] [--components 10 2]
[--splits 2]. ``A`` is the covariance of the training rows or its root, in units of the largest eigenvalue, as
``operator="covariance"`` of the regressors is. Each has the best of fifteen pairs of regularisers on 500 held-out
rows. "default, refined" is ``KernelAutoencoder(p)``; all others do not refine codes of new rows, because models with
operators do not. Printed: the share of the variance of 1,000 new rows that is lost, with
the standard deviation over the splits, and the seconds of one fit.
"""

from __future__ import annotations

import time
import warnings
from itertools import product

import numpy as np

from rkhs import KernelAutoencoder
from studies.bench.scale import load
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script

ENCODER, DECODER = (1e-3, 1e-4, 1e-5), (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
HELD, NEW = 500, 1000


def operators(X: np.ndarray) -> dict[str, np.ndarray | None]:
    values, vectors = np.linalg.eigh(np.cov(X.T))
    values = np.maximum(values / values[-1], 0.0)
    return {
        "none": None,
        "covariance": (vectors * values) @ vectors.T,
        "its root": (vectors * np.sqrt(values)) @ vectors.T,
    }


def lost(model: KernelAutoencoder, X: np.ndarray, total: float) -> float:
    return float(((model.inverse_transform(model.transform(X)) - X) ** 2).sum()) / total


def measure(name: str, rows: int, p: int, split: int) -> dict[str, tuple[float, float]]:
    X, _ = load(name, rows + HELD + NEW)
    order = np.random.default_rng(split).permutation(len(X))
    train, held, new = (X[part] for part in np.split(order[: rows + HELD + NEW], [rows, rows + HELD]))
    sums = [float(((part - train.mean(0)) ** 2).sum()) for part in (held, new)]
    found = {}
    for refine in (True, False):
        started = time.process_time()
        model = KernelAutoencoder(p, refine=refine).fit(train)
        found["default, refined" if refine else "default"] = lost(model, new, sums[1]), time.process_time() - started
    for label, A in operators(train).items():
        tried, started = [], time.process_time()
        for reg in product(ENCODER, DECODER):
            model = KernelAutoencoder(
                p, reg=reg, linear_part="kernel", refine=False, operators=None if A is None else (None, A)
            ).fit(train)
            tried.append((lost(model, held, sums[0]), lost(model, new, sums[1]), reg))
        found[label] = min(tried)[1], (time.process_time() - started) / len(tried)
        print(name, p, split, label, min(tried), flush=True)
    return found


def main() -> None:
    options = bench_arguments(__doc__, sets=["satellite", "coil20", "patches"], rows=500, components=[10, 2], splits=2)
    warnings.simplefilter("ignore")
    for p, name in product(options.components, options.sets):
        runs = [measure(name, options.rows, p, split) for split in range(options.splits)]
        if name == options.sets[0]:
            print("\n| set | components | " + " | ".join(runs[0]) + " |\n|---|---|" + "---|" * len(runs[0]))
        cells = []
        for label in runs[0]:
            errors, seconds = np.array([run[label] for run in runs]).T
            cells.append(f"{errors.mean():.4f} ± {errors.std():.4f}, {seconds.mean():.1f} s")
        print(f"| {name} | {p} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    run_script(main)
