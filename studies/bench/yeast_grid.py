"""The yeast grids: every regulariser times every loss parameter times three folds, each fit certified.

First 300 rows, three ``train_test_split(test_size=1/3, random_state=i)``, Gaussian ``gamma=1``, no centring. Prints for
each loss the time of its grid, iterations a fit, the lowest held-out error with its support and saturation, and the
goals. Run with RKHS_DATA naming the folder of data sets:

    RKHS_DATA=... ./dev bench yeast_grid [--repeats 5] [--out grids.npz]
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from rkhs import OperatorKernelRegressor
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Loss, Squared, SquaredEpsilonInsensitive
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script
from studies.harness.timing import describe, interleaved, verdict

REGS = np.logspace(-8, -1, 20)
EPSILONS = np.linspace(0.1, 1.0, 10)
KAPPAS = np.logspace(-3, 1, 16)
GRIDS: dict[str, list[Loss]] = {
    "ridge": [Squared()],
    "epsilon-ridge": [SquaredEpsilonInsensitive(float(e)) for e in EPSILONS],
    "epsilon-SVR": [EpsilonInsensitive(float(e)) for e in EPSILONS],
    "Huber": [Huber(float(k)) for k in KAPPAS],
}
# Goals: seconds a grid, iterations a fit; must and stretch.
ITERATIONS = {"epsilon-ridge": (25, 18), "epsilon-SVR": (55, 40), "Huber": (30, 22)}


def folds() -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Inputs and labels of the three splits."""
    data = np.load(data_folder() / "yeast" / "yeast.npz", allow_pickle=False)
    X, Y = data["X"][:300], data["Y"][:300].astype(float)
    splits = [train_test_split(np.arange(300), test_size=1 / 3, random_state=i) for i in range(3)]
    return [(X[a], Y[a], X[b], Y[b]) for a, b in splits]


def solve(losses: list[Loss], data: list[Any]) -> list[Any]:
    """The path of every fold; Gram matrix and eigendecomposition included."""
    model = OperatorKernelRegressor(Gaussian(1.0), center=False, solver="auto", tol=1e-6)
    return [model.path(X, Y, regs=REGS, losses=losses) for X, Y, _, _ in data]


def errors(losses: list[Loss], data: list[Any]) -> dict[str, np.ndarray]:
    """Held-out errors, shares of support and saturation, iterations and relative gaps; (folds, settings)."""
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("error", "support", "saturated", "iterations", "gap")}
    for X, Y, X_test, Y_test in data:
        path = OperatorKernelRegressor(Gaussian(1.0), center=False).path(X, Y, regs=REGS, losses=losses)
        null = np.array([float(loss.value(-_tensor(Y)).mean()) for loss in path.losses])
        rows["error"].append(path.mean_squared_errors(X_test, Y_test))
        rows["support"].append(path.n_support / len(X))
        rows["saturated"].append(path.n_saturated / len(X))
        rows["iterations"].append(path.n_iter)
        rows["gap"].append(path.gaps / null)
    return {name: np.array(values) for name, values in rows.items()}


def _tensor(Y: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(Y)


def main() -> None:
    """Print quality and cost of every grid."""
    options = bench_arguments(
        __doc__, repeats=5, out={"help": "write errors, support, saturation and iterations to this npz file"}
    )
    data = folds()
    found = {name: errors(losses, data) for name, losses in GRIDS.items()}
    times = interleaved({name: partial(solve, losses, data) for name, losses in GRIDS.items()}, options.repeats)
    for name, losses in GRIDS.items():
        result = found[name]
        mean = result["error"].mean(0)
        best = int(mean.argmin())
        spread = result["error"][:, best].std(ddof=1)
        print(f"{name}: {mean.size * 3} fits, {describe(times[name])}, largest gap {result['gap'].max():.1e} P(0)")
        print(
            f"  lowest error {mean[best]:.5f} +- {spread:.5f} over folds at reg {REGS[best // len(losses)]:.1e}, "
            f"{losses[best % len(losses)]!r}: support {result['support'][:, best].mean():.0%}, saturated "
            f"{result['saturated'][:, best].mean():.0%}"
        )
        iterations = result["iterations"]
        low, middle, high = np.percentile(iterations, [25, 50, 75])
        print(f"  iterations a fit: mean {iterations.mean():.1f}, quartiles {low:g}, {middle:g}, {high:g}")
        if name in ITERATIONS:
            must, stretch = ITERATIONS[name]
            print(" ", verdict(f"{name} grid, seconds", statistics.median(times[name]), 3.0, 1.0))
            print(" ", verdict(f"{name} iterations a fit", float(iterations.mean()), must, stretch))
    if options.out:
        table = {f"{name}/{key}": v for name, result in found.items() for key, v in result.items()}
        np.savez(options.out, regs=REGS, epsilons=EPSILONS, kappas=KAPPAS, **table)


if __name__ == "__main__":
    run_script(main)
