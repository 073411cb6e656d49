"""Engines of estimators: the same bits whoever computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.engines import Threads
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from studies.reliability.cluster_kills import digest

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
