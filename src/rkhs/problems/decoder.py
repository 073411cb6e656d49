"""The last layer at fixed codes: a linear system with a closed form, for every operator and all sample weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.linalg import solve_positive, square_root


@dataclass(frozen=True)
class Decoder:
    """The optimal last layer at given codes."""

    coefficients: Tensor  # (n, r): ``Phi A``: predictions are ``k(z, Z) Phi A``
    root: Tensor  # (n, r): ``Phi A^(1/2)``, so that ``N = root root^T``
    value: float  # ``reg / 2 <T, Phi>``, the optimum of loss plus penalty
    parameters: Tensor  # (n, r): ``Phi`` itself
    gap: float = 0.0
    saturated: Tensor | None = None  # (n,): rows where the loss is linear
    solved: bool = True  # whether the gap is within the tolerance
    linear: Tensor | None = None  # of a semi-parametric layer: predictions are ``k(z, Z) Phi A + [z, 1] linear``


def optimal_decoder(
    K: Tensor, codes: Tensor, target: Tensor, reg: float, operator: Tensor | None, weights: Tensor | None
) -> Decoder:
    """Minimise ``sum_i w_i 1/2 ||t_i - (K Phi A)_i||^2 + reg / 2 <K, Phi A Phi^T>`` over ``Phi``."""
    n, T = target.shape[0], target
    if operator is None:
        K.diagonal().add_(n * reg if weights is None else reg / weights)
        Phi = solve_positive(K, T, name="the decoder system K + n reg I")
        return Decoder(Phi, Phi, 0.5 * reg * float((T * Phi).sum()), Phi)
    w = weights.sqrt() if weights is not None else T.new_full((n,), n**-0.5)
    s, U = torch.linalg.eigh(w[:, None] * K * w[None, :])
    a, Q = torch.linalg.eigh(operator)
    Y = U.mT @ (w[:, None] * T) @ Q
    Phi = w[:, None] * (U @ (Y / (torch.outer(s.clamp_min(0.0), a.clamp_min(0.0)) + reg)) @ Q.mT)
    return Decoder(Phi @ operator, Phi @ square_root(operator), 0.5 * reg * float((T * Phi).sum()), Phi)
