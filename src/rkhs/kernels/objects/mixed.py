"""Tables of numbers, categories and missing values: one kernel for all columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.cells import read_cells
from rkhs._core.checks import check_choice, check_number
from rkhs._core.errors import InputError
from rkhs._core.stored import check_shape, check_types
from rkhs.kernels.base import Kernel


class MixedTable(Kernel):
    """Gaussian over the columns of a table that may hold numbers, categories and missing values.

    ``k(x, y) = prod_j k_j(x_j, y_j)`` over the ``d`` columns, ``k_j = exp(-gamma delta_j / d)`` with

    * numbers: ``delta = (x - y)^2 / (2 variance)``;
    * categories: ``delta = [x != y] / (1 - sum_c p_c^2)``, ``p_c`` the shares of the categories;
    * a missing value stands for the distribution of the known training values of its column:
      ``k(x, missing) = mean_z k(x, z)`` and ``k(missing, missing) = mean_{z, z'} k(z, z')``, the inner products of mean
      embeddings.

    On average over pairs of training rows every ``delta`` is one, so numbers and categories count alike, and a row that
    is missing nothing has ``k(x, x) = 1``. Positive semi-definite, missing values included.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of the mean of the ``delta_j``; 1.0 is the analogue of ``"median"``.
    categorical : sequence of int, default=()
        Positions of columns whose numbers are names, such as codes of regions. Columns of texts are categorical anyhow.
    missing : {"average", "raise"}, default="average"
        ``"raise"``: refuse missing values. If a missing value is itself information, write a text such as "unknown"
        into the cell; it is then a category.
    columns : tuple of dict, default=None
        Scale and known values of each training column; None: :meth:`resolve` sets them.

    Raises
    ------
    InputError
        For columns that mix numbers and texts, dates, infinities, rows of different lengths, and missing values if
        refused; the message names row and column.

    Notes
    -----
    Items are rows: of a pandas or polars frame, a list of tuples, or an object array (n, d). None, NaN, NaT and NA are
    missing. A constant column and one without any value are left out. A category that training did not see differs from
    all others. Cost: one pass over the n x m pairs for each column.

    References
    ----------
    Gower (1971), equation 3, for columns on one scale; Smola, Vishwanathan and Hofmann (2005), "Kernel methods for
    missing variables", section 2, for missing values as expectations.

    Examples
    --------
    >>> from rkhs.kernels import MixedTable
    >>> rows = [(1.0, "red"), (3.0, "red"), (None, "blue")]
    >>> MixedTable()(rows).round(3)
    array([[1.   , 0.368, 0.222],
           [0.368, 1.   , 0.222],
           [0.222, 0.222, 0.684]])
    """

    _one_scale: float

    def __init__(
        self, gamma: float = 1.0, categorical: Sequence[int] = (), missing: str = "average", columns: Any = None
    ) -> None:
        self.gamma = gamma
        self.categorical = categorical
        self.missing = missing
        self.columns = columns

    def __repr__(self) -> str:
        """The parameters; of the training columns only how many there are of each kind."""
        words = [f"{name}={getattr(self, name)!r}" for name in ("gamma", "categorical", "missing")]
        if self.columns is not None:
            try:
                kinds = [column["kind"] for column in self.columns]
            except (TypeError, KeyError, IndexError):  # no columns that resolve wrote: refused at the first use
                return super().__repr__()
            counted = {"number": "of numbers", "category": "of texts", "empty": "empty"}
            found = [f"{kinds.count(kind)} {what}" for kind, what in counted.items() if kind in kinds]
            words.append(f"columns={', '.join(found)!r}")
        return f"MixedTable({', '.join(words)})"

    def read(self, X: Any) -> list[tuple[Any, ...]]:
        """Rows as tuples of numbers (NaN: missing) and texts (None: missing)."""
        filled = check_choice(self.missing, "MixedTable.missing", ("average", "raise")) == "average"
        rows = read_cells(X, "MixedTable", self.categorical)
        for j, column in enumerate(zip(*rows, strict=True)) if not filled else ():
            gap = next((i for i, value in enumerate(column) if value is None or value != value), None)
            if gap is not None:
                raise InputError(
                    f"MixedTable(missing='raise') reads no missing values; got one in row {gap}, column {j}. "
                    "Fill it, drop the row, or pass missing='average'"
                )
        return rows

    def resolve(self, X: Any, weights: Tensor | None = None) -> MixedTable:
        """Write down scales and known values of the training columns; see :class:`MixedTable`."""
        check_number(self.gamma, "MixedTable.gamma", above=0.0)
        rows = self.read(X)
        if self.columns is not None:
            self._check_width(rows)
            return self
        w = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights.cpu().numpy()
        columns = tuple(_describe(column, w) for column in zip(*rows, strict=True))
        return MixedTable(self.gamma, self.categorical, self.missing, columns)

    def check_stored(self) -> None:
        """Known values of a column must be as many as their shares."""
        for column in self.columns or ():
            if not isinstance(column, dict):
                return  # _check_width refuses it
            parts: list[Any] = [column.get(name) for name in ("kind", "values", "shares")]
            kind, values, shares = parts
            check_shape("shares", shares, None)
            check_types(MixedTable, {"_one_scale": column.get("scale")})
            arrays = isinstance(values, np.ndarray) and isinstance(shares, np.ndarray)
            wrong = kind not in ("category", "number", "empty") or not arrays
            if wrong or values.shape != shares.shape or values.dtype.kind not in ("OU" if kind == "category" else "f"):
                raise InputError(f"a column of a table in a model file must have values of its kind; got {kind!r:.50}")

    def _check_width(self, rows: list[tuple[Any, ...]]) -> None:
        known = isinstance(self.columns, (tuple, list)) and all(isinstance(one, dict) for one in self.columns)
        if not known or any({"kind", "scale", "values", "shares"} - one.keys() for one in self.columns):
            raise InputError(
                f"MixedTable.columns must be what resolve(training rows) wrote down; got {self.columns!r:.60}"
            )
        if len(rows[0]) != len(self.columns):
            raise InputError(f"MixedTable was fitted on rows of {len(self.columns)} cells; got {len(rows[0])}")

    def _rates(self) -> list[float]:
        """Factors of ``(x - y)^2`` or ``[x != y]``, one per column."""
        if self.columns is None:
            raise InputError("MixedTable knows no scales yet; call resolve(rows) with the training rows first")
        used = sum(1 for column in self.columns if column["scale"] > 0.0)
        return [self.gamma / (used * column["scale"]) if column["scale"] > 0.0 else 0.0 for column in self.columns]

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        left = self._split(X)
        right = left if Y is None else self._split(Y)
        K = _known_distances(left, right, self._rates(), self.columns)
        np.exp(np.negative(K, out=K), out=K)
        if Y is None:
            np.fill_diagonal(K, 1.0)
        for a, b, rate, column in zip(left, right, self._rates(), self.columns, strict=True):
            missing_left, missing_right = _is_missing(a), _is_missing(b)
            if rate == 0.0 or not (missing_left.any() or missing_right.any()):
                continue
            both = _self_mean(column, rate)
            if missing_left.any():
                K[missing_left] *= np.where(missing_right, both, _means(b, column, rate))
            if missing_right.any():
                K[np.ix_(~missing_left, missing_right)] *= _means(a[~missing_left], column, rate)[:, None]
        if Y is None:
            K = (K + K.T) / 2
        return torch.from_numpy(K)

    def _diag(self, X: Any) -> Tensor:
        columns = self._split(X)
        d = np.ones(len(columns[0]))
        for values, rate, column in zip(columns, self._rates(), self.columns, strict=True):
            missing = _is_missing(values)
            if rate > 0.0 and missing.any():
                d[missing] *= _self_mean(column, rate)
        return torch.from_numpy(d)

    def _split(self, X: Any) -> list[np.ndarray]:
        """Columns: float arrays, or object arrays of texts."""
        rows = self.read(X)
        self._rates()
        self._check_width(rows)
        out = []
        for j, (values, column) in enumerate(zip(zip(*rows, strict=True), self.columns, strict=True)):
            empty = all(value is None or value != value for value in values)
            is_text = any(isinstance(value, str) for value in values)
            known = column["kind"]
            if not empty and known != "empty" and is_text != (known == "category"):
                raise InputError(
                    f"X must hold {'texts' if known == 'category' else 'numbers'} in column {j}, as MixedTable was "
                    f"fitted on; got {'texts' if is_text else 'numbers'}"
                )
            if known == "category" or (known == "empty" and is_text):
                texts = [value if isinstance(value, str) else None for value in values]
                out.append(np.array([*texts, None], dtype=object)[:-1])
            else:
                out.append(np.array(values, dtype=np.float64))
        return out


def _describe(values: tuple[Any, ...], w: np.ndarray) -> dict[str, Any]:
    """Kind, scale, and the known values of a training column with their weights."""
    if any(isinstance(value, str) for value in values):
        known = np.array([value is not None for value in values])
        levels, index = np.unique(np.array([value for value in values if value is not None]), return_inverse=True)
        p = np.bincount(index, weights=w[known]) / w[known].sum()
        return {"kind": "category", "scale": _spread(1.0 - float(p @ p)), "values": levels.astype(object), "shares": p}
    x = np.array(values, dtype=np.float64)
    known = ~np.isnan(x)
    if not known.any():
        return {"kind": "empty", "scale": 0.0, "values": x[known], "shares": x[known]}
    points, index = np.unique(x[known], return_inverse=True)
    p = np.bincount(index, weights=w[known]) / w[known].sum()
    center = float(p @ points)
    scale = 2.0 * float(p @ (points - center) ** 2)
    if not math.isfinite(scale):
        raise InputError("MixedTable reads numbers whose squares are finite; rescale the columns")
    return {"kind": "number", "scale": _spread(scale) if len(points) > 1 else 0.0, "values": points, "shares": p}


def _spread(value: float) -> float:
    """Return zero for a scale within rounding errors: the column is constant."""
    return value if value > 1e-15 else 0.0


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values)


def _known_distances(left: list[np.ndarray], right: list[np.ndarray], rates: list[float], columns: Any) -> np.ndarray:
    """``sum_j rate_j delta_j`` over the columns that both rows know, shape (n, m)."""
    n, m = len(left[0]), len(right[0])
    D = np.zeros((n, m))
    for a, b, rate, column in zip(left, right, rates, columns, strict=True):
        if rate == 0.0:
            continue
        known, known_right = ~_is_missing(a), ~_is_missing(b)
        if column["kind"] == "category":
            levels = {value: i for i, value in enumerate(dict.fromkeys([*a[known], *b[known_right]]))}
            code, other = (np.array([levels.get(v, -1) for v in values]) for values in (a, b))
            part = (code[:, None] != other[None, :]) * rate
        else:
            part = (np.where(known, a, 0.0)[:, None] - np.where(known_right, b, 0.0)[None, :]) ** 2 * rate
        D += part if known.all() and known_right.all() else part * (known[:, None] & known_right[None, :])
    return D


def _means(values: np.ndarray, column: dict[str, Any], rate: float) -> np.ndarray:
    """``mean_z k(x, z)`` over the known training values, one for each ``x``; one where ``x`` is missing."""
    known = ~_is_missing(values)
    out = np.ones(len(values))
    out[known] = _column_kernel(values[known], column["values"], column["kind"], rate) @ column["shares"]
    return out


def _self_mean(column: dict[str, Any], rate: float) -> float:
    """``mean_{z, z'} k(z, z')`` over the known training values."""
    p, points = column["shares"], column["values"]
    step = max(1, (1 << 22) // len(points))
    parts = [
        p[i : i + step] @ (_column_kernel(points[i : i + step], points, column["kind"], rate) @ p)
        for i in range(0, len(points), step)
    ]
    return float(sum(parts))


def _column_kernel(x: np.ndarray, z: np.ndarray, kind: str, rate: float) -> np.ndarray:
    if kind == "category":
        return np.where(x[:, None] == z[None, :], 1.0, math.exp(-rate))
    return np.exp(-rate * (x[:, None] - z[None, :]) ** 2)
