"""Encoders of an autoencoder of many rows: codes, what they cost, and how a gradient in them comes back.

:class:`OwnCodes` are coordinates in finite features, with a code of its own for every row. Three encoders stand on
them: :class:`FreeCodes` as they are or drawn to a sphere, :class:`CodesOnASet` kept on a sphere, in a ball or white,
:class:`DeepCodes` with hidden layers on anchors. :class:`~rkhs.problems.anchored_autoencoder.AnchoredAutoencoder` sees
a :class:`RowEncoder` only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rkhs._core.linalg import Outer
from rkhs.constraints.sphere import CodeSet, SoftSphere
from rkhs.engines import Block, Engine, Serial, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.radial import Radial
from rkhs.problems.sphere_autoencoder import CodeImage, image_of, lifted
from rkhs.spaces.sums import upper_product

__all__ = [
    "STRIP",
    "Coded",
    "CodesOnASet",
    "DeepCodes",
    "FreeCodes",
    "OwnCodes",
    "RowEncoder",
    "gram_and_pulls",
    "row_encoder",
]

STRIP = 2048
"""Rows of a strip; part of the result as a seed is."""

_RIDGE = 1e-8  # of the mean square of the features, where parameters are found without codes of the rows' own
_SMOOTH = 1e-2  # of the trace: hidden layers start as ridge fits that drop finer directions, as in the dense model
_INSIDE = 0.9  # of the radius of a ball: on its boundary the map has no radial slope
_UNIT = 100.0  # length of a row of hidden coefficients beside whitened ones, as in the dense model


class Coded(NamedTuple):
    """What an encoder says at a point."""

    codes: Tensor  # (n, p): that the decoder reads
    price: float  # penalty of the encoder
    back: Callable[[Tensor], Tensor]


class RowEncoder(Protocol):
    """A point gives codes of the rows, at a price."""

    @property
    def factor(self) -> OwnCodes:
        """Of the first layer."""
        ...

    def forward(self, point: Tensor) -> Coded:
        """Codes, price and the way back of a gradient."""
        ...

    def layers(self, point: Tensor) -> list[Tensor]:
        """Codes of every layer."""
        ...

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """``[A; V; U]`` of least norm for the codes of the first layer, and coefficients of hidden layers."""
        ...

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point with these codes of the first layer and these coefficients."""
        ...

    def started(self, W: Tensor, codes: Tensor, scale: float) -> Tensor:
        """A point to start from: parameters ``W`` give ``codes`` of as many columns as the widest layer has."""
        ...


def gram_and_pulls(kernel: Kernel, Z: Tensor, A: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor]]]:
    """``k(Z, A)``, and what takes a gradient in it, which is overwritten, to those in ``Z`` and ``A``."""
    radial = kernel.radial
    if not isinstance(radial, Radial):
        K = kernel._gram(Z, A)
        return K, lambda S: kernel._pair_pullback(Z, A, S, K)
    K, slopes = radial.gram_and_slopes(Z, A)

    def pulls(S: Tensor) -> tuple[Tensor, Tensor]:
        M = S.mul_(slopes)
        return radial.pulled(Z, A, M), radial.pulled(A, Z, M.mT)

    return K, pulls


@dataclass(frozen=True, eq=False)
class OwnCodes:
    """Coordinates of an encoder in finite features with a code of its own for every row."""

    linear: Tensor  # (n, k): ``Q``, principal coordinates in units of their price
    features: Tensor  # (n, m): ``F``
    spread: Tensor | None  # (n,): ``s``, positive; None: codes are those of the features alone

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
        """Parameters of least norm whose codes are ``Z``; without own codes those that come nearest to them."""
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
class FreeCodes:
    """Codes of an encoder in finite features, at the price ``reg / 2 |W|^2``; points are ``W`` of shape (dim, p)."""

    factor: OwnCodes
    reg: float
    soft: SoftSphere | None = None  # adds the penalty that draws codes to the unit sphere
    weights: Tensor | None = None  # (n,): of the rows in this penalty, sum to one; None: equal

    def forward(self, point: Tensor) -> Coded:
        """``Q A + F V + diag(s) U`` at its price. O(n (k + m) p)."""
        price, Z = 0.5 * self.reg * float((point * point).sum()), self.factor.codes(point)
        if self.soft is None:
            return Coded(Z, price, lambda G: self.factor.pull(G).add_(point, alpha=self.reg))
        w = Z.new_full((len(Z),), 1.0 / len(Z)) if self.weights is None else self.weights
        penalty, slope = self.soft.penalty(Z, w)
        return Coded(Z, price + penalty, lambda G: self.factor.pull(G.add_(slope)).add_(point, alpha=self.reg))

    def layers(self, point: Tensor) -> list[Tensor]:
        """The codes."""
        return [self.factor.codes(point)]

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The point itself; no hidden layers."""
        return point, []

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """The point of least norm whose codes are these."""
        return self.factor.solve(codes)

    def started(self, W: Tensor, codes: Tensor, scale: float) -> Tensor:
        """The parameters at this scale."""
        return W * scale


@dataclass(frozen=True, eq=False)
class CodesOnASet:
    """Codes on a sphere, in a ball, or white: ``Z`` is the image of free codes ``Y = Q A + F V + diag(s) U``."""

    factor: OwnCodes  # whose rows have codes of their own
    reg: float
    image: CodeImage  # the set

    def forward(self, point: Tensor) -> Coded:
        """Codes on the set at the least price of such codes. O(n (k + m) p)."""
        factor = self.factor
        Y = factor.codes(point)
        Z = self.image.project(Y)
        least = factor.solve(Z)
        assert factor.spread is not None
        slope = least[factor.width :] / factor.spread[:, None]  # the inverse of the kernel at the codes

        def back(G: Tensor) -> Tensor:
            return factor.pull(self.image.pullback(Y, G.add_(slope, alpha=self.reg)))

        return Coded(Z, 0.5 * self.reg * float((least * least).sum()), back)

    def layers(self, point: Tensor) -> list[Tensor]:
        """The codes on the set."""
        return [self.image.project(self.factor.codes(point))]

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """``[A; V; U]`` of least norm of the codes at a point; no hidden layers."""
        return self.factor.solve(self.layers(point)[0]), []

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point whose codes are these, which lie on the set."""
        return self.factor.solve(lifted(self.image, codes))

    def started(self, W: Tensor, codes: Tensor, scale: float) -> Tensor:
        """Codes of every column at the same spread, at nine tenths of the radius for a ball, whatever the scale."""
        spread = codes.std(0)
        even = codes / spread.clamp_min(1e-6 * float(spread.max()) + 1e-300)
        inside = self.image.project(even / even.norm(dim=1).max().clamp_min(1e-300))
        return self.resume(inside.mul_(_INSIDE), [])


@dataclass(frozen=True, eq=False)
class DeepCodes:
    """Hidden layers ``Z_l = k_l(Z_(l-1), A) Phi_l``, each spread over the codes ``A`` of the first rows below it."""

    factor: OwnCodes  # of the first layer
    kernels: tuple[Kernel, ...]  # of the hidden layers
    widths: tuple[int, ...]  # dimensions of the codes of all layers, the first one first
    reg: tuple[float, ...]  # one a layer
    anchors: int  # at most; those of a layer are the codes of the first rows
    engine: Engine | None = None
    strip: int = STRIP

    @property
    def count(self) -> int:
        """Number of anchors."""
        return min(self.anchors, len(self.factor.linear))

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point whose first codes come near to these, with these coefficients."""
        return self.pack(self.factor.solve(codes), hidden)

    def started(self, W: Tensor, codes: Tensor, scale: float) -> Tensor:
        """A point whose codes of a layer come near to leading columns of ``codes``, by ridge fits on the anchors."""
        goals = [scale * codes[:, :p] for p in self.widths]
        W, hidden = self.factor.solve(goals[0]), []
        below = self.factor.codes(W)
        for kernel, goal in zip(self.kernels, goals[1:], strict=True):
            K = kernel._gram(below[: self.count])
            K.diagonal().add_(_SMOOTH * self.count * float(K.diagonal().mean()))
            hidden.append(torch.linalg.solve(K, goal[: self.count]))
            below = self._mapped(_layer, below, kernel, hidden[-1])
        return self.pack(W, hidden)

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point of its parts; coefficients of fewer anchors are continued by zero."""
        unit = (_UNIT / self.count) ** 0.5
        padded = [torch.cat([Phi, Phi.new_zeros(self.count - len(Phi), Phi.shape[1])]) / unit for Phi in hidden]
        return torch.cat([part.reshape(-1) for part in (W, *padded)])

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """``W`` of shape (dim, p_1) and ``Phi_l`` of shape (a, p_l)."""
        shapes = [(self.factor.dim, self.widths[0]), *((self.count, p) for p in self.widths[1:])]
        parts = torch.split(point, [rows * p for rows, p in shapes])
        W, *hidden = (part.view(shape) for part, shape in zip(parts, shapes, strict=True))
        return W, [Phi * (_UNIT / self.count) ** 0.5 for Phi in hidden]

    def layers(self, point: Tensor) -> list[Tensor]:
        """Codes of every layer."""
        W, hidden = self.parts(point)
        found = [self.factor.codes(W)]
        for kernel, Phi in zip(self.kernels, hidden, strict=True):
            found.append(self._mapped(_layer, found[-1], kernel, Phi))
        return found

    def forward(self, point: Tensor) -> Coded:
        """Codes of the last hidden layer at their price. O(n a (p + p')) a layer."""
        W, hidden = self.parts(point)
        layers, unit = self.layers(point), (_UNIT / self.count) ** 0.5
        price = 0.5 * self.reg[0] * float((W * W).sum())
        for reg, Phi, Z in zip(self.reg[1:], hidden, layers[1:], strict=True):
            price += 0.5 * reg * float((Phi * Z[: self.count]).sum())

        def back(G: Tensor) -> Tensor:
            grads: list[Tensor] = []
            for layer in range(len(hidden) - 1, -1, -1):
                kernel, Phi, below, reg = self.kernels[layer], hidden[layer], layers[layer], self.reg[layer + 1]
                A = below[: self.count]
                slope, below_grad = self._pulled(below, kernel, Phi, G)
                grads.append(slope.add_(layers[layer + 1][: self.count], alpha=reg).mul_(unit))
                below_grad[: self.count] += kernel._pullback(A, Outer(Phi, Phi), None).mul_(0.5 * reg)
                G = below_grad
            first = self.factor.pull(G).add_(W, alpha=self.reg[0])
            return torch.cat([part.reshape(-1) for part in (first, *grads[::-1])])

        return Coded(layers[-1], price, back)

    def _mapped(self, function: Callable[..., Any], *seen: Any) -> Tensor:
        engine = Serial() if self.engine is None else self.engine
        blocks = row_blocks(len(self.factor.linear), self.strip)
        return torch.cat(list(engine.map(function, blocks, None, (self.count, *seen))))

    def _pulled(self, below: Tensor, kernel: Kernel, Phi: Tensor, G: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients in the coefficients of a layer and in the codes below it."""
        engine = Serial() if self.engine is None else self.engine
        blocks = row_blocks(len(below), self.strip)
        slope, dA, dZ = torch.zeros_like(Phi), torch.zeros_like(below[: self.count]), []
        for of_slope, of_codes, of_anchors in engine.map(_pull, blocks, None, (self.count, below, kernel, Phi, G)):
            slope += of_slope
            dA += of_anchors
            dZ.append(of_codes)
        codes = torch.cat(dZ)
        codes[: self.count] += dA
        return slope, codes


def _layer(items: Any, block: Block, seen: tuple[int, Tensor, Kernel, Tensor]) -> Tensor:
    """Codes of a strip in the next layer."""
    count, below, kernel, Phi = seen
    return kernel._gram(below[block.start : block.stop], below[:count]) @ Phi


def _pull(items: Any, block: Block, seen: tuple[int, Tensor, Kernel, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a strip in the coefficients of a layer, in its codes below and in the anchors there."""
    count, below, kernel, Phi, G = seen
    rows = slice(block.start, block.stop)
    K, pulls = gram_and_pulls(kernel, below[rows], below[:count])
    return (K.mT @ G[rows], *pulls(G[rows] @ Phi.mT))


def row_encoder(
    factor: OwnCodes,
    kernels: tuple[Kernel, ...],
    widths: tuple[int, ...],
    reg: tuple[float, ...],
    code_set: CodeSet | None,
    anchors: int,
    engine: Engine | None,
    weights: Tensor | None = None,
) -> RowEncoder:
    """The encoder of these options."""
    if kernels:
        return DeepCodes(factor, kernels, widths, reg, anchors, engine)
    if code_set is None or isinstance(code_set, SoftSphere):
        return FreeCodes(factor, reg[0], code_set, weights)
    return CodesOnASet(factor, reg[0], image_of(code_set))
