"""Frozen-quadratic subspace steps with a hand-over to Riemannian L-BFGS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import divisor
from rkhs.constraints import Stiefel
from rkhs.protocols import HasFrozenQuadratic, Monitor, Reason, Solution
from rkhs.solvers.base import OnASet
from rkhs.solvers.riemannian import RiemannianLBFGS


class Subspace(OnASet):
    """Minimise over the space of the point, its Riemannian gradient and the last step, with the weights frozen.

    Where the gradient has the form ``-F_l(H) H_l``, one step freezes ``F_l``, takes an orthonormal basis ``Q`` of
    ``[H, R, H - H_prev]`` and maximises ``sum_l Tr(Y_l^T Q^T F_l Q Y_l)`` over small ``Y`` with orthonormal columns.
    For one block this is LOBPCG. A step that does not decrease the objective hands over to
    :class:`RiemannianLBFGS`; so does a problem whose kernels have no frozen form. The history names the route of
    each row.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of iterations, of all routes together. None: that of the estimator, or 1000 in direct use.
    tol : float or None, default=None
        Stop when the norm of the Riemannian gradient is at most ``tol * max(1, |value|)``. None: that of the
        estimator, or 1e-8 in direct use.

    References
    ----------
    Knyazev (2001), for the basis; Tonin et al. (2021), section 4.1, for the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import DeepRKM
    >>> from rkhs.solvers import Subspace
    >>> from sklearn.datasets import load_iris
    >>> model = DeepRKM((2, 1), solver=Subspace(max_iter=50)).fit(load_iris().data)
    >>> model.infeasibility_ < 1e-12
    True
    """

    limits: ClassVar[tuple[int, float]] = (1000, 1e-8)
    sets = Stiefel

    def _solve_on(self, manifold: Any, problem: Any, start: Tensor, monitor: Monitor) -> Solution:
        state = _State(manifold.project(start))
        reason = self._descend(manifold, problem, state, monitor) if isinstance(problem, HasFrozenQuadratic) else None
        if reason is None:
            return self._hand_over(problem, state, monitor)
        return Solution(
            state.point, state.value, reason, max(1, state.iteration), state.evaluations, history=monitor.finish()
        )

    def _descend(self, manifold: Any, problem: Any, state: _State, monitor: Monitor) -> Reason | None:
        """Subspace steps until convergence (a reason) or failure (None)."""
        H, previous = state.point, None
        fixed = problem.fixed(H)
        model = problem.freeze(H, fixed)
        if model is None:
            return None
        state.evaluations += 1
        while True:
            R = manifold.tangent(H, model.grad)
            measure = float(R.norm())
            state.point, state.value = H, model.value
            size = max(1.0, abs(model.value))
            facts: dict[str, Any] = {"evaluations": state.evaluations, "infeasibility": manifold.violation(H)}
            reason = self._stop(monitor, state.iteration, model.value, measure, size, route="exact", **facts)
            if reason is not None:
                return reason
            if not math.isfinite(measure):
                return Reason.DIVERGED
            Q, fixed_Q = _basis(problem, H, fixed, R, previous)
            small = [(lambda A: (A + A.mT) / 2)(Q.mT @ apply(Q, fixed_Q)) for apply in model.maps]
            moved = manifold.project(Q @ _maximise(small, Q.mT @ H, problem.spans))
            moved_fixed = fixed_Q @ (Q.mT @ moved)
            candidate = problem.freeze(moved, moved_fixed)
            state.evaluations += 1
            state.iteration += 1
            if not candidate.value < model.value - 1e-15 * abs(model.value):
                return None
            previous = moved - H
            H, fixed, model = moved, moved_fixed, candidate

    def _hand_over(self, problem: Any, state: _State, monitor: Monitor) -> Solution:
        solver = RiemannianLBFGS(max_iter=max(1, self.max_iter - state.iteration), tol=self.tol)
        done = solver._solve(problem, state.point, monitor)
        rows = tuple({"route": "riemannian", **row} for row in done.history)
        n_iter, n_evaluations = state.iteration + done.n_iter, state.evaluations + done.n_evaluations
        return replace(done, n_iter=n_iter, n_evaluations=n_evaluations, history=rows)


@dataclass
class _State:
    point: Tensor
    value: float = float("inf")
    iteration: int = 0
    evaluations: int = 0


def _basis(problem: Any, H: Tensor, fixed: Tensor, R: Tensor, previous: Tensor | None) -> tuple[Tensor, Tensor]:
    """Orthonormal basis of ``[H, R, previous]`` and its image under the fixed map."""
    B = R if previous is None else torch.cat([R, previous], 1)
    for _ in range(2):
        B = B - H @ (H.mT @ B)
        B = B / divisor(B.norm(dim=0))
        values, vectors = torch.linalg.eigh(B.mT @ B)
        kept = values > 1e-10 * values[-1]
        B = B @ (vectors[:, kept] / values[kept].sqrt())
    return torch.cat([H, B], 1), torch.cat([fixed, problem.fixed(B)], 1)


def _maximise(small: list[Tensor], start: Tensor, spans: tuple[slice, ...]) -> Tensor:
    """Maximise ``sum_l Tr(Y_l^T A_l Y_l)``; of one block in closed form."""
    if len(small) == 1:
        return torch.linalg.eigh(small[0])[1].flip(1)[:, : spans[0].stop]
    arrays = [A.cpu().to(torch.float64).numpy() for A in small]
    return torch.from_numpy(maximise_traces(arrays, start.cpu().to(torch.float64).numpy(), spans)).to(start)


Array = np.ndarray


def maximise_traces(
    matrices: list[Array], start: Array, blocks: tuple[slice, ...], tol: float = 1e-2, max_newton: int = 12
) -> Array:
    """Maximise ``1/2 sum_l Tr(Y_l^T A_l Y_l)`` over ``Y = [Y_1, .., Y_L]`` with orthonormal columns."""
    # ``blocks`` are the columns of the ``Y_l``; ``tol`` is the norm of the Riemannian gradient relative to the start.
    egrad = _euclidean_gradient(matrices, start, blocks)
    target = tol * float(np.linalg.norm(_project_to_tangent_space(start, egrad)))
    best, value = start, 0.5 * float((egrad * start).sum())
    updated = _pass_over_blocks(matrices, start, blocks)
    updated_value = 0.5 * float((_euclidean_gradient(matrices, updated, blocks) * updated).sum())
    if updated_value > value:
        best = updated
    return _newton(matrices, best, blocks, target, max_newton)


def _euclidean_gradient(matrices: list[Array], V: Array, blocks: tuple[slice, ...]) -> Array:
    return np.concatenate([A @ V[:, block] for A, block in zip(matrices, blocks, strict=True)], 1)


def _project_to_tangent_space(Y: Array, G: Array) -> Array:
    inner = Y.T @ G
    return G - Y @ (0.5 * (inner + inner.T))


def _retract(Y: Array) -> Array:
    Q, R = np.linalg.qr(Y)
    return Q * np.where(R.diagonal() < 0.0, -1.0, 1.0)


def _pass_over_blocks(matrices: list[Array], Y: Array, blocks: tuple[slice, ...]) -> Array:
    """Each block in turn becomes the top eigenvectors of its matrix in the complement of the other blocks."""
    Y = Y.copy()
    for A, block in zip(matrices, blocks, strict=True):
        others = np.concatenate([Y[:, : block.start], Y[:, block.stop :]], 1)
        complement = np.linalg.qr(others, mode="complete")[0][:, others.shape[1] :]
        vectors = np.linalg.eigh(complement.T @ A @ complement)[1][:, ::-1][:, : block.stop - block.start]
        Y[:, block] = complement @ vectors
    return Y


def _newton(matrices: list[Array], Y: Array, blocks: tuple[slice, ...], target: float, max_newton: int) -> Array:
    egrad = _euclidean_gradient(matrices, Y, blocks)
    value, radius = 0.5 * float((egrad * Y).sum()), 0.5
    for _ in range(max_newton):
        multiplier = Y.T @ egrad
        multiplier = 0.5 * (multiplier + multiplier.T)
        gradient = Y @ multiplier - egrad  # of the negative objective
        norm = float(np.linalg.norm(gradient))
        if norm <= target:
            break
        D, gain = _steihaug(matrices, Y, blocks, multiplier, gradient, radius)
        trial = _retract(Y + D)
        trial_egrad = _euclidean_gradient(matrices, trial, blocks)
        trial_value = 0.5 * float((trial_egrad * trial).sum())
        ratio = (trial_value - value) / max(gain, 1e-300)
        length = float(np.linalg.norm(D))
        if ratio > 0.75 and length > 0.9 * radius:
            radius *= 2.5
        elif ratio < 0.25:
            radius = 0.25 * length
        if trial_value > value:
            Y, egrad, value = trial, trial_egrad, trial_value
        elif radius < 1e-10:
            break
    return Y


def _steihaug(
    matrices: list[Array], Y: Array, blocks: tuple[slice, ...], multiplier: Array, gradient: Array, radius: float
) -> tuple[Array, float]:
    """Steihaug-Toint truncated CG for the trust-region subproblem: the step and the predicted increase."""
    D, HD = np.zeros_like(Y), np.zeros_like(Y)
    residual, direction = gradient, -gradient
    square = initial = float((residual * residual).sum())
    for _ in range(2 * Y.size):
        HP = _project_to_tangent_space(Y, direction @ multiplier - _euclidean_gradient(matrices, direction, blocks))
        curvature = float((direction * HP).sum())
        alpha = square / curvature if curvature > 0.0 else np.inf
        if not curvature > 0.0 or np.linalg.norm(D + alpha * direction) >= radius:
            a, b = float((direction * direction).sum()), float((D * direction).sum())
            c = float((D * D).sum()) - radius * radius
            tau = (-b + np.sqrt(max(b * b - a * c, 0.0))) / a
            D, HD = D + tau * direction, HD + tau * HP
            break
        D, HD = D + alpha * direction, HD + alpha * HP
        residual = residual + alpha * HP
        new = float((residual * residual).sum())
        if new <= initial * min(0.01, initial):  # stopping rule of Absil et al. (2008): kappa = 0.1, theta = 1
            break
        direction = -residual + (new / square) * direction
        square = new
    return D, -float((gradient * D).sum()) - 0.5 * float((D * HD).sum())
