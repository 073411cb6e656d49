"""Kernels of the difference of two vectors, and the rules for their bandwidth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError, quote
from rkhs._core.linalg import column_means
from rkhs.kernels.base import VectorKernel
from rkhs.kernels.vectors.distances import cancels, median_bandwidth, middle_squared_distances, squared_distances


def read_rule(text: str, name: str) -> tuple[float, str]:
    """Factor and rule of a bandwidth such as ``"median"`` or ``"4*median"``."""
    factor, star, rule = text.rpartition("*")
    try:
        number = float(factor) if star else 1.0
    except ValueError:
        number = math.nan
    if rule.strip() not in ("median", "scale", "1/d") or not 0.0 < number < math.inf:
        raise InputError(
            f"{name} must be > 0 or one of 'median', 'scale', '1/d', or a multiple of these such as '4*median'; "
            f"got {quote(text)}"
        )
    return number, rule.strip()


def found_rate(gamma: float, name: str, rule: str) -> float:
    """Check the bandwidth of a rule: it is not positive if squares of the data overflow."""
    if not gamma > 0.0:
        raise InputError(
            f"X must hold values whose squares are finite: {name}={rule!r} gives {gamma:g}; rescale the data"
        )
    return gamma


def _typical(X: Tensor) -> float:
    """Median squared distance of a row from the median of every column."""
    norms = ((X - X.median(dim=0).values) ** 2).sum(1)
    positive = norms[norms > 0.0]
    return float(norms.median()) or (float(positive.min()) if len(positive) else 1.0)


class Stationary(VectorKernel):
    """A kernel of the difference ``x - y`` with a bandwidth ``gamma`` that multiplies the distance.

    References
    ----------
    ``gamma="median"``: Gretton et al. (2012), section 8; ``gamma="scale"``: scikit-learn's support vector machines.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian, Laplacian, Stationary
    >>> isinstance(Laplacian("l1", 1.0), Stationary)
    True
    >>> Gaussian("1/d").resolve(torch.zeros(5, 4)).gamma
    0.25
    """

    gamma: float | str

    @property
    def rotation_invariant(self) -> bool:
        """Whether the kernel reads Euclidean distances only."""
        return True

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """Turn ``"median"``, ``"scale"`` and ``"1/d"`` into a number; one that would overflow is refused."""
        self._check()
        name, gamma = f"{type(self).__name__}.gamma", self.gamma
        if isinstance(gamma, str):
            factor, rule = read_rule(gamma, name)
            gamma = found_rate(factor * self._bandwidth(rule, X, weights), name, gamma)
        else:
            check_number(gamma, name, above=0.0, names=("median", "scale", "1/d"))
        if float(gamma) > 1e300 ** (self._power / 2):  # its square, or it, would overflow
            raise InputError(
                f"{name} must be at most {1e300 ** (self._power / 2):.0e}; got {gamma:.1e}. Rescale the data"
            )
        return self if gamma is self.gamma else self._with(gamma=gamma)

    def _bandwidth(self, rule: str, X: Tensor, weights: Tensor | None) -> float:
        if rule == "1/d":
            return 1.0 / X.shape[1]
        if rule == "scale":
            w = X.new_full((X.shape[0],), 1.0 / X.shape[0]) if weights is None else weights
            centred = X - w @ X
            spread = float((w @ (centred * centred)).mean()) * X.shape[1]
            # The rule is for squared distances; kernels of the plain distance take its root.
            return 1.0 if spread <= 0.0 else (1.0 / spread) ** (0.5 * self._power)
        median = self._median_distance(X) if weights is None else 0.0
        return 1.0 / median if median > 0.0 else median_bandwidth(self._distances(X), weights)

    _power = 1
    """The distance that ``gamma`` multiplies is ``||x - y||^power``."""

    def _distances(self, X: Tensor) -> Tensor:
        D = squared_distances(X, rate=1.0 / _typical(X))
        return D if self._power == 2 else D.sqrt_()

    def _median_distance(self, X: Tensor) -> float:
        """Median of ``||x - y||^power`` without a matrix of distances; zero where only that matrix keeps the digits."""
        A = X - column_means(X)
        if cancels(float((A * A).sum(1).max()) / _typical(X), X.dtype):
            return 0.0
        return float(np.mean(np.power(middle_squared_distances(X), self._power / 2)))

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise InputError(f"{type(self).__name__}.gamma is {self.gamma!r}: call resolve(X) first")
        return float(self.gamma)

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_ones(X.shape[0])

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)
