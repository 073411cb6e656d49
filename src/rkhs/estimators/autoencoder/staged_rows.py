"""Stages of the fit of an autoencoder of many rows: larger and larger samples, each warm-started from the last.

The problem is that of :mod:`rkhs.problems.autoencoder`. Rows are taken in one random order: from principal
components on the first thousand, then on twice as many and so on, each added row coded with the model so far as a new
row is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rkhs._core.linalg import divisor
from rkhs.estimators.autoencoder.opened_rows import TILE, OrderedRows, PreparedData
from rkhs.estimators.autoencoder.stages import RandomSource, Stage, Stages, Start, build_layers
from rkhs.problems.autoencoder import Autoencoder
from rkhs.problems.coordinates import PerRowCodes
from rkhs.problems.encoders import MAX_ENCODER_ROWS, START_RADIUS, ConstrainedCodes, DeepCodes, Encoder, encoder_of
from rkhs.problems.initial_codes import best_start, even_columns, normalise_scale
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.refinement import CodeRefinement
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.selection.path import FEW_COMPONENTS
from rkhs.solvers.row_newton import descend

if TYPE_CHECKING:
    from rkhs.constraints import CodeSet
    from rkhs.engines import Engine
    from rkhs.kernels import Kernel
    from rkhs.losses import Loss


FIRST = 1000  # rows of the first stage
_FIRST_STEPS, _STEPS = 30, 15  # iterations of the first stage and of the others
REFINING = (6, 1e-3)  # largest number and tolerance of the refinement steps of added rows
_ROUNDS, _TURNS = 3, 3  # rounds of a stage under a robust loss, and solves of the last layer at the start of each
HELD_OUT = 500  # rows that settings are compared on


def stage_sizes(n: int) -> list[int]:
    """Rows of the stages: a thousand, twice as many and so on, and all, or as many as are descended on."""
    n, found = min(n, MAX_ENCODER_ROWS), []
    size = FIRST
    while 1.5 * size < n:
        found.append(size)
        size *= 2
    return [*found, n]


@dataclass(frozen=True, eq=False)
class RowStages(Stages):
    """Stages of a fit on landmarks or random features."""

    inputs: PreparedData
    engine: Engine
    most: int | None = None  # largest number of anchors of the decoder; None: that of the storage
    loss: Loss | None = None  # A robust one, with numbers for its parameters; None: squared

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> OrderedRows:
        """The rows in the order in which stages take them."""
        return self.inputs.rows

    @property
    def sizes(self) -> Sequence[int]:
        """Rows of the stages."""
        return stage_sizes(len(self.rows))

    @property
    def weights(self) -> Tensor | None:
        """Weights of the rows in the given order."""
        return None if self.rows.weights is None else self.in_input_order(self.rows.weights)

    def in_input_order(self, values: Tensor) -> Tensor:
        """Values of the rows in the order in which these were given."""
        return values[torch.argsort(self.rows.order)]

    @property
    def p(self) -> int:
        """Number of components, of the narrowest layer."""
        return min(self.settings.widths)

    @property
    def kernel(self) -> Kernel:
        """Kernel of the decoder."""
        return self.settings.decoder_kernels[-1]

    @property
    def steps(self) -> tuple[int, int]:
        """Iterations of the first stage and of the others; without linear parts up to ``max_iter``."""
        return (_FIRST_STEPS, _STEPS) if self.rows.axes is not None else (self.settings.max_iter,) * 2

    @property
    def anchors(self) -> int:
        """Number of anchors of the decoder during descent: half of the landmarks for many components."""
        m = self.settings.feature_storage.m
        m = m if self.p <= FEW_COMPONENTS else -(-m // 2)
        return m if self.most is None else min(m, self.most)

    def problem(self, size: int, reg: tuple[float, ...]) -> Autoencoder:
        """The objective on the first rows."""
        weights = self.rows.part(size)
        decoder = self.decoder(self.rows.targets(slice(0, size)), reg, weights, self.anchors)
        return Autoencoder(self.encoder(size, reg, weights), decoder)

    def encoder(self, size: int, reg: tuple[float, ...], weights: Tensor | None) -> Encoder:
        """Encoder of the first rows."""
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

    def initial_point(self, problem: Autoencoder, init: str, rng: RandomSource) -> Tensor:
        """Initial point from principal components or random codes, at the best of several scales."""
        encoder, widths, factor = problem.encoder, self.settings.widths, problem.encoder.factor
        if init != "random":
            W = self.rows.principal(factor, max(widths))
        else:
            W = self.rows.linear.new_zeros(factor.dim, max(widths))
            width = self.rows.linear[:, : widths[0]].shape[1] + self.rows.map.dim
            W[:width] = torch.as_tensor(rng().standard_normal((width, W.shape[1]))).to(W)
        Z = factor.codes(W)
        unit = normalise_scale(Z, self.rows.part(len(Z)))
        W *= float(unit.norm()) / max(float(Z.norm()), 1e-37)
        if isinstance(encoder, ConstrainedCodes):  # well inside, at whatever scale
            even = even_columns(unit)
            return encoder.resume(START_RADIUS * encoder.image.project(even / divisor(even.norm(dim=1).max())), [])
        layer_targets = [unit[:, :p] for p in widths]
        return best_start(problem.value, lambda scale: encoder.start(layer_targets, scale, W))

    def scores(self, problem: Autoencoder, rng: RandomSource) -> tuple[Tensor, Tensor | None]:
        """Principal component scores of the first rows."""
        layer, widest = problem.last_layer, max(self.settings.widths)
        assert isinstance(layer, AnchorsLayer)
        size = len(layer.target)
        factor = self.rows.coordinates(size, self.settings.reg[0], widest)
        return factor.codes(self.rows.principal(factor, widest)), self.rows.part(size)

    def points(
        self, problem: Autoencoder, start: Start | None = None, inits: Sequence[str] | None = None
    ) -> Iterator[Tensor]:
        """Initial points: that of known codes, else as in other fits."""
        return super().points(problem, start, inits if start is None else ("warm_start",))

    def next_stage(self, stage: Stage, size: int, reg: tuple[float, ...], *, steps: int | None = None) -> Stage:
        """The next stage: on more rows, or with other regularisers."""
        problem = self.problem(size, reg)
        codes = replace(stage, layers=self.coded(stage, size)[:1])
        return self.best_of_starts(problem, self.points(problem, codes), reg, steps or self.steps[1])

    def solver(self, steps: int | None) -> Rounds:
        """The solver of a stage; under a robust loss in rounds, each on a quadratic majoriser."""
        steps = min(steps or self.steps[0], self.settings.max_iter)
        return Rounds(self.settings.solver, steps, self.settings.max_iter, self.loss, self.rows)

    def stage(self, problem: Autoencoder, reg: tuple[float, ...], solution: Solution) -> Stage:
        """The codes of a stage, their parameters, and the last layer that refines codes of further rows."""
        encoder, factor = problem.encoder, problem.encoder.factor
        assert isinstance(factor, PerRowCodes)
        assert isinstance(solution, Majorised)
        layers, (W, hidden) = encoder.layers(solution.point), encoder.parts(solution.point)
        last = solution.last_layer.solve(layers[-1])
        return Stage(layers, hidden, W, solution, reg, factor.linear.shape[1], last)

    def coded(self, stage: Stage, size: int) -> list[Tensor]:
        """Codes of the first rows in every layer: those of the stage, and others as of new rows."""
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
        above = build_layers(self.settings, stage.layers, stage.hidden, stage.layer)
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
        """Constraint on the code of every row."""
        return self.settings.row_constraint

    def errors(self, stage: Stage, rows: slice) -> Tensor:
        """Squared errors of rows that a stage has not seen, coded as new rows are."""
        codes, layer = self.code(stage, rows, self.rows.share(len(stage.codes)))[-1], stage.layer
        decoded = layer.of(codes, self.kernel._gram(codes, layer.anchors))
        return ((self.rows.targets(rows) - decoded) ** 2).sum(1) + self.rows.residual(rows)

    def next_errors(self, stage: Stage) -> Tensor:
        """Squared errors of the rows that follow those of a stage."""
        size = len(stage.codes)
        return self.errors(stage, slice(size, min(size + HELD_OUT, self.rows.different)))

    def losses(self, errors: Tensor) -> Tensor:
        """Twice the loss of residuals with these squared norms, shape (m,); those themselves for the squared loss."""
        return errors if self.loss is None else 2.0 * self.loss.value(errors.sqrt()[:, None])

    @property
    def of_the_mean(self) -> float:
        """Mean squared distance of the distinct rows to the mean, or twice the mean of another loss."""
        different = self.rows.different
        w, lost = self.rows.part(different), self.losses(self.rows.norms(slice(different)))
        return float(lost.mean() if w is None else w @ lost)


@dataclass(frozen=True)
class Majorised(Solution):
    """A solution with its last layer, under the last quadratic majoriser of a robust loss."""

    last_layer: Any = None


@dataclass(frozen=True, eq=False)
class Rounds:
    """A solver of a stage: majorise-minimise under a robust loss, one round under the squared loss."""

    solver: Any
    steps: int
    most: int  # iterations of a whole fit: the limit of a stage below it is no failure
    loss: Loss | None
    rows: OrderedRows

    def solve(self, problem: Autoencoder, point: Tensor, monitor: Monitor) -> Majorised:
        """Solve the problem in all rounds; ``monitor`` follows each."""
        layer, found = problem.last_layer, list[Solution]()
        assert isinstance(layer, AnchorsLayer)
        decoder = layer
        rounds = 1 if self.loss is None else min(_ROUNDS, self.steps)
        for _ in range(rounds):
            if self.loss is not None:
                codes, residual = problem.encoder.layers(point)[-1], self.rows.residual(slice(0, problem.size))
                decoder, _ = layer.robust(self.loss, codes, residual, _TURNS)
            posed = replace(problem, last_layer=decoder, curvature=found[-1].curvature if found else ())
            solver = self.solver.within(self.steps // rounds, force=True)
            found.append(solver.solve(posed, point, replace(monitor, rows=[])))
            point = found[-1].point
        ended = found[-1].reason is Reason.MAX_ITER and self.steps < self.most
        last = joined(found, [part.history for part in found])
        last = replace(last, reason=Reason.SCHEDULE) if ended else last
        return Majorised(**vars(last), last_layer=decoder)


def joined(parts: Sequence[Solution], histories: Sequence[Sequence[dict[str, Any]]]) -> Solution:
    """The last of several solutions, with the steps of all."""
    return replace(
        parts[-1],
        n_iter=sum(part.n_iter for part in parts),
        n_evaluations=sum(part.n_evaluations for part in parts),
        history=tuple(row for history in histories for row in history),
    )
