"""The losses whose conjugate is ``c/2 ||a||^2 + epsilon ||a||`` on a ball: six losses in one formula; losses by name.

With ``t = (||r|| - epsilon)_+`` the loss is ``t^2 / (2 c)`` while ``t <= c cap`` and ``cap t - c cap^2 / 2`` beyond.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.ownership import private_copy
from rkhs.losses.base import Loss
from rkhs.losses.radial import Radial

# Distances below this share of the median norm get the weight of that distance: the corner is smoothed, so weights stay
# bounded.
_SMOOTHING = 0.05
_SLACK = 8.0  # tolerance of the ball constraint, in machine epsilons


class EpsilonHuberLoss(Radial):
    """A loss with ``f*(a) = c/2 ||a||^2 + epsilon ||a||`` for ``||a|| <= cap``, infinite beyond.

    References
    ----------
    Laforgue et al. (2020), theorem 6: all three problems in one.

    Examples
    --------
    >>> from rkhs.losses import EpsilonHuberLoss, Huber, Squared
    >>> isinstance(Huber(2.0), EpsilonHuberLoss)
    True
    >>> Squared().dual_parameters, Huber(2.0).dual_parameters
    ((1.0, 0.0, inf), (1.0, 0.0, 2.0))
    """

    _shares: ClassVar[dict[str, float]] = {}
    """Parameters that may be ``"auto"``, and the share of a typical residual that this means."""

    @property
    def automatic(self) -> bool:
        """Whether a parameter is ``"auto"``."""
        return any(isinstance(getattr(self, name), str) and getattr(self, name) == "auto" for name in self._shares)

    def resolve(self, size: float) -> EpsilonHuberLoss:
        """The loss with its share of ``size``, the norm of a typical residual, in place of ``"auto"``."""
        return type(self)(**{name: share * size for name, share in self._shares.items()}) if self.automatic else self

    @property
    @abstractmethod
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(c, epsilon, cap)``, checked."""

    @property
    def majorized(self) -> bool:
        """True: every loss of this family that is finite everywhere has one."""
        return True

    def majorizer(self, R: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        """``w_i = g'(|r_i|) / |r_i - u_i|``, ``u_i`` the point nearest to ``r_i`` in the ball of radius ``epsilon``.

        ``g`` is a concave function of the squared distance from the ball. At ``c = 0`` the weight is unbounded: below a
        twentieth of the median norm it is constant, which smooths the corner of the loss.
        """
        c, epsilon, cap = self.dual_parameters
        r = ((R * R).sum(1) + residual).sqrt()
        t = (r - epsilon).clamp_min(0.0)
        floor = max(_SMOOTHING * float(r.median()), torch.finfo(r.dtype).tiny) if c == 0.0 and len(r) else 0.0
        w = cap / t.clamp_min(floor) if c == 0.0 else (cap / t.clamp_min(c * cap) if math.isfinite(cap) else 1.0 / c)
        share = (epsilon / torch.where(r > 0.0, r, torch.ones_like(r))).clamp_max(1.0)
        return torch.as_tensor(w, dtype=r.dtype, device=r.device).expand(len(r)), R * share[:, None]

    @property
    def largest_slope(self) -> float:
        """``cap``."""
        return self.dual_parameters[2]

    def profile(self, r: Tensor) -> Tensor:
        """``g(r)`` for ``r >= 0``, any shape."""
        c, epsilon, cap = self.dual_parameters
        t = (r - epsilon).clamp_min(0.0)
        if math.isinf(cap):
            slack = _SLACK * torch.finfo(r.dtype).eps * epsilon
            return t.masked_fill(t > 0, math.inf).masked_fill(t <= slack, 0.0) if c == 0.0 else t * t / (2.0 * c)
        linear = cap * t - 0.5 * c * cap * cap
        return linear if c == 0.0 else torch.where(t <= c * cap, t * t / (2.0 * c), linear)

    def slope(self, r: Tensor) -> Tensor:
        """``g'(r)`` for ``r >= 0``, any shape."""
        c, epsilon, cap = self.dual_parameters
        t = (r - epsilon).clamp_min(0.0)
        return t.masked_fill(t > 0, cap) if c == 0.0 else (t / c).clamp(max=cap)

    def conjugate_profile(self, s: Tensor) -> Tensor:
        """``c s^2 / 2 + epsilon s`` up to ``cap`` (within rounding), infinite beyond; any shape."""
        c, epsilon, cap = self.dual_parameters
        inside = s <= cap * (1.0 + _SLACK * torch.finfo(s.dtype).eps)
        return (0.5 * c * s * s + epsilon * s).masked_fill(~inside, math.inf)

    def conjugate_slope(self, s: Tensor) -> Tensor:
        """``c s + epsilon``, any shape."""
        c, epsilon, _ = self.dual_parameters
        return c * s + epsilon

    def shrink(self, a: Tensor, step: float | Tensor) -> Tensor:
        """Prox of the conjugate of norms ``a``: ``min((a - step epsilon)_+ / (1 + step c), cap)``, any shape."""
        c, epsilon, cap = self.dual_parameters
        return ((a - step * epsilon).clamp_min(0.0) / (1.0 + step * c)).clamp(max=cap)


class Squared(EpsilonHuberLoss):
    """Squared loss ``f(r) = 1/2 ||r||^2``.

    References
    ----------
    Laforgue et al. (2020), section 3.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> Squared().value(torch.tensor([[3.0, 4.0]]))
    tensor([12.5000])
    """

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(1, 0, infinity)``."""
        return 1.0, 0.0, math.inf


class SquaredEpsilonInsensitive(EpsilonHuberLoss):
    """Squared loss outside a ball, ``f(r) = 1/2 (||r|| - epsilon)_+^2``: epsilon-insensitive Ridge.

    Parameters
    ----------
    epsilon : float or "auto", default=0.1
        Radius >= 0 of the residuals that cost nothing, in units of the outputs. ``"auto"``: estimators take half the
        median norm of the leave-one-out residuals of the squared loss, from which they leave out rows that are far
        off; the loss itself needs a number.

    Raises
    ------
    InputError
        If ``epsilon`` is negative.

    References
    ----------
    Laforgue et al. (2020), definition 4 and theorem 6, problem (P1), including the factor 1/2.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(1.0).value(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([8., 0.])
    """

    _shares: ClassVar[dict[str, float]] = {"epsilon": 0.5}

    def __init__(self, epsilon: float | str = 0.1) -> None:
        self.epsilon = epsilon

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(1, epsilon, infinity)``."""
        return 1.0, check_number(self.epsilon, "SquaredEpsilonInsensitive.epsilon", at_least=0.0), math.inf


class EpsilonInsensitive(EpsilonHuberLoss):
    """Norm outside a ball, ``f(r) = (||r|| - epsilon)_+``: vector-valued support vector regression.

    Parameters
    ----------
    epsilon : float or "auto", default=0.1
        As in :class:`SquaredEpsilonInsensitive`.

    Raises
    ------
    InputError
        If ``epsilon`` is negative.

    References
    ----------
    Laforgue et al. (2020), definition 4 and theorem 6, problem (P3).

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(1.0).value(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([4., 0.])
    """

    _shares: ClassVar[dict[str, float]] = {"epsilon": 0.5}

    def __init__(self, epsilon: float | str = 0.1) -> None:
        self.epsilon = epsilon

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(0, epsilon, 1)``."""
        return 0.0, check_number(self.epsilon, "EpsilonInsensitive.epsilon", at_least=0.0), 1.0


class Huber(EpsilonHuberLoss):
    """Huber loss (kappa-Huber), ``1/2 ||r||^2`` up to ``kappa``, ``kappa (||r|| - kappa / 2)`` beyond.

    Parameters
    ----------
    kappa : float or "auto", default=1.0
        Norm > 0 of the residual from which the loss grows linearly, in units of the outputs. ``"auto"``: estimators
        take the median norm of the leave-one-out residuals of the squared loss, from which they leave out rows that
        are far off; the loss itself needs a number.

    Raises
    ------
    InputError
        If ``kappa`` is not positive.

    References
    ----------
    Laforgue et al. (2020), definition 5 and theorem 6, problem (P2).

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Huber
    >>> Huber(1.0).value(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([4.5000, 0.1250])
    """

    _shares: ClassVar[dict[str, float]] = {"kappa": 1.0}

    def __init__(self, kappa: float | str = 1.0) -> None:
        self.kappa = kappa

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(1, 0, kappa)``."""
        return 1.0, 0.0, check_number(self.kappa, "Huber.kappa", above=0.0)


class Norm(EpsilonHuberLoss):
    """Norm of the residual (not squared), ``f(r) = scale ||r||``: a constant fitted alone is the spatial median.

    Parameters
    ----------
    scale : float, default=1.0
        Factor > 0.

    Raises
    ------
    InputError
        If ``scale`` is not positive.

    References
    ----------
    Laforgue et al. (2020), proposition 1, third item.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Norm
    >>> Norm(2.0).value(torch.tensor([[3.0, 4.0]]))
    tensor([10.])
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(0, 0, scale)``."""
        return 0.0, 0.0, check_number(self.scale, "Norm.scale", above=0.0)


class Ball(EpsilonHuberLoss):
    """Zero for ``||r|| <= radius``, infinite beyond: a part of infimal convolutions, and a hard constraint alone.

    Parameters
    ----------
    radius : float, default=1.0
        Radius > 0.

    Raises
    ------
    InputError
        If ``radius`` is not positive.

    References
    ----------
    Laforgue et al. (2020), proposition 1, third item.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Ball
    >>> Ball(1.0).value(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([inf, 0.])
    """

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius

    @property
    def majorized(self) -> bool:
        """False: no squared loss lies above it."""
        return False

    @property
    def dual_parameters(self) -> tuple[float, float, float]:
        """``(0, radius, infinity)``."""
        return 0.0, check_number(self.radius, "Ball.radius", above=0.0), math.inf


_NAMES: dict[str, Callable[[], Loss]] = {
    "squared": Squared,
    "squared_epsilon_insensitive": lambda: SquaredEpsilonInsensitive("auto"),
    "epsilon_insensitive": lambda: EpsilonInsensitive("auto"),
    "huber": lambda: Huber("auto"),
}


def as_loss(loss: Any) -> Loss:
    """Return the loss that a name or a loss object means.

    Parameters
    ----------
    loss : str or Loss
        ``"squared"``, ``"squared_epsilon_insensitive"``, ``"epsilon_insensitive"``, ``"huber"``, or an object, which is
        copied. Parameters of a name are ``"auto"``, which estimators turn into numbers in fit.

    Returns
    -------
    Loss

    Raises
    ------
    InputError
        For any other value.

    References
    ----------
    Laforgue et al. (2020), theorem 6.

    Examples
    --------
    >>> from rkhs.losses import as_loss
    >>> as_loss("huber")
    Huber(kappa='auto')
    """
    if isinstance(loss, Loss):
        return private_copy(loss)
    if isinstance(loss, str) and loss in _NAMES:
        return _NAMES[loss]()
    known = ", ".join(repr(word) for word in _NAMES)
    raise InputError(f"loss must be one of {known}, or a loss such as Huber(1.0); got {loss!r}")
