"""Engines and checkpoints of estimators: the same bits whoever computes, and after any crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import CheckpointError, InputError
from rkhs.engines import Journal, Serial, Threads
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from tests.reliability.cluster_kills import digest

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(3000, 4))
MODELS: dict[str, Callable[..., Any]] = {
    "pca": lambda **o: KernelPCA(2, storage=Nystroem(20), **o),
    "autoencoder": lambda **o: KernelAutoencoder(2, storage=Nystroem(20), linear_part="kernel", max_iter=3, **o),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_engines_fit_the_same_model(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = digest(MODELS[name](engine="serial").fit(X))
    assert digest(MODELS[name](engine="threads").fit(X)) == expected
    assert digest(MODELS[name](engine=Threads(3)).fit(mapped)) == expected
    assert digest(MODELS[name](checkpoint=tmp_path / "c").fit(X)) == expected
    assert not (tmp_path / "c").exists()
    assert torch.get_num_threads() == 1


def test_estimators_with_engines_are_cloned_and_refuse() -> None:
    model = KernelPCA(2, storage=Nystroem(20), engine=Threads(2))
    assert clone(model).get_params()["engine"] == Threads(2)
    with pytest.raises(InputError, match="engine must be 'serial'"):
        KernelPCA(2, storage=Nystroem(20), engine="spark").fit(X[:20])
    for make in (KernelPCA, KernelAutoencoder):
        with pytest.raises(InputError, match="engine='dask' computes blocks of rows, and storage='dense' has none"):
            make(1, storage="dense", engine="dask").fit(X[:20])
    with pytest.raises(InputError, match="n_jobs must be"):
        KernelPCA(2, engine=Threads(0)).fit(X[:20])


def test_engines_are_searched_like_kernels() -> None:
    assert KernelPCA(engine=Threads()).set_params(engine__n_jobs=3).engine == Threads(3)
    assert KernelPCA().set_params(engine=Threads(), engine__n_jobs=2).engine == Threads(2)
    for name, object_ in (("threads", "Threads()"), ("dask", "Dask()")):
        with pytest.raises(
            InputError, match=rf"engine__n_jobs is .* of an object; got .*\(for '{name}': {object_[:-2]}"
        ):
            KernelPCA(engine=name).set_params(engine__n_jobs=2)
    with pytest.raises(InputError, match="kernel__gamma is a parameter of an object; got kernel='gaussian'.*Gaussian"):
        KernelPCA().set_params(kernel__gamma=2)
    with pytest.raises(InputError, match="give checkpoint an object$"):
        KernelPCA().set_params(checkpoint__path="a")
    with pytest.raises(ValueError, match="Invalid parameter 'n_jobs'"):
        KernelPCA().set_params(n_jobs=2)


@pytest.mark.parametrize(("storage", "inside"), [("dense", 2), (Nystroem(20), 1), ("blocked", 1)])
def test_threads_of_dense_fits_are_those_of_the_engine(storage: Any, inside: int) -> None:
    seen: list[int] = []

    class Watched(Gaussian):
        def _gram(self, X: Any, Y: Any = None) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            return super()._gram(X, Y)

    KernelPCA(1, kernel=Watched(1.0), storage=storage, engine=Threads(2), reg=1e-3).fit(X[:50])
    assert set(seen) == {inside}
    assert torch.get_num_threads() == 1


class Crash(Exception):
    """Stands for a power failure."""


class Fragile(Serial):
    """An engine that breaks after so many sums."""

    def __init__(self, sums: int = 0) -> None:
        self.sums = sums

    def sum(self, *args: Any, **options: Any) -> tuple[np.ndarray, ...]:
        if self.sums == 0:
            raise Crash
        self.sums -= 1
        return super().sum(*args, **options)


@pytest.mark.parametrize("sums", [1, *(pytest.param(sums, marks=pytest.mark.slow) for sums in (9, 26))])
def test_an_autoencoder_goes_on_from_its_checkpoint(sums: int, tmp_path: Path) -> None:
    def model(**options: Any) -> KernelAutoencoder:
        return KernelAutoencoder(
            2, storage=Nystroem(20), linear_part="kernel", max_iter=5, checkpoint=tmp_path / "c", **options
        )

    expected = digest(model(engine="serial").fit(X))
    with pytest.raises(Crash):
        model(engine=Fragile(sums)).fit(X)
    assert (tmp_path / "c").exists() == (sums >= 9)  # before the first evaluation there is nothing to go on from
    if sums == 26:
        with pytest.raises(CheckpointError, match="belongs to other data, other parameters"):
            model(engine="serial", reg=0.5).fit(X)
        with pytest.raises(CheckpointError, match="belongs to other data"):
            model(engine="serial").fit(X + 1e-9)
    counted = Fragile(10_000)
    assert digest(model(engine=counted).fit(X)) == expected
    whole = Fragile(10_000)
    assert (
        digest(KernelAutoencoder(2, storage=Nystroem(20), linear_part="kernel", max_iter=5, engine=whole).fit(X))
        == expected
    )
    if sums == 26:  # evaluations that were kept are not computed again
        assert counted.sums >= whole.sums + 15


def test_a_dense_fit_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, calls = X[:80], []
    expected = digest(KernelAutoencoder(2, max_iter=12).fit(small))
    add = Journal.add

    def failing(self: Journal, *args: Any) -> None:
        if len(calls) == 9:
            raise Crash
        calls.append(args)
        add(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", failing)
        with pytest.raises(Crash):
            KernelAutoencoder(2, max_iter=12, checkpoint=tmp_path / "c").fit(small)
    assert digest(KernelAutoencoder(2, max_iter=12, checkpoint=tmp_path / "c").fit(small)) == expected
    assert not (tmp_path / "c").exists()
