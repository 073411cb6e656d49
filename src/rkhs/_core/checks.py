"""Validation, with messages in three parts: what was expected, what was passed, what to do."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, quote


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Prefix the message of an :class:`InputError` with the name of the argument."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{argument}: {error}") from None


def real_array(X: Any, name: str) -> np.ndarray:
    """Read numbers as a float64 array of any shape; they need not be finite."""
    if hasattr(X, "toarray"):
        raise InputError(f"{name} must be a dense array; got a sparse {type(X).__name__}. Pass its toarray()")
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "biufO":
            raise InputError(f"{name} must hold real numbers; got dtype {array.dtype}")
        with np.errstate(over="ignore"):  # a longer float may become infinite, which the caller refuses
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        if is_missing(error):
            raise InputError(missing_sentence(name)) from None
        raise InputError(f"{name} must hold real numbers; got what NumPy cannot read: {error}") from None


def check_labels(labels: np.ndarray, advice: str) -> np.ndarray:
    """Refuse labels that are missing, or of kinds that have no common order; ``advice``: what to do instead of None."""
    if labels.dtype != object or not labels.ndim:
        return labels
    values = labels.ravel().tolist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise InputError(f"y must have a label in every row; got {value} in row {row} (from 0). {advice}")
    try:
        sorted(values)
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in values}))
        raise InputError(f"y must hold labels of one kind; got {kinds}. Make all of them texts, or numbers") from None
    return labels


def is_missing(error: Exception) -> bool:
    """Whether an error says that a cell is pd.NA, which no number stands for."""
    return "NAType" in str(error)


def missing_sentence(name: str) -> str:
    """Message about pd.NA where numbers are expected."""
    return f"{name} must hold real numbers; got pd.NA, which stands for a gap; fill gaps or leave such rows out"


def check_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float = math.inf,
    names: Sequence[str] = (),
) -> float:
    """Return ``value`` as a float if it is a finite real number in the given range."""
    wanted = f"> {above:g}" if above is not None else (f">= {at_least:g}" if at_least is not None else "a number")
    if at_most < math.inf:
        wanted += f" and <= {at_most:g}"
    wanted += "".join(f" or {word!r}" for word in names)
    number, flag = math.nan, isinstance(value, (bool, np.bool_))
    if not flag and isinstance(value, numbers.Real):
        with suppress(OverflowError):  # an integer beyond every float
            number = float(value)
    good = math.isfinite(number) and (above is None or number > above) and (at_least is None or number >= at_least)
    if not (good and number <= at_most):
        raise InputError(f"{name} must be {wanted}; got {quote(value)}")
    return number


def check_count(value: Any, name: str, *, at_least: int = 1, at_most: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int if it is a whole number in the given range, else raise :class:`InputError`."""
    flag = isinstance(value, (bool, np.bool_))
    good = not flag and isinstance(value, numbers.Integral) and int(value) >= at_least
    if good and int(value) > sys.maxsize:
        raise InputError(f"{name} must be an integer of at most {sys.maxsize}; got a larger one")
    if not good or (at_most is not None and int(value) > at_most):
        limit = f"an integer >= {at_least}" if at_most is None else f"an integer from {at_least} to {at_most}{why}"
        raise InputError(f"{name} must be {limit}; got {quote(value)}")
    return int(value)


def check_list(values: Any, name: str, of: str = "numbers") -> list[Any]:
    """Return a sequence as a list, else raise :class:`InputError`; a text, a number or a dict is none."""
    fine = hasattr(values, "__len__") and not isinstance(values, (str, bytes, dict, set))
    try:
        found = list(values) if fine else []
    except TypeError:  # an array without axes
        found = []
    if not found:
        raise InputError(f"{name} must be a sequence of {of}, at least one; got {quote(values)}")
    return found


def check_numbers(values: Any, name: str, *, above: float | None = None, at_least: float | None = None) -> list[float]:
    """Return a sequence as a list of finite numbers in a range (see :func:`check_number`), at least one."""
    return [check_number(value, name, above=above, at_least=at_least) for value in check_list(values, name)]


def check_methods(value: Any, name: str, methods: Sequence[str]) -> None:
    """Raise :class:`InputError` unless a value has these methods, as a fitted model of the expected kind has."""
    if isinstance(value, (type, str, bytes)) or not all(callable(getattr(value, method, None)) for method in methods):
        given = value.__name__ if isinstance(value, type) else f"a {type(value).__name__}"
        raise InputError(f"{name} must be a fitted estimator with {' and '.join(methods)}; got {given}")


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of the names, else raise :class:`InputError` listing them."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(repr(c) for c in choices)}; got {quote(value)}")
    return value


def check_flag(value: Any, name: str) -> bool:
    """Return ``value`` as a bool if it is True or False, else raise :class:`InputError`."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False; got {quote(value)}")
    return bool(value)


def check_seed(value: Any, name: str = "random_state") -> np.random.RandomState:
    """Return the generator of a seed, else raise :class:`InputError`; see scikit-learn's ``random_state``."""
    if value is None:
        return np.random.RandomState()
    from sklearn.utils import check_random_state

    try:
        return check_random_state(value)
    except ValueError:
        raise InputError(
            f"{name} must be an integer from 0 to 2**32 - 1, a numpy RandomState or None; got {quote(value)}"
        ) from None


def _parts(cv: Any, n: int, y: Any, groups: Any, message: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The parts of a splitter, whose errors become those of ``cv``."""
    from sklearn.model_selection import check_cv

    try:
        pairs = check_cv(cv).split(np.zeros((n, 1)), y, groups)
        return [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    except (TypeError, ValueError, AttributeError) as error:
        way = "; pass fit(X, y, groups=groups)" if groups is None and "groups" in str(error) else ""
        raise InputError(f"{message}: {error}{way}") from None


def check_folds(
    cv: Any, n: int, y: Any = None, seed: Any = 0, together: np.ndarray | None = None, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out row numbers that a user's ``cv=`` means; a number means folds of shuffled rows."""
    # Such folds keep rows with equal entries of ``together`` (n,) on one side.
    from sklearn.model_selection import KFold

    wanted = "cv must be a number of folds, a splitter of scikit-learn or (train, test) pairs of row numbers"
    if isinstance(cv, numbers.Integral):
        different, place = np.unique(np.arange(n) if together is None else together, return_inverse=True)
        why = f" (n_samples={n})" if len(different) == n else f", the rows that differ (n_samples={n})"
        folds = check_count(cv, "cv", at_least=2, at_most=len(different), why=why)
        pairs = KFold(folds, shuffle=True, random_state=check_seed(seed)).split(different)  # files are often sorted
        return [(np.flatnonzero(np.isin(place, train)), np.flatnonzero(np.isin(place, test))) for train, test in pairs]
    parts = _parts(cv, n, y, groups, f"{wanted}; got {quote(cv)} with n_samples={n}")
    good = all(
        rows.ndim == 1 and len(rows) and rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < n
        for part in parts
        for rows in part
    )
    if not (parts and good):
        raise InputError(f"{wanted} from 0 to {n - 1}, none of them empty; got {quote(cv)}")
    return parts


def check_operator(A: Any, name: str, size: int | None) -> np.ndarray:
    """Return a symmetric positive semi-definite operator as a float64 array of shape (size, size), any size if None."""
    matrix = real_array(A, name)
    size = (matrix.shape[0] if matrix.ndim else 1) if size is None else size
    if matrix.shape != (size, size):
        raise InputError(f"{name} must have shape ({size}, {size}); got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{name} must be finite; got NaN or infinity")
    scale = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
    if float(np.abs(matrix - matrix.T).max()) > 1e-10 * scale:
        raise InputError(f"{name} must be symmetric; got a matrix that is not. Pass (A + A.T) / 2 if that is meant")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -1e-10 * scale * size:
        raise InputError(f"{name} must be positive semi-definite; its smallest eigenvalue is {smallest:.3g}")
    return (matrix + matrix.T) / 2


def check_gram(K: np.ndarray, name: str = "K") -> np.ndarray:
    """Check that a training Gram matrix is square and symmetric, and return it exactly symmetric."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(
            f"{name} must be a square Gram matrix in fit (n training items by n training items); got shape {K.shape}"
        )
    scale = float(np.abs(K).max()) if K.size else 0.0
    tolerance = max(1e-8, 10 * float(np.finfo(K.dtype).eps)) * scale
    gap = float(np.abs(K - K.T).max()) if K.size else 0.0
    if gap > tolerance:
        raise InputError(
            f"{name} must be symmetric; got entries that differ by {gap:.3g} from their mirror image. "
            "Check the kernel, or pass (K + K.T) / 2 if the difference is noise"
        )
    return (K + K.T) / 2


def check_spread(array: Any, name: str, dtype: str) -> Any:
    """Refuse columns that all vary so little that the squares of differences lose their digits."""
    least = 1e3 * float(np.finfo(np.float64 if dtype == "float64" else np.float32).tiny) ** 0.5
    spread = float((array.max(axis=0) - array.min(axis=0)).max()) if 0 not in array.shape else 0.0
    if 0.0 < spread < least:
        raise InputError(
            f"{name} must vary by more than {least:.0e}, or not at all; got a largest spread of {spread:.1e} in a "
            "column. Rescale the data"
        )
    return array


def check_squares(array: Any, name: str, dtype: str) -> Any:
    """Refuse rows whose squared distances and inner products may not be finite."""
    limit = float(np.finfo(np.float64 if dtype == "float64" else np.float32).max) ** 0.5 / max(1, array.shape[1])
    if 0 not in array.shape and float(np.abs(array).max()) > limit:
        raise InputError(
            f"{name} must hold values of modulus under {limit:.0e}, whose squares are finite; rescale the data"
        )
    return array


Declared = dict[str, Callable[[Any, str], object]]
"""Checks of the parameters of a class, by their names."""


def refuse_undeclared(value: Any, prefix: str = "") -> None:
    """Refuse parameters that are not what their class declares."""
    for name, check in value._declared.items():
        check(getattr(value, name), f"{prefix}{name}")


number, count, choice = (partial(partial, check) for check in (check_number, check_count, check_choice))
