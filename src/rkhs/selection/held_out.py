"""Parts of the training rows on which settings are compared."""

from __future__ import annotations

import numpy as np

from rkhs._core.checks import check_count

# Below this many rows one held-out part is too small to tell settings apart: three take turns.
_FEW = 200
_MANY_TRAINING, _MOST_HELD_OUT = 1600, 300


def held_out_parts(n: int, seed: int = 0, *, at_most: int | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out row numbers for choosing among a few settings at a bounded cost.

    One part of 20 %, at most 300 rows, is held out; for fewer than 200 rows three parts of a third take turns. The
    others train, at most 1,600 or half of all rows, whichever is more: the best regularisers depend on the number of
    rows.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    seed : int, default=0
        Of the permutation.
    at_most : int, optional
        Rows that train, where 200 or more are given, in place of 1,600 or half of all.

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
    if n < _FEW:
        parts = np.array_split(order, min(3, n))
        return [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]
    cut = n // 5
    most = max(_MANY_TRAINING, n // 2) if at_most is None else check_count(at_most, "at_most")
    return [(np.sort(order[cut : cut + most]), np.sort(order[: min(cut, _MOST_HELD_OUT)]))]
