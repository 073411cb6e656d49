"""Kernels on scaled columns: units and origins that come from the training rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs.kernels import ArcCosine, Gaussian, ScaledInputs

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3)) * np.array([1.0, 2.0, 5.0]) + 7.0


@pytest.mark.parametrize("base", [ArcCosine(), ArcCosine(bias=True), Gaussian(0.3)], ids=repr)
def test_named_units_are_those_of_centred_rows_of_unit_norm(base: ArcCosine | Gaussian) -> None:
    kernel = ScaledInputs(base, "mean_norm", "mean").resolve(torch.as_tensor(X))
    centred = X - X.mean(0)
    unit = np.sqrt((centred**2).sum(1).mean())
    np.testing.assert_allclose(kernel(X), base(centred / unit), rtol=1e-10)
    np.testing.assert_allclose(kernel.diag(X), base.diag(centred / unit), rtol=1e-10)
    np.testing.assert_allclose(kernel.scales, np.full(3, 1.0 / unit))
    np.testing.assert_allclose(kernel.offset, X.mean(0))


def test_weights_are_copies_of_rows() -> None:
    weights = torch.as_tensor(np.arange(1.0, 31.0) / 465.0)
    copies = torch.as_tensor(np.repeat(X, np.arange(1, 31), axis=0))
    kernel = ScaledInputs(ArcCosine(), "mean_norm", "mean")
    one, other = kernel.resolve(torch.as_tensor(X), weights), kernel.resolve(copies)
    np.testing.assert_allclose(one(X), other(X), rtol=1e-10)


def test_an_origin_beside_given_scales() -> None:
    kernel = ScaledInputs(ArcCosine(), (1.0, 2.0, 0.5), (7.0, 7.0, 7.0))
    np.testing.assert_allclose(kernel(X), ArcCosine()((X - 7.0) * np.array([1.0, 2.0, 0.5])))
    assert kernel.resolve(torch.as_tensor(X)) is kernel
