"""Stages of the fit of an autoencoder of many rows: growing samples, each from the codes of the one before.

The problem is that of :mod:`rkhs.problems.autoencoder`. Rows are taken in one random order: from principal
components on the first thousand, then on twice as many and so on, each added row coded with the model so far as a new
row is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import divisor
from rkhs.estimators.autoencoder.fit import layers_of, on_principal_axes, with_identity_layers
from rkhs.estimators.autoencoder.opened_rows import TILE, OrderedRows
from rkhs.estimators.run import Run
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.encoders import INSIDE, MOST, CodesOnASet, DeepCodes, Encoder, encoder_of
from rkhs.problems.initial_codes import best_start, even_columns, normalise_scale, widened
from rkhs.problems.last_layers import MORE, AnchoredDecoder, AnchorsLayer
from rkhs.problems.refinement import CodeRefinement
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.selection.path import FEW_COMPONENTS
from rkhs.solvers.row_newton import descend

if TYPE_CHECKING:
    from rkhs.constraints.sphere import CodeSet
    from rkhs.engines import Engine
    from rkhs.estimators.autoencoder.settings import Settings
    from rkhs.kernels import Kernel
    from rkhs.losses import Loss


FIRST = 1000  # rows of the first stage
_FIRST_STEPS, _STEPS = 30, 15  # iterations of the first stage and of the others
REFINING = (6, 1e-3)  # of the codes of added rows
_ROUNDS, _TURNS = 3, 3  # parts of a stage under a robust loss, and solves of the layer at the begin of each
HELD_OUT = 500  # rows that settings are compared on


def stage_sizes(n: int) -> list[int]:
    """Rows of the stages: a thousand, twice as many and so on, and all, or as many as are descended on."""
    n, found = min(n, MOST), []
    size = FIRST
    while 1.5 * size < n:
        found.append(size)
        size *= 2
    return [*found, n]


@dataclass(frozen=True, eq=False)
class Stage:
    """What a stage ends with."""

    reg: tuple[float, ...]
    point: Tensor  # (dim, p_1): parameters of the encoder
    hidden: list[Tensor]  # coefficients of hidden layers, each (a, p_l)
    layers: list[Tensor]  # codes of the rows in every layer, each (size, p_l)
    layer: AnchoredDecoder  # of the leading directions of the targets
    solution: Solution

    @property
    def codes(self) -> Tensor:
        """That the decoder reads, shape (size, p)."""
        return self.layers[-1]


@dataclass(frozen=True, eq=False)
class RowStages:
    """How the stages of a fit are solved."""

    settings: Settings
    rows: OrderedRows
    run: Run
    engine: Engine
    most: int | None = None  # anchors of the decoder at most; None: as many as the storage says
    loss: Loss | None = None  # A robust one, with numbers for its parameters; None: squared

    @property
    def below(self) -> RowStages:
        """The same for the one hidden layer that a model with shortcuts starts from."""
        return replace(self, settings=self.settings.shallow) if self.settings.shortcut else self

    @property
    def p(self) -> int:
        """Number of components, of the narrowest layer."""
        return min(self.settings.widths)

    @property
    def kernel(self) -> Kernel:
        """Of the codes that the decoder reads."""
        return self.settings.decoder_kernels[-1]

    @property
    def steps(self) -> tuple[int, int]:
        """Iterations of the first stage and of the others; kernel parts alone are solved to the tolerance."""
        return (_FIRST_STEPS, _STEPS) if self.rows.axes is not None else (self.settings.max_iter,) * 2

    @property
    def anchors(self) -> int:
        """Number of anchors of the decoder during descent: half of the landmarks where there are many components."""
        m = self.settings.feature_storage.m
        m = m if self.p <= FEW_COMPONENTS else -(-m // 2)
        return m if self.most is None else min(m, self.most)

    def problem(self, size: int, reg: tuple[float, ...]) -> Autoencoder:
        """The objective on the first rows."""
        weights = self.rows.part(size)
        decoder = self.decoder(self.rows.targets(slice(0, size)), reg, weights, self.anchors)
        return Autoencoder(self.encoder(size, reg, weights), decoder)

    def encoder(self, size: int, reg: tuple[float, ...], weights: Tensor | None) -> Encoder:
        """Of the first rows."""
        settings, anchors = self.settings, min(self.anchors, size)
        factor = self.rows.coordinates(size, reg[0], settings.widths[0])
        first, hidden = encoder_of(settings.code_set, factor, reg[0], weights), settings.decoder_kernels[:-1]
        if not hidden:
            return first
        return DeepCodes(
            first,
            hidden,
            settings.widths,
            reg[1:-1],
            anchors,
            engine=self.engine,
            shortcut=settings.shortcut,
        )

    def decoder(self, target: Tensor, reg: tuple[float, ...], weights: Tensor | None, anchors: int) -> AnchorsLayer:
        """The last layer for targets of the first rows."""
        free = self.rows.axes is not None
        return AnchorsLayer.of(target, self.kernel, anchors, reg[-1], weights, self.engine, linear=free)

    def first(self, problem: Autoencoder, rng: np.random.RandomState | None) -> Tensor:
        """Principal components, or random codes, at the best of several scales."""
        encoder, widths, factor = problem.encoder, self.settings.widths, problem.encoder.factor
        if rng is None:
            W = self.rows.principal(factor, max(widths))
        else:
            W = self.rows.linear.new_zeros(factor.dim, max(widths))
            width = self.rows.linear[:, : widths[0]].shape[1] + self.rows.map.dim
            W[:width] = torch.as_tensor(rng.standard_normal((width, W.shape[1]))).to(W)
        Z = factor.codes(W)
        unit = normalise_scale(Z, self.rows.part(len(Z)))
        W *= float(unit.norm()) / max(float(Z.norm()), 1e-37)
        if isinstance(encoder, CodesOnASet):  # well inside, at whatever scale
            even = even_columns(unit)
            return encoder.resume(INSIDE * encoder.image.project(even / divisor(even.norm(dim=1).max())), [])
        layer_targets = [unit[:, :p] for p in widths]
        return best_start(problem.value, lambda scale: encoder.start(layer_targets, scale, W))

    def start(self, size: int, reg: tuple[float, ...], rngs: list[np.random.RandomState | None]) -> Stage:
        """The first stage, the best of several starts: from principal components (None) or random codes."""
        if self.settings.shortcut:
            return self.below.start(size, (reg[0], reg[-1]), rngs)
        problem, found = self.problem(size, reg), []
        for number, rng in enumerate(rngs):
            label = f"start {number + 1}/{len(rngs)}"
            found.append(self.descend(problem, reg, self.first(problem, rng), self.steps[0], label))
        return min(found, key=lambda stage: stage.solution.value)

    def move(self, stage: Stage, size: int, reg: tuple[float, ...], *, steps: int | None = None) -> Stage:
        """The next stage: on more rows, or with other regularisers."""
        codes, problem, widths = self.coded(stage, size)[0], self.problem(size, reg), self.settings.widths
        if len(widths) == len(stage.layers):
            point = problem.encoder.resume(codes, stage.hidden)
        else:
            factor = self.rows.coordinates(size, reg[0], max(widths))
            scores = factor.codes(self.rows.principal(factor, max(widths)))
            point = problem.encoder.start(widened(codes, scores, widths, self.rows.part(size)), 1.0)
        return self.descend(problem, reg, point, steps or self.steps[1], "")

    def descend(self, problem: Autoencoder, reg: tuple[float, ...], point: Tensor, steps: int, label: str) -> Stage:
        """Some iterations on one problem; under a robust loss in rounds, each on squared losses that touch it."""
        settings, encoder, layer = self.settings, problem.encoder, problem.last_layer
        assert isinstance(layer, AnchorsLayer)
        size, decoder = len(layer.target), layer
        steps = min(steps, settings.max_iter)
        label = ", ".join(filter(None, (self.run.name, f"{size} rows", label)))
        rounds = 1 if self.loss is None else min(_ROUNDS, steps)
        found: list[Solution] = []
        for _ in range(rounds):
            if self.loss is not None:
                codes = encoder.layers(point)[-1]
                decoder, _ = layer.robust(self.loss, codes, self.rows.residual(slice(0, size)), _TURNS)
            posed = replace(problem, last_layer=decoder, curvature=found[-1].curvature if found else ())
            solver = settings.solver.within(steps // rounds, force=True)
            found.append(solver.solve(posed, point, Monitor(verbose=self.run.verbose, label=label)))
            point = found[-1].point
        layers = encoder.layers(point)
        return Stage(
            reg, *encoder.parts(point), layers, decoder.solve(layers[-1]), _joined(found, steps < settings.max_iter)
        )

    def coded(self, stage: Stage, size: int) -> list[Tensor]:
        """Codes of the first rows in every layer: those of the stage, and of the others as new rows."""
        old = len(stage.codes)
        if size <= old:
            return stage.layers
        new = self.code(stage, slice(old, size), self.rows.share(size))
        return [torch.cat(pair) for pair in zip(stage.layers, new, strict=True)]

    def code(self, stage: Stage, rows: slice, count: float) -> list[Tensor]:
        """Codes of rows that a stage has not seen, as those of new rows, in every layer."""
        parts = [
            self._coded(stage, slice(start, min(start + TILE, rows.stop)), count)
            for start in range(rows.start, rows.stop, TILE)
        ]
        return [torch.cat(layers) for layers in zip(*parts, strict=True)]

    def _coded(self, stage: Stage, rows: slice, count: float) -> list[Tensor]:
        above = layers_of(self.settings, stage.layers, stage.hidden, stage.layer)
        Z, radius = self.starts(stage, rows)
        if self.rows.per_row_codes:
            problem = CodeRefinement.of(
                above, self.rows.targets(rows), Z, radius, count, row_constraint=self.row_constraint
            )
            Z = problem.codes(descend(problem, problem.nearest(), *REFINING))
        found = [Z]
        for layer in above[:-1]:
            found.append(layer.of(found[-1]))
        return found

    def starts(self, stage: Stage, rows: slice) -> tuple[Tensor, Tensor]:
        """Codes of some rows before they are refined, and the unit of their changes; zero without refined codes."""
        Z = self.rows.encoded(stage.point, rows, stage.reg[0])
        radius = (self.rows.prior_variance[rows] / stage.reg[0]).sqrt()
        return Z if self.row_constraint is None else self.row_constraint.project(
            Z
        ), radius if self.rows.per_row_codes else torch.zeros_like(radius)

    @property
    def row_constraint(self) -> CodeSet | None:
        """Set that the code of every row is put on."""
        return self.settings.row_constraint

    def errors(self, stage: Stage, rows: slice) -> Tensor:
        """Squared errors of rows that a stage has not seen, coded as new rows are."""
        codes, layer = self.code(stage, rows, self.rows.share(len(stage.codes)))[-1], stage.layer
        decoded = layer.of(codes, self.kernel._gram(codes, layer.anchors))
        return ((self.rows.targets(rows) - decoded) ** 2).sum(1) + self.rows.residual(rows)

    def losses(self, errors: Tensor) -> Tensor:
        """Twice the loss of residuals with these squared norms, shape (m,); those themselves for the squared loss."""
        return errors if self.loss is None else 2.0 * self.loss.value(errors.sqrt()[:, None])

    def rotated(self, stage: Stage) -> Stage:
        """The stage with codes of all rows, on principal axes where the kernel above allows it; its layer stays."""
        rows, settings = self.rows, self.settings
        one_layer = settings.shortcut and not stage.hidden
        if one_layer:
            stage = self.below.rotated(stage)
        layers = self.coded(stage, len(rows))
        parts = [stage.point, *stage.hidden]
        if settings.shortcut:
            count = min(MORE * settings.feature_storage.m, len(rows))  # codes are searched at all anchors
            parts, padded = with_identity_layers(settings, parts, stage.codes, count)
            layers = padded if one_layer else layers
        else:
            parts, layers = on_principal_axes(settings, parts, layers, rows.weights)
        return replace(stage, point=parts[0], hidden=parts[1:], layers=layers)


def _joined(parts: list[Solution], scheduled: bool) -> Solution:
    """One solution of the rounds of a stage; that it was to end here is no failure."""
    last = parts[-1]
    ended = last.reason is Reason.MAX_ITER and scheduled
    return replace(
        last,
        reason=Reason.SCHEDULE if ended else last.reason,
        n_iter=sum(part.n_iter for part in parts),
        n_evaluations=sum(part.n_evaluations for part in parts),
        history=tuple(row for part in parts for row in part.history),
    )
