"""Every public solver on every kind of problem: refused before the first evaluation, or an answer that is feasible."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import rkhs.problems
import rkhs.solvers
from rkhs import DeepRKM, InputOutputKernelRegressor, OperatorKernelRegressor
from rkhs._core.config import is_concrete
from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize
from rkhs.constraints import Ball, Constraint, SoftSphere, Sphere, Stiefel, Unconstrained, Whitened
from rkhs.kernels import Gaussian
from rkhs.losses import Huber, Squared
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.coordinates import jittered_factor
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.problems.dual import DualProblem, dual_problem
from rkhs.problems.encoders import ConstrainedCodes
from rkhs.problems.last_layers import ItemsLayer
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers import LBFGS, Solver

X = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
K = Gaussian(0.3)._gram(X)
SETS = [Unconstrained(), Sphere(), SoftSphere(), Ball(), Whitened(), Stiefel()]
SOLVERS = [
    cls
    for cls in (getattr(rkhs.solvers, name) for name in rkhs.solvers.__all__)  # names are imported on first use
    if isinstance(cls, type) and issubclass(cls, Solver) and is_concrete(cls)
]


class Everything:
    """``1/2 ||H - T||^2`` on a set: meets every protocol of an objective, so that only the set can be the reason."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint

    def value_and_grad(self, H: torch.Tensor) -> tuple[float, torch.Tensor]:
        return 0.5 * float(((H - 2.0 * X) ** 2).sum()), H - 2.0 * X

    def value_and_grads(self, H: torch.Tensor) -> tuple[float, torch.Tensor, torch.Tensor]:
        value, grad = self.value_and_grad(H)
        return value, grad, grad

    def freeze_last(self, first: torch.Tensor) -> Everything:
        return self

    def batch_value_and_grad(self, H: torch.Tensor, step: int) -> tuple[float, torch.Tensor, slice]:
        return *self.value_and_grad(H), slice(None)

    def resume(self) -> None:
        return None

    def keep(self, step: int, state: Any) -> None:
        return None


def machine(**settings: Any) -> ConstrainedDRKM:
    return ConstrainedDRKM.from_gram(K, kernels=(Gaussian(0.4),), n_components=(2, 1), eta=(1.0, 0.5), **settings)


def demanding(loss: Any) -> DualProblem:
    """A dual problem with a set, which no solver of dual problems keeps."""
    problem = dual_problem([(K, None)], X, loss, 0.1)
    made = object.__new__(type("Demanding", (DualProblem,), {"constraint": Stiefel()}))
    vars(made).update(vars(problem))
    return made


SPHERE = Autoencoder(ConstrainedCodes(jittered_factor(K), 0.1, Sphere()), ItemsLayer(X, Gaussian(0.4), 0.1))
PROBLEMS: dict[str, Callable[[], Any]] = {
    **{f"free on {each!r}": lambda each=each: Everything(each) for each in SETS},
    **{f"machine, center={center}": lambda center=center: machine(center=center) for center in (True, False)},
    "autoencoder": lambda: items_autoencoder(factorize(K), X, (Gaussian(0.4),), (3,), (0.1, 0.1)),
    "joint autoencoder": lambda: items_autoencoder(K, X, (Gaussian(0.4),), (3,), (0.1, 0.1), moving=True),
    "autoencoder in coefficients": lambda: items_autoencoder(K, X, (Gaussian(0.4),), (3,), (0.1, 0.1)),
    "sphere autoencoder": lambda: SPHERE,
    "squared dual": lambda: dual_problem([(K, None)], X, Squared(), 0.1),
    "Huber dual": lambda: dual_problem([(K, None)], X, Huber(0.5), 0.1),
    "squared dual on a set": lambda: demanding(Squared()),
    "Huber dual on a set": lambda: demanding(Huber(0.5)),
}


def watched(problem: Any) -> tuple[Any, list[str]]:
    """The problem, and a list that fills with the evaluations of its objective."""
    seen: list[str] = []
    for name in ("value_and_grad", "value_and_grads", "batch_value_and_grad", "freeze", "check", "apply", "prox"):
        method = getattr(problem, name, None)
        if method is not None:
            object.__setattr__(problem, name, lambda *args, m=method: (seen.append("called"), m(*args))[1])
    return problem, seen


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda cls: cls.__name__)
def test_refused_at_once_or_feasible(solver: type[Solver]) -> None:
    for name, build in PROBLEMS.items():
        if (name, solver.__name__) == ("joint autoencoder", "Alternating"):  # the last layer has no block of its own
            continue
        refused_or_feasible(solver, name, *watched(build()))


def refused_or_feasible(solver: type[Solver], name: str, problem: Any, seen: list[str]) -> None:
    demand = getattr(problem, "constraint", None)
    start = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    if name == "joint autoencoder":
        start = problem.encoder.pack(start, [torch.zeros_like(X)])
    try:
        found = solver(max_iter=8).solve(problem, start)
    except InputError as error:
        assert not seen, f"{name}: refused too late"
        assert "Solvers for this problem" in str(error) or "use solver=" in str(error)
        return
    assert torch.isfinite(found.point).all(), name
    if demand is not None:
        assert demand.violation(found.point) < 1e-6, name
    elif problem is SPHERE:
        assert Sphere().violation(problem.encoder.layers(found.point)[0]) < 1e-6, name


def test_constraints_and_constrained_problems_are_all_in_the_list() -> None:
    assert {type(each).__name__ for each in SETS} == set(rkhs.constraints.__all__) - {
        "CodeSet",
        "Constraint",
        "as_constraint",
    }
    modules = [importlib.import_module(f"rkhs.problems.{m.name}") for m in pkgutil.iter_modules(rkhs.problems.__path__)]
    classes = {cls for module in modules for cls in vars(module).values() if dataclasses.is_dataclass(cls)}
    assert {cls for cls in classes if hasattr(cls, "constraint")} == {ConstrainedDRKM}


def test_every_solver_that_a_problem_names_fits_it() -> None:
    P = machine(center=True)
    assert {cls.__name__ for cls in SOLVERS if _fits(cls(), P)} == set(P.solvers)


def _fits(solver: Solver, problem: Any) -> bool:
    try:
        solver.check(problem)
    except InputError:
        return False
    return True


class Own(Solver):
    """A user's solver that stays where it starts."""

    def _solve(self, problem: Any, start: torch.Tensor, monitor: Monitor) -> Solution:
        return Solution(start, problem.value_and_grad(start)[0], Reason.DECREASE, 1, 1)


class Keeping(Own):
    """The same, which says what it keeps."""

    def keeps(self, constraint: object) -> bool:
        return isinstance(constraint, Stiefel)


def test_a_solver_of_ones_own_says_what_it_keeps() -> None:
    with pytest.raises(
        InputError, match=r"solver: Own does not satisfy Stiefel\(\), .* Subspace, .* by its method keeps"
    ):
        DeepRKM((2, 1), solver=Own()).fit(X.numpy())
    assert DeepRKM((2, 1), solver=Keeping()).fit(X.numpy()).infeasibility_ < 1e-12


@pytest.mark.sample(7)
@pytest.mark.parametrize("solver", [cls() for cls in SOLVERS], ids=lambda solver: type(solver).__name__)
def test_solver_objects_of_the_deep_machine(solver: Solver) -> None:
    """What the estimator takes is feasible; what it does not names the argument."""
    solver.set_params(max_iter=8)
    model = DeepRKM((2, 1), solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X.numpy())
        except InputError as error:
            assert "solver" in str(error)
            return
    assert model.infeasibility_ < 1e-6


@pytest.mark.parametrize("estimator", [OperatorKernelRegressor, InputOutputKernelRegressor])
def test_solver_objects_of_others(estimator: type) -> None:
    """They take names, or solvers of dual problems."""
    with pytest.raises(InputError, match="solver must be one of"):
        estimator(solver=LBFGS()).fit(X.numpy(), X.numpy())
