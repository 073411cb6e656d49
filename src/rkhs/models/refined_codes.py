"""Codes of new items refined by what the items are; see :mod:`rkhs.problems.refinement`.

A change of a code is priced by the power function beside free linear parts, and by ``k(x, x)`` without: there the power
function had 1.26 of the error at two components and 1.07 at ten (``./dev bench refine_price``: fourteen development
sets as Gram matrices, two splits), and it leaves a kernel of finite rank no room at all.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rkhs._core.arrays import Items, row_index, tensor_like
from rkhs.models.layers import AutoencoderLayers
from rkhs.problems.refinement import CodeRefinement, power_function
from rkhs.solvers.row_newton import descend

__all__ = ["FINE", "ROUGH", "refined_codes"]

FINE = (10, 1e-4)  # steps and their tolerance: six do nearly all
ROUGH = (6, 1e-3)  # where models are compared: their errors differ by more; with four steps a few choices are worse
_TILE = 2048  # rows whose codes are refined at once where there are anchors


def refined_codes(
    model: AutoencoderLayers, items: Items, raw: Tensor, codes: Tensor, steps: tuple[int, float], *, rough: bool = False
) -> Tensor:
    """Refine codes ``f(x)`` of shape (m, p) of new items with raw features of shape (m, w)."""
    if not model.map.whole:
        return _refined_on_anchors(model, items, raw, codes, steps, torch.float32 if rough else codes.dtype)
    diag = model.new_diagonal(items, raw)
    linear = None if model.linear is None else model.linear.coordinates(model.rows(items, raw))
    # Where the encoder knows the item nothing is to be refined, and training codes stay what they are.
    if model.pricing.kind == "diagonal":
        power = torch.where(_known(model, raw, diag), torch.zeros_like(diag), diag)
    else:
        triangle, pivots = model.factor
        T, order = tensor_like(triangle, raw), row_index(pivots, raw)
        mixed = None if model.linear is None else tensor_like(model.linear.mixed, raw)
        power = power_function(T, raw[:, order], diag, linear, mixed)
        power = torch.where(power > 1e-9 * diag, power, torch.zeros_like(power))
    layer = model.layers[0]
    problem = CodeRefinement(
        layer.kernel,
        tensor_like(layer.anchors, raw),
        tensor_like(layer.coefficients, raw),
        model.rebuilt.encode(model.own_rows(items, raw)),
        codes,
        (power / model.reg[0]).sqrt(),
        model.pricing.total,
        None if layer.linear is None else tensor_like(layer.linear, raw),
        None if model.resting is None else model.moves(raw),
        above=model.layers[1:],
    )
    return problem.codes(descend(problem, problem.nearest(tensor_like(model.anchors_decoded, raw)), *steps))


def _refined_on_anchors(
    model: AutoencoderLayers, items: Items, raw: Tensor, codes: Tensor, steps: tuple[int, float], dtype: torch.dtype
) -> Tensor:
    """Refine codes of new items as the rows of the fit were coded, with ``k(x, x)`` as the price."""
    layer, goal, given = model.layers[0], model.rebuilt.encode(model.own_rows(items, raw)).to(dtype), codes.dtype
    radius, codes, onto = (
        (model.kernel._diag(items).to(codes) / model.reg[0]).sqrt().to(dtype),
        codes.to(dtype),
        model.pricing.onto,
    )
    kernel, anchors, coefficients = layer.kernel, *(tensor_like(a, codes) for a in (layer.anchors, layer.coefficients))
    linear = tensor_like(layer.linear, codes)
    decoded = tensor_like(model.anchors_decoded, codes)
    if model.pricing.directions is not None:
        leading = tensor_like(model.pricing.directions, codes)
        goal, decoded = goal @ leading, decoded @ leading
        coefficients, linear = coefficients @ leading, linear @ leading
    parts = []
    for rows in torch.arange(len(codes), device=codes.device).split(_TILE):
        problem = CodeRefinement(
            kernel, anchors, coefficients, goal[rows], codes[rows], radius[rows], model.pricing.total, linear, onto=onto
        )
        parts.append(problem.codes(descend(problem, problem.nearest(decoded), *steps)))
    return (torch.cat(parts) if parts else codes).to(given)


def _known(model: AutoencoderLayers, raw: Tensor, diag: Tensor) -> Tensor:
    """Which items have the features of a training item, shape (m,)."""
    trained = diag[:1] if model.kernel.domain == "gram" else model.kernel._diag(model.map.support(raw))
    tolerance = max(1e-9, 1e2 * torch.finfo(raw.dtype).eps)
    return (trained - 2.0 * raw).min(1).values + diag <= tolerance * diag
