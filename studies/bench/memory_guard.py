"""Asks of every size under a limit of the address space: each is refused or finishes, within what was announced.

Run: ./dev bench memory_guard [--asks 100] [--gib 6] [--largest 1e7]. Every ask runs in a process of its own; "peak"
is the largest resident size above that before the fit, for asks that are stopped after ``--seconds`` up to there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import threading
import warnings
from typing import Any

import numpy as np

from studies.harness.arguments import bench_arguments
from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child
from studies.harness.timing import verdict

KINDS = ("pca dense", "pca blocked", "pca Nystroem", "pca RandomFeatures", "autoencoder dense", "autoencoder Nystroem")


def child(n: int, kind: str, gib: float, seconds: float) -> None:
    import torch
    from sklearn.exceptions import ConvergenceWarning

    from rkhs import KernelAutoencoder, KernelPCA
    from rkhs._core.errors import InputError
    from rkhs.estimators.run import Run
    from rkhs.features import Nystroem, RandomFeatures
    from rkhs.kernels import Gaussian

    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    estimator, name = kind.split()
    storage = {"Nystroem": Nystroem(200), "RandomFeatures": RandomFeatures(400)}.get(name, name)
    options = {"kernel": Gaussian(0.2), "storage": storage}

    def model(storage: object) -> KernelPCA | KernelAutoencoder:
        if estimator == "pca":
            return KernelPCA(2, **{**options, "storage": storage})
        return KernelAutoencoder(2, max_iter=1, **{**options, "storage": storage})

    X = np.random.default_rng(0).standard_normal((n, 4))
    model(storage).fit(X[:300])  # what the first fit of a process takes anyway
    limit = int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before, asked, runs = peak_bytes(), model(storage), []
    announce = Run.announce

    def noted(run: Run, *arguments: Any) -> None:  # the estimator says it after the fit, which may be stopped
        runs.append(run)
        announce(run, *arguments)

    Run.announce = noted

    def tell(**more: object) -> None:
        print(json.dumps({"announced": runs[-1].announced_bytes, "peak": peak_bytes() - before, **more}), flush=True)

    def stop() -> None:
        tell(stopped=seconds)
        os._exit(0)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        asked.fit(X)
    except InputError as error:
        print(json.dumps({"refused": str(error)}))
    else:
        tell()
    finally:
        timer.cancel()
        timer.join()


def ask(n: int, kind: str, gib: float, seconds: float) -> dict[str, float | str]:
    """What became of one ask."""
    sizes = (str(n), kind, str(gib), str(seconds))
    done = run_child("studies.bench.memory_guard", *sizes, stderr=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr[-300:]}


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        asks=100,
        gib=6.0,
        largest=1e7,
        seconds={"type": float, "default": 600.0, "help": "an ask that computes for longer is stopped"},
        child={"nargs": 4, "help": argparse.SUPPRESS},
    )
    if arguments.child:
        child(int(arguments.child[0]), arguments.child[1], *map(float, arguments.child[2:]))
        return
    draw = random.Random(0)
    ratios, failed, counts = [0.0], 0, {"refused": 0, "finished": 0, "stopped": 0}
    for _ in range(arguments.asks):
        n, kind = int(10 ** draw.uniform(3.0, np.log10(arguments.largest))), draw.choice(KINDS)
        found = ask(n, kind, arguments.gib, arguments.seconds)
        print(f"n = {n:>9,}, {kind}: {found}", flush=True)
        failed += "failed" in found
        if "peak" in found:
            ratios.append(float(found["peak"]) / float(found["announced"]))
            counts["finished"] += "stopped" not in found
        for word in ("refused", "stopped"):
            counts[word] += word in found
    print(counts)
    print(verdict("asks that neither finished nor were refused", failed, 0, 0))
    print(verdict("largest peak / announced", max(ratios), 1.2, 1.0))


if __name__ == "__main__":
    main()
