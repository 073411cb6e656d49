"""Initial codes of a kernel autoencoder: kernel PCA scores at the scale of least objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor

from rkhs._core.eigen import component_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor, fix_signs
from rkhs.kernels.vectors.distances import median_squared_distance

SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def kernel_pca_scores(K: Tensor, p: int, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Scores of the training items on the leading ``p`` kernel principal components."""
    n = K.shape[0]
    root = K.new_full((n,), n**-0.5) if weights is None else weights.sqrt()
    values, vectors = component_eigenpairs(K, p, weights)
    floor = n * torch.finfo(K.dtype).eps * max(float(values[0]), float(K.diagonal().abs().mean()))
    values = torch.where(values > floor, values, torch.zeros_like(values))
    return fix_signs(vectors * values.sqrt() / root[:, None]), values


def normalise_scale(Z: Tensor, weights: Tensor | None = None) -> Tensor:
    """Multiply the codes so that their median squared distance is one; constant codes stay as they are."""
    median = median_squared_distance(Z, weights)
    if median <= 0.0:
        median = 2.0 * float(((Z - Z.mean(0)) ** 2).sum(1).mean())
    return Z / median**0.5 if median > 0.0 else Z


def targets_of_layers(scores: Tensor, widths: tuple[int, ...], weights: Tensor | None = None) -> list[Tensor]:
    """Leading columns of ``scores`` for every layer, at one scale; zeros where there are too few."""
    padded = torch.nn.functional.pad(scores, (0, max(0, max(widths) - scores.shape[1])))
    return [normalise_scale(padded[:, :p], weights) for p in widths]


def widened(codes: Tensor, scores: Tensor, widths: tuple[int, ...], weights: Tensor | None = None) -> list[Tensor]:
    """Targets of layers wider than the codes: further columns are scores, at the scale of the codes."""
    p, w = codes.shape[1], 1.0 if weights is None else weights[:, None].sqrt()
    scale = float((w * codes).norm() / divisor((w * scores[:, :p]).norm()))
    target = torch.cat([codes, scale * scores[:, p:]], 1)
    return [target[:, :width] for width in widths]


def even_columns(Z: Tensor) -> Tensor:
    """Scale every column to standard deviation one: a circle of codes needs both of its axes."""
    spread = Z.std(0)
    return Z / spread.clamp_min(1e-6 * float(divisor(spread.max())))


def best_start(value: Callable[[Tensor], float], start: Callable[[float], Tensor]) -> Tensor:
    """The point ``start(scale)`` of least value, which is taken as unimodal in the scale."""
    first = SCALES.index(2.0)
    best, least = start(SCALES[first]), math.inf
    with suppress(InputError):  # a system that is singular at this scale
        least = value(best)
    for side in (SCALES[first + 1 :], SCALES[:first][::-1]):
        improved = False
        for scale in side:
            point, found = start(scale), math.inf
            with suppress(InputError):
                found = value(point)
            if not found < least:
                break
            best, least, improved = point, found, True
        if improved:
            break
    return best
