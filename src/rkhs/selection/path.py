"""A path of candidates: how it is walked, where it ends, and which of them is taken.

With many components a path goes from weak regularisers to strong ones and ends when two in a row were worse than the
best before; then the strongest of all, which is close to principal components, is tried too, for the error can have two
valleys (patches and CIFAR-10 in grey, 1,500 rows, ten components: 1.10 and 1.08 of the error without it, by
``./dev bench scale`` before and after). With one or two, where a fit that starts at a weak regulariser gets stuck, it
goes the other way and to the end. Of the candidates about as good as the best the strongest is taken.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from rkhs._core.errors import InputError
from rkhs.protocols import hide, show

FEWEST = 15
"""Rows below which parts are too small to tell settings apart."""

FEW_COMPONENTS = 2
LEVEL = 1.01
"""Of the least error: held-out rows cannot tell such candidates apart."""

_WORSE = 2  # candidates in a row after which a path backwards ends


def told(name: str, verbose: int, parts: int = 1) -> Callable[..., None]:
    """What shows how many candidates of a path are fitted, the final fit counted as one more."""
    begun = time.perf_counter()

    def progress(done: int, count: int, part: int = 0) -> None:
        done, count = part * count + done, parts * count
        if verbose and done == count:
            hide()
        elif verbose:
            show(f"{name}: setting {done + 1} of at most {count}", time.perf_counter() - begun, done / (count + 1))

    return progress


class Path:
    """Errors of rows by candidates, the strongest first, while a loop over it walks the path and writes them down."""

    # ``promises`` says of the least mean so far whether the strongest is worth its fit beyond the end; ``progress`` is
    # told how many of all candidates are done.

    def __init__(
        self,
        weights: np.ndarray,
        count: int,
        *,
        backwards: bool,
        promises: Callable[[float], bool] = lambda least: True,
        progress: Callable[[int, int], None] = lambda done, count: None,
    ) -> None:
        self.errors = np.full((count, len(weights)), np.nan)  # infinite without a fit, NaN beyond the end
        self.weights, self.backwards, self.promises, self.progress = weights, backwards, promises, progress

    def __iter__(self) -> Iterator[int]:
        least, worse, count = np.inf, 0, len(self.errors)
        for done, k in enumerate(range(count)[:: -1 if self.backwards else 1]):
            self.progress(done, count)
            ended = worse == _WORSE
            if ended and (k > 0 or not self.promises(least)):
                continue
            self.errors[k] = np.inf
            yield k
            mean = float(weighted_sum(self.errors[k], self.weights))
            if ended and not mean < least:
                self.errors[k] = np.nan
            worse = 0 if mean < least or not self.backwards else worse + 1
            least = min(least, mean)
        self.progress(count, count)


@contextmanager
def measured() -> Iterator[None]:
    """Fit and measure a candidate: the final fit says what there is to say, and a singular system has no error."""
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore")
        yield


def good_enough(errors: np.ndarray) -> np.ndarray:
    """Which errors are about as good as the least."""
    return errors <= LEVEL * np.nanmin(errors)


def tied(errors: np.ndarray, weights: np.ndarray, best: int) -> np.ndarray:
    """Candidates whose rows are worse than those of the best by one standard error of the mean difference at most."""
    w = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # infinite where there was no fit
        differences = errors - errors[best]
        mean = differences @ w
        return mean <= np.sqrt((differences - mean[:, None]) ** 2 @ w**2)


def gain(errors: np.ndarray, weights: np.ndarray) -> tuple[int, np.ndarray]:
    """The strongest about as good as the best if it beats the first candidate by a standard error, and all means."""
    means = weighted_sum(errors, weights) / weights.sum()
    at = int(np.argmax(good_enough(means)))
    return (0 if not np.isfinite(means[at]) or tied(errors, weights, at)[0] else at), means


def weighted_sum(errors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum over the last axis; rows of weight zero count nothing, even where their error is infinite."""
    return np.where(weights > 0.0, errors, 0.0) @ weights
