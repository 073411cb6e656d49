"""Huber regression of many rows on landmarks, beside dense storage, ridge regression and scikit-learn.

Run: ./dev bench robust_rows [--rows 2000 20000] [--landmarks 500] [--splits 3]. Made data: ten normal columns, a smooth
function of them with noise, and one target in ten replaced by a value that is far off, in one direction. The threshold
of ``Huber(0.2)`` is twice the standard deviation of the noise, which nobody knows of real data. Every method
takes the same Gaussian kernel, and the best of three regularisers on 1,000 held-out
rows with the same outliers, by the median of the errors. Dense storage is fitted to at most 2,000 rows. Printed: the
share of the variance of 2,000 clean new rows that is lost, and seconds of processor of all three fits, with the
standard deviation over splits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem as Landmarks
from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import make_pipeline

from rkhs import OperatorKernelRegressor
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.losses import Huber, Loss
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script

COLUMNS, DENSE, NOISE = 10, 2000, 0.1
GAMMA = 1.0 / (2.0 * COLUMNS)
REGS = (1e-3, 1e-4, 1e-5)


def made(n: int, seed: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + NOISE * rng.standard_normal(n)
    return X, np.where(rng.uniform(size=n) < wrong, 8.0 + rng.standard_normal(n), y)


def machine(loss: str | Loss, storage: Any) -> Callable[[float, int], Any]:
    return lambda reg, n: OperatorKernelRegressor(Gaussian(GAMMA), loss=loss, reg=reg, storage=storage)


def peer(landmarks: int) -> Callable[[float, int], Any]:
    """scikit-learn's landmarks and Huber regression; its ``alpha`` is the sum over rows, and its scale is fitted."""
    return lambda reg, n: make_pipeline(
        Landmarks(gamma=GAMMA, n_components=landmarks, random_state=0), HuberRegressor(alpha=n * reg, max_iter=1000)
    )


def score(method: Callable[[float, int], Any], n: int, split: int) -> tuple[float, float]:
    (X, y), (held, z), (new, truth) = made(n, split, 0.1), made(1000, 100 + split, 0.1), made(2000, 200 + split, 0.0)
    started = time.process_time()
    models = [method(reg, n).fit(X, y) for reg in REGS]
    seconds = time.process_time() - started
    best = min(models, key=lambda model: float(np.median(np.abs(model.predict(held) - z))))
    return float(((best.predict(new) - truth) ** 2).mean() / truth.var()), seconds


def main() -> None:
    options = bench_arguments(__doc__, rows=[2000, 20000], landmarks=500, splits=3)
    m = options.landmarks
    methods = {
        "Huber, dense": machine("huber", "dense"),
        f"Huber, {m} landmarks": machine("huber", Nystroem(m, random_state=0)),
        f"Huber(0.2), {m} landmarks": machine(Huber(2.0 * NOISE), Nystroem(m, random_state=0)),
        f"squared, {m} landmarks": machine("squared", Nystroem(m, random_state=0)),
        f"scikit-learn, {m} landmarks": peer(m),
    }
    warnings.simplefilter("ignore")
    print("| rows | method | variance lost | seconds |\n|---|---|---|---|")
    for n in options.rows:
        for name, method in methods.items():
            if name.endswith("dense") and n > DENSE:
                continue
            lost, seconds = np.array([score(method, n, split) for split in range(options.splits)]).T
            print(f"| {n:,} | {name} | {lost.mean():.3f} ± {lost.std():.3f} | {seconds.mean():.1f} |", flush=True)


if __name__ == "__main__":
    run_script(main)
