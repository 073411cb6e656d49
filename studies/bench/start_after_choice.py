"""Where a fit on landmarks goes on from after its regularisers are chosen: the path of the choice, or a new start.

Run: RKHS_DATA=... ./dev bench start_after_choice [--rows 2800] [--splits 1]. Sets of ``harness/development.py`` of a
thousand rows and more, and three made ones. Both fits have the same regularisers. Printed: for each the objective of
the descent, the held-out error as a share of the variance, processor time of the last stages in seconds; and ratios of
a new start to the path, in the geometric mean.
"""

from __future__ import annotations

import argparse
import time
import warnings
from unittest.mock import patch

import numpy as np

from rkhs import KernelAutoencoder
from rkhs.estimators.autoencoder.finished_rows import AllStages
from studies.harness import development
from studies.harness.scripts import data_folder, run_script

SETS = ("satellite", "coil20", "mnist")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2800, help="for training, at most (2800)")
    parser.add_argument("--splits", type=int, default=1, help="into training and held-out rows (1)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = development.development_sets(data_folder())
    sets = {name: found[name] for name in SETS}
    sets["surface"] = development._surface(4000, 2), "table"
    sets["rough curves"] = development._curves(4000, 1, 0.7), "curves"
    sets["heavy tails"] = development._heavy(4000, 3), "table"
    ratios: dict[bool, list[np.ndarray]] = {True: [], False: []}
    print("set, split, components: path of the choice | new start (objective, held-out error, seconds)")
    for name, (X, kind) in sets.items():
        most = min(asked.rows, len(X) - 400)
        for split, (train, test) in enumerate(development.splits(X, kind, asked.splits, most)):
            for p in (2, development.components(X.shape[1])):
                both = [measured(train, test, p, path=path) for path in (True, False)]
                ratios[p == 2].append(both[1] / both[0])
                texts = ["{:.5f} {:.4f} {:.1f}".format(*one) for one in both]
                print(f"{name}, {split}, {p}: {' | '.join(texts)}", flush=True)
    for few, found_ratios in ratios.items():
        means = np.exp(np.log(found_ratios).mean(0))
        title = "two components" if few else "more"
        print(f"{title}: new start / path, objective {means[0]:.3f}, error {means[1]:.3f}, seconds {means[2]:.2f}")


def measured(train: np.ndarray, test: np.ndarray, p: int, *, path: bool) -> np.ndarray:
    """Objective of the descent, held-out error and processor time of the last stages."""
    solve, measures = AllStages.solve, []

    def last_stages(stages, start):
        begun = time.process_time()
        found = solve(stages, start if path else None)
        measures.extend((found.solution.value, time.process_time() - begun))
        return found

    with patch.object(AllStages, "solve", last_stages):
        model = KernelAutoencoder(p, random_state=0).fit(train)
    variance = ((test - train.mean(0)) ** 2).sum(1).mean()
    return np.array([measures[0], model.reconstruction_error(test).mean() / variance, measures[1]])


if __name__ == "__main__":
    run_script(main)
