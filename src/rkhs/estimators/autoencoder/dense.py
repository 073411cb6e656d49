"""Fitting a kernel autoencoder with the Gram matrix of all items: targets, starts, solvers, canonical codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from rkhs._core.arrays import as_numpy, tensor_like, to_tensor
from rkhs._core.copies import copies
from rkhs._core.errors import CollapseWarning, InputError, OverfitWarning, some_rows
from rkhs._core.linalg import Factor, apply_inverse, divisor, factorize
from rkhs.estimators.autoencoder.fit import (
    Choice,
    Fit,
    as_array,
    collapse_warnings,
    layers_of,
    on_principal_axes,
    recomputed_codes,
    with_codes,
    with_identity_layers,
)
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.choice_report import overfit_sentence, report_choice
from rkhs.estimators.run import Run, items_bytes
from rkhs.estimators.training import Training
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.functional import grid_weights
from rkhs.losses import Squared
from rkhs.models import AutoencoderModel, CodePenalty, Compared, Expansion, LinearPart, Rebuilt, inactive_axes
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder
from rkhs.problems.coordinates import Coordinates, JitteredFactor, jittered_factor
from rkhs.problems.decoder import Decoder, RobustDecoder, optimal_decoder
from rkhs.problems.encoders import pad_or_truncate
from rkhs.problems.initial_codes import best_start, even_columns, kernel_pca_scores, targets_of_layers, widened
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
_OFF = 1e-2  # share of the codes by which those of the encoder may miss the constraint
_JOINT = (GradientDescent, Alternating)  # solvers that move all layers, the last one too
_NOTHING = 0.01  # of the held-out error: what components may cost that are said to carry nothing


@dataclass(frozen=True, eq=False)
class OpenedItems:
    """What fits read of items, whatever their regularisers, so that the Gram matrix itself can be let go."""

    given: Training  # as it was read
    training: Training  # with noisy copies, where there is noise
    kernel: Kernel  # resolved
    rebuilt: Rebuilt
    target: Tensor  # (n, q): coordinates of the targets
    factor: Factor  # ``F F^T = K``
    axes: PrincipalCoordinates | None  # what a free linear part reads
    linear: Tensor | None  # (n, k): these coordinates
    layer_targets: list[Tensor] | None  # codes of the layers to start near to, from kernel PCA scores
    gram: Tensor | None  # (n, n): ``K``, for the solvers of the joint problem only
    cut: Tensor | None  # (n, n): ``K``, for choices on parts of it where items rebuild their own features
    largest: float  # of ``k(x, x)``

    @property
    def copies(self) -> np.ndarray:
        """A number for each item, shape (n,): one for copies with equal targets."""
        gram = self.gram if self.gram is not None else self.cut
        F = self.factor.matrix
        return copies([F @ F.mT if gram is None else gram], self.target)

    def with_penalty(self, reg: float) -> Factor | LinearFactor:
        """Coordinates of the codes, with columns for a free linear part in units of its price."""
        return self.factor if self.linear is None else LinearFactor(self.factor, self.linear * linear_unit(reg))

    def shallow(self, settings: Settings) -> OpenedItems:
        """The same for one hidden layer with as many dimensions as the narrowest of these settings."""
        layer_targets = self.layer_targets and [min(self.layer_targets, key=lambda targets: targets.shape[1])]
        if self.axes is None or self.linear is None:
            return replace(self, layer_targets=layer_targets)
        p = min(settings.widths)
        return replace(self, axes=self.axes.leading(p), linear=self.linear[:, :p], layer_targets=layer_targets)

    def fit(self, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
        """Fit all layers, from a previous model of these items or that of the choice."""
        settings, U, weights, n = choice.settings, self.target, self.training.weights, len(self.given)
        start = _layers_of(previous, settings, run, n) or _layers_of(choice.start, settings, run, n)
        if settings.loss.automatic:
            plain = _solve_layers(replace(settings, loss=Squared()), self, start, run)
            settings, start = _with_loss_parameter(settings, plain, U, weights, self.copies), plain.layers
        if settings.shortcut and (start is None or math.inf in settings.reg):
            opened, found = self._with_depth(settings, start, run)
        else:
            opened, found = self, _solve_layers(settings, self, start, run)
        model = _model(settings, opened, found)
        if settings.noise is not None or found.solution.reason is Reason.UNREACHED:
            model = replace(model, codes=recomputed_codes(settings, run, model, self.given.items))
        fit = Fit(model, found.solution, found.codes[0], self.largest)
        return fit if choice.compared is None else self._judged(fit, settings, run, found, choice.compared)

    def _with_depth(self, settings: Settings, start: list[Tensor] | None, run: Run) -> tuple[OpenedItems, _Solved]:
        """The layers, from one hidden layer and if not beyond it, and the items as their first one reads them."""
        opened, start = self.shallow(settings), None if start is None else [start[0][:, : min(settings.widths)]]
        found = _deepened(settings, _solve_layers(settings.shallow, opened, start, run))
        return (opened, found) if math.inf in settings.reg else (self, _solve_layers(settings, self, found.layers, run))

    def _judged(self, fit: Fit, settings: Settings, run: Run, found: _Solved, compared: Compared) -> Fit:
        """The fit with errors as shares of the variance, components at rest, and what users must know."""
        output, U, weights = self.rebuilt.output, self.target, self.training.weights
        warned, model = _last_layer_warnings(settings, run, found, U, weights), fit.model
        compared, lost = report_choice(compared, output, found.decoder, U, weights, settings.reg[-1])
        overfit = overfit_sentence(compared.held_out, lost, vectors=self.rebuilt.vectors)
        if overfit is not None and isinstance(settings.loss, Squared):
            warned.append(OverfitWarning(f"{run.name}: {overfit}"))
        model = replace(model, compared=compared)
        if compared.held_out is not None and len(settings.widths) == 1 and settings.noise is None:
            model, notes = _without_inactive(model, U, weights, compared.held_out)
            warned += notes
        return replace(fit, model=model, warnings=tuple(warned))


def _deepened(settings: Settings, found: _Solved) -> _Solved:
    """One hidden layer that was solved, with others that are the identity."""
    Z, free, A = found.codes[0], found.decoder.linear, found.linear
    coefs, codes = with_identity_layers(settings, found.encoder_coefs, Z, len(Z))
    free = None if free is None else torch.cat([pad_or_truncate(free[:-1].mT, settings.widths[-1]).mT, free[-1:]])
    A = None if A is None else pad_or_truncate(A, settings.widths[0])
    return _Solved(codes, coefs, replace(found.decoder, linear=free), found.solution, A)


def open_items(settings: Settings, training: Training, run: Run) -> OpenedItems:
    """Factor the Gram matrix of the inputs, put the targets in coordinates, and find the scores to start from."""
    if not run.announced_bytes:  # parts of what was announced are smaller
        columns = training.items.shape[1] if settings.kernel.domain == "vectors" else 0
        run.announce_dense(
            len(training) * settings.n_copies, 4.5, columns, items_bytes(settings.kernel, training.items)
        )
    given, training = training, settings.noisy_copies(training)
    items, weights, widths = training.items, training.weights, settings.widths
    kernel = settings.kernel.resolve(items, weights)
    K = training_gram(kernel, items, run.options)
    rebuilt, U = _fit_outputs(settings, run, training, kernel, K)
    axes, linear, scores, layer_targets = None, None, None, None
    if settings.linear_part == "free":
        axes, linear = _principal_coordinates(settings, items, weights, K)
        scores = linear * axes.scale if settings.init == "kpca" else None
        axes, linear = axes.leading(widths[0]), linear[:, : widths[0]]
    elif settings.init == "kpca":
        scores, _ = kernel_pca_scores(K, min(max(widths), len(K)), weights)
    if scores is not None:
        codes = scores if settings.code_set is None else even_columns(scores)
        layer_targets = targets_of_layers(codes, widths, weights)
    factor = factorize(K) if settings.code_set is None else jittered_factor(K)
    gram = K if isinstance(settings.solver, _JOINT) else None
    alone = given.self_targets and settings.output_kernel is settings.kernel and settings.noise is None
    cut, largest = K if alone and settings.candidates else None, float(K.diagonal().max())
    return OpenedItems(given, training, kernel, rebuilt, U, factor, axes, linear, layer_targets, gram, cut, largest)


def _principal_coordinates(
    settings: Settings, items: Any, weights: Tensor | None, K: Tensor
) -> tuple[PrincipalCoordinates, Tensor]:
    """What a free linear part reads: of vectors, of rows of a sparse matrix, or of features."""
    if settings.kernel.domain == "vectors":
        axes = PrincipalCoordinates.of_vectors(items, max(settings.widths), weights)
        return axes, axes.of(items)
    products = settings.output_kernel._gram(items).to(K) if settings.rows and settings.output_kernel else K
    axes = PrincipalCoordinates.of_gram(products, max(settings.widths), weights)
    return axes, axes.of(products)


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


def _layers_of(model: AutoencoderModel | None, settings: Settings, run: Run, n: int) -> list[Tensor] | None:
    """Codes of layer 1 and coefficients of the layers 2..L-1 of a model, if they fit these data."""
    if model is None or len(model.layer_codes[0]) != n:
        return None
    widths = tuple(c.shape[1] for c in model.layer_codes)
    if widths != settings.widths and not (settings.shortcut and widths == (min(settings.widths),)):
        return None
    return [to_tensor(c, **run.options) for c in (model.layer_codes[0], *model.encoder_coefficients[1:])]


def _fit_outputs(settings: Settings, run: Run, training: Training, kernel: Kernel, K: Tensor) -> tuple[Rebuilt, Tensor]:
    """Resolve the output kernel and put the targets in coordinates; ``K`` is the Gram matrix of the items."""
    options = {"center": bool(settings.center), "scale": bool(settings.scale)}
    targets, weights, self_targets, resolved = (
        training.targets,
        training.weights,
        training.self_targets,
        settings.output_kernel,
    )
    items, diagonal = None, None
    space: Euclidean | RKHS
    if resolved is None:
        columns = grid_weights(kernel, targets.shape[1]) if self_targets else None
        space, U = Euclidean.fit(targets, weights, **options, column_weights=columns, rotate=settings.loss.isotropic)
    else:
        settings.loss.check_isotropic()
        resolved = resolved.resolve(targets, weights)
        shared = self_targets and resolved == kernel  # other targets have another Gram matrix
        G = K if shared else training_gram(resolved, targets, run.options)
        space, U = RKHS.fit(G, weights, **options)
        if resolved.domain == "gram":
            diagonal = as_array((K.diagonal() if shared else resolved._diag(targets)).clone())
        elif not self_targets:
            items = as_numpy(targets)
    if settings.linear_part == "free" and settings.scale:  # the unit is what free linear parts leave
        unit = kernel_unit(U, min(settings.widths), weights)
        space, U = (space, U) if unit == 1.0 else (space.in_units(unit), U / unit)
    return Rebuilt(space, resolved, self_targets, items, diagonal), U


@dataclass(frozen=True)
class _Solved:
    """The layers that a solver found; ``encoder_coefs`` are ``Phi_l A_l`` of the layers 1..L-1, each (n, p_l)."""

    codes: list[Tensor]
    encoder_coefs: list[Tensor]
    decoder: Decoder
    solution: Solution
    linear: Tensor | None = None

    @property
    def layers(self) -> list[Tensor]:
        """What another solve can start from."""
        return [self.codes[0], *self.encoder_coefs[1:]]


def _with_loss_parameter(
    settings: Settings, plain: _Solved, U: Tensor, weights: Tensor | None, groups: np.ndarray
) -> Settings:
    """Settings with numbers for a loss that has none, from the layers of the squared loss."""
    K = settings.decoder_kernels[-1]._gram(plain.codes[-1])
    K = effective_gram([K], [settings.operators[-1]], U)
    size, _ = typical_residual(K, U, settings.reg[-1], weights, groups, center=False)
    return replace(settings, loss=settings.loss.resolve(size))


def _model(settings: Settings, opened: OpenedItems, found: _Solved) -> AutoencoderModel:
    training, kernel, factor = opened.training, opened.kernel, opened.with_penalty(settings.reg[0])
    decoder, weights, linear = found.decoder, training.weights, None
    if not bool(torch.isfinite(decoder.coefficients).all()):
        raise InputError("the decoder of these items has coefficients that are not finite; rescale the data")
    if opened.axes is not None and found.linear is not None and isinstance(factor, LinearFactor):
        linear = LinearPart.along(opened.axes.with_penalty(settings.reg[0]), found.linear, factor.mixed)
    features = WholeMap(kernel, None if kernel.domain == "gram" else as_numpy(training.items), len(training))
    first, *others = found.encoder_coefs
    model = AutoencoderModel(
        kernel,
        Expansion(features, as_array(first)),
        linear,
        layers_of(settings, found.codes, others, decoder),
        opened.rebuilt,
        settings.reg,
        np.empty(0),
        None,
        _penalty(settings, factor, training.total),
        settings.loss,
        decoder.gap,
        as_array((decoder.parameters != 0.0).any(1).nonzero()[:, 0]),
        np.arange(0) if decoder.saturated is None else as_array(decoder.saturated.nonzero()[:, 0]),
        None if weights is None else as_array(weights),
    )
    return with_codes(model, settings, found.codes, weights)


def _penalty(settings: Settings, factor: Factor | LinearFactor, total: float) -> CodePenalty:
    """What the power function needs; a Gram matrix cannot be asked for it again, so it goes into model files."""
    kind: Literal["power", "diagonal"] = "diagonal"
    if isinstance(factor, LinearFactor):
        kind, factor = "power", factor.kernel
    penalty = CodePenalty(kind, total, free=settings.refinable)
    if settings.code_set is not None or not settings.refine:
        return penalty
    return replace(penalty, triangle=as_array(factor.triangle), pivots=as_array(factor.pivots))


def _solve_layers(settings: Settings, opened: OpenedItems, previous: list[Tensor] | None, run: Run) -> _Solved:
    """Solve from every start and keep the lowest objective."""
    problem = _problem(settings, opened)
    rng, best = cache(settings.generator), None  # most fits draw no numbers
    for attempt in range(settings.n_init):
        start = _start(settings, problem, opened, previous, attempt, rng)
        monitor = Monitor(verbose=run.verbose, label=f"{run.name} start {attempt + 1}/{settings.n_init}")
        if isinstance(settings.solver, _JOINT):
            found = _solve_jointly(settings, problem, opened, start, monitor)
        else:
            found = settings.solver.solve(problem, start, monitor)
        # A later start must win by more than what a solver leaves undone.
        if best is None or found.value < best.value - settings.tol * abs(best.value):
            best = found
    assert best is not None
    return _finish(problem, best, settings, opened.training.weights)


def _problem(settings: Settings, opened: OpenedItems) -> Autoencoder:
    U, weights, space = opened.target, opened.training.weights, opened.rebuilt.output
    kernels, reg, rule = settings.decoder_kernels, settings.reg, _rule(settings, U.dtype)
    operators = [None if A is None else tensor_like(A, U) for A in settings.operators]
    if operators[-1] is not None and isinstance(space, Euclidean):
        operators[-1] = space.operator(operators[-1])
    # Codes on a set: Esser et al. (2024), theorem 5.
    return items_autoencoder(
        opened.with_penalty(settings.reg[0]),
        U,
        kernels,
        settings.widths,
        reg,
        tuple(operators),
        weights,
        rule,
        code_set=settings.code_set,
        shortcut=settings.shortcut,
    )


def _rule(settings: Settings, dtype: torch.dtype) -> Callable[..., Decoder]:
    """That solves the last layer."""
    if isinstance(settings.loss, Squared):
        return semiparametric_decoder if settings.linear_part == "free" else optimal_decoder
    inner = max(min(_TOL_INNER, _SHARE * settings.tol), _FINEST, 100.0 * torch.finfo(dtype).eps)
    return RobustDecoder(settings.loss, ADMM(tol=inner, max_iter=5000))


def _solve_jointly(
    settings: Settings, problem: Autoencoder, opened: OpenedItems, start: Tensor, monitor: Monitor
) -> Solution:
    """Move all layers; the answer is a point of the reduced problem and its objective there."""
    encoder, layer, K = problem.encoder, problem.last_layer, opened.gram
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


def _start(
    settings: Settings,
    problem: Autoencoder,
    opened: OpenedItems,
    previous: list[Tensor] | None,
    attempt: int,
    rng: Callable[[], np.random.RandomState],
) -> Tensor:
    """Where an attempt starts: at the layers of a model, at principal components, or at random codes."""
    encoder, widths, weights = problem.encoder, settings.widths, opened.training.weights
    if attempt == 0 and previous is not None and any(bool(Phi.any()) for Phi in previous[1:]) == (len(widths) > 1):
        return encoder.resume(previous[0], previous[1:])
    layer_targets = opened.layer_targets
    if attempt == 0 and settings.init in ("uniform", "codes"):
        return encoder.start([_first_codes(settings, encoder.factor, opened.target, rng)], 1.0)
    if attempt > 0 or layer_targets is None:
        rows = encoder.factor.dim if settings.code_set is None else len(opened.target)
        codes = torch.as_tensor(rng().standard_normal((rows, max(widths)))).to(opened.target)
        codes = encoder.factor.codes(codes) if settings.code_set is None else codes
        layer_targets = targets_of_layers(codes, widths, weights)
    if attempt == 0 and previous is not None:  # one hidden layer: what it lacks comes from the goals, at its scale
        scores = max(layer_targets, key=lambda targets: targets.shape[1])
        return encoder.start(widened(pad_or_truncate(previous[0], min(widths)), scores, widths, weights), 1.0)
    if settings.code_set is not None:
        return encoder.start(layer_targets, 1.0 / float(divisor(layer_targets[0].norm(dim=1).mean())))
    return best_start(problem.value, partial(encoder.start, layer_targets))


def _first_codes(
    settings: Settings, factor: Coordinates, U: Tensor, rng: Callable[[], np.random.RandomState]
) -> Tensor:
    """Codes that were given, or ``K Phi`` for uniform coefficients ``Phi``, as in the paper."""
    if settings.start is None:
        return factor.codes(factor.pull(torch.as_tensor(rng().uniform(size=(len(U), settings.widths[0]))).to(U)))
    if len(settings.start) != len(U):
        raise InputError(
            f"init must hold codes of the {len(U)} rows of this fit; got {len(settings.start)}; give numbers as reg, "
            "so that no part of the rows is fitted"
        )
    return tensor_like(settings.start, U)


def _finish(
    problem: Autoencoder,
    solution: Solution,
    settings: Settings,
    weights: Tensor | None,
) -> _Solved:
    """Rotate the codes to principal axes where the model is invariant, and turn parameters into coefficients."""
    encoder, layer = problem.encoder, problem.last_layer
    V, hidden = encoder.parts(solution.point)
    parts, codes = on_principal_axes(settings, [V, *hidden], encoder.layers(solution.point), weights)
    operators = (None if A is None else tensor_like(A, V) for A in settings.operators[1:])
    coefs = [encoder.factor.coefficients(parts[0])]
    coefs += [P if A is None else P @ A for P, A in zip(parts[1:], operators, strict=False)]
    factor = encoder.factor
    linear = parts[0][: factor.linear.shape[1]] if isinstance(factor, LinearFactor) else None
    if isinstance(factor, JitteredFactor) and factor.jitter * float(coefs[0].norm()) > _OFF * float(codes[0].norm()):
        # In the directions of the jitter an encoder has nothing.
        solution = replace(solution, reason=Reason.UNREACHED)
    decoder = layer.solve(codes[-1])
    assert isinstance(decoder, Decoder)
    return _Solved(codes, coefs, decoder, solution, linear)


def _last_layer_warnings(
    settings: Settings, run: Run, found: _Solved, U: Tensor, weights: Tensor | None
) -> list[Warning]:
    """What the dual of the last layer and the objective say that users must know."""
    warned: list[Warning] = []
    if not found.decoder.solved:
        gap = found.decoder.gap
        warned.append(
            ConvergenceWarning(f"{run.name}: the last layer is solved to a duality gap of {gap:.2g} only; raise reg")
        )
    losses = settings.loss.value(U)
    trivial = float(losses.mean() if weights is None else weights @ losses)
    largest = float(torch.linalg.vector_norm(U, dim=1).max()) if U.numel() else 0.0
    if largest > 0.0 and trivial == 0.0:
        warned.append(
            CollapseWarning(
                f"the model collapsed to the mean: every target is within {settings.loss!r} of it, the farthest at "
                f"{largest:.4g}. Lower epsilon, which is in units of the centred and scaled targets"
            )
        )
    return warned + collapse_warnings(found.solution.value, trivial, settings.reg)
