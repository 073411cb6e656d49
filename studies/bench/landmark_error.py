"""How far models on landmarks and random features are from the exact ones, at a size where both can be had.

Run: ./dev bench landmark_error [--n 5000] [--landmarks 100,300,1000]. Kernel PCA and autoencoder of the test problem
(d = 50, 10 components): held-out error over variance, and the largest principal angle between spaces of codes; the
last two with their defaults, codes refined where they can be.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.linalg
import torch

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.rows import sines_file


def angle(A: np.ndarray, B: np.ndarray) -> float:
    """Largest principal angle, in degrees, of the spans of centred codes."""
    return float(np.degrees(scipy.linalg.subspace_angles(A - A.mean(0), B - B.mean(0)).max()))


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        n=5000,
        landmarks="100,300,1000",
        only={"choices": ("pca", "autoencoder", "pca, defaults", "autoencoder, defaults")},
    )
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = np.array(np.load(sines_file(101_000), mmap_mode="r")[: arguments.n + 1000], dtype=np.float64)
    X, test = rows[1000:], rows[:1000]
    sizes = [int(m) for m in arguments.landmarks.split(",")]
    storages = ["dense", *(Nystroem(m) for m in sizes), Nystroem(sizes[-1], "leverage"), RandomFeatures(2 * sizes[-1])]
    made = {
        "pca": lambda s: KernelPCA(10, kernel=Gaussian(1 / 50), storage=s),
        "autoencoder": lambda s: KernelAutoencoder(
            10, kernel=Gaussian(1 / 50), decoder_kernel=Gaussian(0.1), reg=(1e-4, 1e-3), storage=s, refine=False
        ),
        "pca, defaults": lambda s: KernelPCA(10, storage=s),
        "autoencoder, defaults": lambda s: KernelAutoencoder(10, storage=s),
    }
    for name, make in made.items():
        exact: np.ndarray | None = None
        for storage in storages if arguments.only in (None, name) else []:
            clock = time.perf_counter()
            model = make(storage).fit(X)
            seconds = time.perf_counter() - clock
            codes = model.transform(test)
            exact = codes if exact is None else exact
            error = float(model.reconstruction_error(test).mean() / test.var(0).sum())
            value = f", objective {model.objective_:.5f}" if hasattr(model, "objective_") else ""
            print(
                f"{name}, {storage!r}: {seconds:.1f} s, held-out error {error:.4f}{value}, "
                f"angle to the exact codes {angle(exact, codes):.1f} degrees",
                flush=True,
            )


if __name__ == "__main__":
    main()
