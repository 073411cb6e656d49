"""Several radial kernels in one pass over the distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rkhs.kernels.vectors.radial import Radial, RadialDistance


class Mixture(Radial):
    """Weighted sum ``k = sum_t w_t f_t(D)`` of resolved radial kernels, in one pass over the distances."""

    _power = 2

    def __init__(self, weights: Sequence[float], terms: Sequence[Radial]) -> None:
        self.weights = weights
        self.terms = terms
        plain = [term for term in terms if isinstance(term, RadialDistance)]
        self._of_distances = plain if len(plain) == len(terms) else []
        self.gamma = max(term._gamma ** (2 / term._power) for term in terms)  # of ``D``, for the test of cancellation

    def _profile(self, D: Tensor) -> Tensor:
        if self._of_distances:
            return _total(D.sqrt_(), self.weights, [term._profile_at for term in self._of_distances])
        return _total(D, self.weights, [term._profile for term in self.terms])

    def _slope(self, D: Tensor) -> Tensor:
        if self._of_distances:
            return _total(D.sqrt_(), self.weights, [term._slope_at for term in self._of_distances])
        return _total(D, self.weights, [term._slope for term in self.terms])

    def _profile_and_slope(self, D: Tensor) -> tuple[Tensor, Tensor]:
        both, r = [], D.sqrt_() if self._of_distances else D
        for i, term in enumerate(self.terms):
            both.append(self._of_distances[i]._both_at(r) if self._of_distances else term._profile_and_slope(r.clone()))
        profile, slope = (one.mul_(self.weights[0]) for one in both[0])
        for weight, (value, derivative) in zip(self.weights[1:], both[1:], strict=True):
            profile.add_(value, alpha=weight)
            slope.add_(derivative, alpha=weight)
        return profile, slope

    def _diag(self, X: Tensor) -> Tensor:
        return torch.full_like(X[:, 0], sum(self.weights))


def _total(D: Tensor, weights: Sequence[float], functions: list[Callable[[Tensor], Tensor]]) -> Tensor:
    """Weighted sum of the functions at ``D``; the last one may overwrite ``D``."""
    parts = []
    for function in functions[:-1]:
        parts.append(function(D.clone()))
    total = functions[-1](D).mul_(weights[-1])
    for weight, part in zip(weights, parts, strict=False):
        total.add_(part, alpha=weight)
    return total
