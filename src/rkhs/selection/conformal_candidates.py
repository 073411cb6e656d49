"""Conformal sets of candidates and of labels: thresholds of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from scipy.stats import ks_2samp

from rkhs._core.errors import InputError, quote, warn
from rkhs.models.conformal import conformal_rank

_UNLIKE = 1e-3  # p-value of the Kolmogorov-Smirnov test below which lists of candidates differ


def check_places_of(places: Any, lengths: list[int]) -> np.ndarray:
    """Check the index of the true candidate in each list."""
    found = np.asarray(places)
    fits = found.shape == (len(lengths),) and found.dtype.kind in "iu"
    if not fits or ((found < 0) | (found >= np.array(lengths))).any():
        raise InputError(
            f"held_out must give the index (from 0) of the true candidate in the list of each of {len(lengths)} items; "
            f"got {quote(places)}"
        )
    return found


def label_limit(predicted: np.ndarray, Y: np.ndarray, coverage: float) -> float:
    """Threshold of labels by conformal risk control (Angelopoulos et al., 2024), from leave-one-out scores (n, q)."""
    # It is the largest for which the mean share of a row's true labels below it is at most ``alpha - (1 - alpha) / n``.
    rows, labels = np.nonzero(Y)
    scores, shares = predicted[rows, labels], 1.0 / Y.astype(bool).sum(1)[rows]
    order = np.argsort(scores)
    missed = np.cumsum(shares[order])  # if the limit is just above each score
    allowed = round((1.0 - coverage) * (len(Y) + 1) - 1.0, 9)
    if allowed < 0.0:
        return -float("inf")
    place = int(np.searchsorted(missed, allowed, side="right"))
    return float(scores[order[place]]) if place < len(order) else float("inf")


def likely_candidates(
    known: list[np.ndarray], places: np.ndarray, scores: list[np.ndarray], coverage: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Split conformal sets and probabilities of candidates, calibrated on lists whose true candidate is known."""
    # Each list is standardised; one temperature maximises the likelihood of the true candidates.
    standard, new = [_standardised(one) for one in known], [_standardised(one) for one in scores]
    _warn_if_unlike(known, scores)

    def negative_log_likelihood(log_beta: float) -> float:
        logs = (log_softmax(np.exp(log_beta) * z) for z in standard)
        return -float(sum(one[place] for one, place in zip(logs, places, strict=True)))

    beta = float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-4.0, 5.0), method="bounded").x))
    nonconformity = sorted(-log_softmax(beta * z)[place] for z, place in zip(standard, places, strict=True))
    rank = conformal_rank(coverage, len(nonconformity))
    limit = np.inf if rank > len(nonconformity) else nonconformity[rank - 1]
    logs = [log_softmax(beta * z) for z in new]
    return [-one <= limit for one in logs], [np.exp(one) for one in logs]


def _standardised(scores: np.ndarray) -> np.ndarray:
    spread = scores.std()
    return (scores - scores.mean()) / (spread if spread > 0.0 else 1.0)


def _warn_if_unlike(known: list[np.ndarray], scores: list[np.ndarray]) -> None:
    """Warn if the lists differ from those of the calibration, so that the guarantee fails."""
    for what, measure in (("lengths", len), ("best scores", lambda z: _standardised(z).max()), ("spreads", np.std)):
        if ks_2samp(*([measure(one) for one in lists] for lists in (known, scores)), method="asymp").pvalue < _UNLIKE:
            warn(
                f"the {what} of the lists of candidates differ from those of held_out, so that the guaranteed coverage "
                "does not hold; make both lists in the same way"
            )
            return
