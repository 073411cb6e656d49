"""A storage of a user's own class serves every estimator; `check_space` names the guarantee that one breaks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor

from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.features import FeatureMap, LandmarkMap, Nystroem, RandomFeatures
from rkhs.kernels import Gaussian
from rkhs.testing import BrokenPromise, check_space
from tests.contracts.own_storage import EvenlySpaced, RowsMap

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 3)), RNG.normal(size=(7, 3))
KERNEL = Gaussian(0.3)


class SameRows(Nystroem):
    """The landmarks of :class:`EvenlySpaced` in the library's own map."""

    def build(self, kernel: Any, items: Any, rng: Any) -> LandmarkMap:
        rows = items[torch.arange(self.m) * len(items) // self.m]
        return LandmarkMap(kernel, rows.numpy(), torch.linalg.cholesky(kernel._gram(rows)).numpy())


@pytest.mark.parametrize(
    "storage", [EvenlySpaced(12), Nystroem(20), RandomFeatures(30)], ids=lambda s: type(s).__name__
)
def test_storages_keep_their_promises(storage: Any) -> None:
    assert len(check_space(storage)) == 7


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2, kernel=KERNEL),
        KernelPCA(2, kernel=KERNEL, preimage="nearest"),
        KernelAutoencoder(2, kernel=KERNEL, linear_part="kernel"),
        KernelContrastive(2, kernel=KERNEL, random_state=0),
        DeepRKM((2, 2), kernel=KERNEL, random_state=0, max_iter=20),
        OperatorKernelRegressor(KERNEL, reg=1e-3),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'preimage', '')}",
)
def test_a_storage_without_a_base_class_serves_the_estimator(model: Any) -> None:
    answers = []
    for storage in (EvenlySpaced(12), SameRows(12)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the few iterations
            fitted = clone(model).set_params(storage=storage).fit(X, X[:, :2] ** 2)
        if isinstance(fitted, KernelAutoencoder):  # not convex: in another basis a solver ends at another point
            answers.append(np.array([[fitted.objective_]]))
            assert np.isfinite(fitted.transform(NEW)).all()
            continue
        answers.append(np.asarray((fitted.predict if hasattr(fitted, "predict") else fitted.transform)(NEW)))
    # Whitened in another basis the same model, up to signs.
    flips = np.sign((answers[0] * answers[1]).sum(0))
    np.testing.assert_allclose(answers[0] * flips, answers[1], atol=1e-2 * np.abs(answers[1]).max())


class Doubled(RowsMap):
    def raw(self, items: Tensor) -> Tensor:
        return 2.0 * super().raw(items)


class Kept(RowsMap):
    def __init__(self, kernel: Any, rows: Any, root: Any) -> None:
        super().__init__(kernel, rows, root)
        self._last: Any = None

    def raw(self, items: Tensor) -> Tensor:
        if self._last is None or self._last[0] is not items:
            self._last = items, super().raw(items)
        return self._last[1]


class Slanted(RowsMap):
    def whiten_adjoint(self, G: Tensor) -> Tensor:
        return 1.01 * self.whiten(G)


class Centred(RowsMap):
    def raw(self, items: Tensor) -> Tensor:
        raw = super().raw(items)
        return raw - raw.mean(0) if len(raw) > 1 else raw


@pytest.mark.parametrize(
    ("broken", "guarantee"),
    [
        (Doubled, "kept items are exact and others lie below"),
        (Kept, "raw features have the width and are new"),
        (Slanted, "features are raw features whitened"),
        (Centred, "kept items are exact|rows do not depend|raw features of elements"),
    ],
)
def test_broken_storages_are_named_by_their_mistake(broken: type[FeatureMap], guarantee: str) -> None:
    class Storage(EvenlySpaced):
        def build(self, kernel: Any, items: Any, rng: Any) -> RowsMap:
            good = super().build(kernel, items, rng)
            return broken(good.kernel, good.rows, good.root)  # type: ignore[return-value, call-arg]

    with pytest.raises(BrokenPromise, match=guarantee):
        check_space(Storage(12))


def test_what_is_no_storage_is_refused() -> None:
    for other in ("dense", Gaussian(1.0), EvenlySpaced):
        with pytest.raises(InputError, match="storage must be an object with m, random_state, keeps_items, check"):
            check_space(other)  # type: ignore[arg-type]
        if other != "dense":
            with pytest.raises(InputError, match="storage of KernelPCA must be one of"):
                KernelPCA(2, storage=other).fit(X)
