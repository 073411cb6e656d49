"""Over-relaxed ADMM in the eigenbasis of the kernel, for a whole path of problems at once.

In the eigenbasis the quadratic part is diagonal, ``D = w a + curvature``, and one iteration is

    X = Q [(Q^T Y + rho Q^T (Z - U)) / (D + rho)];  V = U + relax X + (1 - relax) Z;  Z = prox_{1/rho}(V);  U = V - Z.

For losses of the norm the prox rescales rows, ``Z = f V`` and ``U = (1 - f) V``: then ``V`` and the small array ``f``
carry the whole state, and an iteration is two wide matrix products and four passes over memory.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import HasResolvent
from rkhs.solvers.batched import GapSolver, Iterates

_RELAX = 1.7
# The classical rho, the root of the extreme curvatures, is for the worst non-smooth part; row norms are kinder. On the
# grids of studies/bench/yeast_grid.py 0.25 to 0.35 needs half of the iterations of 1.0.
_RHO = 0.3
_START = 1e-3  # floor of the relative curvature of the ridge start, for losses without curvature


class ADMM(GapSolver):
    """Alternating direction method of multipliers: the default for robust losses.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap. None: that of the estimator, or 1e-6 in direct use.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator, or 10000 in direct use.
    check_every : int, default=4
        Iterations between two computations of the gaps; each costs half an iteration.

    References
    ----------
    Boyd et al. (2011), Distributed optimization and statistical learning via ADMM, sections 3.4.1 and 3.4.3.
    Problem and gap: ``docs/papers/duality_robust_losses.md``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import ADMM
    >>> K, Y = torch.eye(3, dtype=torch.float64), torch.tensor([[1.0], [2.0], [30.0]], dtype=torch.float64)
    >>> solution = ADMM(tol=1e-9).solve(dual_problem([(K, None)], Y, Huber(2.0), 0.1))
    >>> bool(solution.gap <= 1e-9 * 30), solution.reason.name
    (True, 'GAP')
    """

    requires: ClassVar[tuple[type, ...]] = (HasResolvent,)

    def __init__(self, tol: float | None = None, max_iter: int | None = None, check_every: int = 4) -> None:
        super().__init__(tol, max_iter)
        self.check_every = check_every

    def _begin(self, problem: Any, start: Tensor | None) -> Iterates:
        return _Splitting(problem, start)


class _Splitting(Iterates):
    """Points plus multipliers ``V``, with one ``rho`` per setting; radial losses need only row factors ``f``."""

    def __init__(self, problem: Any, start: Tensor | None) -> None:
        super().__init__(problem)
        self.radial = hasattr(problem.rows, "scale")
        smallest, largest = (value + problem.rows.curvature for value in problem.extremes())
        self.rho = _RHO * (largest * torch.maximum(smallest, 1e-4 * largest)).sqrt()
        # A start is a pair of point and multiplier; the squared loss gives both where the caller has none.
        self.V = self._ridge() if start is None else self._with_multiplier(start)
        self.f: Any = self._scale() if self.radial else None
        self.Z: Any = None if self.radial else problem.prox(self.V, 1.0 / self.rho)
        self.primal, self.dual, self.measured = torch.zeros_like(self.rho), torch.zeros_like(self.rho), False
        self._divisor()

    @property
    def Y(self) -> Tensor:
        """Targets, the same for all settings."""
        return self.problem.targets[..., None]

    def _ridge(self) -> Tensor:
        """Solution of the squared loss, the start: exact if no row is saturated."""
        c = self.problem.rows.curvature
        floor = _START * float((self.problem.extremes()[1] + c).max()) if bool((c == 0.0).any()) else 0.0
        Y = self.Y.expand(self.problem.shape).contiguous()
        return self.problem.resolvent(c, floor)(Y)

    def _with_multiplier(self, W: Tensor) -> Tensor:
        """A point plus the multiplier that the quadratic part gives it: its prox is the point at an optimum."""
        slope = self.Y - self.problem.apply(W) - self.problem.rows.curvature * W
        return W + slope / self.rho

    def _divisor(self) -> None:
        self.solve = self.problem.resolvent(self.problem.rows.curvature + self.rho)

    def step(self, *, measure: bool) -> None:
        """Take one iteration; ``measure`` also computes the residuals that :meth:`_balance` compares."""
        if self.measured:
            self._balance()
        self.measured = measure
        old = self.feasible() if measure else self.Z
        if self.radial:
            T = torch.addcmul(self.Y, self.V, (self.rho * (2.0 * self.f - 1.0))[:, None])
            self.V.mul_((1.0 - _RELAX * self.f)[:, None])
            if measure:
                X = self.solve(T)
                self.V.add_(X, alpha=_RELAX)
            else:
                self.solve.add_to(self.V, T, _RELAX)
            self.f = self._scale()
        else:
            U = self.V - old
            X = self.solve(self.Y + self.rho * (old - U))
            self.V = U + _RELAX * X + (1.0 - _RELAX) * old
            self.Z = self.problem.prox(self.V, 1.0 / self.rho)
        if measure:
            Z, size = self.feasible(), _size(X)
            self.primal = _size(X - Z) / size
            self.dual = _size(Z - old) / torch.maximum(_size(self.V - Z), size)

    def _scale(self) -> Tensor:
        return self.problem.rows.scale(self.problem.rows.norms(self.V), 1.0 / self.rho)

    def feasible(self) -> Tensor:
        return self.V * self.f[:, None] if self.radial else self.Z

    def _balance(self) -> None:
        """Double or halve ``rho`` where one residual exceeds the other by a factor of ten."""
        factor = torch.where(self.primal > 10.0 * self.dual, 2.0, torch.where(self.dual > 10.0 * self.primal, 0.5, 1.0))
        if bool((factor == 1.0).all()):
            return
        ratio = 1.0 / factor.to(self.rho)
        self.rho = self.rho / ratio
        if self.radial:
            mixed = self.f + ratio * (1.0 - self.f)
            self.V.mul_(mixed[:, None])
            self.f = torch.where(mixed > 0, self.f / mixed, self.f)
        else:
            self.V = self.Z + ratio * (self.V - self.Z)
        self._divisor()

    def select(self, columns: Tensor) -> None:
        super().select(columns)
        self._divisor()


def _size(W: Tensor) -> Tensor:
    """Norm of each problem's point, shape (B,)."""
    return torch.linalg.vecdot(W, W, dim=1).sum(0).sqrt_()
