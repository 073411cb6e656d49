"""Radial kernels ``k(x, y) = f(||x - y||^2)`` and the L1 Laplacian.

All of them centre the data before the expanded square ``||x||^2 + ||y||^2 - 2 x.y``: without it float32 loses every
digit at an offset of 1000.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, symmetric_rows
from rkhs.kernels.base import VectorKernel

__all__ = ["Gaussian", "Laplacian", "Matern", "Stationary"]

_LOG2E = math.log2(math.e)
_ROWS = 256  # rows of a sweep: the block of n columns stays in the cache


def squared_distances(X: Tensor, Y: Tensor | None = None) -> Tensor:
    """Squared Euclidean distances by one matrix product on centred data, clamped at zero; shape (n, m)."""
    center = (X if Y is None else Y).mean(dim=0)
    A = X - center
    a = (A * A).sum(1)
    if Y is None:
        D = torch.addmm(a[None, :], A, A.mT, alpha=-2.0).add_(a[:, None]).clamp_min_(0.0)
        D.fill_diagonal_(0.0)
        return D
    B = Y - center
    return torch.addmm((B * B).sum(1)[None, :], A, B.mT, alpha=-2.0).add_(a[:, None]).clamp_min_(0.0)


def weighted_median(values: Tensor, weights: Tensor | None = None) -> float:
    """Median of all entries, weighted if weights of the same shape are given.

    The weighted median is the smallest value at which the cumulative weight reaches one half, averaged with the next
    value when it is reached exactly, so that integer weights and repeated entries give the same number.
    """
    flat = values.reshape(-1)
    if weights is None:
        n = flat.numel()
        lower = float(torch.kthvalue(flat, (n + 1) // 2).values)
        return lower if n % 2 else (lower + float(torch.kthvalue(flat, n // 2 + 1).values)) / 2
    order = torch.argsort(flat)
    ordered, w = flat[order], weights.reshape(-1)[order]
    kept = w > 0
    ordered, w = ordered[kept], w[kept]
    cumulative = torch.cumsum(w, 0) / w.sum()
    half = torch.tensor(0.5, dtype=cumulative.dtype, device=cumulative.device)
    slack = 1e-12
    lower = int(torch.searchsorted(cumulative, half - slack))
    upper = int(torch.searchsorted(cumulative, half + slack))
    last = len(ordered) - 1
    return float((ordered[min(lower, last)] + ordered[min(upper, last)]) / 2)


class Stationary(VectorKernel):
    """A kernel of the difference ``x - y`` with a bandwidth ``gamma`` that multiplies the distance.

    References
    ----------
    ``gamma="median"``: Gretton et al. (2012), section 8; ``gamma="scale"``: scikit-learn's support vector machines.
    """

    gamma: float | str

    @property
    def rotation_invariant(self) -> bool:
        """Whether the kernel reads Euclidean distances only."""
        return True

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """Turn ``"median"``, ``"scale"`` and ``"1/d"`` into a number.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        weights : Tensor of shape (n,), optional

        Returns
        -------
        Stationary
            The same kernel with a number for ``gamma``.

        Raises
        ------
        InputError
            If ``gamma`` is neither a positive number nor one of the three names.
        """
        name = f"{type(self).__name__}.gamma"
        gamma = self.gamma
        if isinstance(gamma, str):
            params = {**self.get_params(deep=False), "gamma": self._bandwidth(gamma, X, weights)}
            return type(self)(**params)
        check_number(gamma, name, above=0.0, names=("median", "scale", "1/d"))
        return self

    def _bandwidth(self, rule: str, X: Tensor, weights: Tensor | None) -> float:
        if rule == "1/d":
            return 1.0 / X.shape[1]
        if rule == "scale":
            w = X.new_full((X.shape[0],), 1.0 / X.shape[0]) if weights is None else weights
            centred = X - w @ X
            spread = float((w @ (centred * centred)).mean()) * X.shape[1]
            # The rule is for squared distances; kernels of the plain distance take its root.
            return 1.0 if spread <= 0.0 else spread ** (-0.5 * self._power)
        if rule == "median":
            median = weighted_median(self._distances(X), None if weights is None else torch.outer(weights, weights))
            if median <= 0.0:  # more than half of the pairs coincide: the mean still has a scale
                D = self._distances(X)
                median = float(D.mean() if weights is None else weights @ D @ weights)
            return 1.0 if median <= 0.0 else 1.0 / median
        raise InputError(f"{type(self).__name__}.gamma must be > 0 or one of 'median', 'scale', '1/d'; got {rule!r}")

    _power = 1
    """The distance that ``gamma`` multiplies is ``||x - y||^power``."""

    def _distances(self, X: Tensor) -> Tensor:
        D = squared_distances(X)
        return D if self._power == 2 else D.sqrt_()

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise InputError(f"{type(self).__name__}.gamma is {self.gamma!r}: call resolve(X) first")
        return float(self.gamma)

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_ones(X.shape[0])

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)


class _Radial(Stationary):
    """``k = f(D)`` with ``D`` the squared distance: profile and slope are all that differs between kernels."""

    @abstractmethod
    def _profile(self, D: Tensor) -> Tensor:
        """``f(D)``; may overwrite ``D``."""

    @abstractmethod
    def _slope(self, D: Tensor) -> Tensor:
        """``f'(D)``, zero at ``D = 0`` where it is infinite; may overwrite ``D``."""

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return self._profile(squared_distances(X, Y))

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        A = X - X.mean(dim=0)
        norms = (A * A).sum(1)
        G = torch.empty_like(A)
        for start in range(0, A.shape[0], _ROWS):
            stop = min(start + _ROWS, A.shape[0])
            D = (
                torch.addmm(norms[None, :], A[start:stop], A.mT, alpha=-2.0)
                .add_(norms[start:stop, None])
                .clamp_min_(0.0)
            )
            D[torch.arange(stop - start), torch.arange(start, stop)] = 0.0
            M = self._slope(D).mul_(symmetric_rows(S, start, stop))
            G[start:stop] = 2.0 * (M.sum(1, keepdim=True) * A[start:stop] - M @ A)
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        M = self._slope(squared_distances(X, Y)) * S
        center = Y.mean(dim=0)
        return 2.0 * (M.sum(1, keepdim=True) * (X - center) - M @ (Y - center))


class Gaussian(_Radial):
    """Gaussian kernel ``k(x, y) = exp(-gamma ||x - y||^2)``, ``gamma = 1 / (2 sigma^2)``.

    Parameters
    ----------
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Inverse squared length. ``"median"``: one over the median squared distance of all ordered pairs (weighted by
        the sample weights if there are any); ``"scale"``: one over ``d`` times the mean variance of a column;
        ``"1/d"``: one over the number of columns.

    Raises
    ------
    InputError
        At the first use, if ``gamma`` is not positive and finite.

    Notes
    -----
    One matrix product of augmented factors and one ``exp2`` in place: O(n m d). Its pull-back costs the same again.

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
        c = self._gamma * _LOG2E
        center = (X if Y is None else Y).mean(dim=0)
        A = X - center
        B = A if Y is None else Y - center
        a = (A * A).sum(1, keepdim=True).mul_(-c)
        b = a if Y is None else (B * B).sum(1, keepdim=True).mul_(-c)
        ones_a, ones_b = torch.ones_like(a), torch.ones_like(b)
        # One product makes the exponent 2c x.y - c|x|^2 - c|y|^2, one sweep in place the kernel.
        K = torch.cat([A * (2.0 * c), a, ones_a], 1) @ torch.cat([B, ones_b, b], 1).mT
        K.clamp_max_(0.0).exp2_()
        if Y is None:
            K.fill_diagonal_(1.0)
        return K

    def _profile(self, D: Tensor) -> Tensor:
        return D.mul_(-self._gamma * _LOG2E).exp2_()

    def _slope(self, D: Tensor) -> Tensor:
        return self._profile(D).mul_(-self._gamma)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if K is None:
            return super()._pullback(X, S, None)
        A = X - X.mean(dim=0)
        G = torch.empty_like(A)
        for start in range(0, A.shape[0], _ROWS):
            stop = min(start + _ROWS, A.shape[0])
            M = symmetric_rows(S, start, stop).mul_(K[start:stop])
            G[start:stop] = (M.sum(1, keepdim=True) * A[start:stop]).sub_(M @ A)
        return G.mul_(-2.0 * self._gamma)


class Matern(_Radial):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2.

    With ``a = sqrt(2 nu) gamma ||x - y||``: ``exp(-a)``, ``(1 + a) exp(-a)`` or ``(1 + a + a^2 / 3) exp(-a)``.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        One over the length scale; multiplies the distance. See :class:`Gaussian`, with the distance in place of its
        square.

    Raises
    ------
    InputError
        At the first use, if ``nu`` is another number or ``gamma`` is not positive and finite.

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

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """As :meth:`Stationary.resolve`, and checks ``nu``."""
        if self.nu not in (0.5, 1.5, 2.5):
            raise InputError(f"Matern.nu must be 0.5, 1.5 or 2.5; got {self.nu!r}")
        return super().resolve(X, weights)

    def _profile(self, D: Tensor) -> Tensor:
        a = D.mul_(2.0 * self.nu * self._gamma**2).sqrt_()
        E = (a * -_LOG2E).exp2_()
        if self.nu == 0.5:
            return E
        if self.nu == 1.5:
            return a.add_(1.0).mul_(E)
        return (a * a).div_(3.0).add_(a).add_(1.0).mul_(E)

    def _slope(self, D: Tensor) -> Tensor:
        g2 = self._gamma**2
        a = D.mul_(2.0 * self.nu * g2).sqrt_()
        E = (a * -_LOG2E).exp2_()
        if self.nu == 0.5:
            return torch.where(a > 0.0, E.mul_(-0.5 * g2) / a, torch.zeros_like(a))
        if self.nu == 1.5:
            return E.mul_(-1.5 * g2)
        return a.add_(1.0).mul_(E).mul_(-5.0 / 6.0 * g2)


class Laplacian(_Radial):
    """Laplacian kernel ``k(x, y) = exp(-gamma ||x - y||)`` with the L1 or the L2 norm.

    Parameters
    ----------
    norm : {"l1", "l2"}, default="l1"
        The distance; ``"l2"`` is the Matern kernel of smoothness 1/2.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Multiplies the distance.

    Raises
    ------
    InputError
        At the first use, if ``norm`` is unknown or ``gamma`` is not positive and finite.

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

    def resolve(self, X: Any, weights: Tensor | None = None) -> Stationary:
        """As :meth:`Stationary.resolve`, and checks ``norm``."""
        if self.norm not in ("l1", "l2"):
            raise InputError(f"Laplacian.norm must be 'l1' or 'l2'; got {self.norm!r}")
        return super().resolve(X, weights)

    def _distances(self, X: Tensor) -> Tensor:
        return torch.cdist(X, X, p=1.0) if self.norm == "l1" else super()._distances(X)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        if self.norm == "l2":
            return super()._gram(X, Y)
        return torch.cdist(X, X if Y is None else Y, p=1.0).mul_(-self._gamma * _LOG2E).exp2_()

    def _profile(self, D: Tensor) -> Tensor:
        return D.sqrt_().mul_(-self._gamma * _LOG2E).exp2_()

    def _slope(self, D: Tensor) -> Tensor:
        r = D.sqrt_()
        E = (r * (-self._gamma * _LOG2E)).exp2_()
        return torch.where(r > 0.0, E.mul_(-0.5 * self._gamma) / r, torch.zeros_like(r))

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if self.norm == "l2":
            return super()._pullback(X, S, K)
        G = torch.empty_like(X)
        for start in range(0, X.shape[0], _ROWS):
            stop = min(start + _ROWS, X.shape[0])
            G[start:stop] = self._cross_pullback(X[start:stop], X, symmetric_rows(S, start, stop))
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        if self.norm == "l2":
            return super()._cross_pullback(X, Y, S)
        M = self._gram(X, Y).mul_(S)
        columns = [(torch.sign(X[:, j, None] - Y[None, :, j]) * M).sum(1) for j in range(X.shape[1])]
        return torch.stack(columns, 1).mul_(-self._gamma)
