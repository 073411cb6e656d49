"""Bad rows in the training part: the robust fit against the squared model, both measured on clean rows.

Run: RKHS_DATA=... ./dev bench robust [SET ...]. At most 240 rows fitted, a tenth spoiled: noise of five standard
deviations, one far tight group, or numbers with tails without a mean; ten (or four) and two components, defaults
otherwise. Printed: held-out error over that of the squared model fitted to the clean rows alone (for "none": to all).
``trim`` was chosen on wine, waveform and phoneme, which are not measured unless they are named.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from rkhs import KernelAutoencoder, fit_robust

sys.path.insert(0, str(Path(__file__).parent / "usefulness"))

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
    from protocol import components, make_task
    from sets import all_sets

    folder = Path(os.environ["RKHS_DATA"]) if "RKHS_DATA" in os.environ else None
    ratios: dict[str, list[float]] = {}
    names = sys.argv[1:] or MEASURED
    for data in (one for one in all_sets(folder) if one.name in names):
        task = make_task(data, 0, 320)
        for level in (10, 2):
            p = components(task, level)
            for kind in ("none", "noise", "group", "tails") if p else ():
                X, bad = spoil(task.train, kind, np.random.default_rng(1))
                clean = KernelAutoencoder(p).fit(task.train[~bad]).reconstruction_error(task.test).mean()
                square = KernelAutoencoder(p).fit(X).reconstruction_error(task.test).mean() / clean
                start = time.process_time()
                found = fit_robust(KernelAutoencoder(p), X)
                seconds = time.process_time() - start
                robust = found.model.reconstruction_error(task.test).mean() / clean
                ratios.setdefault(kind, []).append(float(robust))
                missed, lost = (found.inliers & bad).sum(), (~found.inliers & ~bad).sum()
                print(
                    f"{data.name:17s} {p:2d} {kind:6s} squared {square:8.3f}  robust {robust:6.3f}  "
                    f"{missed} of {bad.sum()} bad rows kept, {lost} of {(~bad).sum()} good ones left out, "
                    f"{seconds:.2f} s",
                    flush=True,
                )
    for kind, values in ratios.items():
        within = np.mean(np.array(values) <= 1.05)
        print(f"{kind}: median {np.median(values):.3f}, largest {max(values):.3f}, within 5 % on {within:.0%}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
