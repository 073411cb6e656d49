"""What choosing the regularisers costs, and how far the choice is from the best of a grid of fits from scratch.

Run: RKHS_DATA=... ./dev bench selection [--rows 2000] [--grid-rows 400] [--unseen] [SET ...]. Sets of
``harness/development.py``, on which defaults are chosen anyway; with ``--unseen`` those vectors of
``./dev bench usefulness`` on which none was.

Cost: processor time of ``KernelAutoencoder(p)`` over that of one fit with the regularisers that it chose, on the sets
with so many rows. Distance: on all sets with at most ``--grid-rows`` rows, the held-out error over the least of 4 x 5
regularisers, each fitted from scratch to all training rows. The least is found on the test rows, an advantage that the
choice does not have; so the error of the same grid chosen on other rows, every other test row, is printed beside it,
both on the rest. ``--grid-rows 0`` leaves the second part out; with 2,000 a set takes two minutes or more.

``--parts`` instead: rows left out in turn against held-out parts, for 40, 100 and 350 rows and 2, 5 and 10 components:
held-out error and processor time of the one over those of the other, two splits; and the leave-one-out error that
``diagnose`` gives over the one on the test rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, diagnose
from rkhs.estimators.autoencoder import choice_in_memory as autoencoder_choice
from studies.harness.development import components, development_sets, splits
from studies.harness.scripts import data_folder, run_script

GRID = [(a, b) for a in (1e-5, 1e-4, 1e-3, 1e-2) for b in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)]
WIDEST = 60


def development(names: list[str], rows: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Training and test rows of each set on which defaults are chosen."""
    for name, (X, kind) in development_sets(data_folder()).items():
        if not names or name in names:
            yield name, *list(splits(X, kind, seed + 1, rows))[seed]


def unseen(names: list[str], rows: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Training and test rows of each set of vectors on which no default was chosen."""
    from studies.bench.usefulness.sets import all_sets

    for data in all_sets(data_folder()):
        if data.development or data.gram or (names and data.name not in names):
            continue
        X = np.asarray(data.load()[0], dtype=float)
        if X.shape[1] <= components(X.shape[1]):  # no compression
            continue
        order = np.random.default_rng(seed).permutation(len(X))
        cut = min(len(X) // 4, 600)
        train, test = X[order[cut : cut + rows]], X[order[:cut]]
        if data.standardise:
            spread = np.where(train.std(0) > 0.0, train.std(0), 1.0)
            train, test = train / spread, test / spread
        yield data.name, train, test


def tasks(asked: argparse.Namespace, rows: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Training and test rows of each set; images as their leading principal components."""
    for name, train, test in (unseen if asked.unseen else development)(asked.sets, rows, seed):
        if train.shape[1] > 100 and len(train) > 100:
            pca = PCA(WIDEST, random_state=0).fit(train)
            train, test = pca.transform(train), pca.transform(test)
        yield name, train, test


def seconds(model: KernelAutoencoder, X: np.ndarray) -> float:
    """Processor time of a fit."""
    started = time.process_time()
    model.fit(X)
    return time.process_time() - started


def cost(asked: argparse.Namespace) -> None:
    """Print the price of the choice in fits."""
    costs = []
    for name, train, _ in tasks(asked, asked.rows, 0):
        if len(train) < asked.rows:
            continue
        p = min(asked.components, components(train.shape[1]))
        chosen = KernelAutoencoder(p)
        whole = seconds(chosen, train)
        costs.append(whole / seconds(KernelAutoencoder(p, reg=chosen.reg_), train))
        print(
            f"{name:15s} n = {len(train)}, p = {p}: {whole:.1f} s, {costs[-1]:.2f} fits, reg {chosen.reg_}", flush=True
        )
    if costs:
        print(f"cost: median {np.median(costs):.2f} fits, largest {max(costs):.2f} (aim: 3)\n", flush=True)
    else:
        print(f"cost: no set has {asked.rows} training rows\n", flush=True)


def distance(asked: argparse.Namespace) -> None:
    """Print held-out errors over those of the grid."""
    ratios, fair = [], []
    for name, train, test in tasks(asked, asked.grid_rows, asked.seed):
        p = min(asked.components, components(train.shape[1]))
        chosen = KernelAutoencoder(p).fit(train)
        error = chosen.reconstruction_error(test)
        grid = np.stack([KernelAutoencoder(p, reg=reg).fit(train).reconstruction_error(test) for reg in GRID])
        ratios.append(error.mean() / grid.mean(1).min())
        judged = error[1::2].mean(), grid[int(grid[:, ::2].mean(1).argmin()), 1::2].mean()
        fair.append(judged[0] / judged[1])
        print(
            f"{name:15s} n = {len(train)}, p = {p}: {ratios[-1]:.3f} of the best on the test rows "
            f"{GRID[int(grid.mean(1).argmin())]}, {fair[-1]:.3f} of one chosen on half of them; reg {chosen.reg_}",
            flush=True,
        )
    for values, what in ((ratios, "the best on the test rows"), (fair, "the best on half of them")) if ratios else ():
        mean, worst = np.exp(np.mean(np.log(values))), max(values)
        print(f"error over {what}: geometric mean {mean:.3f}, largest {worst:.3f} (aim: 1.02)")


def against_parts() -> None:
    """Print what leaving rows out in turn costs and gives beside held-out parts."""
    sets = development_sets(data_folder())
    for rows in (40, 100, 350):
        for asked in (2, 5, 10):
            errors, times, known = [], [], []
            for X, kind in sets.values():
                for train, test in splits(X, kind, 2, rows):
                    models = [KernelAutoencoder(min(asked, components(X.shape[1]))) for _ in range(2)]
                    left_out = seconds(models[0], train)
                    with patch.object(autoencoder_choice.ItemsCriterion, "one_by_one", False):
                        times.append(left_out / seconds(models[1], train))
                    errors.append(np.divide(*(m.reconstruction_error(test).mean() for m in models)))
                    found = diagnose(models[0], test)
                    known.append(found.leave_one_out_error / found.held_out_error)
            print(
                f"{rows:3d} rows, {asked:2d} components: error {np.exp(np.mean(np.log(errors))):.3f} "
                f"({min(errors):.2f} to {max(errors):.2f}), time {np.median(times):.2f} of parts; leave-one-out error "
                f"{np.exp(np.mean(np.log(known))):.2f} ({min(known):.2f} to {max(known):.2f}) of that on test rows",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--grid-rows", type=int, default=400)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--unseen", action="store_true", help="sets on which no default was chosen")
    parser.add_argument("--parts", action="store_true", help="rows left out in turn against held-out parts")
    parser.add_argument("--seed", type=int, default=0, help="of the split of the grid")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.parts:
        against_parts()
        return
    cost(asked)
    if asked.grid_rows:
        distance(asked)


if __name__ == "__main__":
    run_script(main)
