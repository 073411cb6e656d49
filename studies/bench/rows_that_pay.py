"""What more rows are worth: errors of new rows of ``KernelAutoencoder`` and of a tuned network, by the number of rows.

Run: ./dev bench rows_that_pay [--sets mnist,satellite] [--rows 2000,8000] [--components 2,10] [--network]

One split a set: 600 new rows, that nothing is chosen on. Errors are squared errors over the variance of the new rows.
``everywhere`` is the error without leaves, of the same fit: with the decoder that all codes share. The network has 256
and 128 units, the best of three learning rates, and codes of new rows that are refined by descent as ours are.
Development sets alone; ``made`` is a table of smooth functions of eight numbers with noise.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rkhs
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script
from studies.networks.network_autoencoder import NetworkAutoencoder

_NEW = 600
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


def split(name: str, folder: Path, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Training and new rows, centred and divided by one standard deviation; None where there are too few."""
    X, images = rows_of(name, folder)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    new = np.arange(len(X)) < _NEW if images is None else rng.permutation(images.max() + 1)[images[order]] < 200
    test, train = order[new][:_NEW], order[~new][:n]
    mean, scale = X[train].mean(0), X[train].std()
    return None if len(train) < n else ((X[train] - mean) / scale, (X[test] - mean) / scale)


def of_variance(new: np.ndarray, rebuilt: np.ndarray) -> float:
    """Squared error over the variance."""
    return float(((new - rebuilt) ** 2).sum() / (new**2).sum())


def ours(train: np.ndarray, new: np.ndarray, p: int) -> dict[str, Any]:
    """Errors with and without leaves, and seconds of one processor."""
    clock = time.process_time()
    model = rkhs.KernelAutoencoder(p, random_state=0).fit(train)
    fit = time.process_time() - clock
    clock = time.process_time()
    codes = model.transform(new)
    code = time.process_time() - clock
    found = {"ours": of_variance(new, model.inverse_transform(codes)), "fit": fit, "code": code * 1000 / len(new)}
    fitted = model.model_
    model.model_ = replace(fitted, layers=(*fitted.layers[:-1], fitted.last.everywhere))
    return {**found, "everywhere": of_variance(new, model.inverse_transform(model.transform(new)))}


def network(train: np.ndarray, new: np.ndarray, p: int, epochs: int) -> float:
    """Error of the best of three learning rates, with refined codes."""
    model = NetworkAutoencoder(p, (256, 128), activation="relu", max_epochs=epochs).fit(train)
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
    return of_variance(new, model.inverse_transform(codes.detach().numpy()))


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        sets={"default": ",".join(SETS)},
        rows="1000,2000,4000,8000",
        components="2,10",
        network={"action": "store_true", "help": "beside it a network; takes many times as long"},
        epochs=500,
    )
    warnings.simplefilter("ignore")
    folder = data_folder()
    for name in arguments.sets.split(","):
        for n in map(int, arguments.rows.split(",")):
            parts = split(name, folder, n)
            for p in map(int, arguments.components.split(",") if parts is not None else ()):
                found = ours(*parts, p)
                if arguments.network:
                    found["network"] = network(*parts, p, arguments.epochs)
                    found["ratio"] = found["ours"] / found["network"]
                print(
                    f"{name}, {n} rows, {p} components:",
                    ", ".join(f"{k} {v:.4g}" for k, v in found.items()),
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
