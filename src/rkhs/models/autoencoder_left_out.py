"""Leave-one-out errors and degrees of freedom of a fitted autoencoder, in closed form; lower minima from other starts.

With ``W = K_2 + reg_2 diag(1/w)`` the decoder has ``Phi = P T`` for ``P = W^-1``, and with a free linear part in
``B = [Z, 1]`` for ``P = W^-1 - W^-1 B S B^T W^-1``, ``S = (B^T W^-1 B + c I')^-1``, where ``c I'`` is the penalty
of the slopes; its leave-one-out residual is ``phi_i / P_ii``. The encoder interpolates its training codes, so the
leave-one-out code of item i is ``z_i - a_i / (K_1^-1)_ii``, with the power function ``1 / (K_1^-1)_ii``, refined as
that of a new item. The
mean of the errors estimates the held-out error; the codes of the other items stay fixed.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like, to_tensor
from rkhs._core.linalg import cholesky, divisor, factorize
from rkhs.models.autoencoder import AutoencoderModel
from rkhs.problems.autoencoder import items_autoencoder
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.initial_codes import best_start, targets_of_layers
from rkhs.problems.refinement import LeaveOneOutRefinement
from rkhs.problems.semiparametric import semiparametric_decoder, slope_penalty
from rkhs.protocols import Monitor
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.row_newton import descend
from rkhs.spaces.features.base import subsampled

if TYPE_CHECKING:
    from rkhs.spaces.source import Options


def leave_one_out_facts(
    model: AutoencoderModel,
    options: Options,
    gram: Tensor | None = None,
    *,
    plain: bool,
    refine: tuple[int, float] | None,
    at_most: int | None = None,
) -> tuple[dict[str, Any], Tensor | None]:
    """Diagnostics of a model on its training items, and their leave-one-out errors (None without a closed form)."""
    Z = to_tensor(model.layers[0].anchors, **options)
    K = model.training_gram(Z) if gram is None else gram
    squared = model.is_squared
    facts: dict[str, Any] = {"saturated": None if squared else len(model.saturated) / len(Z)}
    if not model.map.whole:  # on landmarks the last layer is no expansion in all training codes
        return facts, None
    a, K1 = tensor_like(model.encoder.coefficients, Z), K
    if K is not None:
        predicted = K @ a
        if model.linear is not None:
            Q = coordinates(model, K)
            K1, predicted = K + Q @ Q.mT, predicted + Q @ tensor_like(model.linear.coefficients, Z)
        defect = torch.linalg.vector_norm(predicted - Z)
        facts["in_sample_defect"] = float(defect / divisor(torch.linalg.vector_norm(Z)))
    if not (plain and squared and len(model.layers) == 1):
        return facts, None
    codes = None
    if K1 is not None:
        power = 1.0 / _inverse(K1, torch.finfo(K1.dtype).eps ** (2 / 3) * float(K1.diagonal().mean())).diagonal()
        codes = Z - a * power[:, None], K1.diagonal() if model.penalty.kind == "diagonal" else power
    part = None if at_most is None or len(Z) <= at_most else subsampled(torch.arange(len(Z), device=Z.device), at_most)
    decoder_facts, errors = _decoder_facts(model, Z, codes, refine if model.refinable else None, part)
    return facts | decoder_facts, errors


def coordinates(model: AutoencoderModel, K: Tensor) -> Tensor:
    """Inputs of the free linear part of the encoder for the training items."""
    assert model.linear is not None
    rows = model.linear_inputs(model.map.support(K), K) if model.map.kept is not None else K
    return model.linear.coordinates(rows)


def decoded(model: AutoencoderModel, Z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Gram matrix of the codes, ``reg / w``, and fitted values, targets and linear coefficients of the last layer."""
    layer, n = model.last, len(Z)
    Phi = tensor_like(layer.coefficients, Z)
    w = Z.new_full((n,), 1.0 / n) if model.row_weights is None else tensor_like(model.row_weights, Z)
    K, ridge, b = layer.kernel._gram(Z), model.reg[-1] / w, None
    fitted = K @ Phi
    if layer.linear is not None:
        b = tensor_like(layer.linear, Z)
        fitted = fitted + torch.cat([Z, Z.new_ones(n, 1)], 1) @ b
    return K, ridge, fitted, fitted + ridge[:, None] * Phi, b


def _decoder_facts(
    model: AutoencoderModel,
    Z: Tensor,
    codes: tuple[Tensor, Tensor] | None,
    refine: tuple[int, float] | None,
    subset: Tensor | None,
) -> tuple[dict[str, Any], Tensor | None]:
    """Diagnostics of the last layer; ``codes``: leave-one-out codes and their power function (module docstring)."""
    layer, reg, n = model.last, model.reg[-1], len(Z)
    Phi = tensor_like(layer.coefficients, Z)
    w = Z.new_full((n,), 1.0 / n) if model.row_weights is None else tensor_like(model.row_weights, Z)
    W, ridge, fitted, T, b = decoded(model, Z)
    W.diagonal().add_(ridge)
    P, linear_influence = _inverse(W, 0.0), None
    if b is not None:
        B = torch.cat([Z, Z.new_ones(n, 1)], 1)
        PB = P @ B
        S = B.mT @ PB
        S.diagonal()[:-1].add_(slope_penalty(T, w) / reg)
        linear_influence = torch.linalg.solve(S, PB.mT).mT  # W^-1 B S
        P = P - linear_influence @ PB.mT
    total = float(w @ (T * T).sum(1))
    facts: dict[str, Any] = {"degrees_of_freedom": float(n - (ridge * P.diagonal()).sum())}
    if total <= 0.0:
        return facts, None
    errors = None
    facts["training_error"] = float(w @ ((T - fitted) ** 2).sum(1)) / total
    if codes is not None:
        left_out, power = codes
        steps = Phi / P.diagonal()[:, None]
        radius = (power / model.reg[0]).sqrt() if model.reg[0] > 0.0 else torch.zeros_like(power)
        problem = LeaveOneOutRefinement(
            layer.kernel,
            Z,
            Phi,
            T,
            left_out,
            radius,
            model.penalty.total,
            b,
            influence=P,
            steps=steps,
            linear_influence=linear_influence,
        )
        U = torch.zeros_like(left_out) if refine is None else problem.nearest(fitted)
        if subset is not None:
            problem, U, T, w = problem.rows(subset), U[subset], T[subset], w[subset]
        found = problem.codes(U if refine is None else descend(problem, U, *refine))
        errors = problem.errors(found, layer.kernel._gram(found, Z))
        share = float(w @ errors) / float(divisor(w @ (T * T).sum(1)))
        facts["leave_one_out_error"] = share if math.isfinite(share) else None  # singular without a row
    return facts, errors


def _inverse(A: Tensor, jitter: float) -> Tensor:
    A = A.clone()
    A.diagonal().add_(jitter)
    return torch.cholesky_inverse(cholesky(A, name="a Gram matrix of the training items")[0])


_LOWER = 0.05  # relative fall of the objective that counts as another minimum
_SEED = 987654  # unlikely to be the seed of the fit


def lower_start(model: AutoencoderModel, options: Options, value: float, starts: int) -> float | None:
    """Relative fall of the objective from another start; zero if none exceeds 5 %, None if starts do not apply."""
    Z = to_tensor(model.layers[0].anchors, **options)
    K = model.training_gram(Z)
    if K is None or not model.map.whole or not model.is_squared:
        return None
    if not value > 0.0:
        return 0.0
    if model.linear is not None:
        Q = coordinates(model, K)
        K = K + Q @ Q.mT  # the free linear part of the encoder has the penalty of this linear kernel
    _, _, _, T, _ = decoded(model, Z)
    last = optimal_decoder if model.last.linear is None else semiparametric_decoder
    weights = None if model.row_weights is None else tensor_like(model.row_weights, Z)
    widths, factor = (Z.shape[1],), factorize(K)
    problem = items_autoencoder(factor, T, (model.last.kernel,), widths, model.reg, (), weights, last)
    rng = np.random.RandomState(_SEED)
    for _ in range(starts):
        noise = torch.as_tensor(rng.standard_normal((factor.dim, Z.shape[1])))
        layer_targets = targets_of_layers(factor.codes(noise.to(Z)), widths, weights)
        start = best_start(problem.value, partial(problem.encoder.start, layer_targets))
        share = 1.0 - LBFGS(200, 1e-4).solve(problem, start, Monitor()).value / value
        if share > _LOWER:
            return float(share)
    return 0.0
