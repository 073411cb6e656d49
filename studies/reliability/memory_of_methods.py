"""Memory that public methods announce, and what they take, at one moderate size.

Run: python -m studies.reliability.memory_of_methods [--rows 1500] [--only KernelPCA.fit ...]; ``./dev reliability``
runs it too. Each call runs in a process of its own, after a small one of the same kind. "taken" is the largest resident
size during the call above that before it, with what is given in memory, and must be within a factor of two of what was
announced. A call that announces nothing may take what it returns, and tiles of kernel values, whose bytes do not depend
on the number of rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rkhs
from rkhs._core import memory
from studies.harness.rows import peak_bytes
from studies.harness.scripts import run_child

_FEW = 40  # rows of the call before
_FACTOR = 2.0  # between what is announced and what is taken
_CONSTANT = 400e6  # bytes of a few tiles and of what is computed of them, which depend on no number of rows
Call = Callable[[Any, np.ndarray, np.ndarray], Any]
"""A call of a fitted model on new rows and their targets."""

MODELS: dict[str, Callable[[], Any]] = {
    "KernelPCA": lambda: rkhs.KernelPCA(2),
    "KernelAutoencoder": lambda: rkhs.KernelAutoencoder(2, storage="dense", reg=1e-3, max_iter=2),
    "KernelMap": rkhs.KernelMap,
    "KernelNovelty": rkhs.KernelNovelty,
    "KernelContrastive": rkhs.KernelContrastive,
    "DeepRKM": lambda: rkhs.DeepRKM(max_iter=2),
    "OperatorKernelRegressor": lambda: rkhs.OperatorKernelRegressor(reg=1e-2),
    "OperatorKernelRegressorCV": rkhs.OperatorKernelRegressorCV,
    "InputOutputKernelRegressor": lambda: rkhs.InputOutputKernelRegressor(output_kernel="gaussian", reg=1e-2),
    "FunctionalKernelRegressor": rkhs.FunctionalKernelRegressor,
}
CALLS: dict[str, Call] = {
    "transform": lambda model, X, y: model.transform(X),
    "inverse_transform": lambda model, X, y: model.inverse_transform(model.codes_),
    "decode": lambda model, X, y: model.decode(model.codes_, n_best=1),
    "reconstruction_error": lambda model, X, y: model.reconstruction_error(X),
    "predict": lambda model, X, y: model.predict(X),
    "predict_set": lambda model, X, y: model.predict_set(X[:50]),  # its time, and not its memory, grows with the rows
    "predict_weights": lambda model, X, y: model.predict_weights(X),
    "p_values": lambda model, X, y: model.p_values(X),
    "score_samples": lambda model, X, y: model.score_samples(X),
    "scores": lambda model, X, y: model.scores(X),
}
NOT_OFFERED = {"FunctionalKernelRegressor.predict_set", "FunctionalKernelRegressor.p_values"}
"""Of models with an operator, whose rows cannot be left out in closed form."""


def cases() -> list[str]:
    """The fit of every model, and each of its methods."""
    found = []
    for name, make in MODELS.items():
        found += [f"{name}.fit", *(f"{name}.{call}" for call in CALLS if hasattr(type(make()), call))]
    return [case for case in found if case not in NOT_OFFERED]


def child(case: str, n: int) -> None:
    """Print what a call announces and takes, in bytes."""
    warnings.simplefilter("ignore")
    _measured(case, _FEW)
    announced, taken = _measured(case, n)
    print(json.dumps({"announced": announced, "taken": taken}))


def _measured(case: str, n: int) -> tuple[int, int]:
    name, _, call = case.partition(".")
    model, (X, y), (new, of_new) = MODELS[name](), _data(name, n, 0), _data(name, n, 1)
    given = (X, y) if "Regressor" in name else (X,)
    if call != "fit":
        model.fit(*given)
    found, initialise = [0], memory.Estimate.__init__

    def noted(estimate: memory.Estimate, *values: Any, **named: Any) -> None:
        initialise(estimate, *values, **named)
        found.append(estimate.n_bytes)

    memory.Estimate.__init__ = noted  # type: ignore[method-assign]
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts from here
    before = peak_bytes()
    if call == "fit":
        model.fit(*given)
    else:
        CALLS[call](model, new, of_new)
    taken, memory.Estimate.__init__ = peak_bytes() - before, initialise  # type: ignore[method-assign]
    return (max(found) if call == "fit" else sum(found)), taken  # a method keeps what it has announced before


def _data(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    if name == "FunctionalKernelRegressor":
        return r.normal(size=(n, 20)).cumsum(1), r.normal(size=(n, 20)).cumsum(1)
    X = r.normal(size=(n, 5))
    return X, np.sin(X[:, :2]) + 0.1 * r.normal(size=(n, 2))


def is_kept(announced: float, taken: float) -> bool:
    """Whether a call took what it announced, within a factor of two; small amounts are those of any call."""
    if announced == 0:
        return taken <= _CONSTANT
    low = announced / _FACTOR - memory._SMALL
    return low <= taken <= _FACTOR * announced


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--only", nargs="+", help="cases, such as KernelPCA.fit")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        child(arguments.child, arguments.rows)
        return
    lost = 0
    names = arguments.only or cases()
    print("| method | announced (MB) | taken (MB) |\n|---|---|---|", flush=True)
    for name in names:
        done = run_child("studies.reliability.memory_of_methods", name, "--rows", str(arguments.rows))
        if done.returncode != 0:
            lost += 1
            print(f"| `{name}` | failed | |", flush=True)
            continue
        found = json.loads(done.stdout)
        kept = is_kept(found["announced"], found["taken"])
        lost += not kept
        announced = f"{found['announced'] / 1e6:.0f}" if found["announced"] else "tiles"
        print(f"| `{name}` | {announced} | {found['taken'] / 1e6:.0f}{'' if kept else ' (!)'} |", flush=True)
    print(f"R11b: {len(names)} methods, {lost} beyond a factor of two of what they announce")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
