"""How much of the package a default fit runs through: a reader who follows it meets so many files and functions.

Counted are functions and methods that are called at least once, the second time that a model is fitted. What Python
makes functions of in some versions only (comprehensions, lambdas) is left out, and so is the search for free memory,
which depends on the machine. The limits may only go down (they rose twice, when refined codes were given a search, and
by three functions when components that carry nothing were looked for): towards 25 files and 200 functions of a fit, 12
and 60 of ``transform``.
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

ROOT = str(Path(rkhs.__file__).parent)
X = load_iris().data
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
    ("kind", "fit", "transform"),
    [(KernelAutoencoder, (50, 322), (25, 110)), (KernelPCA, (32, 146), (16, 43))],
    ids=["KernelAutoencoder", "KernelPCA"],
)
def test_a_default_fit_runs_through_few_files_and_functions(
    kind: type, fit: tuple[int, int], transform: tuple[int, int]
) -> None:
    model = kind(2).fit(X)
    for name, act, limit in (("fit", lambda: model.fit(X), fit), ("transform", lambda: model.transform(X), transform)):
        found = called(act)
        files = {file for file, _ in found}
        assert len(files) <= limit[0], f"{kind.__name__}.{name} runs through {len(files)} files: {sorted(files)}"
        assert len(found) <= limit[1] + SLACK, f"{kind.__name__}.{name} runs through {len(found)} functions"


def test_the_counter_counts() -> None:
    assert called(lambda: None) == set()
    assert len(called(lambda: KernelPCA(2))) == 1
