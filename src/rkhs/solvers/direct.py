"""The squared loss: closed forms in eigenbases, conjugate gradients for sums of kernels, leave-one-out residuals."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.losses import Squared
from rkhs.protocols import Monitor
from rkhs.solvers.batched import BatchResults, GapSolver, Iterates


class Direct(GapSolver):
    """Ridge regression: one division in the eigenbases for ``k A``, conjugate gradients for ``sum_t k_t A_t``.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap at which conjugate gradients stop; the closed form reaches rounding. None: that of the
        estimator, or 1e-6 in direct use.
    max_iter : int or None, default=None
        Largest number of conjugate gradient steps. None: that of the estimator, or 2000 in direct use.

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import Direct
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    >>> Direct().solve(dual_problem([(K, None)], Y, Squared(), 0.5)).point.ravel()
    tensor([0.5000, 1.5000], dtype=torch.float64)
    """

    limits: ClassVar[tuple[int, float]] = (2000, 1e-6)
    check_every = 5

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not problem.quadratic:
            raise InputError(
                f"Direct solves the squared loss only; use solver='admm' or 'fista', or loss={Squared()!r}"
            )

    def _run(self, problem: Any, start: Tensor | None, results: BatchResults, monitor: Monitor) -> None:
        if not problem.separable:
            return super()._run(problem, start, results, monitor)
        if problem.shape[2] == 1 and problem.ridge is not None:
            W = problem.ridge[..., None]
        else:
            Q, spectrum = problem.eigenbasis()
            W = _in_basis(Q, problem.targets[..., None], 1.0 / (spectrum[..., None] + problem.rows.curvature))
        # The gap of a closed form is rounding error, which may exceed a small tol.
        results.limits.clamp_min_(1e3 * torch.finfo(W.dtype).eps * float(problem.null_value().max()))
        left = results.record(problem, W, 1, monitor)
        if left is not None:
            problem, W = problem.select(left.nonzero()[:, 0]), W[..., left]
        return results.finish(problem, W, 1)

    def _begin(self, problem: Any, start: Tensor | None) -> Iterates:
        return _ConjugateGradients(problem, start)


class _ConjugateGradients(Iterates):
    """State of conjugate gradients, preconditioned with each operator replaced by its mean eigenvalue."""

    def __init__(self, problem: Any, start: Tensor | None) -> None:
        super().__init__(problem)
        self.W = problem.targets.new_zeros(problem.shape) if start is None else start.clone()
        self.R = problem.targets[..., None] - problem.apply(self.W) - problem.rows.curvature * self.W
        self.P = S = self._preconditioned(self.R)
        self.rs = (self.R * S).sum((0, 1))

    def _preconditioned(self, R: Tensor) -> Tensor:
        Q, values = self.problem.mean_basis()
        return _in_basis(Q, R, 1.0 / (values[:, None, None] + self.problem.rows.curvature))

    def step(self, *, measure: bool) -> None:
        tiny = torch.finfo(self.W.dtype).tiny
        AP = self.problem.apply(self.P) + self.problem.rows.curvature * self.P
        length = self.rs / (self.P * AP).sum((0, 1)).clamp_min(tiny)
        self.W, self.R = self.W + length * self.P, self.R - length * AP
        S = self._preconditioned(self.R)
        new = (self.R * S).sum((0, 1))
        self.P, self.rs = S + (new / self.rs.clamp_min(tiny)) * self.P, new

    def feasible(self) -> Tensor:
        return self.W


def _in_basis(Q: Tensor, R: Tensor, factors: Tensor) -> Tensor:
    """``Q (factors * Q^T R)``, shape (n, q, B)."""
    rotated = (Q.mT @ R.reshape(len(Q), -1)).view(R.shape) * factors
    return (Q @ rotated.view(len(Q), -1)).view(rotated.shape)


def leave_one_out_residuals(problem: Any, *, keep_weight: bool = False) -> Tensor:
    """Residuals ``y_i - h_{-i}(x_i)`` of the squared loss, each from the machine fitted without sample i.

    With ``G = K (x) a_j + tau`` in the coordinate of the operator's eigenvalue ``a_j``, the residual is
    ``(G^{-1} y)_i / (G^{-1})_ii``; no machine is fitted.

    Parameters
    ----------
    problem : DualProblem
        One kernel ``k A``, squared loss; B settings.
    keep_weight : bool, default=False
        Whether the remaining samples keep the weight ``1/n`` (as in stability analysis) instead of ``1/(n - 1)`` (a new
        fit with the same ``reg``).

    Returns
    -------
    Tensor of shape (B, n, q)
        In the coordinates of the targets. Cost ``O(n^3 + n^2 q B)``.

    Raises
    ------
    InputError
        For another loss or a sum of kernels.

    References
    ----------
    Rifkin and Lippert (2007).

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> from rkhs.problems.dual import dual_problem
    >>> from rkhs.solvers import leave_one_out_residuals
    >>> K, Y = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    >>> leave_one_out_residuals(dual_problem([(K, None)], Y, Squared(), 0.5)).ravel()  # K = I: no row helps another
    tensor([1., 3.], dtype=torch.float64)
    """
    if not problem.quadratic:
        raise InputError("leave-one-out residuals have a closed form for the squared loss only; use loss='squared'")
    Q, spectrum = problem.eigenbasis()
    weight, tau = problem.root_weights[:, None] ** 2, problem.rows.curvature
    if not keep_weight:
        if not bool((weight == 1.0).all()):
            raise InputError("with sample weights, leave-one-out residuals need keep_weight=True")
        tau = tau * (1.0 - 1.0 / problem.total)
    inverse = 1.0 / (spectrum[..., None] + tau)
    solved = _in_basis(Q, problem.targets[..., None], inverse)
    diagonal = ((Q * Q) @ inverse.view(len(Q), -1)).view(inverse.shape)
    s = problem.root_weights[:, None, None]
    residuals = (solved / diagonal / s.clamp_min(torch.finfo(s.dtype).tiny)).permute(2, 0, 1)
    return residuals if problem.rotation is None else residuals @ problem.rotation.mT
