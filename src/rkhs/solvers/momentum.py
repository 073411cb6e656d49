"""Momentum with adaptive gains and one rate per row, for many rows that start near a minimum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs.protocols import Reason, Solution


def momentum(problem: Any, start: Tensor, rate: Tensor, steps: int) -> Solution:
    """Steps of ``rate`` (n, 1) times gains that rise where the gradient keeps its sign: Jacobs (1988), as in t-SNE."""
    Z, velocity, gains, value = start, torch.zeros_like(start), torch.ones_like(start), 0.0
    for _ in range(steps):
        value, grad = problem.value_and_grad(Z)
        gains = torch.where(velocity * grad < 0.0, gains + 0.2, gains * 0.8).clamp_min_(0.01)
        velocity = 0.8 * velocity - rate * gains * grad
        Z = Z + velocity
    return Solution(Z, value, Reason.SCHEDULE, steps, steps)
