"""The kernel autoencoder with all of its layers as variables, as in the paper, and with its last layer held fixed.

With ``X_l = K_l Phi_l A_l`` for the layers ``l = 1..L`` and targets ``T`` in coordinates, the objective is

    J = sum_i w_i 1/2 ||t_i - x_i^(L)||^2 + sum_l reg_l / 2 <K_l, Phi_l A_l Phi_l^T>,   sum_i w_i = 1.

The gradient comes from one backward recursion. With ``G_L = dJ/dX_L``, for ``l = L..1``:

    H_l = G_l + reg_l Phi_l,   dJ/dPhi_l = K_l H_l A_l,   dJ/dK_l = (G_l + reg_l / 2 Phi_l) (Phi_l A_l)^T,

and ``G_(l-1)`` is the pull-back of ``dJ/dK_l``. Dropping the common left factor ``K_l`` gives ``H_l A_l``, the gradient
in the reproducing kernel Hilbert space of the layer, at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rkhs._core.linalg import Outer
from rkhs.kernels.base import Kernel
from rkhs.problems.decoder import Decoder, optimal_decoder

__all__ = ["FrozenDecoder", "JointAutoencoder"]


@dataclass(frozen=True)
class _Layers:
    """The layers 1..len(parts) of a network: forward pass with its penalties, and the backward recursion."""

    gram: Tensor
    kernels: tuple[Kernel, ...]
    reg: tuple[float, ...]
    operators: tuple[Tensor | None, ...]

    def forward(self, parts: list[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor], float]:
        """Gram matrices, ``Phi_l A_l``, outputs of every layer, and the sum of the penalties."""
        grams, penalty = [self.gram], 0.0
        mixed: list[Tensor] = []
        outputs: list[Tensor] = []
        for layer, (Phi, A) in enumerate(zip(parts, self.operators, strict=False)):
            if layer > 0:
                grams.append(self.kernels[layer - 1]._gram(outputs[-1]))
            mixed.append(Phi if A is None else Phi @ A)
            outputs.append(grams[-1] @ mixed[-1])
            penalty += 0.5 * self.reg[layer] * float((Phi * outputs[-1]).sum())
        return grams, mixed, outputs, penalty

    def backward(
        self, parts: list[Tensor], grams: list[Tensor], mixed: list[Tensor], outputs: list[Tensor], G: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Plain and RKHS gradient from ``G``, the derivative with respect to the last of these outputs."""
        plain, natural = [], []
        for layer in range(len(parts) - 1, -1, -1):
            Phi, A, reg = parts[layer], self.operators[layer], self.reg[layer]
            H = torch.add(G, Phi, alpha=reg)
            natural.append(H if A is None else H @ A)
            plain.append(grams[layer] @ natural[-1])
            if layer > 0:
                S = Outer(torch.add(G, Phi, alpha=0.5 * reg), mixed[layer])
                G = self.kernels[layer - 1].pullback(outputs[layer - 1], S, grams[layer])
        return _join(plain[::-1]), _join(natural[::-1])


@dataclass(frozen=True)
class JointAutoencoder:
    """Objective of a kernel autoencoder over the coefficients of all layers, ``Phi_1..Phi_L``."""

    gram: Tensor  # (n, n): ``K_1``, the Gram matrix of the inputs
    target: Tensor  # (n, q): coordinates of the targets
    kernels: tuple[Kernel, ...]  # kernels of the layers 2..L
    widths: tuple[int, ...]  # dimensions of the codes of the layers 1..L-1
    reg: tuple[float, ...]  # regularisers of the layers 1..L
    operators: tuple[Tensor | None, ...] = ()  # (Tensor or None)
    weights: Tensor | None = None  # (n,): sample weights that sum to one; default ``1/n``
    solvers: tuple[str, ...] = ("gradient_descent", "alternating", "adam", "lbfgs")

    def __post_init__(self) -> None:
        object.__setattr__(self, "operators", self.operators or (None,) * len(self.reg))

    @property
    def n(self) -> int:
        """Number of training items."""
        return self.target.shape[0]

    @property
    def _layers(self) -> _Layers:
        return _Layers(self.gram, self.kernels, self.reg, self.operators)

    def pack(self, parts: list[Tensor]) -> Tensor:
        """Join ``Phi_1..Phi_L`` (or ``Phi_1..Phi_(L-1)``), each (n, p_l), into one vector."""
        return _join(parts)

    def unpack(self, point: Tensor) -> list[Tensor]:
        """Split a vector into the coefficients of all layers, or of all but the last; inverse of :meth:`pack`."""
        widths = (*self.widths, self.target.shape[1])
        return _split(point, self.n, widths if point.numel() == self.n * sum(widths) else self.widths)

    def _residual(self, fitted: Tensor) -> tuple[float, Tensor]:
        """Loss, and its derivative with respect to the outputs of the last layer."""
        R = fitted - self.target
        G = R / self.n if self.weights is None else R * self.weights[:, None]
        return 0.5 * float(torch.dot(R.view(-1), G.view(-1))), G

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and its gradient, shape of ``point``."""
        value, grad, _ = self.value_and_grads(point)
        return value, grad

    def value_and_grads(self, point: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective, gradient, and RKHS gradient: the former is the Gram matrix of each layer times the latter."""
        parts = self.unpack(point)
        grams, mixed, outputs, penalty = self._layers.forward(parts)
        loss, G = self._residual(outputs[-1])
        return loss + penalty, *self._layers.backward(parts, grams, mixed, outputs, G)

    def codes(self, first: Tensor) -> list[Tensor]:
        """Codes of the layers 1..L-1 from their coefficients, each (n, p_l)."""
        return self._layers.forward(_split(first, self.n, self.widths))[2]

    def decoder(self, codes: Tensor) -> Decoder:
        """Best last layer for the given codes of layer L-1, shape (n, p)."""
        return optimal_decoder(
            self.kernels[-1]._gram(codes), codes, self.target, self.reg[-1], self.operators[-1], self.weights
        )

    def complete(self, first: Tensor) -> Tensor:
        """Append the best last layer to the coefficients of the other layers."""
        return torch.cat([first, self.decoder(self.codes(first)[-1]).parameters.reshape(-1)])

    def freeze_last(self, first: Tensor) -> FrozenDecoder:
        """Update the last layer to its optimum at ``first`` and hold it there: one step of algorithm 1."""
        return FrozenDecoder(self, first, self.decoder(self.codes(first)[-1]))


@dataclass(frozen=True)
class FrozenDecoder:
    """The joint objective as a function of the layers 1..L-1, the last layer being held fixed.

    Where the outputs have many coordinates, as features of a kernel do, only the n x n matrices ``B = T (Phi A)^T``,
    ``M = Phi A (Phi A)^T`` and ``N = Phi A Phi^T`` of the last layer are kept. With ``K`` the Gram matrix of the last
    codes and ``W = diag(w)``,

    so ``dJ/dK = W (K M - B) + reg_L / 2 N``. At the codes for which the last layer is optimal this is
    ``-reg_L / 2 N``, the gradient of the reduced objective, and nothing else is computed there; away from them ``N``
    alone does not determine the distortion, which is why ``B`` is kept too.
    """

    joint: JointAutoencoder
    first: Tensor  # coefficients of the layers 1..L-1 for which the last layer is optimal; recognised by identity
    decoder: Decoder  # the last layer
    solvers: tuple[str, ...] = ("gradient_descent", "adam", "lbfgs")  # names of the solvers that fit, for messages

    @property
    def route(self) -> str:
        """``"coordinates"`` or ``"gram"``: which of two algebraically equal forms is computed away from ``first``."""
        return "gram" if 3 * self.joint.target.shape[1] > self.joint.n else "coordinates"

    @cached_property
    def _matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """``B``, ``M`` and ``N``."""
        mixed, root = self.decoder.coefficients, self.decoder.root
        N = root @ root.mT
        return self.joint.target @ mixed.mT, N if mixed is root else mixed @ mixed.mT, N

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and its gradient with respect to ``Phi_1..Phi_(L-1)``, shape of ``point``."""
        value, grad, _ = self.value_and_grads(point)
        return value, grad

    def value_and_grads(self, point: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective, gradient and RKHS gradient; see :meth:`JointAutoencoder.value_and_grads`."""
        joint = self.joint
        parts = _split(point, joint.n, joint.widths)
        grams, mixed, outputs, penalty = joint._layers.forward(parts)
        kernel = joint.kernels[-1]
        if point is self.first:
            value, root = self.decoder.value, self.decoder.root
            G = kernel.pullback(outputs[-1], Outer(root, root)).mul_(-0.5 * joint.reg[-1])
        else:
            K = kernel._gram(outputs[-1])
            value, S = self._by_gram(K) if self.route == "gram" else self._by_coordinates(K)
            G = kernel.pullback(outputs[-1], S, K)
        return value + penalty, *joint._layers.backward(parts, grams, mixed, outputs, G)

    def _by_coordinates(self, K: Tensor) -> tuple[float, Tensor | Outer]:
        """Loss and last penalty, and their derivative with respect to ``K``, from residuals: O(n^2 q)."""
        reg, last, fitted = self.joint.reg[-1], self.decoder.parameters, K @ self.decoder.coefficients
        loss, G = self.joint._residual(fitted)
        penalty = 0.5 * reg * float((last * fitted).sum())
        return loss + penalty, Outer(G.add_(last, alpha=0.5 * reg), self.decoder.coefficients)

    def _by_gram(self, K: Tensor) -> tuple[float, Tensor | Outer]:
        """The same from the n x n matrices: O(n^3) for any number of coordinates."""
        B, M, N = self._matrices
        joint, reg = self.joint, self.joint.reg[-1]
        w = K.new_full((joint.n,), 1.0 / joint.n) if joint.weights is None else joint.weights
        KM = K @ M
        norms = float(w @ (joint.target * joint.target).sum(1))
        crossed = float(w @ ((KM * K).sum(1) - 2.0 * (K * B).sum(1)))
        value = 0.5 * (norms + crossed + reg * float(torch.dot(K.view(-1), N.reshape(-1))))
        return value, KM.sub_(B).mul_(w[:, None]).add_(N, alpha=0.5 * reg)


def _join(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def _split(point: Tensor, n: int, widths: tuple[int, ...]) -> list[Tensor]:
    pieces = torch.split(point, [n * p for p in widths])
    return [piece.view(n, p) for piece, p in zip(pieces, widths, strict=True)]
