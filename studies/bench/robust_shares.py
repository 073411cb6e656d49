"""From which share of rows that look wrong on ``fit_robust`` should leave none out: planted shares, and rare classes.

Run: RKHS_DATA=... ./dev bench robust_shares [--rows 120] [--splits 1] [--classes]. Eight development tables, as they
are and with every second column cut into three texts; before that, all numbers of a share of the training rows get
noise of five standard deviations. Printed: the share of rows that look wrong, the shares of good rows and of bad rows
among those, and the error of clean new rows without them over that with all rows. With --classes: clean tables in which
one class is rare, so that its rows are good, but few; the shares of its rows and of the others that look wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from rkhs import KernelAutoencoder, fit_robust
from rkhs.estimators import robust_fit
from studies.harness.arguments import bench_arguments
from studies.harness.development import development_sets, splits
from studies.harness.scripts import data_folder, run_script

SETS = ("glass", "wine", "cancer", "wheat", "sonar", "ionosphere", "satellite", "heavy tails")
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)


def mixed(X: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Rows whose odd columns are one of three texts."""
    cells = X.astype(object)
    for j in range(1, X.shape[1], 2):
        cells[:, j] = np.array(["low", "middle", "high"], dtype=object)[np.searchsorted(edges[:, j], X[:, j])]
    return cells


def spoiled(X: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a share is wrong, and which."""
    bad = np.zeros(len(X), dtype=bool)
    bad[rng.permutation(len(X))[: round(share * len(X))]] = True
    return X + bad[:, None] * 5.0 * X.std(0) * rng.normal(size=X.shape), bad


def measure(train: np.ndarray, test: np.ndarray, share: float, seed: int, *, cells: bool) -> tuple[float, ...]:
    """Shares of rows, good rows and bad rows that look wrong, and the ratio of errors."""
    X, bad = spoiled(train, share, np.random.default_rng(seed))
    held: Any = test
    if cells:
        edges = np.quantile(train, [1 / 3, 2 / 3], axis=0)
        X, held = mixed(X, edges), mixed(test, edges)
    model = KernelAutoencoder(2, columns="filled" if cells else "scaled")
    found = fit_robust(model, X)
    wrong = found.outlier_score > 1.0
    # Rows of a model with fewer rows have other units of the columns: both errors in those of the clean rows.
    errors = [_error(model, X[kept], train, held, cells=cells) for kept in (~wrong, np.ones_like(wrong))]
    return wrong.mean(), wrong[~bad].mean(), wrong[bad].mean() if bad.any() else np.nan, errors[0] / errors[1]


def rare_classes() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Rows of a large class, and those of one that is to be rare."""
    for name, data, large, rare in (
        ("wine", load_wine(), 1, 2),
        ("cancer", load_breast_cancer(), 1, 0),
        ("iris", load_iris(), 1, 0),
        ("digits, 1 and 0", load_digits(), 1, 0),
        ("digits, 3 and 8", load_digits(), 3, 8),
    ):
        yield name, data.data[data.target == large], data.data[data.target == rare]


def print_classes(rows: int) -> None:
    """Of a rare class, and of the others, how many look wrong."""
    print("\n| rare class of | share | look wrong | of the others | of the rare ones |\n|---|---|---|---|---|")
    for name, large, rare in rare_classes():
        for share in SHARES[2:]:
            n = min(len(large), rows)
            few = round(n * share / (1.0 - share))
            X = np.concatenate([large[:n], rare[:few]])
            found = fit_robust(KernelAutoencoder(2, columns="scaled"), X[:, X.std(0) > 0.0])
            wrong = found.outlier_score > 1.0
            print(
                f"| {name} | {share:.0%} | {wrong.mean():.1%} | {wrong[:n].mean():.1%} | {wrong[n:].mean():.0%} |",
                flush=True,
            )


def _error(model: KernelAutoencoder, rows: Any, train: np.ndarray, held: Any, *, cells: bool) -> float:
    fitted = model.fit(rows)
    back = fitted.inverse_transform(fitted.transform(held))
    if not cells:
        return float((((back - held) / train.std(0).clip(1e-12)) ** 2).mean())
    unit, numbers = train.std(0).clip(1e-12), range(0, held.shape[1], 2)
    squares = [((back[:, j].astype(float) - held[:, j].astype(float)) / unit[j]) ** 2 for j in numbers]
    return float(np.mean(squares) + np.mean([back[:, j] != held[:, j] for j in range(1, held.shape[1], 2)]))


def main() -> None:
    options = bench_arguments(
        __doc__, rows=120, splits=1, classes={"action": "store_true", "help": "the tables with a rare class"}
    )
    warnings.simplefilter("ignore")
    robust_fit._MOST = robust_fit._MOST_OF_CELLS = 1.0  # so that the fit without them is measured
    robust_fit._RARE = 0.0
    if options.classes:
        return print_classes(options.rows)
    print("| columns | set | planted | look wrong | of the good | of the bad | error without over with |")
    print("|---|---|---|---|---|---|---|")
    data = development_sets(data_folder())
    for cells in (False, True):
        for name in SETS:
            X = data[name][0]
            X = X[:, X.std(0) > 0.0]
            parts = list(splits(X, "table", options.splits, options.rows))
            for share in SHARES:
                found = np.array([measure(*part, share, seed, cells=cells) for seed, part in enumerate(parts)])
                look, good, bad, ratio = found.mean(0)
                kind = "mixed" if cells else "numbers"
                print(
                    f"| {kind} | {name} | {share:.0%} | {look:.1%} | {good:.1%} | {bad:.0%} | {ratio:.2f} |", flush=True
                )


if __name__ == "__main__":
    run_script(main)
