"""Trimmed fits: each round refits on the items whose held-out errors were below a threshold in the round before.

Every item gets an error of a model that has not seen it. Items below the threshold are fitted in the next round, until
they stay the same. An item at the edge of the data has a large error under a model that has not seen it, and a small
one if it is fitted: so, once, items a little above the threshold are added to the fit. Rounds that return to an earlier
set of items would cycle: items that one of the last two rounds keeps are then all kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

import numpy as np

CORE = 0.75  # share of the items in the first fit: outliers may be a quarter
HARM = 1.05  # all items stay if this raises the mean error of the inliers at most by this factor
_DOUBT = 3.0  # items within this multiple of the threshold get a second look, in the fit

T = TypeVar("T")


@dataclass(frozen=True)
class Trimmed(Generic[T]):
    """Result of the last round."""

    fitted: T
    kept: np.ndarray  # (n,): items in the fit
    roots: np.ndarray  # (n,): roots of the errors of all items
    threshold: float  # the largest root error of an item that is kept
    rounds: int
    settled: bool  # whether the last two rounds kept the same items, or the rounds cycled


def trimmed_fit(
    fit: Callable[[np.ndarray], tuple[T, np.ndarray]],
    limit: Callable[[np.ndarray], float],
    first: np.ndarray,
    near: np.ndarray,
    rounds: int,
) -> Trimmed[T]:
    """Run the rounds from the items ``first``; ``fit`` returns root errors, items ``near`` may get a second look."""
    kept, looked, circled, seen = first, False, False, set[bytes]()
    for done in count(1):
        seen.add(kept.tobytes())
        fitted, roots = fit(kept)
        threshold = limit(roots)
        found = roots <= threshold
        settled = circled or bool((found == kept).all())
        if settled and not looked and done < rounds:
            looked, found = True, found | (near & (roots <= _DOUBT * threshold))
            settled = bool((found == kept).all())
            seen.clear()  # what the look adds may go again
        if settled or done == rounds:
            break
        circled = found.tobytes() in seen
        kept = found | kept if circled else found
    return Trimmed(fitted, kept, roots, threshold, done, settled)
