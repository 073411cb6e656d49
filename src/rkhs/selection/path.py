"""A regularisation path: held-out parts, order of the fits, early stopping and the choice.

With many components a path goes from weak regularisers to strong ones and ends when two in a row were worse than the
best before; then the strongest of all, which is close to principal components, is tried too, because the error can have
two local minima (patches and CIFAR-10 in grey, 1,500 rows, ten components: the error was 1.10 and 1.08 times as large
without, by ``./dev bench scale`` before and after). With one or two, where a fit that starts at a weak regulariser gets
stuck, it goes the other way and to the end. Of the candidates about as good as the best the strongest is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_count, check_number, real_array
from rkhs._core.errors import InputError, unwarned
from rkhs.protocols import hide, is_due, show

MIN_ROWS = 15
"""Fewest rows for which settings can be compared on held-out parts."""

FEW_COMPONENTS = 2
"""Up to so many components a path starts at the strongest regulariser and is not stopped early."""

TIE_FACTOR = 1.01
"""Candidates with errors up to this multiple of the least are taken as equal."""

# Below this many rows one held-out part is too small: three parts of a third are used.
_THREEFOLD_BELOW = 200
_MAX_TRAINING, _MAX_HELD_OUT = 1600, 300
# How much worse the neighbour must be: where the error is flat, extending the path would gain little.
_MARGIN = 0.2
_PATIENCE = 2  # candidates in a row that are worse than the best, after which a backward path stops


def held_out_parts(n: int, seed: int = 0, *, at_most: int | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out row indices for choosing among a few settings at a bounded cost.

    One part of 20 %, at most 300 rows, is held out; for fewer than 200 rows it is threefold
    cross-validation. The others train, at most 1,600 or half of all rows, whichever is more: the best regularisers
    depend on the number of rows.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    seed : int, default=0
        Seed of the permutation.
    at_most : int, optional
        Largest number of training rows for ``n >= 200``; default: 1,600 or ``n / 2``, whichever is more.

    Returns
    -------
    list of (ndarray, ndarray)
        Training and held-out rows, each in ascending order.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions.

    Examples
    --------
    >>> from rkhs.selection import held_out_parts
    >>> [(len(train), len(test)) for train, test in held_out_parts(1000)]
    [(800, 200)]
    """
    check_count(n, "n", at_least=2)
    order = np.random.default_rng(check_count(seed, "seed", at_least=0)).permutation(n)
    if n < _THREEFOLD_BELOW:
        parts = np.array_split(order, min(3, n))
        return [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]
    cut = n // 5
    most = max(_MAX_TRAINING, n // 2) if at_most is None else check_count(at_most, "at_most")
    return [(np.sort(order[cut : cut + most]), np.sort(order[: min(cut, _MAX_HELD_OUT)]))]


def subsample(n: int, groups: np.ndarray | None, size: int, seed: int, number: int = 0) -> np.ndarray:
    """Indices of about ``size`` of ``n`` rows in whole groups, numbered from 0 (n,).

    Those of different numbers have none in common.
    """
    rng, first = np.random.default_rng(seed), number * size
    if groups is None:
        return np.sort(rng.permutation(n)[first : first + size])
    order = rng.permutation(int(groups.max()) + 1)
    ends = np.cumsum(np.bincount(groups)[order]) - 1
    return np.flatnonzero(np.isin(groups, order[(ends >= first) & (ends < first + size)]))


def progress_reporter(name: str, verbose: int | Literal["auto"], parts: int = 1) -> Callable[..., None]:
    """Callback that shows progress along a path; the final fit counts as one more."""
    begun = time.perf_counter()

    def progress(done: int, count: int, part: int = 0) -> None:
        done, count = part * count + done, parts * count
        if done == count and is_due(verbose, begun):
            hide()
        elif is_due(verbose, begun):
            show(f"{name}: setting {done + 1} of at most {count}", time.perf_counter() - begun, done / (count + 1))

    return progress


class Path:
    """Errors of rows by candidate, strongest first. Iterating gives the index of each candidate to fit."""

    # The caller stores the errors of that candidate in ``errors``. ``try_strongest(least)``: whether to fit the
    # strongest after early stopping, given the least mean so far. ``progress(done, count)`` is called before each
    # candidate.

    def __init__(
        self,
        weights: np.ndarray,
        count: int,
        *,
        backwards: bool,
        try_strongest: Callable[[float], bool] = lambda least: True,
        progress: Callable[[int, int], None] = lambda done, count: None,
    ) -> None:
        self.errors = np.full((count, len(weights)), np.nan)  # infinite without a fit, NaN beyond the end
        self.weights, self.backwards, self.try_strongest, self.progress = weights, backwards, try_strongest, progress

    def __iter__(self) -> Iterator[int]:
        least, worse, count = np.inf, 0, len(self.errors)
        for done, k in enumerate(range(count)[:: -1 if self.backwards else 1]):
            self.progress(done, count)
            ended = worse == _PATIENCE
            if ended and (k > 0 or not self.try_strongest(least)):
                continue
            self.errors[k] = np.inf
            yield k
            mean = float(weighted_sum(self.errors[k], self.weights))
            if ended and not mean < least:
                self.errors[k] = np.nan
            worse = 0 if mean < least or not self.backwards else worse + 1
            least = min(least, mean)
        self.progress(count, count)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Candidates, the strongest first, and errors of held-out rows; empty if nothing was compared."""

    candidates: Sequence[tuple[float, ...]] = ()
    errors: np.ndarray = field(default_factory=lambda: np.empty((0, 1)))  # (k, m): infinite without a fit, NaN untried
    weights: np.ndarray = field(default_factory=lambda: np.ones(1))  # (m,): of the held-out rows
    fits: Sequence[Any] = ()  # (k,): warm starts for a further fit, or None
    floor: float = 0.0  # lower bound of all errors; ties are judged by the excess over it
    ties: bool = False  # whether the one-standard-error rule is used

    @property
    def means(self) -> np.ndarray:
        """Mean errors of the candidates, shape (k,)."""
        return weighted_sum(self.errors, self.weights) / self.weights.sum()

    @property
    def taken(self) -> int:
        """Index of the strongest candidate whose error is about that of the best."""
        means = self.means
        level = good_enough(means - self.floor)
        if self.ties:
            level |= tied(self.errors, self.weights, int(np.nanargmin(means)))
        return int(np.argmax(level))


@contextmanager
def failures_ignored() -> Iterator[None]:
    """Ignore warnings and InputErrors of one candidate: its error stays infinite; the final fit raises them again."""
    with unwarned(), suppress(InputError):
        yield


def good_enough(errors: np.ndarray) -> np.ndarray:
    """Which errors are about as good as the least."""
    return errors <= TIE_FACTOR * np.nanmin(errors)


def tied(errors: np.ndarray, weights: np.ndarray, best: int) -> np.ndarray:
    """Candidates whose rows are worse than those of the best by one standard error of the mean difference at most."""
    w = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # infinite where there was no fit
        differences = errors - errors[best]
        mean = differences @ w
        return mean <= np.sqrt((differences - mean[:, None]) ** 2 @ w**2)


def choose_over_first(errors: np.ndarray, weights: np.ndarray) -> tuple[int, np.ndarray]:
    """First index within TIE_FACTOR of the least mean, or 0 if not a standard error better than index 0; all means."""
    means = weighted_sum(errors, weights) / weights.sum()
    at = int(np.argmax(good_enough(means)))
    return (0 if not np.isfinite(means[at]) or tied(errors, weights, at)[0] else at), means


def weighted_sum(errors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum over the last axis; rows of weight zero count nothing, even where their error is infinite."""
    return np.where(weights > 0.0, errors, 0.0) @ weights


def open_end(errors: Sequence[float] | np.ndarray, margin: float = _MARGIN, least: float = 0.0) -> int | None:
    """The end of a path towards which the error was still falling when the path stopped.

    Parameters
    ----------
    errors : sequence of float
        Errors along a path of settings, in the order of the path. Those that are not finite are left out.
    margin : float, default=0.2
        The least error must be this share below that of its neighbour: ``e_end < (1 - margin) e_neighbour``.
    least : float, default=0
        Least absolute decrease, in addition to `margin`.

    Returns
    -------
    int or None
        Index of the first or the last setting if it is the best by that much; None if the best lies inside, or the
        error is flat at the end. None for fewer than three settings.

    Raises
    ------
    InputError
        If no error is finite, and for numbers out of range.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The elements of statistical learning, section 7.10, for error curves.

    Examples
    --------
    >>> from rkhs.selection import open_end
    >>> open_end([0.9, 0.5, 0.2]), open_end([0.9, 0.5, 0.45]), open_end([0.9, 0.5, 0.6])
    (2, None, None)
    """
    values = real_array(as_numpy(errors, "errors"), "errors")
    if values.ndim != 1:
        raise InputError(f"errors must be a sequence of numbers along one path; got shape {values.shape}")
    margin, least = check_number(margin, "margin", at_most=1.0), check_number(least, "least")
    known = np.flatnonzero(np.isfinite(values))
    if len(known) == 0:
        raise InputError("errors must hold at least one finite number; got none")
    place = int(np.argmin(values[known]))
    if len(known) < 3 or 0 < place < len(known) - 1:
        return None
    neighbour = known[1] if place == 0 else known[-2]
    end, neighbour_error = float(values[known[place]]), float(values[neighbour])
    return int(known[place]) if end < (1.0 - margin) * neighbour_error and neighbour_error - end > least else None
