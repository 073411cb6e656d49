"""Robust losses, sets of codes, noise and three layers: landmarks on many rows beside the dense model on few of them.

Run: ./dev bench many_rows [--rows 100000] [--dense 3000] [--new 2000] [--models huber sphere ...] [--components 10]
[--landmarks M].

Made rows of 50 columns (``sines``). ``squared``, ``power`` and ``huber`` are fitted to rows of which a tenth are wrong:
noise of four standard deviations is added to them. Errors are those of clean new rows; with ``noise`` noise of the size
that the model knows is added to the new rows before they are coded, and they are compared with the clean ones.
``features`` rebuilds features of the kernel, and the variance is theirs. Each fit has a process of its own. ``dense``
is the same estimator with ``storage="dense"`` on the first rows, the other is ``storage="auto"``, or ``Nystroem(M)``
with ``--landmarks M``. Printed: error over the variance, processor seconds of the fit and of coding 1,000 new rows;
then the ratio of the errors, and their difference in paired standard errors over the new rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from typing import Any

import numpy as np

from rkhs.augment import GaussianNoise
from rkhs.losses import Power
from studies.harness.arguments import bench_arguments
from studies.harness.rows import sines_file
from studies.harness.scripts import run_child

_NOISE = 0.3  # of rows of standard deviation one
MODELS: dict[str, dict[str, Any]] = {
    "squared": {},
    "huber": {"loss": "huber"},
    "epsilon_insensitive": {"loss": "epsilon_insensitive"},
    "power": {"loss": Power(1.5)},
    "sphere": {"constraint": "sphere"},
    "ball": {"constraint": "ball"},
    "soft": {"constraint": "soft"},
    "white": {"constraint": "whiten"},
    "features": {"output_kernel": "same"},
    "noise": {"noise": GaussianNoise(_NOISE, copies=2)},
    "three_layers": {},
}


def rows_of(name: str, n: int, new: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, a tenth of them wrong where the loss is in question, and clean new rows."""
    held = np.load(sines_file(n + new), mmap_mode="r")
    X, test = np.array(held[:n], dtype=np.float64), np.array(held[n:], dtype=np.float64)
    if name in ("squared", "huber", "epsilon_insensitive", "power"):
        rng = np.random.default_rng(0)
        wrong = rng.random(n) < 0.1
        X[wrong] += 4.0 * X.std() * rng.normal(size=(int(wrong.sum()), X.shape[1]))
    return X, test


def child(arguments: argparse.Namespace) -> None:
    from rkhs import KernelAutoencoder
    from rkhs.features import Nystroem

    warnings.simplefilter("ignore")
    name, n = arguments.models[0], arguments.fitted
    X, new = rows_of(name, arguments.rows, arguments.new)
    p = arguments.components
    options = {"n_components": (2 * p, p) if name == "three_layers" else p, **MODELS[name]}
    landmarks = "auto" if arguments.landmarks is None else Nystroem(arguments.landmarks)
    storage = "dense" if n == arguments.dense else landmarks
    clock = time.process_time()
    model = KernelAutoencoder(**options, storage=storage, random_state=0).fit(X[:n])
    fit = time.process_time() - clock
    clock = time.process_time()
    if name == "noise":
        noisy = new + _NOISE * np.random.default_rng(0).normal(size=new.shape)
        errors = ((model.inverse_transform(model.transform(noisy)) - new) ** 2).sum(1)
    else:
        errors = model.reconstruction_error(new)
    variance = float(model._target_spread(new).mean()) if name == "features" else float(new.var(0).sum())
    code = (time.process_time() - clock) * 1000 / len(new)
    found = {"errors": errors.tolist(), "variance": variance, "fit": fit, "code": code}
    print(json.dumps({**found, "storage": str(model.storage_), "reg": model.reg_}))


def main() -> None:
    arguments = bench_arguments(
        __doc__,
        rows=100_000,
        dense=3000,
        new=2000,
        components=10,
        landmarks={"type": int},
        models={"nargs": "+", "default": list(MODELS), "choices": MODELS},
        child={"action": "store_true", "help": argparse.SUPPRESS},
        fitted={"type": int, "help": argparse.SUPPRESS},
    )
    if arguments.child:
        child(arguments)
        return
    sines_file(arguments.rows + arguments.new)
    for name in arguments.models:
        found = []
        for n in (arguments.dense, arguments.rows):
            done = run_child("studies.bench.many_rows", *sys.argv[1:], "--models", name, "--fitted", str(n))
            one = json.loads(done.stdout.splitlines()[-1])
            errors = np.array(one["errors"]) / one["variance"]
            found.append(errors)
            print(
                f"{name}, {n} rows, {one['storage']}, reg {one['reg']}: error {errors.mean():.4f}, "
                f"fit {one['fit']:.0f} s, 1,000 codes {one['code']:.1f} s",
                flush=True,
            )
        apart = found[1] - found[0]
        ratio, errors_apart = found[1].mean() / found[0].mean(), apart.mean() / (apart.std() / len(apart) ** 0.5)
        print(f"{name}: ratio {ratio:.3f}, {errors_apart:+.1f} paired standard errors", flush=True)


if __name__ == "__main__":
    main()
