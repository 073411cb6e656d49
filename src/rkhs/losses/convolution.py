"""Infimal convolution: the loss that splits a residual between two losses at the least cost."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.losses.radial import _BISECTIONS, Radial


class InfimalConvolution(Radial):
    """Infimal convolution ``f(r) = inf_u first(u) + second(r - u)``, with ``f* = first* + second*``.

    Parameters
    ----------
    first, second : Radial
        Losses of the norm; the infimum is then reached on the segment from 0 to ``r``.

    Raises
    ------
    InputError
        If a part is not a radial loss.

    References
    ----------
    Laforgue et al. (2020), proposition 1, last item, and definitions 3 and 5: ``Huber(kappa)`` is the convolution of
    ``Norm(kappa)`` and ``Squared()``; ``EpsilonInsensitive(epsilon)`` that of ``Norm()`` and ``Ball(epsilon)``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import InfimalConvolution, Norm, Squared
    >>> InfimalConvolution(Norm(1.0), Squared()).value(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([4.5000, 0.1250])
    """

    def __init__(self, first: Radial, second: Radial) -> None:
        self.first = first
        self.second = second

    @property
    def _parts(self) -> tuple[Radial, Radial]:
        for name, part in (("first", self.first), ("second", self.second)):
            if not isinstance(part, Radial):
                raise InputError(f"InfimalConvolution.{name} must be a loss of the norm, such as Norm(); got {part!r}")
        return self.first, self.second

    @property
    def largest_slope(self) -> float:
        """The smaller of the two."""
        first, second = self._parts
        return min(first.largest_slope, second.largest_slope)

    def slope(self, r: Tensor) -> Tensor:
        """The common slope ``s`` of both parts: ``first*'(s) + second*'(s) = r``; any shape."""
        cap = self.largest_slope
        low, high = torch.zeros_like(r), torch.full_like(r, cap if math.isfinite(cap) else 1.0)
        while math.isinf(cap) and bool((self.conjugate_slope(high) < r).any()) and float(high.max()) < 1e30:
            high = torch.where(self.conjugate_slope(high) < r, 2.0 * high, high)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            too_large = self.conjugate_slope(middle) > r
            low, high = torch.where(too_large, low, middle), torch.where(too_large, middle, high)
        return low

    def profile(self, r: Tensor) -> Tensor:
        """``sup_s r s - first*(s) - second*(s)``, any shape."""
        s = self.slope(r)
        return r * s - self.conjugate_profile(s)

    def conjugate_profile(self, s: Tensor) -> Tensor:
        """``first*(s) + second*(s)``, any shape."""
        first, second = self._parts
        return first.conjugate_profile(s) + second.conjugate_profile(s)

    def conjugate_slope(self, s: Tensor) -> Tensor:
        """``first*'(s) + second*'(s)``, any shape."""
        first, second = self._parts
        return first.conjugate_slope(s) + second.conjugate_slope(s)
