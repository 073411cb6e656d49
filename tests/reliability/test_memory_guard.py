"""Fits stay within the memory they announce, and what cannot fit is refused at once."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    GramTransformer,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelNovelty,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core import memory
from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder import opened_rows
from rkhs.estimators.options import memory_needs
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import FunctionalLaplacian, Gaussian
from rkhs.losses import Power
from tests.contracts.estimator_examples import estimators

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import json, resource, sys, warnings
import numpy as np, torch
from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
warnings.simplefilter("ignore")
torch.set_num_threads(1)
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
r = np.random.default_rng(0)
asks = [
    (KernelPCA(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 30_000),
    (KernelPCA(2, kernel=Gaussian(0.2)), 2_500),
    (KernelAutoencoder(2, kernel=Gaussian(0.2), max_iter=1), 2_500),
    (KernelAutoencoder(2, kernel=Gaussian(0.2), storage=Nystroem(50), max_iter=3, reg=1e-3), 30_000),
    (KernelContrastive(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 5_000),
    (DeepRKM(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 20_000),
]
for model, _ in asks:
    model.fit(r.standard_normal((300, 4)))
found = []
for model, n in asks:
    X = r.standard_normal((n, 4))
    before = peak()
    model.fit(X)
    found.append([model.announced_bytes_, peak() - before])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_peaks_stay_within_what_was_announced() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, cwd=ROOT / "src", check=True)
    for announced, peak in json.loads(done.stdout):
        assert peak <= 1.2 * announced


def test_a_regression_to_features_takes_what_it_announces() -> None:
    """The other methods are lines of R11b; a process of its own has a peak of its own."""
    words = ["-m", "studies.reliability.memory_of_methods", "--rows", "900", "--only", "InputOutputKernelRegressor.fit"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "R11b: 1 methods, 0 beyond a factor of two" in done.stdout


@pytest.mark.parametrize("n", [200_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("estimator", [KernelPCA, KernelAutoencoder])
def test_millions_of_rows_are_refused_at_once_with_the_storage_that_fits(estimator: type, n: int) -> None:
    X = np.zeros((n, 1))
    X[::2] = 1.0
    said = (
        rf"n={n} rows with storage='dense' needs about .*iB .*Use storage=Nystroem.* and some \d+ .* of one core; with"
    )
    with pytest.raises(InputError, match=said):
        estimator(2, storage="dense").fit(X)


@pytest.mark.parametrize("estimator", estimators())
def test_no_pair_of_rows_is_touched_before_the_memory_is_known(
    estimator: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: Any) -> None:
        raise AssertionError("a bandwidth or a Gram matrix was computed before the refusal")

    for kernel in (Gaussian, FunctionalLaplacian):
        monkeypatch.setattr(kernel, "resolve", touched)
        monkeypatch.setattr(kernel, "_gram", touched)
    monkeypatch.setattr(memory, "_SMALL", 0)  # small fits ask too
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    X = np.random.default_rng(0).normal(size=(1500, 3))
    with pytest.raises(InputError, match="n=1500 rows.*needs about .*iB"):
        estimator().fit(X, X) if "y" in inspect.signature(estimator.fit).parameters else estimator().fit(X)


@pytest.mark.parametrize(
    ("estimator", "way"),
    [
        (
            OperatorKernelRegressorCV,
            r"Use kernel='auto' on rows of numbers, OperatorKernelRegressor with storage=Nystroem\(1000\)",
        ),
        (InputOutputKernelRegressor, r"Use fewer rows, or OperatorKernelRegressor with storage=Nystroem.* are vectors"),
        (FunctionalKernelRegressor, r"Use OperatorKernelRegressor with storage=Nystroem.*on curves at the same times"),
        (GramTransformer, r"Use Nystroem\(1000\) of rkhs.features in its place"),
        (KernelNovelty, "Use fewer rows; here at most some"),
    ],
)
def test_a_refusal_names_the_way_out_of_this_estimator(
    estimator: type, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    X = np.random.default_rng(0).normal(size=(1500, 3))
    with pytest.raises(InputError, match=way):
        estimator().fit(X, X) if "y" in inspect.signature(estimator.fit).parameters else estimator().fit(X)


def test_the_rank_of_output_features_is_announced_before_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = np.random.default_rng(0).normal(size=(200, 3)), np.random.default_rng(1).normal(size=(200, 200))
    few, full = (InputOutputKernelRegressor().fit(X, y) for y in (X, Y))
    assert full.announced_bytes_ - 2**25 > 2.0 * (few.announced_bytes_ - 2**25)

    def solved(*_: Any) -> None:
        raise AssertionError("a system was solved before the refusal")

    monkeypatch.setattr(InputOutputKernelRegressor, "_choose_reg", solved)
    monkeypatch.setattr(memory, "_SMALL", 0)
    between = (few.announced_bytes_ + full.announced_bytes_) / 2
    monkeypatch.setattr(memory, "available_bytes", lambda: int(between / memory.SHARE))
    with pytest.raises(InputError, match="InputOutputKernelRegressor on n=200 rows needs about"):
        InputOutputKernelRegressor().fit(X, Y)


def test_what_is_asked_of_a_fitted_model_is_refused_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    machine = OperatorKernelRegressor(reg=1e-2).fit(X, X[:, 0])
    objects = InputOutputKernelRegressor(output_kernel="gaussian", reg=1e-2).fit(X, X)
    codes = KernelPCA(2).fit(X)
    asks: list[tuple[Callable[[], Any], str]] = [
        (lambda: machine.predict_set(X), "rows left out of OperatorKernelRegressor on n=300 rows needs about"),
        (lambda: machine.p_values(X), "rows left out of OperatorKernelRegressor on n=300 rows needs about"),
        (lambda: objects.predict_set(X), "rows left out of InputOutputKernelRegressor on n=300"),
        (lambda: objects.rank(X), "InputOutputKernelRegressor with 300 candidates needs about"),
        (lambda: codes.decode(codes.codes_, by="features"), "KernelPCA.decode with 300 candidates needs about"),
    ]
    for ask, _ in asks:
        ask()
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    for ask, said in asks:
        with pytest.raises(InputError, match=said):
            ask()


@pytest.mark.parametrize("estimator", [KernelAutoencoder, KernelContrastive])
def test_codes_of_endless_columns_are_refused(estimator: type) -> None:
    with pytest.raises(InputError, match="n_components"):
        estimator(10**12).fit(np.random.default_rng(0).normal(size=(20, 2)))


@pytest.mark.parametrize(
    "fit",
    [
        lambda X: RandomFeatures(10**9).fit(X),
        lambda X: KernelContrastive(storage=RandomFeatures(10**9)).fit(X),
        lambda X: KernelPCA(storage=RandomFeatures(10**9)).fit(X),
        lambda X: KernelPCA(storage=RandomFeatures(10**9)).partial_fit(X),
        lambda X: KernelAutoencoder(storage=RandomFeatures(10**9)).fit(X),
        lambda X: DeepRKM(2, storage=RandomFeatures(10**9)).fit(X),
        lambda X: OperatorKernelRegressor(storage=RandomFeatures(10**9)).fit(X, X),
        lambda X: Nystroem(10**9).fit(np.repeat(X, 100, 0)),
    ],
)
def test_no_feature_is_drawn_before_the_memory_is_known(
    fit: Callable[[np.ndarray], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(*_: Any) -> None:
        raise AssertionError("features were drawn before the refusal")

    monkeypatch.setattr(RandomFeatures, "build", drawn)
    monkeypatch.setattr(Nystroem, "build", drawn)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**24)
    with pytest.raises(InputError, match=r"m=1000000000.* needs about .*iB"):
        fit(np.random.default_rng(0).normal(size=(20, 2)))


@pytest.mark.parametrize("left", [2**32, 2**30, 2**29])
def test_what_a_refusal_advises_fits(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: left)
    monkeypatch.setattr(memory_needs, "available_bytes", lambda: left)

    class Announced(Exception):
        """Raised in place of the fit, once its memory is accepted."""

    def stop(*_: Any, **__: Any) -> None:
        raise Announced

    monkeypatch.setattr(opened_rows, "open_source", stop)
    X = np.random.default_rng(0).normal(size=(40_000, 5))
    refused = set()
    storage: Any = "dense"
    for _ in range(3):
        try:
            KernelAutoencoder(2, storage=storage).fit(X)
        except InputError as error:
            found = re.search(r"Use storage=Nystroem\((\d+)\)", str(error))
            assert found, error
            refused.add(repr(storage))
            storage = Nystroem(int(found[1]))
        except Announced:
            break
    assert refused == {"'dense'"}
    with pytest.raises(Announced if left == 2**32 else InputError, match=None if left == 2**32 else "=Nystroem"):
        KernelAutoencoder(2).fit(X)


def test_where_landmarks_do_not_go_a_refusal_says_how_many_rows_fit() -> None:
    X = np.zeros((200_000, 1))
    X[::2] = 1.0
    with pytest.raises(InputError, match=r"at most some [\d,]+ rows fit.*Power.* needs storage='dense'"):
        KernelAutoencoder(2, loss=Power(3.0)).fit(X)
