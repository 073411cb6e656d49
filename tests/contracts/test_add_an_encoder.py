"""Encoders from outside: a set of codes in one place, another map to it in two more. The page quotes this file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from torch import Tensor

import rkhs
from rkhs import KernelAutoencoder, constraints
from rkhs._core.linalg import factorize
from rkhs.constraints import CodeSet, as_constraint
from rkhs.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.coordinates import Coordinates
from rkhs.problems.encoders import EncoderOutput, encoder_of
from rkhs.problems.last_layers import ItemsLayer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
IRIS = load_iris().data / load_iris().data.std(0)
X = torch.as_tensor(IRIS[::6])
TARGET = X - X.mean(0)


# [the set]
class Torus(CodeSet):
    """Pairs of columns on unit circles."""

    def project(self, Y: Tensor) -> Tensor:
        pairs = Y.view(len(Y), -1, 2)
        return (pairs / pairs.norm(dim=2, keepdim=True)).view_as(Y)

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        pairs, G = Y.view(len(Y), -1, 2), G.view(len(Y), -1, 2)
        norms = pairs.norm(dim=2, keepdim=True)
        H = pairs / norms
        return ((G - (G * H).sum(2, keepdim=True) * H) / norms).view_as(Y)


# [the encoder]
class Angles(Torus):
    """The same set, reached by angles."""


@dataclass(frozen=True, eq=False)
class AngleCodes:
    """Codes ``(cos T, sin T)`` of angles ``T = F V`` at the price ``reg / 2 ||V||^2``; points are ``V``."""

    factor: Coordinates
    reg: float

    def forward(self, point: Tensor) -> EncoderOutput:
        Z = self.layers(point)[0]
        turned = torch.stack([-Z[:, 1::2], Z[:, ::2]], 2).flatten(1)  # derivatives in the angles

        def backward(G: Tensor) -> tuple[Tensor, Tensor]:
            slopes = (turned * G).view(len(G), -1, 2).sum(2)
            grad = self.factor.pull(slopes) + self.reg * point
            return grad, grad

        return EncoderOutput(Z, 0.5 * self.reg * float((point * point).sum()), backward)

    def layers(self, point: Tensor) -> list[Tensor]:
        T = self.factor.codes(point)
        return [torch.stack([T.cos(), T.sin()], 2).flatten(1)]

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        return self.factor.solve(self.layers(point)[0]), []

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        return self.resume(self.factor.codes(W), hidden)

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        return self.factor.solve(torch.atan2(codes[:, 1::2], codes[:, ::2]))

    def start(self, targets: list[Tensor], scale: float, known: Tensor | None = None) -> Tensor:
        return self.factor.solve(scale * targets[0][:, ::2])


# [the registration]
@encoder_of.register(Angles)
def angle_codes(code_set: Angles, factor: Coordinates, reg: float, weights: Tensor | None) -> AngleCodes:
    return AngleCodes(factor, reg)


# [the end]


def on_torus(Z: Any) -> float:
    return float(np.abs(np.linalg.norm(np.asarray(Z).reshape(len(Z), -1, 2), axis=2) - 1.0).max())


@pytest.mark.parametrize("code_set", [Torus(), Angles()], ids=repr)
def test_codes_on_a_torus_are_a_set_like_any(code_set: Torus) -> None:
    model = KernelAutoencoder(4, constraint=code_set, reg=(1e-4, 1e-3), max_iter=40).fit(IRIS)
    assert on_torus(model.codes_) < 1e-12
    assert model.reconstruction_error(IRIS).mean() < 0.1 * IRIS.var(0).sum()
    assert on_torus(model.transform(IRIS[:9] + 0.1)) > 1e-6


@pytest.mark.parametrize("code_set", [Torus(), Angles()], ids=repr)
def test_two_layers_and_landmarks_take_the_torus(code_set: Torus) -> None:
    for options in ({"n_components": (4, 2), "reg": (1e-4,) * 3}, {"n_components": 4, "storage": Nystroem(20)}):
        model = KernelAutoencoder(**options, constraint=code_set, max_iter=5).fit(IRIS[::2])  # type: ignore[arg-type]
        assert np.isfinite(model.objective_)
    encoder = encoder_of(code_set, factorize(Gaussian(0.5)._gram(X)), 1e-2, None)
    problem = Autoencoder(encoder, ItemsLayer(TARGET, Gaussian(1.0), 1e-3))
    point = problem.encoder.start([TARGET], 1.0)
    step = 1e-6 * torch.as_tensor(np.random.default_rng(0).normal(size=point.shape))
    rise = problem.value(point + step) - problem.value(point - step)
    assert rise == pytest.approx(2.0 * float((problem.value_and_grad(point)[1] * step).sum()), rel=1e-4)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library with a name for the set, as a contribution would give it."""
    monkeypatch.setitem(constraints._NAMES, "torus", Torus)


@pytest.mark.parametrize("constraint", [Torus(), "torus"], ids=repr)
@pytest.mark.usefixtures("named")
def test_what_the_sphere_does_not_go_with_the_torus_does_not_either(constraint: Any) -> None:
    with pytest.raises(InputError, match="needs solver='lbfgs'"):
        KernelAutoencoder(4, constraint=constraint, solver="adam").fit(IRIS[::5])


@pytest.mark.usefixtures("named")
def test_a_name_is_the_set() -> None:
    by_name, by_object = (
        KernelAutoencoder(4, constraint=one, reg=(1e-4, 1e-3), max_iter=3).fit(IRIS[::5])  # type: ignore[arg-type]
        for one in ("torus", Torus())
    )
    assert by_name.objective_ == by_object.objective_


def test_other_objects_are_no_sets() -> None:
    assert isinstance(as_constraint(Torus()), Torus)
    with pytest.raises(InputError, match="CodeSet of your own"):
        as_constraint(object())


def test_a_model_with_a_set_of_somebodys_own_is_not_stored(tmp_path: Any) -> None:
    model = KernelAutoencoder(4, constraint=Torus(), reg=(1e-4, 1e-3), max_iter=2).fit(IRIS[::5])
    with pytest.raises(InputError, match="Torus"):
        rkhs.save(model, tmp_path / "m.rkhs")
