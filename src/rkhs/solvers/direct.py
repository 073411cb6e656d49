"""The squared loss: closed forms in eigenbases, conjugate gradients for sums of kernels, leave-one-out residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.losses import Squared
from rkhs.protocols import HasDualityGap, Monitor
from rkhs.solvers.batched import GapSolver, Ledger


class Direct(GapSolver):
    """Ridge regression: one division in the eigenbases for ``k A``, conjugate gradients for ``sum_t k_t A_t``.

    Parameters
    ----------
    tol : float or None, default=None
        Relative duality gap at which conjugate gradients stop; the closed form reaches rounding. None: that of the
        estimator; 1e-6 alone.
    max_iter : int or None, default=None
        Largest number of conjugate gradient steps. None: that of the estimator; 2000 alone.

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

    requires: ClassVar[tuple[type, ...]] = (HasDualityGap,)

    limits = (2000, 1e-6)

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        super().__init__(tol, max_iter)

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not problem.quadratic:
            raise InputError(
                f"Direct solves the squared loss only; use solver='admm' or 'fista', or loss={Squared()!r}"
            )

    def _run(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        if problem.separable:
            W = _closed_form(problem)
            # The gap of a closed form is rounding, which an exacting tol may not allow for.
            ledger.limits.clamp_min_(1e3 * torch.finfo(W.dtype).eps * float(problem.null_value().max()))
            ledger.record(problem, W, 1, monitor)
            ledger.close(problem, W, 1)
            return
        self._conjugate_gradients(problem, start, ledger, monitor)

    def _conjugate_gradients(self, problem: Any, start: Tensor | None, ledger: Ledger, monitor: Monitor) -> None:
        curvature = problem.rows.curvature[:, None, None, :]
        precondition = _preconditioner(problem)
        W = problem.targets.new_zeros(problem.shape) if start is None else start.clone()
        R = problem.targets[..., None] - problem.apply(W) - curvature * W
        P = S = precondition(R)
        rs = (R * S).sum((1, 2), keepdim=True)
        tiny = torch.finfo(W.dtype).tiny
        for iteration in range(1, self.max_iter + 1):
            AP = problem.apply(P) + curvature * P
            step = rs / (P * AP).sum((1, 2), keepdim=True).clamp_min(tiny)
            W, R = W + step * P, R - step * AP
            S = precondition(R)
            new = (R * S).sum((1, 2), keepdim=True)
            P, rs = S + (new / rs.clamp_min(tiny)) * P, new
            if iteration % 5 and iteration not in (1, self.max_iter):
                continue
            open_ = ledger.record(problem, W, iteration, monitor)
            if not len(ledger.columns):
                return
            if open_ is not None:
                columns = open_.nonzero()[:, 0]
                problem = problem.select(slice(0, W.shape[0]), columns)
                curvature, precondition = curvature[..., columns], _preconditioner(problem)
                W, R, P, rs = W[..., columns], R[..., columns], P[..., columns], rs[..., columns]
        ledger.close(problem, W, self.max_iter)


def _closed_form(problem: Any) -> Tensor:
    Q, spectrum = problem.eigenbasis()
    F, n, q, B = problem.shape
    rotated = (Q.mT @ problem.targets)[..., None] / (spectrum[..., None] + problem.rows.curvature[:, None, None, :])
    return torch.bmm(Q, rotated.reshape(F, n, q * B)).view(F, n, q, B)


def _preconditioner(problem: Any) -> Callable[[Tensor], Tensor]:
    """Inverse of the nearest problem ``k I``: each operator replaced by its mean eigenvalue."""
    Q, values = problem.mean_basis()
    inverse = 1.0 / (values[:, :, None] + problem.rows.curvature[:, None, :])

    def apply(R: Tensor) -> Tensor:
        F, n, q, B = R.shape
        rotated = torch.bmm(Q.mT, R.reshape(F, n, q * B)).view(F, n, q, B) * inverse[:, :, None, :]
        return torch.bmm(Q, rotated.view(F, n, q * B)).view(F, n, q, B)

    return apply


def leave_one_out_residuals(problem: Any, *, keep_weight: bool = False) -> Tensor:
    """Residuals ``y_i - h_{-i}(x_i)`` of the squared loss, each from the machine fitted without sample i.

    With ``G = K (x) a_j + tau`` in the coordinate of the operator's eigenvalue ``a_j``, the residual is
    ``(G^{-1} y)_i / (G^{-1})_ii``; no machine is fitted.

    Parameters
    ----------
    problem : DualProblem
        One kernel ``k A``, squared loss; F folds and B settings.
    keep_weight : bool, default=False
        Whether the remaining samples keep the weight ``1/n`` (as in stability analysis) instead of ``1/(n - 1)`` (a new
        fit with the same ``reg``).

    Returns
    -------
    Tensor of shape (F, B, n, q)
        In the coordinates of the targets. Cost ``O(n^3 + n^2 q B)``.

    Raises
    ------
    InputError
        For another loss or a sum of kernels.

    References
    ----------
    Rifkin and Lippert (2007).
    """
    if not problem.quadratic:
        raise InputError("leave-one-out residuals have a closed form for the squared loss only; use loss='squared'")
    Q, spectrum = problem.eigenbasis()
    weight = problem.root_weights[:, :, None] ** 2
    tau = problem.rows.curvature[:, None, None, :]
    if not keep_weight:
        if not bool((weight == 1.0).all()):
            raise InputError("with sample weights, leave-one-out residuals need keep_weight=True")
        tau = tau * (1.0 - 1.0 / problem.totals)[:, None, None, None]
    inverse = 1.0 / (spectrum[..., None] + tau)
    F, n, q, B = problem.shape
    solved = torch.bmm(Q, ((Q.mT @ problem.targets)[..., None] * inverse).view(F, n, q * B)).view(F, n, q, B)
    width = inverse.shape[2]
    diagonal = torch.bmm(Q * Q, inverse.reshape(F, n, width * B)).view(F, n, width, B)
    s = problem.root_weights[:, :, None, None]
    residuals = (solved / diagonal / s.clamp_min(torch.finfo(s.dtype).tiny)).permute(0, 3, 1, 2)
    return residuals if problem.rotation is None else residuals @ problem.rotation.mT
