"""The kernel autoencoder with its last layer eliminated.

With ``X_l = K_l Phi_l A_l`` for the layers ``l = 1..L`` and targets ``T`` in coordinates, the objective is

    J = sum_i w_i 1/2 ||t_i - x_i^(L)||^2 + sum_l reg_l / 2 <K_l, Phi_l A_l Phi_l^T>,   sum_i w_i = 1.

For fixed codes the last layer solves a linear system, so the first ``L - 1`` layers see one smooth reduced function
(half the scale of the paper). Layer 1 is whitened: ``X_1 = F V A_1^(1/2)`` with ``F F^T = K_1`` and penalty
``reg_1 / 2 ||V||^2``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rkhs._core.linalg import Factor, Outer, cholesky
from rkhs.kernels.base import Kernel

__all__ = ["Autoencoder", "Decoder"]


@dataclass(frozen=True)
class Decoder:
    """The optimal last layer at given codes.

    Parameters
    ----------
    coefficients : Tensor of shape (n, r)
        ``Phi A``: predictions are ``k(z, Z) Phi A``.
    root : Tensor of shape (n, r)
        ``Phi A^(1/2)``, so that ``N = root root^T``.
    value : float
        ``reg / 2 <T, Phi>``, the optimum of loss plus penalty.
    """

    coefficients: Tensor
    root: Tensor
    value: float


@dataclass(frozen=True)
class Autoencoder:
    """Reduced objective of a kernel autoencoder of any depth.

    Parameters
    ----------
    factor : Factor
        ``F F^T = K_1``, n rows and r columns.
    target : Tensor of shape (n, q)
        Coordinates of the targets.
    kernels : tuple of Kernel
        Kernels of the layers 2..L.
    widths : tuple of int
        Dimensions of the codes of the layers 1..L-1.
    reg : tuple of float
        Regularisers of the layers 1..L.
    operators : tuple of Tensor or None
        Positive semi-definite ``A_l`` of the layers 1..L; None is the identity.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; default ``1/n``.

    References
    ----------
    Laforgue et al. (2019), equation 8, section 4.2 and appendix B. The elimination of
    the last layer is derived in ``docs/papers/kernel_autoencoders.md``.
    """

    factor: Factor
    target: Tensor
    kernels: tuple[Kernel, ...]
    widths: tuple[int, ...]
    reg: tuple[float, ...]
    operators: tuple[Tensor | None, ...] = ()
    weights: Tensor | None = None
    solvers: tuple[str, ...] = ("lbfgs", "adam")
    _roots: tuple[Tensor | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        operators = self.operators or (None,) * len(self.reg)
        object.__setattr__(self, "operators", operators)
        object.__setattr__(self, "_roots", tuple(None if A is None else _square_root(A) for A in operators))

    @property
    def n(self) -> int:
        """Number of training items."""
        return self.target.shape[0]

    def pack(self, parts: list[Tensor]) -> Tensor:
        """Join ``V`` (r, p_1) and ``Phi_2..Phi_{L-1}`` (n, p_l) into one vector."""
        return torch.cat([part.reshape(-1) for part in parts])

    def unpack(self, point: Tensor) -> list[Tensor]:
        """Split a vector into ``V`` and ``Phi_2..Phi_{L-1}``; inverse of :meth:`pack`."""
        rows = [self.factor.matrix.shape[1]] + [self.n] * (len(self.widths) - 1)
        sizes = [r * p for r, p in zip(rows, self.widths, strict=True)]
        pieces = torch.split(point, sizes)
        return [piece.view(r, p) for piece, r, p in zip(pieces, rows, self.widths, strict=True)]

    def codes(self, point: Tensor) -> list[Tensor]:
        """Codes of the layers 1..L-1, each of shape (n, p_l)."""
        return self._forward(self.unpack(point))[0]

    def _forward(self, parts: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        V = parts[0]
        root = self._roots[0]
        codes, grams = [self.factor.matrix @ (V if root is None else V @ root)], []
        for kernel, Phi, A in zip(self.kernels, parts[1:], self.operators[1:], strict=False):
            K = kernel._gram(codes[-1])
            grams.append(K)
            codes.append(K @ (Phi if A is None else Phi @ A))
        return codes, grams

    def decoder(self, codes: Tensor) -> Decoder:
        """Best last layer for the given codes of layer L-1, shape (n, p)."""
        K, A, reg, T = self.kernels[-1]._gram(codes), self.operators[-1], self.reg[-1], self.target
        if A is None:
            K.diagonal().add_(self._ridge(reg))
            L, _ = cholesky(K, name="the decoder system K + n reg I")
            del K
            Phi = torch.cholesky_solve(T, L)
            return Decoder(Phi, Phi, 0.5 * reg * float((T * Phi).sum()))
        # K Phi A + reg W^-1 Phi = T in the eigenbases of W^(1/2) K W^(1/2) and A: no Kronecker system.
        w = self.weights.sqrt() if self.weights is not None else T.new_full((self.n,), self.n**-0.5)
        s, U = torch.linalg.eigh(w[:, None] * K * w[None, :])
        a, Q = torch.linalg.eigh(A)
        Y = U.mT @ (w[:, None] * T) @ Q
        Phi = w[:, None] * (U @ (Y / (torch.outer(s.clamp_min(0.0), a.clamp_min(0.0)) + reg)) @ Q.mT)
        root = self._roots[-1]
        return Decoder(Phi @ A, Phi @ root, 0.5 * reg * float((T * Phi).sum()))

    def _ridge(self, reg: float) -> Tensor | float:
        return self.n * reg if self.weights is None else reg / self.weights

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and its gradient, shape of ``point``. O(n^3 / 3 + n^2 (d + p)) for two layers."""
        parts = self.unpack(point)
        codes, grams = self._forward(parts)
        decoder = self.decoder(codes[-1])
        value = decoder.value + 0.5 * self.reg[0] * float((parts[0] * parts[0]).sum())
        # Envelope theorem: the derivative at the optimal last layer is that with the last layer fixed.
        G = self.kernels[-1].pullback(codes[-1], Outer(decoder.root, decoder.root)).mul_(-0.5 * self.reg[-1])
        grads: list[Tensor] = []
        for layer in range(len(self.widths) - 1, 0, -1):
            Phi, A, reg, K = parts[layer], self.operators[layer], self.reg[layer], grams[layer - 1]
            PhiA = Phi if A is None else Phi @ A
            value += 0.5 * reg * float((Phi * (codes[layer])).sum())
            inner = G + reg * Phi
            grads.append(K @ (inner if A is None else inner @ A))
            G = self.kernels[layer - 1].pullback(codes[layer - 1], Outer(G + 0.5 * reg * Phi, PhiA), K)
        first = self.factor.matrix.mT @ G
        root = self._roots[0]
        grads.append((first if root is None else first @ root).add_(parts[0], alpha=self.reg[0]))
        return value, self.pack(grads[::-1])

    def metric(self, point: Tensor) -> Callable[[Tensor], Tensor]:
        """Whitening of the middle layers at ``point``: the RKHS gradient in place of the plain one."""
        if len(self.widths) == 1:
            return _identity
        _, grams = self._forward(self.unpack(point))
        factors = []
        for K in grams:
            K.diagonal().add_(1e-6 * float(K.diagonal().mean()))
            factors.append(cholesky(K, name="the Gram matrix of a hidden layer")[0])

        def precondition(gradient: Tensor) -> Tensor:
            first, *rest = self.unpack(gradient)
            return self.pack([first, *(torch.cholesky_solve(g, L) for g, L in zip(rest, factors, strict=True))])

        return precondition


def _identity(gradient: Tensor) -> Tensor:
    return gradient


def _square_root(A: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(A)
    return (vectors * values.clamp_min(0.0).sqrt()) @ vectors.mT
