"""Weights of kernels by their alignment with classes (Cortes, Mohri and Rostamizadeh, 2012, proposition 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls


def alignment_weights(grams: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Multipliers, not negative, shape (v,), whose sum of centred matrices is nearest to that of the classes."""
    centred = [_centred(K) for K in grams]
    sizes = np.array([np.linalg.norm(C) for C in centred])
    target = _centred((y[:, None] == y[None, :]).astype(float))
    M = np.array([[np.vdot(A, B) for B in centred] for A in centred]) / np.outer(sizes, sizes)
    values, vectors = np.linalg.eigh(M)
    kept = values > 1e-12 * values[-1]
    root, V = np.sqrt(values[kept]), vectors[:, kept]
    right = np.array([np.vdot(C, target) for C in centred]) / sizes
    return nnls(root[:, None] * V.T, V.T @ right / root)[0] / sizes


def _centred(K: np.ndarray) -> np.ndarray:
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean()
