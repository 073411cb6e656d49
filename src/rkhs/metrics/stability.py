"""Algorithmic stability of operator-valued machines: influence of one sample on a loss, and the bound from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from rkhs._core.checks import check_count, check_number
from rkhs._core.errors import InputError
from rkhs.losses import Radial, as_loss
from rkhs.metrics.bounds import Bound, check_delta, check_finite


@dataclass(frozen=True)
class Stability:
    """Constants of a machine that is stable to the removal of one sample.

    Parameters
    ----------
    M : float
        Largest loss of any sample.
    C : float
        Lipschitz constant of the loss on the residuals that can occur.
    beta : float
        ``C^2 gamma^2 / (reg n)``: largest change of any loss when one training sample is removed.
    n : int
        Number of training samples.

    Raises
    ------
    InputError
        For constants that are not finite; from :meth:`bound`, for ``delta`` out of (0, 1).

    References
    ----------
    Laforgue et al. (2020), definitions 6 and 7, theorems 8 to 10.

    Examples
    --------
    >>> from rkhs.losses import Huber
    >>> from rkhs.metrics import stability_constants
    >>> found = stability_constants(Huber(0.5), 1000, 0.1, kernel_bound=1.0, output_bound=1.0)
    >>> found.C, found.beta, round(found.bound(delta=0.05).total, 2)
    (0.5, 0.0025, 0.46)
    """

    M: float
    C: float
    beta: float
    n: int

    def __post_init__(self) -> None:
        """Refuse constants that overflowed."""
        check_finite("stability", {"M": self.M, "C": self.C, "beta": self.beta})

    def bound(self, delta: float = 0.05) -> Bound:
        """Excess of the true over the training loss, ``2 beta + (4 n beta + M) sqrt(ln(1 / delta) / (2 n))``."""
        deviation = (4.0 * self.n * self.beta + self.M) * math.sqrt(math.log(1.0 / check_delta(delta)) / (2.0 * self.n))
        return Bound({"stability": 2.0 * self.beta, "deviation": deviation}, exact=True)


def stability_constants(loss: Any, n: int, reg: float, *, kernel_bound: float, output_bound: float) -> Stability:
    """Constants ``M``, ``C`` and ``beta`` for any loss ``g(||r||)``.

    The objective at zero bounds the norm, ``||h|| <= sqrt(2 g(M_Y) / reg)``, so residuals stay below
    ``r = M_Y + gamma sqrt(2 g(M_Y) / reg)``; then ``M = g(r)``, ``C = g'(r)`` and ``beta = C^2 gamma^2 / (reg n)``.

    Parameters
    ----------
    loss : str or Loss
        A loss of the norm of the residual.
    n : int
        Number of training samples.
    reg : float
        Positive.
    kernel_bound : float
        ``gamma^2``, at least the operator norm of ``K(x, x)`` for all inputs.
    output_bound : float
        ``M_Y``, at least the norm of all outputs.

    Returns
    -------
    Stability
        All zero if the loss of every output is zero (``epsilon >= M_Y``), since the machine is zero then.

    Raises
    ------
    InputError
        For arguments out of range, and losses that depend on more than the norm.

    References
    ----------
    Laforgue et al. (2020), theorems 8 to 10 and the table of constants, from one formula for every loss.

    Examples
    --------
    >>> from rkhs.losses import Huber
    >>> from rkhs.metrics import stability_constants
    >>> stability_constants(Huber(0.5), 100, 0.1, kernel_bound=1.0, output_bound=1.0).beta
    0.025
    """
    profile = as_loss(loss)
    if not isinstance(profile, Radial):
        raise InputError(f"loss must be a function of the norm of the residual, such as Huber(1.0); got {loss!r}")
    n, reg = check_count(n, "n"), check_number(reg, "reg", above=0.0)
    gamma2 = check_number(kernel_bound, "kernel_bound", at_least=0.0)
    M_Y = check_number(output_bound, "output_bound", at_least=0.0)
    start = float(profile.profile(torch.tensor(M_Y, dtype=torch.float64)))
    if start == 0.0:
        return Stability(0.0, 0.0, 0.0, n)
    residual = torch.tensor(M_Y + math.sqrt(2.0 * gamma2 * start / reg), dtype=torch.float64)
    C = float(profile.slope(residual))
    return Stability(float(profile.profile(residual)), C, C * C * gamma2 / (reg * n), n)
