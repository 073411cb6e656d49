"""Error and processor time of the autoencoder against the number of rows, with and without ``storage=``.

Run: RKHS_DATA=... ./dev bench scale [--rows 500 1000 2000 4000 8000] [--components 10 2] [--seeds 1]
[--landmarks 1000] [--dense 2000] [--sets mnist satellite coil20 cifar] [--reg 1e-4 1e-5] [--kernel]. Images divided by
255 (cifar10 in grey), satellite standardised. A fifth of the rows, at most 2,000, are held out; the training rows of a
split are nested.
Printed for each number of rows, mean (and range, with several splits): the error of held-out rows over their variance
and seconds of processor time of the fit, everything chosen by the defaults, of principal components, of the dense model
(up to ``--dense`` rows), of landmarks, and, with ``--kernel``, of landmarks with ``linear_part="kernel"``; the seconds
in which landmarks encode 1,000 new rows, and what they chose. With two components also the share of new rows whose five
nearest training codes vote for their class, and the trustworthiness of the codes of new rows, where there are classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder
from rkhs.features import Nystroem
from studies.harness.scripts import data_folder, run_script


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows and classes of a set."""
    if name == "satellite":
        table = np.genfromtxt(folder / "uci_small" / "satellite.csv", delimiter=",", skip_header=1)[:, :36]
        return (table - table.mean(0)) / table.std(0), None
    file = {"mnist": "mnist10k", "coil20": "coil20", "cifar": "cifar10_train"}[name]
    with np.load(folder / file / f"{file}.npz", allow_pickle=False) as stored:
        X = stored["X"]
        y = stored["y"] if "y" in stored.files else None
    if name == "cifar":
        X = X.mean(3)
    return X.reshape(len(X), -1) / 255.0, y


def share(model: Any, new: np.ndarray, variance: float) -> float:
    """Error of new rows over their variance."""
    if isinstance(model, PCA):
        return float(((new - model.inverse_transform(model.transform(new))) ** 2).sum(1).mean()) / variance
    return float(model.reconstruction_error(new).mean()) / variance


def shown(values: list[float], digits: int) -> str:
    """Mean and range."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def neighbours(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Accuracy of five nearest training codes, and trustworthiness of the codes of new rows."""
    codes = model.transform(new)
    return (
        float(KNeighborsClassifier(5).fit(model.codes_, y).score(codes, classes)),
        float(trustworthiness(new, codes, n_neighbors=5)),
    )


def measure(name: str, p: int, n: int, options: argparse.Namespace, folder: Path) -> None:
    """One line a model."""
    X, y = load(name, folder)
    cut, storage = min(len(X) // 5, 2000), {"storage": Nystroem(options.landmarks)}
    reg = {} if options.reg is None else {"reg": tuple(options.reg)}
    models: dict[str, Any] = {"principal components": lambda: PCA(p)}
    if n <= options.dense:
        models["dense"] = lambda: KernelAutoencoder(p)
    models["landmarks"] = lambda: KernelAutoencoder(p, **storage, **reg)
    if options.kernel:
        models["landmarks, kernel parts"] = lambda: KernelAutoencoder(p, linear_part="kernel", **storage)
    for label, make in models.items():
        errors, seconds, coding, said, regs = [], [], [], [], []
        for seed in range(options.seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            new, rows = order[:cut], order[cut : cut + n]
            variance = float(((X[new] - X[rows].mean(0)) ** 2).sum(1).mean())
            start = time.process_time()
            model = make().fit(X[rows])
            seconds.append(time.process_time() - start)
            start = time.process_time()
            errors.append(share(model, X[new], variance))
            coding.append((time.process_time() - start) * 1000.0 / cut)
            regs.append(getattr(model, "reg_", None))
            if p == 2 and y is not None and not isinstance(model, PCA):
                said.append(neighbours(model, X[rows], y[rows], X[new], y[new]))
        line = f"{name:9s} p={p:2d} n={len(rows):5d} {label:24s} error {shown(errors, 4)}, {shown(seconds, 1)} s"
        if not isinstance(model, PCA):
            line += f", encoding {shown(coding, 2)} s, reg {regs}"
        if said:
            line += f", 5-NN {shown([s[0] for s in said], 3)}, trustworthiness {shown([s[1] for s in said], 3)}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--components", type=int, nargs="+", default=[10, 2])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--landmarks", type=int, default=1000)
    parser.add_argument("--dense", type=int, default=2000)
    parser.add_argument("--sets", nargs="+", default=["mnist"])
    parser.add_argument("--reg", type=float, nargs=2)
    parser.add_argument("--kernel", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets:
        for p in options.components:
            for n in options.rows:
                measure(name, p, n, options, data_folder())


if __name__ == "__main__":
    run_script(main)
