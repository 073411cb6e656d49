"""An autoencoder of many rows: finite features as the encoder, a code of its own for every row, a decoder on anchors.

With principal coordinates ``Q``, features ``F`` and ``s_i^2 = k(x_i, x_i)``,

    Z = Q A + F V + diag(s) U,   g(z) = k(z, Z_a) C + [z, 1] b,
    J = min_{C, b} sum_i w_i 1/2 ||t_i - g(z_i)||^2 + reg_2 / 2 <C, G C> + ridge / 2 ||C||^2 + slope / 2 ||b_lin||^2
        + reg_1 / 2 (||A||^2 + ||V||^2 + ||U||^2),   G = k(Z_a, Z_a).

This is the autoencoder of the kernel ``Q Q^T + F F^T + diag(s^2)``, low rank and a diagonal (as in Snelson and
Ghahramani, 2006, whose diagonal is what the features leave): every row has a code of its own,
``reg_1 / (2 s^2) ||z - f(x)||^2`` prices its distance from what the encoder says, and a new row is coded at the same
price. The anchors ``Z_a`` are the codes of the first rows and move with them. The last layer solves normal equations,
so that by the envelope theorem one evaluation is two passes over strips of rows; the n x a arrays of a pass are never
held at once.

Why all of ``k(x, x)``: what landmarks leave of it is nothing at a landmark and little where rows are alike, so that
training rows were held where new ones are free, and regularisers chosen on rows among them misled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.engines import Block, Engine, Serial, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss
from rkhs.problems.row_encoders import STRIP, RowEncoder, gram_and_pulls
from rkhs.problems.semiparametric import slope_penalty
from rkhs.spaces.sums import upper_product

__all__ = ["AnchoredAutoencoder", "AnchoredDecoder", "AnchoredLayer"]

_RIDGE = 1e-7  # of the coefficients of the decoder, for targets of variance one


@dataclass(frozen=True, eq=False)
class AnchoredLayer:
    """A solved last layer."""

    anchors: Tensor  # (a, p): codes of the first rows
    coefficients: Tensor  # (a, r): ``C``
    linear: Tensor  # (p + 1, r): ``b``, the constant last
    value: float  # loss and penalties of the layer
    gram: Tensor  # (a, a): ``G``


@dataclass(frozen=True, eq=False)
class AnchoredDecoder:
    """The last layer of many rows at given codes, spread over the codes of the first of them."""

    target: Tensor  # (n, r)
    kernel: Kernel  # of the codes, differentiable
    anchors: int  # how many of the first rows are anchors
    reg: float  # penalties of the kernel part, of the slopes of the linear part, and of the coefficients themselves
    slope: float
    ridge: float
    weights: Tensor | None = None  # (n,): sum to one; None: equal
    engine: Engine | None = None  # who computes the strips; None: one after another
    strip: int = STRIP  # rows of a strip
    offset: float = 0.0  # constant that is added to the value

    @classmethod
    def of(
        cls, target: Tensor, kernel: Kernel, anchors: int, reg: float, weights: Tensor | None, engine: Engine | None
    ) -> Self:
        """The last layer of a fit: penalties beside ``reg`` follow from the targets; at most so many anchors."""
        slope, anchors = slope_penalty(target, weights), min(anchors, len(target))
        return cls(target, kernel, anchors, reg, slope, _RIDGE, weights, engine)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Of the rows."""
        return row_blocks(len(self.target), self.strip)

    def solve(self, Z: Tensor) -> AnchoredLayer:
        """The best layer at codes ``Z`` of shape (n, p). O(n a (a + r) + a^3)."""
        kernel, A = self.kernel.radial or self.kernel, Z[: self.anchors]
        engine = Serial() if self.engine is None else self.engine
        sums = engine.sum(_normal, self.blocks, None, _Pass(self, Z, None))
        N, c, total = (torch.from_numpy(np.asarray(part)).to(Z) for part in sums)
        G = kernel._gram(A)
        a, p = A.shape
        N[:a, :a].add_(G, alpha=self.reg)
        N.diagonal()[:a].add_(self.ridge)
        N.diagonal()[a : a + p].add_(self.slope)
        L, info = torch.linalg.cholesky_ex(N)
        if int(info) != 0:
            raise InputError("the normal equations of the decoder must be positive definite; use a larger reg")
        B = torch.cholesky_solve(c, L)
        return AnchoredLayer(A, B[:a], B[a:], 0.5 * (float(total) - float((c * B).sum())) + self.offset, G)

    def residuals(self, Z: Tensor, layer: AnchoredLayer) -> Tensor:
        """What a layer leaves of the targets at codes ``Z``, shape (n, r). O(n a (p + r))."""
        engine = Serial() if self.engine is None else self.engine
        return torch.cat(list(engine.map(_residual, self.blocks, None, _Pass(self, Z, layer))))

    def touching(self, loss: Loss, Z: Tensor, layer: AnchoredLayer, beside: Tensor) -> AnchoredDecoder:
        """The layer of weighted squared losses that lie above ``loss`` and touch it at the residuals of ``layer``."""
        R = self.residuals(Z, layer)
        weights, centres = _majorizer(loss, R, beside)
        w = torch.full_like(weights, 1.0 / len(R)) if self.weights is None else self.weights
        lost = loss.value(torch.cat([R, beside.sqrt()[:, None]], 1))
        offset = float(w @ lost.sub_(0.5 * weights * ((R - centres) ** 2).sum(1)))
        return replace(self, target=self.target - centres, weights=w * weights, offset=offset)

    def robust(
        self, loss: Loss, Z: Tensor, beside: Tensor, turns: int, *, tol: float = 1e-4
    ) -> tuple[AnchoredDecoder, AnchoredLayer]:
        """The best layer under a loss that has a majorizer, and the squared losses whose layer it is."""
        layer, last, touched = self.solve(Z), torch.inf, self
        for _ in range(turns):
            touched = self.touching(loss, Z, layer, beside)
            layer = touched.solve(Z)
            if last - layer.value <= tol * abs(layer.value):
                break
            last = layer.value
        return touched, layer

    def gradient(self, Z: Tensor, layer: AnchoredLayer) -> Tensor:
        """Derivative of the value of a solved layer in the codes, shape (n, p); one more pass."""
        kernel, C = self.kernel.radial or self.kernel, layer.coefficients
        engine = Serial() if self.engine is None else self.engine
        dZ, dA = [], torch.zeros_like(layer.anchors)
        for own, anchors in engine.map(_gradient, self.blocks, None, _Pass(self, Z, layer)):
            dZ.append(own)
            dA += anchors
        G = torch.cat(dZ)
        dA += kernel._pullback(layer.anchors, Outer(C, C), layer.gram).mul_(0.5 * self.reg)
        G[: len(dA)] += dA
        return G


def _majorizer(loss: Loss, R: Tensor, beside: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and centres of squared losses that touch a loss, which may be a user's: checked."""
    found = loss.majorizer(R, beside)
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
    """What the strips of a pass share."""

    decoder: AnchoredDecoder
    codes: Tensor
    layer: AnchoredLayer | None


def _normal(items: Any, block: Block, seen: _Pass) -> tuple[np.ndarray, ...]:
    """``w d d^T``, ``w d t^T`` and ``w |t|^2`` of a strip, with the columns ``d = [k(z, Z_a), z, 1]``."""
    decoder, rows = seen.decoder, slice(block.start, block.stop)
    kernel, Z, T = decoder.kernel.radial or decoder.kernel, seen.codes[rows], decoder.target[rows]
    D = torch.cat([kernel._gram(Z, seen.codes[: decoder.anchors]), Z, torch.ones_like(Z[:, :1])], 1)
    if decoder.weights is None:
        scale = 1.0 / len(decoder.target)
    else:
        root = decoder.weights[rows, None].sqrt()
        D, T, scale = D * root, T * root, 1.0
    N = upper_product(D)
    N = torch.add(N, N.triu(1).mT)
    parts = (N, (T.mT @ D).mT, (T * T).sum())
    return tuple(part.cpu().numpy() * scale for part in parts)


def _residual(items: Any, block: Block, seen: _Pass) -> Tensor:
    """Targets of a strip less what the layer says there."""
    decoder, layer, rows = seen.decoder, seen.layer, slice(block.start, block.stop)
    assert layer is not None
    said = (decoder.kernel._gram(seen.codes[rows], layer.anchors) @ layer.coefficients).add_(layer.linear[-1])
    return decoder.target[rows] - said.addmm_(seen.codes[rows], layer.linear[:-1])


def _gradient(items: Any, block: Block, seen: _Pass) -> tuple[Tensor, Tensor]:
    """Derivative of the loss of a strip with the layer held fixed, in its codes and in those of the anchors."""
    decoder, layer, rows = seen.decoder, seen.layer, slice(block.start, block.stop)
    assert layer is not None
    Z, A, C, b = seen.codes[rows], layer.anchors, layer.coefficients, layer.linear
    K, pulls = gram_and_pulls(decoder.kernel, Z, A)
    R = torch.addmm(K @ C, Z, b[:-1]).add_(b[-1]).sub_(decoder.target[rows])
    R.mul_(1.0 / len(decoder.target) if decoder.weights is None else decoder.weights[rows, None])
    dZ, dA = pulls(R @ C.mT)
    return dZ.addmm_(R, b[:-1].mT), dA


@dataclass(frozen=True, eq=False)
class AnchoredAutoencoder:
    """Reduced objective of an autoencoder of many rows; points are those of its encoder."""

    encoder: RowEncoder
    decoder: AnchoredDecoder  # with the targets
    curvature: tuple[Any, ...] = ()  # what a solver knows of a problem like this one, for L-BFGS to go on with

    def value(self, point: Tensor) -> float:
        """Reduced objective; one pass."""
        coded = self.encoder.forward(point)
        return self.decoder.solve(coded.codes).value + coded.price

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and gradient, shape of ``point``; two passes. O(n a (a + r + p) + n m p + a^3)."""
        coded = self.encoder.forward(point)
        try:
            layer = self.decoder.solve(coded.codes)
        except InputError:  # too long a step of a line search
            return float("inf"), torch.zeros_like(point)
        return layer.value + coded.price, coded.back(self.decoder.gradient(coded.codes, layer))
