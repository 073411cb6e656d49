"""Sums of traces over small orthonormal matrices: block eigenvectors, then trust-region Newton, all in NumPy.

The matrices have a few dozen rows; interpreter overhead decides, and NumPy's is the smallest.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def maximise_traces(
    matrices: list[Array], start: Array, spans: tuple[slice, ...], tol: float = 1e-2, max_newton: int = 12
) -> Array:
    """Maximise ``1/2 sum_l Tr(Y_l^T A_l Y_l)`` over ``Y = [Y_1, .., Y_L]`` with orthonormal columns."""
    images = _images(matrices, start, spans)
    target = tol * float(np.linalg.norm(_tangent(start, images)))
    best, value = start, float((images * start).sum())
    swept = _pass_over_blocks(matrices, start, spans)
    swept_value = float((_images(matrices, swept, spans) * swept).sum())
    if swept_value > value:
        best = swept
    return _newton(matrices, best, spans, target, max_newton)


def _images(matrices: list[Array], V: Array, spans: tuple[slice, ...]) -> Array:
    return np.concatenate([A @ V[:, span] for A, span in zip(matrices, spans, strict=True)], 1)


def _tangent(Y: Array, G: Array) -> Array:
    inner = Y.T @ G
    return G - Y @ (0.5 * (inner + inner.T))


def _retract(Y: Array) -> Array:
    Q, R = np.linalg.qr(Y)
    return Q * np.where(R.diagonal() < 0.0, -1.0, 1.0)


def _pass_over_blocks(matrices: list[Array], Y: Array, spans: tuple[slice, ...]) -> Array:
    """Each block in turn becomes the top eigenvectors of its matrix in the complement of the other blocks."""
    Y = Y.copy()
    for A, span in zip(matrices, spans, strict=True):
        others = np.concatenate([Y[:, : span.start], Y[:, span.stop :]], 1)
        complement = np.linalg.qr(others, mode="complete")[0][:, others.shape[1] :]
        vectors = np.linalg.eigh(complement.T @ A @ complement)[1][:, ::-1][:, : span.stop - span.start]
        Y[:, span] = complement @ vectors
    return Y


def _newton(matrices: list[Array], Y: Array, spans: tuple[slice, ...], target: float, max_newton: int) -> Array:
    images = _images(matrices, Y, spans)
    value, radius = 0.5 * float((images * Y).sum()), 0.5
    for _ in range(max_newton):
        multiplier = Y.T @ images
        multiplier = 0.5 * (multiplier + multiplier.T)
        gradient = Y @ multiplier - images  # of the negative objective
        norm = float(np.linalg.norm(gradient))
        if norm <= target:
            break
        D, gain = _steihaug(matrices, Y, spans, multiplier, gradient, radius)
        trial = _retract(Y + D)
        trial_images = _images(matrices, trial, spans)
        trial_value = 0.5 * float((trial_images * trial).sum())
        ratio = (trial_value - value) / max(gain, 1e-300)
        length = float(np.linalg.norm(D))
        if ratio > 0.75 and length > 0.9 * radius:
            radius *= 2.5
        elif ratio < 0.25:
            radius = 0.25 * length
        if trial_value > value:
            Y, images, value = trial, trial_images, trial_value
        elif radius < 1e-10:
            break
    return Y


def _steihaug(
    matrices: list[Array], Y: Array, spans: tuple[slice, ...], multiplier: Array, gradient: Array, radius: float
) -> tuple[Array, float]:
    """Truncated conjugate gradient on the Newton model inside a ball; the step and the predicted gain."""
    D, HD = np.zeros_like(Y), np.zeros_like(Y)
    residual, direction = gradient, -gradient
    square = first = float((residual * residual).sum())
    for _ in range(2 * Y.size):
        HP = _tangent(Y, direction @ multiplier - _images(matrices, direction, spans))
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
        if new <= first * min(0.01, first):  # norm below a tenth, or quadratic
            break
        direction = -residual + (new / square) * direction
        square = new
    return D, -float((gradient * D).sum()) - 0.5 * float((D * HD).sum())
