"""Few labels: which codes, and which learner on them.

Run: RKHS_DATA=... ./dev bench label_spreading [--rows 400] [--labels 5] [--draws 3]. Codes of ten numbers are made
from all rows without their labels. Some labels per class are known, and the others are predicted, by three nearest
neighbours, by ``SmoothClassifier``, and by label spreading (scikit-learn's, a Gaussian kernel whose width is the median
distance to the seventh neighbour of all rows). Printed is the share of wrong labels, mean and standard error over
draws; then the mean over sets, and on how many sets a pair is best. Nothing was chosen on any of the sets.

Run: RKHS_DATA=... ./dev bench label_spreading --contrastive. When `KernelContrastive` serves: codes of the spectral
loss, with pairs from neighbours (default), from neighbours with a narrow kernel (width of label spreading), from the
known labels (``pairs="class"``), and with known pairs (for each row another one of its class, whose class is not said),
on the nine tables and on three made sets whose classes are connected shapes. Codes are made from one half of the rows,
and the labels of the other half are predicted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from rkhs import KernelAutoencoder, KernelContrastive
from rkhs.evaluation import SmoothClassifier
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

BUNDLED = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
SETS = ("iris", "wine", "cancer", "digits", "glass", "wheat_seeds", "sonar", "breast_cancer_wisconsin", "satellite")


def spirals(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arms that turn once and a half."""
    rng, y = np.random.default_rng(0), np.arange(n) % 2
    turn = 3.0 * np.pi * np.sqrt(rng.uniform(0.05, 1.0, n))
    arms = np.stack([np.cos(turn + np.pi * y), np.sin(turn + np.pi * y)], axis=1)
    return turn[:, None] * arms / 3.0 + 0.08 * rng.normal(size=(n, 2)), y


SHAPES: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "circles": lambda: make_circles(400, factor=0.5, noise=0.05, random_state=0),
    "moons": lambda: make_moons(400, noise=0.08, random_state=0),
    "spirals": lambda: spirals(400),
}


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in SHAPES:
        return SHAPES[name]()
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return np.asarray(X, dtype=float), np.unique(y, return_inverse=True)[1]
    table = np.genfromtxt(data_folder() / "uci_small" / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
    return table[:, :-1].astype(float), np.unique(table[:, -1], return_inverse=True)[1]


CODES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "raw": lambda X, p: X,
    "PCA": lambda X, p: PCA(p).fit_transform(X),
    "autoencoder": lambda X, p: KernelAutoencoder(p).fit(X).codes_,
    "contrastive": lambda X, p: KernelContrastive(p, loss="spectral", random_state=0).fit(X).codes_,
}


def seventh(Z: np.ndarray) -> float:
    """Median distance to the seventh neighbour."""
    return float(np.median(NearestNeighbors(n_neighbors=8).fit(Z).kneighbors(Z)[0][:, 7]))


def spread(Z: np.ndarray, known: np.ndarray, y: np.ndarray) -> np.ndarray:
    width = seventh(Z)
    labels = np.full(len(Z), -1)
    labels[known] = y[known]
    return LabelSpreading(kernel="rbf", gamma=1.0 / (2.0 * width**2), max_iter=200).fit(Z, labels).transduction_


LEARNERS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "neighbours": lambda Z, known, y: KNeighborsClassifier(3).fit(Z[known], y[known]).predict(Z),
    "smooth": lambda Z, known, y: SmoothClassifier().fit(Z[known], y[known]).predict(Z),
    "spreading": spread,
}


def draw(y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the rows whose label is known: some of each class, and at most half of it."""
    rows = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    return np.sort(np.concatenate([part[: max(1, min(count, len(part) // 2))] for part in rows]))


def partners(y: np.ndarray) -> np.ndarray:
    """For each row the number of another one of its class."""
    rng, found = np.random.default_rng(0), np.empty(len(y), dtype=int)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        found[rows] = np.roll(rows, 1)
    return found


def labels_of(y: np.ndarray, known: np.ndarray) -> np.ndarray:
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    return labels


def contrast(**options: object) -> KernelContrastive:
    return KernelContrastive(**{"loss": "spectral", "random_state": 0, **options})


PAIRS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, int], Callable[[np.ndarray], np.ndarray]]] = {
    "raw": lambda X, y, known, p: lambda rows: rows,
    "neighbours": lambda X, y, known, p: contrast(n_components=p).fit(X).transform,
    "narrow": lambda X, y, known, p: contrast(n_components=p, kernel=Gaussian(0.5 / seventh(X) ** 2)).fit(X).transform,
    "known labels": lambda X, y, known, p: (
        contrast(n_components=p, pairs="class").fit(X, labels_of(y, known)).transform
    ),
    "known pairs": lambda X, y, known, p: contrast(n_components=p).fit(X, positives=partners(y)).transform,
}


def compare_pairs(count: int, draws: int, most: int) -> None:
    """Share of wrong labels by where pairs come from, of nearest neighbours and of the smooth learner."""
    pairs = [(kind, learner) for kind in PAIRS for learner in ("neighbours", "smooth")]
    found: dict[str, list[list[float]]] = {"tables": [], "shapes": []}
    for name in (*SETS, *SHAPES):
        X, y = read(name)
        rows = np.random.default_rng(0).permutation(len(X))[:most]
        X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
        X = X if name == "digits" or name in SHAPES else StandardScaler().fit_transform(X)
        errors: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(X))
            half, hidden = order[: len(X) // 2], order[len(X) // 2 :]
            known = draw(y[half], count, rng)
            for kind, make in PAIRS.items():
                coder = make(X[half], y[half], known, min(10, X.shape[1]))
                codes, new = coder(X[half][known]), coder(X[hidden])
                heads = {"neighbours": KNeighborsClassifier(3), "smooth": SmoothClassifier()}
                for learner, head in heads.items():
                    said = head.fit(codes, y[half][known]).predict(new)
                    errors[kind, learner].append(float(np.mean(said != y[hidden])))
        means = [float(np.mean(errors[pair])) for pair in pairs]
        found["shapes" if name in SHAPES else "tables"].append(means)
        cells = "  ".join(f"{kind}, {how} {mean:.3f}" for (kind, how), mean in zip(pairs, means, strict=True))
        print(f"{name:24}{cells}", flush=True)
    for group, values in found.items():
        table = np.array(values)
        change = table - table[:, [pairs.index(("raw", "smooth"))]]
        errors_of = change.std(0, ddof=1) / len(table) ** 0.5
        for (kind, learner), mean, less, error in zip(pairs, table.mean(0), change.mean(0), errors_of, strict=True):
            print(f"{group:8}{kind:14}{learner:12}{mean:.3f}, less raw smooth {less:+.3f} ± {error:.3f}")


def main() -> None:
    arguments = bench_arguments(__doc__, rows=400, labels=5, draws=3, contrastive=False)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if arguments.contrastive:
        compare_pairs(arguments.labels, arguments.draws, arguments.rows)
        return
    pairs = [(codes, learner) for codes in CODES for learner in LEARNERS]
    wrong: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for name in SETS:
        X, y = read(name)
        rows = np.random.default_rng(0).permutation(len(X))[: arguments.rows]
        X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
        X = X if name == "digits" else StandardScaler().fit_transform(X)
        made = {codes: make(X, min(10, X.shape[1])) for codes, make in CODES.items()}
        draws = [draw(y, arguments.labels, np.random.default_rng(seed)) for seed in range(arguments.draws)]
        for codes, learner in pairs:
            found = []
            for known in draws:
                hidden = np.setdiff1d(np.arange(len(y)), known)
                found.append(float(np.mean(LEARNERS[learner](made[codes], known, y)[hidden] != y[hidden])))
            wrong[codes, learner].append(float(np.mean(found)))
            error = np.std(found, ddof=1) / len(found) ** 0.5
            print(f"{name:24}{codes:12} {learner:10} {np.mean(found):.3f} ± {error:.3f}", flush=True)
    table = np.array([wrong[pair] for pair in pairs])
    best = np.isclose(table, table.min(0))
    against = table[pairs.index(("raw", "neighbours"))]
    for pair, row, wins in zip(pairs, table, best, strict=True):
        change = row - against
        spread_of = change.std(ddof=1) / len(change) ** 0.5
        print(
            f"mean of {len(row)} sets: {pair[0]:12} {pair[1]:10} {row.mean():.3f}, less raw neighbours "
            f"{change.mean():+.3f} ± {spread_of:.3f}, best on {int(wins.sum())}"
        )


if __name__ == "__main__":
    run_script(main)
