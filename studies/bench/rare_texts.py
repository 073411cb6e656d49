"""Intervals of a table with a column of texts that hardly repeat: coverage and error by which texts have a column.

Run: ./dev bench rare_texts [--tables 20] [--rows 400] [--kinds 250] [--effect 2.0]. Made tables: three columns of
numbers, and a text of many kinds, each of which shifts the target by a normal number of this spread (0: none). Printed:
coverage of intervals of .9 on as many new rows, its least over tables, and the root mean square error, by
``FilledTable(min_rows=)``: from how many rows a text has a column. The regressors take 1, other estimators 2.
"""

from __future__ import annotations

import warnings

import numpy as np

from rkhs import OperatorKernelRegressor
from rkhs.features import FilledTable
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script


def table(rng: np.random.Generator, rows: int, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and target."""
    numbers, kinds = rng.normal(size=(rows, 3)), rng.integers(len(shifts), size=rows)
    cells = np.column_stack([numbers.astype(object), [f"k{kind}" for kind in kinds]])
    return cells, numbers @ np.array([1.0, -0.5, 0.25]) + shifts[kinds] + 0.2 * rng.normal(size=rows)


def main() -> None:
    arguments = bench_arguments(__doc__, tables=20, rows=400, kinds=250, effect=2.0)
    warnings.simplefilter("ignore")
    found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for seed in range(arguments.tables):
        rng = np.random.default_rng(seed)
        shifts = arguments.effect * rng.normal(size=arguments.kinds)
        (X, y), (new, true) = (table(rng, arguments.rows, shifts) for _ in range(2))
        for least, lines in found.items():
            filled = FilledTable(max_levels=500, min_rows=least).fit(X)
            model = OperatorKernelRegressor().fit(filled.transform(X), y)
            sets = model.predict_set(filled.transform(new))
            error = float(np.sqrt(np.mean((sets.center - true) ** 2)))
            lines.append((float(sets.contains(true).mean()), error))
    for least, lines in found.items():
        cover, error = np.array(lines).T
        print(f"min_rows={least}: coverage {cover.mean():.3f} (least {cover.min():.3f}), error {error.mean():.3f}")


if __name__ == "__main__":
    run_script(main)
