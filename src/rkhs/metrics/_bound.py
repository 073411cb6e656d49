"""What every generalisation bound returns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError

__all__ = ["Bound", "check_delta"]


@dataclass(frozen=True)
class Bound:
    """Terms of a generalisation bound; their sum is the allowed excess over the training loss.

    Parameters
    ----------
    terms : dict of str to float
        Named summands, none negative.
    exact : bool
        Whether all constants are explicit; else some terms hold up to a universal constant.

    Raises
    ------
    InputError
        By the functions that make it.

    References
    ----------
    The function that returned it.
    """

    terms: dict[str, float]
    exact: bool

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return math.fsum(self.terms.values())


def check_delta(delta: float) -> float:
    """Check a probability of failure, in (0, 1)."""
    value = check_number(delta, "delta", above=0.0, at_most=1.0)
    if value >= 1.0:
        raise InputError("delta must be > 0 and < 1; got 1.0")
    return value
