"""Pre-images of all rows in one batch, by fixed point or gradient descent, or within bounds by L-BFGS-B."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.optimize import Bounds, minimize
from torch import Tensor

from rkhs._core.config import Configurable
from rkhs.solvers.base import check_options

_SHARES = (0.25, 0.0625)  # of a fixed-point step that went too far
State = tuple["Tensor | None", ...]


class PreimageDescent(Configurable):
    """Monotone descent on one small problem per row: pre-images.

    Where the problem offers a fixed-point step and the step, or a quarter or a sixteenth of it, lowers ``r``, it is
    taken; otherwise a gradient step with backtracking, so that ``r`` never rises and a vanishing denominator does no
    harm. The state of a problem at a point are values, gradients and the point its fixed-point step leads to, or None.

    Parameters
    ----------
    max_iter : int, default=200
        Largest number of steps.
    tol : float, default=1e-7
        A row is done when its step is at most ``tol`` times ``1 + ||y||``.

    References
    ----------
    Mika et al. (1999), equation 10.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.problems.preimage import Preimage
    >>> from rkhs.solvers import PreimageDescent
    >>> X = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> problem = Preimage(Gaussian(1.0), X, torch.tensor([[0.5, 0.5]], dtype=torch.float64))
    >>> PreimageDescent().solve(problem, X[:1]).round(decimals=3)  # between both points
    tensor([[0.5000]], dtype=torch.float64)
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
        check_options(self)
        Y = start.clone()
        lengths = Y.new_ones(Y.shape[0])
        active = torch.arange(Y.shape[0], device=Y.device)
        state = problem.state(Y)
        for _ in range(self.max_iter):
            old = Y[active]
            new, state, lengths[active] = self._step(problem.rows(active), old, state, lengths[active])
            Y[active] = new
            moved = (new - old).norm(dim=1) > self.tol * (1.0 + new.norm(dim=1))
            active = active[moved]
            if len(active) == 0:
                break
            if len(active) < len(old):
                state = _rows(state, moved)
        return Y

    @staticmethod
    def _step(problem: Any, Y: Tensor, state: State, lengths: Tensor) -> tuple[Tensor, State, Tensor]:
        """Take one step of every row, with the state after it: a step that is accepted is evaluated once."""
        values, _, jump = state
        assert values is not None
        left = torch.arange(len(Y), device=Y.device)
        new, failed = Y, left
        if jump is not None:
            usable = torch.isfinite(jump).all(1)
            safe = torch.where(usable[:, None], jump, Y)
            found = problem.state(safe)
            done = usable & (found[0] <= values)
            if bool(done.all()):
                return safe, found, lengths
            new, state, left = torch.where(done[:, None], safe, Y), _choose(done, found, state), left[~done]
            failed = left[usable[left]]
            for share in _SHARES:
                trial = Y[failed] + share * (jump[failed] - Y[failed])
                better = problem.rows(failed).values(trial) <= values[failed]
                new[failed[better]] = trial[better]
                failed = failed[~better]
            failed = torch.cat([failed, left[~usable[left]]])
        else:
            new = Y.clone()
        at = _rows(state, failed)
        new[failed], lengths[failed] = _along_gradient(problem.rows(failed), Y[failed], at, 2.0 * lengths[failed])
        for whole, some in zip(state, problem.rows(left).state(new[left]), strict=True):
            if whole is not None:
                whole[left] = some
        return new, state, lengths


def preimages(problem: Any, start: Tensor) -> Tensor:
    """Pre-images; rows that leave the enlarged bounding box of points and starts restart from the best point."""
    points = torch.cat([problem.X, start])
    low, high = points.min(dim=0).values, points.max(dim=0).values
    reach = high - low

    def away(Y: Tensor) -> Tensor:
        return ((low - reach > Y) | (high + reach < Y) | ~torch.isfinite(Y)).any(1)

    solver = PreimageDescent()
    found = solver.solve(problem, start)
    failed = away(found).nonzero()[:, 0]
    if len(failed):
        part = problem.rows(failed)
        first = problem.X[part.nearest()]
        retried = solver.solve(part, first)
        found[failed] = torch.where(away(retried)[:, None], first, retried)
    return found


def _along_gradient(problem: Any, Y: Tensor, state: State, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """A gradient step with backtracking for every row; rows that find no descent stay."""
    values, grads = state[:2]
    assert values is not None
    assert grads is not None
    squared, new = (grads * grads).sum(1), Y.clone()
    done = torch.zeros(len(Y), dtype=torch.bool, device=Y.device)
    for _ in range(40):
        trial = Y - lengths[:, None] * grads
        better = ~done & (problem.values(trial) <= values - 1e-4 * lengths * squared)
        new[better] = trial[better]
        done = done | better
        if bool(done.all()):
            break
        lengths = torch.where(done, lengths, lengths * 0.5)
    return new, lengths


def _rows(state: State, index: Tensor) -> State:
    return tuple(None if part is None else part[index] for part in state)


def _choose(first: Tensor, a: State, b: State) -> State:
    """Rows of ``a`` where ``first`` holds, of ``b`` elsewhere."""
    return tuple(
        None if x is None or y is None else torch.where(first.view(-1, *[1] * (x.ndim - 1)), x, y)
        for x, y in zip(a, b, strict=True)
    )


class PreimageInBox(Configurable):
    """L-BFGS-B on one pre-image problem per row, from its best training points.

    Parameters
    ----------
    n_starts : int, default=3
        Training points to start from, clipped to the box; the lowest result is returned.
    max_iter : int, default=200
        Of each start.
    tol : float, default=1e-9
        Relative decrease below which a descent stops.

    References
    ----------
    Byrd, Lu, Nocedal and Zhu (1995), "A limited memory algorithm for bound constrained optimization".

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.problems.preimage import Preimage
    >>> from rkhs.solvers import PreimageInBox
    >>> X = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> problem = Preimage(Gaussian(1.0), X, torch.tensor([[0.5, 0.5]], dtype=torch.float64))
    >>> PreimageInBox().solve(problem, X[0] - 1.0, X[0] + 0.25).round(decimals=3)  # at most 0.25
    tensor([[0.2500]], dtype=torch.float64)
    """

    def __init__(self, n_starts: int = 3, max_iter: int = 200, tol: float = 1e-9) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, problem: Any, low: Tensor, high: Tensor) -> Tensor:
        """Minimise ``r`` over ``low <= y <= high`` for each row; returns shape (m, d).

        Parameters
        ----------
        problem : Preimage
        low, high : Tensor of shape (d,)
            Infinite where there is no bound.

        Raises
        ------
        InputError
            If the kernel of the problem has no gradient.
        """
        check_options(self)
        clipped = problem.X.clamp(low, high)
        box = Bounds(low.cpu().numpy().astype(float), high.cpu().numpy().astype(float))
        starts = torch.argsort(problem.table(clipped), dim=1, stable=True)[:, : self.n_starts]
        found = []
        for i, order in enumerate(starts):
            row = problem.rows(torch.tensor([i], device=low.device))
            ends = [self._descend(row, clipped[j], box) for j in order]
            found.append(min(ends, key=lambda end: end[0])[1])
        return torch.stack(found)

    def _descend(self, row: Any, start: Tensor, box: Bounds) -> tuple[float, Tensor]:
        """The lowest point seen, never above the start."""
        like = start

        def value_and_grad(y: np.ndarray) -> tuple[float, np.ndarray]:
            values, grads = row.values_and_grads(torch.as_tensor(y[None]).to(like))
            return float(values[0]), grads[0].cpu().numpy().astype(float)

        first = start.cpu().numpy().astype(float)
        options = {"maxiter": self.max_iter, "ftol": self.tol, "gtol": 1e-12}
        end = minimize(value_and_grad, first, jac=True, method="L-BFGS-B", bounds=box, options=options)
        start_value = value_and_grad(first)[0]
        if not np.isfinite(end.fun) or end.fun > start_value:
            return start_value, start
        return float(end.fun), torch.as_tensor(np.clip(end.x, box.lb, box.ub)).to(like)
