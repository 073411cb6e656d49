"""Trace maximisation on small Stiefel manifolds: one pass of block eigenproblems, then Riemannian trust-region Newton.

The matrices have a few dozen rows, so call overhead dominates; NumPy's is smaller than PyTorch's.
"""

from __future__ import annotations

import numpy as np

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
