"""Kernels of curves sampled on a grid: integrals by quadrature."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, is_curves, read_curves, tensor_like
from rkhs._core.checks import check_choice, check_count, check_number, real_array
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels.base import Composite, VectorKernel
from rkhs.kernels.vectors.distances import median_bandwidth, squared_distances
from rkhs.kernels.vectors.radial import Gaussian

_BLOCK = 1 << 21  # entries of a block of differences


def quadrature_weights(times: Any, n_points: int, rule: str = "trapezoid") -> np.ndarray:
    """Weights ``w_t`` with ``integral x ~ sum_t w_t x(t)`` on a grid.

    Parameters
    ----------
    times : array of shape (T,) or None
        Strictly increasing; None: equally spaced on [0, 1].
    n_points : int
        ``T``.
    rule : {"trapezoid", "mean"}, default="trapezoid"
        ``"mean"``: every point ``1/T``, whatever the times.

    Returns
    -------
    ndarray of shape (T,)
        Sums to the length of the interval (``"mean"``: to one). A single point has weight one.

    Raises
    ------
    InputError
        For times of another length, not finite or not increasing.

    References
    ----------
    Ramsay and Silverman (2005), section 3.

    Examples
    --------
    >>> from rkhs.kernels import quadrature_weights
    >>> quadrature_weights([0.0, 0.5, 2.0], 3)
    array([0.25, 1.  , 0.75])
    """
    check_choice(rule, "rule", ("trapezoid", "mean"))
    check_count(n_points, "n_points")
    if rule == "mean" or n_points == 1:
        return np.full(n_points, 1.0 / n_points)
    t = np.linspace(0.0, 1.0, n_points) if times is None else real_array(as_numpy(times, "times"), "times")
    if t.shape != (n_points,) or not np.isfinite(t).all() or not (np.diff(t) > 0).all():
        raise InputError(
            f"times must be {n_points} finite, strictly increasing numbers, one per column of the curves; "
            f"got shape {t.shape}"
        )
    steps = np.diff(t)
    return 0.5 * (np.append(steps, 0.0) + np.append(0.0, steps))


class _Functional(VectorKernel):
    """A kernel of the pointwise differences of two curves on one grid."""

    def __init__(self, gamma: float | str = "median", times: Any = None, rule: str = "trapezoid") -> None:
        self.gamma = gamma
        self.times = times
        self.rule = rule

    def read(self, X: Any) -> Tensor:
        """Values of curves on the grid; curves that carry another grid are refused."""
        check_grid(self, X)
        return super().read(X)

    def resolve(self, X: Tensor, weights: Tensor | None = None) -> _Functional:
        """Turn ``"median"`` into a number and check the grid."""
        name = type(self).__name__
        self._weights(X)
        if isinstance(self.gamma, str) and self.gamma == "median":
            return type(self)(median_bandwidth(self._distances(X), weights), self.times, self.rule)
        check_number(self.gamma, f"{name}.gamma", above=0.0, names=("median",))
        return self

    def _weights(self, X: Tensor) -> Tensor:
        return tensor_like(quadrature_weights(self.times, X.shape[1], self.rule), X)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)

    @abstractmethod
    def _distances(self, X: Tensor) -> Tensor:
        """Distances that ``gamma`` multiplies, shape (n, n)."""


class FunctionalLaplacian(_Functional):
    """Mean of pointwise Laplacians, ``k(x, y) = integral exp(-gamma |x(t) - y(t)|) dt``.

    Two curves are alike in proportion to the time they spend close together, so a burst in one of them costs no more
    than its length.

    Parameters
    ----------
    gamma : float or "median", default="median"
        ``"median"``: one over the median over pairs of the mean absolute difference.
    times : array of shape (T,), default=None
        Strictly increasing times of the columns; None: equally spaced on [0, 1].
    rule : {"trapezoid", "mean"}, default="trapezoid"
        Quadrature; see :func:`quadrature_weights`.

    References
    ----------
    Laforgue et al. (2020), section 4.3, whose printed exponent lacks the minus sign.

    Examples
    --------
    >>> from rkhs.kernels import FunctionalLaplacian
    >>> FunctionalLaplacian(1.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        w, gamma = self._weights(X), float(self.gamma)
        return _by_blocks(X, X if Y is None else Y, lambda D: D.abs_().mul_(-gamma).exp_() @ w)

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return torch.exp(-float(self.gamma) * (X[:, None, :] - Y).abs()) @ self._weights(X)

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_full((X.shape[0],), float(self._weights(X).sum()))

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        w, gamma = self._weights(X), float(self.gamma)
        rows = max(1, _BLOCK // max(1, Y.numel()))
        parts = []
        for i in range(0, len(X), rows):
            D = X[i : i + rows, None, :] - Y[None, :, :]
            slope = torch.sign(D) * D.abs_().mul_(-gamma).exp_()  # zero where curves coincide
            parts.append(torch.einsum("ij,ijt->it", S[i : i + rows], slope).mul_(-gamma * w))
        return torch.cat(parts)

    def _distances(self, X: Tensor) -> Tensor:
        w = self._weights(X)
        return _by_blocks(X, X, lambda D: D.abs_() @ (w / w.sum()))


class FunctionalGaussian(_Functional):
    """Gaussian of the L2 distance of curves, ``k(x, y) = exp(-gamma integral (x(t) - y(t))^2 dt)``.

    Parameters
    ----------
    gamma : float or "median", default="median"
        ``"median"``: one over the median over pairs of the squared distance.
    times, rule : array of shape (T,) and {"trapezoid", "mean"}, default=None and "trapezoid"
        As in :class:`FunctionalLaplacian`.

    References
    ----------
    Kadri et al. (2016), section 5.

    Examples
    --------
    >>> from rkhs.kernels import FunctionalGaussian
    >>> FunctionalGaussian(1.0)([[0.0, 0.0], [2.0, 2.0]]).round(3)
    array([[1.   , 0.018],
           [0.018, 1.   ]])
    """

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        root, gamma = self._weights(X).sqrt(), float(self.gamma)
        return squared_distances(X * root, None if Y is None else Y * root, gamma).mul_(-gamma).exp_()

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        root = self._weights(X).sqrt()
        return Gaussian(float(self.gamma))._plain(X * root, Y * root)

    def _diag(self, X: Tensor) -> Tensor:
        return X.new_ones(X.shape[0])

    def _distances(self, X: Tensor) -> Tensor:
        return squared_distances(X * self._weights(X).sqrt())

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        root = self._weights(X).sqrt()
        return Gaussian(float(self.gamma))._pullback(X * root, S, K).mul_(root)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        root = self._weights(X).sqrt()
        return Gaussian(float(self.gamma))._cross_pullback(X * root, Y * root, S).mul_(root)


def _by_blocks(X: Tensor, Y: Tensor, reduce: Any) -> Tensor:
    """``reduce`` of all pointwise differences, shape (n, m), without holding more than a block of them."""
    rows = max(1, _BLOCK // max(1, Y.numel()))
    return torch.cat([reduce(X[i : i + rows, None, :] - Y[None, :, :]) for i in range(0, len(X), rows)])


def _functional_parts(kernel: Any) -> list[_Functional]:
    if isinstance(kernel, _Functional):
        return [kernel]
    inner = [term.kernel for term in getattr(kernel, "pairs", ())]
    inner += kernel.parts if isinstance(kernel, Composite) else ()
    return [part for term in inner for part in _functional_parts(term)]


def grid_weights(kernel: Any, n_points: int) -> np.ndarray | None:
    """Quadrature weights of the curves that a kernel reads, shape (T,); None if it reads plain vectors."""
    parts = _functional_parts(kernel)
    return quadrature_weights(parts[0].times, n_points, parts[0].rule) if parts else None


def on_grid(kernel: Any, X: Any) -> Any:
    """Return the kernel with the grid of the curves, if it has none."""
    if not is_curves(X):
        return kernel
    times = read_curves(X)[1]
    if isinstance(kernel, _Functional):
        return kernel if kernel.times is not None else type(kernel)(kernel.gamma, times, kernel.rule)
    return kernel.with_parts([on_grid(part, X) for part in kernel.parts]) if isinstance(kernel, Composite) else kernel


def check_grid(kernel: Any, X: Any) -> None:
    """Refuse curves on another grid than the kernel's."""
    if not is_curves(X):
        return
    n_times = len(read_curves(X)[1])
    for part in _functional_parts(kernel):
        grid = np.linspace(0.0, 1.0, n_times) if part.times is None else np.asarray(part.times, dtype=np.float64)
        check_times(X, grid, "X", type(part).__name__, ", or pass times=")


def check_times(X: Any, grid: np.ndarray, name: str, reader: str, more: str = "") -> None:
    """Refuse curves that carry other times than a grid."""
    if not is_curves(X):
        return
    times = read_curves(X, name)[1]
    if grid.shape != times.shape or not np.allclose(grid, times, rtol=1e-9, atol=1e-12 * np.ptp(times)):
        pairs = zip(grid, times, strict=False)
        example = next((f", such as {t:g} in place of {g:g}" for g, t in pairs if not np.isclose(g, t)), "")
        raise InputError(
            f"{name} must hold curves on the grid of {reader}, {len(grid)} times from {grid[0]:g} to {grid[-1]:g}; got "
            f"{len(times)} times from {times[0]:g} to {times[-1]:g}{example}. Resample the curves{more}"
        )
