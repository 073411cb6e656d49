"""The kernel autoencoder with all of its layers as variables, as in the paper, and with its last layer held fixed.

With ``X_l = K_l Phi_l A_l`` for the layers ``l = 1..L`` and targets ``T`` in coordinates, the objective is

    J = sum_i w_i 1/2 ||t_i - x_i^(L)||^2 + sum_l reg_l / 2 <K_l, Phi_l A_l Phi_l^T>,   sum_i w_i = 1.

The gradient comes from one backward recursion. With ``G_L = dJ/dX_L``, for ``l = L..1``:

    H_l = G_l + reg_l Phi_l,   dJ/dPhi_l = K_l H_l A_l,   dJ/dK_l = (G_l + reg_l / 2 Phi_l) (Phi_l A_l)^T,

and ``G_(l-1)`` is the pull-back of ``dJ/dK_l``. Dropping the common left factor ``K_l`` gives ``H_l A_l``, the gradient
in the reproducing kernel Hilbert space of the layer, at no cost. Algorithm 1 of the paper holds the last layer at its
optimum, ``last``: the objective is then one of the other layers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rkhs._core.linalg import Outer
from rkhs.kernels.base import Kernel
from rkhs.problems.decoder import Decoder, optimal_decoder

__all__ = ["JointAutoencoder"]


@dataclass(frozen=True)
class JointAutoencoder:
    """Objective of a kernel autoencoder over the coefficients ``Phi_1..Phi_L`` of all layers."""

    gram: Tensor  # (n, n): ``K_1``, the Gram matrix of the inputs
    target: Tensor  # (n, q): coordinates of the targets
    kernels: tuple[Kernel, ...]  # kernels of the layers 2..L
    widths: tuple[int, ...]  # dimensions of the codes of the layers 1..L-1
    reg: tuple[float, ...]  # regularisers of the layers 1..L
    operators: tuple[Tensor | None, ...] = ()  # one a layer
    weights: Tensor | None = None  # sample weights that sum to one; default ``1/n``
    last: Tensor | None = None  # (n, q): ``Phi_L``, where it is held fixed
    solvers: tuple[str, ...] = ("gradient_descent", "alternating", "adam", "lbfgs")

    def pack(self, parts: list[Tensor]) -> Tensor:
        """Join ``Phi_1..Phi_L`` (or ``Phi_1..Phi_(L-1)``), each (n, p_l), into one vector."""
        return torch.cat([part.reshape(-1) for part in parts])

    def unpack(self, point: Tensor) -> list[Tensor]:
        """Split a vector into the coefficients of all layers, or of all but the last; inverse of :meth:`pack`."""
        n, widths = len(self.target), (*self.widths, self.target.shape[1])
        widths = widths if point.numel() == n * sum(widths) else self.widths
        return [part.view(n, -1) for part in torch.split(point, [n * p for p in widths])]

    def _mixed(self, Phi: Tensor, layer: int) -> Tensor:
        A = self.operators[layer] if self.operators else None
        return Phi if A is None else Phi @ A

    def _through(self, parts: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Gram matrices and outputs of the layers with these coefficients."""
        grams, outputs = [self.gram], [self.gram @ self._mixed(parts[0], 0)]
        for layer, (kernel, Phi) in enumerate(zip(self.kernels, parts[1:], strict=False), 1):
            grams.append(kernel._gram(outputs[-1]))
            outputs.append(grams[-1] @ self._mixed(Phi, layer))
        return grams, outputs

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Objective and its gradient, shape of ``point``."""
        return self.value_and_grads(point)[:2]

    def value_and_grads(self, point: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective, gradient, and RKHS gradient: the former is the Gram matrix of each layer times the latter."""
        free = self.unpack(point)
        parts = free if self.last is None else [*free, self.last]
        grams, outputs = self._through(parts)
        R = outputs[-1] - self.target
        G = R / len(R) if self.weights is None else R * self.weights[:, None]
        value = 0.5 * float(torch.dot(R.view(-1), G.view(-1)))
        plain: list[Tensor] = []
        natural: list[Tensor] = []
        for layer in range(len(parts) - 1, -1, -1):
            Phi, reg = parts[layer], self.reg[layer]
            value += 0.5 * reg * float((Phi * outputs[layer]).sum())
            if layer < len(free):
                natural.insert(0, self._mixed(torch.add(G, Phi, alpha=reg), layer))
                plain.insert(0, grams[layer] @ natural[0])
            if layer > 0:
                S = Outer(torch.add(G, Phi, alpha=0.5 * reg), self._mixed(Phi, layer))
                G = self.kernels[layer - 1].pullback(outputs[layer - 1], S, grams[layer])
        return value, self.pack(plain), self.pack(natural)

    def codes(self, first: Tensor) -> list[Tensor]:
        """Codes of the layers 1..L-1 from their coefficients, each (n, p_l)."""
        return self._through(self.unpack(first))[1]

    def decoder(self, codes: Tensor) -> Decoder:
        """Best last layer for the given codes of layer L-1, shape (n, p)."""
        K, A = self.kernels[-1]._gram(codes), self.operators[-1] if self.operators else None
        return optimal_decoder(K, codes, self.target, self.reg[-1], A, self.weights)

    def complete(self, first: Tensor) -> Tensor:
        """Append the best last layer to the coefficients of the other layers."""
        return torch.cat([first, self.decoder(self.codes(first)[-1]).parameters.reshape(-1)])

    def freeze_last(self, first: Tensor) -> JointAutoencoder:
        """Update the last layer to its optimum at ``first`` and hold it there: one step of algorithm 1."""
        return replace(self, last=self.decoder(self.codes(first)[-1]).parameters)
