"""The normal equations of a function of codes that is spread over anchors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel

__all__ = ["LastLayer", "least_ridge", "solve_normal"]


def least_ridge(dtype: torch.dtype, anchors: int) -> float:
    """What keeps the normal equations positive definite in spite of rounding; 1e-5 of the objective or less."""
    return max(1e-12, 4.0 * torch.finfo(dtype).eps * anchors**0.5)


@dataclass(frozen=True)
class LastLayer:
    """The best last layer at given codes."""

    anchors: Tensor  # (a, p)
    coefficients: Tensor  # (a, q)
    value: float  # loss and penalty of the last layer


def solve_normal(
    kernel: Kernel, anchors: Tensor, sums: tuple[np.ndarray, ...], reg: float, ridge: float
) -> tuple[LastLayer, Tensor]:
    """Solve the normal equations of the last layer."""
    N, c, total = (torch.as_tensor(part) for part in sums)
    G = kernel._gram(anchors)
    system = torch.add(N, G, alpha=reg)
    system.diagonal().add_(ridge * float(G.diagonal().max()))
    L, info = torch.linalg.cholesky_ex(system)
    if int(info) != 0:
        raise InputError("the normal equations of the decoder must be positive definite; use a larger reg")
    C = torch.cholesky_solve(c, L)
    return LastLayer(anchors, C, 0.5 * (float(total) - float((c * C).sum()))), G
