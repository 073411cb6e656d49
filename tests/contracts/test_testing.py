"""The installed contract suites: every class of the library passes, and broken ones are named by their mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Kernel, Radial, Spectrum
from rkhs.losses import Huber, Loss
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers import (
    LBFGS,
    Adam,
    CayleyAdam,
    GradientDescent,
    ProjectedGradient,
    QuadraticPenalty,
    RiemannianLBFGS,
    Solver,
    Subspace,
)
from rkhs.testing import BrokenPromise, check_kernel, check_loss, check_solver
from tests.reference.losses import CoordinateHuber

SOLVERS: list[Solver] = [
    LBFGS(),
    Adam(0.1, 500),
    GradientDescent(),
    Subspace(),
    RiemannianLBFGS(),
    ProjectedGradient(),
    CayleyAdam(0.1, 150),
    QuadraticPenalty("lbfgs", mu=10.0, tau=1e-3),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_every_solver_keeps_its_promises(solver: Solver) -> None:
    assert len(check_solver(solver)) == 8


# ---------------------------------------------------------------- classes that break one guarantee each


class Shape(Radial):
    """A rational quadratic kernel that a flag spoils."""

    _power = 2

    def __init__(self, gamma: Any = 0.5, spoiled: bool = False) -> None:
        self.gamma, self.spoiled = gamma, spoiled

    def _profile(self, D: Tensor) -> Tensor:
        return 1.0 / (1.0 + self._gamma * D)

    def _slope(self, D: Tensor) -> Tensor:
        return -self._gamma / (1.0 + self._gamma * D) ** 2


class WrongSlope(Shape):
    def _slope(self, D: Tensor) -> Tensor:
        return 0.9 * super()._slope(D)


class WrongDiagonal(Shape):
    def _diag(self, X: Tensor) -> Tensor:
        return 2.0 * super()._diag(X)


class Indefinite(Shape):
    def _profile(self, D: Tensor) -> Tensor:
        return torch.cos(3.0 * D)


class OneForAll(Shape):
    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return super()._gram(X, Y) * (1.0 + X.mean() ** 2)

    def _diag(self, X: Tensor) -> Tensor:
        return super()._diag(X) * (1.0 + X.mean() ** 2)


class TakesAnything(Shape):
    def resolve(self, X: Any, weights: Any = None) -> Kernel:
        return self if isinstance(self.gamma, float) else Shape(1.0)

    @property
    def _gamma(self) -> float:
        return float(self.gamma)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (WrongSlope(), "gradients are gradients.*no gradient"),
        (WrongDiagonal(), "symmetric with its diagonal"),
        (Indefinite(), "positive semi definite.*smallest eigenvalue"),
        (OneForAll(), "do not depend on the others"),
        (TakesAnything(), "refused by name.*gamma"),
    ],
)
def test_a_broken_kernel_is_named(kernel: Kernel, said: str) -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    check_kernel(Shape(), X)
    with pytest.raises(BrokenPromise, match=said):
        check_kernel(kernel, X)


class Spoiled(Huber):
    """A Huber loss with one formula changed."""

    def gradient(self, R: Tensor) -> Tensor:
        return 0.9 * super().gradient(R)


class WrongConjugate(Huber):
    def conjugate(self, A: Tensor) -> Tensor:
        return 0.5 * super().conjugate(A)


class WrongProx(Huber):
    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        return super().prox_conjugate(A, 2.0 * step)


class NotConvex(Huber):
    def value(self, R: Tensor) -> Tensor:
        return super().value(R).sqrt()


class OfColumns(CoordinateHuber):
    """Says that it sees norms only."""

    isotropic = True


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (OfColumns(), "isotropic is True, and a rotation"),
        (Spoiled(0.8), "gradient"),
        (WrongConjugate(0.8), "fenchel young"),
        (WrongProx(0.8), "minimiser"),
        (NotConvex(0.8), "not convex"),
    ],
)
def test_a_broken_loss_is_named(loss: Loss, said: str) -> None:
    with pytest.raises(BrokenPromise, match=said):
        check_loss(loss)


class Step(Solver):
    """Gradient descent in twelve lines."""

    def __init__(self, rate: float = 0.05, steps: int = 400) -> None:
        self.rate, self.steps = rate, steps

    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        point = start.clone()
        for iteration in range(1, self.steps + 1):
            value, gradient = problem.value_and_grad(point)
            if monitor.row(iteration, value, float(gradient.norm())):
                break
            point = point - self.rate * gradient
        return Solution(
            point, problem.value_and_grad(point)[0], Reason.SCHEDULE, iteration, iteration, None, monitor.finish()
        )


class InPlace(Step):
    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        found = super()._solve(problem, start, monitor)
        start.copy_(found.point)
        return found


class Boastful(Step):
    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        found = super()._solve(problem, start, monitor)
        return Solution(found.point, found.value - 1.0, found.reason, found.n_iter, 0, None, found.history)


class Deaf(Step):
    def _solve(self, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        return super()._solve(problem, start, Monitor(callback=lambda row: monitor.row(**row_of(row)) and False))


class Careless(Step):
    def check(self, problem: Any) -> None:
        if not hasattr(problem, "value_and_grad"):
            raise InputError("Careless needs value_and_grad")


def row_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("iteration", "value", "measure")}


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (InPlace(), "must not change the start"),
        (Boastful(), "objective at its point"),
        (Deaf(), "asks to stop must be obeyed"),
        (Careless(), "must be refused: keeps"),
        (Step(steps=2), "of the way to the minimum"),
    ],
)
def test_a_broken_solver_is_named(solver: Solver, said: str) -> None:
    check_solver(Step())
    with pytest.raises(BrokenPromise, match=said):
        check_solver(solver)


def test_what_cannot_be_checked_is_said() -> None:
    for check, wrong in ((check_loss, "huber"), (check_solver, "lbfgs")):
        with pytest.raises(InputError, match="must be an instance"):
            check(wrong)  # type: ignore[operator]
    with pytest.raises(InputError, match="must be an instance"):
        check_kernel("gaussian", [[0.0]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least 6 items"):
        check_kernel(Gaussian(), [[0.0]])
    with pytest.raises(InputError, match="numbers for its parameters"):
        check_loss(Huber("auto"))
    for kernel, items in ((Gaussian(-1.0), np.eye(6)), (Spectrum(2), list(range(6)))):  # no guarantee is broken
        with pytest.raises(InputError, match="This may be right"):
            check_kernel(kernel, items)


def test_a_loss_without_its_formulas_is_named_at_once() -> None:
    class Half(Loss):
        def value(self, R: Tensor) -> Tensor:
            return 0.5 * (R * R).sum(-1)

    with pytest.raises(TypeError, match=r"Half.*conjugate, gradient, prox_conjugate"):
        Half()  # type: ignore[abstract]
