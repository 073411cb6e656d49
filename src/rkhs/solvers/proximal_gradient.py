"""The published algorithm: projected gradient descents on the dual, with the threshold corrected."""

from __future__ import annotations

from rkhs.solvers.fista import FISTA


class ProximalGradient(FISTA):
    """Algorithm 1 of the duality paper, with threshold ``step * epsilon`` where it prints ``epsilon``.

    With the printed threshold the limit is not the solution: the duality gap stays positive.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 100000 alone.
    check_every : int, default=20
        Iterations between two computations of the gaps.

    References
    ----------
    Laforgue et al. (2020), algorithm 1; ``docs/papers/duality_robust_losses.md`` for the correction.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import ProximalGradient
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    >>> ProximalGradient().solve(dual_problem([(K, None)], Y, Huber(10.0), 0.5)).point.ravel()
    tensor([0.5000, 1.0000], dtype=torch.float64)
    """

    limits = (100_000, 1e-6)
    _accelerates = False

    def __init__(self, tol: float | None = None, max_iter: int | None = None, check_every: int = 20) -> None:
        super().__init__(tol, max_iter, check_every)
