"""Arrays of models that can be recomputed from the others, so that model files need not store them.

The coefficients of the last layer are ``n x r`` numbers, and so are the coordinates of features as targets: most of a
file. Both follow from the items, the codes and a few numbers, by the steps of the fit: a factorisation and a
linear system, ``2/3 n^3 + 2 n^2 r`` multiplications. The same holds for items that are rebuilt as vectors and have more
columns than rows, by a singular value decomposition, and for zeros and ones, which take little memory.

Each model recomputes them in ``from_file``, which reads a file; when a file is written, an array is left out if this
recomputation gives it to the last bit.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs.kernels.base import Kernel
from rkhs.problems.coordinates import STRIP as STRIP
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.leaves import LeavesLayer
from rkhs.problems.semiparametric import leading_directions, semiparametric_decoder


def best_layer(
    kernel: Kernel, codes: np.ndarray, U: Tensor, reg: float, weights: np.ndarray | None = None, *, free: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Coefficients (n, r) and free linear part of the ridge regression on fixed codes, computed as in the fit."""
    Z = tensor_like(np.ascontiguousarray(codes), U)
    solve = semiparametric_decoder if free else optimal_decoder
    found = solve(kernel._gram(Z), Z, U, reg, None, None if weights is None else tensor_like(weights, U))
    return found.coefficients, found.linear


def spares_memory(items: np.ndarray) -> bool:
    """Whether items take less memory than the coordinates and coefficients that can be recomputed from them."""
    return items.shape[1] > len(items) or bool(((items == 0) | (items == 1)).all())


def layer_on_landmarks(
    kernel: Kernel,
    codes: np.ndarray,
    target: Tensor,
    reg: float,
    weights: Tensor | None,
    *,
    components: int,
    free: bool,
    last_reg: float | None = None,
) -> tuple[np.ndarray | None, ...]:
    """Coefficients, linear part and leading directions for targets in the span of landmarks, rows in fit order."""
    leading = leading_directions(target, weights, components) if free else None
    decoder = AnchorsLayer.of(target, kernel, len(target), reg, weights, None, linear=free)
    last = decoder if last_reg is None else LeavesLayer(decoder, last_reg)
    found = last.solve(torch.as_tensor(codes).to(target))
    parts = (found.coefficients, found.linear, leading)
    return tuple(None if part is None else part.contiguous().numpy() for part in parts)
