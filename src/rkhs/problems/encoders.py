"""Encoders: codes of the rows, their penalty and its gradient; :func:`encoder_of` gives the encoder of a set of codes.

All use :class:`~rkhs.problems.coordinates.Coordinates`, whatever the storage. :class:`UnconstrainedCodes` may be
penalised towards a sphere. :class:`ConstrainedCodes` lie on a sphere, in a ball, or are whitened: they are projections
of unconstrained codes, and their penalty is the smallest RKHS norm of an encoder with these codes. With coordinates of
``K + delta I`` this is Esser et al. (2024), theorem 5, divided by 2n at ``reg = lambda / n``; the inverse of ``K_Z`` in
that theorem cancels. :class:`DeepCodes` have hidden layers, whose coefficients use the plain gradient, which favours
smooth directions: preconditioning them too was worse (digits, widths (10, 2, 10), 200 iterations: objective 0.144
against 0.132). With a shortcut (residual connection) a layer adds to the codes below: the identity at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rkhs._core.linalg import Outer, apply_inverse, cholesky, divisor
from rkhs.constraints import Ball, CodeSet, SoftSphere
from rkhs.engines import Block, Engine, Serial, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.radial import Radial
from rkhs.problems.coordinates import STRIP, Coordinates

# Hidden layers start as ridge fits whose regulariser is one per cent of the mean of the diagonal. A layer that
# interpolates its targets has a huge norm and makes the objective of the layers below ill-conditioned: on digits,
# widths (10, 2, 10), the final objective is twice as large.
_START_RIDGE = 1e-2
# Scale of hidden coefficients relative to whitened parameters; best of the powers of ten from 1 to 1e4 on digits.
_HIDDEN_SCALE = 100.0

START_RADIUS = 0.9
"""Largest norm of initial codes in a ball: on the sphere the map has no radial derivative."""


MAX_ENCODER_ROWS = 32_768
"""Largest number of rows that the encoder of a staged fit is fitted to."""


class EncoderOutput(NamedTuple):
    """Result of the forward pass of an encoder: codes, penalty and the backward pass."""

    codes: Tensor  # (n, p): that the last layer reads
    encoder_penalty: float
    # Maps a gradient in the codes (may be overwritten) to the gradient in the parameters and the one preconditioned by
    # the RKHS metric.
    backward: Callable[[Tensor], tuple[Tensor, Tensor]]


class Encoder(Protocol):
    """A map from parameters (a point of the solver) to codes of the rows, with a penalty."""

    @property
    def factor(self) -> Coordinates:
        """Return the factor of the first layer."""

    def forward(self, point: Tensor) -> EncoderOutput:
        """Codes, penalty and the backward pass."""

    def layers(self, point: Tensor) -> list[Tensor]:
        """Codes of every layer."""

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Parameters of least norm for the codes of the first layer, and coefficients of hidden layers."""

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point with these codes of the first layer and these coefficients ``Phi_l A_l``."""

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        """The parameter vector made of these parts; inverse of ``parts``."""

    def start(self, targets: list[Tensor], scale: float, known: Tensor | None = None) -> Tensor:
        """Parameters with codes near ``scale * targets``; ``known``: exact parameters of the first target, or None."""


def gram_and_vjp(kernel: Kernel, Z: Tensor, A: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor]]]:
    """``k(Z, A)`` and its vector-Jacobian product: a gradient in it (overwritten) to those in ``Z`` and ``A``."""
    radial = kernel.radial
    if not isinstance(radial, Radial):
        K = kernel._gram(Z, A)
        return K, lambda S: kernel._pair_pullback(Z, A, S, K)
    K, slopes = radial.gram_and_slopes(Z, A)

    def vjp(S: Tensor) -> tuple[Tensor, Tensor]:
        M = S.mul_(slopes)
        return radial.pulled(Z, A, M), radial.pulled(A, Z, M.mT)

    return K, vjp


class _SingleLayer:
    """An encoder without hidden layers whose point is its parameter matrix."""

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The point itself; no hidden layers."""
        return point, []

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        """The parameters themselves."""
        return W


@dataclass(frozen=True, eq=False)
class UnconstrainedCodes(_SingleLayer):
    """Unconstrained codes ``F V`` with the penalty ``reg / 2 ||V||^2``; points are ``V`` of shape (dim, p)."""

    factor: Coordinates
    reg: float
    soft: SoftSphere | None = None  # adds the penalty that draws codes to the unit sphere
    weights: Tensor | None = None  # (n,): of the rows in this penalty, sum to one; None: equal

    def forward(self, point: Tensor) -> EncoderOutput:
        """``F V`` and its penalty."""
        encoder_penalty, Z = 0.5 * self.reg * float((point * point).sum()), self.factor.codes(point)
        if self.soft is None:
            return EncoderOutput(Z, encoder_penalty, lambda G: (self.factor.pull(G).add_(point, alpha=self.reg),) * 2)
        w = Z.new_full((len(Z),), 1.0 / len(Z)) if self.weights is None else self.weights
        penalty, slope = self.soft.penalty(Z, w)
        return EncoderOutput(
            Z, encoder_penalty + penalty, lambda G: (self.factor.pull(G.add_(slope)).add_(point, alpha=self.reg),) * 2
        )

    def layers(self, point: Tensor) -> list[Tensor]:
        """The codes."""
        return [self.factor.codes(point)]

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """The point of least norm whose codes are these."""
        return self.factor.solve(codes)

    def start(self, targets: list[Tensor], scale: float, known: Tensor | None = None) -> Tensor:
        """Scale ``known``, or solve for the scaled targets."""
        return scale * known if known is not None else self.factor.solve(scale * targets[0])


@dataclass(frozen=True, eq=False)
class CoefficientCodes(_SingleLayer):
    """Codes ``K Phi A`` with the penalty ``reg / 2 <K, Phi A Phi^T>``; points are ``Phi``, as in the paper."""

    gram: Tensor  # (n, n): ``K``
    reg: float
    operator: Tensor | None = None  # (p, p): ``A``

    def forward(self, point: Tensor) -> EncoderOutput:
        """Codes and penalty; the gradient in the RKHS is the plain gradient without its left factor ``K``."""
        A, Z = self.operator, self.layers(point)[0]

        def backward(G: Tensor) -> tuple[Tensor, Tensor]:
            H = torch.add(G, point, alpha=self.reg)
            H = H if A is None else H @ A
            return self.gram @ H, H

        return EncoderOutput(Z, 0.5 * self.reg * float((point * Z).sum()), backward)

    def layers(self, point: Tensor) -> list[Tensor]:
        """The codes."""
        return [self.gram @ (point if self.operator is None else point @ self.operator)]


@dataclass(frozen=True, eq=False)
class ConstrainedCodes:
    """Codes on a sphere, in a ball, or whitened: the projection of unconstrained codes ``F V``."""

    factor: Coordinates  # with codes for every row
    reg: float
    image: CodeSet | SmoothBall  # the set

    def forward(self, point: Tensor) -> EncoderOutput:
        """Codes on the set, with the smallest penalty of an encoder that has them."""
        factor = self.factor
        Y = factor.codes(point)
        Z = self.image.project(Y)
        least = factor.solve(Z)

        def backward(G: Tensor) -> tuple[Tensor, Tensor]:
            return (factor.pull(self.image.pullback(Y, G.add_(factor.coefficients(least), alpha=self.reg))),) * 2

        return EncoderOutput(Z, 0.5 * self.reg * float((least * least).sum()), backward)

    def layers(self, point: Tensor) -> list[Tensor]:
        """The codes on the set."""
        return [self.image.project(self.factor.codes(point))]

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Parameters of least norm of the codes at a point; no hidden layers."""
        return self.factor.solve(self.layers(point)[0]), []

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        """Parameters of codes on the set."""
        return self.resume(self.factor.codes(W), hidden)

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point whose codes are these, which lie on the set."""
        return self.factor.solve(self.image.lift(codes) if isinstance(self.image, SmoothBall) else codes)

    def start(self, targets: list[Tensor], scale: float, known: Tensor | None = None) -> Tensor:
        """Codes on the set, or well inside of a ball whatever the scale."""
        if isinstance(self.image, SmoothBall):
            return self.resume(START_RADIUS * targets[0] / divisor(targets[0].norm(dim=1).max()), [])
        return self.resume(self.image.project(scale * targets[0]), [])


def pad_or_truncate(Z: Tensor, p: int) -> Tensor:
    """The first ``p`` columns, and zeros where there are fewer: the identity between layers, and its transpose."""
    return Z[:, :p] if p <= Z.shape[1] else torch.nn.functional.pad(Z, (0, p - Z.shape[1]))


@dataclass(frozen=True, eq=False)
class DeepCodes:
    """Hidden layers ``Z_l = k_l(Z_(l-1), Z_a) Phi_l A_l``, each spread over the codes ``Z_a`` of the first rows."""

    first: Any  # Encoder of the first layer, or its coefficients
    kernels: tuple[Kernel, ...]  # of the hidden layers
    widths: tuple[int, ...]  # dimensions of the codes of all layers, the first one first
    reg: tuple[float, ...]  # one per hidden layer
    anchors: int  # how many; those of a layer are the codes of the first rows
    operators: tuple[Tensor | None, ...] = ()  # ``A_l`` of the hidden layers, where all rows are anchors
    weights: Tensor | None = None  # (n,): where all rows are anchors; sum to one
    # Whether every row is an anchor; the Gram matrices are then symmetric and stored.
    all_anchors: bool = False
    engine: Engine | None = None
    strip: int = STRIP
    shortcut: bool = False  # whether every layer adds to the codes below it

    @property
    def factor(self) -> Coordinates:
        """Return the factor of the first layer."""
        return self.first.factor

    @property
    def unit(self) -> Tensor | float:
        """Scale of the rows of ``Phi_l`` in a point; a row of weight two counts like two rows."""
        if isinstance(self.first, CoefficientCodes):
            return 1.0
        return (
            (_HIDDEN_SCALE / self.anchors) ** 0.5
            if self.weights is None
            else (_HIDDEN_SCALE * self.weights[:, None]).sqrt()
        )

    def _operator(self, layer: int) -> Tensor | None:
        return self.operators[layer] if self.operators else None

    def _mixed(self, Phi: Tensor, layer: int) -> Tensor:
        A = self._operator(layer)
        return Phi if A is None else Phi @ A

    def resume(self, codes: Tensor, hidden: list[Tensor]) -> Tensor:
        """A point whose first codes approximate these, with these coefficients."""
        operators = self.operators or (None,) * len(hidden)
        plain = [P if A is None else apply_inverse(P, A) for P, A in zip(hidden, operators, strict=True)]
        return self.pack(self.first.parts(self.first.resume(codes, []))[0], plain)

    def start(self, targets: list[Tensor], scale: float, known: Tensor | None = None) -> Tensor:
        """Ridge fits on the anchors in every layer."""
        W, hidden = self.first.start(targets[:1], scale), []
        below = self.first.layers(W)[0]
        for layer, (kernel, target) in enumerate(zip(self.kernels, targets[1:], strict=True)):
            K = kernel._gram(below[: self.anchors])
            K.diagonal().add_(self._ridge(K.diagonal()))
            L, _ = cholesky(K, name="the Gram matrix of a hidden layer")
            A, target = self._operator(layer), scale * target[: self.anchors]
            if self.shortcut:
                target = target - pad_or_truncate(below[: self.anchors], target.shape[1])
            hidden.append(torch.cholesky_solve(target if A is None else apply_inverse(target, A), L))
            below = self._next(kernel, below, self._mixed(hidden[-1], layer))[0]
        return self.pack(W, hidden)

    def _ridge(self, diagonal: Tensor) -> Tensor | float:
        """Ridge, a share of the mean diagonal divided by the weight of each row: weight two equals two rows."""
        if self.weights is None:
            return _START_RIDGE * self.anchors * float(diagonal.mean())
        return _START_RIDGE * float(self.weights @ diagonal) / self.weights

    def pack(self, W: Tensor, hidden: list[Tensor]) -> Tensor:
        """The parameter vector made of these parts; missing anchors get zero coefficients."""
        padded = [torch.cat([Phi, Phi.new_zeros(self.anchors - len(Phi), Phi.shape[1])]) / self.unit for Phi in hidden]
        return _joined(self.first.pack(W, []), *padded)

    def _split(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The point of the first layer, and coefficients of the others."""
        sizes = [self.anchors * p for p in self.widths[1:]]
        W, *hidden = torch.split(point, [point.numel() - sum(sizes), *sizes])
        dim = self.anchors if isinstance(self.first, CoefficientCodes) else self.factor.dim
        return W.view(dim, -1), [Phi.view(self.anchors, -1) * self.unit for Phi in hidden]

    def parts(self, point: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Parameters of the first layer and ``Phi_l`` of shape (a, p_l)."""
        W, hidden = self._split(point)
        return self.first.parts(W)[0], hidden

    def layers(self, point: Tensor) -> list[Tensor]:
        """Codes of every layer."""
        W, hidden = self._split(point)
        return self._through(self.first.layers(W)[0], hidden)[0]

    def _through(self, codes: Tensor, hidden: list[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor | None]]:
        """Codes of every layer, the kernel parts of hidden ones, and the Gram matrices that are stored."""
        layers, added, grams = [codes], [], []
        for layer, (kernel, Phi) in enumerate(zip(self.kernels, hidden, strict=True)):
            found, part, K = self._next(kernel, layers[-1], self._mixed(Phi, layer))
            layers.append(found)
            added.append(part)
            grams.append(K)
        return layers, added, grams

    def _next(self, kernel: Kernel, below: Tensor, C: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Codes of a layer with the coefficients ``C = Phi A``, and the part of its kernel."""
        K = None
        if self.all_anchors:
            K = kernel._gram(below)
            part = K @ C
        else:
            blocks, seen = row_blocks(len(below), self.strip), (self.anchors, below, kernel, C)
            part = torch.cat(list((self.engine or Serial()).map(_layer, blocks, None, seen)))
        return (part + pad_or_truncate(below, part.shape[1]) if self.shortcut else part), part, K

    def forward(self, point: Tensor) -> EncoderOutput:
        """Codes of the last hidden layer and the penalty. O(n a (p + p')) per layer."""
        W, hidden = self._split(point)
        first = self.first.forward(W)
        layers, added, grams = self._through(first.codes, hidden)
        encoder_penalty = first.encoder_penalty
        for reg, Phi, part in zip(self.reg, hidden, added, strict=True):
            encoder_penalty += 0.5 * reg * float((Phi * part[: self.anchors]).sum())

        def backward(G: Tensor) -> tuple[Tensor, Tensor]:
            grads: list[Tensor] = []
            naturals: list[Tensor] = []
            for layer in range(len(hidden) - 1, -1, -1):
                kernel, Phi, reg, K = self.kernels[layer], hidden[layer], self.reg[layer], grams[layer]
                below, above = layers[layer], G
                if K is None:
                    slope, G = self._pulled(below, kernel, Phi, G, added[layer], reg)
                    natural = slope
                else:
                    natural = self._mixed(torch.add(G, Phi, alpha=reg), layer)
                    slope = K @ natural
                    S = Outer(torch.add(G, Phi, alpha=0.5 * reg), self._mixed(Phi, layer))
                    G = kernel.pullback(below, S, K)
                G = G + pad_or_truncate(above, below.shape[1]) if self.shortcut else G
                naturals.append(natural / self.unit)
                grads.append(slope * self.unit)
            plain, rest = first.backward(G)
            return _joined(plain, *grads[::-1]), _joined(rest, *naturals[::-1])

        return EncoderOutput(layers[-1], encoder_penalty, backward)

    def _pulled(
        self, below: Tensor, kernel: Kernel, Phi: Tensor, G: Tensor, added: Tensor, reg: float
    ) -> tuple[Tensor, Tensor]:
        """Gradients in the coefficients of a layer and in the codes below it, in strips of rows."""
        blocks, seen = row_blocks(len(below), self.strip), (self.anchors, below, kernel, Phi, G)
        slope, dA, dZ = torch.zeros_like(Phi), torch.zeros_like(below[: self.anchors]), []
        for slope_part, codes_part, anchors_part in (self.engine or Serial()).map(_pull, blocks, None, seen):
            slope += slope_part
            dA += anchors_part
            dZ.append(codes_part)
        codes = torch.cat(dZ)
        codes[: self.anchors] += dA
        codes[: self.anchors] += kernel._pullback(below[: self.anchors], Outer(Phi, Phi), None).mul_(0.5 * reg)
        return slope.add_(added[: self.anchors], alpha=reg), codes


def _joined(*parts: Tensor) -> Tensor:
    """Parts of the parameters flattened into one vector."""
    return torch.cat([part.reshape(-1) for part in parts])


def _layer(items: Any, block: Block, seen: tuple[int, Tensor, Kernel, Tensor]) -> Tensor:
    """Codes of a strip in the next layer."""
    count, below, kernel, Phi = seen
    return kernel._gram(below[block.start : block.stop], below[:count]) @ Phi


def _pull(items: Any, block: Block, seen: tuple[int, Tensor, Kernel, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a strip in the coefficients of a layer, in its codes below and in the anchors there."""
    count, below, kernel, Phi, G = seen
    rows = slice(block.start, block.stop)
    K, vjp = gram_and_vjp(kernel, below[rows], below[:count])
    return (K.mT @ G[rows], *vjp(G[rows] @ Phi.mT))


class SmoothBall:
    """The unit ball as the image of ``y -> 2 y / (1 + ||y||^2)``: smooth and surjective; the projection has a kink."""

    @staticmethod
    def project(Y: Tensor) -> Tensor:
        """Codes in the ball."""
        return 2.0 * Y / (1.0 + (Y * Y).sum(1, keepdim=True))

    @staticmethod
    def pullback(Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``."""
        scale = 2.0 / (1.0 + (Y * Y).sum(1, keepdim=True))
        return scale * G - scale * scale * (Y * G).sum(1, keepdim=True) * Y

    @staticmethod
    def lift(Z: Tensor) -> Tensor:
        """The matrix that ``project`` maps to ``Z``, codes in the ball."""
        return Z / (1.0 + (1.0 - (Z * Z).sum(1, keepdim=True)).clamp_min(0.0).sqrt())


@singledispatch
def encoder_of(code_set: Any, factor: Coordinates, reg: float, weights: Tensor | None) -> Encoder:
    """The encoder of one hidden layer, dispatched on the class of its code set; register new classes here."""
    return ConstrainedCodes(factor, reg, code_set)


@encoder_of.register(SoftSphere)
@encoder_of.register(type(None))
def _free_codes(code_set: SoftSphere | None, factor: Coordinates, reg: float, weights: Tensor | None) -> Encoder:
    return UnconstrainedCodes(factor, reg, code_set, weights)


@encoder_of.register(Ball)
def _codes_in_a_ball(code_set: Ball, factor: Coordinates, reg: float, weights: Tensor | None) -> Encoder:
    return ConstrainedCodes(factor, reg, SmoothBall())
