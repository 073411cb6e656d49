"""Sets of candidates where an output has several rows, as a molecule its spectra: coverage of outputs that are new.

Run: ./dev bench candidate_groups [--draws 60]. Made data: sixty outputs of two numbers, half of them with three rows
that share an error; ten new outputs a draw, each among nineteen others. Printed: share of the true outputs in sets of
coverage .9, its standard error and the mean size, with a row left out together with its group, and alone.
"""

from __future__ import annotations

import warnings

import numpy as np

from rkhs import InputOutputKernelRegressor
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script


def draw(rng: np.random.Generator, count: int, alone: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, outputs and groups of rows; a share of the outputs has one row, the others three."""
    outputs = rng.normal(size=(count, 2))
    groups = np.repeat(np.arange(count), np.where(rng.random(count) < alone, 1, 3))
    shared = outputs @ np.array([[1.0, 0.5], [-0.5, 1.0]]) + 0.3 * rng.normal(size=(count, 2))
    return shared[groups] + 0.1 * rng.normal(size=(len(groups), 2)), outputs[groups], groups


def main() -> None:
    arguments = bench_arguments(__doc__, draws=60)
    warnings.simplefilter("ignore")
    held: dict[str, list[bool]] = {"with its group": [], "alone": []}
    sizes: dict[str, list[int]] = {name: [] for name in held}
    for seed in range(arguments.draws):
        rng = np.random.default_rng(seed)
        (X, Y, groups), (new, true, _) = draw(rng, 60, 0.5), draw(rng, 10, 1.0)
        candidates = [np.vstack([y, rng.normal(size=(19, 2))]) for y in true]
        model = InputOutputKernelRegressor(Gaussian("median"), output_kernel=Gaussian(0.5)).fit(X, Y, groups=groups)
        for name in held:
            model.groups_ = groups if name == "with its group" else None
            sets = model.predict_set(new, candidates, per_sample=True)
            held[name] += [bool(members[0]) for members in sets.members]
            sizes[name] += sets.sizes.tolist()
    for name, inside in held.items():
        error = np.std(inside) / len(inside) ** 0.5
        print(
            f"a row left out {name}: {np.mean(inside):.3f} +- {error:.3f}, {np.mean(sizes[name]):.1f} candidates a set"
        )


if __name__ == "__main__":
    run_script(main)
