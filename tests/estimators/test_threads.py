"""What a default call takes: threads and imports, in a process without ``OMP_NUM_THREADS``, as users have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.engines import Threads
from rkhs.kernels import Gaussian

SRC = Path(__file__).parents[2] / "src"
X = np.random.RandomState(0).randn(12, 3)


@pytest.mark.slow
def test_a_report_needs_few_parts_of_scikit_learn_and_a_default_fit_one_thread() -> None:
    """One process of a user who has set no number of threads: imports, processor time, answers of every estimator."""
    env = {key: value for key, value in os.environ.items() if not key.endswith("NUM_THREADS")}
    env["PYTHONPATH"] = str(SRC)
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    parts, first, *lines = done.stdout.splitlines()
    heavy = {f"sklearn.{part}" for part in ("ensemble", "gaussian_process", "metrics", "model_selection", "svm")}
    assert "sklearn.base" in parts.split()
    assert not heavy & set(parts.split())
    ratio, same = first.split()
    assert float(ratio) < 1.3
    assert same == "True"
    found = [line.split() for line in lines]
    assert len(found) == 8
    assert not [line for line in found if line[1] != "True"]
    assert not [line for line in found if float(line[2]) > 1e-10]


# Parts of packages that a report needs. Processor times of the same fit, in turn: by default, and with one thread. Then
# answers of a default call where a user has two threads, of one thread, and of two that are asked for.
SCRIPT = """
import sys, rkhs.estimators, rkhs.reports
points = [[float(i), float(i * i % 7)] for i in range(12)]
rkhs.make_report(rkhs.KernelAutoencoder(1).fit(points), points)
print(*{'.'.join(name.split('.')[:2]) for name in sys.modules})
import time, warnings
from contextlib import nullcontext
import numpy as np, torch, threadpoolctl
from sklearn.datasets import load_digits
from rkhs import KernelAutoencoder
from rkhs.engines import thread_limit
warnings.simplefilter("ignore")
torch.set_num_threads(2)
threadpoolctl.threadpool_limits(2, user_api="blas")
X, spent, codes = load_digits().data, {None: [], 1: []}, {}
for n in (None, 1) * 2:
    start = time.process_time()
    with nullcontext() if n is None else thread_limit(n):
        model = KernelAutoencoder(2, max_iter=5, reg=1e-3).fit(X[:50])
        codes[n] = model.transform(X[50:80]).tobytes() + model.codes_.tobytes()
    spent[n].append(time.process_time() - start)
assert torch.get_num_threads() == 2
print(min(spent[None]) / min(spent[1]), codes[None] == codes[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 6))
Y, curves = np.sin(X @ rng.normal(size=(6, 3))), np.cumsum(rng.normal(size=(20, 20)), 1)
for model, data, method in (
    (rkhs.KernelPCA(3), (X,), "transform"),
    (rkhs.DeepRKM((3, 2), random_state=0, max_iter=2), (X,), "transform"),
    (rkhs.KernelContrastive(2, random_state=0), (X,), "transform"),
    (rkhs.OperatorKernelRegressor(loss="huber"), (X, Y), "predict"),
    (rkhs.OperatorKernelRegressorCV(cv=2), (X, Y), "predict"),
    (rkhs.InputOutputKernelRegressor(output_kernel="gaussian", reg=1e-2), (X, Y), "scores"),
    (rkhs.InputOutputKernelRegressor(output_kernel="gaussian"), (X, Y.round() + 2.0), "predict"),  # many ties
    (rkhs.FunctionalKernelRegressor(n_basis=5), (curves, np.sin(curves)), "predict"),
):
    found = []
    # Two threads wait for each other at every small product: asked for where a fit has few of them.
    few = isinstance(model, (rkhs.KernelPCA, rkhs.OperatorKernelRegressorCV, rkhs.InputOutputKernelRegressor))
    for n in (None, 1, 2 if few else 1):
        with nullcontext() if n is None else thread_limit(n):
            found.append(np.asarray(getattr(model.fit(*data), method)(data[0][:20])))
    apart = np.abs(found[2] - found[1]).max() / np.abs(found[1]).max()
    print(type(model).__name__, found[0].tobytes() == found[1].tobytes(), apart)
"""


class Watched(Gaussian):
    """A Gaussian kernel that notes how many threads compute it."""

    seen: list[int] = []

    def _gram(self, X: Any, Y: Any = None) -> torch.Tensor:
        self.seen.append(torch.get_num_threads())
        return super()._gram(X, Y)


@pytest.fixture
def two_threads() -> Any:
    """A user who has two threads of torch."""
    Watched.seen.clear()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [KernelAutoencoder(1, max_iter=3), KernelPCA(1)], ids=repr)
@pytest.mark.parametrize(("engine", "expected"), [(None, 1), ("serial", 1), (Threads(2), 2)])
def test_public_methods_take_the_threads_of_the_engine(
    two_threads: None, model: Any, engine: Any, expected: int
) -> None:
    model = clone(model).set_params(kernel=Watched(1.0), storage="dense", engine=engine).fit(X)
    codes = model.transform(X[:5])
    model.inverse_transform(codes)
    model.reconstruction_error(X[:5])
    model.score(X[:5])
    model.decode(codes, X)
    assert set(Watched.seen) == {expected}
