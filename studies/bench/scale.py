"""Error and processor time of the default autoencoder against the number of rows, beside what else one could take.

Run: RKHS_DATA=... ./dev bench scale [--sets mnist] [--rows 500 1000 2000 4000 8000] [--components 10 2] [--seeds 1]
[--models default dense pca nystroem network] [--dense 2000] [--new 2000] [--rates 1e-3] [--features] [--cells FILE]
[--minutes M] [--picture FILE].

Sets: ``mnist`` (10,000 images of 784 columns) and ``dsprites`` (46,080 re-rendered images of 1,024 columns, means of
four pixels each) are those that score; ``satellite``, ``coil20``, ``cifar`` (grey) and
``patches`` (quarters of these, 8,000 rows of 256 columns) are for choosing; ``sines`` are made, any number of rows of
50 columns, and ``stream`` are such rows in a memory-mapped file, which the default reads block by block. Images are
divided by 255, satellite is standardised. A fifth of the rows, at most ``--new``, are held out; the training rows of
one split are nested.

Of molecules (``nci`` for choosing; ``lipophilicity``, ``esol``, ``bbbp`` and ``massbank`` score) the features of the
Tanimoto kernel on fingerprints are rebuilt; with ``--features`` those of ``Gaussian()`` on the other sets. Errors are
then those of features, and only the models of the library are there.

Models: ``default`` is ``KernelAutoencoder(p)``, ``dense`` the same with ``storage="dense"`` (up to ``--dense`` rows),
``landmarks-M`` with M landmarks, ``kernel-M`` with M landmarks and ``linear_part="kernel"``. ``pca`` are principal
components. ``nystroem`` are scikit-learn's Nystroem features with principal components and ridge regression back, its
bandwidth and penalty chosen on held-out rows. ``network`` has 256 and 128 units a side; tanh and ReLU and every rate of
``--rates`` are tried, each for 400,000 / n epochs and at least 60, and the best epoch on held-out rows counts. Its
codes of new rows are refined by L-BFGS, as ours are; the error without that is printed too.

Each fit has a process of its own. Printed, mean and range over the splits: the error of new rows over their variance,
seconds of processor time of the whole fit and of coding 1,000 new rows, the peak of memory above what the data and the
libraries take; for two components and sets with classes also the share of new rows whose class five nearest training
codes know, and the trustworthiness of codes of new rows. Then one table of errors and one of seconds for each set and
number of components. ``--picture`` draws the errors of all cells against rows and against seconds.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem as Features
from sklearn.linear_model import Ridge
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Kernel, Tanimoto
from studies.harness.cells import add_cell_options, run_cells
from studies.harness.figures import new_figure, save_figure
from studies.harness.rows import peak_bytes, sines_file
from studies.harness.scripts import data_folder, run_child, run_script
from studies.networks.network_autoencoder import NetworkAutoencoder

SETS = ("mnist", "dsprites", "satellite", "coil20", "cifar", "patches", "sines", "stream")
MOLECULES = ("nci", "lipophilicity", "esol", "bbbp", "massbank")
MODELS = ("default", "dense", "pca", "nystroem", "network")


def load(name: str, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows and classes of a set; ``n`` rows of one that is made."""
    if name == "sines":
        return _sines(n), None
    if name == "stream":
        return np.load(sines_file(n), mmap_mode="r"), None
    if name not in SETS + MOLECULES:
        raise InputError(f"--sets must be among {', '.join(SETS + MOLECULES)}; got {name!r}")
    folder = data_folder()
    if name in MOLECULES:
        file = {"nci": "nci_cancer", "massbank": "massbank_pos"}.get(name, name)
        stored = np.load(folder / file / "fingerprints.npz", allow_pickle=False)
        return np.unpackbits(stored["bits" if name == "massbank" else "morgan"], axis=1).astype(float), None
    if name == "satellite":
        table = np.genfromtxt(folder / "uci_small" / "satellite.csv", delimiter=",", skip_header=1)[:, :36]
        return (table - table.mean(0)) / table.std(0), None
    if name == "dsprites":
        with np.load(folder / "dsprites" / "dsprites_rerender.npz", allow_pickle=False) as stored:
            bits = stored["bits"][np.random.default_rng(0).permutation(len(stored["bits"]))[:n]]
        images = np.unpackbits(bits, axis=1).reshape(-1, 32, 2, 32, 2)
        return images.mean((2, 4)).reshape(len(images), -1), None
    file = {"mnist": "mnist10k", "coil20": "coil20"}.get(name, "cifar10_train")
    with np.load(folder / file / f"{file}.npz", allow_pickle=False) as stored:
        X = stored["X"]
        y = stored["y"] if "y" in stored.files else None
    if file == "cifar10_train":
        X = X.mean(3)
    if name == "patches":
        X, y = np.concatenate([X[:, i : i + 16, j : j + 16] for i in (0, 16) for j in (0, 16)]), None
    return X.reshape(len(X), -1) / 255.0, y


def _sines(n: int, d: int = 50, p: int = 10) -> np.ndarray:
    """Sines of ten hidden numbers with noise, in blocks of rows."""
    r = np.random.default_rng(0)
    A, b = r.normal(size=(p, 64)) / np.sqrt(p) * 1.5, r.uniform(-np.pi, np.pi, 64)
    C, X = r.normal(size=(64, d)) / 8, np.empty((n, d))
    for start in range(0, n, 50_000):
        block = X[start : start + 50_000]
        block[:] = np.sin(r.normal(size=(len(block), p)) @ A + b) @ C
        block += 0.05 * r.normal(size=block.shape)
    return X / 0.75


class NystroemComponents(BaseEstimator):
    """Principal components of scikit-learn's Nystroem features, and ridge regression from features of codes to rows.

    Bandwidths and penalties are those with the least error of a fifth of the rows.
    """

    def __init__(self, n_components: int, landmarks: int = 500) -> None:
        self.n_components, self.landmarks = n_components, landmarks

    def fit(self, X: np.ndarray) -> NystroemComponents:
        cut, best = len(X) // 5, np.inf
        for wide, back, alpha in product((0.25, 1.0), (0.25, 1.0), (1e-4, 1e-2, 1.0)):
            self._fit(X[cut:], wide, back, alpha)
            error = float(((self.inverse_transform(self.transform(X[:cut])) - X[:cut]) ** 2).sum())
            if error < best:
                best, chosen = error, (wide, back, alpha)
        return self._fit(X, *chosen)

    def _fit(self, X: np.ndarray, wide: float, back: float, alpha: float) -> NystroemComponents:
        m = min(self.landmarks, len(X))
        self.features_ = Features(gamma=wide / _square(X), n_components=m, random_state=0)
        self.components_ = PCA(self.n_components).fit(self.features_.fit_transform(X))
        codes = self.transform(X)
        self.decoder_ = Features(gamma=back / _square(codes), n_components=m, random_state=0)
        self.ridge_ = Ridge(alpha=alpha).fit(self.decoder_.fit_transform(codes), X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.components_.transform(self.features_.transform(X))

    def inverse_transform(self, codes: np.ndarray) -> np.ndarray:
        return self.ridge_.predict(self.decoder_.transform(codes))


def _square(X: np.ndarray) -> float:
    """Twice the median squared distance of some pairs of rows."""
    half = min(len(X) // 2, 500)
    return 2.0 * float(np.median(((X[:half] - X[half : 2 * half]) ** 2).sum(1)))


def refined(network: NetworkAutoencoder, X: np.ndarray) -> np.ndarray:
    """Codes of rows that the decoder of a network rebuilds best, from those of its encoder."""
    goal = torch.as_tensor((X - network.mean_) / network.factor_, dtype=torch.float32)
    codes = torch.as_tensor(network.transform(X), dtype=torch.float32).requires_grad_()
    decoder = network.network_[network._code_layers :]
    solver = torch.optim.LBFGS([codes], max_iter=200, history_size=20, line_search_fn="strong_wolfe")

    def value() -> torch.Tensor:
        solver.zero_grad()
        loss = ((decoder(codes) - goal) ** 2).sum()
        loss.backward()
        return loss

    solver.step(value)
    return codes.detach().numpy().astype(float)


def make(name: str, p: int, n: int, rates: list[float], kernel: Kernel | None = None) -> Any:
    """A model that is not fitted; of features of ``kernel``, or of rows."""
    kind, _, landmarks = name.partition("-")
    features: dict[str, Any] = {} if kernel is None else {"kernel": kernel, "output_kernel": "same"}
    if kind in ("landmarks", "kernel") and landmarks.isdigit():
        linear: Any = "auto" if kind == "landmarks" else "kernel"
        return KernelAutoencoder(p, storage=Nystroem(int(landmarks)), linear_part=linear, **features)
    known: dict[str, Callable[[], Any]] = {
        "default": lambda: KernelAutoencoder(p, **features),
        "dense": lambda: KernelAutoencoder(p, storage="dense", **features),
        "pca": lambda: PCA(p),
        "nystroem": lambda: NystroemComponents(p),
        "network": lambda: NetworkAutoencoder(
            p, (256, 128), learning_rates=tuple(rates), max_epochs=max(60, 400_000 // n)
        ),
    }
    if name not in known:
        raise InputError(f"--models must be among {', '.join(known)}, landmarks-M and kernel-M; got {name!r}")
    return known[name]()


def measure(cell: dict[str, Any]) -> dict[str, Any]:
    """Fit one model, and what new rows say of it."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    n, p = cell["rows"], cell["components"]
    X, y = load(cell["set"], n + cell["new"])
    cut = min(len(X) // 5, cell["new"])
    new: Any = slice(cut)
    rows: Any = slice(cut, cut + n)
    if cell["set"] != "stream":  # its rows are in random order, and a choice of them would be read
        order = np.random.default_rng(cell["seed"]).permutation(len(X))
        new, rows = order[new], order[rows]
    seen, unseen = X[rows], np.asarray(X[new], dtype=np.float64)
    X = X[:0]
    kernel = Tanimoto() if cell["set"] in MOLECULES else Gaussian() if cell.get("features") else None
    model, before, start = make(cell["model"], p, n, cell.get("rates", []), kernel), peak_bytes(), time.process_time()
    model.fit(seen)
    found: dict[str, Any] = {"fit": time.process_time() - start, "peak": peak_bytes() - before, "fitted": len(seen)}
    variance = float(((unseen - seen[:100_000].mean(0)) ** 2).sum(1).mean())

    def share(codes: np.ndarray) -> float:
        if kernel is not None:
            return float(model.reconstruction_error(unseen, codes=codes).mean() / model._target_spread(unseen).mean())
        return float(((unseen - model.inverse_transform(codes)) ** 2).sum(1).mean()) / variance

    start = time.process_time()
    codes = refined(model, unseen) if isinstance(model, NetworkAutoencoder) else model.transform(unseen)
    found |= {"coding": (time.process_time() - start) * 1000.0 / cut, "error": share(codes)}
    if isinstance(model, NetworkAutoencoder):
        found["plain"] = share(model.transform(unseen))
    if isinstance(model, KernelAutoencoder):
        found |= {"reg": list(model.reg_), "storage": repr(getattr(model, "storage_", model.storage))}
    if p == 2 and y is not None:
        known = getattr(model, "codes_", None)
        known = model.transform(seen) if known is None else known
        found["class"] = float(KNeighborsClassifier(5).fit(known, y[rows]).score(codes, y[new]))
        found["trust"] = float(trustworthiness(unseen, codes, n_neighbors=5))
    return found


def shown(values: list[float], digits: int) -> str:
    """Mean and range."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def in_child(cell: dict[str, Any]) -> dict[str, Any]:
    """Measure a cell in a process of its own."""
    done = run_child("studies.bench.scale", json.dumps(cell))
    if done.returncode != 0:
        raise InputError(f"the fit of {cell} failed")
    return dict(json.loads(done.stdout))


def report(cells: list[dict[str, Any]]) -> None:
    """One line for each set, number of components, rows and model, then tables."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in ("set", "components", "rows", "model")), []).append(cell)
    for (name, p, _, model), found in groups.items():
        said = {key: [cell[key] for cell in found if key in cell] for key in found[0]}
        line = f"{name:9s} p={p:2d} n={said['fitted'][0]:6d} {model:15s} error {shown(said['error'], 4)}"
        line += f", {shown(said['fit'], 1)} s, 1,000 codes {shown(said['coding'], 2)} s, {max(said['peak']) >> 20} MiB"
        line += "".join(
            f", {key} {shown(said[key], 3)}" for key in ("plain", "class", "trust") if len(said.get(key, [])) > 0
        )
        print(line + "".join(f", {key} {said[key]}" for key in ("reg", "storage") if key in said))
    for name, p in dict.fromkeys((key[0], key[1]) for key in groups):
        for what, digits in (("error", 3), ("fit", 0)):
            rows = list(dict.fromkeys(n for one, q, n, _ in groups if (one, q) == (name, p)))
            models = list(dict.fromkeys(model for one, q, _, model in groups if (one, q) == (name, p)))
            print(f"\n{name}, {p} components, {'seconds of the fit' if what == 'fit' else what}")
            print(f"| rows | {' | '.join(models)} |\n|{'---|' * (len(models) + 1)}")
            for n in rows:
                each = [groups.get((name, p, n, model), []) for model in models]
                values = [shown([cell[what] for cell in one], digits) if one else "" for one in each]
                print(f"| {n:,} | {' | '.join(values)} |")


_NAMES = {
    "default": "KernelAutoencoder(p)",
    "dense": 'storage="dense"',
    "pca": "PCA",
    "nystroem": "Nystroem and PCA",
    "network": "network, codes refined",
}


def draw(cells: list[dict[str, Any]], path: Path) -> None:
    """Errors against rows and against seconds, one line of axes for each number of components."""
    components = list(dict.fromkeys(cell["components"] for cell in cells))
    models = list(dict.fromkeys(cell["model"] for cell in cells))
    figure, axes = new_figure(2, len(components))
    for line, p in zip(axes, components, strict=True):
        for color, model in enumerate(models):
            found = [cell for cell in cells if (cell["components"], cell["model"]) == (p, model)]
            points = sorted({cell["rows"] for cell in found})
            means = {
                what: [np.mean([cell[what] for cell in found if cell["rows"] == n]) for n in points]
                for what in ("error", "fit")
            }
            for axis, across in zip(line, (points, np.maximum(means["fit"], 0.1)), strict=True):
                axis.plot(across, means["error"], "o-", color=f"C{color}", label=_NAMES.get(model, model), markersize=4)
        for axis, label in zip(line, ("training rows", "processor seconds of the fit"), strict=True):
            axis.set(xscale="log", xlabel=label, ylabel="error of new rows / variance")
            axis.set_ylim(bottom=0.0)
            axis.set_title(f"{cells[0]['set']}, {p} components")
        rows = sorted({cell["rows"] for cell in cells})
        line[0].set_xticks(rows, [f"{n:,}" for n in rows])
        line[0].minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    save_figure(figure, path)


def plan(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The cells."""
    cells = []
    for name, p, n, seed, model in product(
        options.sets, options.components, options.rows, range(options.seeds), options.models
    ):
        cell = {"set": name, "components": p, "rows": n, "seed": seed, "model": model, "new": options.new}
        if model == "network":
            cell["rates"] = options.rates
        if options.features:
            cell["features"] = True
        if model != "dense" or n <= options.dense:
            cells.append(cell)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["mnist"])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--components", type=int, nargs="+", default=[10, 2])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--dense", type=int, default=2000)
    parser.add_argument("--new", type=int, default=2000)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--picture", type=Path)
    add_cell_options(parser)
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(measure(json.loads(options.child))))
        return
    for model in options.models:
        make(model, 2, 1000, options.rates)
    cells = run_cells(plan(options), in_child, path=options.cells, minutes=options.minutes, seconds=20.0)
    report(cells)
    if options.picture is not None:
        draw(cells, options.picture)


if __name__ == "__main__":
    run_script(main)
