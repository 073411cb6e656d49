"""The lip figure: leave-one-out error of functional Huber regression against kappa, for five basis sizes.

Lip acceleration from EMG, 32 records and 4 outliers (copies of four records with outputs times -1.2), all 36 counted in
the error. For each basis size the regulariser is the one of the best leave-one-out ridge machine (closed form); then 36
folds times 50 kappas are solved in one batch. Run with RKHS_DATA naming the folder of data sets:

    RKHS_DATA=... ./dev bench lip [--repeats 5] [--out lip.npz] [--figures FOLDER]
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import numpy as np

from rkhs.solvers import ADMM, FISTA
from studies.harness.arguments import bench_arguments
from studies.harness.figures import curve_figure
from studies.harness.lip_curves import KAPPAS, SIZES, curves, figure
from studies.harness.scripts import run_script
from studies.harness.timing import describe, interleaved, ratio, verdict


def main() -> None:
    """Time both conventions against batched FISTA, and print the figure's main numbers."""
    options = bench_arguments(
        __doc__,
        repeats=5,
        out={"help": "write the errors to this npz file"},
        center={"action": "store_true", "help": "subtract the mean curve of each fold"},
        figures={"type": Path, "help": "write one PNG a convention to this folder"},
    )
    admm, fista = ADMM(tol=1e-6), FISTA(tol=1e-6)
    center = options.center
    _, Y, t = curves()
    left = (Y - (Y.sum(0) - Y) / (len(Y) - 1)) ** 2
    print(f"mean curve of the other 35 as prediction: {np.trapezoid(left, t, axis=1).mean():.4f}")
    for convention in ("reference", "orthonormal"):
        found = figure(admm, convention, center=center)
        print(f"{convention}: largest gap {found['gap']:.1e} P(0), iterations a fit", end=" ")
        print(", ".join(f"{i:.1f}" for i in found["iterations"]))
        for size, reg, ridge, errors in zip(SIZES, found["regs"], found["ridge"], found["errors"], strict=True):
            best = int(errors.argmin())
            print(
                f"  m={size:2d} reg {reg:.1e}: ridge {ridge:.4f}, Huber best {errors[best]:.4f} at kappa "
                f"{KAPPAS[best]:.2f}, at kappa 2: {errors[-1]:.4f}"
            )
        if options.out:
            np.savez(f"{options.out.removesuffix('.npz')}_{convention}.npz", kappas=KAPPAS, errors=found["errors"])
        if options.figures:
            names = [f"m = {size}" for size in SIZES]
            path = curve_figure(
                KAPPAS,
                dict(zip(names, found["errors"], strict=True)),
                dict(zip(names, found["ridge"], strict=True)),
                (f"lip acceleration, {convention} convention (ridge dashed)", "kappa", "leave-one-out error"),
                options.figures / f"lip_{convention}.png",
            )
            print(f"  figure: {path}")
        times = interleaved(
            {
                "default": partial(figure, admm, convention, center=center),
                "FISTA": partial(figure, fista, convention, center=center),
            },
            options.repeats,
        )
        print("  default:", describe(times["default"]), "| FISTA:", describe(times["FISTA"]))
        print(" ", verdict("lip figure, seconds", statistics.median(times["default"]), 3.0, 0.7))
        gain = ratio(times["FISTA"], times["default"])
        print(" ", verdict("batched FISTA / default", statistics.median(gain), 3.0, 6.0, smaller=False))


if __name__ == "__main__":
    run_script(main)
