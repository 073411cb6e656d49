"""A random sample of rows that come in parts: every row so far is in it with the same chance."""

from __future__ import annotations

import numpy as np


def sample_of_parts(sample: np.ndarray, seen: int, rows: np.ndarray, most: int, *, seed: int = 0) -> np.ndarray:
    """The sample of all rows so far."""
    room = max(0, most - len(sample))
    found, rest = np.concatenate([sample, rows[:room]]), rows[room:]
    numbers = seen + len(rows[:room]) + np.arange(1, len(rest) + 1)
    places = (np.random.RandomState((seed + seen) % 2**32).random_sample(len(rest)) * numbers).astype(np.int64)
    for row in np.flatnonzero(places < most):
        found[places[row]] = rest[row]
    return found
