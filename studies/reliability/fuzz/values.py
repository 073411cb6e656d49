"""Matrices of bad taste: duplicated, constant, of every scale and offset; and vectors, weights and targets for them."""

from __future__ import annotations

import numpy as np

from studies.reliability.fuzz.case import Case

POWERS = [-300, -160, -100, -20, -8, -4, -1, 1, 4, 8, 20, 100, 150, 300]
OFFSETS = [1.0, 1e3, 1e6, 1e9]
SPECIAL = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-310, 1e160, -0.0, 1e30]


def tame(case: Case, n: int, d: int) -> np.ndarray:
    """Rows of order one, whose entries are multiples of 2^-12: offsets and units of powers of two lose no digit."""
    return np.round(case.rng.standard_normal((n, d)) * 2**12) / 2**12


def shaped(case: Case, n: int, d: int) -> np.ndarray:
    """Rows of order one of some degenerate shape."""
    rng = case.rng
    kind = case.one_of(["normal", "normal", "heavy", "integers", "few", "duplicates", "constant", "line", "zeros"])
    if kind == "normal":
        return rng.standard_normal((n, d))
    if kind == "heavy":
        return rng.standard_cauchy((n, d)) ** 3
    if kind == "integers":
        return rng.integers(-3, 4, (n, d)).astype(float)
    if kind in ("few", "duplicates"):
        near = 0.0 if kind == "duplicates" else 1e-9
        return rng.standard_normal((2, d))[rng.integers(0, 2, n)] + near * rng.standard_normal((n, d))
    if kind == "constant":
        return np.tile(rng.standard_normal(d), (n, 1))
    if kind == "line":
        return np.outer(rng.standard_normal(n), rng.standard_normal(d))
    return np.zeros((n, d))


def wild(case: Case, n: int, d: int) -> np.ndarray:
    """Rows of any scale and offset, with a special value now and then."""
    X = shaped(case, n, d)
    with np.errstate(all="ignore"):
        if case.chance(0.4):
            X = X * 10.0 ** case.one_of(POWERS)
        if case.chance(0.3):
            X = X + case.one_of(OFFSETS) * case.one_of([1.0, -1.0])
        if case.chance(0.2):
            X = X * 10.0 ** case.rng.integers(-8, 9, d)
        if X.size and case.chance(0.06):
            X[int(case.rng.integers(n)), int(case.rng.integers(d))] = case.one_of(SPECIAL)
    return np.ascontiguousarray(X, dtype=np.float64)


def size(case: Case) -> tuple[int, int]:
    """Rows and columns, now and then one row or fewer rows than columns."""
    if case.chance(0.1):
        return 1, int(case.rng.integers(1, 5))
    if case.chance(0.15):
        return int(case.rng.integers(2, 5)), int(case.rng.integers(5, 9))
    return int(case.rng.integers(3, 13)), int(case.rng.integers(1, 5))


def weights(case: Case, n: int) -> np.ndarray:
    """Sample weights, some of them zero, over many orders."""
    w = case.rng.integers(0, 3, n).astype(float)
    if case.chance(0.3):
        w = w * 10.0 ** case.rng.integers(-6, 7, n)
    w[0] = max(w[0], 1.0)
    if case.chance(0.05):
        w[-1] = case.one_of([*SPECIAL, -1.0])
    return w


def targets(case: Case, n: int, like: np.ndarray) -> np.ndarray:
    """Targets of a regression, shape (n,) or (n, q)."""
    q = int(case.rng.integers(1, 4))
    Y = wild(case, n, q) if case.chance(0.3) else tame(case, n, q)
    if case.chance(0.3) and np.isfinite(like).all() and like.size:
        Y = like[:, :1] / max(float(np.abs(like).max()), 1e-300) + 0.1 * tame(case, n, 1)
    return np.ascontiguousarray(Y[:, 0] if case.chance(0.4) else Y)


def gram_of(X: np.ndarray) -> np.ndarray:
    """A Gram matrix of rows, with what overflow leaves."""
    with np.errstate(all="ignore"):
        K = X @ X.T
        return (K + K.T) / 2


def typical(values: np.ndarray) -> float:
    """Largest modulus, one for an empty array."""
    return float(np.abs(values).max()) if values.size else 1.0


def is_tame(X: np.ndarray) -> bool:
    """Whether data are of moderate size and spread: answers then have nearly all digits."""
    if not X.size or not np.isfinite(X).all():
        return False
    spread = np.ptp(X, axis=0)
    return bool(typical(X) < 1e3 and (spread > 1e-3).any())
