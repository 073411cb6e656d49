"""Functions with known minima, as problems."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


class Rosenbrock:
    """``sum_i 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2``, zero at ones."""

    def value_and_grad(self, x: Tensor) -> tuple[float, Tensor]:
        a, b = x[:-1], x[1:]
        r, s = b - a * a, 1.0 - a
        grad = torch.zeros_like(x)
        grad[:-1] += -400.0 * a * r - 2.0 * s
        grad[1:] += 200.0 * r
        return float((100.0 * r * r + s * s).sum()), grad


class Quadratic:
    """``1/2 (x - s)^T H (x - s) + shift`` with a given condition number."""

    def __init__(self, seed: int, *, condition: float = 10.0, shift: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        self.H = torch.as_tensor((Q * np.geomspace(1.0, condition, 20)) @ Q.T)
        self.solution = torch.as_tensor(rng.normal(size=20))
        self.minimum = shift

    def value_and_grad(self, x: Tensor) -> tuple[float, Tensor]:
        grad = self.H @ (x - self.solution)
        return 0.5 * float((x - self.solution) @ grad) + self.minimum, grad


class Broken:
    """``"uphill"``: a gradient of the wrong sign. ``"wall"``: ``x - log x``, not a number for ``x <= 0``."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def value_and_grad(self, x: Tensor) -> tuple[float, Tensor]:
        if self.kind == "uphill":
            return float((x * x).sum()), -2.0 * x
        if bool((x <= 0.0).any()):
            return math.nan, torch.full_like(x, math.nan)
        return float((x - x.log()).sum()), 1.0 - 1.0 / x
