"""Selective prediction: the risk-coverage curve of scored answers, and a threshold with a guaranteed risk."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import beta

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_choice, check_number, real_array
from rkhs._core.errors import InputError, warn

_STEPS = 10  # coverages that are tested: 0.1, 0.2, ..., 1


class RiskCoverage(NamedTuple):
    """The risk-coverage curve of scored answers, and the score threshold that guarantees a risk.

    Parameters
    ----------
    coverage : ndarray of shape (k,)
        Share of the rows that are answered, one for each of the k different scores, from the highest.
    risk : ndarray of shape (k,)
        Mean loss of the answered rows.
    area : float
        Area under the curve; lower is better. It is about the mean loss if scores do not depend on the losses.
    threshold : float or None
        Answer where the score is above it. Infinite if no answer may be given; None without ``risk``.
    answered : float or None
        Share of the rows above the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.evaluation import risk_coverage
    >>> found = risk_coverage(np.arange(100.0), np.arange(100) < 30)
    >>> float(found.coverage[-1]), round(float(found.risk[-1]), 2), round(found.area, 2)
    (1.0, 0.3, 0.05)
    """

    coverage: np.ndarray
    risk: np.ndarray
    area: float
    threshold: float | None
    answered: float | None


def risk_coverage(
    scores: Any,
    losses: Any,
    risk: float | None = None,
    *,
    confidence: float = 0.95,
    of: Literal["answered", "all"] = "answered",
) -> RiskCoverage:
    """Compute the risk-coverage curve, and the score above which a risk is guaranteed.

    Parameters
    ----------
    scores : array of shape (n,)
        How sure each answer is; larger is surer: the gap between the two best ``scores`` of an
        ``InputOutputKernelRegressor``, or minus the deviation of ``predict(X, return_std=True)``.
    losses : array of shape (n,)
        How wrong each answer is, for rows that the fit has not seen: 1 for a mistake, 0 for none.
    risk : float, default=None
        The share of mistakes to be guaranteed; None: the curve alone.
    confidence : float, default=0.95
        Probability of the guarantee of ``of="answered"``.
    of : {"answered", "all"}, default="answered"
        "answered": of new answers above the threshold, a share of at most ``risk`` is wrong, with probability
        ``confidence`` over the draw of the n rows. "all": of all new rows, a share of at most ``risk`` is answered and
        wrong, on average over the draw; losses from 0 to 1.

    Returns
    -------
    RiskCoverage

    Raises
    ------
    InputError
        For scores and losses that are not finite or not in pairs, and losses that the guarantee does not cover.

    Notes
    -----
    "answered" tests the surest tenth of the rows, then two tenths, and so on, up to the first share with a
    Clopper-Pearson bound above ``risk``. The theorem is for independent rows and an expected risk of the answered that
    exceeds ``risk`` from some score down; each further stretch of scores where it does may add ``1 - confidence``
    to the chance of a broken guarantee. "all" is conformal risk control, ``(sum of answered losses + 1) / (n + 1) <=
    risk``, for every distribution. O(n log n).

    References
    ----------
    Geifman and El-Yaniv (2017); Angelopoulos et al. (2021), learn then test; (2024), conformal risk control.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.evaluation import risk_coverage
    >>> scores = np.arange(100.0)
    >>> found = risk_coverage(scores, scores < 30, risk=0.1)
    >>> found.threshold, found.answered
    (29.0, 0.7)
    """
    s, loss = (real_array(as_numpy(one, name), name) for one, name in ((scores, "scores"), (losses, "losses")))
    if s.ndim != 1 or not len(s) or s.shape != loss.shape or not np.isfinite([s, loss]).all():
        raise InputError(
            f"scores and losses must be finite numbers of one shape (n,), one per answer; got shapes {s.shape} and "
            f"{loss.shape}"
        )
    check_choice(of, "of", ("answered", "all"))
    level = check_number(confidence, "confidence", above=0.0, at_most=1.0)
    order = np.argsort(-s, kind="stable")
    s, loss = s[order], loss[order]
    ends = np.flatnonzero(np.append(np.diff(s), -1.0)) + 1  # rows of one score are answered together
    curve = np.cumsum(loss)[ends - 1] / ends
    found = RiskCoverage(ends / len(s), curve, float(np.diff(ends, prepend=0) @ curve / len(s)), None, None)
    if risk is None:
        return found
    limit = _threshold(s, loss, check_number(risk, "risk", above=0.0, at_most=1.0), level, of)
    return found._replace(threshold=limit, answered=float((s > limit).mean()))


def _threshold(s: np.ndarray, loss: np.ndarray, risk: float, level: float, of: str) -> float:
    n, binary = len(s), of == "answered"
    if not (np.isin(loss, (0.0, 1.0)) if binary else (loss >= 0.0) & (loss <= 1.0)).all():
        raise InputError(f"losses must be {'0 or 1' if binary else 'from 0 to 1'} to guarantee a risk of={of!r}")
    ranks = np.unique(-(-n * np.arange(1, _STEPS + 1) // _STEPS)) if binary else np.arange(n + 1)
    limits = np.append(s, -np.inf)[ranks]
    counts = np.searchsorted(-s, -limits)

    def bound(wrong: np.ndarray) -> np.ndarray:
        return np.nan_to_num(beta.ppf(level, wrong + 1.0, counts - wrong), nan=1.0) if binary else (wrong + 1) / (n + 1)

    passed = bound(np.append(0.0, np.cumsum(loss))[counts]) <= risk
    enough = bound(0.0 * counts) <= risk  # coverages at which the bound is met if no answer is wrong
    passing = limits[enough][: np.argmin(np.append(passed[enough], False))]  # down to the first that fails the bound
    if len(passing):
        return float(passing[-1])
    warn(
        f"the threshold is infinite: {n} rows, {loss.sum():g} of them wrong, are too few to guarantee risk={risk:g}; "
        "give more rows, or take a larger risk"
    )
    return np.inf
