"""Prepared items of a dense fit, and its single stage: problem, starts, solvers and last layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from rkhs._core.arrays import as_numpy, tensor_like, to_tensor
from rkhs._core.copies import copies
from rkhs._core.errors import CollapseWarning, InputError, OverfitWarning, some_rows
from rkhs._core.linalg import Factor, apply_inverse, divisor, factorize
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import (
    Choice,
    Fit,
    RandomSource,
    SolvedDecoder,
    Stage,
    Stages,
    Start,
    as_array,
    on_principal_axes,
)
from rkhs.estimators.choice_report import overfit_sentence, report_choice
from rkhs.estimators.run import Run, items_bytes
from rkhs.estimators.training import Training
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.functional import grid_weights
from rkhs.losses import Squared
from rkhs.models import AutoencoderModel, CodePenalty, Rebuilt, inactive_axes
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.coordinates import JitteredFactor, jittered_factor
from rkhs.problems.decoder import Decoder, RobustDecoder, optimal_decoder
from rkhs.problems.initial_codes import best_start, even_columns, kernel_pca_scores, targets_of_layers
from rkhs.problems.last_layers import ItemsLayer
from rkhs.problems.semiparametric import (
    LinearFactor,
    PrincipalCoordinates,
    kernel_unit,
    linear_unit,
    semiparametric_decoder,
)
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.selection.loss_scale import effective_gram, typical_residual
from rkhs.solvers import ADMM, Alternating, GradientDescent
from rkhs.spaces import training_gram
from rkhs.spaces.features import WholeMap

# Relative duality gap of the last layer, and its share of the tolerance of the encoder: a gap above the decrease of one
# step blocks the line search (digits, 10 codes, Huber: 81 evaluations at a share of 1e-1, 35 at 1e-3).
_TOL_INNER, _SHARE, _FINEST = 1e-6, 1e-3, 1e-10
_OFF = 1e-2  # largest relative distance of the encoder's codes from the constraint
JOINT = (GradientDescent, Alternating)
"""Solvers of the joint problem of all layers, the last one too."""
_NOTHING = 0.01  # share of the held-out error by which the removal of inactive components may raise it


@dataclass(frozen=True, eq=False)
class PreparedItems:
    """Items prepared for fits with any regularisers: a factor replaces the Gram matrix."""

    given: Training  # as it was read
    training: Training  # with noisy copies, where there is noise
    kernel: Kernel  # resolved
    rebuilt: Rebuilt
    target: Tensor  # (n, q): coordinates of the targets
    factor: Factor  # ``F F^T = K``
    axes: PrincipalCoordinates | None  # inputs of a free linear part
    linear: Tensor | None  # (n, k): these coordinates of the items
    scores: dict[int, Tensor] | None  # by number of components (n, p): principal component scores to start from
    gram: Tensor | None  # (n, n): ``K``, for the solvers of the joint problem only
    cut: Tensor | None  # (n, n): ``K``, for choices on parts of it if items are rebuilt as features of ``K``
    largest: float  # of ``k(x, x)``

    @property
    def copies(self) -> np.ndarray:
        """Group of each item, shape (n,): items with equal targets that the kernel cannot distinguish share one."""
        gram = self.gram if self.gram is not None else self.cut
        F = self.factor.matrix
        return copies([F @ F.mT if gram is None else gram], self.target)

    def coordinates(self, reg: float, p: int) -> Factor | LinearFactor:
        """Coordinates of codes in ``p`` dimensions, with columns for a free linear part in units of its penalty."""
        return self.factor if self.linear is None else LinearFactor(self.factor, self.linear[:, :p] * linear_unit(reg))

    @cached_property
    def map(self) -> WholeMap:
        """Feature map of new items."""
        items = None if self.kernel.domain == "gram" else as_numpy(self.training.items)
        return WholeMap(self.kernel, items, len(self.training))

    def stages(self, settings: Settings, run: Run) -> ItemStages:
        """The single stage of the fit."""
        return ItemStages(settings, run, self)

    def start(
        self, stages: ItemStages, chosen: AutoencoderModel | None, previous: AutoencoderModel | None
    ) -> Start | None:
        """Warm start: codes of a previous model of these items, or of the model of a choice."""
        settings, n = stages.settings, len(self.given)
        return _start_of(previous, settings, stages.run, n) or _start_of(chosen, settings, stages.run, n)

    def completed(self, fit: Fit, choice: Choice, run: Run) -> Fit:
        """The fit itself."""
        return fit

    def reopened(self, settings: Settings, run: Run) -> PreparedItems:
        """The same items prepared for other kernels."""
        return open_items(settings, self.given, run)


@dataclass(frozen=True, eq=False)
class ItemStages(Stages):
    """The single stage of a dense fit: all items at once."""

    inputs: PreparedItems

    def __len__(self) -> int:
        return len(self.inputs.target)

    @property
    def weights(self) -> Tensor | None:
        """Weights of the items."""
        return self.inputs.training.weights

    def problem(self, size: int, reg: tuple[float, ...]) -> Autoencoder:
        """The objective. Codes on a set: Esser et al. (2024), theorem 5."""
        settings, U, space = self.settings, self.inputs.target, self.inputs.rebuilt.output
        operators = [None if A is None else tensor_like(A, U) for A in settings.operators]
        if operators[-1] is not None and isinstance(space, Euclidean):
            operators[-1] = space.operator(operators[-1])
        return items_autoencoder(
            self.inputs.coordinates(reg[0], settings.widths[0]),
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

    def initial_point(self, problem: Autoencoder, init: str, rng: RandomSource) -> Tensor:
        """Initial point from principal components, random codes or given codes."""
        settings, encoder = self.settings, problem.encoder
        if init in ("uniform", "codes"):
            return encoder.start([self._given_codes(problem, rng)], 1.0)
        targets = self._targets(problem, init, rng)
        if settings.code_set is not None:
            return encoder.start(targets, 1.0 / float(divisor(targets[0].norm(dim=1).mean())))
        return best_start(problem.value, partial(encoder.start, targets))

    def _targets(self, problem: Autoencoder, init: str, rng: RandomSource) -> list[Tensor]:
        """Codes of the layers to start near to: principal component scores, or random ones."""
        settings, known, factor = self.settings, self.inputs.scores, problem.encoder.factor
        if init == "kpca" and known is not None:
            return [known[width] for width in settings.widths]
        free = settings.code_set is None
        rows = factor.dim if free else len(self)
        codes = torch.as_tensor(rng().standard_normal((rows, max(settings.widths)))).to(self.inputs.target)
        return targets_of_layers(factor.codes(codes) if free else codes, settings.widths, self.weights)

    def _given_codes(self, problem: Autoencoder, rng: RandomSource) -> Tensor:
        """Codes that were given, or ``K Phi`` for uniform coefficients ``Phi``, as in the paper."""
        settings, U, factor = self.settings, self.inputs.target, problem.encoder.factor
        if settings.start is None:
            return factor.codes(factor.pull(torch.as_tensor(rng().uniform(size=(len(U), settings.widths[0]))).to(U)))
        if len(settings.start) != len(U):
            raise InputError(
                f"init must hold codes of the {len(U)} rows of this fit; got {len(settings.start)}; pass numbers "
                "as reg, since its choice fits parts of the rows"
            )
        return tensor_like(settings.start, U)

    def scores(self, problem: Autoencoder, rng: RandomSource) -> tuple[Tensor, Tensor | None]:
        """Principal component scores, or random ones."""
        targets = self._targets(problem, self.settings.init, rng)
        return max(targets, key=lambda codes: codes.shape[1]), self.weights

    def next_stage(self, stage: Stage, size: int, reg: tuple[float, ...]) -> Stage:
        """Further layers: the best of several starts, the first from the stage."""
        problem = self.problem(size, reg)
        return self.best_of_starts(problem, self.points(problem, stage), reg)

    def solver(self, steps: int | None) -> Any:
        """The solver of the reduced problem, or an adapter for one of the joint problem."""
        solver = self.settings.solver
        return _AllLayers(self) if isinstance(solver, JOINT) else solver

    def stage(self, problem: Autoencoder, reg: tuple[float, ...], solution: Solution) -> Stage:
        """Codes, on principal axes if the model is rotation invariant, and the parameters that give them."""
        settings, encoder, factor = self.settings, problem.encoder, problem.encoder.factor
        V, hidden = encoder.parts(solution.point)
        parts, codes = on_principal_axes(settings, [V, *hidden], encoder.layers(solution.point), self.weights)
        operators = (None if A is None else tensor_like(A, V) for A in settings.operators[1:])
        mixed = [P if A is None else P @ A for P, A in zip(parts[1:], operators, strict=False)]
        columns = factor.linear.shape[1] if isinstance(factor, LinearFactor) else 0
        if isinstance(factor, JitteredFactor):  # jittered directions carry no kernel component
            missed = factor.jitter * float(factor.coefficients(parts[0]).norm())
            if missed > _OFF * float(codes[0].norm()):
                solution = replace(solution, reason=Reason.UNREACHED)
        return Stage(codes, mixed, parts[0], solution, reg, columns, problem=problem)

    def last_layer(self, stage: Stage) -> SolvedDecoder:
        """Solve the last layer on the codes."""
        layer, U, w = stage.problem.last_layer.solve(stage.codes), self.inputs.target, self.weights
        assert isinstance(layer, Decoder)
        if not bool(torch.isfinite(layer.coefficients).all()):
            raise InputError("the decoder of these items has coefficients that are not finite; rescale the data")
        losses = self.settings.loss.value(U)
        return SolvedDecoder(
            layer,
            value=stage.solution.value,
            trivial=float(losses.mean() if w is None else w @ losses),
            support=(layer.parameters != 0.0).any(1).nonzero()[:, 0],
            saturated=torch.arange(0) if layer.saturated is None else layer.saturated.nonzero()[:, 0],
            gap=layer.gap,
        )

    def coefficients(self, stage: Stage) -> tuple[Tensor, Tensor | None]:
        """Coefficients on the items."""
        factor = stage.problem.encoder.factor
        return factor.coefficients(stage.point), factor.mixed if isinstance(factor, LinearFactor) else None

    def penalty(self, stage: Stage) -> CodePenalty:
        """Penalty of changes of codes; the factor of the power function is stored, as a Gram matrix is not."""
        settings = self.settings
        kind: Literal["power", "diagonal"] = "diagonal" if self.inputs.linear is None else "power"
        penalty = CodePenalty(kind, self.inputs.training.total, free=settings.refinable)
        if settings.code_set is not None or not settings.refine:
            return penalty
        factor = self.inputs.factor
        return replace(penalty, cholesky=as_array(factor.cholesky), pivots=as_array(factor.pivots))

    def residual_scale(self, stage: Stage) -> float:
        """Typical leave-one-out residual at the codes of the stage."""
        settings, U = self.settings, self.inputs.target
        K = settings.decoder_kernels[-1]._gram(stage.codes)
        K = effective_gram([K], [settings.operators[-1]], U)
        groups = None if self.inputs.given.of_few_values else self.inputs.copies
        return typical_residual(K, U, settings.reg[-1], self.weights, groups, center=False)[0]

    def _notes(self, last: SolvedDecoder) -> list[Warning]:
        """Warnings from the dual of the last layer."""
        warned: list[Warning] = []
        if not last.layer.solved:
            warned.append(
                ConvergenceWarning(
                    f"{self.run.name}: the last layer is solved to a duality gap of {last.gap:.2g} only; raise reg"
                )
            )
        U = self.inputs.target
        largest = float(torch.linalg.vector_norm(U, dim=1).max()) if U.numel() else 0.0
        if largest > 0.0 and last.trivial == 0.0:
            warned.append(
                CollapseWarning(
                    f"the model collapsed to the mean: every target is within {self.settings.loss!r} of it, the "
                    f"farthest at {largest:.4g}. Lower epsilon, which is in units of the centred and scaled targets"
                )
            )
        return warned

    def with_diagnostics(self, fit: Fit, last: SolvedDecoder) -> Fit:
        """The fit with errors as shares of the variance, inactive components, and what users must know."""
        settings, U, weights, model = self.settings, self.inputs.target, self.weights, fit.model
        fit = replace(fit, warnings=(*self._notes(last), *fit.warnings))
        compared, lost = report_choice(model.compared, model.rebuilt.output, last.layer, U, weights, settings.reg[-1])
        overfit = overfit_sentence(compared.held_out, lost, vectors=model.rebuilt.vectors)
        if overfit is not None and isinstance(settings.loss, Squared):
            fit = replace(fit, warnings=(*fit.warnings, OverfitWarning(f"{self.run.name}: {overfit}")))
        fit = replace(fit, model=replace(model, compared=compared))
        if compared.held_out is None or len(settings.widths) > 1 or settings.noise is not None:
            return fit
        w = U.new_full((len(U),), 1.0 / len(U)) if weights is None else weights
        total = float(w @ (U * U).sum(1))

        def lost_share(rows: Tensor, Z: Tensor) -> float:
            """Share of the variance of some rows that these codes lose."""
            errors = ((model.decode(model.from_user(Z)) - U[rows]) ** 2).sum(1)
            return float(w[rows] @ errors / (w[rows].sum() * total))

        codes = to_tensor(model.codes, U.dtype, U.device)
        inactive = inactive_axes(codes, weights, lost_share, _NOTHING * compared.held_out)
        return fit if inactive is None else _without(fit, codes, inactive)


@dataclass(frozen=True, eq=False)
class _AllLayers:
    """Adapter of a solver of the joint problem: returns a point of the reduced problem and its objective."""

    stages: ItemStages

    def solve(self, problem: Autoencoder, start: Tensor, monitor: Monitor) -> Solution:
        """Solve the joint problem from a point of the reduced problem."""
        settings, K = self.stages.settings, self.stages.inputs.gram
        encoder, layer = problem.encoder, problem.last_layer
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


def _rule(settings: Settings, dtype: torch.dtype) -> Callable[..., Decoder]:
    """The function that solves the last layer."""
    if isinstance(settings.loss, Squared):
        return semiparametric_decoder if settings.linear_part == "free" else optimal_decoder
    inner = max(min(_TOL_INNER, _SHARE * settings.tol), _FINEST, 100.0 * torch.finfo(dtype).eps)
    return RobustDecoder(settings.loss, ADMM(tol=inner, max_iter=5000))


def _without(fit: Fit, codes: Tensor, inactive: Tensor) -> Fit:
    """Mark components as inactive, set them to zero, and warn."""
    model = replace(fit.model, inactive=as_array(inactive))
    numbers = torch.nonzero(~torch.isnan(inactive))[:, 0].tolist()
    count = f"{len(numbers)} components of the codes ({some_rows(numbers)})"
    message = f"{count} are inactive (zero for all items): n_components can be lower"
    model = replace(model, codes=model.to_user(model.from_user(codes)).cpu().numpy())
    return replace(fit, model=model, warnings=(*fit.warnings, CollapseWarning(message)))


def _cuts(settings: Settings, given: Training) -> bool:
    """Whether regularisers are compared on parts of the Gram matrix: if its features are rebuilt."""
    shared = given.self_targets and settings.output_kernel is settings.kernel and settings.noise is None
    return shared and bool(settings.candidates)


def _starts_by_width(settings: Settings, scores: Tensor, weights: Tensor | None) -> dict[int, Tensor]:
    """Codes of layers to start near to, by their number of components."""
    codes = scores if settings.code_set is None else even_columns(scores)
    return dict(zip(settings.widths, targets_of_layers(codes, settings.widths, weights), strict=True))


def _announce(settings: Settings, training: Training, run: Run) -> None:
    """Announce the memory of a fit."""
    columns = training.items.shape[1] if settings.kernel.domain == "vectors" else 0
    run.announce_dense(len(training) * settings.n_copies, 4.5, columns, items_bytes(settings.kernel, training.items))


def open_items(settings: Settings, training: Training, run: Run) -> PreparedItems:
    """Factor the Gram matrix of the inputs, put the targets in coordinates, and find the scores to start from."""
    if not run.announced_bytes:  # fits to parts of the items need less
        _announce(settings, training, run)
    given, training = training, settings.noisy_copies(training)
    items, weights, widths = training.items, training.weights, settings.widths
    kernel = settings.kernel.resolve(items, weights)
    K = training_gram(kernel, items, run.options)
    rebuilt, U = _fit_outputs(settings, run, training, kernel, K)
    axes, linear, scores = None, None, None
    if settings.linear_part == "free":
        axes, linear = _principal_coordinates(settings, items, weights, K)
        scores = linear * axes.scale if settings.init == "kpca" else None
    elif settings.init == "kpca":
        scores, _ = kernel_pca_scores(K, min(max(widths), len(K)), weights)
    by_width = None if scores is None else _starts_by_width(settings, scores, weights)
    factor = factorize(K) if settings.code_set is None else jittered_factor(K)
    gram = K if isinstance(settings.solver, JOINT) else None
    cut, largest = K if _cuts(settings, given) else None, float(K.diagonal().max())
    return PreparedItems(given, training, kernel, rebuilt, U, factor, axes, linear, by_width, gram, cut, largest)


def _principal_coordinates(
    settings: Settings, items: Any, weights: Tensor | None, K: Tensor
) -> tuple[PrincipalCoordinates, Tensor]:
    """Inputs of a free linear part: principal coordinates of vectors, of sparse rows, or of features."""
    if settings.kernel.domain == "vectors":
        axes = PrincipalCoordinates.of_vectors(items, max(settings.widths), weights)
        return axes, axes.of(items)
    products = settings.output_kernel._gram(items).to(K) if settings.rows and settings.output_kernel else K
    axes = PrincipalCoordinates.of_gram(products, max(settings.widths), weights)
    return axes, axes.of(products)


def _start_of(model: AutoencoderModel | None, settings: Settings, run: Run, n: int) -> Start | None:
    """Codes of layer 1 and coefficients of the layers 2..L-1 of a model, if they fit these data."""
    if model is None or len(model.layer_codes[0]) != n:
        return None
    widths = tuple(c.shape[1] for c in model.layer_codes)
    if widths != settings.widths and not (settings.shortcut and widths == (min(settings.widths),)):
        return None
    codes, *hidden = (to_tensor(c, **run.options) for c in (model.layer_codes[0], *model.encoder_coefficients[1:]))
    return Start([codes], hidden)


def _fit_outputs(settings: Settings, run: Run, training: Training, kernel: Kernel, K: Tensor) -> tuple[Rebuilt, Tensor]:
    """Resolve the output kernel and put the targets in coordinates; ``K`` is the Gram matrix of the items."""
    targets, weights, items, diagonal = training.targets, training.weights, None, None
    options = {"center": bool(settings.center), "scale": bool(settings.scale)}
    space: Euclidean | RKHS
    resolved = settings.output_kernel
    if resolved is None:
        columns = grid_weights(kernel, targets.shape[1]) if training.self_targets else None
        space, U = Euclidean.fit(targets, weights, **options, column_weights=columns, rotate=settings.loss.isotropic)
    else:
        settings.loss.check_isotropic()
        resolved = resolved.resolve(targets, weights)
        shared = training.self_targets and resolved == kernel  # other targets have another Gram matrix
        G = K if shared else training_gram(resolved, targets, run.options)
        space, U = RKHS.fit(G, weights, **options)
        if resolved.domain == "gram":
            diagonal = as_array((K.diagonal() if shared else resolved._diag(targets)).clone())
        elif not training.self_targets:
            items = as_numpy(targets)
    unit = _unit(settings, U, weights)
    if unit != 1.0:
        space, U = space.rescaled(unit), U / unit
    return Rebuilt(space, resolved, training.self_targets, items, diagonal), U


def _unit(settings: Settings, U: Tensor, weights: Tensor | None) -> float:
    """Unit of the targets: the size of what free linear parts leave of them."""
    free = settings.linear_part == "free" and settings.scale
    return kernel_unit(U, min(settings.widths), weights) if free else 1.0
