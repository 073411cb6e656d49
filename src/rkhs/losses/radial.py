"""Losses of the norm of the residual, ``f(r) = g(||r||)``: all closed forms follow from the profile ``g``."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs.losses.base import Loss

_SMOOTHING = 1e-4  # share of the median norm below which the weights of the majorizer of a power are constant
_STEPS = 8  # of Newton's method from at most twice the root: enough for float64
_BISECTIONS = 80  # halvings of an interval: enough for float64


class Radial(Loss):
    """A loss ``f(r) = g(||r||)`` with a convex nondecreasing profile ``g``, ``g(0) = 0``.

    The conjugate is ``f*(a) = g*(||a||)`` and the prox of it rescales each row.

    References
    ----------
    Laforgue et al. (2020), proposition 1, second item.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber, Power, Radial
    >>> isinstance(Huber(1.0), Radial), isinstance(Power(3.0), Radial)
    (True, True)
    >>> Huber(1.0).value(torch.tensor([[3.0, 4.0], [5.0, 0.0]]))  # equal norms
    tensor([4.5000, 4.5000])
    """

    isotropic = True

    def value(self, R: Tensor) -> Tensor:
        """``g(||r_i||)``, shape (n,)."""
        return self.profile(_norms(R))

    def gradient(self, R: Tensor) -> Tensor:
        """``g'(||r_i||) r_i / ||r_i||``, zero at ``r_i = 0``, shape (n, q)."""
        r = _norms(R)
        factor = torch.where(r > 0, self.slope(r) / torch.where(r > 0, r, torch.ones_like(r)), torch.zeros_like(r))
        return R * factor.unsqueeze(-1)

    def conjugate(self, A: Tensor) -> Tensor:
        """``g*(||a_i||)``, shape (n,)."""
        return self.conjugate_profile(_norms(A))

    def prox_conjugate(self, A: Tensor, step: float) -> Tensor:
        """Each row rescaled to the prox of ``step g*`` at its norm, shape (n, q)."""
        a = _norms(A)
        return A * (self.shrink(a, step) / divisor(a)).unsqueeze(-1)

    @abstractmethod
    def profile(self, r: Tensor) -> Tensor:
        """``g(r)`` for ``r >= 0``, any shape."""

    @abstractmethod
    def slope(self, r: Tensor) -> Tensor:
        """A subgradient ``g'(r)`` for ``r >= 0``, any shape."""

    @abstractmethod
    def conjugate_profile(self, s: Tensor) -> Tensor:
        """``g*(s) = sup_{r >= 0} r s - g(r)`` for ``s >= 0``, any shape."""

    @abstractmethod
    def conjugate_slope(self, s: Tensor) -> Tensor:
        """A subgradient of ``g*`` for ``s`` in its domain, any shape."""

    @property
    def largest_slope(self) -> float:
        """Supremum of the slopes: ``g*`` is infinite above it."""
        return math.inf

    def shrink(self, a: Tensor, step: float | Tensor) -> Tensor:
        """``argmin_s step g*(s) + 1/2 (s - a)^2`` for ``a >= 0``, any shape; by bisection unless overridden."""
        low, high = torch.zeros_like(a), a.clamp(max=self.largest_slope)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            too_large = middle + step * self.conjugate_slope(middle) > a
            low, high = torch.where(too_large, low, middle), torch.where(too_large, middle, high)
        return high.where(high == a, low)


class Power(Radial):
    """Power of the norm, ``f(r) = (scale / eta) ||r||^eta``.

    Parameters
    ----------
    eta : float, default=1.5
        Exponent > 1. Between 1 and 2 the loss is less sensitive to large residuals than the squared one; it is
        differentiable at zero, but not twice.
    scale : float, default=1.0
        Factor > 0.

    Raises
    ------
    InputError
        If a parameter is out of range.

    References
    ----------
    Laforgue et al. (2020), proposition 1, second item.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Power
    >>> Power(3.0).value(torch.tensor([[3.0, 4.0]]))
    tensor([41.6667])
    """

    def __init__(self, eta: float = 1.5, scale: float = 1.0) -> None:
        self.eta = eta
        self.scale = scale

    @property
    def majorized(self) -> bool:
        """Whether the exponent is at most 2: the loss is then a concave function of the squared norm."""
        return self._parameters()[0] <= 2.0

    def majorizer(self, R: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        """``u_i = 0`` and ``w_i = scale |r_i|^(eta - 2)``, for ``eta <= 2``.

        The weight is unbounded at zero: below a ten-thousandth of the median norm it is constant.
        """
        if not self.majorized:
            return super().majorizer(R, residual)
        eta, scale = self._parameters()
        r = ((R * R).sum(1) + residual).sqrt()
        floor = max(_SMOOTHING * float(r.median()) if len(r) else 0.0, torch.finfo(r.dtype).tiny)
        return scale * r.clamp_min(floor) ** (eta - 2.0), torch.zeros_like(R)

    def _parameters(self) -> tuple[float, float]:
        return check_number(self.eta, "Power.eta", above=1.0), check_number(self.scale, "Power.scale", above=0.0)

    def profile(self, r: Tensor) -> Tensor:
        """``(scale / eta) r^eta``, any shape."""
        eta, scale = self._parameters()
        return (scale / eta) * r**eta

    def slope(self, r: Tensor) -> Tensor:
        """``scale r^(eta - 1)``, any shape."""
        eta, scale = self._parameters()
        return scale * r ** (eta - 1.0)

    def conjugate_profile(self, s: Tensor) -> Tensor:
        """``(scale / eta') (s / scale)^eta'`` with ``1/eta + 1/eta' = 1``, any shape."""
        eta, scale = self._parameters()
        dual = eta / (eta - 1.0)
        return (scale / dual) * (s / scale) ** dual

    def conjugate_slope(self, s: Tensor) -> Tensor:
        """``(s / scale)^(1 / (eta - 1))``, any shape."""
        eta, scale = self._parameters()
        return (s / scale) ** (1.0 / (eta - 1.0))

    def shrink(self, a: Tensor, step: float | Tensor) -> Tensor:
        """``s`` with ``s + step r = a`` and ``s = scale r^(eta - 1)``, any shape: Newton's method from the right."""
        eta, scale = self._parameters()  # b x + c x^p = a is convex in x = r or x = s / scale
        p, b, c = (eta - 1.0, step, scale) if eta > 2.0 else (1.0 / (eta - 1.0), scale, step)
        x = torch.minimum(a / b, (a / c) ** (1.0 / p))
        for _ in range(_STEPS):
            x = x - (b * x + c * x**p - a) / (b + c * p * x ** (p - 1.0))
        return scale * (x**p if eta > 2.0 else x)


def _norms(R: Tensor) -> Tensor:
    return torch.linalg.vector_norm(R, dim=-1)


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
