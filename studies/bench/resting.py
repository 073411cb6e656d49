"""Components that carry nothing: error and classes with them as they are, and at rest.

Run: ./dev bench resting [--splits 4]. Labelled sets of scikit-learn as they come and with low rank columns, as many
components as columns, up to ten. The class is told by a support vector machine on standardised codes of new rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rkhs import KernelAutoencoder
from studies.harness.arguments import bench_arguments


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows and classes."""
    for name, load in {
        "iris": load_iris,
        "wine": load_wine,
        "cancer": load_breast_cancer,
        "digits": load_digits,
    }.items():
        X, y = load(return_X_y=True)
        yield name, X, y
        basis = np.linalg.svd(X - X.mean(0), full_matrices=False)[2][:3]
        yield f"{name}, rank 3", X @ basis.T @ basis, y


def accuracy(model: KernelAutoencoder, rows: np.ndarray, y: np.ndarray, new: np.ndarray, z: np.ndarray) -> float:
    """Of new rows."""
    machine = make_pipeline(StandardScaler(), SVC()).fit(model.transform(rows), y)
    return float(machine.score(model.transform(new), z))


def main() -> None:
    splits = bench_arguments(__doc__, splits=4).splits
    warnings.simplefilter("ignore")
    print("set, kernel: splits with components at rest, error at rest / as they are, accuracy as they are -> at rest")
    for name, X, y in sets():
        for kernel, reg in (("auto", None), ("gaussian", "auto")):
            ratios, before, after, resting = [], [], [], 0
            for seed in range(splits):
                order = np.random.default_rng(seed).permutation(len(X))
                train, test = order[: min(len(X) * 6 // 10, 250)], order[-min(len(X) * 4 // 10, 250) :]
                model = KernelAutoencoder(min(X.shape[1], 10), kernel=kernel, reg=reg).fit(X[train])
                if model.model_.inactive is None:
                    continue
                resting += 1
                plain = KernelAutoencoder(**model.get_params(deep=False)).fit(X[train])
                plain.model_ = replace(plain.model_, inactive=None)
                ratios.append(model.reconstruction_error(X[test]).mean() / plain.reconstruction_error(X[test]).mean())
                before.append(accuracy(plain, X[train], y[train], X[test], y[test]))
                after.append(accuracy(model, X[train], y[train], X[test], y[test]))
            said = f"{np.mean(ratios):.4f}, {np.mean(before):.3f} -> {np.mean(after):.3f}" if ratios else "-"
            print(f"{name:16s} {kernel:9s} {resting}/{splits}: {said}", flush=True)


if __name__ == "__main__":
    main()
