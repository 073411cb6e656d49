"""The kernel autoencoder with its last layer eliminated.

With ``X_l = K_l Phi_l A_l`` for the layers ``l = 1..L`` and targets ``T`` in coordinates, the objective is

    J = sum_i w_i 1/2 ||t_i - x_i^(L)||^2 + sum_l reg_l / 2 <K_l, Phi_l A_l Phi_l^T>,   sum_i w_i = 1.

For fixed codes the last layer solves a linear system, so the first ``L - 1`` layers see one smooth reduced function
(half the scale of the paper). Layer 1 is whitened: ``X_1 = F V A_1^(1/2)`` with ``F F^T = K_1`` and penalty
``reg_1 / 2 ||V||^2``. The hidden layers keep their coefficients and the plain gradient: its factor ``K_l`` favours
smooth directions, and whitening these layers too, exactly or damped, measured worse from smooth starts (digits, widths
(10, 2, 10), 200 iterations: 0.144 whitened, 0.132 plain).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from rkhs._core.linalg import Outer
from rkhs.kernels.base import Kernel
from rkhs.problems.decoder import Decoder, optimal_decoder, square_root

__all__ = ["Autoencoder"]

# Length of a row of hidden coefficients beside whitened ones; measured best of powers of ten from 1 to 1e4 on digits.
_UNIT = 100.0


class Coordinates(Protocol):
    """A whitened first layer: ``V`` (dim, p) gives the codes ``F V`` (n, p) at the price ``||V||^2``."""

    @property
    def dim(self) -> int:
        """Number of columns of ``F``."""
        ...

    def codes(self, V: Tensor) -> Tensor:
        """``F V``, shape (n, p)."""
        ...

    def pull(self, G: Tensor) -> Tensor:
        """``F^T G`` of shape (dim, p) for ``G`` of shape (n, p)."""
        ...

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters ``V`` of given codes."""
        ...

    def coefficients(self, V: Tensor) -> Tensor:
        """Representer coefficients of the kernel, shape (n, p)."""
        ...


@dataclass(frozen=True)
class Autoencoder:
    """Reduced objective of a kernel autoencoder of any depth."""

    factor: Coordinates
    target: Tensor  # (n, q): coordinates of the targets
    kernels: tuple[Kernel, ...]  # kernels of the layers 2..L
    widths: tuple[int, ...]  # dimensions of the codes of the layers 1..L-1
    reg: tuple[float, ...]  # regularisers of the layers 1..L
    operators: tuple[Tensor | None, ...] = ()
    weights: Tensor | None = None  # (n,): sample weights that sum to one; default ``1/n``
    last_layer: Callable[..., Decoder] = optimal_decoder
    solvers: tuple[str, ...] = ("lbfgs", "adam")  # names of the solvers that fit, for messages
    _roots: tuple[Tensor | None, ...] = field(init=False)
    _last: Kernel = field(init=False)

    def __post_init__(self) -> None:
        operators = self.operators or (None,) * len(self.reg)
        object.__setattr__(self, "operators", operators)
        object.__setattr__(self, "_last", self.kernels[-1].radial or self.kernels[-1])
        object.__setattr__(self, "_roots", tuple(None if A is None else square_root(A) for A in operators))

    @property
    def n(self) -> int:
        """Number of training items."""
        return self.target.shape[0]

    def _unit(self, layer: int) -> Tensor | float:
        """Unit of a row of ``Phi_l`` in a point: with it a row of weight two has the geometry of two rows."""
        if layer == 0:
            return 1.0
        return (_UNIT / self.n) ** 0.5 if self.weights is None else (_UNIT * self.weights[:, None]).sqrt()

    def pack(self, parts: list[Tensor]) -> Tensor:
        """Join ``V`` (r, p_1) and ``Phi_2..Phi_{L-1}`` (n, p_l), the latter in units of root weights."""
        return torch.cat([(part / self._unit(layer)).reshape(-1) for layer, part in enumerate(parts)])

    def unpack(self, point: Tensor) -> list[Tensor]:
        """Split a vector into ``V`` and ``Phi_2..Phi_{L-1}``; inverse of :meth:`pack`."""
        rows = [self.factor.dim] + [self.n] * (len(self.widths) - 1)
        sizes = [r * p for r, p in zip(rows, self.widths, strict=True)]
        pieces = torch.split(point, sizes)
        shaped = [piece.view(r, p) for piece, r, p in zip(pieces, rows, self.widths, strict=True)]
        return [part * self._unit(layer) for layer, part in enumerate(shaped)]

    def codes(self, point: Tensor) -> list[Tensor]:
        """Codes of the layers 1..L-1, each of shape (n, p_l)."""
        return self._forward(self.unpack(point))[0]

    def _forward(self, parts: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        V = parts[0]
        root = self._roots[0]
        codes, grams = [self.factor.codes(V if root is None else V @ root)], []
        for kernel, Phi, A in zip(self.kernels, parts[1:], self.operators[1:], strict=False):
            K = kernel._gram(codes[-1])
            grams.append(K)
            codes.append(K @ (Phi if A is None else Phi @ A))
        return codes, grams

    def decoder(self, codes: Tensor) -> Decoder:
        """Best last layer for the given codes of layer L-1, shape (n, p)."""
        return self._decoder(self._last._gram(codes), codes)

    def _decoder(self, K: Tensor, codes: Tensor) -> Decoder:
        return self.last_layer(K, codes, self.target, self.reg[-1], self.operators[-1], self.weights)

    def value(self, point: Tensor) -> float:
        """Reduced objective alone."""
        parts = self.unpack(point)
        codes, _ = self._forward(parts)
        value = self.decoder(codes[-1]).value + 0.5 * self.reg[0] * float((parts[0] * parts[0]).sum())
        for reg, Phi, Z in zip(self.reg[1:], parts[1:], codes[1:], strict=False):
            value += 0.5 * reg * float((Phi * Z).sum())
        return value

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and its gradient, shape of ``point``. O(n^3 / 3 + n^2 (d + p)) for two layers."""
        parts = self.unpack(point)
        codes, grams = self._forward(parts)
        K, pull = self._last.gram_and_pullback(codes[-1])
        decoder = self._decoder(K, codes[-1])
        value = decoder.value + 0.5 * self.reg[0] * float((parts[0] * parts[0]).sum())
        # Envelope theorem: the derivative at the optimal last layer is that with the last layer fixed.
        G = pull(Outer(decoder.root, decoder.root)).mul_(-0.5 * self.reg[-1])
        if decoder.linear is not None:
            G.addmm_(decoder.parameters, decoder.linear[:-1].mT, alpha=-self.reg[-1])
        grads: list[Tensor] = []
        for layer in range(len(self.widths) - 1, 0, -1):
            Phi, A, reg, K = parts[layer], self.operators[layer], self.reg[layer], grams[layer - 1]
            PhiA = Phi if A is None else Phi @ A
            value += 0.5 * reg * float((Phi * (codes[layer])).sum())
            inner = G + reg * Phi
            grads.append(K @ (inner if A is None else inner @ A))
            G = self.kernels[layer - 1].pullback(codes[layer - 1], Outer(G + 0.5 * reg * Phi, PhiA), K)
        first = self.factor.pull(G)
        root = self._roots[0]
        grads.append((first if root is None else first @ root).add_(parts[0], alpha=self.reg[0]))
        return value, torch.cat([(g * self._unit(layer)).reshape(-1) for layer, g in enumerate(grads[::-1])])

    def relative_ridge(self, K: Tensor, share: float) -> Tensor | float:
        """``share`` of the mean of the diagonal over each weight: added to it, weight two is the same as two rows."""
        if self.weights is None:
            return share * self.n * float(K.diagonal().mean())
        return share * float(self.weights @ K.diagonal()) / self.weights
