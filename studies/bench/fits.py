"""Processor seconds of the library's part of six benchmarks, for two checkouts beside each other.

Run: ./dev bench fits kae (or digits, kernel_pca, gram, yeast_grid, landmarks); beside an older checkout:

    python tools/compare_checkouts.py OLD NEW --printed -- -m studies.bench.fits kae

The settings are those of the benchmark of that name, without its peers, and work in older checkouts too. One thread.
``digits`` fits the defaults, the others fix every option. ``yeast_grid`` needs RKHS_DATA. Printed are the processor
seconds of one fit, after one that is not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Squared
from studies.harness.rows import sines_file
from studies.harness.scripts import data_folder, run_script

KERNELS: dict[str, Any] = {"kernel": Gaussian(1 / 50), "decoder_kernel": Gaussian(1 / 10)}


def _sines(n: int) -> np.ndarray:
    X = np.array(np.load(sines_file(20_000), mmap_mode="r")[:n], dtype=np.float64)
    return (X - X.mean(0)) / X.std()


def kae() -> Callable[[], object]:
    """Sixty evaluations of the autoencoder of the paper on 1,000 rows."""
    X = _sines(1000)
    model = KernelAutoencoder(
        10, **KERNELS, reg=1e-4, center=False, scale=False, max_iter=60, tol=1e-9, storage="dense", code_metric=0.0
    )
    return lambda: model.fit(X)


def digits() -> Callable[[], object]:
    """The default autoencoder on 600 images, and codes of 300 more."""
    X = load_digits().data / 16
    return lambda: KernelAutoencoder(10).fit(X[:600]).transform(X[600:900])


def kernel_pca() -> Callable[[], object]:
    """Kernel PCA of 2,000 rows with its way back."""
    X = _sines(2000)
    return lambda: KernelPCA(10, kernel=Gaussian(1 / 50), decoder_kernel=Gaussian(1 / 10)).fit(X)


def gram() -> Callable[[], object]:
    """Ten Gram matrices of 3,000 rows."""
    X, kernel = torch.as_tensor(_sines(3000)), Gaussian(1 / 50)
    return lambda: [kernel(X) for _ in range(10)]


def yeast_grid() -> Callable[[], object]:
    """Paths of three losses and twenty regularisers on 200 rows of yeast."""
    data = np.load(data_folder() / "yeast" / "yeast.npz", allow_pickle=False)
    X, Y = data["X"][:200], data["Y"][:200].astype(float)
    losses = [Squared(), *(EpsilonInsensitive(e) for e in (0.2, 0.5, 0.8)), *(Huber(k) for k in (0.01, 0.1, 1.0))]
    model = OperatorKernelRegressor(Gaussian(1.0), center=False, solver="auto", tol=1e-6)
    return lambda: model.path(X, Y, regs=np.logspace(-8, -1, 20), losses=losses)


def landmarks() -> Callable[[], object]:
    """The autoencoder of the paper on 300 landmarks of 20,000 rows."""
    X = _sines(20_000).astype(np.float32)
    options: dict[str, Any] = {**KERNELS, "reg": 1e-3, "linear_part": "kernel", "dtype": "float32"}
    return lambda: KernelAutoencoder(10, storage=Nystroem(300, random_state=0), max_iter=30, **options).fit(X)


FITS = {each.__name__: each for each in (kae, digits, kernel_pca, gram, yeast_grid, landmarks)}


def main() -> None:
    """Print the processor seconds of one fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=FITS)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    fit = FITS[parser.parse_args().name]()
    fit()
    start = time.process_time()
    fit()
    print(f"{time.process_time() - start:.4f}")


if __name__ == "__main__":
    run_script(main)
