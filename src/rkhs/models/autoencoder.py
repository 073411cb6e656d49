"""A fitted autoencoder, and refinement of the codes of new items; see :mod:`rkhs.problems.refinement`.

The penalty of refinement is ``reg / 2 ||z - f(x)||^2 / s^2(x)``. In a dense model with a free (unpenalised) linear part
``s^2`` is the power function. Elsewhere it is ``k(x, x)``: without a linear part the power function gave 1.26 times the
error at two components and 1.07 times at ten (``./dev bench refine_price``: fourteen development sets as Gram matrices,
two splits), and is zero for a kernel of finite rank, so that no code could change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from rkhs._core.arrays import Items, row_index, tensor_like
from rkhs.models import stored_autoencoder
from rkhs.models.layers import AutoencoderLayers
from rkhs.models.local_layer import LocalLayer, codes_in_leaves
from rkhs.problems.leaves import CODE_STEPS
from rkhs.problems.refinement import CodeRefinement, power_function
from rkhs.solvers.row_newton import descend

FINE = (10, 1e-4)  # largest number of steps, and tolerance; six steps reach nearly the final value
ROUGH = (6, 1e-3)  # to compare models, whose errors differ by more; with four steps a few choices are worse
_EXACT = (200, 1e-9)  # for derivatives of the refined codes
_TILE = 2048  # rows whose codes are refined at once


@dataclass(frozen=True, eq=False)
class AutoencoderModel(AutoencoderLayers):
    """Layers that encode new items and are stored in files."""

    def encode(
        self,
        items: Items,
        raw: Tensor,
        *,
        refine: tuple[int, float] | None = None,
        rough: bool = False,
    ) -> list[Tensor]:
        """Codes of every hidden layer. ``refine``: most quasi-Newton steps and tolerance; None: not refined."""
        # ``raw`` (m, w): kernel values or features of the items before whitening, as ``map.raw`` gives them.
        codes = self.encoder.of(raw)
        if self.linear is not None:
            codes += self.linear.of(self.linear_inputs(items, raw))
        codes = codes if self.penalty.row_constraint is None else self.penalty.row_constraint.project(codes)
        codes = codes if self.inactive is None else self.from_user(self.to_user(codes))  # with one hidden layer
        if refine is not None and self.refinable:
            codes = refined_codes(self, items, raw, codes, refine, rough=rough)
        found = [codes]
        for layer in self.layers[:-1]:
            found.append(layer.of(found[-1]))
        return found

    def in_file(self) -> Self:
        """The model without arrays that can be recomputed."""
        return stored_autoencoder.in_file(self)

    def check_stored(self) -> None:
        """Check the shapes of the arrays."""
        stored_autoencoder.check(self)

    def from_file(self) -> Self:
        """The model with these arrays recomputed."""
        return stored_autoencoder.from_file(self)


def refined_codes(
    model: AutoencoderLayers,
    items: Items,
    raw: Tensor,
    codes: Tensor,
    limits: tuple[int, float] | None,
    *,
    rough: bool = False,
) -> Tensor:
    """Refine codes ``f(x)`` (m, p). ``limits``: most steps and tolerance; None: exactly, with derivatives."""
    # ``raw`` (m, w): kernel values or features of the items before whitening, as ``map.raw`` gives them.
    squared_radius = _penalty_scale(model, items, raw) / model.reg[0]
    layers = (*model.layers[:-1], model.last.everywhere)
    start = codes.to(torch.float32 if rough and not model.map.whole else codes.dtype)
    targets = all_targets = model.rebuilt.output.encode(model.target_rows(items, raw)).to(start)
    decoded = tensor_like(model.last.at_anchors, start)
    if model.penalty.directions is not None:
        leading = tensor_like(model.penalty.directions, start)
        targets, decoded, layers = targets @ leading, decoded @ leading, (*layers[:-1], layers[-1].along(leading))
    options: dict[str, Any] = {
        "projection": None if model.inactive is None else model.active_projection(start),
        "row_constraint": model.penalty.row_constraint,
        "n": model.penalty.total,
    }
    problem = CodeRefinement.of(layers, targets, start, squared_radius.sqrt().to(start), **options)
    parts, used, codes_of = [], limits or _EXACT, _exact_codes if limits is None else _codes
    for rows in torch.arange(len(start), device=start.device).split(_TILE):
        tile = problem.rows(rows)
        with torch.no_grad():
            U = descend(tile, tile.nearest(decoded), *used)
        parts.append(codes_of(tile, U, squared_radius[rows]))
    codes_without_leaves = torch.cat(parts)
    if rough or not isinstance(model.last, LocalLayer):
        return codes_without_leaves.to(codes)
    used = max(used, CODE_STEPS)
    return codes_in_leaves(
        model.last, all_targets, start, squared_radius, codes_without_leaves, used, codes_of, **options
    )


def _codes(problem: CodeRefinement, U: Tensor, squared_radius: Tensor) -> Tensor:
    """Codes at the steps ``U`` (m, p)."""
    return problem.codes(U)


def _penalty_scale(model: AutoencoderLayers, items: Items, raw: Tensor) -> Tensor:
    """``s^2(x)`` of the penalty (m,); zero at training items of a dense model, whose codes do not change."""
    diag = model.new_diagonal(items, raw)
    if not model.map.whole:
        return diag
    if model.penalty.kind == "diagonal":
        return torch.where(_is_training_item(model, raw, diag), torch.zeros_like(diag), diag)
    linear = None if model.linear is None else model.linear.coordinates(model.linear_inputs(items, raw))
    cholesky, pivots = model.factor
    mixed = None if model.linear is None else tensor_like(model.linear.mixed, raw)
    found = power_function(tensor_like(cholesky, raw), raw[:, row_index(pivots, raw)], diag, linear, mixed)
    return torch.where(found > 1e-9 * diag, found, torch.zeros_like(found))


def _is_training_item(model: AutoencoderLayers, raw: Tensor, diag: Tensor) -> Tensor:
    """Which items have the features of a training item, shape (m,)."""
    known = diag[:1] if model.kernel.domain == "gram" else model.kernel._diag(model.map.support(raw)).to(raw)
    tolerance = max(1e-9, 1e2 * torch.finfo(raw.dtype).eps)
    return (known - 2.0 * raw).min(1).values + diag <= tolerance * diag


def _exact_codes(problem: CodeRefinement, U: Tensor, squared_radius: Tensor) -> Tensor:
    """Codes near the steps ``U`` (m, p), solved exactly, with derivatives."""
    # Newton steps solve y = f - radius^2 Q(y, t). One more, linear in f, radius^2 and t, gives the derivatives.
    square = squared_radius.detach()[:, None]
    fixed = replace(problem, targets=problem.targets.detach(), start=problem.start.detach(), radius=square[:, 0].sqrt())
    unit = torch.eye(fixed.start.shape[1]).to(fixed.start)
    with torch.no_grad():
        Y = fixed.start + fixed.radius[:, None] * U
        for _ in range(2):
            Q, hessian, J = fixed.optimality(Y)
            Y = Y - torch.linalg.solve(unit + square[:, :, None] * hessian, Y + square * Q - fixed.start)
        Q, hessian, J = fixed.optimality(Y)
    moved = (problem.start - fixed.start) - (squared_radius[:, None] - square) * Q
    moved = moved + square / fixed.n * ((problem.targets - fixed.targets)[:, None] @ J.mT)[:, 0]
    Y = Y + torch.linalg.solve(unit + square[:, :, None] * hessian, moved)
    return replace(fixed, start=Y).codes(torch.zeros_like(Y))
