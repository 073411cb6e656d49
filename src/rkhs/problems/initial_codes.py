"""Where a kernel autoencoder starts: kernel PCA scores at a good scale, or random codes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rkhs._core.linalg import cholesky, fix_signs
from rkhs.kernels.vectors.medians import median_squared_distance
from rkhs.problems.autoencoder import Autoencoder
from rkhs.spaces.grams import Dense

__all__ = ["SCALES", "apply_inverse", "best_scale", "kernel_pca_scores", "layered_start", "normalise_scale"]

SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

# Hidden layers start as ridge fits that drop directions of less than one per cent of the trace. A layer that
# interpolates its goal has a huge norm and a rough landscape below it: on digits, widths (10, 2, 10), it ends at twice
# the objective.
_SMOOTHNESS = 1e-2


def kernel_pca_scores(K: Tensor, p: int, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Scores of the training items on the leading ``p`` kernel principal components."""
    n = K.shape[0]
    root = K.new_full((n,), n**-0.5) if weights is None else weights.sqrt()
    values, vectors = Dense(K).top_eigenpairs(p, weights)
    floor = n * torch.finfo(K.dtype).eps * max(float(values[0]), float(K.diagonal().abs().mean()))
    values = torch.where(values > floor, values, torch.zeros_like(values))
    return fix_signs(vectors * values.sqrt() / root[:, None]), values


def normalise_scale(Z: Tensor, weights: Tensor | None = None) -> Tensor:
    """Multiply the codes so that their median squared distance is one; constant codes stay as they are."""
    median = median_squared_distance(Z, weights)
    if median <= 0.0:
        median = 2.0 * float(((Z - Z.mean(0)) ** 2).sum(1).mean())
    return Z / median**0.5 if median > 0.0 else Z


def layered_start(problem: Autoencoder, scores: Tensor, *, search: bool = True) -> tuple[Tensor, int]:
    """Parameters whose codes are (ridge fits of) the leading columns of ``scores`` in every layer."""
    targets = [normalise_scale(scores[:, :p], problem.weights) for p in problem.widths]
    if not search:
        return _at_scale(problem, targets, 1.0), 0
    scale, evaluations = best_scale(lambda scale: problem.value(_at_scale(problem, targets, scale)))
    return _at_scale(problem, targets, scale), evaluations


def best_scale(value: Callable[[float], float]) -> tuple[float, int]:
    """The scale of ``SCALES`` at which a value that falls and then rises is least, and how many were tried."""
    first = SCALES.index(2.0)
    best, least, tried = SCALES[first], value(SCALES[first]), 1
    for side in (SCALES[first + 1 :], SCALES[:first][::-1]):
        before = tried
        for scale in side:
            found, tried = value(scale), tried + 1
            if not found < least:
                break
            best, least = scale, found
        if tried > before + 1:  # it fell on this side
            break
    return best, tried


def _at_scale(problem: Autoencoder, targets: list[Tensor], scale: float) -> Tensor:
    targets = [scale * target for target in targets]
    root = problem._roots[0]
    parts = [problem.factor.solve(targets[0] if root is None else apply_inverse(targets[0], root))]
    for layer in range(1, len(problem.widths)):
        codes = problem.codes(problem.pack(_padded(problem, parts)))[layer - 1]
        K = problem.kernels[layer - 1]._gram(codes)
        K.diagonal().add_(problem.relative_ridge(K, _SMOOTHNESS))
        L, _ = cholesky(K, name="the Gram matrix of a hidden layer")
        A = problem.operators[layer]
        goal = targets[layer] if A is None else apply_inverse(targets[layer], A)
        parts.append(torch.cholesky_solve(goal, L))
    return problem.pack(parts)


def _padded(problem: Autoencoder, parts: list[Tensor]) -> list[Tensor]:
    missing = problem.widths[len(parts) :]
    return parts + [problem.target.new_zeros(problem.n, p) for p in missing]


def apply_inverse(Z: Tensor, A: Tensor) -> Tensor:
    """Multiply by a pseudo-inverse from the right, ``Z A^+``."""
    return Z @ torch.linalg.pinv(A, hermitian=True, rtol=1e-12)
