"""Which rows ``fit_robust`` says stand apart: how many of clean sets, and how many of spoilt rows, by the limit.

Run: RKHS_DATA=... ./dev bench outlier_sign. The fourteen development sets and two made families of noisy curves; at
most 240 rows fitted, four components, two splits. Clean: the share of the rows of the fit and of new rows with a score
of at most 1 that stand apart, above and below. Spoilt: one row in seventeen in turn gets drop-outs (a twelfth of its
cells, four standard deviations below the mean), gets spikes (one cell in 25, of four to ten), or keeps a tenth to a
third of its distance from the mean. Printed for limits of ``k`` robust standard deviations. The limit of the library is
the least half number that names at most a fiftieth of the clean rows of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from rkhs import KernelAutoencoder, fit_robust
from rkhs.estimators.robust_fit import RobustFit, spread_limits
from studies.bench.noisy_curves import NOISE, bumps, sines
from studies.harness.development import development_sets, splits
from studies.harness.scripts import data_folder, run_script

LIMITS = (2.0, 2.5, 3.0, 3.5, 4.0)
FAULTS = ("none", "drop-outs", "spikes", "weak")
P, ROWS, SPLITS = 4, 240, 2


def parts() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, training and new rows."""
    for name, (X, kind) in development_sets(data_folder()).items():
        for train, test in splits(X, kind, SPLITS, most=ROWS):
            yield name, train, test
    for family in (bumps, sines):
        for seed in range(SPLITS):
            rng = np.random.default_rng(100 + seed)
            X = family(rng, 2 * ROWS)
            X = X + NOISE * X.std() * rng.normal(size=X.shape)
            yield family.__name__, X[:ROWS], X[ROWS:]


def spoil(X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Spoilt rows, and the number of the fault of each."""
    n, d = X.shape
    X, spread, middle, fault = X.copy(), X.std(0), X.mean(0), np.zeros(n, dtype=int)
    for turn, i in enumerate(rng.permutation(n)[: max(3, n // 17)]):
        fault[i] = 1 + turn % 3
        if fault[i] == 1:
            cells = rng.permutation(d)[: max(1, d // 12)]
            X[i, cells] = middle[cells] - 4.0 * spread[cells]
        elif fault[i] == 2:
            cells = rng.permutation(d)[: max(1, d // 25)]
            sizes = rng.choice([-1.0, 1.0], len(cells)) * rng.uniform(4.0, 10.0, len(cells))
            X[i, cells] += sizes * spread[cells]
        else:
            X[i] = middle + rng.uniform(0.1, 0.3) * (X[i] - middle)
    return X, fault


def main() -> None:
    """Print a line a limit."""
    clean: list[tuple[RobustFit, np.ndarray]] = []
    spoilt: list[tuple[RobustFit, np.ndarray]] = []
    for seed, (_, train, test) in enumerate(parts()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fit_robust(KernelAutoencoder(P), train)
            clean.append((found, found.score_items(test)))
            X, fault = spoil(train, np.random.default_rng(seed))
            spoilt.append((fit_robust(KernelAutoencoder(P), X), fault))
    wrong = np.concatenate([found.outlier_score > 1.0 for found, _ in clean]).mean()
    print(f"{len(clean)} clean fits; {wrong:.2%} of the rows look wrong (score above 1)")
    for k in LIMITS:
        sides, new, none, most = [], [], 0, 0.0
        for found, scores in clean:
            low, high = spread_limits(found.outlier_score, k)
            each = [((s > high) & (s <= 1.0), s < low) for s in (found.outlier_score, scores)]
            sides.append(each[0])
            new.append(each[1])
            share = float(np.mean(each[0][0] | each[0][1]))
            none, most = none + (share == 0.0), max(most, share)
        above, below, new_above, new_below = (
            np.concatenate([pair[i] for pair in pairs]).mean() for pairs in (sides, new) for i in (0, 1)
        )
        named = [_named(spoilt, k, number) for number in range(len(FAULTS))]
        print(
            f"k = {k:g}: clean rows {above:.2%} above and {below:.2%} below ({none} of {len(clean)} fits name none, "
            f"the most is {most:.1%}); new rows {new_above:.2%} and {new_below:.2%}; with spoilt rows: "
            + ", ".join(f"{name} {share:.1%}" for name, share in zip(FAULTS, named, strict=True))
        )


def _named(spoilt: list[tuple[RobustFit, np.ndarray]], k: float, number: int) -> float:
    """Share of the rows with a fault that stand apart or look wrong."""
    hits = []
    for found, fault in spoilt:
        low, high = spread_limits(found.outlier_score, k)
        score = found.outlier_score[fault == number]
        hits.append((score > high) | (score < low))
    return float(np.concatenate(hits).mean())


if __name__ == "__main__":
    run_script(main)
