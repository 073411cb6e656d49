"""One fit of an autoencoder for all storages: stages of more and more rows, and the model of the last one.

A stage solves the problem of :mod:`rkhs.problems.autoencoder` on the first rows of an order. In memory there is one
stage of all items; on landmarks there are several, each from the codes of the one before. Where further hidden layers
are the identity, the one hidden layer is fitted alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tile_rows, tiles
from rkhs._core.errors import CollapseWarning
from rkhs._core.linalg import principal_axes
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.run import Run
from rkhs.losses import Squared
from rkhs.models import AutoencoderModel, CodePenalty, Compared, Expansion, Layer, LinearPart, LocalLayer, code_map
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.encoders import pad_or_truncate
from rkhs.problems.initial_codes import widened
from rkhs.problems.leaves import LocalDecoder
from rkhs.protocols import Monitor, Reason, Solution

RandomSource = Callable[[], np.random.RandomState]
"""Returns the generator of the random starts; created on first use."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings of a fit, after those left to the data were chosen."""

    settings: Settings  # one regulariser per layer
    start: Any = None  # warm start with these settings: a model of the same items, or a stage of the same rows
    compared: Compared = field(default_factory=Compared)
    final: bool = True  # False: a candidate fit of a comparison of settings


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of fitting an autoencoder."""

    model: AutoencoderModel
    solution: Solution  # of the solver, with the objective of the model
    codes: Tensor  # (n, p): codes in the first hidden layer
    largest: float  # of ``k(x, x)``
    warnings: tuple[Warning, ...] = ()  # for the user


@dataclass(frozen=True, eq=False)
class Start:
    """Warm start of a fit."""

    layers: list[Tensor]  # codes of the rows in every layer, each (size, p_l); of the first one at least
    hidden: list[Tensor]  # coefficients ``Phi_l A_l`` of hidden layers, each (a, p_l)


@dataclass(frozen=True, eq=False)
class Stage(Start):
    """State at the end of a stage."""

    point: Tensor  # (dim, p_1): parameters of the encoder
    solution: Solution
    reg: tuple[float, ...]
    linear_columns: (
        int  # principal components in the linear part of the encoder; its coefficients are the first rows of the point
    )
    layer: Any = None  # solved decoder, for storages that encode further rows with it
    problem: Any = None  # the problem, for storages that solve the decoder after the last stage
    earlier: tuple[Stage, ...] = ()  # the stages up to this one, as they ended

    @property
    def codes(self) -> Tensor:
        """Codes that are the input of the decoder, shape (size, p)."""
        return self.layers[-1]


class SolvedDecoder(NamedTuple):
    """The decoder solved on the codes of all rows, with its diagnostics."""

    layer: Any  # coefficients and linear part
    value: float  # objective of the model
    trivial: float  # objective of predicting the mean
    support: Tensor  # (a,): indices of the rows with nonzero coefficients
    saturated: Tensor  # (s,): indices of the rows in the linear region of the loss
    gap: float | None  # duality gap; None: unknown
    reg: float | None = None  # of the decoder, if it differs from the one that the codes were fitted with
    held_out: float | None = None  # error of rows that it was chosen on, as a share of the variance


@dataclass(frozen=True, eq=False)
class Stages(ABC):
    """Stages of a fit: their problems, starts and solutions."""

    settings: Settings
    run: Run
    inputs: Any  # independent of settings: resolved ``kernel``, ``map``, ``rebuilt``, ``axes``, ``largest``

    @property
    def sizes(self) -> Sequence[int]:
        """Rows of the stages."""
        return (len(self),)

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def problem(self, size: int, reg: tuple[float, ...]) -> Autoencoder:
        """The objective on the first rows."""

    @abstractmethod
    def initial_point(self, problem: Autoencoder, init: str, rng: RandomSource) -> Tensor:
        """Initial parameters: from principal components, random codes or given codes."""

    @abstractmethod
    def scores(self, problem: Autoencoder, rng: RandomSource) -> tuple[Tensor, Tensor | None]:
        """Principal component scores of the rows of a problem, as many as its widest layer, and their weights."""

    @abstractmethod
    def solver(self, steps: int | None) -> Any:
        """The solver of a stage; ``steps`` limits its iterations where there are several stages."""

    @abstractmethod
    def stage(self, problem: Autoencoder, reg: tuple[float, ...], solution: Solution) -> Stage:
        """The stage of a solved problem."""

    @abstractmethod
    def next_stage(self, stage: Stage, size: int, reg: tuple[float, ...]) -> Stage:
        """The next stage: on more rows, with other regularisers or further layers."""

    def of_all_rows(self, stage: Stage) -> Stage:
        """The stage with the codes of all rows, on principal axes if the next kernel is rotation invariant."""
        return stage

    @abstractmethod
    def last_layer(self, stage: Stage) -> SolvedDecoder:
        """Solve the last layer on the codes of all rows."""

    @abstractmethod
    def coefficients(self, stage: Stage) -> tuple[Tensor, Tensor | None]:
        """Coefficients of the kernel part of the encoder, and ``F^-1 Q`` of its linear part, None without one."""

    @abstractmethod
    def penalty(self, stage: Stage) -> CodePenalty:
        """Penalty on the deviation of a code from the output of the encoder."""

    @abstractmethod
    def residual_scale(self, stage: Stage) -> float:
        """Typical norm of a held-out residual."""

    @property
    @abstractmethod
    def weights(self) -> Tensor | None:
        """Weights of the rows in the given order, summing to one; None: equal weights."""

    def in_input_order(self, values: Tensor) -> Tensor:
        """Values of the rows in the order in which these were given."""
        return values

    def with_diagnostics(self, fit: Fit, last: SolvedDecoder) -> Fit:
        """The fit with warnings and measures of its decoder and held-out errors."""
        return fit

    @property
    def single_layer(self) -> Self:
        """These stages for the single hidden layer from which a model with shortcuts starts."""
        return replace(self, settings=self.settings.single_hidden_layer) if self.settings.shortcut else self

    def points(
        self, problem: Autoencoder, start: Start | None = None, inits: Sequence[str] | None = None
    ) -> Iterator[Tensor]:
        """Points to start from; the first has the codes of ``start``, if there are any."""
        settings, rng = self.settings, cache(self.settings.generator)  # most fits draw no numbers
        inits = (settings.init, *("random",) * (settings.n_init - 1)) if inits is None else inits
        for number, init in enumerate(inits):
            known = start if number == 0 else None
            yield self.initial_point(problem, init, rng) if known is None else self.warm_start(problem, known, rng)

    def warm_start(self, problem: Autoencoder, start: Start, rng: RandomSource) -> Tensor:
        """Parameters of a warm start; columns that wider layers lack are further principal component scores."""
        encoder, widths, codes = problem.encoder, self.settings.widths, start.layers[0]
        if len(widths) == 1:
            return encoder.resume(pad_or_truncate(codes, widths[0]), [])
        if any(bool(Phi.any()) for Phi in start.hidden):
            return encoder.resume(codes, start.hidden)
        scores, weights = self.scores(problem, rng)
        return encoder.start(widened(pad_or_truncate(codes, min(widths)), scores, widths, weights), 1.0)

    def best_of_starts(
        self, problem: Autoencoder, points: Iterable[Tensor], reg: tuple[float, ...], steps: int | None = None
    ) -> Stage:
        """Solve the problem from every initial point and keep the solution with the smallest objective."""
        best, name = None, f"{self.run.name}, {problem.size} rows"
        for number, point in enumerate(points, 1):
            monitor = Monitor(verbose=self.run.verbose, label=f"{name}, start {number}")
            found = self.solver(steps).solve(problem, point, monitor)
            # A later start is preferred only if it is better by more than the tolerance of the solver.
            if best is None or found.value < best.value - self.settings.tol * abs(best.value):
                best = found
        assert best is not None
        return self.stage(problem, reg, best)

    def solve(self, start: Start | None) -> Stage:
        """Solve the stages in turn; the last one has all hidden layers except those that are the identity."""
        stages = self.single_layer if math.inf in self.settings.reg else self
        reg, widths, sizes = stages.settings.reg, stages.settings.widths, stages.sizes
        if isinstance(start, Stage):
            found = [start]
        else:
            one = stages if start is not None else stages.single_layer
            problem = one.problem(sizes[0] if start is None else len(start.layers[0]), one.settings.reg)
            found = [one.best_of_starts(problem, one.points(problem, start), one.settings.reg)]
        for size in sizes:
            rows = len(found[-1].codes)
            if size > rows or len(found[-1].layers) < len(widths):
                found.append(stages.next_stage(found[-1], max(size, rows), reg))
        return self.ended(found)

    def ended(self, found: list[Stage]) -> Stage:
        """The last of the stages."""
        return found[-1]


def fit_prepared(opened: Any, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
    """Solve the stages on prepared data, warm-started from a previous model if it fits, and build the model."""
    stages = opened.stages(choice.settings, run)
    start = opened.start(stages, choice.start, previous)
    if stages.settings.loss.automatic:
        plain = replace(stages, settings=replace(stages.settings, loss=Squared())).solve(start)
        stages, start = replace(stages, settings=with_estimated_loss(stages, plain)), Start(plain.layers, plain.hidden)
    settings, stage = stages.settings, stages.solve(start)
    solved = stages if len(stage.layers) == len(settings.widths) else stages.single_layer
    penalty, stage = stages.penalty(stage), solved.of_all_rows(stage)
    last = stages.last_layer(stage)
    if settings.shortcut:
        stage = with_identity_layers(settings, stage, len(last.layer.coefficients))
    model = _model(stages, stage, last, penalty, choice.compared)
    if settings.noise is not None or stage.solution.reason is Reason.UNREACHED:
        model = replace(model, codes=recomputed_codes(settings, run, model, opened.given.items))
    fit = Fit(
        model, replace(stage.solution, value=last.value), stages.in_input_order(stage.layers[0]), stages.inputs.largest
    )
    if not choice.final:
        return fit
    return stages.with_diagnostics(
        replace(fit, warnings=collapse_warnings(last.value, last.trivial, settings.reg)), last
    )


def with_estimated_loss(stages: Stages, plain: Stage) -> Settings:
    """Settings with the parameters of the loss estimated from the residuals of a squared-loss fit."""
    settings = stages.settings
    return replace(settings, loss=settings.loss.resolve(stages.residual_scale(plain)))


def _model(
    stages: Stages, stage: Stage, last: SolvedDecoder, penalty: CodePenalty, compared: Compared
) -> AutoencoderModel:
    """Build the model from the solved layers."""
    settings, read, k = stages.settings, stages.inputs, stage.linear_columns
    coefficients, mixed = stages.coefficients(stage)
    linear = None
    if read.axes is not None:
        linear = LinearPart.along(read.axes.with_penalty(settings.reg[0]).leading(k), stage.point[:k], mixed)
    weights = stages.weights
    model = AutoencoderModel(
        kernel=read.kernel,
        encoder=Expansion(read.map, as_array(coefficients)),
        linear=linear,
        layers=build_layers(settings, stage.layers, stage.hidden, last.layer),
        rebuilt=read.rebuilt,
        reg=settings.reg,
        codes=np.empty(0),
        code_map=None,
        penalty=penalty,
        loss=settings.loss,
        gap=last.gap,
        support=as_array(last.support),
        saturated=as_array(last.saturated),
        row_weights=None if weights is None else as_array(weights),
        compared=compared if last.held_out is None else replace(compared, held_out=last.held_out),
        last_reg=last.reg,
    )
    return with_codes(model, settings, [stages.in_input_order(Z) for Z in stage.layers], weights)


def as_array(values: Tensor) -> np.ndarray:
    """C-contiguous array, as it is read from a file."""
    return values.contiguous().cpu().numpy()


def on_principal_axes(
    settings: Settings, parts: list[Tensor], codes: list[Tensor], weights: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Rotate the codes of every layer, and the parameters that give them, if the layer above is rotation invariant."""
    parts, codes = list(parts), list(codes)
    for layer, Z in enumerate(codes):
        if settings.is_rotation_invariant(layer):
            Q = principal_axes(Z, weights)
            parts[layer], codes[layer] = parts[layer] @ Q, Z @ Q
    return parts, codes


def with_identity_layers(settings: Settings, stage: Stage, count: int) -> Stage:
    """The stage with all hidden layers, over ``count`` items; those that it lacks are the identity."""
    first, *others = settings.widths
    hidden = stage.hidden or [stage.codes.new_zeros(1, width) for width in others]
    layers = stage.layers
    if len(layers) < len(settings.widths):
        layers = [pad_or_truncate(stage.codes, width) for width in settings.widths]
    return replace(
        stage,
        point=pad_or_truncate(stage.point, first),
        hidden=[pad_or_truncate(Phi.mT, count).mT for Phi in hidden],
        layers=layers,
    )


def build_layers(settings: Settings, codes: list[Tensor], hidden: list[Tensor], last: Any) -> tuple[Layer, ...]:
    """The layers after the encoder, expanded on one code of their input per coefficient; ``last`` is the decoder."""
    found: list[Layer] = []
    kernels = settings.decoder_kernels[-len(codes) :]
    for kernel, Z, C in zip(kernels, codes, [*hidden, last.coefficients], strict=True):
        p, linear = Z.shape[1], last.linear
        if len(found) < len(hidden):
            linear = pad_or_truncate(torch.eye(p + 1, p).to(Z), C.shape[1]) if settings.shortcut else None
        elif (
            linear is not None and len(linear) != p + 1
        ):  # solved on the narrowest codes; the layers in between are the identity
            linear = torch.cat([pad_or_truncate(linear[:-1].mT, p).mT, linear[-1:]])
        found.append(Layer(kernel, as_array(Z[: len(C)]), as_array(C), None if linear is None else as_array(linear)))
    if isinstance(last, LocalDecoder):
        found[-1] = _local_layer(found[-1], last)
    return tuple(found)


def _local_layer(rest: Layer, last: LocalDecoder) -> LocalLayer:
    """The layer with its leaves, whose coefficients are kept in single precision."""
    leaves = []
    for A, found in last.leaves:
        linear = None if found.linear is None else as_array(found.linear)
        leaves.append(Layer(rest.kernel, as_array(A), as_array(found.coefficients.float()), linear))
    return LocalLayer(
        rest.kernel,
        rest.anchors,
        rest.coefficients,
        rest.linear,
        normals=as_array(last.halves.normals),
        cuts=as_array(last.halves.cuts),
        widths=as_array(last.halves.widths),
        leaves=tuple(leaves),
        directions=None if last.directions is None else as_array(last.directions),
    )


def with_codes(
    model: AutoencoderModel, settings: Settings, codes: list[Tensor], weights: Tensor | None
) -> AutoencoderModel:
    """The model with codes of its training items, in the metric of ``code_metric``."""
    last, Z = model.last, codes[0]
    if settings.code_power > 0.0:
        anchors, coefficients, linear = last.tensors(Z)
        M = code_map(Z, anchors, last.kernel, coefficients, linear, settings.code_power, weights)
        model = replace(model, code_map=None if M is None else as_array(M))
    return replace(model, codes=as_array(model.to_user(codes[model.narrowest])))


def recomputed_codes(settings: Settings, run: Run, model: AutoencoderModel, items: Tensor) -> np.ndarray:
    """Codes of the clean training items, for a model that was fitted to noisy copies."""
    found = []
    for tile in tiles(len(items), tile_rows(model.map.width)):
        raw = model.map.raw(items[tile]).to(**run.options)
        found.append(model.to_user(model.encode(items[tile], raw)[model.narrowest]))
    return torch.cat(found).cpu().numpy()


def collapse_warnings(value: float, trivial: float, reg: tuple[float, ...]) -> tuple[Warning, ...]:
    """A warning if the objective is not below ``trivial``, that of predicting the mean."""
    if not (trivial > 0.0 and value > 0.999 * trivial):
        return ()
    if value > 1.001 * trivial:
        message = (
            f"the objective {value:.4g} is above {trivial:.4g}, that of predicting the mean: with this "
            f"kernel and reg the encoder can hardly satisfy the constraint. Lower reg (now {reg}) or choose a strictly "
            "positive definite kernel, such as 'gaussian'"
        )
    else:
        message = (
            f"the codes collapsed to a point: the objective {value:.4g} equals that of predicting the mean. Lower reg "
            f"(now {reg}) or choose another kernel"
        )
    return (CollapseWarning(message),)
