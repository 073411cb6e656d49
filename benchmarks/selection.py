"""What choosing the regularisers costs, and how far the choice is from the best of a grid of fits from scratch.

Run: RKHS_DATA=... ./dev bench selection [--rows 2000] [--components 10]. Sets of ``_development.py`` with enough rows.
The grid has 4 x 5 regularisers, every fit from scratch on all training rows, and its best is found on the test rows: an
advantage that the choice does not have. Printed: processor time of `KernelAutoencoder(p)` over that of one fit with the
regularisers that were chosen, and the held-out error over the least of the grid.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from _development import components, development_sets, splits
from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder

ENCODER, DECODER = (1e-5, 1e-4, 1e-3, 1e-2), (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--cost-only", action="store_true", help="leave out the grid")
    asked = parser.parse_args()
    if "RKHS_DATA" not in os.environ:
        raise SystemExit("set RKHS_DATA to the folder of the benchmark data")
    warnings.simplefilter("ignore")
    ratios, costs = [], []
    for name, (X, kind) in development_sets(Path(os.environ["RKHS_DATA"])).items():
        train, test = next(splits(X, kind, 1, asked.rows))
        if asked.cost_only and len(train) < asked.rows:
            continue
        p = min(asked.components, components(X.shape[1]))
        if train.shape[1] > 100 and len(train) > 100:  # images: their 60 leading principal components
            pca = PCA(60, random_state=0).fit(train)
            train, test = pca.transform(train), pca.transform(test)
        started = time.process_time()
        model = KernelAutoencoder(p).fit(train)
        chosen = time.process_time() - started
        started = time.process_time()
        KernelAutoencoder(p, reg=model.reg_).fit(train)
        costs.append(chosen / (time.process_time() - started))
        line = f"{name:15s} n = {len(train)}: {chosen:.1f} s, {costs[-1]:.2f} fits, reg {model.reg_}"
        if not asked.cost_only:
            error = float(model.reconstruction_error(test).mean())
            grid = [
                float(KernelAutoencoder(p, reg=(a, b)).fit(train).reconstruction_error(test).mean())
                for a in ENCODER
                for b in DECODER
            ]
            ratios.append(error / min(grid))
            line += f", error {ratios[-1]:.3f} of the best of the grid"
        print(line, flush=True)
    print(f"median cost {np.median(costs):.2f} fits, largest {max(costs):.2f}")
    if ratios:
        print(f"error over the best of the grid: geometric mean {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main()
