"""Codes of new items refined by what the items are; see :mod:`rkhs.problems.refinement`.

A change of a code is priced by the power function beside free linear parts, and by ``k(x, x)`` without: there the power
function had 1.26 of the error at two components and 1.07 at ten (``./dev bench refine_price``: fourteen development
sets as Gram matrices, two splits), and it leaves a kernel of finite rank no room at all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs._core.arrays import row_index, to_tensor
from rkhs._core.linalg import factorize
from rkhs.estimators.autoencoder_fit import Encoder
from rkhs.estimators.autoencoder_targets import target_rows
from rkhs.outputs import Euclidean
from rkhs.problems.refinement import CodeRefinement, power_function
from rkhs.problems.semiparametric import LinearFactor, principal_coordinates
from rkhs.solvers.preimage import PreimageDescent

__all__ = [
    "ROUGH",
    "can_refine",
    "keep_factor",
    "linear_coordinates",
    "refined_codes",
    "refining_solver",
]

_TILE = 2048  # rows whose codes are refined at once where there are anchors
_STEPS, _TOL = 10, 1e-4  # Gauss-Newton steps: four do nearly all
ROUGH = (6, 1e-3)  # where models are compared: their errors differ by more; with four steps a few choices are worse


def can_refine(model: Any) -> bool:
    """Whether codes can be refined: exact, one hidden layer, no operator or constraint, own targets."""
    free = model._map.whole or model.linear_coef_ is not None  # landmarks beside kernel parts have plain codes
    exact = free and len(model.layer_codes_) == 1
    plain = exact and model.constraint == "none" and model.noise_std == 0.0
    identity = model.operators is None or model.operators[0] is None
    gram = model.kernel_.domain == "gram"
    known = not gram or (model.output_kernel_ == model.kernel_ and model._constant_diagonal() is not None)
    return bool(model.refine and plain and identity and known and model._own_targets and model.reg_[0] > 0.0)


def keep_factor(model: Any, encoder: Encoder) -> None:
    """Keep what the power function needs; a Gram matrix cannot be asked for it again, so it goes into model files."""
    model.code_price_ = "power" if isinstance(encoder.factor, LinearFactor) else "diagonal"
    model.encoder_triangle_, model.encoder_pivots_, model._cache_encoder = None, None, None
    model.linear_directions_, model.linear_offset_, model.linear_center_ = None, None, None
    model.linear_mixed_ = None
    factor = encoder.factor
    if isinstance(factor, LinearFactor):
        assert encoder.coordinates is not None
        model.linear_directions_ = encoder.coordinates.directions.cpu().numpy()
        model.linear_offset_ = encoder.coordinates.offset.cpu().numpy()
        if encoder.coordinates.center is not None:
            model.linear_center_ = encoder.coordinates.center.cpu().numpy()
        model.linear_mixed_ = factor.mixed.cpu().numpy()
        factor = factor.kernel
    if factor is None or not model.refine:
        return
    kept = (factor.triangle.cpu().numpy(), factor.pivots.cpu().numpy())
    if model.kernel_.domain == "gram":
        model.encoder_triangle_, model.encoder_pivots_ = kept
    else:
        model._cache_encoder = kept


def linear_coordinates(model: Any, items: Any, K: Tensor) -> Tensor:
    """Coordinates that the free linear part of the encoder reads, in units of their price, shape (m, k)."""
    rows = items if model.kernel_.domain == "vectors" else K
    directions, offset = (to_tensor(a, **model._options) for a in (model.linear_directions_, model.linear_offset_))
    center = None if model.linear_center_ is None else to_tensor(model.linear_center_, **model._options)
    return principal_coordinates(rows, directions, offset, center)


def refined_codes(model: Any, items: Any, K: Tensor, codes: Tensor) -> Tensor:
    """Refine codes ``f(x)`` of shape (m, p) of new items with kernel values ``K`` of shape (m, n)."""
    if not model._map.whole:
        return _refined_on_anchors(model, items, codes)
    gram = model.kernel_.domain == "gram"
    diag = K.new_full((len(K),), model._constant_diagonal()) if gram else model.kernel_._diag(items).to(K)
    linear, mixed, decoder = None, None, None
    if model.linear_coef_ is not None:
        linear, mixed = linear_coordinates(model, items, K), to_tensor(model.linear_mixed_, **model._options)
        decoder = to_tensor(model.decoder_linear_, **model._options)
    # Where the encoder knows the item nothing is to be refined, and training codes stay what they are.
    if model.code_price_ == "diagonal":
        power = torch.where(_known(model, K, diag), torch.zeros_like(diag), diag)
    else:
        triangle, pivots = _factor(model)
        power = power_function(triangle, K[:, pivots], diag, linear, mixed)
        power = torch.where(power > 1e-9 * diag, power, torch.zeros_like(power))
    goal = model.output_.encode(items if isinstance(model.output_, Euclidean) else target_rows(model, items, K))
    problem = CodeRefinement(
        model.decoder_kernels_[0],
        to_tensor(model.layer_codes_[0], **model._options),
        to_tensor(model.decoder_coef_, **model._options),
        goal,
        codes,
        (power / model.reg_[0]).sqrt(),
        model._total_weight,
        decoder,
    )
    return problem.codes(refining_solver(model).solve(problem, torch.zeros_like(codes)))


def _refined_on_anchors(model: Any, items: Tensor, codes: Tensor) -> Tensor:
    """Refine codes of new items as the rows of the fit were coded, with ``k(x, x)`` as the price."""
    arrays = (model.layer_codes_[0], model.decoder_coef_, model.decoder_linear_)
    anchors, coefficients, linear = (to_tensor(a, **model._options) for a in arrays)
    goal = model.output_.encode(items)
    if model.goal_directions_ is not None:
        leading = to_tensor(model.goal_directions_, **model._options)
        goal, coefficients, linear = goal @ leading, coefficients @ leading, linear @ leading
    radius, kernel = (model.kernel_._diag(items) / model.reg_[0]).sqrt(), model.decoder_kernels_[0]
    said = torch.addmm(kernel._gram(anchors) @ coefficients, anchors, linear[:-1]).add_(linear[-1])
    parts = []
    for rows in torch.arange(len(codes), device=codes.device).split(_TILE):
        problem = CodeRefinement(
            kernel, anchors, coefficients, goal[rows], codes[rows], radius[rows], model._total_weight, linear
        )
        parts.append(problem.codes(refining_solver(model).solve(problem, problem.nearest(said))))
    return torch.cat(parts) if parts else codes


def _known(model: Any, K: Tensor, diag: Tensor) -> Tensor:
    """Which items have the features of a training item, shape (m,)."""
    trained = diag[:1] if model.kernel_.domain == "gram" else model.kernel_._diag(model._support())
    tolerance = max(1e-9, 1e2 * torch.finfo(K.dtype).eps)
    return (trained - 2.0 * K).min(1).values + diag <= tolerance * diag


def refining_solver(model: Any) -> PreimageDescent:
    """What refines the codes of a model."""
    return PreimageDescent(*getattr(model, "_refinement", (_STEPS, _TOL)))


def _factor(model: Any) -> tuple[Tensor, Tensor]:
    triangle, pivots = model.encoder_triangle_, model.encoder_pivots_
    if triangle is None:
        triangle, pivots = getattr(model, "_cache_encoder", None) or (None, None)
    if triangle is None:  # a model from a file
        factor = factorize(model._training_gram(model.kernel_, model._support()))
        return factor.triangle.contiguous(), factor.pivots  # in the order of one that was kept: the same bits
    T = to_tensor(triangle, **model._options)
    return T, row_index(pivots, T)
