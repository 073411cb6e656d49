"""A million rows on this machine: fit and transform from a memory-mapped file, memory and time.

Run: ./dev bench million [--n 1000000] [--m 1000] [--estimator default|autoencoder|pca] [--tol 1e-4] [--threads 2].
Every fit runs in a process of its own. ``default`` is ``KernelAutoencoder(10)`` and nothing else: regularisers are
chosen, every row has a refined code, and 100,000 rows are encoded afterwards. ``autoencoder`` and ``pca`` have kernels
and regularisers that are given, and encode all rows. Goals for n = 1,000,000, d = 50, 10 components, m = 1,000 on two
cores: under 2 GB peak (file pages included), at most 15 minutes, 8 for ``default``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings

import numpy as np

from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes, sines_file
from studies.harness.scripts import run_child
from studies.harness.timing import verdict


def child(arguments: argparse.Namespace) -> None:
    import torch

    from rkhs import KernelAutoencoder, KernelPCA
    from rkhs.features import Nystroem
    from rkhs.kernels import Gaussian

    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    X = np.load(sines_file(arguments.n), mmap_mode="r")
    storage = Nystroem(arguments.m)
    started = peak_bytes()
    if arguments.estimator == "default":
        model = KernelAutoencoder(10)
    elif arguments.estimator == "pca":
        model = KernelPCA(10, kernel=Gaussian(1 / 50), storage=storage, dtype="float32")
    else:
        model = KernelAutoencoder(
            10,
            kernel=Gaussian(1 / 50),
            decoder_kernel=Gaussian(1 / 10),
            reg=(1e-4, 1e-3),
            storage=storage,
            dtype="float32",
            tol=arguments.tol,
            max_iter=arguments.max_iter,
        )
    clock = time.perf_counter()
    model.fit(X)
    fit = time.perf_counter() - clock
    clock = time.perf_counter()
    coded = 100_000 if arguments.estimator == "default" else len(X)
    codes = model.transform(X[:coded])
    transform = time.perf_counter() - clock
    rows = getattr(model, "history_", [])
    print(
        json.dumps(
            {
                "fit": fit,
                "transform": transform,
                "peak": peak_bytes(),
                "started": started,
                "announced": model.announced_bytes_,
                "objective": getattr(model, "objective_", None),
                "error": float(model.reconstruction_error(np.array(X[:2000])).mean() / X[:2000].var(0).sum()),
                "evaluations": rows[-1]["evaluations"] if rows else 0,
                "reason": getattr(model, "reason_", ""),
                "reg": getattr(model, "reg_", None),
                "equal": float(np.median(np.abs(codes - model.codes_[:coded]).max(1))),
            }
        )
    )


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        n=1_000_000,
        m=1000,
        estimator={"choices": ("default", "autoencoder", "pca"), "default": "autoencoder"},
        tol=1e-4,
        max_iter=500,
        threads=2,
        child={"action": "store_true", "help": argparse.SUPPRESS},
    )
    if arguments.child:
        child(arguments)
        return
    sines_file(arguments.n)
    done = run_child("studies.bench.million", *sys.argv[1:])
    found = json.loads(done.stdout)
    print(f"{arguments.estimator}, n = {arguments.n}, m = {arguments.m}, {arguments.threads} threads: {found}")
    print(verdict("peak, GB", found["peak"] / 1e9, 2.0, 1.0))
    print(
        verdict("peak above the start / announced", (found["peak"] - found["started"]) / found["announced"], 1.2, 1.0)
    )
    print(verdict("fit, minutes", found["fit"] / 60, *((8, 3) if arguments.estimator == "default" else (15, 5))))


if __name__ == "__main__":
    main()
