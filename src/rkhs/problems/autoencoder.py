"""The kernel autoencoder with its last layer eliminated: an encoder, and the best last layer for its codes.

With ``X_l = K_l Phi_l A_l`` for the layers ``l = 1..L`` and targets ``T`` in coordinates, the objective is

    J = sum_i w_i 1/2 ||t_i - x_i^(L)||^2 + sum_l reg_l / 2 <K_l, Phi_l A_l Phi_l^T>,   sum_i w_i = 1.

For fixed codes the last layer solves a linear system, so the first ``L - 1`` layers see one smooth reduced function
(half the scale of the paper). Layer 1 is whitened: ``X_1 = F V A_1^(1/2)`` with ``F F^T = K_1`` and penalty
``reg_1 / 2 ||V||^2``.

The paper also updates all layers at once, or fixes the last one between updates (algorithm 1). With ``G_L = dJ/dX_L``,
for ``l = L..1``: ``dJ/dPhi_l = K_l (G_l + reg_l Phi_l) A_l``, and ``G_(l-1)`` is the pull-back of
``(G_l + reg_l / 2 Phi_l) (Phi_l A_l)^T``. Without its left factor ``K_l`` that is the gradient in the function space of
the layer, at no cost.

In finite features the kernel of the encoder is ``Q Q^T + F F^T + diag(s^2)`` with principal coordinates ``Q`` and
``s_i^2 = k(x_i, x_i)``, low rank plus a diagonal (Snelson and Ghahramani, 2006, whose diagonal is the residual of the
features): every row has a code of its own, ``reg_1 / (2 s^2) ||z - f(x)||^2`` penalises its distance from the code of
the encoder, and a new row is coded with the same penalty. The diagonal is all of ``k(x, x)`` because the residual of
landmarks is zero at a landmark and small where rows are alike: codes of training rows were then fixed where those of
new rows are free, and regularisers chosen on such rows were biased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.constraints import CodeSet
from rkhs.kernels.base import Kernel
from rkhs.problems.coordinates import Coordinates, MixedCoordinates
from rkhs.problems.decoder import Decoder, optimal_decoder
from rkhs.problems.encoders import CoefficientCodes, DeepCodes, Encoder, encoder_of
from rkhs.problems.last_layers import FrozenLayer, ItemsLayer, LastLayer


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """Reduced objective of a kernel autoencoder; points are those of its encoder."""

    encoder: Encoder
    last_layer: LastLayer
    curvature: tuple[Any, ...] = ()  # curvature pairs of a similar problem, with which L-BFGS starts
    solvers: tuple[str, ...] = ("lbfgs", "adam", "gradient_descent", "alternating")  # that apply, for messages

    @property
    def size(self) -> int:
        """Number of rows."""
        layer: Any = self.last_layer
        return len(layer.target)

    def value(self, point: Tensor) -> float:
        """Reduced objective alone."""
        coded = self.encoder.forward(point)
        return self.last_layer.solve(coded.codes).value + coded.encoder_penalty

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and its gradient, shape of ``point``."""
        return self.value_and_grads(point)[:2]

    def value_and_grads(self, point: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective, gradient, and the gradient in the function spaces of the layers."""
        coded = self.encoder.forward(point)
        try:
            value, G = self.last_layer.value_and_gradient(coded.codes)
        except InputError:  # a system that is singular: too long a step of a line search
            return float("inf"), torch.zeros_like(point), torch.zeros_like(point)
        return value + coded.encoder_penalty, *coded.backward(G)

    def freeze_last(self, first: Tensor) -> Autoencoder:
        """Return the problem with the best last layer at ``first`` fixed: one step of algorithm 1."""
        layer: Any = self.last_layer
        frozen: Any = FrozenLayer(layer, layer.solve(self.encoder.layers(first)[-1]).parameters)
        return replace(self, last_layer=frozen)


def items_autoencoder(
    factor: Coordinates | Tensor,
    target: Tensor,
    kernels: tuple[Kernel, ...],
    widths: tuple[int, ...],
    reg: tuple[float, ...],
    operators: tuple[Tensor | None, ...] = (),
    weights: Tensor | None = None,
    rule: Callable[..., Decoder] = optimal_decoder,
    *,
    code_set: CodeSet | None = None,
    shortcut: bool = False,
    moving: bool = False,
) -> Autoencoder:
    """Build a problem of any depth with all items as anchors; kernels of layers 2..L, the rest one per layer."""
    # With a Gram matrix as ``factor`` points are coefficients, also those of a last layer that is ``moving``.
    A, *between, last = operators or (None,) * len(reg)
    encoder: Any = None
    if isinstance(factor, Tensor):
        encoder = CoefficientCodes(factor, reg[0], A)
    else:
        encoder = encoder_of(code_set, factor if A is None else MixedCoordinates(factor, A), reg[0], weights)
    layer: Any = ItemsLayer(target, kernels[-1].radial or kernels[-1], reg[-1], last, weights, rule)
    hidden = kernels[:-1], widths, reg[1:-1], tuple(between)
    if moving:
        layer = FrozenLayer(layer)
        hidden = kernels, (*widths, target.shape[1]), reg[1:], (*between, last)
    if hidden[0]:
        kernels, widths, reg, operators = hidden
        n = len(target)
        encoder = DeepCodes(encoder, kernels, widths, reg, n, operators, weights, all_anchors=True, shortcut=shortcut)
    return Autoencoder(encoder, layer)
