"""Time series: kernels of alignments, and of all shifts; one or several channels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_choice, check_count, check_number
from rkhs._core.errors import InputError
from rkhs.kernels.parts import ObjectKernel

__all__ = ["DynamicTimeWarping", "GlobalAlignment", "ShiftInvariant"]

_NUMBERS = 200_000  # points of the pairs of a batch: what is worked on stays in the cache
_SHIFTS = 4_000_000  # entries of the shifted pairs of a batch
_SAMPLE = 2000  # points for a median of distances


def read_series(item: Any, row: int, reader: str) -> np.ndarray:
    """One series as a float64 array of shape (length, channels).

    Parameters
    ----------
    item : array of shape (length,) or (length, channels)
    row : int
        Which item it is, for messages.
    reader : str
        Who reads, for messages.

    Raises
    ------
    InputError
        For anything but finite numbers of such a shape, without any time or channel.
    """
    try:
        array = np.asarray(item.detach().cpu() if isinstance(item, Tensor) else item)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{reader} reads series of numbers; item {row} is none ({error})") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.size == 0:
        raise InputError(
            f"{reader} reads series of shape (length, channels) or (length,), not empty; item {row} has shape "
            f"{array.shape}"
        )
    if not np.isfinite(values).all():
        when = int((~np.isfinite(values)).any(1).argmax())
        raise InputError(
            f"{reader} reads finite numbers; item {row} has NaN or infinity at time {when}. Fill gaps, and cut the "
            "padding of shorter series off: lengths may differ"
        )
    return np.ascontiguousarray(values)


class _SeriesKernel(ObjectKernel):
    """What the kernels of series share: reading, and that all series have as many channels."""

    gamma: Any

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _read_item(self, item: Any, row: int) -> np.ndarray:
        return read_series(item, row, self._name)

    def _checked(self, series: list[np.ndarray]) -> list[np.ndarray]:
        channels = series[0].shape[1]
        for row, one in enumerate(series):
            if one.shape[1] != channels:
                raise InputError(
                    f"{self._name} reads series with as many channels; item 0 has {channels}, item {row} has "
                    f"{one.shape[1]}. Series are arrays of shape (length, channels)"
                )
        return series

    def _features(self, items: list[np.ndarray]) -> Any:
        return self._checked(items)


class _Aligned(_SeriesKernel):
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
        """Last cell of the table of every pair."""
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
                f"{self._name} reads series with as many channels; got {F[0].shape[1]} and {G[0].shape[1]}"
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
                old[low - 1] = old[high + 1] = self._outside  # all that the next two diagonals read beside the cells
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
    """Median squared distance of points of all series; an even choice of them if there are many."""
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
    logarithms, so that nothing overflows: O(length^2 (channels + 20)) a pair, thousands of pairs at once.

    References
    ----------
    Cuturi, Vert, Birkenes and Matsui (2007); Cuturi (2011), theorem 1 for positive definiteness, section 5 for gamma.

    Examples
    --------
    >>> from rkhs.kernels import GlobalAlignment
    >>> GlobalAlignment(0.5)([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [2.0, 0.0]]).round(2)
    array([[1.  , 0.96, 0.21],
           [0.96, 1.  , 0.2 ],
           [0.21, 0.2 , 1.  ]])
    """

    _outside = float("-inf")

    def __init__(self, gamma: Any = "median", window: int | None = None) -> None:
        self.gamma = gamma
        self.window = window

    @property
    def known_psd(self) -> bool:
        """Without a window."""
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
        top = torch.maximum(torch.maximum(left, up), corner).clamp_min_(-1e300)  # -inf - (-inf) is no number
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
    report their relative size in a warning, or refuse (``psd="raise"``).

    Parameters
    ----------
    gamma : float or "median", default="median"
        > 0. ``"median"``: one over the median of ``dtw^2`` over pairs of training series.
    window : int, default=None
        Largest distance in time of aligned points (Sakoe-Chiba band), >= 0; None: any.

    Raises
    ------
    InputError
        For parameters out of range, series that are not finite or differ in channels, and lengths that no alignment
        within the window joins.

    Notes
    -----
    Items are arrays of shape (length,) or (length, channels), of any lengths. O(length^2 (channels + 4)) a pair,
    thousands of pairs at once.

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
        middle = float(np.median(self._joined(self._raw(series, series, (some[left], some[right])), series, series)))
        return DynamicTimeWarping(1.0 / middle if middle > 0.0 else 1.0, self.window)

    def _step(self, cost: Tensor, left: Tensor, up: Tensor, corner: Tensor) -> Tensor:
        return torch.minimum(torch.minimum(left, up), corner).add_(cost)

    def _joined(self, squares: np.ndarray, F: list[np.ndarray], G: list[np.ndarray]) -> np.ndarray:
        if not np.isfinite(squares).all():
            longest = max(len(one) for one in [*F, *G]) - min(len(one) for one in [*F, *G])
            raise InputError(
                f"DynamicTimeWarping.window must be at least the largest difference of lengths, {longest}; got "
                f"{self.window}. Raise it, or pass None"
            )
        return squares

    def _from_features(self, F: list[np.ndarray], G: list[np.ndarray]) -> Tensor:
        K = np.exp(-float(self.gamma) * self._joined(self._pairs(F, G), F, G))
        return torch.from_numpy(K)


class ShiftInvariant(_SeriesKernel):
    """Kernel of series that does not see when something happens: the sum over all shifts of a Gaussian of directions.

    ``k(x, y) = sum_s exp(gamma (c_s(x, y) - 1))`` with ``c_s(x, y) = <x, y shifted by s> / (||x|| ||y||)``, over all
    shifts with zeros around the series, divided by ``sqrt(k(x, x) k(y, y))``. A sum over a group of shifts of a kernel
    that all shifts leave alone, so positive semi-definite.

    Parameters
    ----------
    gamma : float, default=5.0
        > 0; the larger, the more the best shift decides.
    center : {"mean", "none"}, default="mean"
        Subtract from every channel of a series its mean first, since zeros stand around it.

    Raises
    ------
    InputError
        For parameters out of range, series of different lengths or channels, and series that are constant.

    Notes
    -----
    Items are arrays of shape (length,) or (length, channels), of one length. O(length log length) a pair by fast
    Fourier transforms.

    References
    ----------
    Haasdonk and Burkhardt (2007), invariant kernels; Paparrizos and Franklin (2019), section 4, for series.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import ShiftInvariant
    >>> bump = np.array([0.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> bool(ShiftInvariant()([bump, np.roll(bump, 3)])[0, 1] > 0.95)
    True
    """

    def __init__(self, gamma: float = 5.0, center: str = "mean") -> None:
        self.gamma = gamma
        self.center = center

    def resolve(self, X: Any, weights: Tensor | None = None) -> ShiftInvariant:
        """Check the parameters; nothing depends on data."""
        check_number(self.gamma, "ShiftInvariant.gamma", above=0.0)
        check_choice(self.center, "ShiftInvariant.center", ("mean", "none"))
        return self

    def _features(self, items: list[np.ndarray]) -> tuple[Tensor, Tensor, int]:
        """Transforms of the series, their kernel values with themselves, and their length."""
        self._checked(items)
        length = len(items[0])
        for row, one in enumerate(items):
            if len(one) != length:
                raise InputError(
                    f"ShiftInvariant reads series of one length; item 0 has {length}, item {row} has {len(one)}. "
                    "GlobalAlignment takes different lengths"
                )
        X = torch.from_numpy(np.stack(items))
        size = X.abs().amax((1, 2), keepdim=True)
        if self.center == "mean":
            X = X - X.mean(1, keepdim=True)
        norms = torch.linalg.vector_norm(X, dim=(1, 2))
        flat = norms <= 1e-13 * size[:, 0, 0] * length**0.5
        if bool(flat.any()):
            raise InputError(
                f"ShiftInvariant reads series that vary; item {int(flat.nonzero()[0])} is constant. Leave it out"
            )
        T = torch.fft.rfft(X / norms[:, None, None], n=2 * length, dim=1)
        return T, torch.cat([self._sums(T[i : i + 1], T[i : i + 1], length)[0] for i in range(len(T))]), length

    def _sums(self, T: Tensor, R: Tensor, length: int) -> Tensor:
        """Sum over shifts for all pairs, shape (n, m)."""
        K = torch.empty(len(T), len(R), dtype=torch.float64)
        step = max(1, _SHIFTS // max(1, len(R) * 2 * length * T.shape[2]))
        for start in range(0, len(T), step):
            products = (T[start : start + step, None] * R[None].conj()).sum(-1)
            shifts = torch.fft.irfft(products, n=2 * length, dim=2)
            K[start : start + step] = torch.exp(shifts.sub_(1.0).mul_(float(self.gamma))).sum(2)
        return K

    def _from_features(self, F: tuple[Tensor, Tensor, int], G: tuple[Tensor, Tensor, int]) -> Tensor:
        if F[2] != G[2] or F[0].shape[2] != G[0].shape[2]:
            raise InputError(
                f"ShiftInvariant reads series of one length and as many channels; got lengths {F[2]} and {G[2]}, "
                f"channels {F[0].shape[2]} and {G[0].shape[2]}"
            )
        K = self._sums(F[0], G[0], F[2]) / (F[1].sqrt()[:, None] * G[1].sqrt())
        if F is G:
            K = ((K + K.mT) / 2.0).fill_diagonal_(1.0)
        return K

    def _diag(self, X: list[np.ndarray]) -> Tensor:
        return torch.ones(len(X), dtype=torch.float64)
