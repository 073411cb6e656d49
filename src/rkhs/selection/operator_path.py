"""Ridge regression with one kernel times one operator, for many regularisers, with every item left out in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

__all__ = ["left_out_path", "regs_above_rounding"]

_DIGITS = 100.0  # regularisers are so many times what rounding does to a Gram matrix, at least


def regs_above_rounding(regs: np.ndarray, K: Tensor, eigenvalues: Tensor) -> np.ndarray:
    """Regularisers, the largest first, beside which the rounding of a Gram matrix is small; the first, if none is."""
    largest = float(K.diagonal().mean() * eigenvalues.max())
    return regs[min(_DIGITS * torch.finfo(K.dtype).eps * largest, regs[0]) <= regs]


def left_out_path(
    K: Tensor, U: Tensor, eigenvalues: Tensor, regs: Sequence[float] | np.ndarray, weights: Tensor | None, total: float
) -> Iterator[tuple[Tensor, Tensor]]:
    """Residuals of items left out in turn, and the coefficients of all items, in coordinates of the operator.

    In the coordinate of eigenvalue ``a`` the machine solves ``G c = u``, ``G = a K + reg diag(1/w)``. The residual of
    item i by the machine without it is ``c_i / (G^-1)_ii``. Of m copies of a row one is left out: the others divide its
    residual by ``1 + (m - 1) v w / reg``, with its variance ``v = 1 / (G^-1)_ii - reg / w`` and the weight ``w`` of a
    copy.
    """
    w = torch.full_like(U[:, 0], 1.0 / len(U)) if weights is None else weights
    root = w.sqrt()[:, None]
    values, Q = torch.linalg.eigh(root * K * root.mT)
    spectrum, turned, squares = values.clamp_min(0.0)[:, None] * eigenvalues, Q.mT @ (root * U), Q * Q
    for reg in regs:
        inverse = 1.0 / (spectrum + float(reg))
        c = root * (Q @ (inverse * turned))
        diagonal = w[:, None] * (squares @ inverse)
        variance = (1.0 / diagonal - float(reg) / w[:, None]).clamp_min(0.0)
        copies = (w * total - 1.0).clamp_min(0.0)[:, None]
        yield c / diagonal / (1.0 + copies * variance / (float(reg) * total)), c
