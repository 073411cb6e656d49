"""The autoencoder trained on batches beside the solver that reads all rows: objective, held-out error, processor time.

Run: ./dev bench minibatch [--n 20000 300000] [--m 300] [--steps 200]. Sines in 50 columns, 10 components, Gaussian
kernels, float32, one thread; held-out error over variance on 2,000 further rows. Doubly stochastic steps update a
quarter of the coefficients each: once as many steps, once four times as many, for as many updates of each coefficient.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch

from rkhs import KernelAutoencoder
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments

HELD_OUT = 2000


def sines(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out rows on a surface of ten dimensions."""
    rng = np.random.default_rng(0)
    A, phases = 0.5 * rng.normal(size=(10, 64)), rng.uniform(-np.pi, np.pi, 64)
    C = rng.normal(size=(64, 50)) / 8.0
    X = np.sin(rng.normal(size=(n + HELD_OUT, 10)) @ A + phases) @ C
    X += 0.05 * rng.normal(size=X.shape)
    X = (X - X[:n].mean(0)) / X[:n].std()
    return X[:n], X[n:]


def main() -> None:
    asked = bench_arguments(__doc__, n=[20_000, 300_000], m=300, steps=200)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for n in asked.n:
        train, test = sines(n)
        spread = float(((test - train.mean(0)) ** 2).sum(1).mean())
        for options in (
            {},
            {"solver": "minibatch", "max_iter": asked.steps},
            {"solver": "doubly_stochastic", "max_iter": asked.steps},
            {"solver": "doubly_stochastic", "max_iter": 4 * asked.steps},
        ):
            model = KernelAutoencoder(
                10,
                kernel=Gaussian(1 / 50),
                decoder_kernel=Gaussian(1 / 10),
                reg=(1e-4, 1e-3),
                storage=Nystroem(asked.m),
                dtype="float32",
                random_state=0,
                **options,
            )
            started = time.process_time()
            model.fit(train)
            seconds = time.process_time() - started
            error = float(model.reconstruction_error(test).mean()) / spread
            print(
                f"n = {n:7d}, {model.solver:17s} {model.n_iter_:4d} steps: objective {model.objective_:.4f}, "
                f"held out {error:.3f}, {seconds:.1f} s of processor",
                flush=True,
            )


if __name__ == "__main__":
    main()
