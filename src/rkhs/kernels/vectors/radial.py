"""Kernels of the distance, ``k(x, y) = f(||x - y||^2)``: base classes, Gaussian, Matern, Laplacian, mixtures.

The data are centred before the expanded square ``||x||^2 + ||y||^2 - 2 x.y``: without it float32 loses every digit at
an offset of 1000.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, column_means, symmetric_rows
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.distances import (
    TILE,
    SymmetricTiles,
    blocks,
    cancels,
    height,
    new_matrix,
    plain_squared_distances,
    rounding,
    squared_distances,
    strips,
    upper_distances,
)
from rkhs.kernels.vectors.stationary import Stationary

LOG2E = math.log2(math.e)
_MAX_POINTS = 2048  # up to which derivatives are stored with the Gram matrix


def flat_where_infinite(slope: Tensor) -> Tensor:
    """Set ``-inf`` to zero: the derivative of a kernel of the distance (not squared) at two equal points."""
    return torch.threshold_(slope, -torch.finfo(slope.dtype).max, 0.0)


def _distances(A: Tensor, norms: Tensor, tiles: SymmetricTiles) -> Iterator[tuple[slice, slice, Tensor]]:
    """Squared distances of centred rows, tile by tile."""
    lowered = norms - rounding(norms)
    for near, far, out in tiles:
        D = (
            torch.addmm(norms[None, far], A[near], A[far].mT, alpha=-2.0, out=out)
            .add_(lowered[near, None])
            .clamp_min_(0.0)
        )
        yield near, far, D.fill_diagonal_(0.0) if near == far else D


def _graph_laplacian(A: Tensor, halves: Iterable[tuple[slice, Tensor]]) -> Tensor:
    """``(diag(M 1) - M) A`` for a symmetric ``M`` given in blocks of rows, each from the diagonal to the right."""
    augmented = torch.cat([A, A.new_ones(A.shape[0], 1)], 1)  # the ones give the row sums along the way
    P = torch.zeros_like(augmented)
    for rows, M in halves:
        P[rows].addmm_(M, augmented[rows.start :])
        P[rows.stop :].addmm_(M[:, rows.stop - rows.start :].mT, augmented[rows])
    return (P[:, -1:] * A).sub_(P[:, :-1])


def _pair_laplacian(X: Tensor, Y: Tensor, M: Tensor, factor: float) -> tuple[Tensor, Tensor]:
    """``diag(M 1) X - M Y`` and ``diag(M^T 1) Y - M^T X``, times a factor, by two products."""
    center = column_means(Y)
    A, B = X - center, Y - center
    right = M @ torch.cat([B, B.new_ones(len(B), 1)], 1)
    left = M.mT @ torch.cat([A, A.new_ones(len(A), 1)], 1)
    return (right[:, -1:] * A - right[:, :-1]).mul_(factor), (left[:, -1:] * B - left[:, :-1]).mul_(factor)


class Radial(Stationary):
    """``k = f(D)`` with ``D`` the squared distance: profile and slope are all that differs between kernels.

    References
    ----------
    Scholkopf and Smola (2002), section 4.4.1.

    Examples
    --------
    >>> from rkhs.kernels import Gaussian, Matern, Radial
    >>> isinstance(Gaussian(1.0), Radial), isinstance(Matern(1.5), Radial)
    (True, True)
    >>> Gaussian(1.0)([[0.0, 0.0]], [[3.0, 4.0], [5.0, 0.0]]) == Gaussian(1.0)([[0.0, 0.0]], [[4.0, 3.0], [0.0, 5.0]])
    array([[ True,  True]])
    """

    @abstractmethod
    def _profile(self, D: Tensor) -> Tensor:
        """``f(D)``; may overwrite ``D``."""

    @abstractmethod
    def _slope(self, D: Tensor) -> Tensor:
        """``f'(D)``, zero at ``D = 0`` where it is infinite; may overwrite ``D``."""

    @property
    def radial(self) -> Radial | None:
        """Itself."""
        return self

    def from_distances(self, D: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from squared distances ``D`` of shape (n, m), which are overwritten."""
        return self._profile(D)

    def _profile_and_slope(self, D: Tensor) -> tuple[Tensor, Tensor]:
        return self._profile(D.clone()), self._slope(D.clone())

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        if Y is None:
            A = X - column_means(X)
            norms = (A * A).sum(1)
            if not self._cancels(norms):
                tiles = SymmetricTiles(len(A), A)
                for near, far, D in _distances(A, norms, tiles):
                    tiles.place(near, far, self._profile(D))
                return tiles.matrix
        return squared_distances(X, Y, self._gamma ** (2 / self._power), self._profile)

    def _cancels(self, norms: Tensor) -> bool:
        """Whether a product of rows with these squared norms loses digits of distances that matter."""
        return cancels(self._gamma ** (2 / self._power) * float(norms.max()), norms.dtype)

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        A = X - column_means(X)
        n, norms = len(A), (A * A).sum(1)
        if n > _MAX_POINTS or self._cancels(norms):
            return super().gram_and_pullback(X)
        slopes = A.new_empty(n, n)  # of the tiles on and above the diagonal: distances are computed once for both

        tiles = SymmetricTiles(n, A)
        for near, far, D in _distances(A, norms, tiles):
            profile, slopes[near, far] = self._profile_and_slope(D)
            tiles.place(near, far, profile)

        def pull(S: Tensor | Outer) -> Tensor:
            halves = (
                (rows, symmetric_rows(S, rows.start, rows.stop, rows.start).mul_(slopes[rows, rows.start :]))
                for rows in blocks(n, TILE if n <= TILE else height(A))  # of whole tiles, or within one
            )
            return _graph_laplacian(A, halves).mul_(2.0)

        return tiles.matrix, pull

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        A = X - column_means(X)
        halves = (
            (rows, self._slope(D).mul_(symmetric_rows(S, rows.start, rows.stop, rows.start)))
            for rows, D in upper_distances(A)
        )
        return _graph_laplacian(A, halves).mul_(2.0)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        return _pair_laplacian(X, Y, squared_distances(X, Y, of=self._slope).mul_(S), 2.0)

    def gram_and_slopes(self, X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """``k(X, Y)`` and ``f'`` there, for :meth:`pulled` and :meth:`jacobian_of`, each of shape (m, n)."""
        K, slopes = X.new_empty(2, len(X), len(Y))  # the alignment on which bitwise equal products depend
        for rows in blocks(len(X), max(height(X), TILE**2 // len(Y))):
            D = squared_distances(X[rows], Y, self._gamma ** (2 / self._power))
            K[rows], slopes[rows] = self._profile_and_slope(D)
        return K, slopes

    @staticmethod
    def pulled(X: Tensor, Y: Tensor, M: Tensor) -> Tensor:
        """Cross pull-back of ``S``, shape (m, d), from ``M``, the product of ``S`` and the slopes."""
        center = column_means(Y)
        return 2.0 * (M.sum(1, keepdim=True) * (X - center) - M @ (Y - center))

    @staticmethod
    def jacobian_of(X: Tensor, Y: Tensor, slopes: Tensor, C: Tensor) -> Tensor:
        """Derivatives of the rows of ``k(X, Y) C``, shape (m, d, r)."""
        center = column_means(Y)
        J = torch.stack([slopes @ (column[:, None] * C) for column in (Y - center).mT], 1)
        return torch.sub((X - center)[:, :, None] * (slopes @ C)[:, None, :], J, out=J).mul_(2.0)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self.pulled(X, Y, squared_distances(X, Y, of=self._slope).mul_(S))

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        return self.jacobian_of(X, Y, squared_distances(X, Y, of=self._slope), C)


class RadialDistance(Radial):
    """``k = f(r)`` with ``r`` the distance: several of them can share its square root."""

    @abstractmethod
    def _profile_at(self, r: Tensor) -> Tensor:
        """``f(r)``; may overwrite ``r``."""

    @abstractmethod
    def _both_at(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """``f(r)`` and ``f'(r) / (2 r)``, zero at ``r = 0`` where it is infinite; ``r`` is kept."""

    def _slope_at(self, r: Tensor) -> Tensor:
        return self._both_at(r)[1]

    def _profile(self, D: Tensor) -> Tensor:
        return self._profile_at(D.sqrt_())

    def _slope(self, D: Tensor) -> Tensor:
        return self._slope_at(D.sqrt_())

    def _profile_and_slope(self, D: Tensor) -> tuple[Tensor, Tensor]:
        return self._both_at(D.sqrt_())


class Gaussian(Radial):
    """Gaussian kernel ``k(x, y) = exp(-gamma ||x - y||^2)``, ``gamma = 1 / (2 sigma^2)``.

    Parameters
    ----------
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Inverse squared length. ``"median"``: one over the median squared distance of all ordered pairs (weighted by
        the sample weights if there are any); ``"scale"``: one over ``d`` times the mean variance of a column;
        ``"1/d"``: one over the number of columns; ``"4*median"``: four times the first, and so on.

    Notes
    -----
    One matrix product of augmented factors and one ``exp2`` in place: O(n m d). Its pull-back costs as much.

    References
    ----------
    Tonin et al. (2021), section 2; Laforgue et al. (2019), section 5.

    Examples
    --------
    >>> from rkhs.kernels import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    _power = 2

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        c = self._gamma * LOG2E
        center = column_means(X if Y is None else Y)
        A = X - center
        B = A if Y is None else Y - center
        a = (A * A).sum(1, keepdim=True).mul_(-c)
        b = a if Y is None else (B * B).sum(1, keepdim=True).mul_(-c)
        if cancels(-float(b.min()), A.dtype):
            return super()._gram(X, Y)
        ones_a, ones_b = torch.ones_like(a), torch.ones_like(b)
        left, right = torch.cat([A * (2.0 * c), a, ones_a], 1), torch.cat([B, ones_b, b], 1).mT.contiguous()

        # A small product makes the exponent 2c x.y - c|x|^2 - c|y|^2 and the kernel follows while the tile is cached.
        if Y is None:
            tiles = SymmetricTiles(len(A), A)
            for near, far, out in tiles:
                tiles.place(near, far, torch.mm(left[near], right[:, far], out=out).clamp_max_(0.0).exp2_())
            return tiles.matrix.fill_diagonal_(1.0)
        K = new_matrix(len(A), len(B), A)
        for rows, strip in strips(K):
            torch.mm(left[rows], right, out=strip).clamp_max_(0.0).exp2_()
        return K

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return torch.exp(-self._gamma * plain_squared_distances(X, Y))

    def _profile(self, D: Tensor) -> Tensor:
        return D.mul_(-self._gamma * LOG2E).exp2_()

    def _slope(self, D: Tensor) -> Tensor:
        return self._profile(D).mul_(-self._gamma)

    def _profile_and_slope(self, D: Tensor) -> tuple[Tensor, Tensor]:
        E = self._profile(D)
        return E, E * -self._gamma

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if K is None:
            return super()._pullback(X, S, None)
        A = X - column_means(X)
        halves = (
            (rows, symmetric_rows(S, rows.start, rows.stop, rows.start).mul_(K[rows, rows.start :]))
            for rows in blocks(A.shape[0], height(A))
        )
        return _graph_laplacian(A, halves).mul_(-2.0 * self._gamma)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        return _pair_laplacian(X, Y, S.mul_(self._gram(X, Y) if K is None else K), -2.0 * self._gamma)


def _plain_matern(D: Tensor, nu: float, gamma: float) -> Tensor:
    """Matern kernel at squared distances; to first order at zero, where their root has no derivative."""
    distinct = D > 0.0
    a = (2.0 * nu) ** 0.5 * gamma * torch.where(distinct, D, 1.0).sqrt()
    factor = {0.5: 1.0, 1.5: 1.0 + a, 2.5: 1.0 + a + a * a / 3.0}[nu]
    slope = {0.5: 0.0, 1.5: -1.5, 2.5: -5.0 / 6.0}[nu] * gamma**2
    return torch.where(distinct, factor * torch.exp(-a), 1.0 + slope * D)


class Matern(RadialDistance):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2.

    With ``a = sqrt(2 nu) gamma ||x - y||``: ``exp(-a)``, ``(1 + a) exp(-a)`` or ``(1 + a + a^2 / 3) exp(-a)``.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        One over the length scale; multiplies the distance. See :class:`Gaussian`, with the distance in place of its
        square.

    References
    ----------
    Rasmussen and Williams (2006), equation 4.14.

    Examples
    --------
    >>> from rkhs.kernels import Matern
    >>> float(Matern(nu=0.5, gamma=1.0)([[0.0]], [[1.0]])[0, 0])
    0.36787944117144233
    """

    def __init__(self, nu: float = 1.5, gamma: float | str = "median") -> None:
        self.nu = nu
        self.gamma = gamma

    def _check(self) -> None:
        if not isinstance(self.nu, float) or self.nu not in (0.5, 1.5, 2.5):
            raise InputError(f"Matern.nu must be 0.5, 1.5 or 2.5; got {self.nu!r}")

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return _plain_matern(plain_squared_distances(X, Y), self.nu, self._gamma)

    def _profile_at(self, r: Tensor) -> Tensor:
        a = r.mul_((2.0 * self.nu) ** 0.5 * self._gamma)
        E = (a * -LOG2E).exp2_()
        if self.nu == 0.5:
            return E
        if self.nu == 1.5:
            return a.add_(1.0).mul_(E)
        return (a * a).div_(3.0).add_(a).add_(1.0).mul_(E)

    def _both_at(self, r: Tensor) -> tuple[Tensor, Tensor]:
        g2 = self._gamma**2
        a = r * ((2.0 * self.nu * g2) ** 0.5)
        E = (a * -LOG2E).exp2_()
        if self.nu == 0.5:
            return E, flat_where_infinite((E * (-0.5 * g2)).div_(a))
        if self.nu == 1.5:
            return a.add_(1.0).mul_(E), E.mul_(-1.5 * g2)
        slope = (a + 1.0).mul_(E).mul_(-5.0 / 6.0 * g2)
        return (a * a).div_(3.0).add_(a).add_(1.0).mul_(E), slope


class Mixture(Radial):
    """Weighted sum ``k = sum_t w_t f_t(D)`` of resolved radial kernels, in one pass over the distances."""

    _power = 2

    def __init__(self, weights: Sequence[float], terms: Sequence[Radial]) -> None:
        self.weights = weights
        self.terms = terms
        plain = [term for term in terms if isinstance(term, RadialDistance)]
        self._of_distances = plain if len(plain) == len(terms) else []
        self.gamma = max(term._gamma ** (2 / term._power) for term in terms)  # of ``D``, for the test of cancellation

    def _profile(self, D: Tensor) -> Tensor:
        if self._of_distances:
            return _total(D.sqrt_(), self.weights, [term._profile_at for term in self._of_distances])
        return _total(D, self.weights, [term._profile for term in self.terms])

    def _slope(self, D: Tensor) -> Tensor:
        if self._of_distances:
            return _total(D.sqrt_(), self.weights, [term._slope_at for term in self._of_distances])
        return _total(D, self.weights, [term._slope for term in self.terms])

    def _profile_and_slope(self, D: Tensor) -> tuple[Tensor, Tensor]:
        both, r = [], D.sqrt_() if self._of_distances else D
        for i, term in enumerate(self.terms):
            both.append(self._of_distances[i]._both_at(r) if self._of_distances else term._profile_and_slope(r.clone()))
        profile, slope = (one.mul_(self.weights[0]) for one in both[0])
        for weight, (value, derivative) in zip(self.weights[1:], both[1:], strict=True):
            profile.add_(value, alpha=weight)
            slope.add_(derivative, alpha=weight)
        return profile, slope

    def _diag(self, X: Tensor) -> Tensor:
        return torch.full_like(X[:, 0], sum(self.weights))


def _total(D: Tensor, weights: Sequence[float], functions: list[Callable[[Tensor], Tensor]]) -> Tensor:
    """Weighted sum of the functions at ``D``; the last one may overwrite ``D``."""
    parts = []
    for function in functions[:-1]:
        parts.append(function(D.clone()))
    total = functions[-1](D).mul_(weights[-1])
    for weight, part in zip(weights, parts, strict=False):
        total.add_(part, alpha=weight)
    return total


class Laplacian(RadialDistance):
    """Laplacian kernel ``k(x, y) = exp(-gamma ||x - y||)`` with the L1 or the L2 norm.

    Parameters
    ----------
    norm : {"l1", "l2"}, default="l1"
        The distance; ``"l2"`` is the Matern kernel of smoothness 1/2.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Multiplies the distance.

    Notes
    -----
    The L1 distance has no matrix-product form: O(n m d) elementwise work in row blocks. At coincident points both
    gradients are set to zero.

    References
    ----------
    Esser et al. (2024), section 5 (norm not stated there; L1 as in ``sklearn.metrics.pairwise.laplacian_kernel``).

    Examples
    --------
    >>> from rkhs.kernels import Laplacian
    >>> float(Laplacian("l1", gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]])[0, 0])
    0.36787944117144233
    """

    def __init__(self, norm: str = "l1", gamma: float | str = "median") -> None:
        self.norm = norm
        self.gamma = gamma

    @property
    def rotation_invariant(self) -> bool:
        """True for the L2 norm."""
        return self.norm == "l2"

    @property
    def radial(self) -> Radial | None:
        """Itself, for the L2 norm."""
        return super().radial if self.norm == "l2" else None

    def _check(self) -> None:
        if not isinstance(self.norm, str) or self.norm not in ("l1", "l2"):
            raise InputError(f"Laplacian.norm must be 'l1' or 'l2'; got {self.norm!r}")

    def _distances(self, X: Tensor) -> Tensor:
        return torch.cdist(X, X, p=1.0) if self.norm == "l1" else super()._distances(X)

    def _median_distance(self, X: Tensor) -> float:
        return 0.0 if self.norm == "l1" else super()._median_distance(X)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        if self.norm == "l2":
            return super()._gram(X, Y)
        return torch.cdist(X, X if Y is None else Y, p=1.0).mul_(-self._gamma * LOG2E).exp2_()

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        if self.norm == "l2":
            return _plain_matern(plain_squared_distances(X, Y), 0.5, self._gamma)
        return torch.exp(-self._gamma * (X[:, None, :] - Y).abs().sum(-1))

    def from_distances(self, D: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from squared distances ``D`` of shape (n, m), or L1 distances, which are overwritten."""
        return self._profile_at(D) if self.norm == "l1" else super().from_distances(D, a, b)

    def _profile_at(self, r: Tensor) -> Tensor:
        return r.mul_(-self._gamma * LOG2E).exp2_()

    def _both_at(self, r: Tensor) -> tuple[Tensor, Tensor]:
        E = (r * (-self._gamma * LOG2E)).exp2_()
        return E, flat_where_infinite((E * (-0.5 * self._gamma)).div_(r))

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        return super().gram_and_pullback(X) if self.norm == "l2" else Kernel.gram_and_pullback(self, X)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if self.norm == "l2":
            return super()._pullback(X, S, K)
        G = torch.empty_like(X)
        for rows in blocks(len(X)):
            G[rows] = self._cross_pullback(X[rows], X, symmetric_rows(S, rows.start, rows.stop))
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        if self.norm == "l2":
            return super()._cross_pullback(X, Y, S)
        M = self._gram(X, Y).mul_(S)
        columns = [(torch.sign(X[:, j, None] - Y[None, :, j]) * M).sum(1) for j in range(X.shape[1])]
        return torch.stack(columns, 1).mul_(-self._gamma)

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        return super()._jacobian(X, Y, C) if self.norm == "l2" else Kernel._jacobian(self, X, Y, C)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        return super()._pair_pullback(X, Y, S, K) if self.norm == "l2" else Kernel._pair_pullback(self, X, Y, S, K)
