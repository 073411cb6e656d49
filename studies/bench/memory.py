"""Peak memory: of an exact kernel autoencoder in buffers of n x n numbers, and of methods that take many new rows.

Run: ./dev bench memory [--n 10000] [--max-iter 3], or ./dev bench memory --rows 200000 400000 [--train 500] [--only
predict "novelty p_values"]. Each measurement runs in a process of its own. The first is the largest resident size
during a fit above that before it, divided by 8 n^2 bytes; a few iterations suffice, for every evaluation takes the same
memory. With ``--rows`` it is the largest resident size of the whole process, with Python and the libraries, for rows of
20 columns in a file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child
from studies.harness.timing import verdict

COLUMNS = 20
METHODS: dict[str, tuple[str, Callable[[Any, Any], object]]] = {  # the model, and what it does with rows
    "predict": ("regressor", lambda model, X: model.predict(X)),
    "predict, return_std": ("regressor", lambda model, X: model.predict(X, return_std=True)),
    "predict_set": ("regressor", lambda model, X: model.predict_set(X)),
    "p_values": ("regressor", lambda model, X: model.p_values(X)),
    "novelty p_values": ("novelty", lambda model, X: model.p_values(X)),
    "reconstruction_error": ("pca", lambda model, X: model.reconstruction_error(X)),
    "transform": ("pca", lambda model, X: model.transform(X)),
    "autoencoder transform": ("autoencoder", lambda model, X: model.transform(X)),
}
FORMS = ("npy", "csv", "parquet")
COMMANDS = {  # arguments of rkhs; {model}, {pca}, {known} and {out} are files, {rows} the rows in a form
    f"rkhs {command}, {form}": [command, known, f"{{rows}}.{form}", "-o", f"{{out}}.{written}", *more]
    for form in FORMS
    for command, known, written, more in (
        ("predict", "{model}", form, ()),
        ("novelty", f"{{known}}.{form}", form, ()),
        ("transform", "{pca}", form, ()),
        ("nearest", f"{{known}}.{form}", "csv", ("--top", "1")),
    )
}


def child(n: int, max_iter: int) -> None:
    import torch
    from sklearn.exceptions import ConvergenceWarning

    from rkhs import KernelAutoencoder

    torch.set_num_threads(1)
    X = np.random.default_rng(0).normal(size=(n, 50))
    warnings.simplefilter("ignore", ConvergenceWarning)
    KernelAutoencoder(10, max_iter=2).fit(X[:200])  # what the first fit of a process takes anyway
    before = peak_bytes()
    KernelAutoencoder(10, max_iter=max_iter).fit(X)
    print((peak_bytes() - before) / (8.0 * n * n))


def model_of(kind: str, train: int) -> Any:
    """A fitted model of rows like those that are measured."""
    from rkhs import KernelAutoencoder, KernelNovelty, KernelPCA, OperatorKernelRegressor

    X = np.random.default_rng(0).normal(size=(train, COLUMNS))
    if kind == "regressor":
        return OperatorKernelRegressor(reg=1e-2).fit(X, X[:, 0] + 0.1 * X[:, 1] ** 2)
    if kind == "autoencoder":
        return KernelAutoencoder(2, reg=(1e-3, 1e-3), max_iter=5).fit(X)
    return (KernelPCA(2) if kind == "pca" else KernelNovelty()).fit(X)


def many_child(what: str, files: dict[str, str], train: int) -> None:
    """Print the peak of this process and the seconds."""
    warnings.simplefilter("ignore")
    if what in METHODS:
        kind, method = METHODS[what]
        model, X = model_of(kind, train), np.load(f"{files['rows']}.npy", mmap_mode="r")
        start = time.perf_counter()
        method(model, X)
    else:
        from rkhs.cli.main import main

        start = time.perf_counter()
        if main([one.format(**files) for one in COMMANDS[what]]):
            raise SystemExit(f"{what} failed")
    print(peak_bytes(), time.perf_counter() - start)


def files_of(folder: Path, n: int, train: int, forms: set[str]) -> dict[str, str]:
    """Files of n rows, of the known rows, and of models of these; ``forms`` beside .npy."""
    import pandas as pd

    from rkhs import save

    for name, seed, size in (("known", 0, train), ("rows", 1, n)):
        X = np.random.default_rng(seed).normal(size=(size, COLUMNS))
        np.save(folder / f"{name}.npy", X)
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)])
        if "csv" in forms:
            frame.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g")
        if "parquet" in forms:
            frame.to_parquet(folder / f"{name}.parquet")
    for name, kind in (("model", "regressor"), ("pca", "pca")):
        save(model_of(kind, train), folder / f"{name}.rkhs")
    files = {"known": "known", "rows": "rows", "out": "out", "model": "model.rkhs", "pca": "pca.rkhs"}
    return {key: str(folder / value) for key, value in files.items()}


def many(sizes: list[int], train: int, only: list[str] | None) -> None:
    """Print a table of peaks, a line a method."""
    chosen = [name for name in (*METHODS, *COMMANDS) if only is None or name in only]
    found: dict[str, list[str]] = {name: [] for name in chosen}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            files = files_of(Path(folder), n, train, {name.rsplit(", ")[-1] for name in chosen})
            for name in chosen:
                pairs = [f"{key}={value}" for key, value in files.items()]
                done = run_child("studies.bench.memory", "--what", name, "--train", str(train), "--files", *pairs)
                peak, taken = map(float, done.stdout.split()[-2:]) if done.returncode == 0 else (np.nan, np.nan)
                found[name].append(f"{peak / 1e6:.0f} MB, {taken:.0f} s")
                print(f"{name}, {n:,} rows: {found[name][-1]}", flush=True)
    print(f"\n| {train} known rows | " + " | ".join(f"{n:,} rows" for n in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for name in chosen:
        print(f"| {name} | " + " | ".join(found[name]) + " |")


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        n=10_000,
        max_iter=3,
        rows={"type": int, "nargs": "+", "help": "measure methods on so many new rows"},
        train=500,
        only={"nargs": "+", "choices": (*METHODS, *COMMANDS), "help": "methods and commands"},
        child={"action": "store_true", "help": argparse.SUPPRESS},
        what={"help": argparse.SUPPRESS},
        files={"nargs": "+", "help": argparse.SUPPRESS},
    )
    if arguments.what is not None:
        many_child(arguments.what, dict(one.split("=", 1) for one in arguments.files), arguments.train)
    elif arguments.child:
        child(arguments.n, arguments.max_iter)
    elif arguments.rows:
        many(arguments.rows, arguments.train, arguments.only)
    else:
        sizes = ["--n", str(arguments.n), "--max-iter", str(arguments.max_iter)]
        done = run_child("studies.bench.memory", *sizes)
        print(verdict(f"n = {arguments.n}: peak in n^2 buffers", float(done.stdout), 4.5, 2.3))


if __name__ == "__main__":
    main()
