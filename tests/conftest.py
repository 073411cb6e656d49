"""A strict session: warnings are errors, one thread, and no test leaves a global setting changed."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import LibController, ThreadpoolController

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: torch reads it once
# Compiled once, as by ./dev: also where the settings of Python write no compiled files, and in processes of tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / "build" / "pycache"))


# What these modules ask of the system, Linux alone has: signals, pipes, permissions, limits of memory, /dev and /proc.
if sys.platform != "linux":
    collect_ignore = ["cli/test_outputs.py", "cli/test_streams.py", "cli/test_wrong_use.py", "core/test_bounded.py"]
    collect_ignore += ["core/test_safe_writing.py", "engines/test_cluster.py", "reliability/test_memory_guard.py"]

# What is collected and imported stays until the end, as trees of syntax do: the collector looks at young objects only.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before cases are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test with ``sample(n)``, n at equal steps are tried by default, and the others are slow."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in functions.values():
        count = cases[0].get_closest_marker("sample").args[0]
        kept = {i * len(cases) // count for i in range(count)}
        for i, item in enumerate(cases):
            if i not in kept:
                item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[None]:
    """Examples in docstrings are those of the library: no module of tests has one, and to look for them takes time."""
    found = yield
    return [one for one in found if type(one).__name__ != "DoctestModule"]


@cache
def _pools() -> list[LibController]:
    """The BLAS and OpenMP libraries of the process: one that a test leaves with more threads starves its neighbours."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own

    return ThreadpoolController().lib_controllers


def mkl_threads() -> str:
    """How many threads the MKL inside of torch takes; only torch sets this count, and only its description tells it."""
    import torch

    return "".join(re.findall(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info()))


def _torch_globals() -> dict[str, object]:
    """Every setting of torch that a library must leave alone; empty while torch is not imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    return {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "threads": (torch.get_num_threads(), mkl_threads(), *(pool.get_num_threads() for pool in _pools())),
        "gradient mode": torch.is_grad_enabled(),
        "deterministic mode": torch.are_deterministic_algorithms_enabled(),
        "random state": torch.get_rng_state().numpy().tobytes(),
    }


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        # No test compares tensors of a cluster: what knows them is imported by the first comparison, in two seconds.
        sys.modules["torch"].testing._comparison._HAS_DTENSOR = False


@pytest.fixture(scope="module", autouse=True)
def few_candidates() -> Iterator[dict[str, Any]]:
    """Fits are short: autoencoders try one regulariser and end early, maps try one decoder, forests have few trees.

    Yields what is replaced, by name. What most tests ask does not depend on the model that is chosen, nor on where a
    descent ends, nor on how often an accuracy is measured; the others use ``all_candidates`` or ``long_fits``.
    """
    from rkhs.cli import classification
    from rkhs.estimators import operator_regressor_cv
    from rkhs.estimators.autoencoder import choice_in_memory, choice_on_landmarks, settings
    from rkhs.estimators.maps import decoder, fit
    from rkhs.evaluation import comparison
    from rkhs.models import neighbour_map

    read, as_solver = settings._read_regs, settings.as_solver

    def few(*args: Any, **options: Any) -> dict[str, Any]:
        found = read(*args, **options)
        return {**found, "candidates": found["candidates"][-1:], "weaker": ()} if "candidates" in found else found

    def rough(solver: Any, names: Any, max_iter: Any, tol: float) -> Any:
        return as_solver(solver, names, max_iter, 0.1 if tol == 1e-4 else tol)  # the default

    short = {
        (settings, "_read_regs"): few,
        (settings, "as_solver"): rough,
        (choice_in_memory, "_ROUGH_TOL"): 0.1,
        (choice_in_memory, "ROUGH"): (1, 0.1),
        (choice_on_landmarks, "_STEPS"): 4,
        (choice_on_landmarks, "_DEEPER"): 5,
        (decoder, "_WIDTHS_AND_REGS"): decoder._WIDTHS_AND_REGS[1:2],
        (decoder, "_FOLDS"): 2,
        (comparison, "_TREES"): 5,
        (classification, "REPEATS"): 1,
        (operator_regressor_cv, "_BANDWIDTHS"): ("median",),
        (fit, "_FROM_COMPONENTS"): ((4.0, 4), (1.0, 8)),
        (neighbour_map, "_STEPS"): 5,
    }
    with pytest.MonkeyPatch.context() as patch:
        replaced = {f"{module.__name__}.{name}": getattr(module, name) for module, name in short}
        for (module, name), value in short.items():
            patch.setattr(module, name, value)
        yield replaced


@pytest.fixture
def all_candidates(few_candidates: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """All regularisers and decoders are compared, for tests of the choice among them."""
    for name, value in few_candidates.items():
        monkeypatch.setattr(name, value)


@pytest.fixture
def long_fits(few_candidates: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few candidates, but fits end where those of a user end, for tests of what is found there."""
    for name, value in few_candidates.items():
        if name.endswith(("as_solver", "ROUGH_TOL", "ROUGH", "STEPS", "DEEPER", "_FROM_COMPONENTS")):
            monkeypatch.setattr(name, value)


@pytest.fixture(autouse=True)
def _globals_left_alone() -> Iterator[None]:
    """Fail a test in which the library or the test changed a global setting or drew from torch's global generator."""
    before, errors = _torch_globals(), np.geterr()
    yield
    after = _torch_globals()
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"global torch settings changed during the test: {', '.join(changed)}"
    assert np.geterr() == errors, "numpy's error state changed during the test"


@pytest.fixture(autouse=True)
def _needs_a_gpu(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of its own for each test, always with the same seed."""
    return np.random.default_rng(20190417)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of benchmark data named by RKHS_DATA; tests that need it are skipped where there is none."""
    named = os.environ.get("RKHS_DATA")
    if not named:
        pytest.skip("RKHS_DATA is not set: no benchmark data on this machine")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail(f"RKHS_DATA names {named}, which is not a folder")
    return folder
