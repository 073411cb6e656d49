"""``device="cuda"``: estimators, their methods and kernels of vectors answer as on the processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_wine

import rkhs
from rkhs import (
    DeepRKM,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelNovelty,
    KernelPCA,
    OperatorKernelRegressor,
    diagnose,
)
from rkhs.errors import InputError
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Kernel, Tanimoto
from tests.contracts.estimator_examples import configurations, for_estimator
from tests.contracts.kernel_examples import EXAMPLES

pytestmark = pytest.mark.gpu

WINE = load_wine().data
WINE = (WINE - WINE.mean(0)) / WINE.std(0)
X, NEW = WINE[::2], WINE[1:40:2]
MORE: list[BaseEstimator] = [
    KernelAutoencoder(3, storage=Nystroem(60), reg=1e-3),
    KernelAutoencoder(3, storage=RandomFeatures(60), reg=1e-3),
    KernelAutoencoder(3, columns="scaled"),
    KernelAutoencoder(3, constraint="sphere"),
    KernelAutoencoder(3, kernel=Tanimoto(), output_kernel="same", reg=1e-2),
    KernelContrastive(3, storage=Nystroem(60)),
    KernelPCA(3, columns="scaled"),
    KernelPCA(3, storage=Nystroem(60, sampling="leverage")),
    KernelPCA(3, storage=Nystroem(60, sampling="kmeans++")),
    OperatorKernelRegressor(loss="epsilon_insensitive"),
    OperatorKernelRegressor(loss="huber", reg="auto", storage=Nystroem(60)),
    OperatorKernelRegressor(kernel=Gaussian(0.1), reg=1e-2, center=False),
]
MOVED = [e for e in (*configurations(), *MORE) if "device" in e.get_params() and "Map" not in repr(e)]
METHODS = ("predict", "predict_weights", "score_samples", "p_values", "reconstruction_error", "decision_function")
VECTORS = [
    pytest.param(k, id=f"{kind.__name__}{i}")
    for kind, many in EXAMPLES.items()
    for i, k in enumerate(many)
    if k.domain == "vectors"
]


def answers(model: Any, new: np.ndarray) -> dict[str, np.ndarray]:
    """What a fitted model answers for new rows, by the name of the method."""
    methods = [name for name in METHODS if callable(getattr(model, name, None))]
    if hasattr(model, "predict_set"):
        methods = [name for name in methods if name != "p_values"]  # which needs targets
    found = {name: np.asarray(getattr(model, name)(new)) for name in methods}
    if hasattr(model, "transform"):
        found["transform"] = model.transform(new)
    if callable(getattr(model, "inverse_transform", None)):
        found["inverse_transform"] = np.asarray(model.inverse_transform(found["transform"]))
    if callable(getattr(model, "predict_set", None)):
        try:
            sets = model.predict_set(new)
        except (InputError, ValueError):  # losses without leave-one-out, Gram matrices without a diagonal
            return found
        found["predict_set"] = np.asarray(sets.members if hasattr(sets, "members") else sets.upper - sets.lower)
    return found


def fitted(estimator: BaseEstimator, device: str) -> Any:
    """The model of an estimator on a device."""
    rows = for_estimator(estimator, (X, NEW))[0]
    model: Any = clone(estimator).set_params(device=device)
    needs_targets = estimator.__sklearn_tags__().target_tags.required
    return model.fit(rows, X[:, 0]) if needs_targets else model.fit(rows)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Relative to the norm."""
    one, other = (np.asarray(a, dtype=np.float64) for a in (one, other))
    return float(np.linalg.norm(one - other) / max(np.linalg.norm(other), 1e-12))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [e for e in (*configurations(), *MORE) if e.get_params().get("device") and "Map" not in repr(e)],
    ids=repr,
)
def test_answers_are_those_of_the_processor(estimator: BaseEstimator, tmp_path: Path) -> None:
    new = for_estimator(estimator, (X, NEW))[1]
    model = fitted(estimator, "cuda")
    here, there = answers(fitted(estimator, "cpu"), new), answers(model, new)
    assert here.keys() == there.keys()
    gaps = {name: difference(there[name], here[name]) for name in here}
    assert gaps.pop("predict_weights", 0.0) < 1e-3  # of outputs that nearly depend on each other
    assert max(gaps.values()) < 1e-5, gaps
    rkhs.save(model, tmp_path / "model.rkhs")
    loaded = rkhs.load(tmp_path / "model.rkhs")
    assert loaded.get_params()["device"] == "cpu"
    again = answers(loaded, new)
    assert max(difference(again[name], there[name]) for name in there if name != "predict_weights") < 1e-6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", VECTORS)
def test_kernels_of_vectors(kernel: Kernel) -> None:
    rows = np.abs(X[:, :3])
    codes = [KernelPCA(2, kernel=kernel, device=device).fit(rows) for device in ("cpu", "cuda")]
    here, there = (model.transform(rows[::-1]) for model in codes)
    assert difference(there @ there.T, here @ here.T) < 1e-6
    trained = [KernelAutoencoder(2, kernel=kernel, reg=1e-2, max_iter=3, device=d).fit(rows) for d in ("cpu", "cuda")]
    assert difference(trained[1].codes_, trained[0].codes_) < 1e-2  # stopped short: roundings of two devices differ


@pytest.mark.filterwarnings("ignore")
def test_other_ways() -> None:
    for device in ("cpu", "cuda"):
        parts = KernelPCA(3, kernel=Gaussian(0.1), storage=Nystroem(60), device=device)
        parts.partial_fit(X[:70]).partial_fit(X[70:])
        found = [
            parts.transform(NEW),
            np.asarray(diagnose(KernelAutoencoder(3, device=device).fit(X), NEW).held_out_error),
        ]
        machine = OperatorKernelRegressor(kernel="precomputed", device=device).fit(Gaussian(0.1)(X), X[:, :2])
        sets = machine.predict_set(Gaussian(0.1)(NEW, X), diag=np.ones(len(NEW)), gram=Gaussian(0.1)(X))
        found += [sets.lower, sets.upper]
        words = ["a" * (3 + i % 5) + "b" * (i % 3) for i in range(len(X))]
        names = InputOutputKernelRegressor(output_kernel="spectrum", device=device).fit(X, words)
        found += [names.scores(NEW, words[:7]), names.predict_set(NEW, words[:7]).members]
        objects = KernelAutoencoder(2, kernel="spectrum", reg=1e-2, device=device).fit(words)
        found += [objects.transform(words[:5]), objects.decode(objects.codes_[:4], words, n_best=2).indices]
        for kind in (KernelPCA, DeepRKM, KernelContrastive):
            found.append(kind(2, kernel="spectrum", device=device).fit(words).transform(words[:5]))
        parts = KernelPCA(2, kernel="spectrum", device=device).fit(words)
        found += [parts.reconstruction_error(words[:5]), parts.decode(parts.codes_[:4], words, n_best=2).indices]
        found.append(KernelNovelty(kernel="spectrum", device=device).fit(words).p_values(words[:5]))
        machine = OperatorKernelRegressor(kernel="spectrum", device=device).fit(words, X[:, 0])
        found += [machine.predict(words[:5]), machine.predict_set(words[:5]).lower]
        if device == "cpu":
            here = found
    for one, other in zip(found, here, strict=True):
        assert difference(np.asarray(one, float), np.asarray(other, float)) < 1e-5
