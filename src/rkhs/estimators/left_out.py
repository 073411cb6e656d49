"""What a fitted autoencoder says of its training items as if it had not seen them, in closed form.

With ``W = K_2 + reg_2 diag(1/w)`` the decoder has ``Phi = P T`` for ``P = W^-1``, and beside a free linear part in
``B = [Z, 1]`` for ``P = W^-1 - W^-1 B S B^T W^-1``, ``S = (B^T W^-1 B + free I')^-1``; its leave-one-out residual is
``phi_i / P_ii``. The encoder interpolates its training codes, so the code of item i, had it not been there, is
``z_i - a_i / (K_1^-1)_ii``, with the power function ``1 / (K_1^-1)_ii``, and is refined as that of a new item. All
together estimate the held-out error, with the codes of the other items as they are.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import row_index, to_tensor
from rkhs._core.errors import NotPositiveSemidefiniteWarning
from rkhs._core.linalg import cholesky, divisor, positive_part
from rkhs.estimators.refined_codes import can_refine, linear_coordinates, refining_solver
from rkhs.losses import Squared, as_loss
from rkhs.problems.refinement import LeftOutRefinement
from rkhs.problems.semiparametric import slope_penalty

__all__ = ["autoencoder_facts", "leave_one_out_rows", "training_kernel"]


def leave_one_out_rows(model: Any, K: np.ndarray | None = None) -> np.ndarray | None:
    """Squared leave-one-out errors of the training items, shape (n,), in units of the scaled targets.

    ``K`` is the Gram matrix of the items in the fit, for ``kernel="precomputed"``, where a model does not keep it.
    """
    if K is None:
        known = training_kernel(model)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPositiveSemidefiniteWarning)  # said by the fit
            known = positive_part(
                to_tensor(K, **model._options), psd=model.psd, name="the Gram matrix of the training items"
            )
    rows = autoencoder_facts(model, known)[1]
    return None if rows is None else rows.cpu().numpy()


def training_kernel(model: Any) -> Tensor | None:
    """Gram matrix of the training items, None where it is not known any more."""
    if getattr(model, "support_items_", None) is not None:
        return model.kernel_._gram(model._support()).to(**model._options)
    triangle = getattr(model, "encoder_triangle_", None)
    if triangle is None or len(triangle) != len(model.layer_codes_[0]):
        return None
    T = to_tensor(triangle, **model._options)
    order = row_index(model.encoder_pivots_, T)
    K = torch.empty_like(T)
    K[order[:, None], order[None, :]] = T @ T.mT
    return K


def autoencoder_facts(model: Any, K: Tensor | None) -> tuple[dict[str, Any], Tensor | None]:
    """Facts by the name of the diagnostic, and the errors of :func:`leave_one_out_rows`, with the Gram matrix ``K``."""
    facts: dict[str, Any] = {"saturated": len(model.saturated_) / len(model.layer_codes_[0])}
    codes = to_tensor(model.layer_codes_[0], **model._options)
    a = to_tensor(model.encoder_coefs_[0], **model._options)
    K1 = K
    if K is not None:
        said = K @ a
        if model.linear_coef_ is not None:
            Q = linear_coordinates(model, model._support() if model.kernel_.domain == "vectors" else K, K)
            K1, said = K + Q @ Q.mT, said + Q @ to_tensor(model.linear_coef_, **model._options)
        miss = torch.linalg.vector_norm(said - codes)
        facts["in_sample_defect"] = float(miss / divisor(torch.linalg.vector_norm(codes)))
    if len(model.layer_codes_) > 1 or model.operators is not None or not isinstance(as_loss(model.loss), Squared):
        facts["saturated"] = None if isinstance(as_loss(model.loss), Squared) else facts["saturated"]
        return facts, None
    facts["saturated"] = None
    left_out, power = None, None
    if K1 is not None:
        power = 1.0 / _inverse(K1, torch.finfo(K1.dtype).eps ** (2 / 3) * float(K1.diagonal().mean())).diagonal()
        left_out = codes - a * power[:, None]
        power = K1.diagonal() if model.code_price_ == "diagonal" else power
    more, rows = _decoder_facts(model, codes, left_out, power)
    return facts | more, rows


def _decoder_facts(
    model: Any, Z: Tensor, left_out: Tensor | None, power: Tensor | None
) -> tuple[dict[str, Any], Tensor | None]:
    """Degrees of freedom, training error and leave-one-out error of the last layer; see the head of this file."""
    kernel, reg, n = model.decoder_kernels_[0], model.reg_[-1], len(Z)
    Phi = to_tensor(model.decoder_coef_, **model._options)
    weights = getattr(model, "_row_weights", None)
    w = Z.new_full((n,), 1.0 / n) if weights is None else to_tensor(weights, **model._options)
    ridge = reg / w
    W = kernel._gram(Z)
    K2 = W.clone()
    W.diagonal().add_(ridge)
    P = _inverse(W, 0.0)
    fitted, moved, b = K2 @ Phi, None, None
    if model.decoder_linear_ is not None:
        b = to_tensor(model.decoder_linear_, **model._options)
        B = torch.cat([Z, Z.new_ones(n, 1)], 1)
        fitted = fitted + B @ b
    T = fitted + ridge[:, None] * Phi
    if b is not None:
        PB = P @ B
        S = B.mT @ PB
        S.diagonal()[:-1].add_(slope_penalty(T, w) / reg)
        moved = torch.linalg.solve(S, PB.mT).mT  # W^-1 B S
        P = P - moved @ PB.mT
    mean = w @ T if model.center else 0.0
    total = float(w @ ((T - mean) ** 2).sum(1))
    facts: dict[str, Any] = {"degrees_of_freedom": float(n - (ridge * P.diagonal()).sum())}
    if total <= 0.0:
        return facts, None
    errors = None
    facts["training_error"] = float(w @ ((T - fitted) ** 2).sum(1)) / total
    if left_out is not None and power is not None:
        steps, U = Phi / P.diagonal()[:, None], torch.zeros_like(left_out)
        radius = (power / model.reg_[0]).sqrt() if model.reg_[0] > 0.0 else torch.zeros_like(power)
        problem = LeftOutRefinement(
            kernel, Z, Phi, T, left_out, radius, model._total_weight, b, own=P, steps=steps, own_linear=moved
        )
        errors = problem.errors(refining_solver(model).solve(problem, U) if can_refine(model) else U)
        facts["leave_one_out_error"] = float(w @ errors) / total
    return facts, errors


def _inverse(A: Tensor, jitter: float) -> Tensor:
    A = A.clone()
    A.diagonal().add_(jitter)
    return torch.cholesky_inverse(cholesky(A, name="a Gram matrix of the training items")[0])
