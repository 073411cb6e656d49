"""Adam, gradient descent and the alternating scheme: known minima, every reason to stop, the same optimum for all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.protocols import Monitor, Reason
from rkhs.solvers import LBFGS, Adam, Alternating, GradientDescent
from rkhs.solvers.registry import DESCENTS, as_solver
from tests.solvers.functions import Broken, Quadratic, Rosenbrock

ZERO = torch.zeros(20, dtype=torch.float64)


def small(n: int = 12, *, moving: bool = False) -> tuple[Autoencoder, Autoencoder]:
    """Strong penalties: one well, up to rotation. In coefficients, and in coordinates."""
    X = torch.as_tensor(np.random.default_rng(0).normal(size=(n, 2)))
    K = Gaussian(0.3)._gram(X) + 1e-2 * torch.eye(n, dtype=torch.float64)
    settings = ((Gaussian(0.3),), (2,), (0.05, 0.05))
    return items_autoencoder(K, X, *settings, moving=moving), items_autoencoder(factorize(K), X, *settings)


def start_of(joint: Autoencoder) -> torch.Tensor:
    return torch.as_tensor(0.3 * np.random.default_rng(1).normal(size=(len(joint.last_layer.target), 2)))


@pytest.mark.parametrize("solver", [Adam(0.05, 20000, 1e-7, patience=500), GradientDescent(None, 20000, 1e-9)])
@pytest.mark.parametrize("seed", [0, 1])
def test_quadratic(solver: Adam | GradientDescent, seed: int) -> None:
    problem = Quadratic(seed)
    solution = solver.solve(problem, ZERO)
    assert solution.converged
    assert solution.value == pytest.approx(problem.minimum, rel=1e-8)
    assert (ZERO == 0.0).all()


def test_constant_rate_descends_under_its_bound_and_diverges_above_it() -> None:
    problem = Quadratic(0, condition=10.0)
    assert GradientDescent(0.15, 2000, 1e-9).solve(problem, ZERO).converged
    assert GradientDescent(0.3, 20000, 1e-9).solve(problem, ZERO).reason is Reason.DIVERGED


def test_what_an_estimator_took_was_checked_and_is_a_copy() -> None:
    given = LBFGS()
    taken = as_solver(given, DESCENTS, 50, 1e-6)
    given.max_iter = 0
    assert taken.within(tol=1e-3, force=True).solve(Quadratic(0), ZERO).converged
    with pytest.raises(InputError, match="LBFGS.max_iter"):
        given.solve(Quadratic(0), ZERO)
    with pytest.raises(InputError, match="LBFGS.max_iter"):
        as_solver(given, DESCENTS)


def test_gradient_descent_never_rises() -> None:
    solution = GradientDescent(None, 200, 1e-12).solve(Rosenbrock(), torch.full((4,), -1.2, dtype=torch.float64))
    values = [row["value"] for row in solution.history]
    assert all(b <= a for a, b in pairwise(values))
    assert solution.reason is Reason.MAX_ITER
    assert solution.n_evaluations > solution.n_iter == 200


@pytest.mark.parametrize("solver", [Adam(0.01, 50, 1e-12), GradientDescent(None, 50, 1e-12)])
def test_reasons(solver: Adam | GradientDescent) -> None:
    problem = Quadratic(0)
    assert solver.solve(problem, problem.solution).reason is Reason.GRADIENT
    assert solver.solve(problem, ZERO).reason is Reason.MAX_ITER
    assert solver.solve(problem, ZERO, Monitor(time_limit=0.0)).reason is Reason.TIME
    stopped = solver.solve(problem, ZERO, Monitor(callback=lambda row: row["iteration"] == 3))
    assert (stopped.reason, len(stopped.history)) == (Reason.TIME, 4)


def test_reason_decrease() -> None:
    problem = Quadratic(0, condition=1e3)
    assert GradientDescent(None, 50000, 1e-3).solve(problem, ZERO).reason is Reason.DECREASE
    assert Adam(0.1, 50000, 1e-4, patience=50).solve(problem, ZERO).reason is Reason.DECREASE


def test_reason_line_search_and_divergence() -> None:
    ones = torch.ones(3, dtype=torch.float64)
    assert GradientDescent(None, 10, 1e-12).solve(Broken("uphill"), ones).reason is Reason.LINE_SEARCH
    diverged = Adam(100.0, 10, 1e-12).solve(Broken("wall"), torch.full((1,), 3.0, dtype=torch.float64))
    assert diverged.reason is Reason.DIVERGED
    assert float(diverged.point) == 3.0, "the best point seen"
    joint, _ = small()
    assert Alternating(1e200, max_iter=10).solve(joint, start_of(joint)).reason is Reason.DIVERGED


def test_adam_is_the_published_recursion() -> None:
    problem, rate, beta1, beta2 = Quadratic(1), 0.03, 0.9, 0.999
    x, m, v = np.zeros(20), np.zeros(20), np.zeros(20)
    for t in range(1, 8):
        g = problem.value_and_grad(torch.as_tensor(x))[1].numpy()
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        x = x - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + 1e-8)
    solution = Adam(rate, 7, 1e-14).solve(problem, ZERO)
    np.testing.assert_allclose(solution.point.numpy(), x, rtol=1e-10)


@pytest.mark.parametrize(("steps", "metric"), [(1, "auto"), pytest.param(3, "plain", marks=pytest.mark.slow)])
def test_alternating_finds_the_optimum_of_the_reduced_problem(steps: int, metric: str) -> None:
    joint, reduced = small()
    first = start_of(joint)
    best = LBFGS(2000, 1e-12).solve(reduced, reduced.encoder.factor.pull(first))
    found = Alternating(None, steps, 20000, 1e-7, metric).solve(joint, first)
    assert found.converged
    assert found.value == pytest.approx(best.value, rel=1e-6)
    values = [row["value"] for row in found.history]
    assert all(b <= a + 1e-14 for a, b in pairwise(values))


@pytest.mark.parametrize("metric", [pytest.param("plain", marks=pytest.mark.slow), "auto"])
def test_joint_descent_finds_the_same_optimum(metric: str) -> None:
    joint, _ = small()
    first = start_of(joint)
    best = Alternating(None, 1, 20000, 1e-8).solve(joint, first)
    every, last = small(moving=True)[0], joint.last_layer.solve(joint.encoder.layers(first)[0]).parameters
    found = GradientDescent(None, 4000, 1e-7, metric).solve(every, every.encoder.pack(first, [last]))
    # The plain gradient carries the Gram matrix as a factor and is slow in its flat directions.
    assert found.value == pytest.approx(best.value, rel=1e-6 if metric == "auto" else 1e-4)
    assert found.value >= best.value * (1.0 - 1e-7)


def test_alternating_with_constant_rate_returns_its_best_round() -> None:
    joint, _ = small()
    found = Alternating(0.5, 2, 300, 1e-9, "plain").solve(joint, start_of(joint))
    assert found.value == min(row["value"] for row in found.history)
    assert joint.freeze_last(found.point).value_and_grad(found.point)[0] == pytest.approx(found.value, rel=1e-12)
    late = Alternating(0.5, metric="plain").solve(joint, start_of(joint), Monitor(time_limit=0.0))
    assert late.reason is Reason.TIME


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Adam(learning_rate=0.0), "learning_rate must be > 0; got 0"),
        (Adam(patience=0), "patience must be"),
        (GradientDescent(learning_rate=-1.0), "learning_rate must be > 0; got -1"),
        (GradientDescent(metric="l2"), "metric must be one of"),
    ],
)
def test_parameters_are_checked(solver: Adam | GradientDescent, message: str) -> None:
    with pytest.raises(InputError, match=message):
        solver.solve(Quadratic(0), ZERO)


def test_alternating_checks_its_parameters_and_its_problem() -> None:
    joint, _ = small()
    with pytest.raises(InputError, match="encoder_steps must be"):
        Alternating(encoder_steps=0).solve(joint, start_of(joint))
    with pytest.raises(InputError, match="learning_rate must be"):
        Alternating(learning_rate=0.0).solve(joint, start_of(joint))
    with pytest.raises(
        InputError, match="Alternating needs a problem with the protocol HasLastBlock; Quadratic does not"
    ):
        Alternating().solve(Quadratic(0), ZERO)
