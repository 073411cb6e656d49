"""Pre-images by fixed point with a safeguard, or by gradient descent with backtracking; all rows in one batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs._core.config import Configurable

__all__ = ["PreimageDescent"]


class PreimageDescent(Configurable):
    """Monotone descent on one small problem a row: pre-images, or refined codes.

    Where the problem offers a fixed-point step and the step lowers ``r``, it is taken; otherwise a gradient step with
    backtracking, so that ``r`` never rises and a vanishing denominator does no harm.

    Parameters
    ----------
    max_iter : int, default=200
        Largest number of steps.
    tol : float, default=1e-7
        A row is done when its step is at most ``tol`` times ``1 + ||y||``.

    References
    ----------
    Mika et al. (1999), equation 10.
    """

    def __init__(self, max_iter: int = 200, tol: float = 1e-7) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, problem: Any, start: Tensor) -> Tensor:
        """Descend from ``start``, shape (m, d); returns the pre-images, shape (m, d).

        Raises
        ------
        InputError
            If the kernel of the problem has no gradient.
        """
        Y = start.clone()
        lengths = Y.new_ones(Y.shape[0])
        active = torch.arange(Y.shape[0], device=Y.device)
        for _ in range(self.max_iter):
            part = problem.rows(active)
            old = Y[active]
            new, lengths[active] = self._step(part, old, lengths[active])
            Y[active] = new
            moved = (new - old).norm(dim=1) > self.tol * (1.0 + new.norm(dim=1))
            active = active[moved]
            if len(active) == 0:
                break
        return Y

    @staticmethod
    def _step(problem: Any, Y: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        values, grads = problem.values_and_grads(Y)
        new, done = Y.clone(), torch.zeros(len(Y), dtype=torch.bool, device=Y.device)
        jump = problem.fixed_point(Y)
        if jump is not None:
            safe = torch.where(torch.isfinite(jump), jump, Y)
            done = torch.isfinite(jump).all(1) & (problem.values(safe) <= values)
            new[done] = safe[done]
        lengths = lengths * 2.0
        squared = (grads * grads).sum(1)
        for _ in range(40):
            if bool(done.all()):
                break
            trial = Y - lengths[:, None] * grads
            better = ~done & (problem.values(trial) <= values - 1e-4 * lengths * squared)
            new[better] = trial[better]
            done = done | better
            lengths = torch.where(done, lengths, lengths * 0.5)
        return new, lengths
