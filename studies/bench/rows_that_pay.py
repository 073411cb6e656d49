"""What more rows are worth: errors of new rows of ``KernelAutoencoder`` and of a tuned network, by the number of rows.

Run: ./dev bench rows_that_pay [--sets mnist,satellite] [--rows 2000,8000] [--components 2,10] [--splits 3]
     [--models leaves,plain,network] [--new 600] [--cells FILE] [--minutes 60]

600 new rows a split, or ``--new``, that nothing is chosen on. Errors are squared errors over the variance of the new
rows. ``leaves`` is the fit as it comes, ``plain`` the fit whose last decoder has three times as many anchors as in the
descent and the same reg. The network has 256 and 128 units, the best of three learning rates, 400,000 / n epochs and
at least 60, and codes of new rows that are refined by descent as ours are. ``jump``: the largest step of decoded codes
along the line from one end of the codes to the other, of 20,000 steps over that of 2,000; .1 where there is no seam.
Seconds are those of one processor: set OMP_NUM_THREADS=1. Development sets alone; ``made`` is a table of smooth
functions of eight numbers with noise.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

import rkhs
from rkhs.estimators.autoencoder import finished_rows
from studies.harness.arguments import bench_arguments
from studies.harness.cells import run_cells
from studies.harness.scripts import data_folder, run_script
from studies.networks.network_autoencoder import NetworkAutoencoder

SETS = ("mnist", "patches", "dsprites", "satellite", "made")


def rows_of(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """All rows of a set, and the number of the image that a row was cut from, whose rows stay on one side."""
    if name == "made":
        rng = np.random.default_rng(0)
        latent = rng.normal(size=(61_000, 8))
        X = np.sin(latent @ rng.normal(size=(8, 40)) + rng.uniform(0.0, 6.0, 40))
        return X + 0.1 * rng.normal(size=X.shape), None
    if name == "mnist":
        return np.load(folder / "mnist10k" / "mnist10k.npz")["X"].reshape(10_000, -1) / 255.0, None
    if name == "dsprites":
        bits = np.unpackbits(np.load(folder / "dsprites" / "dsprites_rerender.npz")["bits"], axis=1)
        return bits.reshape(-1, 32, 2, 32, 2).astype(np.float32).mean((2, 4)).reshape(len(bits), -1).astype(float), None
    if name == "satellite":
        X = np.load(folder / "adbench" / "satellite.npz")["X"].astype(float)
        return (X - X.mean(0)) / X.std(0), None
    X = np.load(folder / "cifar10_train" / "cifar10_train.npz")["X"].mean(3) / 255.0
    corners = range(0, 17, 4)
    patches = [X[:, i : i + 16, j : j + 16].reshape(len(X), -1) for i in corners for j in corners]
    return np.concatenate(patches), np.tile(np.arange(len(X)), len(patches))


def split(name: str, folder: Path, n: int, seed: int, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Training and new rows, centred and divided by one standard deviation; None where there are too few."""
    X, images = rows_of(name, folder)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    new = np.arange(len(X)) < count if images is None else rng.permutation(images.max() + 1)[images[order]] < 200
    test, train = order[new][:count], order[~new][:n]
    mean, scale = X[train].mean(0), X[train].std()
    return None if len(train) < n else ((X[train] - mean) / scale, (X[test] - mean) / scale)


def of_variance(new: np.ndarray, rebuilt: np.ndarray) -> float:
    """Squared error over the variance."""
    return float(((new - rebuilt) ** 2).sum() / (new**2).sum())


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and seconds of the processor."""
    clock = time.process_time()
    found = call()
    return found, time.process_time() - clock


def ours(train: np.ndarray, new: np.ndarray, p: int, leaves: bool) -> dict[str, float]:
    """Errors of new rows and the one that is announced, seconds, size of the model file, and seams."""
    chooses = mock.patch.object(finished_rows, "_chooses", return_value=False)
    with nullcontext() if leaves else chooses:
        model, fit = timed(lambda: rkhs.KernelAutoencoder(p, random_state=0).fit(train))
    codes, code = timed(lambda: model.transform(new))
    code = min(code, timed(lambda: model.transform(new))[1])  # the second call has everything at hand
    with tempfile.TemporaryDirectory() as folder:
        rkhs.save(model, Path(folder) / "model.rkhs")
        size = (Path(folder) / "model.rkhs").stat().st_size
    ends = model.codes_[[model.codes_[:, 0].argmin(), model.codes_[:, 0].argmax()]]
    few, many = (largest_step(model, ends, steps) for steps in (2_000, 20_000))
    return {
        "error": of_variance(new, model.inverse_transform(codes)),
        "held out": model.held_out_error_,
        "fit": fit,
        "code": code * 1000 / len(new),
        "MB": size / 1e6,
        "jump": many / few,
    }


def largest_step(model: Any, ends: np.ndarray, steps: int) -> float:
    """The largest step of decoded codes along a line."""
    line = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, steps)[:, None]
    return float(np.linalg.norm(np.diff(model.inverse_transform(line), axis=0), axis=1).max())


def network(train: np.ndarray, new: np.ndarray, p: int) -> dict[str, float]:
    """Error of the best of three learning rates, with refined codes."""
    epochs = max(60, 400_000 // len(train))
    model = NetworkAutoencoder(
        p,
        (256, 128),
        activation="relu",
        learning_rates=(3e-4, 1e-3, 3e-3),
        max_epochs=epochs,
    )
    fit = timed(lambda: model.fit(train))[1]
    decoder = model.network_[model._code_layers :]
    target = torch.as_tensor((new - model.mean_) / model.factor_, dtype=torch.float32)
    codes = torch.tensor(model.transform(new), dtype=torch.float32, requires_grad=True)
    search = torch.optim.LBFGS([codes], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = ((decoder(codes) - target) ** 2).sum()
        value.backward()
        return value

    search.step(loss)
    return {"error": of_variance(new, model.inverse_transform(codes.detach().numpy())), "fit": fit}


def work(cell: dict[str, Any]) -> dict[str, float]:
    """The results of one cell."""
    parts = split(cell["set"], data_folder(), cell["rows"], cell["split"], cell["new"])
    assert parts is not None
    if cell["model"] == "network":
        return network(*parts, cell["components"])
    return ours(*parts, cell["components"], cell["model"] == "leaves")


def table(cells: list[dict[str, Any]]) -> None:
    """Print means over the splits with half of their range, and the ratio to the network."""
    groups: dict[tuple[str, int, int], dict[str, list[dict[str, Any]]]] = {}
    for cell in cells:
        key = cell["set"], cell["components"], cell["rows"]
        groups.setdefault(key, {}).setdefault(cell["model"], []).append(cell)
    for (name, p, n), models in sorted(groups.items()):
        means = {model: float(np.mean([cell["error"] for cell in found])) for model, found in models.items()}
        parts = []
        for model, found in models.items():
            spread = np.ptp([cell["error"] for cell in found]) / 2
            others = {
                k: float(np.mean([c[k] for c in found]))
                for k in ("held out", "fit", "code", "MB", "jump")
                if k in found[0]
            }
            text = ", ".join(f"{k} {v:.3g}" for k, v in others.items())
            parts.append(f"{model} {means[model]:.4f} +- {spread:.4f} of {len(found)} ({text})")
        if {"leaves", "network"} <= set(means):
            parts.append(f"ratio {means['leaves'] / means['network']:.3f}")
        print(f"{name}, {p} components, {n} rows: {'; '.join(parts)}", flush=True)


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        cells={"type": Path, "help": "file of finished cells; a stopped run goes on from it"},
        minutes={"type": float, "help": "start no cell after this time; run again to go on"},
        sets={"default": ",".join(SETS)},
        rows="1000,2000,4000,8000",
        components="2,10",
        models="leaves,plain",
        splits=1,
        new=600,
    )
    warnings.simplefilter("ignore")
    folder = data_folder()
    plan = [
        {"set": name, "rows": n, "components": p, "model": model, "split": seed, "new": arguments.new}
        for name in arguments.sets.split(",")
        for n in map(int, arguments.rows.split(","))
        if split(name, folder, n, 0, arguments.new) is not None
        for p in map(int, arguments.components.split(","))
        for seed in range(arguments.splits)
        for model in arguments.models.split(",")
    ]
    table(run_cells(plan, work, path=arguments.cells, minutes=arguments.minutes))


if __name__ == "__main__":
    run_script(main)
