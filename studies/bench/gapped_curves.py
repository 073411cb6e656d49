"""Regression of curves on curves whose outputs have gaps: gaps as they are, or filled by straight lines.

Run: RKHS_DATA=... ./dev bench gapped_curves [--splits 3] [--sets gait made]. The sets of `wrong_curves`: growth (later
heights from earlier ones), weather (precipitation from temperature), gait (knee from hip) and a made one. A quarter of
the curves is held out and has no gaps. Of the others 30 % or 60 % of the output values are taken away at random, or
an end piece of each curve but three, of up to 60 % of the times. Each method is `FunctionalKernelRegressor()`: of the
whole curves, of curves filled by straight lines (the first and the last known value go on to the ends), and of the
gapped curves. Printed: mean squared error over that of the mean training curve, mean of the splits and standard error,
and seconds of a fit by the clock.
"""

from __future__ import annotations

import time
import warnings
from itertools import chain

import numpy as np

from rkhs import FunctionalKernelRegressor
from studies.bench.wrong_curves import sets
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script

SETS = ("growth", "weather", "gait", "made")
KINDS: dict[str, float | None] = {"30 %": 0.3, "60 %": 0.6, "ends": None}
_WHOLE = 3  # curves that keep their ends, so that every time is known somewhere


def with_gaps(Y: np.ndarray, share: float | None, rng: np.random.Generator) -> np.ndarray:
    """Curves of which a share of the values, or an end piece, is NaN; every curve and time keeps a known value."""
    n, T = Y.shape
    if share is None:
        lengths = (rng.uniform(0.0, 0.6, n) * T).astype(int)
        lengths[:_WHOLE] = 0
        return np.where(np.arange(T) >= T - lengths[:, None], np.nan, Y)
    gaps = rng.random(Y.shape) < share
    gaps[gaps.all(1), rng.integers(T)] = False
    gaps[rng.integers(n), gaps.all(0)] = False
    return np.where(gaps, np.nan, Y)


def with_lines(Y: np.ndarray) -> np.ndarray:
    """Straight lines between known values, and constants at the ends."""
    t = np.arange(Y.shape[1])
    return np.array([np.interp(t, t[~np.isnan(y)], y[~np.isnan(y)]) for y in Y])


def main() -> None:
    """Print one line per set and kind of gaps."""
    asked = bench_arguments(__doc__, splits=3, sets={"nargs": "*", "default": list(SETS)})
    warnings.simplefilter("ignore")
    known = {name: (X, Y) for name, X, Y in chain(sets(development=False), sets(development=True))}
    for name in asked.sets:
        X, Y = known[name]
        for kind, share in KINDS.items():
            errors: dict[str, list[float]] = {}
            spent: dict[str, list[float]] = {}
            for seed in range(asked.splits):
                order = np.random.default_rng(seed).permutation(len(X))
                train, test = order[: int(0.75 * len(X))], order[int(0.75 * len(X)) :]
                unit = ((Y[test] - Y[train].mean(0)) ** 2).mean()
                gapped = with_gaps(Y[train], share, np.random.default_rng(100 + seed))
                for method, seen in (("whole", Y[train]), ("lines", with_lines(gapped)), ("gaps", gapped)):
                    start = time.perf_counter()
                    model = FunctionalKernelRegressor().fit(X[train], seen)
                    spent.setdefault(method, []).append(time.perf_counter() - start)
                    errors.setdefault(method, []).append(((model.predict(X[test]) - Y[test]) ** 2).mean() / unit)
            cells = (
                f"{m} {np.mean(e):.3f} ({np.std(e, ddof=1) / len(e) ** 0.5:.3f}) {np.mean(spent[m]):.1f} s"
                for m, e in errors.items()
            )
            print(f"{name:9s}{kind:6s} " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    run_script(main)
