"""Rounds of fits, each without the items that the last one could not tell from the others it had not seen.

Every item gets an error of a model that has not seen it. Items within a threshold of these errors make the next fit,
until they stay the same. What lies at the edge of the data is far from a model that has not seen it, and near one that
has: so, once, those that are a little farther are tried in the fit. Rounds that come back to the items of an earlier
one would go in a circle for ever: items that one of the last two keeps are at the edge, and stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

import numpy as np

CORE = 0.75  # share of the items in the first fit: outliers may be a quarter
HARM = 1.05  # all may stay if the errors of those that fit are at most so many times those without the others
_DOUBT = 3.0  # items within so many thresholds get a second look, in the fit

T = TypeVar("T")


@dataclass(frozen=True)
class Trimmed(Generic[T]):
    """The last of some rounds."""

    fitted: T
    kept: np.ndarray  # (n,): items in the fit
    roots: np.ndarray  # (n,): roots of the errors of all items
    threshold: float  # the largest root of an item that is kept
    rounds: int
    settled: bool  # whether the last two rounds kept the same items, or those of a circle


def trimmed_fit(
    fit: Callable[[np.ndarray], tuple[T, np.ndarray]],
    limit: Callable[[np.ndarray], float],
    first: np.ndarray,
    near: np.ndarray,
    rounds: int,
) -> Trimmed[T]:
    """Rounds from the items ``first``; ``fit`` gives roots of errors, and items ``near`` may get a second look."""
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
