"""Slow and obvious twins of kernels, one pair at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def pairwise(function: Callable[[np.ndarray, np.ndarray], float], X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.array([[function(x, y) for y in Y] for x in X])


def _kappa(order: int, u: float) -> float:
    angle = math.acos(u)
    return (math.pi - angle) / math.pi if order == 0 else (u * (math.pi - angle) + math.sin(angle)) / math.pi


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    return max(-1.0, min(1.0, float(x @ y) / float(np.linalg.norm(x) * np.linalg.norm(y))))


def arc_cosine(order: int, depth: int) -> Callable[[np.ndarray, np.ndarray], float]:
    def value(x: np.ndarray, y: np.ndarray) -> float:
        if not x.any() or not y.any():
            return 0.0
        u = _cosine(x, y)
        for _ in range(depth):
            u = _kappa(order, u)
        return u if order == 0 else float(np.linalg.norm(x) * np.linalg.norm(y)) * u

    return value


def ntk(depth: int) -> Callable[[np.ndarray, np.ndarray], float]:
    def value(x: np.ndarray, y: np.ndarray) -> float:
        if not x.any() or not y.any():
            return 0.0
        size = float(np.linalg.norm(x) * np.linalg.norm(y))
        sigma = theta = _cosine(x, y) * size
        for _ in range(depth):
            gate = _kappa(0, sigma / size)
            sigma = size * _kappa(1, sigma / size)
            theta = sigma + theta * gate
        return theta

    return value


def min_max(x: np.ndarray, y: np.ndarray) -> float:
    top = sum(min(a, b) for a, b in zip(x, y, strict=True))
    bottom = sum(max(a, b) for a, b in zip(x, y, strict=True))
    return 1.0 if bottom == 0 else top / bottom


def tanimoto(x: np.ndarray, y: np.ndarray) -> float:
    bottom = x @ x + y @ y - x @ y
    return 1.0 if bottom == 0 else float(x @ y / bottom)


def operator_gram(Ks: list[np.ndarray], As: list[np.ndarray]) -> np.ndarray:
    """The n p x n p matrix that the library never builds, acting on the row-major vec of the coefficients."""
    return sum(np.kron(K, A) for K, A in zip(Ks, As, strict=True))
