"""Codes in the metric of what they decode to: what it changes, and that nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear, Matern
from rkhs.models.code_metric import code_map

RNG = np.random.default_rng(0)
X = np.stack([np.sin(RNG.uniform(0, 3, 60) * k) for k in range(1, 6)], 1) + 0.1 * RNG.normal(size=(60, 5))
NEW = X[:7] + 0.2 * RNG.normal(size=(7, 5))
FORMS = {
    "free linear part": ({"reg": 1e-3}, X),
    "kernels": ({"kernel": Gaussian(0.3), "decoder_kernel": Matern(1.5, 0.7) + Linear(0.1), "reg": 1e-3}, X),
    "gram": ({"kernel": "precomputed", "reg": 1e-3}, Gaussian(0.3)(X)),
    "features": ({"kernel": Gaussian(0.3), "output_kernel": "same"}, X),
    "landmarks": ({"storage": Nystroem(30), "random_state": 0}, X),
    "float32": ({"dtype": "float32"}, X),
}


def new_of(name: str) -> np.ndarray:
    return Gaussian(0.3)(NEW, X) if name == "gram" else NEW


LONG = ("features", "landmarks", "float32")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in FORMS]
)
def test_the_metric_changes_codes_by_an_invertible_map_and_nothing_else(name: str, tmp_path: Path) -> None:
    options, data = FORMS[name]
    new = new_of(name)
    plain = KernelAutoencoder(2, code_metric=0.0, **options).fit(data)
    model = KernelAutoencoder(2, code_metric=0.7, **options).fit(data)
    tolerance = 1e-3 if name == "float32" else 1e-8
    scale = np.abs(plain.codes_).max()
    assert plain.code_map_ is None
    assert np.abs(model.code_map_ - np.eye(2)).max() > 1e-3
    np.testing.assert_allclose(model.codes_, plain.codes_ @ model.code_map_, atol=tolerance * scale)
    np.testing.assert_allclose(model.transform(new), plain.transform(new) @ model.code_map_, atol=tolerance * scale)
    rebuilt, same = model.inverse_transform(model.transform(new)), plain.inverse_transform(plain.transform(new))
    np.testing.assert_allclose(rebuilt, same, atol=tolerance * np.abs(same).max())
    if name not in ("gram", "landmarks"):
        first, second = (m.decode(m.transform(new), n_best=3).indices for m in (model, plain))
        np.testing.assert_array_equal(first, second)
    covariance = np.cov(np.asarray(model.codes_, dtype=np.float64).T)
    assert abs(covariance[0, 1]) < tolerance * covariance[0, 0] * 10  # on principal axes
    assert covariance[0, 0] >= covariance[1, 1]
    rkhs.save(model, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    np.testing.assert_allclose(again.transform(new), model.transform(new), atol=1e-5 * scale)
    np.testing.assert_allclose(again.inverse_transform(model.codes_[:3]), model.inverse_transform(model.codes_[:3]))


def test_at_one_distances_of_codes_are_those_of_what_they_decode_to() -> None:
    kernel, rng = Matern(1.5, 0.4) + Linear(0.3), np.random.default_rng(1)
    Z, C = torch.as_tensor(rng.normal(size=(50, 3))), torch.as_tensor(rng.normal(size=(50, 8)))
    linear, weights = torch.as_tensor(rng.normal(size=(4, 8))), torch.as_tensor(rng.uniform(size=50))
    M = code_map(Z, Z, kernel.resolve(Z), C, linear, 1.0, weights)

    def decode(codes: torch.Tensor) -> torch.Tensor:
        return kernel.resolve(Z)._gram(codes, Z) @ C + codes @ linear[:-1] + linear[-1]

    for direction in torch.as_tensor(rng.normal(size=(4, 3))):
        step = 1e-5 * direction
        moved = ((decode(Z + step) - decode(Z - step)) / 2e-5).square().sum(1)
        assert float((direction @ M).square().sum()) == pytest.approx(
            float((weights @ moved) / weights.sum()), rel=1e-6
        )


def test_many_items_are_sampled_and_directions_without_effect_kept() -> None:
    rng = np.random.default_rng(2)
    Z, C = torch.as_tensor(rng.normal(size=(1000, 2))), torch.as_tensor(rng.normal(size=(1000, 5)))
    linear = torch.zeros(3, 5, dtype=torch.float64)
    linear[0] = 1.0  # the second component decodes to nothing
    M = code_map(Z, Z, Gaussian(1.0), 0.0 * C, linear, 0.5, None)
    assert torch.linalg.cond(M) == pytest.approx(1e2, rel=1e-6)  # the floor 1e-8 to the power 1/4
    assert code_map(Z, Z, Gaussian(1.0), 0.0 * C, 0.0 * linear, 0.5, None) is None
    every = code_map(Z[::5], Z, Gaussian(0.05), C, None, 0.5, None)
    some = code_map(Z, Z, Gaussian(0.05), C, None, 0.5, None)
    one, other = every @ every.mT, some @ some.mT
    assert float((one - other).norm() / one.norm()) < 0.2


@pytest.mark.parametrize("power", [-0.1, 1.1, "half"])
def test_powers_out_of_range_are_refused(power: object) -> None:
    with pytest.raises(InputError, match="code_metric"):
        KernelAutoencoder(2, code_metric=power).fit(X)


@pytest.mark.parametrize(("storage", "dtype"), [("dense", "float32"), (Nystroem(30), "float64")])
def test_weights_count_in_every_precision(storage: object, dtype: str) -> None:
    options = {"storage": storage, "dtype": dtype, "random_state": 0, "reg": (1e-3, 1e-2)}
    weights = np.where(np.arange(60) < 30, 1.0, 3.0)
    model = KernelAutoencoder(2, **options).fit(X, sample_weight=weights)
    other = KernelAutoencoder(2, **options).fit(X)
    assert np.isfinite(model.codes_).all()
    assert np.abs(model.code_map_ - other.code_map_).max() > 1e-4
    covariance = np.cov(model.codes_.astype(np.float64).T, aweights=weights)
    assert abs(covariance[0, 1]) < 1e-3 * covariance[0, 0]


def test_deep_and_constrained_codes_are_those_of_the_layers() -> None:
    for options in ({"n_components": (3, 2, 3)}, {"n_components": 2, "constraint": "sphere"}):
        model = KernelAutoencoder(**options, kernel=Gaussian(0.3), decoder_kernel=Gaussian(0.5), reg=1e-3).fit(X)
        assert model.code_map_ is None
        np.testing.assert_array_equal(model.codes_, model.layer_codes_[model.model_.narrowest])
