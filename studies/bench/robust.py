"""Bad rows in the training part: the robust fit against the squared model, both measured on clean rows.

Run: RKHS_DATA=... ./dev bench robust [SET ...]. At most 240 rows fitted, a tenth spoiled: noise of five standard
deviations, one far tight group, or numbers with tails without a mean; ten (or four) and two components, defaults
otherwise. Printed: held-out error over that of the squared model fitted to the clean rows alone (for "none": to all),
of all splits together, with the least and largest ratio of one split.
``trim`` was chosen on wine, waveform and phoneme, what is far on fourteen development sets; none of them is measured
unless it is named.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rkhs import KernelAutoencoder, fit_robust
from studies.harness.scripts import data_folder_if_any

KINDS = ("none", "noise", "group", "tails")
MEASURED = (
    *("iris", "diabetes", "swiss roll", "patches", "dsprites", "cifar10, grey", "yeast", "emotions", "scene"),
    *("cal500", "gunpoint", "italypowerdemand", "digits", "satellite"),
)


def spoil(X: np.ndarray, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A tenth of the rows spoiled, and which they are."""
    bad = np.zeros(len(X), dtype=bool)
    if kind == "none":
        return X, bad
    bad[rng.permutation(len(X))[: len(X) // 10]] = True
    scale, shape = X.std(0).mean(), (int(bad.sum()), X.shape[1])
    X = X.copy()
    if kind == "noise":
        X[bad] += 5.0 * scale * rng.normal(size=shape)
    elif kind == "group":
        X[bad] = X.mean(0) + 10.0 * scale * rng.normal(size=shape[1]) + 0.1 * scale * rng.normal(size=shape)
    else:
        X[bad] = X.mean(0) + 10.0 * scale * rng.standard_cauchy(size=shape)
    return X, bad


def main() -> None:
    """Print a line a task and the summary."""
    from studies.bench.usefulness.protocol import components, make_task
    from studies.bench.usefulness.sets import all_sets

    parser = argparse.ArgumentParser(prog="./dev bench robust", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", nargs="*", default=MEASURED, metavar="SET")
    parser.add_argument("--splits", type=int, default=5, metavar="N")
    args = parser.parse_args()
    folder = data_folder_if_any()
    ratios: dict[str, list[float]] = {}
    for data in (one for one in all_sets(folder) if one.name in args.sets):
        tasks = [make_task(data, seed, 320) for seed in range(args.splits)]
        for level in (10, 2):
            p = components(tasks[0], level)
            for kind in KINDS if p else ():
                measured = np.array([measure(task, p, kind, seed) for seed, task in enumerate(tasks)])
                clean, square, robust, missed, bad, lost, good, seconds = measured.T
                ratio, each = robust.sum() / clean.sum(), robust / clean
                ratios.setdefault(kind, []).append(float(ratio))
                print(
                    f"{data.name:17s} {p:2d} {kind:6s} squared {square.sum() / clean.sum():9.3f}  robust {ratio:6.3f} "
                    f"({each.min():.2f} to {each.max():.2f})  {missed.sum():.0f} of {bad.sum():.0f} bad rows kept, "
                    f"{lost.sum():.0f} of {good.sum():.0f} good ones left out, {np.median(seconds):.2f} s",
                    flush=True,
                )
    for kind, values in ratios.items():
        within = np.mean(np.array(values) <= 1.05)
        print(
            f"{kind}: geometric mean {np.exp(np.log(values).mean()):.3f}, median {np.median(values):.3f}, "
            f"largest {max(values):.3f}, within 5 % on {within:.0%} of {len(values)}"
        )


def measure(task: Any, p: int, kind: str, seed: int) -> tuple[float, ...]:
    """Errors of the squared model without and with the bad rows and of the robust fit; rows that it took for others."""
    X, bad = spoil(task.train, kind, np.random.default_rng(1 + seed))
    clean, square = (
        KernelAutoencoder(p).fit(rows).reconstruction_error(task.test).mean() for rows in (task.train[~bad], X)
    )
    start = time.process_time()
    found = fit_robust(KernelAutoencoder(p), X)
    seconds = time.process_time() - start
    robust = found.model.reconstruction_error(task.test).mean()
    missed, lost = (found.inliers & bad).sum(), (~found.inliers & ~bad).sum()
    return clean, square, robust, missed, bad.sum(), lost, (~bad).sum(), seconds


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
