"""The code of the page that explains how to add a kernel runs, and its kernel keeps the guarantees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor, save
from rkhs.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import FromSklearn, VectorKernel
from rkhs.testing import check_kernel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user" / "add_a_kernel.md"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the code of the page defines."""
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(block, found)
    return found


def test_the_radial_kernel_is_the_formula(names: dict[str, Any]) -> None:
    kernel = names["RationalQuadratic"](gamma=0.5)
    np.testing.assert_allclose(kernel([[0.0], [2.0]]), [[1.0, 1 / 3], [1 / 3, 1.0]])
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 2)))
    V = torch.ones_like(X)
    V[0] = -1.0
    S = torch.eye(6, dtype=torch.float64).roll(1, 0)
    h = 1e-6
    slope = float(((kernel._gram(X + h * V) - kernel._gram(X - h * V)) * S).sum()) / (2 * h)
    assert abs(float((kernel.pullback(X, S) * V).sum()) - slope) < 1e-8
    assert isinstance(names["RationalQuadratic"]().resolve(X).gamma, float)


def test_the_histogram_kernel_is_that_of_scikit_learn(names: dict[str, Any]) -> None:
    X = np.random.default_rng(1).dirichlet(np.ones(4), size=9)
    X[0, 1:3] = 0.0
    own, theirs = names["ChiSquared"](gamma=2.0), FromSklearn("chi2", {"gamma": 2.0})
    np.testing.assert_allclose(own(X[:5], X), theirs(X[:5], X), rtol=1e-12)
    assert "gradients are gradients" not in check_kernel(own, X)  # it has none, so none were checked
    with pytest.raises(InputError, match="without negative numbers"):
        own(-X)


def test_the_page_and_the_check_promise_no_model_file(names: dict[str, Any]) -> None:
    X = np.random.default_rng(2).dirichlet(np.ones(4), size=12)
    kernel = names["ChiSquared"]()
    assert not [guarantee for guarantee in check_kernel(kernel, X) if "file" in guarantee]
    with pytest.raises(InputError, match=r"objects of rkhs only; got .*ChiSquared.*pickle.*precomputed"):
        save(KernelPCA(2, kernel=kernel).fit(X), "own.rkhs")


class Cosine(VectorKernel):
    """Without a value for rows of zeros."""

    def _gram(self, X: torch.Tensor, Y: torch.Tensor | None = None) -> torch.Tensor:
        A, B = (Z / Z.norm(dim=1, keepdim=True) for Z in (X, X if Y is None else Y))
        return A @ B.mT

    def _diag(self, X: torch.Tensor) -> torch.Tensor:
        return X.new_ones(len(X))


@pytest.mark.parametrize("model", [KernelPCA(2), KernelAutoencoder(2), OperatorKernelRegressor()])
def test_an_item_without_a_value_is_named(model: Any) -> None:
    X = np.random.default_rng(3).normal(size=(40, 3))
    model = clone(model).set_params(kernel=Cosine())
    given = (X, X) if isinstance(model, OperatorKernelRegressor) else (X,)
    ask = getattr(model.fit(*given), "transform", None) or model.predict
    X[3] = 0.0
    with pytest.raises(InputError, match=r"first in row 3 \(from 0\).* or its kernel gives no number for it"):
        ask(X)
    with pytest.raises(InputError, match=r"Cosine\(\) gives values that are not finite .*most with item 3 \("):
        clone(model).fit(*given)
    with pytest.raises(InputError, match=r"Cosine\(\) gives values that are not finite on these data; rescale"):
        KernelAutoencoder(2, kernel=Cosine(), storage=Nystroem(10)).fit(X)
