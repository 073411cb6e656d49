"""Kernel autoencoders written out: one kernel value at a time, Kronecker matrices, no shortcut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from rkhs.kernels.base import Kernel


def naive_gram(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Gram matrix from one pair of rows at a time."""
    rows = torch.as_tensor(X)
    return np.array(
        [[float(kernel._gram(rows[i : i + 1], rows[j : j + 1])) for j in range(len(X))] for i in range(len(X))]
    )


def naive_layer(K: np.ndarray, Phi: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, float]:
    """Outputs ``f(x_i) = sum_j K_ij A phi_j`` and squared norm of one layer, by the matrix ``K (x) A``."""
    full = np.kron(K, A)
    vec = Phi.reshape(-1)
    return (full @ vec).reshape(Phi.shape), float(vec @ full @ vec)


def naive_objective(
    K1: np.ndarray,
    target: np.ndarray,
    kernels: Sequence[Kernel],
    reg: Sequence[float],
    operators: Sequence[np.ndarray | None],
    weights: np.ndarray,
    coefficients: Sequence[np.ndarray],
) -> float:
    """The joint objective over all coefficients."""
    value, K, outputs = 0.0, K1, None
    for layer, Phi in enumerate(coefficients):
        if layer > 0:
            assert outputs is not None
            K = naive_gram(kernels[layer - 1], outputs)
        A = np.eye(Phi.shape[1]) if operators[layer] is None else operators[layer]
        outputs, norm = naive_layer(K, Phi, A)
        value += 0.5 * reg[layer] * norm
    for i in range(len(target)):
        value += 0.5 * weights[i] * float(((target[i] - outputs[i]) ** 2).sum())
    return value


def naive_decoder(K: np.ndarray, A: np.ndarray, T: np.ndarray, reg: float, weights: np.ndarray) -> np.ndarray:
    """Coefficients of the best last layer, from the Kronecker system ``(W K (x) A + reg I) vec Phi = vec(W T)``."""
    full = np.kron(weights[:, None] * K, A) + reg * np.eye(T.size)
    return np.linalg.solve(full, (weights[:, None] * T).reshape(-1)).reshape(T.shape)


def taylor_slope(function, gradient, x: torch.Tensor, direction: torch.Tensor) -> float:
    """Order in ``h`` of ``|f(x + h d) - f(x) - h <g, d>|``: two if and only if ``g`` is the gradient."""
    steps = np.array([1e-3, 5e-4, 2e-4, 1e-4])
    f, slope = function(x), float((gradient * direction).sum())
    errors = np.array([abs(function(x + h * direction) - f - h * slope) for h in steps])
    assert errors.max() > 1e-12 * max(1.0, abs(f)), "the direction is too short to see anything"
    return float(np.polyfit(np.log(steps), np.log(np.maximum(errors, 1e-300)), 1)[0])
