"""Kernels of time series of different lengths: global alignment and dynamic time warping."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_count, check_number
from rkhs._core.errors import InputError
from rkhs.kernels.objects.series import SeriesKernel

_NUMBERS = 200_000  # points of the pairs of a batch, so that it stays in the cache
_SAMPLE = 2000  # points for a median of distances


class _Aligned(SeriesKernel):
    """Kernels computed by dynamic programming over pairs of series, many pairs at once."""

    window: int | None

    def _check(self) -> None:
        if not isinstance(self.gamma, str) or self.gamma != "median":
            check_number(self.gamma, f"{self._name}.gamma", above=0.0, names=("median",))
        if self.window is not None:
            check_count(self.window, f"{self._name}.window", at_least=0)

    @abstractmethod
    def _step(self, cost: Tensor, left: Tensor, up: Tensor, corner: Tensor) -> Tensor:
        """Values of an antidiagonal of cells from the squared distances there and the three neighbours."""

    _outside: float

    def _raw(self, F: list[np.ndarray], G: list[np.ndarray], pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Last cell of the dynamic-programming table of every pair."""
        self._match(F, G)
        left, right = pairs
        lengths = np.array([len(F[i]) for i in left]), np.array([len(G[j]) for j in right])
        values = np.empty(len(left))
        order = np.lexsort((lengths[1], lengths[0]))  # pairs of like size share a batch
        start = 0
        while start < len(order):
            longest = int(lengths[0][order[start:]].max() + lengths[1][order[start:]].max())
            count = max(1, _NUMBERS // longest)
            batch = order[start : start + count]
            values[batch] = self._table([F[i] for i in left[batch]], [G[j] for j in right[batch]])
            start += count
        return values

    def _match(self, F: list[np.ndarray], G: list[np.ndarray]) -> None:
        if F[0].shape[1] != G[0].shape[1]:
            raise InputError(
                f"{self._name} reads series that all have the same number of channels; got {F[0].shape[1]} "
                f"and {G[0].shape[1]}"
            )

    def _table(self, A: list[np.ndarray], B: list[np.ndarray]) -> np.ndarray:
        """Dynamic programming along antidiagonals, all pairs of a batch together: memory is linear in the lengths."""
        X, n = _padded(A)
        Y, m = _padded(B)
        Y = Y.flip(1)  # the points of an antidiagonal are then slices of both
        rows, columns, size = X.shape[1], Y.shape[1], X.shape[2]
        reach = rows + columns if self.window is None else self.window
        # Entry i of a diagonal is the cell (i, diagonal - i); entry 0 and the ends lie outside.
        old = X.new_full((rows + 2, size), self._outside)
        new = old.clone()
        old[0] = 0.0
        result, last = X.new_full((size,), self._outside), n + m
        ends = set(last.tolist())
        for diagonal in range(2, rows + columns + 1):
            low = max(1, diagonal - columns, -((reach - diagonal) // 2))
            high = min(rows, diagonal - 1, (diagonal + reach) // 2)
            if low > high:
                old.fill_(self._outside)
            else:
                first = columns - diagonal + low
                cost = X.new_zeros(high - low + 1, size)
                for x, y in zip(X, Y, strict=True):
                    gap = x[low - 1 : high] - y[first : first + high - low + 1]
                    cost.addcmul_(gap, gap)
                cells = self._step(cost, new[low : high + 1], new[low - 1 : high], old[low - 1 : high])
                old[low : high + 1] = cells
                old[low - 1] = old[high + 1] = self._outside  # cells off the band that the next two diagonals read
            old, new = new, old
            if diagonal in ends:
                done = (last == diagonal) & (n >= low) & (n <= high)
                result[done] = new[n[done], done]
        return result.numpy()

    def _pairs(self, F: list[np.ndarray], G: list[np.ndarray]) -> np.ndarray:
        """Last cells of all pairs, shape (n, m); half of them for one list."""
        n, m = len(F), len(G)
        if F is not G:
            grid = np.indices((n, m)).reshape(2, -1)
            return self._raw(F, G, (grid[0], grid[1])).reshape(n, m)
        left, right = np.tril_indices(n)
        K = np.empty((n, n))
        K[left, right] = K[right, left] = self._raw(F, G, (left, right))
        return K

    def _selves(self, F: list[np.ndarray]) -> np.ndarray:
        every = np.arange(len(F))
        return self._raw(F, F, (every, every))

    def _diag(self, X: list[np.ndarray]) -> Tensor:
        return torch.ones(len(self._checked(X)), dtype=torch.float64)


def _padded(series: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Series of different lengths in one tensor, shape (channels, length, series), and their lengths."""
    lengths = torch.tensor([len(one) for one in series])
    X = np.zeros((series[0].shape[1], int(lengths.max()), len(series)))
    for i, one in enumerate(series):
        X[:, : len(one), i] = one.T
    return torch.from_numpy(X), lengths


def _median_square(series: list[np.ndarray]) -> float:
    """Median squared distance of points of all series; of evenly spaced ones if there are many."""
    points = np.concatenate(series)
    some = points[np.unique(np.linspace(0, len(points) - 1, _SAMPLE).astype(int))] if len(points) > _SAMPLE else points
    X = torch.from_numpy(np.ascontiguousarray(some))
    return float(torch.pdist(X).square_().median()) if len(X) > 1 else 0.0


class GlobalAlignment(_Aligned):
    """Global alignment kernel: the sum over all alignments of two series of the products of local similarities.

    ``k(x, y) = sum_pi prod_t kappa(x_{pi_1(t)}, y_{pi_2(t)})`` with ``kappa = e / (2 - e)``,
    ``e = exp(-gamma ||x_i - y_j||^2)``, divided by ``sqrt(k(x, x) k(y, y))``. It is positive semi-definite, and unlike
    the distance of the best alignment takes all of them into account.

    Parameters
    ----------
    gamma : float or "median", default="median"
        Of the local similarity, > 0. ``"median"``: ``1 / (2 l med)`` with l the median length and med the median
        squared distance of points.
    window : int, default=None
        Largest distance in time of aligned points, >= 0; None: any. Alignments are then fewer, the kernel is still a
        similarity but no longer proven positive semi-definite: estimators check it.

    Raises
    ------
    InputError
        For parameters out of range, series that are not finite or differ in channels, and lengths that no alignment
        within the window joins.

    Notes
    -----
    Items are arrays of shape (length,) or (length, channels), of any lengths. The table of a pair is computed in
    logarithms, so that nothing overflows: O(length^2 (channels + 20)) per pair, thousands of pairs at once.

    References
    ----------
    Cuturi, Vert, Birkenes and Matsui (2007); Cuturi (2011), theorem 1 for positive definiteness, section 5 for gamma.

    Examples
    --------
    >>> from rkhs.kernels import GlobalAlignment
    >>> GlobalAlignment(0.5)([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [2.0, 0.0]]).round(3)
    array([[1.   , 0.711, 0.005],
           [0.711, 1.   , 0.001],
           [0.005, 0.001, 1.   ]])
    """

    _outside = float("-inf")

    def __init__(self, gamma: Any = "median", window: int | None = None) -> None:
        self.gamma = gamma
        self.window = window

    @property
    def known_psd(self) -> bool:
        """True without a window."""
        return self.window is None

    def resolve(self, X: Any, weights: Tensor | None = None) -> GlobalAlignment:
        """Check the parameters and turn ``"median"`` into a number; weights do not matter."""
        self._check()
        if self.gamma != "median":
            return self
        length = float(np.median([len(one) for one in X]))
        middle = _median_square(self._checked(list(X)))
        return GlobalAlignment(1.0 / (2.0 * length * middle) if middle > 0.0 else 1.0, self.window)

    def _step(self, cost: Tensor, left: Tensor, up: Tensor, corner: Tensor) -> Tensor:
        local = cost.mul_(-float(self.gamma))
        top = torch.maximum(torch.maximum(left, up), corner).clamp_min_(-1e300)  # -inf - (-inf) is NaN
        total = (left - top).exp_().add_((up - top).exp_()).add_((corner - top).exp_())
        return total.div_(local.exp().neg_().add_(2.0)).log_().add_(local).add_(top)

    def _from_features(self, F: list[np.ndarray], G: list[np.ndarray]) -> Tensor:
        logs = self._pairs(F, G)
        rows = np.diag(logs) if F is G else self._selves(F)
        columns = rows if F is G else self._selves(G)
        if not np.isfinite(logs).all():
            i, j = (int(v) for v in np.argwhere(~np.isfinite(logs))[0])
            raise InputError(
                f"GlobalAlignment.window must leave an alignment: series of lengths {len(F[i])} and {len(G[j])} have "
                f"none within {self.window}. Raise it to their difference at least, or pass None"
            )
        K = np.exp(logs - rows[:, None] / 2.0 - columns / 2.0)
        if F is G:
            np.fill_diagonal(K, 1.0)
        return torch.from_numpy(K)


class DynamicTimeWarping(_Aligned):
    """Gaussian of the dynamic time warping distance, ``k(x, y) = exp(-gamma dtw(x, y)^2)``.

    ``dtw(x, y)^2`` is the least sum of squared distances of aligned points over all alignments. The kernel is **not**
    positive semi-definite in general: estimators set the negative eigenvalues of the training Gram matrix to zero and
    report their relative size in a warning.

    Parameters
    ----------
    gamma : float or "median", default="median"
        > 0. ``"median"``: one over the median of ``dtw^2`` over pairs of training series.
    window : int, default=None
        Largest distance in time of aligned points (Sakoe-Chiba band), >= 0; None: any.

    Notes
    -----
    Items are those of :class:`GlobalAlignment`. O(length^2 (channels + 4)) per pair.

    References
    ----------
    Sakoe and Chiba (1978); Bahlmann, Haasdonk and Burkhardt (2002) for the kernel; Cuturi (2011), section 2, for its
    indefiniteness.

    Examples
    --------
    >>> from rkhs.kernels import DynamicTimeWarping
    >>> DynamicTimeWarping(0.5)([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [1.0, 2.0]]).round(2)
    array([[1.  , 1.  , 0.61],
           [1.  , 1.  , 0.37],
           [0.61, 0.37, 1.  ]])
    """

    _outside = float("inf")

    def __init__(self, gamma: Any = "median", window: int | None = None) -> None:
        self.gamma = gamma
        self.window = window

    @property
    def known_psd(self) -> bool:
        """False: the distance is not that of a Hilbert space."""
        return False

    def resolve(self, X: Any, weights: Tensor | None = None) -> DynamicTimeWarping:
        """Check the parameters and turn ``"median"`` into a number; weights do not matter."""
        self._check()
        if self.gamma != "median":
            return self
        series = self._checked(list(X))
        if len(series) < 2:
            return DynamicTimeWarping(1.0, self.window)
        some = np.unique(np.linspace(0, len(series) - 1, 100).astype(int))
        left, right = np.tril_indices(len(some), -1)
        middle = float(np.median(self._aligned(self._raw(series, series, (some[left], some[right])), series, series)))
        return DynamicTimeWarping(1.0 / middle if middle > 0.0 else 1.0, self.window)

    def _step(self, cost: Tensor, left: Tensor, up: Tensor, corner: Tensor) -> Tensor:
        return torch.minimum(torch.minimum(left, up), corner).add_(cost)

    def _aligned(self, squares: np.ndarray, F: list[np.ndarray], G: list[np.ndarray]) -> np.ndarray:
        if not np.isfinite(squares).all():
            longest = max(len(one) for one in [*F, *G]) - min(len(one) for one in [*F, *G])
            raise InputError(
                f"DynamicTimeWarping.window must be at least the largest difference of lengths, {longest}; got "
                f"{self.window}. Raise it, or pass None"
            )
        return squares

    def _from_features(self, F: list[np.ndarray], G: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.exp(-float(self.gamma) * self._aligned(self._pairs(F, G), F, G)))
