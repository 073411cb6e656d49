"""Novelty on tables of ADBench: one call, beside the usual scores of scikit-learn.

Run: RKHS_DATA=... ./dev bench novelty [--seeds 2] [--part other]. Half of the normal rows, at most 1,500, are known;
the others, at most 1,500, and at most 1,500 outliers are new. Columns are standardised for all. Every method is called
at its defaults; the local outlier factor has its `novelty=True`. Printed: AUROC of
each, the mean, the share of normal rows with p at most .05 and .1, and seconds of processor of one fit and all scores.
The kernel, its bandwidth and the ridge of KernelNovelty were chosen on the sets marked "chosen on", not on the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from rkhs import KernelNovelty
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

CHOSEN_ON = (
    *("glass", "Hepatitis", "WBC", "Stamps", "Pima", "WDBC"),
    *("yeast", "vowels", "Wilt", "cardio", "letter", "Waveform"),
)
MOST, P_VALUES = 1500, (0.05, 0.1)
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def principal(X: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What components of nine tenths of the variance leave."""
    model = PCA(0.9).fit(X)
    return np.asarray(((new - model.inverse_transform(model.transform(new))) ** 2).sum(1))


def neighbour(k: int) -> Score:
    return lambda X, new: np.asarray(NearestNeighbors(n_neighbors=min(k, len(X))).fit(X).kneighbors(new)[0][:, -1])


METHODS: dict[str, Score] = {
    "KernelNovelty": lambda X, new: -KernelNovelty().fit(X).score_samples(new),
    "1st neighbour": neighbour(1),
    "5th neighbour": neighbour(5),
    "LOF": lambda X, new: -LocalOutlierFactor(novelty=True).fit(X).score_samples(new),
    "forest": lambda X, new: -IsolationForest(random_state=0).fit(X).score_samples(new),
    "one-class SVM": lambda X, new: -OneClassSVM().fit(X).score_samples(new),
    "PCA": principal,
}


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Known rows, and new ones with their labels; columns in units of the known rows."""
    stored = np.load(data_folder() / "adbench" / f"{name}.npz")
    X, y = stored["X"].astype(float), stored["y"]
    rng = np.random.default_rng(seed)
    normal, strange = rng.permutation(np.flatnonzero(y == 0)), rng.permutation(np.flatnonzero(y == 1))[:MOST]
    half = min(len(normal) // 2, MOST)
    known, new = normal[:half], np.r_[normal[half : half + MOST], strange]
    mean, scale = X[known].mean(0), X[known].std(0)
    scale[scale == 0.0] = 1.0
    return (X[known] - mean) / scale, (X[new] - mean) / scale, y[new]


def main() -> None:
    arguments = bench_arguments(
        __doc__, seeds=2, part={"choices": ("chosen on", "other"), "help": "one list of sets alone"}
    )
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = sorted(path.stem for path in (data_folder() / "adbench").glob("*.npz"))
    lists = {"chosen on": [n for n in names if n in CHOSEN_ON], "other": [n for n in names if n not in CHOSEN_ON]}
    for part, sets in lists.items():
        if arguments.part not in (None, part):
            continue
        print(f"{part:18}" + "".join(f"{name:>15}" for name in METHODS) + "     p<=.05  p<=.1")
        every = []
        for name in sets:
            rows = []
            for seed in range(arguments.seeds):
                X, new, y = split(name, seed)
                scores, seconds = [], []
                for method in METHODS.values():
                    started = time.process_time()
                    scores.append(roc_auc_score(y, method(X, new)))
                    seconds.append(time.process_time() - started)
                p = KernelNovelty().fit(X).p_values(new[y == 0])
                rows.append([*scores, *((p <= alpha).mean() for alpha in P_VALUES), *seconds])
            every.append(np.mean(rows, 0))
            _line(name, every[-1])
        _line("mean", np.mean(every, 0))
        spread = np.std(every, 0, ddof=1) / len(every) ** 0.5
        _line("standard error", spread)


def _line(name: str, found: np.ndarray) -> None:
    k = len(METHODS)
    cells = [f"{auc:7.3f} {second:5.2f} s" for auc, second in zip(found[:k], found[-k:], strict=True)]
    print(
        f"{name:18}" + "".join(f"{cell:>15}" for cell in cells) + "".join(f"{p:8.3f}" for p in found[k:-k]), flush=True
    )


if __name__ == "__main__":
    run_script(main)
