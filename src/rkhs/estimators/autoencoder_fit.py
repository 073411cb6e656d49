"""Fitting a kernel autoencoder: targets in coordinates, starts, solvers, canonical codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from rkhs._core.arrays import as_numpy, tensor_like, to_tensor
from rkhs._core.checks import check_seed
from rkhs._core.errors import CollapseWarning
from rkhs._core.linalg import Factor, factorize, principal_axes
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.estimators.constrained_fit import solve_constrained
from rkhs.estimators.run import recorded
from rkhs.estimators.tiles import tile_rows, tiles
from rkhs.estimators.training import Training
from rkhs.features import WholeMap
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.functional import grid_weights
from rkhs.losses import Loss, Squared
from rkhs.models import AutoencoderModel, Expansion, Layer, LinearPart, Pricing, Rebuilt
from rkhs.models.code_metric import code_map
from rkhs.outputs import RKHS, Euclidean, OutputSpace
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.decoder import Decoder, optimal_decoder
from rkhs.problems.joint_autoencoder import JointAutoencoder
from rkhs.problems.robust_decoder import RobustDecoder
from rkhs.problems.semiparametric import LinearFactor, PrincipalCoordinates, kernel_unit, semiparametric_decoder
from rkhs.problems.sphere_autoencoder import SphereAutoencoder
from rkhs.problems.start import apply_inverse, kernel_pca_scores, layered_start
from rkhs.protocols import Monitor, Solution
from rkhs.solvers import ADMM, LBFGS, Adam, Alternating, GradientDescent

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = [
    "Encoder",
    "Fit",
    "Solved",
    "as_array",
    "codes_again",
    "collapse_warnings",
    "fit_outputs",
    "last_layer_warnings",
    "layered_model",
    "prepare_encoder",
    "previous_layers",
    "solve_autoencoder",
]

# Relative duality gap of the last layer, and its share of the tolerance of the encoder: a gap above the decrease of one
# step blocks the line search (digits, 10 codes, Huber: 81 evaluations at a share of 1e-1, 35 at 1e-3).
_TOL_INNER, _SHARE, _FINEST = 1e-6, 1e-3, 1e-10


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit of an autoencoder ends with.

    Parameters
    ----------
    model : AutoencoderModel
    solution : Solution
        Of the solver, with the objective of the model.
    said : tuple of Warning
        What users must know.
    """

    model: AutoencoderModel
    solution: Solution
    said: tuple[Warning, ...] = ()


def fit_outputs(
    estimator: KernelAutoencoder, settings: Settings, training: Training, kernel: Kernel, K: Tensor
) -> tuple[Rebuilt, Tensor]:
    """Resolve the output kernel and put the targets in coordinates; ``K`` is the Gram matrix of the items."""
    options = {"center": bool(estimator.center), "scale": bool(estimator.scale)}
    goal, weights, own = training.goal, training.weights, training.own
    space: Euclidean | RKHS
    if settings.output_kernel is None:
        columns = grid_weights(kernel, goal.shape[1]) if own else None
        space, U = Euclidean.fit(goal, weights, **options, column_weights=columns)
        space, U = _in_kernel_units(estimator, settings, space, U, weights)
        return Rebuilt(space, None, own), U
    resolved = settings.output_kernel.resolve(goal, weights)
    shared = own and resolved == kernel  # other targets have another Gram matrix
    space, U = RKHS.fit(K if shared else estimator._training_gram(resolved, goal), weights, **options)
    space, U = _in_kernel_units(estimator, settings, space, U, weights)
    if resolved.domain != "gram":
        return Rebuilt(space, resolved, own, None if own else as_numpy(goal)), U
    diagonal = K.diagonal() if shared else resolved._diag(goal)
    return Rebuilt(space, resolved, own, diagonal=as_array(diagonal.clone())), U


def _in_kernel_units(
    estimator: KernelAutoencoder, settings: Settings, space: Euclidean | RKHS, U: Tensor, weights: Tensor | None
) -> tuple[Euclidean | RKHS, Tensor]:
    """Beside free linear parts that leave little, the unit of the targets is what they leave."""
    if settings.linear_part != "free" or not estimator.scale:
        return space, U
    unit = kernel_unit(U, settings.widths[0], weights)
    return (space, U) if unit == 1.0 else (space.in_units(unit), U / unit)


@dataclass(frozen=True)
class Solved:
    """The layers that a solver found.

    Parameters
    ----------
    codes : list of Tensor
        Codes of the hidden layers, of the training items.
    encoder_coefs : list of Tensor
        ``Phi_l A_l`` of the layers 1..L-1, each (n, p_l).
    decoder : Decoder
    solution : Solution
    linear_coef : Tensor of shape (k, p), optional
        Coefficients of the free linear part of the encoder, on coordinates in units of their price.
    """

    codes: list[Tensor]
    encoder_coefs: list[Tensor]
    decoder: Decoder
    solution: Solution
    linear_coef: Tensor | None = None


def previous_layers(estimator: KernelAutoencoder, n: int, settings: Settings) -> list[Tensor] | None:
    """Codes of layer 1 and coefficients of the layers 2..L-1 of the last fit, if they fit these data."""
    model: AutoencoderModel | None = getattr(estimator, "model_", None) if estimator.warm_start else None
    if model is None:
        return None
    codes = model.layer_codes
    if len(codes[0]) != n or tuple(c.shape[1] for c in codes) != settings.widths:
        return None
    return [to_tensor(c, **estimator._options) for c in (codes[0], *model.encoder_coefficients[1:])]


def layered_model(
    estimator: KernelAutoencoder,
    settings: Settings,
    features: WholeMap,
    training: Training,
    encoder: Encoder,
    result: Solved,
    rebuilt: Rebuilt,
) -> AutoencoderModel:
    """The model of layers that were solved."""
    decoder, codes, weights = result.decoder, result.codes, training.weights
    first, *others = (as_array(c) for c in result.encoder_coefs)
    ends = [None] * len(others) + [None if decoder.linear is None else as_array(decoder.linear)]
    coefficients = [*others, as_array(decoder.coefficients)]
    anchors = [as_array(Z) for Z in codes]
    saturated = decoder.parameters.new_zeros(0) if decoder.saturated is None else decoder.saturated
    model = AutoencoderModel(
        features.kernel,
        Expansion(features, first),
        _linear_part(encoder, result),
        tuple(Layer(*parts) for parts in zip(settings.decoder_kernels, anchors, coefficients, ends, strict=True)),
        rebuilt,
        settings.reg,
        np.empty(0),
        _code_map(estimator, settings, result, weights),
        _pricing(estimator, encoder, training.total),
        settings.loss,
        decoder.gap,
        as_array((decoder.parameters != 0.0).any(1).nonzero()[:, 0]),
        as_array(saturated.nonzero()[:, 0]),
        None if weights is None else as_array(weights),
    )
    return replace(model, codes=estimator._to_output(model.shown(codes[model.narrowest])))


def as_array(values: Tensor) -> np.ndarray:
    """An array in the order in which a file gives it back."""
    return values.contiguous().cpu().numpy()


def codes_again(estimator: KernelAutoencoder, model: AutoencoderModel, items: Any) -> np.ndarray:
    """Codes of clean items, of a model that was fitted to noisy copies."""

    def code(part: Any) -> np.ndarray:
        onto = estimator.constraint if estimator.renormalize else "none"
        codes = model.encode(part, model.map.raw(part).to(**estimator._options), onto=onto)
        return np.asarray(estimator._to_output(model.shown(codes[model.narrowest])))

    return np.concatenate([code(items[tile]) for tile in tiles(len(items), tile_rows(model.map.width))])


def _linear_part(encoder: Encoder, result: Solved) -> LinearPart | None:
    axes, factor = encoder.coordinates, encoder.factor
    if axes is None or result.linear_coef is None or not isinstance(factor, LinearFactor):
        return None
    center = None if axes.center is None else as_array(axes.center)
    parts = (as_array(axes.directions), as_array(axes.offset), center, as_array(result.linear_coef))
    return LinearPart(*parts, as_array(factor.mixed))


def _pricing(estimator: KernelAutoencoder, encoder: Encoder, total: float) -> Pricing:
    """What the power function needs; a Gram matrix cannot be asked for it again, so it goes into model files."""
    kind: Literal["power", "diagonal"] = "diagonal"
    factor = encoder.factor
    if isinstance(factor, LinearFactor):
        kind, factor = "power", factor.kernel
    if factor is None or not estimator.refine:
        return Pricing(kind, total)
    return Pricing(kind, total, as_array(factor.triangle), as_array(factor.pivots))


def _code_map(
    estimator: KernelAutoencoder, settings: Settings, result: Solved, weights: Tensor | None
) -> np.ndarray | None:
    """What turns the codes of the one hidden layer to those that the user sees; none with constraints or operators."""
    if len(result.codes) > 1 or estimator.constraint != "none" or settings.operators[0] is not None:
        return None
    Z, decoder = result.codes[0], result.decoder
    kernel, power = settings.decoder_kernels[0], estimator.code_metric
    M = code_map(Z, Z, kernel, decoder.coefficients, decoder.linear, power, weights)
    return None if M is None else as_array(M)


@dataclass(frozen=True)
class Encoder:
    """What the Gram matrix of the inputs is needed for, so that the matrix itself can be let go before the solve.

    Parameters
    ----------
    factor : Factor, LinearFactor or None
        ``F F^T = K``, of unconstrained codes; with columns for a free linear part.
    coordinates : PrincipalCoordinates or None
        What the free linear part reads.
    scores : Tensor of shape (n, p) or None
        Kernel PCA scores to start from.
    gram : Tensor of shape (n, n) or None
        The matrix, for constrained codes and the solvers of the joint problem only.
    """

    factor: Factor | LinearFactor | None
    coordinates: PrincipalCoordinates | None
    scores: Tensor | None
    gram: Tensor | None


def prepare_encoder(
    estimator: KernelAutoencoder, settings: Settings, kernel: Kernel, K: Tensor, training: Training, *, resumed: bool
) -> Encoder:
    """Factor the Gram matrix of the inputs and find the scores to start from."""
    items, weights = training.items, training.weights
    if estimator.constraint != "none":
        return Encoder(None, None, None, K)
    wanted = not resumed and estimator.init == "kpca"
    if settings.linear_part == "free":
        vectors = kernel.domain == "vectors"
        make = PrincipalCoordinates.of_vectors if vectors else PrincipalCoordinates.of_gram
        axes = make(items if vectors else K, settings.widths[0], weights).priced(settings.reg[0])
        Q = axes.of(items if vectors else K)
        return Encoder(LinearFactor(factorize(K), Q), axes, Q * axes.scale if wanted else None, None)
    scores = None
    if wanted:
        scores, _ = kernel_pca_scores(K, min(max(settings.widths), K.shape[0]), weights)
    joint = estimator.solver in ("gradient_descent", "alternating")
    return Encoder(factorize(K), None, scores, K if joint else None)


def solve_autoencoder(
    estimator: KernelAutoencoder,
    settings: Settings,
    encoder: Encoder,
    coordinates: Tensor,
    weights: Tensor | None,
    space: OutputSpace,
    previous: list[Tensor] | None,
) -> Solved:
    """Solve from every start and keep the lowest objective."""
    if estimator.constraint != "none":
        assert encoder.gram is not None
        return _finish_constrained(
            *solve_constrained(estimator, settings, encoder.gram, coordinates, weights, previous)
        )
    assert encoder.factor is not None
    operators = [None if A is None else tensor_like(A, coordinates) for A in settings.operators]
    if operators[-1] is not None and isinstance(space, Euclidean):
        operators[-1] = space.operator(operators[-1])
    problem = Autoencoder(
        encoder.factor,
        coordinates,
        settings.decoder_kernels,
        settings.widths,
        settings.reg,
        tuple(operators),
        weights,
        _last_layer(settings, estimator.tol, coordinates.dtype),
    )
    if estimator.solver in ("lbfgs", "adam"):
        # The squared problem whose residuals choose a loss shares points with the problem of that loss.
        problem = recorded(problem, estimator._run.journal, repr(settings.loss))
    rng = check_seed(estimator.random_state)
    best: Solution | None = None
    for attempt in range(estimator.n_init):
        start = _start(problem, encoder.scores, previous, attempt, rng)
        monitor = Monitor(
            verbose=estimator.verbose, label=f"{type(estimator).__name__} start {attempt + 1}/{estimator.n_init}"
        )
        solution = _solve(estimator, problem, encoder.gram, start, monitor)
        # A later start must win by more than what a solver leaves undone.
        if best is None or solution.value < best.value - estimator.tol * abs(best.value):
            best = solution
    assert best is not None
    return _finish(problem, best, settings)


def _last_layer(settings: Settings, tol: float, dtype: torch.dtype) -> Callable[..., Decoder]:
    if isinstance(settings.loss, Squared):
        return semiparametric_decoder if settings.linear_part == "free" else optimal_decoder
    inner = max(min(_TOL_INNER, _SHARE * tol), _FINEST, 100.0 * torch.finfo(dtype).eps)
    return RobustDecoder(settings.loss, ADMM(tol=inner, max_iter=5000))


def _solve(
    estimator: KernelAutoencoder, problem: Autoencoder, K: Tensor | None, start: Tensor, monitor: Monitor
) -> Solution:
    """Run the solver that was asked for; the answer is a point of the reduced problem and its objective there."""
    max_iter, tol, rate = estimator.max_iter, estimator.tol, estimator.learning_rate
    if estimator.solver == "lbfgs":
        return LBFGS(max_iter, tol).solve(problem, start, monitor)
    if estimator.solver == "adam":
        return Adam(1e-2 if rate is None else rate, max_iter, tol).solve(problem, start, monitor)
    assert K is not None
    joint = JointAutoencoder(
        K, problem.target, problem.kernels, problem.widths, problem.reg, problem.operators, problem.weights
    )
    first = joint.pack([_representers(problem, start), *problem.unpack(start)[1:]])
    if estimator.solver == "alternating":
        solution = Alternating(rate, max_iter=max_iter, tol=tol, metric="rkhs").solve(joint, first, monitor)
    else:
        solution = GradientDescent(rate, max_iter, tol, "rkhs").solve(joint, joint.complete(first), monitor)
    parts = joint.unpack(solution.point)[: len(problem.widths)]
    # Layer 1 is F V A^(1/2) = K Phi A, so V = F^T Phi A^(1/2); the last layer is set to its optimum.
    root = problem._roots[0]
    V = problem.factor.pull(parts[0] if root is None else parts[0] @ root)
    point = problem.pack([V, *parts[1:]])
    return replace(solution, point=point, value=problem.value(point))


def _representers(problem: Autoencoder, point: Tensor) -> Tensor:
    """``Phi_1`` of the whitened parameters of a point, shape (n, p_1)."""
    Phi = problem.factor.coefficients(problem.unpack(point)[0])
    root = problem._roots[0]
    return Phi if root is None else apply_inverse(Phi, root)


def _start(
    problem: Autoencoder, scores: Tensor | None, previous: list[Tensor] | None, attempt: int, rng: Any
) -> Tensor:
    if attempt == 0 and previous is not None:
        return _resume(problem, previous)
    if attempt == 0 and scores is not None:
        missing = max(problem.widths) - scores.shape[1]
        padded = torch.cat([scores, scores.new_zeros(scores.shape[0], max(missing, 0))], 1)
        return layered_start(problem, padded)[0]
    noise = torch.as_tensor(rng.standard_normal((problem.factor.dim, max(problem.widths))))
    codes = problem.factor.codes(noise.to(problem.target))
    return layered_start(problem, codes, search=True)[0]


def _resume(problem: Autoencoder, previous: list[Tensor]) -> Tensor:
    """Parameters of an earlier fit: codes of layer 1, and ``Phi_l A_l`` of the layers 2..L-1."""
    codes, *mixed = previous
    root = problem._roots[0]
    parts = [problem.factor.solve(codes if root is None else apply_inverse(codes, root))]
    parts += [P if A is None else apply_inverse(P, A) for P, A in zip(mixed, problem.operators[1:], strict=False)]
    return problem.pack(parts)


def _finish(problem: Autoencoder, solution: Solution, settings: Settings) -> Solved:
    """Rotate the codes to principal axes where the model is invariant, and turn parameters into coefficients."""
    parts = [part.clone() for part in problem.unpack(solution.point)]
    codes = problem.codes(solution.point)
    for layer, Z in enumerate(codes):
        if problem.operators[layer] is not None or not settings.decoder_kernels[layer].rotation_invariant:
            continue
        Q = principal_axes(Z, problem.weights)
        parts[layer], codes[layer] = parts[layer] @ Q, Z @ Q
    root = problem._roots[0]
    coefs = [problem.factor.coefficients(parts[0] if root is None else parts[0] @ root)]
    coefs += [P if A is None else P @ A for P, A in zip(parts[1:], problem.operators[1:], strict=False)]
    linear = parts[0][: problem.factor.linear.shape[1]] if isinstance(problem.factor, LinearFactor) else None
    return Solved(codes, coefs, problem.decoder(codes[-1]), solution, linear)


def _finish_constrained(problem: SphereAutoencoder, solution: Solution) -> Solved:
    """Codes on the constraint, on principal axes where the model is invariant."""
    Z = problem.codes(solution.point)
    if problem.kernel.rotation_invariant:
        Z = Z @ principal_axes(Z, problem.weights)
    coefs = [problem.factor.coefficients(problem.whiten(Z))]
    return Solved([Z], coefs, problem.decoder(Z), solution)


def last_layer_warnings(
    name: str, result: Solved, model: AutoencoderModel, coordinates: Tensor, weights: Tensor | None, loss: Loss
) -> list[Warning]:
    """What the dual of the last layer and the objective say that users must know."""
    said: list[Warning] = []
    if not result.decoder.solved:
        gap = result.decoder.gap
        said.append(
            ConvergenceWarning(f"{name}: the last layer is solved to a duality gap of {gap:.2g} only; raise reg")
        )
    losses = loss.value(coordinates)
    trivial = float(losses.mean() if weights is None else weights @ losses)
    largest = float(torch.linalg.vector_norm(coordinates, dim=1).max()) if coordinates.numel() else 0.0
    if largest > 0.0 and trivial == 0.0:
        said.append(
            CollapseWarning(
                f"the model collapsed to the mean: every target is within {loss!r} of it, the farthest at "
                f"{largest:.4g}. Lower epsilon, which is in units of the centred and scaled targets"
            )
        )
    return said + collapse_warnings(result.solution.value, trivial, model.reg)


def collapse_warnings(value: float, trivial: float, reg: tuple[float, ...]) -> list[Warning]:
    """One if the objective is that of predicting the mean, ``trivial``."""
    if not (trivial > 0.0 and value > 0.999 * trivial):
        return []
    return [
        CollapseWarning(
            f"the codes collapsed to a point: the objective {value:.4g} is that of predicting the mean. Lower reg (now "
            f"{reg}) or choose another kernel"
        )
    ]
