"""How often the default start of an autoencoder ends above others: one start against ten random ones.

Sets of scikit-learn and drawn ones, 150 rows for training and 150 others; no default was chosen on them. "paper" is the
model of Laforgue et al. (2019): Gaussian kernels, no linear parts; "free" is ours with free linear parts and its own
kernels, both with fixed regularisers; "default" is ours with the regulariser that it chooses. A start is lower if its
objective is 5 % below that of the default start. Then: what ``diagnose`` found with its own starts, and its time.

Last, the iterations of the default solver and of ``solver="alternating"``, the paper's, on the spiral.

Run: ./dev bench starts [--rows 150] [--starts 10]
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_circles, make_moons, make_swiss_roll
from sklearn.preprocessing import StandardScaler

from rkhs import KernelAutoencoder, diagnose
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments

PAPER: dict[str, Any] = {"center": False, "scale": False, "linear_part": "kernel", "refine": False, "code_metric": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "paper": {"kernel": Gaussian("median"), "decoder_kernel": Gaussian(1.0), "reg": (1e-4, 1e-4), **PAPER},
    "free": {"reg": (1e-2, 1e-4), "refine": False},
    "default": {},
}


def spiral(n: int, rng: np.random.Generator) -> np.ndarray:
    """A noisy spiral in space, of one latent number."""
    t = rng.uniform(0.0, 3.0 * np.pi, n)
    return np.c_[t * np.cos(t), t * np.sin(t), 0.5 * t] / 4.0 + 0.05 * rng.normal(size=(n, 3))


def sets() -> dict[str, np.ndarray]:
    """Name and rows in random order, columns of variance one (images as they are)."""
    rng = np.random.default_rng(0)
    found = {
        "spiral": spiral(300, rng),
        "circles": make_circles(300, noise=0.05, factor=0.5, random_state=0)[0],
        "moons": make_moons(300, noise=0.1, random_state=0)[0],
        "swiss roll": make_swiss_roll(300, noise=0.3, random_state=0)[0],
        "iris": load_iris().data,
        "diabetes": load_diabetes().data,
    }
    found = {name: StandardScaler().fit_transform(X) for name, X in found.items()}
    found["digits"] = load_digits().data / 16.0
    return {name: X[rng.permutation(len(X))] for name, X in found.items()}


def main() -> None:
    options = bench_arguments(
        __doc__,
        rows={"type": int, "default": 150, "help": "for training, at most half of a set (150)"},
        starts={"type": int, "default": 10, "help": "random ones (10)"},
    )
    warnings.simplefilter("ignore")
    print("model, set, components: random starts that end lower; by how much the lowest objective is below that of the")
    print(
        "default start; error of new rows, default start -> lowest; what diagnose says; processor time of fit, diagnose"
    )
    for name, settings in MODELS.items():
        for title, X in sets().items():
            train = X[: min(options.rows, len(X) // 2)]
            for p in (1, 2, 5):
                if p == 1 or p < X.shape[1]:
                    said = compare(settings, p, train, X[len(train) :][: options.rows], options.starts)
                    print(f"{name:7s} {title:10s} {p}: {said}", flush=True)
    X = sets()["spiral"][: options.rows]
    for solver in ("lbfgs", "alternating"):
        begun = time.process_time()
        model = KernelAutoencoder(1, solver=solver, max_iter=10_000, **MODELS["paper"]).fit(X)
        print(
            f"spiral, {solver}: {model.n_iter_} iterations, objective {model.objective_:.4f}, "
            f"{time.process_time() - begun:.1f} s, {model.reason_}"
        )


def compare(settings: dict[str, Any], p: int, train: np.ndarray, new: np.ndarray, starts: int) -> str:
    """One line: the default start against others, and what ``diagnose`` finds of its own."""
    times = [time.process_time()]
    fits = [KernelAutoencoder(p, **settings).fit(train)]
    times.append(time.process_time())
    found = diagnose(fits[0], starts=5).lower_start
    times.append(time.process_time())
    fixed = {**settings, "reg": fits[0].reg_, "init": "random"}  # objectives of one regulariser can be compared
    fits += [KernelAutoencoder(p, **fixed, random_state=seed).fit(train) for seed in range(starts)]
    values = np.array([fit.objective_ for fit in fits])
    best = int(values.argmin())
    errors = [float(fits[k].reconstruction_error(new).mean()) for k in (0, best)]
    lower = int((values[1:] < 0.95 * values[0]).sum())
    fit, more = np.diff(times)
    return (
        f"{lower:2d}/{starts}, {1.0 - values[best] / values[0]:6.1%}, {errors[0]:.3f} -> {errors[1]:.3f}, "
        f"{f'{found:.1%}' if found is not None else 'none'}, {fit:.1f} + {more:.1f} s"
    )


if __name__ == "__main__":
    main()
