"""The optimal last layer at given codes, for reduced problems: on all items or on anchors.

On all items (:class:`ItemsLayer`) it is an n x n system, for the squared loss with or without a linear part that is
free, and for every other loss by its dual. On anchors (:class:`AnchorsLayer`), the codes ``Z_a`` of the first rows,

    g(z) = k(z, Z_a) C + [z, 1] b,   min_{C, b} sum_i w_i 1/2 ||t_i - g(z_i)||^2 + reg / 2 <C, G C> + ridge / 2 ||C||^2
                                                + slope / 2 ||b_lin||^2,   G = k(Z_a, Z_a),

it solves normal equations, in two passes over strips of rows; the n x a arrays of a pass are never held at once. The
anchors move with the codes. Without the linear part ``[z, 1] b`` that is the decoder of Laforgue et al. (2019) in the
span of the anchors. Other losses are majorised by weighted squared losses.

Envelope theorem: the derivative at the optimal layer is that with the layer held fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, factorize
from rkhs.engines import Block, Engine, Serial, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss, Squared
from rkhs.problems.coordinates import STRIP
from rkhs.problems.decoder import Decoder, RobustDecoder, optimal_decoder
from rkhs.problems.encoders import gram_and_vjp
from rkhs.problems.semiparametric import slope_penalty
from rkhs.spaces.sums import upper_product

MORE = 3
"""Times as many anchors at the end of a fit in stages."""


class LastLayer(Protocol):
    """The best last layer for given codes."""

    def solve(self, Z: Tensor) -> Decoder | AnchoredDecoder:
        """The layer at codes of shape (n, p)."""

    def value_and_gradient(self, Z: Tensor) -> tuple[float, Tensor]:
        """Loss and penalty of that layer, and their derivative in the codes."""


@dataclass(frozen=True, eq=False)
class ItemsLayer:
    """The last layer on the codes of all items."""

    target: Tensor  # (n, q): coordinates of the targets
    kernel: Kernel  # of the codes, differentiable
    reg: float
    operator: Tensor | None = None  # (q, q)
    weights: Tensor | None = None  # (n,): sum to one; None: equal
    rule: Callable[..., Decoder] = optimal_decoder  # that solves the system

    def solve(self, Z: Tensor) -> Decoder:
        """The best layer. O(n^3 / 3 + n^2 (p + q))."""
        return self._solved(self.kernel._gram(Z), Z)

    def _solved(self, K: Tensor, Z: Tensor) -> Decoder:
        return self.rule(K, Z, self.target, self.reg, self.operator, self.weights)

    def value_and_gradient(self, Z: Tensor) -> tuple[float, Tensor]:
        """See :class:`LastLayer`; distances are computed once for both."""
        K, pull = self.kernel.gram_and_pullback(Z)
        found = self._solved(K, Z)
        G = pull(Outer(found.root, found.root)).mul_(-0.5 * self.reg)
        if found.linear is not None:
            G.addmm_(found.parameters, found.linear[:-1].mT, alpha=-self.reg)
        return found.value, G

    def loss(self, X: Tensor) -> tuple[float, Tensor]:
        """Mean loss of reconstructions of shape (n, q), and its gradient."""
        loss = self.rule.loss if isinstance(self.rule, RobustDecoder) else Squared()
        R = self.target - X
        w = R.new_full((len(R),), 1.0 / len(R)) if self.weights is None else self.weights
        return float(w @ loss.value(R)), loss.gradient(R) * -w[:, None]


@dataclass(frozen=True, eq=False)
class FrozenLayer:
    """A fixed last layer, as in the alternating scheme; without parameters codes are reconstructions."""

    layer: ItemsLayer
    parameters: Tensor | None = None  # (n, q): ``Phi``

    def value_and_gradient(self, Z: Tensor) -> tuple[float, Tensor]:
        """Loss and penalty of the layer at these codes, and their derivative there."""
        layer, Phi = self.layer, self.parameters
        if Phi is None:
            return layer.loss(Z)
        C, K = Phi if layer.operator is None else Phi @ layer.operator, layer.kernel._gram(Z)
        predicted = K @ C
        value, G = layer.loss(predicted)
        S = Outer(torch.add(G, Phi, alpha=0.5 * layer.reg), C)
        return value + 0.5 * layer.reg * float((Phi * predicted).sum()), layer.kernel.pullback(Z, S, K)


# Penalty of the coefficients of the decoder, for targets of variance one: with a linear part, and without, where it
# only guards against rounding.
_RIDGE, _LEAST_RIDGE = 1e-7, 1e-12
_INDEFINITE = 1e-9  # relative rounding error of the diagonal that a pivoted factor leaves


@dataclass(frozen=True, eq=False)
class AnchoredDecoder:
    """A solved last layer."""

    anchors: Tensor  # (a, p): codes of the first rows
    coefficients: Tensor  # (a, r): ``C``
    linear: Tensor | None  # (p + 1, r): ``b``, the constant last; None without a linear part
    value: float  # loss and penalties of the layer
    gram: Tensor  # (a, a): ``G``

    def of(self, Z: Tensor, K: Tensor) -> Tensor:
        """``g`` at codes of shape (m, p) with kernel values ``K`` at the anchors, shape (m, r)."""
        predicted = K @ self.coefficients
        return predicted if self.linear is None else predicted.addmm_(Z, self.linear[:-1]).add_(self.linear[-1])


@dataclass(frozen=True, eq=False)
class AnchorsLayer:
    """The last layer of many rows at given codes, spread over the codes of the first of them."""

    target: Tensor  # (n, r)
    kernel: Kernel  # of the codes, differentiable
    anchors: int  # how many of the first rows are anchors
    reg: float  # penalties of the kernel part, of the slopes of the linear part, and of the coefficients themselves
    slope: float
    ridge: float
    weights: Tensor | None = None  # (n,): sum to one; None: equal
    engine: Engine | None = None  # that computes the strips; None: one after another
    strip: int = STRIP  # rows of a strip
    offset: float = 0.0  # constant that is added to the value
    linear: bool = True  # whether there is a linear part

    @classmethod
    def of(
        cls,
        target: Tensor,
        kernel: Kernel,
        anchors: int,
        reg: float,
        weights: Tensor | None,
        engine: Engine | None,
        *,
        linear: bool = True,
    ) -> Self:
        """The last layer of a fit: other penalties than ``reg`` follow from the targets; ``anchors`` at most."""
        slope, ridge = slope_penalty(target, weights), _RIDGE if linear else _LEAST_RIDGE
        return cls(target, kernel, min(anchors, len(target)), reg, slope, ridge, weights, engine, linear=linear)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks of the rows."""
        return row_blocks(len(self.target), self.strip)

    def sums(self, Z: Tensor) -> tuple[np.ndarray, ...]:
        """Return the sums of the normal equations at codes ``Z`` of shape (n, p). O(n a (a + r))."""
        return (self.engine or Serial()).sum(_normal, self.blocks, None, _Pass(self, Z, None))

    def solve(self, Z: Tensor, sums: tuple[np.ndarray, ...] | None = None) -> AnchoredDecoder:
        """The best layer at codes ``Z`` of shape (n, p), or that of other sums at these anchors. O(a^3) after them."""
        kernel, A = self.kernel.radial or self.kernel, Z[: self.anchors]
        sums = self.sums(Z) if sums is None else sums
        c, total = (torch.from_numpy(np.array(part)).to(Z) for part in sums[1:])  # copies: sums may be used again
        G, a = kernel._gram(A), len(A)
        N = self._matrix(sums, A, G)
        L, info = torch.linalg.cholesky_ex(N)
        B = torch.cholesky_solve(c, L) if int(info) == 0 else _solve_dependent(N, c)
        value = 0.5 * (float(total) - float((c * B).sum())) + self.offset
        return AnchoredDecoder(A, B[:a], B[a:] if self.linear else None, value, G)

    def _matrix(self, sums: tuple[np.ndarray, ...], A: Tensor, G: Tensor) -> Tensor:
        """Matrix of the normal equations with their penalties."""
        N, (a, p) = torch.from_numpy(np.array(sums[0])).to(A), A.shape
        N[:a, :a].add_(G, alpha=self.reg)
        N.diagonal()[:a].add_(self.ridge)
        N.diagonal()[a : a + p].add_(self.slope)
        return N

    def residuals(self, Z: Tensor, layer: AnchoredDecoder) -> Tensor:
        """Residuals of the targets at codes ``Z``, shape (n, r). O(n a (p + r))."""
        return torch.cat(list((self.engine or Serial()).map(_residual, self.blocks, None, _Pass(self, Z, layer))))

    def majorise(self, loss: Loss, Z: Tensor, layer: AnchoredDecoder, residual: Tensor) -> AnchorsLayer:
        """The problem of weighted squared losses that majorise ``loss``, equal at the residuals of ``layer``."""
        R = self.residuals(Z, layer)
        weights, centres = _majorizer(loss, R, residual)
        w = torch.full_like(weights, 1.0 / len(R)) if self.weights is None else self.weights
        losses = loss.value(torch.cat([R, residual.sqrt()[:, None]], 1))
        offset = float(w @ losses.sub_(0.5 * weights * ((R - centres) ** 2).sum(1)))
        return replace(self, target=self.target - centres, weights=w * weights, offset=offset)

    def robust(
        self, loss: Loss, Z: Tensor, residual: Tensor, turns: int, *, tol: float = 1e-4
    ) -> tuple[AnchorsLayer, AnchoredDecoder]:
        """Majorise and minimise (IRLS); return the last quadratic surrogate and its minimiser."""
        layer, last, surrogate = self.solve(Z), torch.inf, self
        for _ in range(turns):
            surrogate = self.majorise(loss, Z, layer, residual)
            layer = surrogate.solve(Z)
            if last - layer.value <= tol * abs(layer.value):
                break
            last = layer.value
        return surrogate, layer

    def value_and_gradient(self, Z: Tensor) -> tuple[float, Tensor]:
        """Value of the best layer, and its derivative in the codes; two passes. O(n a (a + r + p) + a^3)."""
        layer = self.solve(Z)
        return layer.value, self.gradient(Z, layer)

    def gradient(self, Z: Tensor, layer: AnchoredDecoder) -> Tensor:
        """Derivative of the value of a solved layer in the codes, shape (n, p); one more pass."""
        kernel, C = self.kernel.radial or self.kernel, layer.coefficients
        dZ, dA = [], torch.zeros_like(layer.anchors)
        for block_gradient, anchors in (self.engine or Serial()).map(
            _gradient, self.blocks, None, _Pass(self, Z, layer)
        ):
            dZ.append(block_gradient)
            dA += anchors
        G = torch.cat(dZ)
        dA += kernel._pullback(layer.anchors, Outer(C, C), layer.gram).mul_(0.5 * self.reg)
        G[: len(dA)] += dA
        return G


def _majorizer(loss: Loss, R: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and centres of the majorizer of a loss, checked, as users may define losses."""
    found = loss.majorizer(R, residual)
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(part, Tensor) for part in found):
        weights, centres = found
        if bool(((weights >= 0.0) & torch.isfinite(weights)).all() & torch.isfinite(centres).all()):
            if (weights.shape, centres.shape, weights.dtype, centres.dtype) == (R.shape[:1], R.shape, R.dtype, R.dtype):
                return weights, centres
            got = ", ".join(f"{tuple(part.shape)} of {part.dtype}" for part in found)
        else:
            got = "numbers that are negative or not finite"
    else:
        got = f"an object of type {type(found).__name__}"
    raise InputError(
        f"majorizer of {loss!r} must return weights of shape {tuple(R.shape[:1])}, at least 0, and centres of shape "
        f"{tuple(R.shape)}, finite tensors of {R.dtype}; got {got}"
    )


@dataclass(frozen=True, eq=False)
class _Pass:
    """Objects that all strips of a pass share."""

    decoder: AnchorsLayer
    codes: Tensor
    layer: AnchoredDecoder | None


def _normal(items: Any, block: Block, shared: _Pass) -> tuple[np.ndarray, ...]:
    """``w d d^T``, ``w d t^T`` and ``w |t|^2`` of a strip, with the columns ``d = [k(z, Z_a), z, 1]``."""
    decoder, rows = shared.decoder, slice(block.start, block.stop)
    kernel, Z, T = decoder.kernel.radial or decoder.kernel, shared.codes[rows], decoder.target[rows]
    D = kernel._gram(Z, shared.codes[: decoder.anchors])
    D = torch.cat([D, Z, torch.ones_like(Z[:, :1])], 1) if decoder.linear else D
    if decoder.weights is None:
        scale = 1.0 / len(decoder.target)
    else:
        root = decoder.weights[rows, None].sqrt()
        D, T, scale = D * root, T * root, 1.0
    N = upper_product(D)
    N = torch.add(N, N.triu(1).mT)
    parts = (N, (T.mT @ D).mT, (T * T).sum())
    return tuple(part.cpu().numpy() * scale for part in parts)


def _residual(items: Any, block: Block, shared: _Pass) -> Tensor:
    """Residuals of the targets of a strip."""
    decoder, layer, rows = shared.decoder, shared.layer, slice(block.start, block.stop)
    assert layer is not None
    return decoder.target[rows] - layer.of(shared.codes[rows], decoder.kernel._gram(shared.codes[rows], layer.anchors))


def _solve_dependent(N: Tensor, c: Tensor) -> Tensor:
    """Solve singular normal equations: of linearly dependent anchors, such as equal ones, some get no coefficients."""
    factor, B = factorize(N), torch.zeros_like(c)
    pivots, left = factor.pivots, N.diagonal() - factor.matrix.square().sum(1)
    L, info = torch.linalg.cholesky_ex(N[pivots][:, pivots])
    if int(info) != 0 or not len(pivots) or not bool(left.min() >= -_INDEFINITE * N.diagonal().max()):
        raise InputError("the normal equations of the decoder must be positive definite; use a larger reg")
    B[pivots] = torch.cholesky_solve(c[pivots], L)
    return B


def _gradient(items: Any, block: Block, shared: _Pass) -> tuple[Tensor, Tensor]:
    """Derivative of the loss of a strip with the layer held fixed, in its codes and in those of the anchors."""
    decoder, layer, rows = shared.decoder, shared.layer, slice(block.start, block.stop)
    assert layer is not None
    Z, b = shared.codes[rows], layer.linear
    K, vjp = gram_and_vjp(decoder.kernel, Z, layer.anchors)
    R = layer.of(Z, K).sub_(decoder.target[rows])
    R.mul_(1.0 / len(decoder.target) if decoder.weights is None else decoder.weights[rows, None])
    dZ, dA = vjp(R @ layer.coefficients.mT)
    return dZ if b is None else dZ.addmm_(R, b[:-1].mT), dA
