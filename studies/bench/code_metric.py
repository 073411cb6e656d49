"""Heads on codes in the metrics between the layers' and that of what is decoded, on development sets with labels.

Run: RKHS_DATA=... ./dev bench code_metric [--rows 400] [--seeds 2]. Printed for each head and ``code_metric``: the mean
score, on how many tasks it is higher and lower by 0.005 than with ``code_metric=0``, and the share of tasks on which it
is at most 0.01 below that of kernel principal components with defaults.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch

from rkhs import KernelAutoencoder, KernelPCA
from studies.bench.usefulness.heads import head_scores
from studies.bench.usefulness.protocol import Task, components, make_task
from studies.bench.usefulness.sets import all_sets
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def scores_of(task: Task, p: int, seed: int) -> dict[tuple[str, object], float]:
    """Scores of every head on the codes of every metric, and on kernel principal components."""
    models: dict[object, KernelAutoencoder | KernelPCA] = {
        power: KernelAutoencoder(p, kernel="precomputed" if task.gram else "auto", code_metric=power)
        for power in POWERS
    }
    models["kernel PCA"] = KernelPCA(p, kernel="precomputed" if task.gram else "gaussian")
    found = {}
    for name, model in models.items():
        train, test = model.fit(task.train).transform(task.train), model.transform(task.test)
        heads = head_scores(train, test, task.y_train, task.y_test, task.classes, seed)
        found.update({(head, name): value for head, value in heads.items()})
    return found


def main() -> None:
    arguments = bench_arguments(__doc__, rows=400, seeds=2)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tasks = []
    for data in all_sets(data_folder()):
        if not data.development or data.load()[1] is None:
            continue
        for seed in range(arguments.seeds):
            task = make_task(data, seed, arguments.rows)
            p = components(task, 10)
            if p is not None and task.y_train is not None:
                tasks.append(scores_of(task, p, seed))
    for head in dict.fromkeys(head for head, _ in tasks[0]):
        plain, pca = (np.array([task[head, name] for task in tasks]) for name in (0.0, "kernel PCA"))
        print(f"{head}, {len(tasks)} tasks; kernel PCA {pca.mean():.3f}")
        for power in POWERS:
            score = np.array([task[head, power] for task in tasks])
            better, worse = (score > plain + 0.005).sum(), (score < plain - 0.005).sum()
            level = (score >= pca - 0.01).mean()
            print(f"  code_metric={power:g}: {score.mean():.3f}, {better} higher, {worse} lower, level {level:.0%}")


if __name__ == "__main__":
    run_script(main)
