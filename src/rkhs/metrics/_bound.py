"""What every generalisation bound returns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError


@dataclass(frozen=True)
class Bound:
    """Terms of a generalisation bound; their sum is the allowed excess over the training loss.

    With probability at least ``1 - delta`` the expected loss is at most the training loss plus ``sum_j terms_j``.

    Parameters
    ----------
    terms : dict of str to float
        Named summands, none negative.
    exact : bool
        Whether all constants are explicit; else some terms hold up to a universal constant.

    Raises
    ------
    InputError
        If a term is not finite.

    References
    ----------
    Bartlett and Mendelson (2002), Rademacher and Gaussian complexities, theorem 8, for bounds of this form.
    """

    terms: dict[str, float]
    exact: bool

    def __post_init__(self) -> None:
        """Refuse what overflowed: an infinite bound says nothing."""
        check_finite("bound", self.terms)

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return math.fsum(self.terms.values())


def check_finite(what: str, terms: dict[str, float]) -> None:
    """Raise :class:`InputError` if numbers that were computed from arguments overflowed."""
    lost = [name for name, value in terms.items() if not math.isfinite(value)]
    if lost:
        raise InputError(f"the {what} is not finite ({', '.join(lost)}): pass smaller numbers, in other units")


def check_delta(delta: float) -> float:
    """Check a probability of failure, in (0, 1)."""
    value = check_number(delta, "delta", above=0.0, at_most=1.0)
    if value >= 1.0:
        raise InputError("delta must be > 0 and < 1; got 1.0")
    return value
