"""Monotone descent on one small problem per row, such as refined codes, all rows in one batch.

The first step is that of Gauss and Newton. Its matrix costs as much as ``p`` gradients, so later steps update the
inverse of this matrix by the differences of gradients (BFGS). A step that does not lower the value of its row is
shortened, and a row that finds no lower value stays where it is; see Nocedal and Wright (2006), "Numerical
optimization", sections 3.5, 6.1 and 10.3.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_TRIALS = 8  # of lengths of a step


def descend(problem: Any, start: Tensor, max_iter: int, tol: float) -> Tensor:
    """Minimise from ``start`` (m, p); a row is done when its step is at most ``tol`` times ``1 + ||u||``."""
    U, active = start.clone(), torch.arange(len(start), device=start.device)
    values, grads, inverse = problem.with_curvature(U)
    for number in range(max_iter):
        step = -(inverse @ grads[:, :, None])[:, :, 0]
        moved, new_values, new_grads = _lowered(problem, U[active], step, values, grads)
        U[active] += moved
        going = moved.norm(dim=1) > tol * (1.0 + U[active].norm(dim=1))
        if number + 1 == max_iter or not bool(going.any()):
            break
        inverse = _updated(inverse[going], moved[going], (new_grads - grads)[going])
        problem, active = problem.rows(going.nonzero()[:, 0]), active[going]
        values, grads = new_values[going], new_grads[going]
    return U


def _lowered(problem: Any, U: Tensor, step: Tensor, values: Tensor, grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Moves along ``step`` that lower the values, and values and gradients there; zero where none does."""
    moved, values_there, grads_there = torch.zeros_like(U), values.clone(), grads.clone()
    share, directional = torch.ones_like(values), (grads * step).sum(1)
    left = torch.arange(len(U), device=U.device)
    for _ in range(_TRIALS):
        trial = share[left, None] * step[left]
        part = problem if len(left) == len(U) else problem.rows(left)
        found, slopes = part.values_and_grads(U[left] + trial)[:2]
        lower = found < values[left]
        done = left[lower]
        moved[done], values_there[done], grads_there[done] = trial[lower], found[lower], slopes[lower]
        left, found = left[~lower], found[~lower]
        if len(left) == 0:
            break
        # The lowest point of the parabola through what is known, not too near to either end.
        predicted = share[left] * directional[left]
        minimiser = -0.5 * predicted / (found - values[left] - predicted)
        share[left] *= torch.nan_to_num(minimiser, nan=0.1).clamp(0.1, 0.5)
    return moved, values_there, grads_there


def _updated(B: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """BFGS update of inverse curvatures for steps ``s`` and gradient changes ``y``; none without positive curvature."""
    sy = (s * y).sum(1)
    curved = sy > 1e-8 * s.norm(dim=1) * y.norm(dim=1)
    rho = torch.where(curved, 1.0 / torch.where(curved, sy, torch.ones_like(sy)), torch.zeros_like(sy))
    By = (B @ y[:, :, None])[:, :, 0]
    sB = s[:, :, None] * By[:, None, :] * rho[:, None, None]
    scale = rho * (1.0 + rho * (y * By).sum(1))
    return B - sB - sB.mT + scale[:, None, None] * (s[:, :, None] * s[:, None, :])
