"""Codes in the metric of what they decode to: a linear map from the codes of the layers to user coordinates.

Distances of codes have no meaning by themselves: each direction can be rescaled in the codes and in the decoder ``g``.
``||g(z + e) - g(z)||^2`` is ``e^T G e`` to first order, on average over the items, with
``G = sum_i w_i J(z_i)^T J(z_i)`` and the Jacobian ``J`` of ``g``. Codes ``z G^(s/2)`` have the distances of the layers
for ``s = 0``, those of what is decoded for ``s = 1``, and the geometric mean of both for ``s = 1/2``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rkhs._core.linalg import principal_axes
from rkhs.kernels.base import Kernel

_ITEMS = 200  # evenly spaced items over which the metric is averaged: it has p (p + 1) / 2 entries
_ENTRIES = 2**22  # entries of the Jacobians that are in memory at once
_MEASURED = 500  # evenly spaced items on which errors without a component are measured
_FLOOR = 1e-8  # of eigenvalues, relative to the largest: directions that the decoder ignores stay invertible


def code_map(
    codes: Tensor,
    supports: Tensor,
    kernel: Kernel,
    coefficients: Tensor,
    linear: Tensor | None,
    power: float,
    weights: Tensor | None,
) -> Tensor | None:
    """Invertible ``M`` of shape (p, p) that codes are multiplied by: ``G^(s/2)``, rotated to principal axes."""
    if power == 0.0 or coefficients.numel() == 0:
        return None
    chosen = torch.linspace(0, len(codes) - 1, min(_ITEMS, len(codes)), dtype=torch.float64).round().long()
    Z = codes[chosen]
    weights = None if weights is None else weights.to(codes)
    root = torch.ones_like(Z[:, 0]) if weights is None else weights[chosen].sqrt()
    G = Z.new_zeros(Z.shape[1], Z.shape[1])
    rows = max(1, _ENTRIES // (Z.shape[1] * coefficients.shape[1]))
    for part, some in zip(Z.split(rows), root.split(rows), strict=True):
        J = kernel._jacobian(part, supports, coefficients)
        if linear is not None:
            J = J + linear[:-1]
        J = (J * some[:, None, None]).transpose(0, 1).flatten(1)
        G.addmm_(J, J.mT)
    values, vectors = torch.linalg.eigh(G / (root * root).sum())
    if not float(values[-1]) > 0.0:
        return None
    floor = max(_FLOOR, 4.0 * torch.finfo(G.dtype).eps) * float(values[-1])
    stretched = values.clamp_min(floor) ** (power / 2.0)
    M = (vectors * stretched) @ vectors.mT
    return M @ principal_axes(codes @ M, weights) if kernel.rotation_invariant else M


def inactive_axes(
    codes: Tensor, weights: Tensor | None, error_of: Callable[[Tensor, Tensor], float], allowed: float
) -> Tensor | None:
    """Means of the components whose removal raises the error by at most ``allowed``, NaN for others; None if none."""
    n, p = codes.shape
    rows = torch.linspace(0, n - 1, min(_MEASURED, n), dtype=torch.float64).round().long()
    Z, mean = codes[rows], codes.mean(0) if weights is None else weights @ codes
    least, found = error_of(rows, Z), torch.full_like(mean, torch.nan)

    order = sorted(range(p), key=lambda j: error_of(rows, torch.where(torch.arange(p, device=Z.device) == j, mean, Z)))
    for count in range(1, p):
        tried = found.clone()
        tried[order[count - 1]] = mean[order[count - 1]]
        if not error_of(rows, torch.where(torch.isnan(tried), Z, tried)) - least <= allowed:
            break
        found = tried
    return None if bool(torch.isnan(found).all()) else found
