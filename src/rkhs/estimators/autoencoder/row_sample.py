"""A random sample of rows that come in parts: every row so far is in it with the same chance."""

from __future__ import annotations

import numpy as np

__all__ = ["sample_of_parts"]


def sample_of_parts(sample: np.ndarray, seen: int, rows: np.ndarray, most: int, *, seed: int = 0) -> np.ndarray:
    """The sample of all rows so far.

    Up to ``most`` rows it holds all of them, in their order. After that a row takes the place of one of them at random,
    row ``t`` with the chance ``most / t``. The same parts give the same sample.

    Parameters
    ----------
    sample : ndarray of shape (k, d)
        Of the rows before.
    seen : int
        Their number.
    rows : ndarray of shape (m, d)
        The next part.
    most : int
        Rows of the sample at most.
    seed : int, default=0

    Returns
    -------
    ndarray of shape (min(most, seen + m), d)
        A new array.

    References
    ----------
    Vitter (1985), "Random sampling with a reservoir", algorithm R.
    """
    room = max(0, most - len(sample))
    found, rest = np.concatenate([sample, rows[:room]]), rows[room:]
    numbers = seen + len(rows[:room]) + np.arange(1, len(rest) + 1)
    places = (np.random.RandomState((seed + seen) % 2**32).random_sample(len(rest)) * numbers).astype(np.int64)
    for row in np.flatnonzero(places < most):
        found[places[row]] = rest[row]
    return found
