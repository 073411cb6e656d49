"""The one stage of a fit in memory, with the Gram matrix of all items: problem, starts, solvers, last layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from rkhs._core.arrays import tensor_like, to_tensor
from rkhs._core.errors import CollapseWarning, InputError, OverfitWarning, some_rows
from rkhs._core.linalg import apply_inverse, divisor
from rkhs.estimators.autoencoder.stages import (
    Fit,
    SolvedLast,
    Stage,
    Stages,
    as_array,
    on_principal_axes,
)
from rkhs.estimators.choice_report import overfit_sentence, report_choice
from rkhs.losses import Squared
from rkhs.models import AutoencoderModel, CodePenalty, inactive_axes
from rkhs.outputs import Euclidean
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.coordinates import JitteredFactor
from rkhs.problems.decoder import Decoder, RobustDecoder, optimal_decoder
from rkhs.problems.initial_codes import best_start, even_columns, targets_of_layers
from rkhs.problems.last_layers import ItemsLayer
from rkhs.problems.semiparametric import LinearFactor, semiparametric_decoder
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.selection.loss_scale import effective_gram, typical_residual
from rkhs.solvers import ADMM, Alternating, GradientDescent

if TYPE_CHECKING:
    from rkhs.estimators.autoencoder.opened_items import OpenedItems
    from rkhs.estimators.autoencoder.settings import Settings

# Relative duality gap of the last layer, and its share of the tolerance of the encoder: a gap above the decrease of one
# step blocks the line search (digits, 10 codes, Huber: 81 evaluations at a share of 1e-1, 35 at 1e-3).
_TOL_INNER, _SHARE, _FINEST = 1e-6, 1e-3, 1e-10
_OFF = 1e-2  # share of the codes by which those of the encoder may miss the constraint
JOINT = (GradientDescent, Alternating)
"""Solvers that move all layers, the last one too."""
_NOTHING = 0.01  # of the held-out error: what components may cost that are said to carry nothing


@dataclass(frozen=True, eq=False)
class ItemStages(Stages):
    """All items at once."""

    read: OpenedItems

    def __len__(self) -> int:
        return len(self.read.target)

    @property
    def weights(self) -> Tensor | None:
        """Of the items."""
        return self.read.training.weights

    def problem(self, size: int, reg: tuple[float, ...]) -> Autoencoder:
        """The objective. Codes on a set: Esser et al. (2024), theorem 5."""
        settings, U, space = self.settings, self.read.target, self.read.rebuilt.output
        operators = [None if A is None else tensor_like(A, U) for A in settings.operators]
        if operators[-1] is not None and isinstance(space, Euclidean):
            operators[-1] = space.operator(operators[-1])
        return items_autoencoder(
            self.read.coordinates(reg[0], settings.widths[0]),
            U,
            settings.decoder_kernels,
            settings.widths,
            reg,
            tuple(operators),
            self.weights,
            _rule(settings, U.dtype),
            code_set=settings.code_set,
            shortcut=settings.shortcut,
        )

    def first(self, problem: Autoencoder, init: str, rng: np.random.RandomState) -> Tensor:
        """At principal components, at random or at given codes."""
        settings, encoder = self.settings, problem.encoder
        if init in ("uniform", "codes"):
            return encoder.start([self._given_codes(problem, rng)], 1.0)
        targets = self._targets(problem, init, rng)
        if settings.code_set is not None:
            return encoder.start(targets, 1.0 / float(divisor(targets[0].norm(dim=1).mean())))
        return best_start(problem.value, partial(encoder.start, targets))

    def _targets(self, problem: Autoencoder, init: str, rng: np.random.RandomState) -> list[Tensor]:
        """Codes of the layers to start near to: principal component scores, or random ones."""
        settings, codes, factor = self.settings, self.read.scores, problem.encoder.factor
        free = settings.code_set is None
        if init != "kpca" or codes is None:
            rows = factor.dim if free else len(self)
            codes = torch.as_tensor(rng.standard_normal((rows, max(settings.widths)))).to(self.read.target)
            codes = factor.codes(codes) if free else codes
        elif not free:
            codes = even_columns(codes)
        return targets_of_layers(codes, settings.widths, self.weights)

    def _given_codes(self, problem: Autoencoder, rng: np.random.RandomState) -> Tensor:
        """Codes that were given, or ``K Phi`` for uniform coefficients ``Phi``, as in the paper."""
        settings, U, factor = self.settings, self.read.target, problem.encoder.factor
        if settings.start is None:
            return factor.codes(factor.pull(torch.as_tensor(rng.uniform(size=(len(U), settings.widths[0]))).to(U)))
        if len(settings.start) != len(U):
            raise InputError(
                f"init must hold codes of the {len(U)} rows of this fit; got {len(settings.start)}; give numbers as "
                "reg, so that no part of the rows is fitted"
            )
        return tensor_like(settings.start, U)

    def scores(self, problem: Autoencoder, rng: np.random.RandomState | None) -> tuple[Tensor, Tensor | None]:
        """Principal component scores, or random ones."""
        targets = self._targets(problem, self.settings.init, rng or self.settings.generator())
        return max(targets, key=lambda codes: codes.shape[1]), self.weights

    def move(self, stage: Stage, size: int, reg: tuple[float, ...]) -> Stage:
        """Further layers: the best of several starts, the first from the stage."""
        return self.start(size, reg, stage)

    def descend(
        self, problem: Autoencoder, reg: tuple[float, ...], point: Tensor, steps: int | None, label: str
    ) -> Stage:
        """Solve the problem, and rotate the codes to principal axes where the model is invariant."""
        settings, encoder = self.settings, problem.encoder
        monitor = Monitor(verbose=self.run.verbose, label=f"{self.run.name} {label}")
        if isinstance(settings.solver, JOINT):
            solution = self._jointly(problem, point, monitor)
        else:
            solution = settings.solver.solve(problem, point, monitor)
        V, hidden = encoder.parts(solution.point)
        parts, codes = on_principal_axes(settings, [V, *hidden], encoder.layers(solution.point), self.weights)
        operators = (None if A is None else tensor_like(A, V) for A in settings.operators[1:])
        mixed = [P if A is None else P @ A for P, A in zip(parts[1:], operators, strict=False)]
        factor = encoder.factor
        columns = factor.linear.shape[1] if isinstance(factor, LinearFactor) else 0
        return Stage(codes, mixed, parts[0], solution, reg, columns, problem=problem)

    def _jointly(self, problem: Autoencoder, start: Tensor, monitor: Monitor) -> Solution:
        """Move all layers; the answer is a point of the reduced problem and its objective there."""
        settings, encoder, layer, K = self.settings, problem.encoder, problem.last_layer, self.read.gram
        assert K is not None
        assert isinstance(layer, ItemsLayer)
        first, *between = (None if A is None else tensor_like(A, K) for A in settings.operators[:-1])
        given = K, layer.target, settings.decoder_kernels, settings.widths, settings.reg
        posed = partial(items_autoencoder, *given, (first, *between, layer.operator), layer.weights, layer.rule)
        V, hidden = encoder.parts(start)
        Phi = encoder.factor.coefficients(V)
        parts = [Phi if first is None else apply_inverse(Phi, first), *hidden]
        if isinstance(settings.solver, Alternating):
            joint = posed()
        else:
            joint = posed(moving=True)
            parts.append(layer.solve(encoder.layers(start)[-1]).parameters)
        solution = settings.solver.solve(joint, joint.encoder.pack(parts[0], parts[1:]), monitor)
        Phi, hidden = joint.encoder.parts(solution.point)
        # Layer 1 is F V A^(1/2) = K Phi A, so V = F^T Phi A^(1/2); the last layer is set to its optimum.
        point = encoder.pack(encoder.factor.pull(Phi), hidden[: len(settings.widths) - 1])
        return replace(solution, point=point, value=problem.value(point))

    def of_all_rows(self, stage: Stage) -> Stage:
        """The stage itself; where an encoder misses its codes they are unreached."""
        factor, missed = _problem_of(stage).encoder.factor, 0.0
        if isinstance(factor, JitteredFactor):  # jittered directions carry no kernel component
            missed = factor.jitter * float(factor.coefficients(stage.point).norm())
        if missed > _OFF * float(stage.layers[0].norm()):
            return replace(stage, solution=replace(stage.solution, reason=Reason.UNREACHED))
        return stage

    def last_layer(self, stage: Stage) -> SolvedLast:
        """Solve the last layer on the codes."""
        layer, U, w = _problem_of(stage).last_layer.solve(stage.codes), self.read.target, self.weights
        assert isinstance(layer, Decoder)
        if not bool(torch.isfinite(layer.coefficients).all()):
            raise InputError("the decoder of these items has coefficients that are not finite; rescale the data")
        losses = self.settings.loss.value(U)
        return SolvedLast(
            layer,
            value=stage.solution.value,
            trivial=float(losses.mean() if w is None else w @ losses),
            support=(layer.parameters != 0.0).any(1).nonzero()[:, 0],
            saturated=torch.arange(0) if layer.saturated is None else layer.saturated.nonzero()[:, 0],
            gap=layer.gap,
        )

    def coefficients(self, stage: Stage) -> tuple[Tensor, Tensor | None]:
        """Coefficients on the items."""
        factor = _problem_of(stage).encoder.factor
        return factor.coefficients(stage.point), factor.mixed if isinstance(factor, LinearFactor) else None

    def penalty(self, stage: Stage) -> CodePenalty:
        """What the power function needs; a Gram matrix cannot be asked for it again, so it goes into model files."""
        settings = self.settings
        kind: Literal["power", "diagonal"] = "diagonal" if self.read.linear is None else "power"
        penalty = CodePenalty(kind, self.read.training.total, free=settings.refinable)
        if settings.code_set is not None or not settings.refine:
            return penalty
        factor = self.read.factor
        return replace(penalty, triangle=as_array(factor.triangle), pivots=as_array(factor.pivots))

    def residual_size(self, stage: Stage) -> float:
        """Of rows that are left out in turn, at the codes of the stage."""
        settings, U = self.settings, self.read.target
        K = settings.decoder_kernels[-1]._gram(stage.codes)
        K = effective_gram([K], [settings.operators[-1]], U)
        return typical_residual(K, U, settings.reg[-1], self.weights, self.read.copies, center=False)[0]

    def notes(self, last: SolvedLast) -> list[Warning]:
        """What the dual of the last layer says."""
        warned: list[Warning] = []
        if not last.layer.solved:
            warned.append(
                ConvergenceWarning(
                    f"{self.run.name}: the last layer is solved to a duality gap of {last.gap:.2g} only; raise reg"
                )
            )
        U = self.read.target
        largest = float(torch.linalg.vector_norm(U, dim=1).max()) if U.numel() else 0.0
        if largest > 0.0 and last.trivial == 0.0:
            warned.append(
                CollapseWarning(
                    f"the model collapsed to the mean: every target is within {self.settings.loss!r} of it, the "
                    f"farthest at {largest:.4g}. Lower epsilon, which is in units of the centred and scaled targets"
                )
            )
        return warned

    def reported(self, fit: Fit, last: SolvedLast) -> Fit:
        """The fit with errors as shares of the variance, inactive components, and what users must know."""
        settings, U, weights, model, warned = self.settings, self.read.target, self.weights, fit.model, [*fit.warnings]
        compared, lost = report_choice(model.compared, model.rebuilt.output, last.layer, U, weights, settings.reg[-1])
        overfit = overfit_sentence(compared.held_out, lost, vectors=model.rebuilt.vectors)
        if overfit is not None and isinstance(settings.loss, Squared):
            warned.append(OverfitWarning(f"{self.run.name}: {overfit}"))
        model = replace(model, compared=compared)
        if compared.held_out is not None and len(settings.widths) == 1 and settings.noise is None:
            model, notes = _without_inactive(model, U, weights, compared.held_out)
            warned += notes
        return replace(fit, model=model, warnings=tuple(warned))


def _problem_of(stage: Stage) -> Autoencoder:
    assert stage.problem is not None
    return stage.problem


def _rule(settings: Settings, dtype: torch.dtype) -> Callable[..., Decoder]:
    """That solves the last layer."""
    if isinstance(settings.loss, Squared):
        return semiparametric_decoder if settings.linear_part == "free" else optimal_decoder
    inner = max(min(_TOL_INNER, _SHARE * settings.tol), _FINEST, 100.0 * torch.finfo(dtype).eps)
    return RobustDecoder(settings.loss, ADMM(tol=inner, max_iter=5000))


def _without_inactive(
    model: AutoencoderModel, U: Tensor, weights: Tensor | None, held_out: float
) -> tuple[AutoencoderModel, list[Warning]]:
    """The model with components that carry nothing at rest, and what to say of them; errors are shares of variance."""
    w = U.new_full((len(U),), 1.0 / len(U)) if weights is None else weights
    total = float(w @ (U * U).sum(1))
    inactive = inactive_axes(
        to_tensor(model.codes, U.dtype, U.device),
        weights,
        lambda rows, Z: float(
            w[rows] @ ((model.decode(model.read(Z)) - U[rows]) ** 2).sum(1) / (w[rows].sum() * total)
        ),
        _NOTHING * held_out,
    )
    if inactive is None:
        return model, []
    model = replace(model, inactive=as_array(inactive))
    codes = model.to_user(model.read(to_tensor(model.codes, U.dtype, U.device)))
    numbers = torch.nonzero(~torch.isnan(inactive))[:, 0].tolist()
    count = f"{len(numbers)} components of the codes ({some_rows(numbers)})"
    message = f"{count} carry nothing and are zero for all items: n_components can be lower"
    return replace(model, codes=codes.cpu().numpy()), [CollapseWarning(message)]
