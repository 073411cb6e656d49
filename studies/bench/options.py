"""What the options of the estimators change: held-out error or processor time beside that of the default.

Run: RKHS_DATA=... ./dev bench options [--splits 3] [--only DeepRKM]. Development sets, a quarter of at most 200 rows
is held out. Printed for each option and value: the least and the largest ratio to the default over the
sets, as geometric means over the splits, with one standard error of the mean logarithm; below 1 the value is better
than the default. "time" is processor time, the least of three. docs/user/options.md has the table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeCV
from sklearn.metrics import roc_auc_score

import rkhs
from rkhs.constraints import SoftSphere
from rkhs.features import FilledTable, Nystroem, RandomFeatures
from rkhs.losses import Huber
from rkhs.solvers import ADMM, FISTA, Adam, ProjectedGradient
from studies.bench.usefulness.protocol import Task, make_task
from studies.bench.usefulness.sets import all_sets
from studies.bench.wrong_curves import sets as curve_sets, spoil
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

TABLES = ("wine", "glass", "sonar", "growth", "digits")
Score = Callable[[Any, Task], float]


def rebuilt(model: Any, task: Task) -> float:
    """Mean squared error of new rows that are decoded from their codes."""
    model.fit(task.train)
    return float(((task.test - model.inverse_transform(model.transform(task.test))) ** 2).sum(1).mean())


def rebuilt_from_dirty(model: Any, task: Task) -> float:
    """The same, where one training row in ten has noise of five standard deviations."""
    rng, train = np.random.default_rng(0), task.train.copy()
    bad = rng.permutation(len(train))[: len(train) // 10]
    train[bad] += 5.0 * train.std(0) * rng.standard_normal(train[bad].shape)
    return rebuilt(model, Task(train, task.test, None, None, False, False))


def classes(model: Any, task: Task) -> float:
    """Mean squared error of a linear fit of the classes on the codes."""
    assert task.y_train is not None
    assert task.y_test is not None
    names = np.unique(task.y_train)
    train, test = model.fit(task.train).transform(task.train), model.transform(task.test)
    head = RidgeCV(np.logspace(-6, 3, 10)).fit(train, (task.y_train[:, None] == names).astype(float))
    return float(((head.predict(test) - (task.y_test[:, None] == names)) ** 2).sum(1).mean())


def predicted(model: Any, task: Task) -> float:
    """Mean squared error of predictions of one half of the columns from the other."""
    cut = task.train.shape[1] // 2
    model.fit(task.train[:, :cut], task.train[:, cut:])
    return float(((model.predict(task.test[:, :cut]) - task.test[:, cut:]) ** 2).sum(1).mean())


def curves(model: Any, task: Task) -> float:
    """Mean squared error of right curves, where a tenth of the training curves is wrong."""
    Y, _ = spoil(task.y_train, "wild", 0)
    return float(((model.fit(task.train, Y).predict(task.test) - task.y_test) ** 2).mean())


def novel(model: Any, task: Task) -> float:
    """One less the area under the curve of rows of other classes against new rows of the first."""
    first = np.unique(task.y_train)[0]
    known = model.fit(task.train[task.y_train == first])
    return 1.0 - float(roc_auc_score(task.y_test == first, known.score_samples(task.test))) + 1e-3


def gaps(model: Any, task: Task) -> float:
    """Mean squared error of cells that were taken away, in standard deviations."""
    rng, (train, test) = np.random.default_rng(0), (task.train.copy(), task.test.copy())
    train[rng.random(train.shape) < 0.2] = np.nan
    lost = rng.random(test.shape) < 0.2
    test[lost] = np.nan
    filled = model.fit(train.astype(object)).inverse_transform(model.transform(test.astype(object))).astype(float)
    return float((((filled - task.test) / task.train.std(0).clip(1e-9)) ** 2)[lost].mean())


def seconds(score: Score, model: Any, task: Task) -> float:
    """Processor time of fit and score."""
    times = []
    for _ in range(3):
        start = time.process_time()
        score(model, task)
        times.append(time.process_time() - start)
    return min(times)


@dataclass(frozen=True)
class Trial:
    """One estimator at its defaults, one measure, and the values of options that are tried."""

    name: str
    make: Callable[..., Any]
    score: Score
    values: dict[str, list[Any]]
    sets: tuple[str, ...] = TABLES
    rows: int = 200


kae = partial(rkhs.KernelAutoencoder, 2, random_state=0)
kpca = partial(rkhs.KernelPCA, 4)
deep = partial(rkhs.DeepRKM, (4, 2), random_state=0)
alike = partial(rkhs.KernelContrastive, 4, random_state=0)
huber = partial(rkhs.OperatorKernelRegressor, loss=Huber(0.5), reg=1e-3)
chosen = partial(rkhs.OperatorKernelRegressorCV, loss="huber")


def landmarks(**given: Any) -> rkhs.KernelPCA:
    """Kernel PCA on a hundred landmarks."""
    return kpca(storage=Nystroem(100, **given))


def frequencies(**given: Any) -> rkhs.KernelPCA:
    """Kernel PCA on two hundred random features."""
    return kpca(storage=RandomFeatures(200, **given))


REGRESSED = ("wine", "glass", "growth")
LABELLED = ("wine", "glass", "sonar", "digits")
IMAGES = ("digits", "satellite", "coil20")
TRIALS = (
    Trial(
        "KernelPCA",
        kpca,
        rebuilt,
        {
            "preimage": ["fixed_point", "nearest"],
            "decoder_kernel": ["gaussian", "linear"],
            "reg": ["auto", 1e-7, 1e-5, 1e-3],
            "loss": ["huber", "epsilon_insensitive"],
        },
    ),
    Trial(
        "KernelAutoencoder",
        kae,
        rebuilt,
        {"scale": [False], "init": ["random", "uniform"], "center": [False], "n_init": [3]},
    ),
    Trial(
        "KernelAutoencoder(constraint='soft')",
        partial(kae, constraint="soft"),
        rebuilt,
        {"constraint": [SoftSphere(0.01), SoftSphere(0.1), SoftSphere(10.0)]},
    ),
    Trial("KernelAutoencoder, heads", kae, classes, {"constraint": ["sphere", "ball", "whiten", "soft"]}, LABELLED),
    Trial("KernelAutoencoder(solver='adam')", partial(kae, solver=Adam()), rebuilt, {"solver": [Adam(0.1)]}),
    Trial(
        "DeepRKM",
        deep,
        rebuilt,
        {
            "out_of_sample": ["block"],
            "init": ["random"],
            "bandwidths": ["joint"],
            "code_scale": ["unit"],
            "center": [False],
        },
    ),
    Trial(
        "DeepRKM, time",
        deep,
        partial(seconds, rebuilt),
        {"solver": ["riemannian_lbfgs", "projected_gradient", ProjectedGradient(growth=1.0)]},
    ),
    Trial(
        "KernelContrastive",
        alike,
        classes,
        {"n_neighbors": [2, 15], "negatives": ["permutation"], "strict": [True], "loss": ["spectral"]},
        LABELLED,
    ),
    Trial("KernelNovelty", rkhs.KernelNovelty, novel, {"reg": [1e-3, 1e-1]}, ("wine", "sonar", "digits", "cancer")),
    Trial(
        "OperatorKernelRegressorCV",
        chosen,
        predicted,
        {"criterion": ["squared"], "gammas": [None], "kappas": [[0.1, 1.0]], "cv": [3], "center": [False]},
        REGRESSED,
    ),
    Trial(
        "OperatorKernelRegressor, time",
        huber,
        partial(seconds, predicted),
        {"solver": ["fista", ADMM(check_every=1), ADMM(check_every=16)]},
        REGRESSED,
    ),
    Trial(
        "OperatorKernelRegressor(solver='fista'), time",
        partial(huber, solver="fista"),
        partial(seconds, predicted),
        {"solver": [FISTA(check_every=1), FISTA(check_every=40)]},
        REGRESSED,
    ),
    Trial(
        "FunctionalKernelRegressor",
        rkhs.FunctionalKernelRegressor,
        curves,
        {
            "trim": [None, 2.0, 5.0],
            "n_basis": [5, 10],
            "basis": ["fourier", "cosine_sine", "empirical"],
            "center": [False],
        },
        ("curves",),
    ),
    Trial("Nystroem", landmarks, rebuilt, {"sampling": ["kmeans++", "leverage"]}, IMAGES, 800),
    Trial("RandomFeatures", frequencies, rebuilt, {"orthogonal": [False]}, IMAGES, 800),
    Trial("FilledTable", FilledTable, gaps, {"n_neighbors": [1, 20], "max_rows": [50]}, ("wine", "glass", "sonar")),
)


def tasks(names: tuple[str, ...], rows: int, splits: int) -> Iterator[tuple[str, list[Task]]]:
    """Splits of the development sets that are named."""
    if names == ("curves",):
        for name, X, Y in curve_sets(development=True):
            yield name, [_halves(X[:200], Y[:200], seed) for seed in range(splits)]
        return
    for data in all_sets(data_folder()):
        if data.name in names and data.development:
            yield data.name, [make_task(data, seed, rows) for seed in range(splits)]


def _halves(X: np.ndarray, Y: np.ndarray, seed: int) -> Task:
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = np.split(order, [len(order) // 4])
    return Task(X[train], X[test], Y[train], Y[test], False, False)


def main() -> None:
    """Print one line per option and value."""
    arguments = bench_arguments(__doc__, splits=3, only="")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for trial in TRIALS:
        if not trial.name.startswith(arguments.only):
            continue
        ratios: dict[str, dict[str, tuple[float, float]]] = {}
        for name, splits in tasks(trial.sets, trial.rows, arguments.splits):
            base = np.log([trial.score(trial.make(), task) for task in splits])
            for option, values in trial.values.items():
                for value in values:
                    logs = np.log([trial.score(trial.make(**{option: value}), task) for task in splits]) - base
                    spread = float(logs.std(ddof=1) / len(logs) ** 0.5)
                    ratios.setdefault(f"{option}={value!r}", {})[name] = float(np.exp(logs.mean())), spread
        for what, by_set in ratios.items():
            ends = [end(by_set.items(), key=lambda item: item[1][0]) for end in (min, max)]
            said = "; ".join(f"{ratio:.3f} +- {spread:.3f} ({name})" for name, (ratio, spread) in ends)
            print(f"{trial.name}: {what}: {said}", flush=True)


if __name__ == "__main__":
    run_script(main)
