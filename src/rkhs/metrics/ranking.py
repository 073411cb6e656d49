"""Ranks of true candidates, and errors of predicted labels and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rkhs._core.arrays import as_numpy, is_frame, read_values
from rkhs._core.checks import check_count, check_list, real_array
from rkhs._core.errors import InputError

_ROUNDING, _SINGLE = 1e-10, 1e-5  # ties, in double and single precision, as shares of the median modulus
_ENTRIES = 2**22  # entries that are sorted at once


def rounding_width(values: np.ndarray) -> np.ndarray:
    """Largest difference along the last axis that counts as rounding, shape (..., 1)."""
    share = _SINGLE if values.dtype == np.float32 else _ROUNDING
    return share * np.median(np.abs(values), axis=-1, keepdims=True)


def nearest_first(D: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort the candidates of each row of distances (m, c); return the first ``count`` and their distances."""
    # Neighbours in the order that differ by at most ``rounding_width`` tie: they get their least distance and keep
    # the order of the candidates.
    order, distances = np.empty((len(D), count), dtype=np.int64), np.empty((len(D), count), dtype=D.dtype)
    step = max(1, _ENTRIES // max(1, D.shape[1]))
    for start in range(0, len(D), step):
        part = D[start : start + step]
        found = np.argsort(part, axis=1, kind="stable")
        ascending = np.take_along_axis(part, found, 1)
        new = np.diff(ascending, axis=1, prepend=-np.inf) > rounding_width(part)
        found = np.take_along_axis(found, np.lexsort((found, new.cumsum(1)), axis=1), 1)
        equal = np.maximum.accumulate(np.where(new, ascending, -np.inf), axis=1)
        order[start : start + step], distances[start : start + step] = found[:, :count], equal[:, :count]
    return order, distances


def truth_ranks(scores: Sequence[Any], truth: Any) -> np.ndarray:
    """Rank of the true candidate of each sample, 1 is best; ties count against it.

    ``rank = 1 + #{strictly better} + #{ties}``. Scores that differ by at most 1e-10 of the median of a sample's scores
    tie: smaller differences depend on the machine and the number of threads.

    Parameters
    ----------
    scores : array of shape (m, c), or sequence of m arrays of shape (c_i,)
        Larger is better.
    truth : array of shape (m,), integers
        Index of the true candidate; negative where it is missing from the candidates.

    Returns
    -------
    ndarray of shape (m,)
        Infinite where the truth is missing.

    Raises
    ------
    InputError
        For another length, an index beyond the candidates, or scores that are not finite.

    References
    ----------
    Laforgue et al. (2020), table 1.

    Examples
    --------
    >>> from rkhs.metrics import truth_ranks
    >>> truth_ranks([[0.9, 0.1, 0.5], [0.2, 0.2, 0.1]], [2, 0])
    array([2., 2.])
    """
    rows, index = _score_rows(scores), read_values(truth, "truth")
    if index.ndim != 1 or len(index) != len(rows):
        raise InputError(f"truth must have one index per sample, {len(rows)} in all; got shape {index.shape}")
    numbers = real_array(index, "truth")
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise InputError("truth must hold whole numbers: the index of the true candidate, negative where it is missing")
    ranks = np.full(len(index), np.inf)
    for i, (row, true) in enumerate(zip(rows, numbers.astype(np.int64), strict=True)):
        values = real_array(row, f"scores[{i}]")
        if values.ndim != 1:
            raise InputError(f"scores[{i}] must have one axis, a score per candidate; got shape {values.shape}")
        if true >= len(values):
            raise InputError(f"truth[{i}] must be under the number of candidates {len(values)}; got {true}")
        if not np.isfinite(values).all():
            raise InputError(f"scores[{i}] must be finite")
        if true >= 0:
            ranks[i] = np.count_nonzero(values >= values[true] - rounding_width(values))
    return ranks


def _score_rows(scores: Any) -> list[Any]:
    """Scores of each sample; the rows of a frame are counted, whatever their labels."""
    scores = as_numpy(scores, "scores")
    return check_list(np.asarray(scores) if is_frame(scores) else scores, "scores", "arrays of scores")


def top_k_accuracy(ranks: Any, k: int) -> float:
    """Share of samples whose truth is among the best ``k`` candidates.

    Parameters
    ----------
    ranks : array of shape (m,)
        As :func:`truth_ranks` returns them.
    k : int

    Returns
    -------
    float
        Between 0 and 1, nondecreasing in ``k``.

    Raises
    ------
    InputError
        If ``k`` is not a positive integer or there are no ranks.

    References
    ----------
    Laforgue et al. (2020), table 1.

    Examples
    --------
    >>> from rkhs.metrics import top_k_accuracy
    >>> top_k_accuracy([1.0, 3.0, 2.0, 20.0], k=2)
    0.5
    """
    values = real_array(read_values(ranks, "ranks"), "ranks")
    if values.size == 0:
        raise InputError("ranks must not be empty")
    if np.isnan(values).any():
        raise InputError("ranks must be numbers, infinite where the truth is missing; got NaN")
    return float(np.mean(values <= min(check_count(k, "k"), 2**53)))


def hamming_error(Y: Any, predicted: Any) -> float:
    """Share of wrong labels, ``#{wrong} / (n q)``.

    Parameters
    ----------
    Y, predicted : array of shape (n, q)
        Labels.

    Returns
    -------
    float

    References
    ----------
    Laforgue et al. (2020), section 4.1, where it is printed times 100.

    Examples
    --------
    >>> from rkhs.metrics import hamming_error
    >>> hamming_error([[0, 1], [1, 1]], [[0, 1], [0, 1]])
    0.25
    """
    left, right = _same_shape(Y, predicted)
    for name, labels in (("Y", left), ("predicted", right)):
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise InputError(f"{name} must hold labels; got NaN, which equals no label")
    return float(np.mean(left != right))


def normalized_mean_squared_error(Y: Any, predicted: Any) -> float:
    """Squared error over the power of the targets, ``sum ||y - h||^2 / sum ||y||^2`` (NMSE).

    Parameters
    ----------
    Y, predicted : array of shape (n,) or (n, q)
        Numbers; the mean of ``Y`` is not subtracted.

    Returns
    -------
    float
        0 is perfect, 1 is as bad as predicting zero.

    Raises
    ------
    InputError
        For other shapes, for numbers that are not finite, and if all targets are zero.

    References
    ----------
    Laforgue, Clémençon and d'Alché-Buc (2019), tables 1 and 3.

    Examples
    --------
    >>> from rkhs.metrics import normalized_mean_squared_error
    >>> normalized_mean_squared_error([3.0, 4.0], [3.0, 2.0])
    0.16
    """
    left, right = _same_shape(Y, predicted)
    left, right = real_array(left, "Y"), real_array(right, "predicted")
    share = float(np.mean((left - right) ** 2) / np.mean(left**2)) if left.any() else np.inf
    if not np.isfinite(share):
        raise InputError("Y and predicted must hold finite numbers, and Y not zeros alone; got others")
    return share


def _same_shape(Y: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    left, right = read_values(Y, "Y"), read_values(predicted, "predicted")
    if left.shape != right.shape or left.size == 0:
        raise InputError(f"predicted must have the shape {left.shape} of Y, not empty; got {right.shape}")
    return left, right
