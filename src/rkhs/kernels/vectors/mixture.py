"""Several radial kernels in one pass over the distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rkhs.kernels.vectors.radial import Radial, RadialDistance


class Mixture(Radial):
    """``k = sum_t w_t f_t(D)`` of radial kernels with numbers for bandwidths: what a sum of them computes with."""

    _power = 2

    def __init__(self, weights: Sequence[float], terms: Sequence[Radial]) -> None:
        self.weights = weights
        self.terms = terms
        plain = [term for term in terms if isinstance(term, RadialDistance)]
        self._of_distances = plain if len(plain) == len(terms) else []
        self.gamma = max(term._gamma ** (2 / term._power) for term in terms)  # where distances must keep their digits

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
        for weight, (more, steeper) in zip(self.weights[1:], both[1:], strict=True):
            profile.add_(more, alpha=weight)
            slope.add_(steeper, alpha=weight)
        return profile, slope

    def _diag(self, X: Tensor) -> Tensor:
        return torch.full_like(X[:, 0], sum(self.weights))


def _total(given: Tensor, weights: Sequence[float], functions: list[Callable[[Tensor], Tensor]]) -> Tensor:
    """The weighted sum; the last function may overwrite what is given."""
    parts = []
    for function in functions[:-1]:
        parts.append(function(given.clone()))
    total = functions[-1](given).mul_(weights[-1])
    for weight, part in zip(weights, parts, strict=False):
        total.add_(part, alpha=weight)
    return total
