"""Maps of new rows: KernelMap beside t-SNE, UMAP, PaCMAP and an autoencoder of two components.

Development sets; 70 % of the rows for the fit, at most ``--rows``, at most 600 others new, three splits. Tables are
standardised by their training part. Strings and graphs are compared by a kernel of theirs; peers get vectors with the
same distances. Peers come with their own ``transform``: openTSNE as it comes (perplexity 5 for new
rows) and with 30, umap-learn, PaCMAP; those that are not installed are left out. Fingerprints of molecules: Tanimoto
kernel, and Jaccard distances for the peers that take them.

For each set and method, means over the splits, of new rows: share of their ten nearest training rows that the map keeps
(recall), trustworthiness and continuity with ten neighbours, accuracy of five neighbours, rank correlation of all
distances to training rows; recall of the rows of the fit; share of the variance of new rows that the way back loses;
seconds of the processor. Then all sets together. ``--speed`` times fit and 500 new rows of a drawn set in its place.
``--development`` takes other sets, on which constants are chosen; ``--confirmation`` nine tables that chose nothing;
``--power`` is that of the loss of the decoder in the
weight of what it loses of a new row.

Run: RKHS_DATA=... ./dev bench maps [--rows 1500] [--splits 3] [--only wine,digits] [--speed 1000,3000,10000]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder, KernelMap
from rkhs.data import read_items
from rkhs.estimators.maps import decoder
from rkhs.kernels import Spectrum, WeisfeilerLehman
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

NEAR = 10
COLUMNS = ("recall", "trust", "contin", "acc 5", "corr", "recall fit", "lost", "seconds")


class Set(NamedTuple):
    """Rows, their classes, and how distances are measured."""

    X: np.ndarray
    y: np.ndarray
    kind: str  # "table" is standardised; "bits" are fingerprints; others as they are
    items: list[Any] | None = None  # objects, whose distances the rows of ``X`` have
    kernel: Any = "auto"

    def part(self, rows: np.ndarray) -> Set:
        """Some of the rows."""
        items = None if self.items is None else [self.items[i] for i in rows]
        return self._replace(X=self.X[rows], y=self.y[rows], items=items)


def read_labelled(path: Path, columns: int) -> Set:
    """A table whose last column is the class."""
    X = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(columns))
    y = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=[columns], dtype=str)
    return Set(X, y, "table")


def images(path: Path) -> Set:
    """Rows of pixels between 0 and 1."""
    stored = np.load(path)
    X = next(stored[name] for name in stored.files if stored[name].ndim >= 2)
    y = stored["y"] if "y" in stored.files else stored["factors"][:, 0]
    X = X.reshape(len(X), -1).astype(float)
    return Set(X / X.max(), y, "images")


def curves() -> Set:
    """Cylinder, bell and funnel, as Saito (1994) drew them: 128 times, 600 curves."""
    rng, t = np.random.default_rng(0), np.arange(128.0)
    X, y = np.zeros((600, 128)), np.arange(600) % 3
    for row, kind in zip(X, y, strict=True):
        first = rng.uniform(16, 32)
        last = first + rng.uniform(32, 96)
        inside = (t >= first) & (t <= last)
        shape = (np.ones(128), (t - first) / (last - first), (last - t) / (last - first))[kind]
        row[:] = (6.0 + rng.normal()) * inside * shape + rng.normal(size=128)
    return Set(X, y, "curves")


def objects(items: list[Any], y: np.ndarray, kernel: Any) -> Set:
    """Objects, and vectors with their distances, from the eigenvectors of their Gram matrix."""
    values, vectors = np.linalg.eigh(np.asarray(kernel(items)))
    positive = values > 1e-10 * values[-1]
    return Set(vectors[:, positive] * np.sqrt(values[positive]), y, "objects", items, kernel)


def strings(path: Path, most: int) -> Set:
    """Sequences with their classes."""
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    chosen = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))[:most]]
    return objects([line[0] for line in chosen], np.array([line[1] for line in chosen]), Spectrum(4))


def graphs(path: Path) -> Set:
    """Graphs with their classes."""
    found = read_items(path)
    return objects(list(found.X), np.asarray(found.classes), WeisfeilerLehman())


def sets(folder: Path) -> dict[str, Set]:
    """The development sets."""
    uci, (wine, cancer, digits) = folder / "uci_small", (load_wine(), load_breast_cancer(), load_digits())
    bits = np.unpackbits(np.load(folder / "bbbp" / "fingerprints.npz")["morgan"], axis=1)
    lines = (folder / "bbbp" / "data.csv").read_text().splitlines()[1:]
    return {
        "wine": Set(wine.data, wine.target, "table"),
        "glass": read_labelled(uci / "glass.csv", 9),
        "wheat": read_labelled(uci / "wheat_seeds.csv", 7),
        "cancer": Set(cancer.data, cancer.target, "table"),
        "satellite": read_labelled(uci / "satellite.csv", 36),
        "digits": Set(digits.data / 16.0, digits.target, "images"),
        "coil20": images(folder / "coil20" / "coil20.npz"),
        "mnist": images(folder / "mnist10k" / "mnist10k.npz"),
        "curves": curves(),
        "bbbp": Set(bits.astype(float), np.array([line[-1] for line in lines]), "bits", None, "tanimoto"),
        "splice": strings(folder / "splice" / "splice.csv", 1500),
        "mutag": graphs(folder / "graphs_mutag" / "graphs.npz"),
    }


def tables(folder: Path, names: tuple[str, ...]) -> dict[str, Set]:
    """Tables of ADBench, without repeated rows."""
    found = {}
    for name in names:
        stored = np.load(folder / "adbench" / f"{name}.npz")
        X, first = np.unique(stored["X"].astype(float), axis=0, return_index=True)
        found[name] = Set(X, stored["y"][first], "table")
    return found


def confirmation(folder: Path) -> dict[str, Set]:
    """Sets on which no constant was chosen; each is named once."""
    names = ("fault", "PageBlocks", "SpamBase", "Ionosphere", "vertebral", "letter", "WPBC", "Wilt")
    scene = np.load(folder / "ml_scene" / "scene.npz")["X"].astype(float)
    return {"scene": Set(scene, np.zeros(len(scene)), "table"), **tables(folder, names)}


def development(folder: Path) -> dict[str, Set]:
    """Sets on which constants are chosen, and which score nothing."""
    iris, diabetes = load_iris(), load_diabetes()
    found = tables(folder, ("Stamps", "Pima", "vowels", "cardio", "Waveform", "Hepatitis", "WBC", "yeast"))
    phoneme = np.load(folder / "fda_phoneme" / "phoneme.npz")
    sounds = phoneme["X_train"].astype(float)
    music = np.load(folder / "ml_emotions" / "emotions.npz")["X"].astype(float)
    return {
        "iris": Set(iris.data, iris.target, "table"),
        "diabetes": Set(diabetes.data, np.zeros(len(diabetes.data)), "table"),
        "sonar": read_labelled(folder / "uci_small" / "sonar.csv", 60),
        "phoneme": Set(sounds / sounds.std(), phoneme["y_train"], "curves"),
        "emotions": Set(music, np.zeros(len(music)), "table"),
        **found,
    }


class Made(NamedTuple):
    """A map: places of the rows of the fit and of new rows, and new rows rebuilt."""

    codes: np.ndarray
    places: np.ndarray
    rebuilt: np.ndarray | None = None


def ours(part: Set, new: Set) -> Made:
    """``KernelMap`` as it comes."""
    train, other = (one.X if one.items is None else one.items for one in (part, new))
    model = KernelMap(kernel=part.kernel).fit(train)
    places = model.transform(other)
    return Made(model.codes_, places, model.inverse_transform(places) if part.kernel == "auto" else None)


def autoencoder(part: Set, new: Set) -> Made | None:
    """Two components as they come."""
    if part.kernel != "auto":
        return None
    model = KernelAutoencoder(2, random_state=0).fit(part.X)
    places = model.transform(new.X)
    return Made(model.codes_, places, model.inverse_transform(places))


def tsne(part: Set, new: Set, **options: Any) -> Made:
    """The map of openTSNE, with its transform."""
    from openTSNE import TSNE

    bits = part.kind == "bits"
    train, other = (one.X > 0 if bits else one.X for one in (part, new))
    found = TSNE(n_jobs=1, random_state=0, metric="jaccard" if bits else "euclidean").fit(train)
    return Made(np.asarray(found), np.asarray(found.transform(other, **options)))


def umap(part: Set, new: Set) -> Made:
    """The map of umap-learn."""
    from umap import UMAP

    model = UMAP(random_state=0, n_jobs=1, metric="jaccard" if part.kind == "bits" else "euclidean").fit(part.X)
    return Made(model.embedding_, model.transform(new.X))


def pacmap(part: Set, new: Set) -> Made | None:
    """The map of PaCMAP."""
    if part.kind == "bits":
        return None
    from pacmap import PaCMAP

    model = PaCMAP(random_state=0)
    train, other = (one.X.astype(np.float32) for one in (part, new))
    codes = model.fit_transform(train)
    return Made(codes, model.transform(other, basis=train))


METHODS: dict[str, Callable[..., Made | None]] = {
    "KernelMap": ours,
    "autoencoder": autoencoder,
    "t-SNE": tsne,
    "t-SNE 30": lambda *parts: tsne(*parts, perplexity=30),
    "UMAP": umap,
    "PaCMAP": pacmap,
}
NEEDS = {"t-SNE": "openTSNE", "t-SNE 30": "openTSNE", "UMAP": "umap", "PaCMAP": "pacmap"}


def installed(wanted: str = "") -> dict[str, Callable[..., Made | None]]:
    """Methods whose package is there; all or some of them."""
    there = {name: run for name, run in METHODS.items() if find_spec(NEEDS.get(name, "rkhs")) is not None}
    return {name: run for name, run in there.items() if not wanted or name in wanted.split(",")}


def ranks(D: np.ndarray) -> np.ndarray:
    """Place of each column among those of its row, the nearest first, from 0."""
    return D.argsort(1, kind="stable").argsort(1, kind="stable")


def measure(part: Set, new: Set, made: Made) -> list[float]:
    """The columns but for the seconds."""
    metric = "jaccard" if part.kind == "bits" else "sqeuclidean"
    D = cdist(new.X > 0, part.X > 0, metric) if part.kind == "bits" else cdist(new.X, part.X, metric)
    E = cdist(made.places, made.codes)
    high, low, n = ranks(D), ranks(E), len(part.X)
    near, mapped = high < NEAR, low < NEAR
    unit = 2.0 / (len(D) * NEAR * (2 * n - 3 * NEAR - 1))
    some = np.random.default_rng(0).integers(0, D.size, 200_000)
    five = KNeighborsClassifier(5).fit(made.codes, part.y)
    F = cdist(part.X > 0, part.X > 0, metric) if part.kind == "bits" else cdist(part.X, part.X, metric)
    G = cdist(made.codes, made.codes)
    for square in (F, G):
        np.fill_diagonal(square, np.inf)
    lost = float("nan")
    if made.rebuilt is not None:
        lost = float(((made.rebuilt - new.X) ** 2).sum() / ((new.X - part.X.mean(0)) ** 2).sum())
    return [
        float((near & mapped).sum() / (len(D) * NEAR)),
        float(1.0 - unit * ((high - NEAR + 1) * (mapped & ~near)).sum()),
        float(1.0 - unit * ((low - NEAR + 1) * (near & ~mapped)).sum()),
        float((five.predict(made.places) == new.y).mean()),
        float(spearmanr(D.ravel()[some], E.ravel()[some])[0]),
        float(((ranks(F) < NEAR) & (ranks(G) < NEAR)).sum() / (n * NEAR)),
        lost,
    ]


def split(data: Set, seed: int, most: int) -> tuple[Set, Set]:
    """Rows of the fit and new rows."""
    order = np.random.default_rng(seed).permutation(len(data.X))
    cut = min(most, int(0.7 * len(data.X)))
    train, new = data.part(order[:cut]), data.part(order[cut : cut + 600])
    if data.kind != "table":
        return train, new
    mean, spread = train.X.mean(0), train.X.std(0)
    scale = np.where(spread > 0.0, spread, 1.0)
    return train._replace(X=(train.X - mean) / scale), new._replace(X=(new.X - mean) / scale)


def row(name: str, method: str, found: np.ndarray) -> str:
    """A line of the table: means, and half the range of the recall."""
    means = " ".join("     -    " if np.isnan(value) else f"{value:10.3f}" for value in found.mean(0))
    return f"{name:10s} {method:12s} {means}  +- {np.ptp(found[:, 0]) / 2:.3f}"


def compare(chosen: dict[str, Set], methods: dict[str, Callable[..., Made | None]], count: int, most: int) -> None:
    """Print the table."""
    print(f"{'set':10s} {'method':12s} " + " ".join(f"{column:>10s}" for column in COLUMNS))
    means: dict[str, list[np.ndarray]] = {}
    for name, data in chosen.items():
        for method, run in methods.items():
            found = []
            for seed in range(count):
                train, new = split(data, seed, most)
                start = time.process_time()
                made = run(train, new)
                if made is not None:
                    found.append([*measure(train, new, made), time.process_time() - start])
            if found:
                print(row(name, method, np.array(found)), flush=True)
                means.setdefault(method, []).append(np.array(found).mean(0))
    for method, lines in means.items():
        several = np.array(lines)
        print(row(f"all {len(several)}", method, np.array([np.nanmean(several, 0)])), flush=True)


def speed(sizes: list[int], methods: dict[str, Callable[..., Made | None]]) -> None:
    """Print seconds of the processor for the fit and 500 new rows."""
    for n in sizes:
        rng = np.random.default_rng(0)
        X = 2.0 * rng.normal(size=(40, 50))[rng.integers(0, 40, n + 500)]
        X += rng.normal(size=X.shape) @ (rng.normal(size=(50, 50)) * np.exp(-np.arange(50) / 10.0))
        parts = Set(X[:n], np.zeros(n), "images"), Set(X[n:], np.zeros(500), "images")
        for method in ("KernelMap", "t-SNE", "UMAP", "PaCMAP"):
            if method in methods:
                start = time.process_time()
                methods[method](*parts)
                print(f"{n:7d} rows of 50 columns, {method:10s} {time.process_time() - start:8.1f} s", flush=True)


def main() -> None:
    args = bench_arguments(
        __doc__,
        rows={"type": int, "default": 1500, "help": "for the fit, at most (1500)"},
        splits={"type": int, "default": 3, "help": "of each set (3)"},
        only={"default": "", "help": "sets, separated by commas (all)"},
        methods={"default": "", "help": "methods, separated by commas (those installed)"},
        development=False,
        confirmation=False,
        power=decoder._POWER,
        speed={"default": "", "help": "numbers of rows to time, separated by commas"},
    )
    warnings.simplefilter("ignore")
    methods, rng = installed(args.methods), np.random.default_rng(0)
    for run in methods.values():  # importing and compiling belong to no set
        run(*(Set(rng.normal(size=(count, 3)), np.zeros(count), "images") for count in (60, 5)))
    if args.speed:
        return speed([int(size) for size in args.speed.split(",")], methods)
    source = development if args.development else confirmation if args.confirmation else sets
    everything = source(data_folder())
    chosen = {name: everything[name] for name in args.only.split(",") if name} or everything
    with mock.patch.object(decoder, "_POWER", args.power):
        return compare(chosen, methods, args.splits, args.rows)


if __name__ == "__main__":
    run_script(main)
