"""Kernels made from any base kernel through its feature space: normalised, Gaussian of the distance, scaled columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_number, naming, real_array
from rkhs._core.errors import InputError, RoundingWarning, warn
from rkhs._core.linalg import Outer
from rkhs.kernels.base import Derived, Kernel, Mapped
from rkhs.kernels.vectors.distances import median_bandwidth
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.kernels.vectors.stationary import read_rule


def _is_normal(d: Tensor) -> Tensor:
    """Whether a squared norm is at least the smallest normal number."""
    return d >= torch.finfo(d.dtype).tiny


class Normalized(Derived):
    """Cosine of a kernel, ``k(x, y) = base(x, y) / sqrt(base(x, x) base(y, y))``.

    If ``base(x, x) = 0``, all kernel values of ``x`` are zero, also ``k(x, x)``.

    Parameters
    ----------
    base : Kernel

    References
    ----------
    Scholkopf and Smola (2002), equation 13.6.

    Examples
    --------
    >>> from rkhs.kernels import Linear, Normalized
    >>> Normalized(Linear())([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    of_values = True

    def __init__(self, base: Kernel) -> None:
        self.base = base

    @staticmethod
    def _inverse_norms(d: Tensor) -> Tensor:
        """``d^(-1/2)``, zero where ``d`` is zero, negative or subnormal."""
        return torch.where(_is_normal(d), d.clamp_min(torch.finfo(d.dtype).tiny).rsqrt(), 0.0)

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        K = self.base._gram(X, Y)
        columns = self._inverse_norms(self.base._column_diag(X, Y)).to(K)
        rows = columns if Y is None and self.domain != "gram" else self._inverse_norms(self.base._diag(X)).to(K)
        return K.mul_(rows[:, None]).mul_(columns)

    def _diag(self, X: Any) -> Tensor:
        d = self.base._diag(X)
        return _is_normal(d).to(d.dtype)

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        d = self.base._column_diag(X, Y)
        return _is_normal(d).to(d.dtype)

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        rows, columns = (self._inverse_norms(self.base._plain_diag(Z)) for Z in (X, Y))
        return self.base._plain(X, Y) * rows[:, None] * columns

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        dense = S.dense() if isinstance(S, Outer) else S
        B = self.base._gram(X)
        r = self._inverse_norms(self.base._diag(X))
        M = dense * r[:, None] * r
        # d k_ij / d base_ii = -k_ij / (2 base_ii)
        flow = M * B
        s = (flow.sum(0) + flow.sum(1)).mul_(r * r).mul_(-0.5)
        return self.base._pullback(X, M, B).add_(self.base._diag_pullback(X, s))

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        r = self._inverse_norms(self.base._diag(X))
        M = S * r[:, None] * self._inverse_norms(self.base._diag(Y))
        s = (M * self.base._gram(X, Y)).sum(1).mul_(r * r).mul_(-0.5)
        return self.base._cross_pullback(X, Y, M).add_(self.base._diag_pullback(X, s))

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)


class GaussianOf(Derived):
    """Gaussian of the distance that a kernel defines.

    ``k(x, y) = exp(-gamma (base(x, x) + base(y, y) - 2 base(x, y)))``, from Gram matrices alone.

    Parameters
    ----------
    base : Kernel
        With :class:`Tanimoto` this is the Tanimoto-Gaussian kernel ``exp(-2 gamma (1 - T))``.
    gamma : float or "median", default="median"
        Inverse squared distance; ``"median"``: one over the median squared distance of all ordered pairs of training
        items (weighted by the sample weights if there are any); ``"4*median"``: four times that, and so on.

    Notes
    -----
    Squared distances are differences of kernel values: far from the origin :class:`Gaussian` is exact where
    ``GaussianOf(Linear())`` is not.

    References
    ----------
    Laforgue et al. (2020), section 5, on Tanimoto outputs with ``gamma = 0.72``; Berg et al. (1984), theorem 3.2.2.

    Examples
    --------
    >>> from rkhs.kernels import GaussianOf, Tanimoto
    >>> round(float(GaussianOf(Tanimoto(), gamma=0.72)([[1, 0]], [[1, 1]])[0, 0]), 12)
    0.48675225596
    """

    of_values = True

    def __init__(self, base: Kernel, gamma: float | str = "median") -> None:
        self.base = base
        self.gamma = gamma

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Resolve the base kernel and turn ``"median"`` into a number."""
        resolved = super().resolve(X, weights)
        assert isinstance(resolved, GaussianOf)
        if isinstance(self.gamma, str) and self.gamma.endswith("median"):
            gamma = read_rule(self.gamma, "GaussianOf.gamma")[0] * median_bandwidth(
                _distances(resolved.base, X), weights
            )
            _warn_of_cancellation(resolved.base, X, gamma)
            return GaussianOf(resolved.base, gamma)
        check_number(self.gamma, "GaussianOf.gamma", above=0.0, names=("median",))
        return resolved

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise InputError(f"GaussianOf.gamma is {self.gamma!r}: call resolve(X) first")
        return float(self.gamma)

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        return _distances(self.base, X, Y).mul_(-self._gamma).exp_()

    def _diag(self, X: Any) -> Tensor:
        return torch.ones_like(self.base._diag(X))

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        return torch.ones_like(self.base._column_diag(X, Y))

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        D = self.base._plain_diag(X)[:, None] + self.base._plain_diag(Y) - 2.0 * self.base._plain(X, Y)
        D = D + (D.clamp_min(0.0) - D).detach()  # the slope stays where rounding makes a distance negative
        return torch.exp(-self._gamma * D)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        M = (S.dense() if isinstance(S, Outer) else S) * (self._gram(X) if K is None else K)
        M.fill_diagonal_(0.0)  # k(x, x) = 1 has zero gradient
        s = (M.sum(0) + M.sum(1)).mul_(-self._gamma)
        return self.base._pullback(X, M.mul_(2.0 * self._gamma), None).add_(self.base._diag_pullback(X, s))

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        M = self._gram(X, Y).mul_(S)
        s = M.sum(1).mul_(-self._gamma)
        return self.base._cross_pullback(X, Y, M.mul_(2.0 * self._gamma)).add_(self.base._diag_pullback(X, s))

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.zeros_like(X)


def _distances(base: Kernel, X: Any, Y: Any = None) -> Tensor:
    """Squared distances in the feature space of ``base``, shape (n, m), zero where they are within rounding errors."""
    D = base._gram(X, Y).mul_(-2.0)
    columns = base._column_diag(X, Y).to(D)
    # Rows of a Gram matrix come without their own columns, so there Y=None does not mean the same items on both sides.
    same = Y is None and base.domain != "gram"
    rows = columns if same else base._diag(X).to(D)
    shrink = (
        1.0 - 8.0 * torch.finfo(D.dtype).eps
    )  # equal items are at distance zero, so that rounding does not set the bandwidth
    D.add_((shrink * rows)[:, None]).add_(shrink * columns)
    D = (D + D.mT).mul_(0.5) if same else D  # rounding can differ between the triangles
    D.clamp_min_(0.0)
    return D.fill_diagonal_(0.0) if same else D


def _warn_of_cancellation(base: Kernel, X: Any, gamma: float) -> None:
    """Warn if the median squared distance ``1 / gamma`` is dominated by rounding errors."""
    size = base._diag(X)
    error = 8.0 * float(torch.finfo(size.dtype).eps * size.max())
    if 100.0 * gamma * error > 1.0 and gamma != 1.0:
        warn(
            f"GaussianOf: half of the squared distances of {base!r} are under {1.0 / gamma:.0e}, and rounding leaves "
            f"errors of {error:.0e}. Subtract the mean of every column of vectors first, or choose another base kernel",
            RoundingWarning,
        )


class ScaledInputs(Mapped):
    """A kernel on scaled columns, ``k(x, y) = base(s (x - offset), s (y - offset))`` with ``s_j > 0`` per column.

    ``1 / s_j`` is the length over which column j matters.

    Parameters
    ----------
    base : Kernel
        On vectors.
    scales : sequence of float of length d, or "mean_norm"
        Positive; ``"mean_norm"``: the same for all columns, so that the mean of ``||s (x - offset)||^2`` on the
        training points is one.
    offset : array of shape (d,), "mean" or None, default=None
        Origin; ``"mean"``: the mean of the training points; None: zero.

    References
    ----------
    Rasmussen and Williams (2006), section 5.1.

    Examples
    --------
    >>> from rkhs.kernels import Linear, ScaledInputs
    >>> ScaledInputs(Linear(), (1.0, 0.5))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    def __init__(self, base: Kernel, scales: Any, offset: Any = None) -> None:
        self.base = base
        self.scales = scales
        self.offset = offset

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Turn ``"mean_norm"`` and ``"mean"`` into numbers, and resolve the base kernel on the scaled columns."""
        (base,) = self.parts
        named = isinstance(self.scales, str) and self.scales == "mean_norm"
        if isinstance(self.offset, str) and self.offset != "mean":
            raise InputError(f"ScaledInputs.offset must be None, 'mean' or an array of shape (d,); got {self.offset!r}")
        with naming("ScaledInputs"):
            unit = Linear("mean_norm" if named else 1.0, self.offset).resolve(X, weights)
        scales = np.full(X.shape[1], float(unit.scale) ** 0.5) if named else self.scales
        resolved = base.resolve(ScaledInputs(base, scales, unit.offset)._mapped(X), weights)
        if resolved is base and not named and unit.offset is self.offset:
            return self
        return ScaledInputs(resolved, scales, unit.offset)

    def _mapped(self, X: Tensor) -> Tensor:
        return Linear._shift(X, self.offset, "ScaledInputs.offset") * self._factors(X)

    def _factors(self, X: Tensor) -> Tensor:
        if isinstance(self.scales, str) and self.scales == "mean_norm":
            raise InputError("ScaledInputs.scales is 'mean_norm': call resolve(X) first")
        s = real_array(self.scales, "ScaledInputs.scales")
        if s.shape != (X.shape[1],) or not np.isfinite(s).all() or (s <= 0.0).any():
            raise InputError(
                f"ScaledInputs.scales must be {X.shape[1]} positive numbers, one per column, or 'mean_norm'; "
                f"got {self.scales!r}"
            )
        return tensor_like(s, X)

    def _back(self, G: Tensor, X: Tensor) -> Tensor:
        return G * self._factors(X)


class MappedInputs(Mapped):
    """A kernel on linear combinations of the columns, ``k(x, y) = base(W^T x, W^T y)``: a metric of the inputs.

    A kernel of the Euclidean distance becomes one of the distance ``(x - y)^T W W^T (x - y)``.

    Parameters
    ----------
    base : Kernel
        On vectors.
    W : array of shape (d, r)
        A combination a column; finite, and not all zero.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit and Belkin (2024), Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383.

    Examples
    --------
    >>> from rkhs.kernels import Linear, MappedInputs
    >>> MappedInputs(Linear(), [[1.0], [0.5]])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[10.]])
    """

    def __init__(self, base: Kernel, W: Any) -> None:
        self.base = base
        self.W = W

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Resolve the base kernel on the combinations."""
        (base,) = self.parts
        resolved = base.resolve(self._mapped(X), weights)
        return self if resolved is base else MappedInputs(resolved, self.W)

    def _mapped(self, X: Tensor) -> Tensor:
        return X @ self._combinations(X)

    def _combinations(self, X: Tensor) -> Tensor:
        W = real_array(self.W, "MappedInputs.W")
        if W.ndim != 2 or len(W) != X.shape[1] or not np.isfinite(W).all() or not W.any():
            raise InputError(
                f"MappedInputs.W must be a finite matrix with {X.shape[1]} rows, one per column of X, not all zero; "
                f"got shape {W.shape}"
            )
        return tensor_like(W, X)

    def _back(self, G: Tensor, X: Tensor) -> Tensor:
        return G @ self._combinations(X).mT
