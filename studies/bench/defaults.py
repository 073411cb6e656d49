"""What the defaults of the autoencoder rest on: its forms and regularisers beside principal components.

Run: RKHS_DATA=... ./dev bench defaults [--components 10] [--rows 200] [--tol 1e-3] [--raw]. The sets of
``harness/development.py``, on which choices may be made; what scores the defaults uses others. Printed: held-out
squared error over that of principal component analysis with as many components, by set, and for each row of the table
the geometric mean and the worst. "chosen" is what `KernelAutoencoder(p)` does, ``--tol`` adds it with other
tolerances; "best of the path" sees the test rows: no choice can beat it. ``--raw`` leaves the columns of tables in
their own units.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder
from studies.harness.arguments import bench_arguments
from studies.harness.development import components, development_sets, splits
from studies.harness.scripts import data_folder, run_script

PATH = ((1.0, 1.0), (1e-2, 1e-2), (1e-4, 1e-2), (1e-4, 1e-3), (1e-4, 1e-4), (1e-4, 1e-5))
ROWS: dict[str, dict[str, Any]] = {
    "all penalised, fixed reg": {"linear_part": "kernel"},
    "free linear part, chosen": {},
    **{f"free linear part, {reg}": {"reg": reg} for reg in PATH},
}


def main() -> None:
    asked = bench_arguments(
        __doc__, components=10, rows=200, tol={"type": float, "nargs": "*", "default": []}, raw=False
    )
    rows = ROWS | {f"free linear part, chosen, tol {tol:g}": {"tol": tol} for tol in asked.tol}
    warnings.simplefilter("ignore")
    table: dict[str, list[float]] = {name: [] for name in rows}
    seconds = dict.fromkeys(rows, 0.0)
    for name, (X, kind) in development_sets(data_folder()).items():
        if asked.raw and kind != "table":
            continue
        train, test = next(splits(X, "raw" if asked.raw else kind, 1, asked.rows))
        p = min(asked.components, components(X.shape[1]))
        pca = PCA(p).fit(train)
        linear = float(((pca.inverse_transform(pca.transform(test)) - test) ** 2).sum(1).mean())
        for row, params in rows.items():
            started = time.process_time()
            model = KernelAutoencoder(p, **params).fit(train)
            seconds[row] += time.process_time() - started
            table[row].append(float(model.reconstruction_error(test).mean()) / linear)
        print(f"{name:15s} " + ", ".join(f"{table[row][-1]:.3f}" for row in rows), flush=True)
    table["best of the path"] = [min(column) for column in zip(*(table[row] for row in list(ROWS)[2:]), strict=True)]
    for row, ratios in table.items():
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"{row:34s} mean {mean:.3f}, worst {max(ratios):.2f}, {seconds.get(row, 0.0):.1f} s of processor time")


if __name__ == "__main__":
    run_script(main)
