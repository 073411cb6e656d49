"""Quasi-Newton descent on one small problem per row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from rkhs.solvers.row_newton import descend


@dataclass(frozen=True)
class Bowls:
    """``1/2 (u - goal)^T H (u - goal) + quartic/4 ||u - goal||^4`` a row; ``guess`` is the inverse that is told."""

    H: Tensor
    start: Tensor
    guess: Tensor
    quartic: float = 0.0

    def rows(self, index: Tensor) -> Bowls:
        return replace(self, H=self.H[index], start=self.start[index], guess=self.guess[index])

    def values(self, U: Tensor) -> Tensor:
        return self.values_and_grads(U)[0]

    def values_and_grads(self, U: Tensor) -> tuple[Tensor, Tensor]:
        D = U - self.start
        pulled, size = (self.H @ D[:, :, None])[:, :, 0], (D * D).sum(1)
        return 0.5 * (D * pulled).sum(1) + 0.25 * self.quartic * size**2, pulled + self.quartic * size[:, None] * D

    def with_curvature(self, U: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return *self.values_and_grads(U), self.guess


def bowls(rows: int = 7, p: int = 4, *, quartic: float = 0.0, guess: float | None = None) -> Bowls:
    rng = np.random.default_rng(0)
    A = torch.from_numpy(rng.normal(size=(rows, p, p)))
    H = A @ A.mT + torch.eye(p)
    told = torch.linalg.inv(H) if guess is None else guess * torch.eye(p).double().expand(rows, p, p)
    return Bowls(H, torch.from_numpy(rng.normal(size=(rows, p))), told, quartic)


def test_the_first_step_is_that_of_the_matrix() -> None:
    problem = bowls()
    torch.testing.assert_close(descend(problem, torch.zeros(7, 4).double(), 1, 1e-4), problem.start)


@pytest.mark.parametrize("guess", [0.01, 1.0, 30.0])
def test_differences_of_gradients_make_up_for_a_wrong_matrix(guess: float) -> None:
    problem = bowls(quartic=0.5, guess=guess)
    found = descend(problem, torch.zeros(7, 4).double(), 60, 1e-12)
    assert float((found - problem.start).abs().max()) < 1e-5


def test_values_never_rise_and_steps_that_go_too_far_are_shortened() -> None:
    problem, last = bowls(quartic=2.0, guess=1e3), None
    for steps in range(1, 12):
        values = problem.values(descend(problem, torch.ones(7, 4).double(), steps, 0.0))
        assert last is None or bool((values <= last).all())
        last = values
    assert bool((last < problem.values(torch.ones(7, 4).double())).all())


def test_a_row_with_no_finite_value_stays_and_leaves_the_others_alone() -> None:
    problem = bowls()
    broken = replace(problem, H=problem.H.clone())
    broken.H[2] = torch.nan
    found = descend(broken, torch.zeros(7, 4).double(), 5, 1e-4)
    assert float(found[2].abs().max()) == 0.0
    others = torch.arange(7) != 2
    torch.testing.assert_close(found[others], problem.start[others])


def test_no_rows() -> None:
    none = bowls().rows(torch.zeros(0, dtype=torch.int64))
    assert descend(none, torch.zeros(0, 4).double(), 10, 1e-4).shape == (0, 4)
