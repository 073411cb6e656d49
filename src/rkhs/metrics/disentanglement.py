"""Disentanglement of codes against known factors: DCI, MIG, SAP, IRS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.arrays import read_numbers, read_values
from rkhs._core.checks import check_choice, check_count, check_flag, check_number
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit

_BINS = 20
_CONSTANT = 1e-12  # a code that varies by a smaller share of its size is constant
# The fourth power of 1e80 overflows, the square of 1e-160 underflows, and liblinear then goes on for ever. Codes below
# the smallest one count as zero: its weight of them is zero anyway.
_LARGEST, _SMALLEST = 1e20, 1e-100
_MOST_BINS = 2**31  # with more, bins would be narrower than rounding errors


def read_pair(codes: Any, factors: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, D), and factors (n, F) as integers from 0."""
    # The rounding of sums depends on the memory order.
    Z = np.ascontiguousarray(read_numbers(codes, "codes", shape="(n, D)"))
    if len(Z) < 2:
        raise InputError("codes must have at least two rows; got n_samples=1")
    V = read_values(factors, "factors")
    if V.ndim != 2 or V.shape[0] != Z.shape[0] or V.shape[1] < 1:
        raise InputError(f"factors must have shape ({Z.shape[0]}, F), one row per code; got {V.shape}")
    return Z, np.stack([_numbered(column) for column in V.T], 1)


def _numbered(column: np.ndarray) -> np.ndarray:
    """Encode the values of a factor as integers from 0, in sorted order."""
    if column.dtype.kind not in "biufUSO":
        raise InputError(f"factors must hold numbers or names; got dtype {column.dtype}")
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):  # names
        numbers = np.zeros(len(column))
    if not np.isfinite(numbers).all():
        raise InputError("factors must be finite; got NaN or infinity")
    try:
        return np.unique(column, return_inverse=True)[1].reshape(-1)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in column}))
        raise InputError(f"factors must hold numbers or names, one kind per column; got {kinds}") from None


def in_common_unit(Z: np.ndarray) -> np.ndarray:
    """The array times a power of two: its largest entry is about one, and no square overflows or vanishes."""
    return np.ldexp(Z, -int(np.frexp(np.abs(Z).max())[1])) if Z.size else Z


def varying(V: np.ndarray) -> list[int]:
    """Columns with more than one value; the others cannot be scored."""
    kept = [j for j in range(V.shape[1]) if V[:, j].max() > 0]
    if not kept:
        raise InputError("factors must vary: every column has a single value")
    return kept


def _centred(Z: np.ndarray) -> np.ndarray:
    """Centre the columns, in a common unit."""
    A = in_common_unit(Z)
    A = A - A.min(0)  # exact where all entries are far from zero, as a mean is not
    return A - A.mean(0)


def centred_columns(Z: np.ndarray) -> np.ndarray:
    """Centre each column and scale it by a power of two: of order one whatever the scale and offset of the codes."""
    return np.stack([in_common_unit(column) for column in _centred(Z).T], 1)


def halves(v: np.ndarray, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """A seeded half split, stratified where every value occurs twice."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(v))
    enough = np.bincount(v).min() >= 2 and len(v) // 2 >= v.max() + 1
    train, test = train_test_split(rows, test_size=0.5, random_state=random_state, stratify=v if enough else None)
    if len(np.unique(v[train])) < 2:
        raise InputError("each factor needs at least two values in the training half; give more rows")
    return train, test


def _discretise(z: np.ndarray, bins: int) -> np.ndarray:
    z = in_common_unit(z)
    low, high = float(z.min()), float(z.max())
    if not high - low > 0.0:
        return np.zeros(len(z), dtype=np.int64)
    bins = min(bins, _MOST_BINS)
    filled = np.minimum(((z - low) / (high - low) * bins).astype(np.int64), bins - 1)
    return np.unique(filled, return_inverse=True)[1].reshape(-1)


def _information(a: np.ndarray, b: np.ndarray) -> float:
    joint = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(joint, (a, b), 1.0 / len(a))
    product = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    full = joint > 0.0
    return max(float((joint[full] * np.log(joint[full] / product[full])).sum()), 0.0)


def mutual_information(codes: Any, factors: Any, *, n_bins: int = _BINS) -> np.ndarray:
    """Plug-in mutual information in nats of each code, cut in bins of equal width, with each factor.

    Parameters
    ----------
    codes : array of shape (n, D)
    factors : array of shape (n, F)
        Discrete values.
    n_bins : int, default=20

    Returns
    -------
    ndarray of shape (D, F)

    Raises
    ------
    InputError
        For shapes that do not match and values that are not finite.

    References
    ----------
    Chen et al. (2018), section 4.1.

    Examples
    --------
    >>> from rkhs.metrics import mutual_information
    >>> mutual_information([[0.0], [0.0], [1.0], [1.0]], [[0], [0], [1], [1]]).round(4)
    array([[0.6931]])
    """
    Z, V = read_pair(codes, factors)
    check_count(n_bins, "n_bins", at_least=2)
    binned = [_discretise(z, n_bins) for z in Z.T]
    return np.array([[_information(z, v) for v in V.T] for z in binned])


def _gap(scores: np.ndarray) -> np.ndarray:
    """Largest minus second largest entry of each column; the second of a single row is zero."""
    ordered = np.sort(scores, axis=0)[::-1]
    return ordered[0] - (ordered[1] if len(ordered) > 1 else 0.0)


def mig(codes: Any, factors: Any, *, n_bins: int = _BINS) -> float:
    """Mutual information gap, ``mean_j (I_(1)j - I_(2)j) / H_j``.

    Parameters
    ----------
    codes : array of shape (n, D)
    factors : array of shape (n, F)
        Discrete; a factor of one value is left out.
    n_bins : int, default=20

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        As :func:`mutual_information`, and if no factor varies.

    References
    ----------
    Chen et al. (2018), equation 6.

    Examples
    --------
    >>> from rkhs.metrics import mig
    >>> grid = [[a, b] for a in range(4) for b in range(4)]
    >>> round(mig(grid, grid), 12)
    1.0
    """
    _, V = read_pair(codes, factors)
    kept = varying(V)
    information = mutual_information(codes, factors, n_bins=n_bins)[:, kept]
    entropy = np.array([_information(V[:, j], V[:, j]) for j in kept])
    return float((_gap(information) / entropy).mean())


@within_limit
def sap(codes: Any, factors: Any, *, continuous: bool = False, random_state: int = 0, scale: str = "raw") -> float:
    """Separated attribute predictability: mean gap between the two codes that predict a factor best alone.

    Parameters
    ----------
    codes : array of shape (n, D)
    factors : array of shape (n, F)
    continuous : bool, default=False
        Score by the squared correlation instead of the accuracy of a linear classifier on a held-out half.
    random_state : int, default=0
        Seed of the split.
    scale : {"raw", "unit"}, default="raw"
        ``"raw"`` is the published score. Its linear classifier is regularised, so it depends on the scale of the codes:
        0.034 to 0.129 for the same codes times 0.026 to 10. ``"unit"`` centres each code and divides it by its standard
        deviation first, so that codes of different models can be compared.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        As :func:`mutual_information`, if no factor varies, and for raw codes beyond 1e20.

    References
    ----------
    Kumar, Sattigeri and Balakrishnan (2018), section 3.

    Examples
    --------
    >>> from rkhs.metrics import sap
    >>> grid = [[float(a), float(b)] for a in range(5) for b in range(5)]
    >>> round(sap(grid, grid, continuous=True), 12)
    1.0
    """
    Z, V = read_pair(codes, factors)
    kept = varying(V)
    if check_choice(scale, "scale", ("raw", "unit")) == "unit":
        Z = in_common_unit(Z) - in_common_unit(Z).mean(0)
        spread = Z.std(0)
        Z = Z / np.where(spread > 0.0, spread, 1.0)
    if check_flag(continuous, "continuous"):
        raw = read_numbers(factors, "factors", shape="(n, F)")[:, kept]
        return float(_gap(_squared_correlation(Z, raw)).mean())
    if float(np.abs(Z).max()) > _LARGEST:
        raise InputError(
            f"codes must be at most {_LARGEST:g} for the linear classifier, which does not converge on larger ones; "
            f'got {float(np.abs(Z).max()):.3g}; use scale="unit"'
        )
    from sklearn.svm import LinearSVC

    Z = np.where(np.abs(Z) < _SMALLEST, 0.0, Z)
    scores = np.zeros((Z.shape[1], len(kept)))
    for column, j in enumerate(kept):
        train, test = halves(V[:, j], random_state)
        for i in range(Z.shape[1]):
            z = Z[:, i : i + 1]
            model = LinearSVC(C=0.01, class_weight="balanced", random_state=random_state)
            scores[i, column] = model.fit(z[train], V[train, j]).score(z[test], V[test, j])
    return float(_gap(scores).mean())


def _squared_correlation(Z: np.ndarray, V: np.ndarray) -> np.ndarray:
    A, B = centred_columns(Z), centred_columns(V)
    a, b = (A * A).mean(0), (B * B).mean(0)
    varied = np.ptp(in_common_unit(Z), axis=0) > _CONSTANT * np.abs(in_common_unit(Z)).max(0)
    result = (A.T @ B / len(A)) ** 2 / np.where(varied, a, 1.0)[:, None] / b[None, :]
    return np.where(varied[:, None], result, 0.0)


def irs(codes: Any, factors: Any, *, quantile: float = 0.99, n_bins: int | None = None) -> float:
    """Interventional robustness: how little each code moves while its factor stays.

    Parameters
    ----------
    codes : array of shape (n, D)
        Codes of no variance are dropped; if none is left the score is zero.
    factors : array of shape (n, F)
        Discrete.
    quantile : float, default=0.99
        Of the deviations in a group; 1.0 is the largest one, the definition of the paper.
    n_bins : int, optional
        Cut continuous factors into this many bins first.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        As :func:`mutual_information`, and for a quantile outside (0, 1].

    References
    ----------
    Suter et al. (2019), section 4.

    Examples
    --------
    >>> from rkhs.metrics import irs
    >>> grid = [[a, b] for a in range(4) for b in range(4)]
    >>> irs(grid, grid)
    1.0
    """
    scores, weights = _robustness(codes, factors, quantile, n_bins)
    return float((weights * scores.max(axis=1)).sum() / weights.sum()) if len(weights) else 0.0


def _robustness(codes: Any, factors: Any, quantile: float, n_bins: int | None) -> tuple[np.ndarray, np.ndarray]:
    check_number(quantile, "quantile", above=0.0, at_most=1.0)
    if n_bins is not None:
        raw = read_numbers(factors, "factors", shape="(n, F)")
        factors = np.stack([_discretise(v, check_count(n_bins, "n_bins", at_least=2)) for v in raw.T], 1)
    Z, V = read_pair(codes, factors)
    Z = Z[:, Z.max(axis=0) > Z.min(axis=0)]
    scores = np.zeros((Z.shape[1], V.shape[1]))
    if not Z.shape[1]:
        return scores, np.zeros(0)
    weights = np.abs(_centred(Z)).max(axis=0)
    # Each column has its unit: in a common one a column of small numbers would become zero.
    Z = np.hstack([centred_columns(column[:, None]) for column in Z.T])
    largest = np.abs(Z).max(axis=0)
    for j, v in enumerate(V.T):
        groups = [Z[v == u] for u in range(int(v.max()) + 1)]
        deviations = [np.quantile(np.abs(g - g.mean(0)), quantile, axis=0) for g in groups]
        scores[:, j] = 1.0 - np.mean(deviations, axis=0) / largest
    return scores, weights


@dataclass(frozen=True)
class Disentanglement:
    """Scores of one representation by :func:`dci`.

    Parameters
    ----------
    disentanglement : float
        One if each code depends on one factor.
    completeness : float
        One if each factor is captured by one code.
    informativeness : float
        Mean test accuracy of predicting the factors.
    importances : ndarray of shape (D, F)
        Importance of each code for each factor; each column sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.metrics import dci
    >>> grid = np.array([[a, b] for a in range(3) for b in range(3)] * 4)
    >>> found = dci(grid, grid)
    >>> round(found.completeness, 6), round(found.informativeness, 6), found.importances.shape
    (1.0, 1.0, (2, 2))
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importances: np.ndarray


@within_limit
def dci(codes: Any, factors: Any, *, random_state: int = 0, n_estimators: int = 20) -> Disentanglement:
    """Disentanglement, completeness and informativeness from gradient-boosted classifiers, one per factor.

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
        with np.errstate(invalid="ignore"):  # trees whose splits gain nothing: 0 / 0, which counts as no importance
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
    """Return one minus the entropy of each row, in the base of its length; one column is pure."""
    count = importances.shape[1]
    if count == 1:
        return np.ones(len(importances))
    shares = importances / np.where(sums > 0.0, sums, 1.0)[:, None]
    logs = np.log(np.where(shares > 0.0, shares, 1.0))
    return 1.0 + (shares * logs).sum(1) / np.log(count)
