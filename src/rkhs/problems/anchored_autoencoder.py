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
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.engines import Block, Engine, Serial, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.radial import Radial
from rkhs.losses import Loss
from rkhs.spaces.sums import upper_product

__all__ = ["AnchoredAutoencoder", "AnchoredDecoder", "AnchoredLayer", "OwnCodes"]

STRIP = 2048
"""Rows of a strip; part of the result as a seed is."""

_RIDGE = 1e-8  # of the mean square of the features, where parameters are found without codes of the rows' own


@dataclass(frozen=True, eq=False)
class OwnCodes:
    """Coordinates of an encoder in finite features with a code of its own for every row.

    Parameters
    ----------
    linear : Tensor of shape (n, k)
        ``Q``, principal coordinates in units of their price.
    features : Tensor of shape (n, m)
        ``F``.
    spread : Tensor of shape (n,) or None
        ``s``, positive; None: codes are those of the features alone.

    References
    ----------
    Snelson and Ghahramani (2006), "Sparse Gaussian processes using pseudo-inputs", equation 8.
    """

    linear: Tensor
    features: Tensor
    spread: Tensor | None

    @property
    def width(self) -> int:
        """``k + m``, parameters of the encoder alone."""
        return self.linear.shape[1] + self.features.shape[1]

    @property
    def dim(self) -> int:
        """Number of rows of the parameters ``[A; V; U]``."""
        return self.width + (0 if self.spread is None else len(self.linear))

    def encoded(self, W: Tensor) -> Tensor:
        """``Q A + F V`` of shape (n, p), what the encoder says, for ``[A; V]`` or all parameters."""
        k = self.linear.shape[1]
        return torch.addmm(self.linear @ W[:k], self.features, W[k : self.width])

    def codes(self, V: Tensor) -> Tensor:
        """``Q A + F V + diag(s) U`` of shape (n, p)."""
        Z = self.encoded(V)
        return Z if self.spread is None else Z.addcmul_(self.spread[:, None], V[self.width :])

    def pull(self, G: Tensor) -> Tensor:
        """The transpose of :meth:`codes`, shape (dim, p) for ``G`` of shape (n, p)."""
        parts = [(G.mT @ self.linear).mT, (G.mT @ self.features).mT]  # twice as fast as the other way round
        return torch.cat(parts if self.spread is None else [*parts, self.spread[:, None] * G])

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters of least norm whose codes are ``Z``; without own codes those that come nearest to them.

        O(n (k + m)^2).
        """
        L, inner = self._system
        s = torch.ones_like(Z[:, :1]) if self.spread is None else self.spread[:, None]
        weighted = Z / (s * s)
        W = torch.cholesky_solve(torch.cat([self.linear.mT @ weighted, self.features.mT @ weighted]) * inner, L)
        return W if self.spread is None else torch.cat([W, (Z - self.encoded(W)) / s])

    @cached_property
    def _system(self) -> tuple[Tensor, float]:
        """Triangle of ``I + H^T S^-2 H``, or of ``H^T H / n`` and a little; the factor of its right-hand side."""
        H = self.linear.new_zeros(self.width, self.width)
        for start in range(0, len(self.linear), STRIP):
            rows = slice(start, start + STRIP)
            part = torch.cat([self.linear[rows], self.features[rows]], 1)
            H += upper_product(part if self.spread is None else part / self.spread[rows, None])
        H = H + H.triu(1).mT
        inner = 1.0 if self.spread is not None else 1.0 / len(self.linear)
        H = H * inner
        H.diagonal().add_(1.0 if self.spread is not None else _RIDGE * float(H.diagonal().mean()) + 1e-300)
        return torch.linalg.cholesky(H), inner


@dataclass(frozen=True, eq=False)
class AnchoredLayer:
    """A solved last layer.

    Parameters
    ----------
    anchors : Tensor of shape (a, p)
        Codes of the first rows.
    coefficients : Tensor of shape (a, r)
        ``C``.
    linear : Tensor of shape (p + 1, r)
        ``b``, the constant last.
    value : float
        Loss and penalties of the layer.
    gram : Tensor of shape (a, a)
        ``G``.
    """

    anchors: Tensor
    coefficients: Tensor
    linear: Tensor
    value: float
    gram: Tensor


@dataclass(frozen=True, eq=False)
class AnchoredDecoder:
    """The last layer of many rows at given codes, spread over the codes of the first of them.

    Parameters
    ----------
    target : Tensor of shape (n, r)
    kernel : Kernel
        Of the codes, differentiable.
    anchors : int
        How many of the first rows are anchors.
    reg, slope, ridge : float
        Penalties of the kernel part, of the slopes of the linear part, and of the coefficients themselves.
    weights : Tensor of shape (n,), optional
        Sum to one; None: equal.
    engine : Engine, optional
        Who computes the strips; None: one after another.
    strip : int, default=2048
        Rows of a strip.
    offset : float, default=0
        Constant that is added to the value.

    Raises
    ------
    InputError
        If the normal equations are not positive definite.

    References
    ----------
    Rudi, Carratino and Rosasco (2017), equation 8, with the free part of Wahba (1990), chapter 1.
    """

    target: Tensor
    kernel: Kernel
    anchors: int
    reg: float
    slope: float
    ridge: float
    weights: Tensor | None = None
    engine: Engine | None = None
    strip: int = STRIP
    offset: float = 0.0

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
        """The layer of weighted squared losses that lie above ``loss`` and touch it at the residuals of ``layer``.

        Its value at ``layer`` is the objective of ``loss``. ``beside`` of shape (n,) are squared norms of what the
        targets have outside of the directions of ``target``. Hunter and Lange (2004), "A tutorial on MM algorithms".
        """
        R = self.residuals(Z, layer)
        weights, centres = loss.majorizer(R, beside)
        w = torch.full_like(weights, 1.0 / len(R)) if self.weights is None else self.weights
        lost = loss.value(torch.cat([R, beside.sqrt()[:, None]], 1))
        offset = float(w @ lost.sub_(0.5 * weights * ((R - centres) ** 2).sum(1)))
        return replace(self, target=self.target - centres, weights=w * weights, offset=offset)

    def robust(
        self, loss: Loss, Z: Tensor, beside: Tensor, turns: int, *, tol: float = 1e-4
    ) -> tuple[AnchoredDecoder, AnchoredLayer]:
        """The best layer under a loss that has a majorizer, and the squared losses whose layer it is.

        From the layer of the squared loss: touching losses and their layer in turn, until the value, which only falls,
        changes by less than ``tol`` of it.
        """
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
    radial = decoder.kernel.radial
    if isinstance(radial, Radial):
        K, slopes = radial.gram_and_slopes(Z, A)
    else:
        K, slopes = decoder.kernel._gram(Z, A), None
    R = torch.addmm(K @ C, Z, b[:-1]).add_(b[-1]).sub_(decoder.target[rows])
    R.mul_(1.0 / len(decoder.target) if decoder.weights is None else decoder.weights[rows, None])
    S = R @ C.mT
    if isinstance(radial, Radial) and slopes is not None:
        M = S.mul_(slopes)
        dZ, dA = radial.pulled(Z, A, M), radial.pulled(A, Z, M.mT)
    else:
        dZ, dA = decoder.kernel._pair_pullback(Z, A, S, K)
    return dZ.addmm_(R, b[:-1].mT), dA


@dataclass(frozen=True, eq=False)
class AnchoredAutoencoder:
    """Reduced objective of a two-layer autoencoder of many rows; points are ``[A; V; U]``, shape (dim, p).

    Parameters
    ----------
    factor : OwnCodes
        The encoder.
    decoder : AnchoredDecoder
        With the targets.
    reg : float
        Regulariser of the encoder.
    curvature : tuple, default=()
        What a solver knows of a problem like this one, for L-BFGS to go on with.

    Raises
    ------
    InputError
        From :meth:`value`, if the normal equations of the decoder are not positive definite.

    References
    ----------
    Laforgue et al. (2019), equation 8 and section 4.2, in the kernel of Snelson and Ghahramani (2006).
    """

    factor: OwnCodes
    decoder: AnchoredDecoder
    reg: float
    curvature: tuple[Any, ...] = ()

    def value(self, point: Tensor) -> float:
        """Reduced objective; one pass."""
        return self.decoder.solve(self.factor.codes(point)).value + self.price(point)

    def price(self, point: Tensor) -> float:
        """Penalty of the encoder and the rows' own codes."""
        return 0.5 * self.reg * float((point * point).sum())

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and gradient, shape of ``point``; two passes. O(n a (a + r + p) + n m p + a^3)."""
        Z = self.factor.codes(point)
        try:
            layer = self.decoder.solve(Z)
        except InputError:  # too long a step of a line search
            return float("inf"), torch.zeros_like(point)
        grad = self.factor.pull(self.decoder.gradient(Z, layer)).add_(point, alpha=self.reg)
        return layer.value + self.price(point), grad
