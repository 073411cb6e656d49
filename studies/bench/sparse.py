"""Sparse matrices beside the same rows written out, and beside scikit-learn: time, memory, and the same numbers.

Run: ./dev bench sparse [--n 2000] [--d 20000] [--dense 2000]. Documents of made words (Zipf frequencies, 20 topics), as
tf-idf; each cell is fitted in a process of its own. Dense rows are fitted up to ``--dense`` documents. The autoencoder
is fitted to the first 1,000.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child


def documents(n: int, d: int) -> csr_array:
    """Counts of made words, as tf-idf, shape (n, d)."""
    rng = np.random.default_rng(0)
    words = 1.0 / np.arange(1, d + 1)
    topics = [words * rng.gamma(0.3, size=d) for _ in range(20)]
    rows, columns = [], []
    for i in range(n):
        topic = topics[i % len(topics)]
        drawn = rng.choice(d, 150, p=topic / topic.sum())
        rows.append(np.full(150, i))
        columns.append(drawn)
    where = (np.concatenate(rows), np.concatenate(columns))
    counts = csr_array((np.ones(len(where[0])), where), shape=(n, d))
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts)


def child(name: str, n: int, d: int) -> None:
    import torch
    from sklearn.decomposition import KernelPCA as TheirPCA

    from rkhs import KernelAutoencoder, KernelPCA
    from rkhs.features import Nystroem
    from rkhs.kernels import Gaussian

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    kind, _, form = name.partition(", ")
    X = documents(n, d)
    X = X[:1000] if kind == "autoencoder" else X
    made = {
        "kernel PCA": lambda: KernelPCA(10, kernel=Gaussian(0.5)),
        "kernel PCA on landmarks": lambda: KernelPCA(10, kernel=Gaussian(0.5), storage=Nystroem(500)),
        "autoencoder": lambda: KernelAutoencoder(10),
        "scikit-learn": lambda: TheirPCA(10, kernel="rbf", gamma=0.5),
    }
    made[kind]().fit(X[:50])  # what the first fit of a process takes anyway
    before, clock = peak_bytes(), time.process_time()
    rows = X.toarray() if form == "dense" else X
    model = made[kind]().fit(rows)
    codes = model.transform(rows[:200])
    print(time.process_time() - clock, (peak_bytes() - before) / 2**20, float(np.abs(codes).sum()))


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        n=2000,
        d=20_000,
        dense={"type": int, "default": 2000, "help": "most documents that are fitted as dense rows too"},
        name={"default": "scikit-learn", "help": argparse.SUPPRESS},
        child={"action": "store_true", "help": argparse.SUPPRESS},
    )
    sizes = ["--n", str(arguments.n), "--d", str(arguments.d)]
    if arguments.child:
        child(arguments.name, arguments.n, arguments.d)
        return
    names = ["scikit-learn", "kernel PCA", "kernel PCA on landmarks", "autoencoder"]
    if arguments.n <= arguments.dense:
        names += ["kernel PCA, dense", "autoencoder, dense"]
    X = documents(arguments.n, arguments.d)
    print(f"{arguments.n} x {arguments.d}, {X.nnz / arguments.n:.0f} entries per row; 1 thread, processor time")
    for name in names:
        seconds, mebibytes, size = run_child("studies.bench.sparse", *sizes, "--name", name).stdout.split()
        print(f"{name:24s} {float(seconds):7.2f} s {float(mebibytes):7.0f} MiB   sum of codes {float(size):.12g}")


if __name__ == "__main__":
    main()
