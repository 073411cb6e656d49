"""What ``plan(X)`` says of the time of a fit, beside the time that the fit takes.

Run: RKHS_DATA=... ./dev bench plan. Printed for each set: the middle of the planned range, the processor seconds of the
fit, their ratio, whether the fit lies in the range, and the seconds that the plan itself took. The powers of
``estimators/run.py`` were chosen on digits and sines; the other sets chose nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs.kernels import Gaussian, Tanimoto
from studies.bench.groups import molecules
from studies.harness.rows import sines_file
from studies.harness.scripts import data_folder, run_script

_Case = tuple[str, Any, tuple[Any, ...]]


def cases() -> Iterator[_Case]:
    """Name, estimator and data."""
    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data / 16)
    sines = rng.permutation(np.asarray(np.load(sines_file(20_000)), dtype=np.float64))
    satellite = rng.permutation(np.load(data_folder() / "adbench" / "satellite.npz")["X"])
    images = np.load(data_folder() / "mnist10k" / "mnist10k.npz")
    images = np.asarray(images[images.files[0]], dtype=np.float64).reshape(10_000, -1)[:5000] / 255.0
    cancer, wine = load_breast_cancer().data, load_wine().data
    yield "autoencoder, wine", KernelAutoencoder(2, columns="scaled"), (wine,)
    yield "autoencoder, cancer, 10 codes", KernelAutoencoder(10, columns="scaled"), (cancer,)
    yield "autoencoder, digits, 900 rows", KernelAutoencoder(2), (digits[:900],)
    yield "autoencoder, satellite, 900 rows", KernelAutoencoder(5), (satellite[:900],)
    yield "autoencoder, satellite, 2,500, dense", KernelAutoencoder(5, storage="dense"), (satellite[:2500],)
    yield "autoencoder, satellite, 6,435", KernelAutoencoder(5), (satellite,)
    yield "autoencoder, mnist, 5,000", KernelAutoencoder(10), (images,)
    yield "autoencoder, sines, 20,000", KernelAutoencoder(2), (sines,)
    K = np.asarray(Gaussian("median")(digits[:700]))
    yield "autoencoder, Gram matrix, 700", KernelAutoencoder(2, kernel="precomputed"), (K,)
    bits, y, _ = molecules("CHEMBL204_Ki", 2500)
    yield "autoencoder, molecules, 600", KernelAutoencoder(2, kernel=Tanimoto()), (bits[:600],)
    yield "regressor, molecules, 2,500", OperatorKernelRegressor(Tanimoto()), (bits, y)
    yield "regressor, satellite, 1,000", OperatorKernelRegressor(), (satellite[:1000, :18], satellite[:1000, 18:])
    yield (
        "regressor, Huber, satellite, 1,000",
        OperatorKernelRegressor(loss="huber"),
        (
            satellite[:1000, :18],
            satellite[:1000, 18:],
        ),
    )
    yield "kernel PCA, satellite, 6,435", KernelPCA(10), (satellite,)
    yield "kernel PCA, digits, 1,797", KernelPCA(10), (digits,)


def main() -> None:
    """Print a line a set."""
    torch.set_num_threads(1)
    print(f"{'':40}{'planned':>9}{'fit':>8}{'ratio':>7}  in range   plan")
    ratios = []
    for name, model, data in cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            started = time.process_time()
            plan = model.plan(*data)
            took, started = time.process_time() - started, time.process_time()
            model.fit(*data)
            seconds = time.process_time() - started
        assert plan.seconds is not None
        least, most = plan.seconds
        middle = (least * most) ** 0.5
        ratios.append(seconds / middle)
        there = "yes" if least <= seconds <= most else "no"
        print(f"{name:40}{middle:9.2f}{seconds:8.2f}{ratios[-1]:7.2f}{there:>10}{took:7.1f}", flush=True)
    print(f"ratios {min(ratios):.2f} to {max(ratios):.2f}, median {np.median(ratios):.2f}")


if __name__ == "__main__":
    run_script(main)
