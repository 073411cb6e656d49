"""Kernels of the inner product: linear and polynomial."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_number, real_array
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, symmetric_rows
from rkhs.kernels.base import VectorKernel
from rkhs.kernels.vectors.distances import TILE, blocks, height

_LARGEST_DEGREE = 10**9  # beyond, powers do not fit into machine integers


class DotProduct(VectorKernel):
    """A kernel ``k(x, y) = f(x^T y)`` of the inner product.

    References
    ----------
    Scholkopf and Smola (2002), section 4.6.

    Examples
    --------
    >>> from rkhs.kernels import DotProduct, Gaussian, Polynomial
    >>> isinstance(Polynomial(degree=2), DotProduct), isinstance(Gaussian(1.0), DotProduct)
    (True, False)
    >>> Polynomial(degree=2, scale=1.0, offset=0.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[121.]])
    """

    @property
    def rotation_invariant(self) -> bool:
        """Inner products are invariant."""
        return True

    scale: float | str

    @property
    def _scale(self) -> float:
        if isinstance(self.scale, str):
            raise InputError(f"{type(self).__name__}.scale is {self.scale!r}: call resolve(X) first")
        return float(self.scale)

    @abstractmethod
    def _value(self, P: Tensor) -> Tensor:
        """``f`` at the inner products ``P``; may overwrite them."""

    @abstractmethod
    def _slope(self, P: Tensor) -> Tensor:
        """``f'`` at the inner products ``P``; may overwrite them."""

    def from_products(self, P: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from inner products ``P`` of shape (n, m), which are overwritten, and squared norms ``a``, ``b``."""
        return self._value(P)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return self._value(X @ (X if Y is None else Y).mT)

    def _diag(self, X: Tensor) -> Tensor:
        return self._value((X * X).sum(1))

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return self._value(X.mm(Y.T))  # after ``@`` a graph of ONNX would round numbers to float32

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        G = torch.empty_like(X)
        for rows in blocks(len(X), height(X, TILE)):
            G[rows] = self._slope(X[rows] @ X.mT).mul_(symmetric_rows(S, rows.start, rows.stop)) @ X
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return (self._slope(X @ Y.mT) * S) @ Y

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        slopes = self._slope(X @ Y.mT)
        return torch.stack([slopes @ (column[:, None] * C) for column in Y.mT], 1)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return 2.0 * (self._slope((X * X).sum(1)) * s)[:, None] * X


class Linear(DotProduct):
    """Linear kernel ``k(x, y) = scale (x - offset)^T (y - offset)``.

    Parameters
    ----------
    scale : float or "mean_norm", default=1.0
        Positive factor; ``"mean_norm"``: one over the mean of ``||x - offset||^2`` on the training points.
    offset : array of shape (d,), "mean" or None, default=None
        Origin; ``"mean"``: the mean of the training points; None: zero, the textbook kernel.

    Examples
    --------
    >>> from rkhs.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])

    References
    ----------
    Laforgue et al. (2019), section 3.2; Esser et al. (2024), section 5.
    """

    def __init__(self, scale: float | str = 1.0, offset: Any = None) -> None:
        self.scale = scale
        self.offset = offset

    @property
    def rotation_invariant(self) -> bool:
        """True without an offset."""
        return self.offset is None

    def resolve(self, X: Any, weights: Tensor | None = None) -> Linear:
        """Turn ``"mean_norm"`` and ``"mean"`` into numbers; see :class:`Linear`."""
        offset, scale = self.offset, self.scale
        w = X.new_full((X.shape[0],), 1.0 / X.shape[0]) if weights is None else weights
        if isinstance(offset, str):
            if offset != "mean":
                raise InputError(f"Linear.offset must be None, 'mean' or an array of shape (d,); got {offset!r}")
            offset = (w @ X).cpu().numpy()
        if isinstance(scale, str):
            if scale != "mean_norm":
                raise InputError(f"Linear.scale must be > 0 or 'mean_norm'; got {scale!r}")
            centred = self._shift(X, offset)
            norm = float(w @ (centred * centred).sum(1))
            if norm != 0.0 and not 1e-300 < norm < 1e300:
                raise InputError(
                    f"Linear.scale='mean_norm' needs data with finite squares; got a mean squared norm of {norm:g}. "
                    "Rescale the data"
                )
            scale = 1.0 / norm if norm > 0.0 else 1.0
        check_number(scale, "Linear.scale", above=0.0, names=("mean_norm",))
        if offset is not None and not np.isfinite(real_array(offset, "Linear.offset")).all():
            raise InputError("Linear.offset must be finite; got NaN or infinity")
        return self if scale is self.scale and offset is self.offset else Linear(scale=scale, offset=offset)

    @staticmethod
    def _shift(X: Tensor, offset: Any, name: str = "Linear.offset") -> Tensor:
        if offset is None:
            return X
        shift = tensor_like(offset, X, name)
        if shift.shape != (X.shape[1],):
            raise InputError(f"{name} must have shape ({X.shape[1]},), one value per column; got {tuple(shift.shape)}")
        return X - shift

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        A = self._shift(X, self.offset)
        B = A if Y is None else self._shift(Y, self.offset)
        return self._value(A @ B.mT)

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        if self.offset is None:
            return super()._plain(X, Y)
        shift = Y.new_tensor(self.offset)  # a constant of a graph, where torch.from_numpy would warn
        return super()._plain(X - shift, Y - shift)

    def _add_gram(self, K: Tensor, X: Any, Y: Any = None, factor: float = 1.0) -> Tensor:
        A = self._shift(X, self.offset)
        B = A if Y is None else self._shift(Y, self.offset)
        return K.addmm_(A, B.mT, alpha=factor * float(self.scale))

    def _diag(self, X: Tensor) -> Tensor:
        A = self._shift(X, self.offset)
        return self._value((A * A).sum(1))

    def _value(self, P: Tensor) -> Tensor:
        return P if self._scale == 1.0 else P.mul_(self._scale)

    def _slope(self, P: Tensor) -> Tensor:
        return P.fill_(self._scale)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        A = self._shift(X, self.offset)
        if isinstance(S, Outer):  # two thin products; the n x n matrix is never formed
            product = S.left @ (S.right.mT @ A)
            other = product if S.left is S.right else S.right @ (S.left.mT @ A)
            return (product + other).mul_(self._scale)
        return (S @ A).add_(S.mT @ A).mul_(self._scale)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return (S @ self._shift(Y, self.offset)).mul_(self._scale)

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        slope = (self._shift(Y, self.offset).mT @ C).mul_(self._scale)  # the same everywhere
        return slope.repeat(len(X), 1, 1)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self._shift(X, self.offset) * (2.0 * self._scale * s)[:, None]


class Polynomial(DotProduct):
    """Polynomial kernel ``k(x, y) = (scale x^T y + offset)^degree``.

    Parameters
    ----------
    degree : int, default=3
        At least one.
    scale : float or "1/d", default="1/d"
        Positive factor of the inner product; ``"1/d"``: one over the number of columns.
    offset : float, default=1.0
        Not negative, else the kernel is not positive semi-definite.

    Notes
    -----
    The derivative is computed from the base, never from ``k^((degree - 1) / degree)``, which is wrong where the
    base is negative.

    References
    ----------
    Laforgue et al. (2019), appendix B.4, corrected.

    Examples
    --------
    >>> from rkhs.kernels import Polynomial
    >>> Polynomial(degree=2, scale=1.0, offset=1.0)([[2.0]], [[3.0]])
    array([[49.]])
    """

    def __init__(self, degree: int = 3, scale: float | str = "1/d", offset: float = 1.0) -> None:
        self.degree = degree
        self.scale = scale
        self.offset = offset

    def resolve(self, X: Any, weights: Tensor | None = None) -> Polynomial:
        """Turn ``"1/d"`` into a number and check the parameters; see :class:`Polynomial`."""
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or not 1 <= self.degree <= _LARGEST_DEGREE:
            raise InputError(
                f"Polynomial.degree must be an integer from 1 to {_LARGEST_DEGREE}; got {self.degree!r:.40}"
            )
        check_number(self.offset, "Polynomial.offset", at_least=0.0)
        if isinstance(self.scale, str) and self.scale == "1/d":
            return Polynomial(self.degree, 1.0 / X.shape[1], self.offset)
        check_number(self.scale, "Polynomial.scale", above=0.0, names=("1/d",))
        return self

    def _value(self, P: Tensor) -> Tensor:
        return P.mul_(self._scale).add_(self.offset).pow_(self.degree)

    def _slope(self, P: Tensor) -> Tensor:
        factor = self.degree * self._scale
        return P.mul_(self._scale).add_(self.offset).pow_(self.degree - 1).mul_(factor)
