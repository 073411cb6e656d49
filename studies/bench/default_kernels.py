"""Why the default autoencoder has the kernels and regularisers it has: held-out error on sets that chose them.

Run: RKHS_DATA=... ./dev bench default_kernels [--components 10 2] [--rows 600]. These sets chose the defaults, so the
table says why they are what they are and not how good they are: ``./dev bench digits`` and ``./dev bench usefulness``
score them on others. Tables standardised by their training part, images on their 100 leading principal components.
Printed: held-out error with refined codes over that of the first row, the mean of two splits.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian, Linear, Matern
from studies.harness.arguments import bench_arguments
from studies.harness.development import read_table
from studies.harness.scripts import data_folder, run_script


def read_sets(folder: Path) -> dict[str, np.ndarray]:
    small = folder / "uci_small"
    return {
        "mnist": np.load(folder / "mnist10k" / "mnist10k.npz")["X"][:3000].reshape(3000, -1) / 255.0,
        "coil20": np.load(folder / "coil20" / "coil20.npz")["X"].reshape(1440, -1) / 255.0,
        "cifar10": np.load(folder / "cifar10_train" / "cifar10_train.npz")["X"].reshape(2000, -1)[:, ::8] / 255.0,
        "satellite": read_table(small / "satellite.csv", 36),
        "yeast": np.load(folder / "yeast" / "yeast.npz")["X"],
        "scene": np.load(folder / "ml_scene" / "scene.npz")["X"].astype(float),
        "phoneme": np.load(folder / "fda_phoneme" / "phoneme.npz")["X"],
        "breast cancer": load_breast_cancer().data,
        "wine": load_wine().data,
        "sonar": read_table(small / "sonar.csv", 60),
        "glass": read_table(small / "glass.csv", 9),
        "breast cancer wisconsin": read_table(small / "breast_cancer_wisconsin.csv", 9),
    }


IMAGES = ("mnist", "coil20", "cifar10", "satellite", "phoneme")


def split(name: str, X: np.ndarray, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(X))
    cut = min(rows, int(0.6 * len(X)))
    train, held_out = X[order[:cut]], X[order[cut : cut + 500]]
    mean, spread = train.mean(0), train.std(0)
    spread[(spread == 0.0) | (name in IMAGES)] = 1.0
    train, held_out = (train - mean) / spread, (held_out - mean) / spread
    if X.shape[1] > 100:
        axes = np.linalg.svd(train, full_matrices=False)[2][:100].T
        train, held_out = train @ axes, held_out @ axes
    return train, held_out


def settings(few: bool) -> dict[str, dict]:
    """What is compared; the last row is the default."""

    def form(factor: int, rough: float, reg: float) -> dict:
        decoder = (1.0 - rough) * Matern(1.5, 2**-0.5) + 0.1 * Linear()
        return {
            "kernel": Gaussian(f"{factor}*median") + Linear("mean_norm", "mean"),
            "decoder_kernel": decoder + rough * Matern(0.5, 2**-0.5) if rough else decoder,
            "reg": (1e-2, reg),
        }

    high, low = (1e-3, 1e-4) if few else (1e-5, 1e-6)
    return {
        f"median, Matern 3/2, {high:g}": form(1, 0.0, high),
        f"median, Matern 3/2, {low:g}": form(1, 0.0, low),
        f"4*median, Matern 3/2, {high:g}": form(4, 0.0, high),
        f"4*median, Matern 3/2, {low:g}": form(4, 0.0, low),
        f"median, a half of Matern 1/2, {high:g}": form(1, 0.5, high),
        f"median, a fifth of Matern 1/2, {low:g}": form(1, 0.2, low),
        f"8*median, a fifth of Matern 1/2, {low:g}": form(8, 0.2, low),
        f"4*median, a half of Matern 1/2, {low:g}": form(4, 0.5, low),
        f"4*median, a fifth of Matern 1/2, {low:g}": form(4, 0.2, low),
    }


def main() -> None:
    arguments = bench_arguments(__doc__, components=[10, 2], rows=600)
    warnings.simplefilter("ignore", ConvergenceWarning)
    torch.set_num_threads(1)
    sets = read_sets(data_folder())
    for p in arguments.components:
        table = {name: [] for name in settings(p <= 2)}
        for name, X in sets.items():
            errors = np.zeros((2, len(table)))
            for seed in range(2):
                train, held_out = split(name, X, 10 + seed, arguments.rows)
                for column, chosen in enumerate(settings(p <= 2).values()):
                    model = KernelAutoencoder(min(p, 4) if X.shape[1] < 13 else p, **chosen).fit(train)
                    errors[seed, column] = model.reconstruction_error(held_out).mean()
            for key, value in zip(table, (errors / errors[:, :1]).mean(0), strict=True):
                table[key].append(value)
            print(f"{p} components, {name}: " + " ".join(f"{table[key][-1]:.3f}" for key in table), flush=True)
        print(f"\n{p} components: geometric mean and worst of {len(sets)} sets")
        for key, values in table.items():
            print(f"  {key:42s} {np.exp(np.mean(np.log(values))):.3f} {max(values):.3f}")


if __name__ == "__main__":
    run_script(main)
