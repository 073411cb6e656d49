"""Which kernel of time series and of graphs: the default of ``rkhs fit``, the others, and choices among them.

Half of the items train: codes of five components without labels (kernel PCA), then three nearest neighbours, and a
support vector machine on the kernel. Printed: the mean of the two accuracies on the other half, over random halves.
``before`` is the default before the rule of :func:`rkhs.kernels.kernels_for`. ``by classes`` is
:func:`rkhs.selection.choose_kernel` on the training half. ``by stability`` takes the kernel whose leading axes agree
most between two parts of the training half, without classes. The rule was made on the sets of ``--development`` (the
default) and is scored on those of ``--scored``.

Run: RKHS_DATA=... ./dev bench object_kernels [--scored] [--splits 10]
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from rkhs import KernelPCA
from rkhs.data import read_items
from rkhs.kernels import GlobalAlignment, Kernel, ShiftInvariant, WeisfeilerLehman, kernels_for
from rkhs.selection import choose_kernel
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

Items = tuple[list[Any], np.ndarray]
COMPONENTS, NEIGHBOURS, COST, MOST = 5, 3, 10.0, 400


def some(items: Sequence[Any], y: Sequence[Any] | np.ndarray, most: int = MOST) -> Items:
    """At most so many items, and their classes as texts."""
    rows = np.sort(np.random.default_rng(0).permutation(len(items))[:most])
    return [items[i] for i in rows], np.asarray(y).astype(str)[rows]


def series_of(folder: Path, name: str) -> Items:
    """A set of the archive of series, both parts."""
    data = np.load(folder / f"ts_{name}" / f"{name}.npz")
    items = [item.T for part in ("X_train", "X_test") for item in data[part]]  # channels come first
    return some(items, np.concatenate([data["y_train"], data["y_test"]]))


def graphs_of(folder: Path, name: str) -> Items:
    """A set of the archive of graphs."""
    found = read_items(folder / f"graphs_{name}" / "graphs.npz")
    return some(list(found.X), np.asarray(found.classes))


def growth(folder: Path) -> Items:
    """Heights of boys and girls."""
    data = np.load(folder / "fda_growth" / "growth.npz")
    return some(data["X"], data["sex"])


def weather(folder: Path, *names: str) -> Items:
    """Every fifth day of a year at 35 stations; the class is the region."""
    data = np.load(folder / "fda_canadian_weather" / "canadian_weather.npz")
    return some(np.stack([data[name][:, ::5] for name in names], 2), data["region"])


def parts(channels: np.ndarray, size: int, count: int, jitter: int) -> Items:
    """Pieces of recordings (n, length, channels) from about the same places; the class is the place."""
    rng, pieces, y = np.random.default_rng(0), [], []
    starts = np.linspace(jitter, channels.shape[1] - size - jitter, count).astype(int)
    for recording in channels:
        for place, start in enumerate(starts):
            first = start + rng.integers(-jitter, jitter + 1)
            pieces.append(recording[first : first + size])
            y.append(place)
    return some(pieces, y)


def lips(folder: Path) -> Items:
    """Which part of an utterance: muscle and lip."""
    data = np.load(folder / "emg_lip" / "emg_lip.npz")
    return parts(np.stack([data["emg"], data["lip"]], 2)[:, ::4], 30, 5, 6)


def gait(folder: Path) -> Items:
    """Which part of a step: hip and knee."""
    data = np.load(folder / "fda_gait" / "gait.npz")
    step = np.stack([data["hip"], data["knee"]], 2)
    return parts(np.concatenate([step, step], 1), 12, 5, 2)


def columns_of_images(images: np.ndarray, y: np.ndarray) -> Items:
    """The columns of an image from left to right."""
    return some(images.transpose(0, 2, 1), y)


def letters(folder: Path, name: str) -> Items:
    """DNA, a channel for each letter."""
    with open(folder / name / f"{name}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return some(
        [np.array([[at == base for base in "ACGT"] for at in row["sequence"].upper()], float) for row in rows],
        [row["class"] for row in rows],
        300,
    )


def molecules(folder: Path, name: str, column: str) -> Items:
    """Molecules as graphs of atoms; numbers become two classes at their median."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    graphs, values = [], []
    with open(folder / name / "data.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            molecule = Chem.MolFromSmiles(row["smiles"])
            if molecule is not None and molecule.GetNumAtoms() > 1:
                bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
                graphs.append((np.array(bonds).reshape(-1, 2), [atom.GetAtomicNum() for atom in molecule.GetAtoms()]))
                values.append(float(row[column]))
    middle = np.median(values) if len(set(values)) > 2 else 0.5
    return some(graphs, np.array(values) > middle)


def random_graphs(_: Path) -> Items:
    """Four laws of graphs of 30 to 80 nodes."""
    rng, graphs, y = np.random.default_rng(0), [], []
    for i in range(200):
        n, seed = int(rng.integers(30, 80)), int(rng.integers(10**9))
        made = (
            lambda n=n, seed=seed: nx.gnm_random_graph(n, 2 * n, seed),
            lambda n=n, seed=seed: nx.barabasi_albert_graph(n, 2, seed),
            lambda n=n, seed=seed: nx.watts_strogatz_graph(n, 4, 0.1, seed),
            lambda n=n, seed=seed: nx.random_geometric_graph(n, (1.4 / n) ** 0.5, seed=seed),
        )[i % 4]()
        graphs.append((np.array(made.edges).reshape(-1, 2), n))
        y.append(i % 4)
    return some(graphs, y)


def groups(_: Path) -> Items:
    """One person and few or many dense groups around it."""
    rng, graphs, y = np.random.default_rng(0), [], []
    for i in range(200):
        edges, nodes = set(), 1
        for _ in range(int(rng.integers(1, 4)) + (int(rng.integers(0, 4)) if i % 2 else 0)):
            members = range(nodes, nodes + int(rng.integers(3, 14)))
            edges |= {(a, b) for a in members for b in members if a < b and rng.random() < 0.9}
            edges |= {(0, a) for a in members}
            nodes = members.stop
        graphs.append((np.array(sorted(edges)), nodes))
        y.append(i % 2)
    return some(graphs, y)


def sets(scored: bool) -> dict[str, dict[str, Callable[[Path], Items]]]:
    """Functions that read the sets, by kind and name."""
    if scored:
        return {
            "series, one channel": {"arrowhead": partial(series_of, name="arrowhead")},
            "series, several channels": {"basicmotions": partial(series_of, name="basicmotions")},
            "graphs": {name: partial(graphs_of, name=name) for name in ("imdbbinary", "nci1")},
        }
    digits = load_digits(return_X_y=True)
    return {
        "series, one channel": {
            **{name: partial(series_of, name=name) for name in ("gunpoint", "coffee", "italypowerdemand")},
            "growth": growth,
            "temperature": lambda folder: weather(folder, "temp"),
        },
        "series, several channels": {
            "weather": lambda folder: weather(folder, "temp", "log10precip"),
            "lips": lips,
            "gait": gait,
            "digits": lambda _: columns_of_images(digits[0].reshape(-1, 8, 8), digits[1]),
            "promoters": lambda folder: letters(folder, "promoters"),
            "splice": lambda folder: letters(folder, "splice"),
        },
        "graphs": {
            **{name: partial(graphs_of, name=name) for name in ("mutag", "ptc")},
            "bbbp": lambda folder: molecules(folder, "bbbp", "p_np"),
            "lipophilicity": lambda folder: molecules(folder, "lipophilicity", "logD"),
            "esol": lambda folder: molecules(folder, "esol", "log_solubility"),
            "random graphs": random_graphs,
            "groups": groups,
        },
    }


def before(kind: str, items: list[Any]) -> Kernel:
    """The default that was."""
    if kind == "graphs":
        return WeisfeilerLehman()
    return ShiftInvariant() if len({len(item) for item in items}) == 1 else GlobalAlignment()


def accuracy(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Mean of the two protocols."""
    inside, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    model = KernelPCA(COMPONENTS, kernel="precomputed").fit(inside)
    near = KNeighborsClassifier(NEIGHBOURS).fit(model.codes_, y[train]).score(model.transform(new), y[test])
    machine = SVC(kernel="precomputed", C=COST).fit(inside, y[train]).score(new, y[test])
    return float(near + machine) / 2.0


def stability(K: np.ndarray, rng: np.random.Generator) -> float:
    """Centred alignment of the codes of a third of the items by the kernel PCAs of the two other thirds."""
    found = []
    for _ in range(5):
        first, second, third = np.array_split(rng.permutation(len(K)), 3)
        codes = []
        for rows in (first, second):
            model = KernelPCA(COMPONENTS, kernel="precomputed").fit(K[np.ix_(rows, rows)])
            Z = model.transform(K[np.ix_(third, rows)])
            codes.append(Z - Z.mean(0))
        A, B = codes
        found.append(np.linalg.norm(A.T @ B) ** 2 / (np.linalg.norm(A.T @ A) * np.linalg.norm(B.T @ B)))
    return float(np.mean(found))


def one_set(kind: Any, items: list[Any], y: np.ndarray, splits: int) -> tuple[list[str], np.ndarray]:
    """Names of what is compared, and accuracies of shape (splits, names)."""
    kernels = kernels_for(kind, items)
    grams = [np.asarray(kernel(kernel.read(items))) for kernel in kernels]
    names = [repr(kernel).replace("Sum(terms=", "sum") for kernel in kernels]
    old, rng, table = list(kernels).index(before(kind, items)), np.random.default_rng(0), []
    for _ in range(splits):
        order = rng.permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        scores = [accuracy(K, y, train, test) for K in grams]
        inside = [K[np.ix_(train, train)] for K in grams]
        errors = [choose_kernel(K, y[train], ["precomputed"]).errors[0] for K in inside]
        steady = [stability(K, rng) for K in inside]
        found = [scores[old], scores[0], scores[int(np.argmin(errors))], scores[int(np.argmax(steady))]]
        table.append([*found, *scores])
    return ["before", "default", "by classes", "by stability", *names], np.array(table)


def main() -> None:
    options = bench_arguments(__doc__, scored=False, splits=10)
    warnings.simplefilter("ignore", UserWarning)  # negative eigenvalues of dynamic time warping
    for kind, readers in sets(options.scored).items():
        means = []
        for name, read in readers.items():
            items, y = read(data_folder())
            names, table = one_set(kind.partition(",")[0], items, y, options.splits)
            change = table[:, 1] - table[:, 0]
            spread = change.std(ddof=1) / len(change) ** 0.5
            shown = ", ".join(f"{one} {value:.3f}" for one, value in zip(names, table.mean(0), strict=True))
            print(f"{kind}, {name} ({len(y)}): {shown}; default minus before {change.mean():+.3f} +- {spread:.3f}")
            means.append(table.mean(0))
        shown = ", ".join(f"{one} {value:.3f}" for one, value in zip(names, np.mean(means, axis=0), strict=True))
        print(f"{kind}, mean of {len(means)} sets: {shown}\n", flush=True)


if __name__ == "__main__":
    run_script(main)
