"""How much of the package a default fit runs through: a reader who follows it meets so many files and functions.

Counted are functions and methods that are called at least once, the second time that a model is fitted. What Python
makes functions of in some versions only (comprehensions, lambdas) is left out, and so is the search for free memory,
which depends on the machine. The limits may only go down (they rose twice, when refined codes were given a search, and
by three functions when components that carry nothing were looked for): towards 25 files and 200 functions of a fit, 12
and 60 of ``transform``. ``python -m tests.estimators.test_trace`` prints what each default adds to a plain fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from sklearn.datasets import load_iris

import rkhs
from rkhs import KernelAutoencoder, KernelPCA
from rkhs.kernels import Gaussian

ROOT = str(Path(rkhs.__file__).parent)
X = load_iris().data
PLAIN: dict[str, Any] = {  # the model of the paper, nothing chosen and nothing refined
    "reg": (1e-3, 1e-3),
    "kernel": "gaussian",
    "decoder_kernel": Gaussian(1.0),
    "linear_part": "kernel",
    "refine": False,
    "code_metric": 0.0,
}
SLACK = 3  # functions that a line search calls on some machines and not on others


def called(act: Callable[[], Any]) -> set[tuple[str, int]]:
    """Files and first lines of the functions of the package that an action calls."""
    found: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            found.add((code.co_filename[len(ROOT) + 1 :], code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return {place for place in found if Path(place[0]).as_posix() != "_core/memory.py"}


@pytest.mark.parametrize(
    ("model", "fit", "transform"),
    [
        (KernelAutoencoder(2), (49, 324), (25, 112)),
        (KernelAutoencoder(2, **PLAIN), (42, 211), (16, 48)),
        (KernelPCA(2), (32, 146), (16, 43)),
    ],
    ids=["KernelAutoencoder", "plain KernelAutoencoder", "KernelPCA"],
)
def test_a_fit_runs_through_few_files_and_functions(
    model: Any, fit: tuple[int, int], transform: tuple[int, int]
) -> None:
    model.fit(X)
    for name, act, limit in (("fit", lambda: model.fit(X), fit), ("transform", lambda: model.transform(X), transform)):
        found = called(act)
        files = {file for file, _ in found}
        assert len(files) <= limit[0], f"{model}.{name} runs through {len(files)} files: {sorted(files)}"
        assert len(found) <= limit[1] + SLACK, f"{model}.{name} runs through {len(found)} functions"


def test_the_counter_counts() -> None:
    assert called(lambda: None) == set()
    assert len(called(lambda: KernelPCA(2))) == 1


def main() -> None:
    """Print what each default adds to a plain fit."""
    rows = [("plain", PLAIN)]
    rows += [(f"with the default {name}", {k: v for k, v in PLAIN.items() if k != name}) for name in PLAIN]
    for label, options in [*rows, ("default", {})]:
        model = KernelAutoencoder(2, **options).fit(X)
        fit, transform = called(lambda model=model: model.fit(X)), called(lambda model=model: model.transform(X))
        counts = [f"{len({file for file, _ in found})} files, {len(found)} functions" for found in (fit, transform)]
        print(f"{label}: fit {counts[0]}; transform {counts[1]}")


if __name__ == "__main__":
    main()
