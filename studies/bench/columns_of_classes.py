"""Classes of tables with texts: accuracy on hidden rows with standardised numbers, and with their ranks.

Run: ./dev bench columns_of_classes [--tables 12] [--rows 500] [--labels 120]. Made tables: 4 to 13 columns of numbers,
normal or skewed, and one to four columns of 3 to 300 texts, of which the first may shift the class; then the tables of
numbers below, whose class is known in as many rows. Printed for each: the share of the most common class, and the
accuracy on the rows without a class with ``columns="filled"`` and with ``columns="ranked"``.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
import warnings
from collections.abc import Iterator

import numpy as np

from rkhs.cli.main import main as run_command
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

REAL = ("uci_small/sonar.csv", "uci_small/glass.csv", "uci_small/breast_cancer_wisconsin.csv", "adbench/PageBlocks.npz")
REAL += ("adbench/SpamBase.npz", "adbench/Ionosphere.npz", "adbench/Pima.npz", "adbench/fault.npz")


def made_table(seed: int, rows: int) -> tuple[str, list[np.ndarray], np.ndarray]:
    """Title, columns and classes of a made table."""
    rng = np.random.default_rng(seed)
    kinds, texts = int(rng.choice([3, 8, 30, 100, 300])), int(rng.integers(1, 5))
    matter, skewed = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    numbers = rng.normal(size=(rows, int(rng.integers(4, 14))))
    shift = numbers[:, :3] @ rng.normal(size=3) + numbers[:, 0] * numbers[:, 1] * rng.choice([0, 1])
    numbers = np.exp(numbers * rng.uniform(0.3, 1.8, numbers.shape[1])) if skewed else numbers
    codes = rng.integers(kinds, size=(texts, rows))
    shift += 2.0 * matter * rng.normal(size=kinds)[codes[0]] + 0.5 * rng.normal(size=rows)
    title = f"{texts} x {kinds} texts{', of use' * matter}{', skewed' * skewed}"
    cells = [*numbers.T.astype(str), *(np.char.add("k", one.astype(str)) for one in codes)]
    return title, cells, np.where(shift > np.quantile(shift, rng.choice([0.5, 0.75])), "yes", "no")


def real_table(name: str, rows: int) -> tuple[str, list[np.ndarray], np.ndarray]:
    """Title, columns and classes of a table of numbers."""
    path = data_folder() / name
    if path.suffix == ".npz":
        file = np.load(path)
        cells, y = file["X"].astype(str), np.char.add("c", file["y"].astype(int).astype(str))
    else:
        table = np.array(list(csv.reader(path.open(encoding="utf-8")))[1:])
        cells, y = table[:, :-1], np.char.add("c", table[:, -1])
    kept = np.random.default_rng(0).permutation(len(y))[:rows]
    return name, list(cells[kept].T), y[kept]


def accuracy(cells: list[np.ndarray], y: np.ndarray, labels: int, flags: list[str]) -> float:
    """Share of right classes in the rows whose class is hidden."""
    given = np.where(np.arange(len(y)) < min(labels, len(y) // 2), y, "")
    table = np.column_stack([*cells, given])
    with open("table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*(f"x{j}" for j in range(len(cells))), "label"], *table.tolist()])
    shared = ["--predict", "label", "-o", "m.rkhs", *flags]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run_command(["fit", "table.csv", *shared, "--json"])
        print("\f")
        run_command(["predict", "m.rkhs", "table.csv", "--json"])
    found = np.array(json.loads(said.getvalue().split("\f")[1])["predictions"]).astype(str).ravel()
    return float((found == y)[given == ""].mean())


def tables(count: int, rows: int) -> Iterator[tuple[str, list[np.ndarray], np.ndarray]]:
    """Made tables, then those of data sets."""
    yield from (made_table(seed, rows) for seed in range(count))
    yield from (real_table(name, rows) for name in REAL)


def main() -> None:
    arguments = bench_arguments(__doc__, tables=12, rows=500, labels=120)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for title, cells, y in tables(arguments.tables, arguments.rows):
            ways = [["--set", "columns=filled"], ["--set", "columns=ranked"]]
            plain, ranked = (accuracy(cells, y, arguments.labels, flags) for flags in ways)
            common = max(np.unique(y, return_counts=True)[1]) / len(y)
            print(f"{title:45} common {common:.3f}, standardised {plain:.3f}, ranks {ranked:.3f}", flush=True)


if __name__ == "__main__":
    run_script(main)
