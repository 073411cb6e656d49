"""How often answers above the threshold of ``risk_coverage`` are wrong more often than was guaranteed.

Run: RKHS_DATA=... ./dev bench abstention [--splits 200] [--rows 300] [--known 200]. A machine is fitted once, to rows
at random. Known answers are drawn with replacement from all other rows, so that these rows are the whole population and
the true risk is known: mistakes above the threshold among them all. Scores are the gap of the two best candidates (the
classes of a table, 30 molecules of a spectrum) or minus the predicted deviation, where a mistake is an error above one
unit. Printed: the share of splits with a true risk above the guarantee, mean risk, and the share of items answered, for
"answered" with a confidence of 0.95 and for "all". The steps of the test were chosen on the first three sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_digits

from rkhs import InputOutputKernelRegressor
from rkhs.evaluation import risk_coverage
from rkhs.kernels import ProbabilityProduct, Tanimoto
from studies.bench.coverage import fitted, molecules
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script
from studies.harness.spectra import load_spectra

Answers = tuple[np.ndarray, np.ndarray]


def gaps(scores: np.ndarray, truth: np.ndarray) -> Answers:
    """How sure the best candidates are, and whether they are wrong."""
    best = np.sort(scores, 1)
    return best[:, -1] - best[:, -2], (scores.argmax(1) != truth).astype(float)


def classes(X: np.ndarray, y: np.ndarray, rows: int) -> Answers:
    order = np.random.default_rng(0).permutation(len(X))
    a, b = order[:rows], order[rows:]
    scaled = (X - X[a].mean(0)) / np.maximum(X[a].std(0), 1e-12)
    names, places = np.unique(y, return_inverse=True)
    model = InputOutputKernelRegressor(decoding="candidates").fit(scaled[a], np.eye(len(names))[places[a]])
    return gaps(model.scores(scaled[b], np.eye(len(names))), places[b])


def satellite(rows: int) -> Answers:
    table = pd.read_csv(data_folder() / "uci_small" / "satellite.csv")
    return classes(table.iloc[:, :36].to_numpy(float), table.iloc[:, 36].to_numpy(), rows)


def pictures(rows: int) -> Answers:
    stored = np.load(data_folder() / "mnist10k" / "mnist10k.npz")
    return classes(stored["X"].reshape(len(stored["X"]), -1) / 255.0, stored["y"], rows)


def spectra(rows: int) -> Answers:
    found = load_spectra(1600, 400)
    model = InputOutputKernelRegressor(ProbabilityProduct(), output_kernel=Tanimoto())
    model.fit(found.train, found.fingerprints)
    scores = model.scores(found.test, [found.pool[row] for row in found.candidates], per_sample=True)
    return gaps(np.array(scores), found.truth)


def numbers(name: str, rows: int) -> Answers:
    X, Y = molecules(name)
    values, deviations = fitted(X[:rows], Y[:rows]).predict(X[rows:], return_std=True)
    return -deviations.ravel(), (np.abs(values.ravel() - Y[rows:].ravel()) > 1.0).astype(float)


SETS: dict[str, tuple[tuple[float, ...], Callable[[int], Answers]]] = {
    "digits": ((0.02, 0.05), lambda rows: classes(load_digits().data, load_digits().target, rows // 2)),
    "satellite": ((0.05, 0.1), satellite),
    "spectra": ((0.3, 0.4), spectra),
    "mnist10k": ((0.05, 0.1), pictures),
    "CHEMBL204_Ki": ((0.1, 0.2), lambda rows: numbers("CHEMBL204_Ki", rows)),
    "CHEMBL214_Ki": ((0.1, 0.2), lambda rows: numbers("CHEMBL214_Ki", rows)),
}


def measured(scores: np.ndarray, losses: np.ndarray, risk: float, of: str, known: int, splits: int) -> np.ndarray:
    """Of each split: whether the guarantee is broken, the true risk (nan: no answer), and the share answered."""
    found = []
    for seed in range(splits):
        rows = np.random.default_rng(seed).integers(len(scores), size=known)
        above = scores > risk_coverage(scores[rows], losses[rows], risk, of=of).threshold
        among = above.sum() if of == "answered" else len(above)
        true = losses[above].sum() / among if among else np.nan
        found.append((true > risk, true, above.mean()))
    return np.array(found)


def main() -> None:
    arguments = bench_arguments(__doc__, rows=300, known=200, splits=200)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(f"{'set':14}{'items':>7}{'wrong':>7}{'risk':>6}{'of':>10}{'broken':>8}{'true risk':>18}{'answered':>18}")
    for name, (risks, load) in SETS.items():
        scores, losses = load(arguments.rows)
        for risk in risks:
            for of in ("answered", "all"):
                found = measured(scores, losses, risk, of, arguments.known, arguments.splits)
                count = np.maximum((~np.isnan(found)).sum(0), 1)
                mean, error = np.nanmean(found, 0), np.nanstd(found, 0) / count**0.5
                print(
                    f"{name:14}{len(scores):7}{losses.mean():7.3f}{risk:6}{of:>10}{mean[0]:8.3f}"
                    f"{mean[1]:9.3f} +- {error[1]:.3f}{mean[2]:9.3f} +- {error[2]:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
