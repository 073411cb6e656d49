"""Over-relaxed ADMM in the eigenbasis of the kernel, for a whole path of problems at once.

In the eigenbasis the quadratic part is diagonal, ``D = w a + curvature``, and one iteration is

    X = Q [(Q^T Y + rho Q^T (Z - U)) / (D + rho)];  V = U + relax X + (1 - relax) Z;  Z = prox_{1/rho}(V);  U = V - Z.

For losses of the norm the prox rescales rows, ``Z = f V`` and ``U = (1 - f) V``: then ``V`` and the small array ``f``
carry the whole state, and an iteration is two wide matrix products and four sweeps over memory.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs.protocols import HasResolvent, Monitor
from rkhs.solvers.batched import GapSolver, Ledger

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
        Relative duality gap. None: that of the estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of iterations. None: that of the estimator; 10000 alone.
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

    def _run(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        state = _State(problem, start)
        Z = None
        for iteration in range(1, self.max_iter + 1):
            checking = iteration % self.check_every == 0 or iteration in (1, self.max_iter)
            state.step(measure=checking)
            if not checking:
                continue
            Z = state.feasible()
            open_ = ledger.record(state.problem, Z, iteration, monitor)
            if not len(ledger.columns):
                return
            if open_ is not None:
                state.compact(open_)
            state.balance()
        ledger.close(state.problem, state.feasible(), self.max_iter)


class _State:
    """Iterates of a batch; shapes (F, n, q, B), ``rho`` (F, B)."""

    def __init__(self, problem: Any, start: Tensor | None) -> None:
        self.problem = problem
        self.Y = problem.targets[:, :, :, None]
        self.radial = hasattr(problem.rows, "scale")
        self.rho = self._first_rho()
        F, _, _, B = problem.shape
        new = problem.targets.new_zeros
        # A start is a pair of point and multiplier; the squared loss gives both where the caller has none.
        self.V = self._ridge() if start is None else self._with_multiplier(start)
        self.f = self._scale()
        self.Z = None if self.radial else problem.prox(self.V, 1.0 / self.rho)
        self.primal = self.dual = new(F, B)
        self._divisor()

    def _first_rho(self) -> Tensor:
        c = self.problem.rows.curvature
        smallest, largest = (value[:, None] + c for value in self.problem.extremes())
        return _RHO * (largest * torch.maximum(smallest, 1e-4 * largest)).sqrt()

    def _ridge(self) -> Tensor:
        """Solution of the squared loss, the start: exact where no row is cut."""
        c = self.problem.rows.curvature
        floor = _START * float((self.problem.extremes()[1][:, None] + c).max()) if bool((c == 0.0).any()) else 0.0
        Y = self.Y.expand(self.problem.shape).contiguous()
        return self.problem.resolvent(c, floor)(Y)

    def _with_multiplier(self, W: Tensor) -> Tensor:
        """A point plus the multiplier that the quadratic part gives it: its prox is the point at an optimum."""
        slope = self.Y - self.problem.apply(W) - self.problem.rows.curvature[:, None, None, :] * W
        return W + slope / self.rho[:, None, None, :]

    def _divisor(self) -> None:
        self.solve = self.problem.resolvent(self.problem.rows.curvature + self.rho)

    def step(self, *, measure: bool) -> None:
        """One iteration; ``measure`` also takes the residuals that :meth:`balance` compares."""
        if not self.radial:
            self._general_step(measure)
            return
        rho = self.rho[:, None, :]
        T = torch.addcmul(self.Y, self.V, (rho * (2.0 * self.f - 1.0))[:, :, None, :])
        old = self.feasible() if measure else None
        if measure:
            X = self.solve(T)
            self.V.mul_((1.0 - _RELAX * self.f)[:, :, None, :]).add_(X, alpha=_RELAX)
        else:
            self.V.mul_((1.0 - _RELAX * self.f)[:, :, None, :])
            self.solve.add_to(self.V, T, _RELAX)
        self.f = self._scale()
        if measure:
            self._measure(X, self.feasible(), old)

    def _scale(self) -> Tensor:
        if not self.radial:
            return self.V[:, :, 0]
        return self.problem.rows.scale(self.problem.rows.norms(self.V), 1.0 / self.rho)

    def _general_step(self, measure: bool) -> None:
        Z = self.Z
        assert Z is not None
        U = self.V - Z
        X = self.solve(self.Y + self.rho[:, None, None, :] * (Z - U))
        self.V = U + _RELAX * X + (1.0 - _RELAX) * Z
        self.Z = self.problem.prox(self.V, 1.0 / self.rho)
        if measure:
            self._measure(X, self.Z, Z)

    def _measure(self, X: Tensor, Z: Tensor, old: Tensor | None) -> None:
        assert old is not None
        scale = _size(X)
        self.primal = _size(X - Z) / scale
        multiplier = _size(self.V - Z)
        self.dual = _size(Z - old) / torch.maximum(multiplier, scale)

    def feasible(self) -> Tensor:
        """The points that satisfy every constraint, ``Z``."""
        if self.Z is not None:
            return self.Z
        return self.V * self.f[:, :, None, :]

    def balance(self) -> None:
        """Double or halve ``rho`` where one residual leads the other by a factor of ten."""
        factor = torch.where(self.primal > 10.0 * self.dual, 2.0, torch.where(self.dual > 10.0 * self.primal, 0.5, 1.0))
        if bool((factor == 1.0).all()):
            return
        keep = 1.0 / factor.to(self.rho)
        self.rho = self.rho / keep
        if self.Z is None:
            k = keep[:, None, :]
            mixed = self.f + k * (1.0 - self.f)
            self.V.mul_(mixed[:, :, None, :])
            self.f = torch.where(mixed > 0, self.f / mixed, self.f)
        else:
            self.V = self.Z + keep[:, None, None, :] * (self.V - self.Z)
        self._divisor()

    def compact(self, open_: Tensor) -> None:
        """Drop the settings that are solved."""
        columns = open_.nonzero()[:, 0]
        self.problem = self.problem.select(slice(0, self.V.shape[0]), columns)
        self.V, self.f, self.rho = self.V[..., columns], self.f[..., columns], self.rho[:, columns]
        self.primal, self.dual = self.primal[:, columns], self.dual[:, columns]
        self.Z = None if self.Z is None else self.Z[..., columns]
        self._divisor()


def _size(W: Tensor) -> Tensor:
    """Norm of each problem's point, shape (F, B)."""
    return torch.linalg.vecdot(W, W, dim=2).sum(1).sqrt_()
