"""Classes of graphs by the ten-fold protocol of the TU archive, beside what networks for graphs publish.

Run: RKHS_DATA=... ./dev bench graphs [--sets mutag ptc imdbbinary nci1] [--repeats 10] [--results FILE]. Ten random
stratified parts, each left out once; that, ``--repeats`` times (``nci1`` with 4,110 graphs once). Everything is chosen
on nine parts: the depth of the Weisfeiler-Lehman kernels (1 to 5) and the regulariser by the leave-one-out error of a
ridge machine of one column per class, weights of kernels by their alignment with the classes. The largest column is the
answer. Printed: mean accuracy over the repeats and their standard deviation, as in the literature, and seconds of
processor of one fold.

``wl`` are products of counts, ``assignment`` their minima. ``mean`` is the plain mean of both at depths 1, 3 and 5 and
of shortest paths, ``weighted`` has weights by alignment, ``half`` is half of each. ``svm`` is a support vector machine
of scikit-learn on the kernel of ``assignment``, its cost (1e-3 to 1e3) chosen by five folds of the training graphs.

Published, by the same ten folds: GIN of Xu et al. (2019), table 1, and DGCNN of Zhang et al. (2018), whose epoch is
chosen on the scored folds; WWL of Togninalli et al. (2019), table 1, a kernel with a machine chosen inside. Each result
goes to the file as soon as it is there, and is not computed again.
"""

from __future__ import annotations

import csv
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from rkhs import OperatorKernelRegressor
from rkhs.data import read_items
from rkhs.kernels import ShortestPath, WeisfeilerLehman
from studies.harness.alignment import alignment_weights
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

DEPTHS = (1, 2, 3, 4, 5)
MODELS = ("wl", "assignment", "mean", "weighted", "half", "svm")
PUBLISHED = {
    "GIN": {"mutag": "89.4 +- 5.6", "ptc": "64.6 +- 7.0", "imdbbinary": "75.1 +- 5.1", "nci1": "82.7 +- 1.7"},
    "DGCNN": {"mutag": "85.8", "ptc": "58.6", "nci1": "74.4"},
    "WWL": {"mutag": "87.3 +- 1.5", "ptc": "66.3 +- 1.2", "nci1": "85.8 +- 0.3"},
}
FIELDS = ("set", "repeat", "fold", *MODELS, "seconds")


def grams_of(graphs: list) -> dict[str, np.ndarray]:
    """Gram matrices of all graphs by the name of the kernel; no class is used."""
    named = {"paths": ShortestPath()}
    for depth in DEPTHS:
        named[f"wl {depth}"] = WeisfeilerLehman(depth)
        named[f"assignment {depth}"] = WeisfeilerLehman(depth, optimal_assignment=True)
    return {name: np.asarray(kernel(graphs)) for name, kernel in named.items()}


def machine(K: np.ndarray, y: np.ndarray, train: np.ndarray) -> OperatorKernelRegressor:
    """A ridge machine of the classes; its regulariser is chosen by leave-one-out errors."""
    targets = (y[train, None] == np.unique(y)).astype(float)
    return OperatorKernelRegressor("precomputed", reg="auto").fit(K[np.ix_(train, train)], targets)


def by_ridge(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    found = machine(K, y, train).predict(K[np.ix_(test, train)]).argmax(1)
    return float(np.mean(np.unique(y)[found] == y[test]))


def by_svm(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": 10.0 ** np.arange(-3, 4)}, cv=5)
    return float(search.fit(K[np.ix_(train, train)], y[train]).score(K[np.ix_(test, train)], y[test]))


def one_fold(grams: dict[str, np.ndarray], y: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[float]:
    """Accuracies of all models."""
    chosen = []
    for kind in ("wl", "assignment"):
        errors = [machine(grams[f"{kind} {depth}"], y, train).leave_one_out_error_ for depth in DEPTHS]
        chosen.append(grams[f"{kind} {DEPTHS[int(np.argmin(errors))]}"])
    several = [grams["paths"], *(grams[f"{kind} {depth}"] for kind in ("wl", "assignment") for depth in (1, 3, 5))]
    w = alignment_weights([K[np.ix_(train, train)] for K in several], y[train])
    mean = np.full(len(several), 1.0 / len(several))
    sums = [sum(a * K for a, K in zip(v, several, strict=True)) for v in (mean, w / w.sum(), (mean + w / w.sum()) / 2)]
    return [*(by_ridge(K, y, train, test) for K in (*chosen, *sums)), by_svm(chosen[1], y, train, test)]


def measure(name: str, repeats: int, path: Path) -> np.ndarray:
    """Rows of the file of one set; those that it lacks are computed."""
    found: dict[tuple[str, str, str], list[str]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as handle:
            found = {(row[0], row[1], row[2]): row[3:] for row in csv.reader(handle) if row[0] != "set"}
    data = read_items(data_folder() / f"graphs_{name}" / "graphs.npz")
    y, grams = np.asarray(data.classes), {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for repeat in range(repeats):
        folds = StratifiedKFold(10, shuffle=True, random_state=repeat).split(y, y)
        for fold, (train, test) in enumerate(folds):
            key = (name, str(repeat), str(fold))
            if key in found:
                continue
            grams = grams or grams_of(list(data.X))
            started = time.process_time()
            row = [*one_fold(grams, y, train, test), time.process_time() - started]
            found[key] = [f"{value:.4f}" for value in row]
            with path.open("a", encoding="utf-8", newline="") as handle:
                csv.writer(handle).writerows(([FIELDS] if not handle.tell() else []) + [[*key, *found[key]]])
    rows = [[float(cell) for cell in found[name, str(r), str(f)]] for r in range(repeats) for f in range(10)]
    return np.array(rows).reshape(repeats, 10, -1)


def main() -> None:
    options = bench_arguments(
        __doc__,
        sets=["mutag", "ptc", "imdbbinary", "nci1"],
        repeats=10,
        results={"type": Path, "default": Path("build/graphs.csv")},
    )
    warnings.simplefilter("ignore")
    print("set".ljust(12) + "".join(f"{name:>14}" for name in (*MODELS, *PUBLISHED, "seconds")))
    for name in options.sets:
        table = measure(name, 1 if name == "nci1" else options.repeats, options.results)
        means = 100.0 * table[:, :, :-1].mean(1)
        spread = 100.0 * table[0, :, :-1].std(0, ddof=1) if len(table) == 1 else means.std(0, ddof=1)
        cells = [f"{m:.1f} +- {s:.1f}" for m, s in zip(means.mean(0), spread, strict=True)]
        cells += [numbers.get(name, "") for numbers in PUBLISHED.values()] + [f"{table[..., -1].mean():.1f}"]
        print(name.ljust(12) + "".join(f"{cell:>14}" for cell in cells), flush=True)
    print("+- is the standard deviation of the repeats; of one repeat, and of GIN, that of its folds")


if __name__ == "__main__":
    run_script(main)
