"""Pre-images within bounds, one problem per row, by L-BFGS-B from the best training points."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.optimize import Bounds, minimize
from torch import Tensor

from rkhs._core.config import Configurable
from rkhs.solvers.base import check_options


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
