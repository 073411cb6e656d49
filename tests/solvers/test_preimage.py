"""Pre-images: exact where an exact answer is known, and never worse than the start."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs.kernels import Gaussian, Linear, Matern, Polynomial
from rkhs.kernels.base import Kernel
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageDescent, preimages


def data(seed: int, n: int = 15, d: int = 3) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_kernel_gives_the_combination_itself(seed: int) -> None:
    """So that the pre-image of a projection on kernel principal axes is the reconstruction of linear PCA."""
    X = data(seed)
    U = torch.linalg.svd(X, full_matrices=False)[0][:, :2]
    problem = Preimage(Linear(), X, U @ U.mT)
    found = PreimageDescent(2000, 1e-12).solve(problem, torch.zeros_like(X))
    torch.testing.assert_close(found, U @ U.mT @ X, atol=1e-8, rtol=0.0)


@pytest.mark.parametrize(
    ("seed", "kernel"),
    [
        pytest.param(seed, kernel, marks=pytest.mark.slow if seed != i else ())
        for i, kernel in enumerate([Gaussian(0.5), Matern(2.5, 0.7), Polynomial(3, 0.3, 1.0)])
        for seed in range(3)
    ],
)
def test_r_never_rises(kernel: Kernel, seed: int) -> None:
    X = data(seed)
    rng = np.random.default_rng(seed)
    problem = Preimage(kernel, X, torch.as_tensor(rng.normal(size=(6, 15)) / 4))
    Y = torch.as_tensor(rng.normal(size=(6, 3)))
    before = problem.values(Y)
    for steps in range(1, 12):
        now = problem.values(PreimageDescent(steps, 0.0).solve(problem, Y))
        assert (now <= before + 1e-13).all()
        before = now


@pytest.mark.parametrize("kernel", [Gaussian(0.5), pytest.param(Matern(2.5, 0.7), marks=pytest.mark.slow)])
def test_the_feature_of_a_point_has_that_point_as_pre_image(kernel: Kernel) -> None:
    X = data(0)
    problem = Preimage(kernel, X, torch.eye(15, dtype=torch.float64)[:4])
    found = PreimageDescent(5000, 1e-11).solve(problem, X[:4] + 0.2)
    torch.testing.assert_close(found, X[:4], atol=1e-6, rtol=0.0)
    assert problem.nearest().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(2.5, 0.7)])
def test_the_state_is_value_gradient_and_weighted_mean(kernel: Kernel) -> None:
    X, rng = data(0) + 100.0, np.random.default_rng(3)
    problem = Preimage(kernel, X, torch.as_tensor(rng.uniform(size=(4, 15))))
    Y = X[:4] + 0.3
    values, grads, jump = problem.state(Y)
    expected = problem.values_and_grads(Y)
    torch.testing.assert_close(values, expected[0], atol=1e-11, rtol=0.0)
    torch.testing.assert_close(grads, expected[1], atol=1e-11, rtol=0.0)
    if not isinstance(kernel, Gaussian):
        assert jump is None
        return
    M = problem.weights * torch.as_tensor(kernel(Y, X))
    torch.testing.assert_close(jump, (M @ X) / M.sum(1, keepdim=True))


def test_a_long_fixed_point_phase_leaves_gradient_steps_usable() -> None:
    # Row 0 jumps for long before its denominator goes; row 1 needs gradient steps from the start.
    X = torch.linspace(-1.0, 1.0, 15, dtype=torch.float64)[:, None]
    weights = torch.stack([torch.ones(15), torch.linspace(-1.0, 1.0, 15)]).to(X)
    start = torch.tensor([[0.9], [0.0]], dtype=torch.float64)
    problem = Preimage(Gaussian(0.05), X, weights)
    found = PreimageDescent(400, 1e-12).solve(problem, start)
    _, grads, _ = problem.state(found)
    assert float(grads.abs().max()) < 1e-5


def test_a_vanishing_denominator_does_no_harm() -> None:
    X = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    problem = Preimage(Gaussian(1.0), X, torch.tensor([[1.0, -1.0]], dtype=torch.float64))
    start = torch.zeros(1, 1, dtype=torch.float64)
    values, grads, jump = problem.state(start)
    assert jump is not None
    assert torch.isnan(jump).all()
    assert torch.isfinite(values).all()
    assert torch.isfinite(grads).all()
    found = PreimageDescent().solve(problem, start)
    assert torch.isfinite(found).all()
    assert problem.values(found) < problem.values(start)


def test_pre_images_stay_among_the_points() -> None:
    # Negative weights push away: without a limit the first row runs off, the second has its pre-image at a point.
    X = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    weights = torch.tensor([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    problem, start = Preimage(Gaussian(1.0), X, weights), torch.tensor([[0.4, 0.4], [0.0, 0.3]], dtype=torch.float64)
    loose = PreimageDescent().solve(problem, start)
    assert float(loose[0].abs().max()) > 3.0
    found = preimages(problem, start)
    assert float(found.abs().max()) < 3.0
    torch.testing.assert_close(found[1], X[0], atol=1e-4, rtol=0.0)


def test_rows_are_solved_independently() -> None:
    X, rng = data(0), np.random.default_rng(3)
    weights, Y = torch.as_tensor(rng.normal(size=(4, 15)) / 4), torch.as_tensor(rng.normal(size=(4, 3)))
    together = PreimageDescent().solve(Preimage(Gaussian(0.5), X, weights), Y)
    for i in range(4):
        alone = PreimageDescent().solve(Preimage(Gaussian(0.5), X, weights[i : i + 1]), Y[i : i + 1])
        torch.testing.assert_close(alone[0], together[i], atol=1e-8, rtol=0.0)


SCALES = torch.tensor([1.0, 5.0, 20.0], dtype=torch.float64)  # no gradient points at the minimum


class TooFar:
    """Weighted squared distances to points, and fixed-point steps that are some times too long."""

    def __init__(self, goal: torch.Tensor, factors: torch.Tensor) -> None:
        self.targets, self.factors = goal, factors

    def rows(self, index: torch.Tensor) -> TooFar:
        return TooFar(self.targets[index], self.factors[index])

    def values(self, Y: torch.Tensor) -> torch.Tensor:
        return ((Y - self.targets) ** 2 * SCALES).sum(1)

    def state(self, Y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.values(Y), 2.0 * (Y - self.targets) * SCALES, Y + self.factors[:, None] * (self.targets - Y)


def test_a_step_that_went_too_far_is_shortened_before_the_gradient_is_asked() -> None:
    factors = torch.tensor([1.0, 4.0, 16.0, 40.0, float("nan")], dtype=torch.float64)
    problem, start = TooFar(data(3, 5), factors), torch.zeros(5, 3, dtype=torch.float64)
    once = PreimageDescent(1, 0.0).solve(problem, start)
    torch.testing.assert_close(once[:3], problem.targets[:3])  # the whole step, a quarter, a sixteenth
    assert (problem.values(once) <= problem.values(start)).all()
    torch.testing.assert_close(
        PreimageDescent(2000, 1e-12).solve(problem, start), problem.targets, rtol=1e-6, atol=1e-6
    )


def test_of_points_that_rounding_cannot_tell_apart_the_first_is_nearest() -> None:
    rng = np.random.default_rng(5)
    X = torch.as_tensor(1.0 + 2e-8 * rng.normal(size=(12, 3)))  # kernel values differ in the last digit only
    weights = torch.as_tensor(rng.normal(size=(40, 12)))
    assert Preimage(Gaussian(0.5), X, weights).nearest().unique().tolist() == [0]
