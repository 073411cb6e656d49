"""Refined against plain codes on held-out rows, on sets that were not used to choose defaults.

Run: RKHS_DATA=... ./dev bench refinement. Tables standardised by their training part, images divided by 255, at most
500 training rows, two random splits, 2 and 10 (4 for fewer than 13 columns) components, defaults otherwise. Printed:
mean held-out error of the refined codes over that of the plain ones, by set and split, and the worst of all.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, load_linnerud, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder
from studies.harness.scripts import data_folder, run_script


def sets(folder: Path) -> dict[str, np.ndarray]:
    """Sets outside the eleven on which defaults and the formula were found, as matrices."""
    cifar = np.load(folder / "cifar10_train" / "cifar10_train.npz")["X"].reshape(2000, -1)[:, ::8] / 255.0
    return {
        "iris": load_iris().data,
        "diabetes": load_diabetes().data,
        "linnerud": np.hstack([load_linnerud().data, load_linnerud().target]),
        "swiss roll": make_swiss_roll(600, random_state=0)[0],
        "cifar10": cifar,
        "yeast": np.load(folder / "yeast" / "yeast.npz")["X"],
        "emotions": np.load(folder / "ml_emotions" / "emotions.npz")["X"],
        "scene": np.load(folder / "ml_scene" / "scene.npz")["X"].astype(float),
        "cal500": np.load(folder / "ml_cal500" / "cal500.npz")["X"],
    }


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    worst: list[tuple[float, str]] = []
    for name, X in sets(data_folder()).items():
        for p in (2, 10 if X.shape[1] >= 13 else min(4, X.shape[1])):
            ratios = []
            for split in range(2):
                order = np.random.default_rng(split).permutation(len(X))
                cut = min(500, int(0.7 * len(X)))
                train, test = X[order[:cut]], X[order[cut : cut + 400]]
                if name != "cifar10":
                    spread = train.std(0)
                    spread[spread == 0.0] = 1.0
                    train, test = (train - train.mean(0)) / spread, (test - train.mean(0)) / spread
                model = KernelAutoencoder(p).fit(train)
                refined = model.reconstruction_error(test)
                plain = model.set_params(refine=False).reconstruction_error(test)
                ratios.append(float(refined.mean() / plain.mean()))
            print(f"{name:12s} {p:3d} components: refined / plain " + ", ".join(f"{r:.3f}" for r in ratios), flush=True)
            worst.append((max(ratios), f"{name}, {p} components"))
    mean = float(np.exp(np.mean([np.log(ratio) for ratio, _ in worst])))
    print(f"worst: {max(worst)[0]:.3f} on {max(worst)[1]}; geometric mean of the worse splits {mean:.3f}")


if __name__ == "__main__":
    run_script(main)
