"""Disentanglement, completeness and informativeness from the importances of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.threads import within_limit
from rkhs.metrics._factors import centred_columns, halves, read_pair, varying


@dataclass(frozen=True)
class Disentanglement:
    """Scores of one representation by :func:`dci`.

    Parameters
    ----------
    disentanglement : float
        One if each code serves one factor.
    completeness : float
        One if each factor is held by one code.
    informativeness : float
        Mean test accuracy of predicting the factors.
    importances : ndarray of shape (D, F)
        Importance of each code for each factor; each column sums to one.

    Raises
    ------
    ValueError
        Never: it holds what :func:`dci` found.

    References
    ----------
    Eastwood and Williams (2018), section 2.
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importances: np.ndarray


@within_limit
def dci(codes: Any, factors: Any, *, random_state: int = 0, n_estimators: int = 20) -> Disentanglement:
    """Disentanglement, completeness and informativeness from gradient-boosted classifiers, one a factor.

    Parameters
    ----------
    codes : array of shape (n, D)
    factors : array of shape (n, F)
        Discrete.
    random_state : int, default=0
        Of the half split and of the classifiers.
    n_estimators : int, default=20
        Rounds of boosting.

    Returns
    -------
    Disentanglement

    Raises
    ------
    InputError
        As :func:`mutual_information`, and if no factor varies.

    References
    ----------
    Eastwood and Williams (2018), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.metrics import dci
    >>> grid = np.array([[a, b] for a in range(3) for b in range(3)] * 4)
    >>> round(dci(grid, grid).disentanglement, 6)
    1.0
    """
    Z, V = read_pair(codes, factors)
    from sklearn.ensemble import GradientBoostingClassifier  # only where it is used: half a second

    Z = centred_columns(Z)  # trees see the order of codes only, in single precision
    check_count(n_estimators, "n_estimators")
    kept = varying(V)
    importances, accuracies = np.zeros((Z.shape[1], len(kept))), []
    for column, j in enumerate(kept):
        train, test = halves(V[:, j], random_state)
        model = GradientBoostingClassifier(n_estimators=n_estimators, random_state=random_state)
        model.fit(Z[train], V[train, j])
        with np.errstate(invalid="ignore"):  # trees that split and gain nothing: 0 / 0 for each code, of no importance
            importances[:, column] = np.nan_to_num(model.feature_importances_)
        accuracies.append(model.score(Z[test], V[test, j]))
    total = max(float(importances.sum()), 1e-300)
    rows, columns = importances.sum(1), importances.sum(0)
    return Disentanglement(
        float((rows / total * _purity(importances, rows)).sum()),
        float((columns / total * _purity(importances.T, columns)).sum()),
        float(np.mean(accuracies)),
        importances,
    )


def _purity(importances: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """One minus the entropy of each row, in the base of its length; one column is pure."""
    count = importances.shape[1]
    if count == 1:
        return np.ones(len(importances))
    shares = importances / np.where(sums > 0.0, sums, 1.0)[:, None]
    logs = np.log(np.where(shares > 0.0, shares, 1.0))
    return 1.0 + (shares * logs).sum(1) / np.log(count)
