"""Peak memory of an exact kernel autoencoder, in buffers of n x n float64 numbers (goal 11).

Run: ./dev bench memory [--n 10000] [--max-iter 3]. The fit runs in a process of its own; measured is the largest
resident size during the fit above that before it, divided by 8 n^2 bytes. A few iterations suffice: every evaluation
takes the same memory.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child
from studies.harness.timing import verdict


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--max-iter", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.n, arguments.max_iter)
        return
    sizes = ["--n", str(arguments.n), "--max-iter", str(arguments.max_iter)]
    done = run_child("studies.bench.memory", *sizes)
    print(verdict(f"n = {arguments.n}: peak in n^2 buffers", float(done.stdout), 4.5, 2.3))


if __name__ == "__main__":
    main()
