"""Codes of graphs, DNA strings and time series against the kernels they come from.

Graphs: 10-fold cross-validation of a support vector machine on the Gram matrix, and of one (Gaussian) and a random
forest on kernel PCA codes and on K2AE codes. Strings and series: nearest neighbours by the kernel and by codes, on the
archive's split of the series and on ten folds or splits of the strings. C, the number of neighbours and the number of
components are chosen by 3-fold cross-validation inside each training part, alike for all; codes are fitted on the
training part, without labels. One cell is one kernel on one fold.

Run: RKHS_DATA=... ./dev reproduce objects [--sets mutag,...] [--reduced] [--cells FILE] [--minutes 9]
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rkhs._core.errors import InputError
from rkhs.data import read_items
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.kernels import (
    DynamicTimeWarping,
    GlobalAlignment,
    Kernel,
    Mismatch,
    ShiftInvariant,
    ShortestPath,
    Spectrum,
    WeisfeilerLehman,
)
from studies.harness.cells import add_cell_options, run_cells
from studies.harness.scripts import data_folder, run_script

__all__ = ["cells", "load_set", "main", "run_cell", "verdicts"]

GRAPHS = {"mutag": 188, "ptc": 344, "imdbbinary": 1000, "nci1": 1000}
STRINGS = {"promoters": 106, "splice": 1600}
SERIES = ("gunpoint", "italypowerdemand", "arrowhead", "coffee", "basicmotions")
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
NEIGHBOURS = (1, 3, 5, 9)
COMPONENTS = (5, 20)


def _kernels(name: str) -> dict[str, Kernel]:
    if name in GRAPHS:
        small = {"shortest path": ShortestPath()} if name in ("mutag", "ptc") else {}
        return {"Weisfeiler-Lehman": WeisfeilerLehman(), **small}
    if name in STRINGS:
        return {"spectrum (4)": Spectrum(4, "dna"), "mismatch (5, 1)": Mismatch(5, 1)}
    return {"alignment": GlobalAlignment(), "warping": DynamicTimeWarping(), "shifts": ShiftInvariant()}


def load_set(name: str, *, reduced: bool = False) -> tuple[list[Any], np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Items, classes, and rows of training and test parts.

    Parameters
    ----------
    name : str
        One of the sets of graphs, strings and series.
    reduced : bool, default=False
        At most 100 items and 2 parts.

    Returns
    -------
    items : list of n objects
    y : ndarray of shape (n,)
    parts : list of pairs of ndarray of shape (n_train,) and (n_test,)

    Raises
    ------
    InputError
        If ``RKHS_DATA`` does not name the folder of data sets.
    """
    if name in SERIES:
        with np.load(data_folder(f"ts_{name}") / f"ts_{name}" / f"{name}.npz", allow_pickle=False) as data:
            items = [*data["X_train"], *data["X_test"]]
            y = np.concatenate([data["y_train"], data["y_test"]])
            split = len(data["y_train"])
        items = [item.T if item.ndim == 2 else item for item in items]  # channels came first
        rows = np.arange(len(y))[: 100 if reduced else None]
        return [items[i] for i in rows], y[rows], [(rows[:split], rows[split:])]
    if name in GRAPHS:
        found = read_items(data_folder(f"graphs_{name}") / f"graphs_{name}" / "graphs.npz")
        items, y = list(found.X), np.asarray(found.classes)
    else:
        with open(data_folder(name) / name / f"{name}.csv", encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        items, y = [row["sequence"] for row in table], np.array([row["class"] for row in table])
    size = 100 if reduced else {**GRAPHS, **STRINGS}[name]
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:size])
    items, y = [items[i] for i in rows], y[rows]
    if name == "splice":
        parts = StratifiedShuffleSplit(5, train_size=0.5, random_state=0).split(y, y)
    else:
        parts = StratifiedKFold(10, shuffle=True, random_state=0).split(y, y)
    return items, y, list(parts)[: 2 if reduced else None]


def cells(name: str, *, reduced: bool = False) -> list[dict[str, Any]]:
    """Settings of every cell of one set.

    Parameters
    ----------
    name : str
    reduced : bool, default=False

    Returns
    -------
    list of dict
    """
    parts = 1 if name in SERIES else 2 if reduced else 5 if name == "splice" else 10
    return [
        {"set": name, "kernel": kernel, "part": part, "reduced": reduced}
        for kernel in _kernels(name)
        for part in range(parts)
    ]


def _quiet(model: Any, K: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # negative eigenvalues of warping, unfinished descents
        return model.fit(K)


def _chosen(model: Any, grid: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """Score of the best setting within the training part, and the model fitted with it."""
    folds = StratifiedKFold(min(3, int(np.unique(y, return_counts=True)[1].min())), shuffle=True, random_state=1)
    search = GridSearchCV(model, grid, cv=folds).fit(X, y)
    return float(search.best_score_), search.best_estimator_


def run_cell(cell: dict[str, Any], K: np.ndarray, y: np.ndarray, parts: Any) -> dict[str, Any]:
    """Test accuracy of every method on one part.

    Parameters
    ----------
    cell : dict
        From :func:`cells`.
    K : ndarray of shape (n, n)
    y : ndarray of shape (n,)
    parts : list of pairs of ndarray of shape (n_train,) and (n_test,)

    Returns
    -------
    dict
        Accuracies by method.
    """
    train, test = parts[cell["part"]]
    K_train, K_test, seen, new = K[np.ix_(train, train)], K[np.ix_(test, train)], y[train], y[test]
    neighbours: dict[str, Any] = {"n_neighbors": [k for k in NEIGHBOURS if k < len(train) // 2]}
    if cell["set"] in GRAPHS:
        heads: dict[str, tuple[Any, dict[str, Any]]] = {
            "SVM": (make_pipeline(StandardScaler(), SVC()), {"svc__C": COSTS}),
            "forest": (RandomForestClassifier(200, random_state=0), {"max_features": ["sqrt"]}),
        }
        raw: Any = SVC(kernel="precomputed")
        first: dict[str, Any] = {"C": COSTS}
        distances, name = (K_train, K_test), "SVM"
    else:
        heads = {"k-NN": (KNeighborsClassifier(), neighbours)}
        raw, first = KNeighborsClassifier(metric="precomputed"), neighbours
        distances, name = (np.maximum(1.0 - K_train, 0.0), np.maximum(1.0 - K_test, 0.0)), "k-NN"
    result = {f"kernel + {name}": float(_chosen(raw, first, distances[0], seen)[1].score(distances[1], new))}
    codes = {}
    for p in (p for p in COMPONENTS if p < len(train) - 2):
        for title, model in (
            ("kernel PCA", KernelPCA(p, kernel="precomputed")),
            ("K2AE", KernelAutoencoder(p, kernel="precomputed", max_iter=200, tol=1e-4, random_state=0)),
        ):
            fitted = _quiet(model, K_train)
            codes[title, p] = fitted.codes_, fitted.transform(K_test)
    for title in ("kernel PCA", "K2AE"):
        for head, (model, grid) in heads.items():
            found = [
                (*_chosen(clone(model), grid, Z, seen), Z_new) for (t, _), (Z, Z_new) in codes.items() if t == title
            ]
            best = max(found, key=lambda row: row[0])
            result[f"{title} + {head}"] = float(best[1].score(best[2], new))
    return result


def verdicts(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each set and kernel: mean accuracies, and whether K2AE codes keep or gain.

    Parameters
    ----------
    found : sequence of dict
        Finished cells.

    Returns
    -------
    list of str
    """
    lines = []
    for name, kernel in dict.fromkeys((cell["set"], cell["kernel"]) for cell in found):
        group = [cell for cell in found if (cell["set"], cell["kernel"]) == (name, kernel)]
        methods = [key for key in group[0] if " + " in key]
        table = np.array([[cell[method] for method in methods] for cell in group])
        mean = dict(zip(methods, table.mean(0), strict=True))
        raw = methods[0]
        ours = raw.replace("kernel", "K2AE")  # the same head
        change = table[:, methods.index(ours)] - table[:, 0]
        verdict = "one part, no verdict"
        if len(change) > 1:
            error = change.std(ddof=1) / len(change) ** 0.5
            clear = abs(change.mean()) > 2.0 * error
            word = "no clear difference" if not clear else "above" if change.mean() > 0 else "below"
            verdict = f"+- {error:.3f}, {word}"
        shown = ", ".join(f"{method} {value:.3f}" for method, value in mean.items())
        lines.append(
            f"{name}, {kernel} ({len(group)} parts): {shown}; {ours} minus {raw} {change.mean():+.3f} {verdict}"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what is missing and print the verdicts; returns the finished cells.

    Parameters
    ----------
    arguments : sequence of str, optional
        Of the command line.
    """
    every = [*GRAPHS, *STRINGS, *SERIES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(every), help="default: %(default)s")
    parser.add_argument("--reduced", action="store_true", help="100 items, 2 parts")
    add_cell_options(parser)
    options = parser.parse_args(arguments)
    found: list[dict[str, Any]] = []
    for name in options.sets.split(","):
        if name not in every:
            raise InputError(f"--sets must be of {', '.join(every)}; got {name!r}")
        items, y, parts = load_set(name, reduced=options.reduced)
        for kernel, k in _kernels(name).items():
            plan = [cell for cell in cells(name, reduced=options.reduced) if cell["kernel"] == kernel]
            cache: list[np.ndarray] = []

            def work(
                cell: dict[str, Any], k: Kernel = k, items: Any = items, cache: list[Any] = cache, **data: Any
            ) -> Any:
                if not cache:  # only if a cell is missing
                    cache.append(k(items))
                return run_cell(cell, cache[0], **data)

            print(f"{name}, {kernel}: ", end="")
            job = partial(work, k=k, items=items, cache=cache, y=y, parts=parts)
            found += run_cells(plan, job, path=options.cells, minutes=options.minutes, seconds=20.0)
    lines = verdicts(found)
    for line in lines:
        print(f"  {line}")
    return {"cells": found, "verdicts": lines}


if __name__ == "__main__":
    run_script(main)
