"""Stages of the fit of an autoencoder of many rows: growing samples, each from the codes of the one before.

The problem is that of :mod:`rkhs.problems.anchored_autoencoder`. Rows are taken in one random order: from principal
components on the first thousand, then on twice as many and so on, each added row coded with the model so far as a new
row is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.constraints import Ball
from rkhs.engines import Block, Engine, row_blocks
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.estimators.memory_needs import MORE, MOST
from rkhs.estimators.run import Run, recorded
from rkhs.outputs import Euclidean
from rkhs.problems.anchored_autoencoder import AnchoredAutoencoder, AnchoredDecoder, AnchoredLayer
from rkhs.problems.initial_codes import best_scale, normalise_scale
from rkhs.problems.refinement import CodeRefinement
from rkhs.problems.row_encoders import STRIP, CodesOnASet, DeepCodes, FreeCodes, OwnCodes, RowEncoder
from rkhs.problems.semiparametric import PrincipalCoordinates, kernel_unit, linear_unit, slope_penalty
from rkhs.problems.sphere_autoencoder import image_of
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers import RowNewton

if TYPE_CHECKING:
    from rkhs.features import FeatureMap
    from rkhs.kernels import Kernel
    from rkhs.losses import Loss

__all__ = [
    "FIRST",
    "MORE",
    "MOST",
    "SAMPLE",
    "RowStages",
    "Stage",
    "StagedRows",
    "row_outputs",
    "stage_sizes",
    "staged_rows",
    "strips",
]

FIRST = 1000  # rows of the first stage
TILE = 2048  # rows that are coded at once
_TAIL = 0.05  # of what principal components leave: targets are descended on without the directions of so little
SAMPLE = 2000  # rows that these directions are found on, and what principal components leave
_FIRST_STEPS, _STEPS = 30, 15  # iterations of the first stage and of the others
_RIDGE = 1e-7  # of the coefficients of the decoder, for targets of variance one
_REFINING = (6, 1e-3)  # of the codes of added rows
_ROUNDS, _TURNS = 3, 3  # parts of a stage under a robust loss, and solves of the layer at the begin of each
_LAST_TURNS = 6  # of the last layer


def strips(n: int) -> tuple[Block, ...]:
    """Of the rows that are descended on."""
    return row_blocks(min(n, MOST), STRIP)


def stage_sizes(n: int) -> list[int]:
    """Rows of the stages: a thousand, twice as many and so on, and all, or as many as are descended on."""
    n, found = min(n, MOST), []
    size = FIRST
    while 1.5 * size < n:
        found.append(size)
        size *= 2
    return [*found, n]


@dataclass(frozen=True, eq=False)
class StagedRows:
    """Training rows in the order in which stages take them.

    Parameters
    ----------
    order : Tensor of shape (n,)
        Numbers of the rows.
    linear : Tensor of shape (n, k)
        Principal coordinates of unit variance.
    axes : PrincipalCoordinates
        Of these coordinates.
    features : Tensor of shape (min(n, MOST), m)
        Of the rows that are descended on.
    room : Tensor of shape (n,)
        ``s^2 = k(x, x)``.
    target : Tensor of shape (n, q)
    leading : Tensor of shape (q, r) or None
        Directions of the targets that are descended on, orthonormal columns; None: all.
    weights : Tensor of shape (n,) or None
    total : float
        Sum of the weights as they were given.
    own : bool
        Whether rows have codes of their own.
    items : Tensor of shape (n, d)
        As they were given.
    map : FeatureMap
    """

    order: Tensor
    linear: Tensor
    axes: PrincipalCoordinates
    features: Tensor
    room: Tensor
    target: Tensor
    leading: Tensor | None
    weights: Tensor | None
    total: float
    own: bool
    items: Tensor
    map: FeatureMap

    def __len__(self) -> int:
        return len(self.order)

    def share(self, size: int) -> float:
        """Sum of the weights, as given, of the first rows."""
        return self.total * (size / len(self) if self.weights is None else float(self.weights[:size].sum()))

    def part(self, size: int) -> Tensor | None:
        """Weights of the first rows, which sum to one."""
        return None if self.weights is None else self.weights[:size] / self.weights[:size].sum()

    def goal(self, rows: slice) -> Tensor:
        """Targets of some rows, in the directions that are descended on."""
        return self.target[rows] if self.leading is None else self.target[rows] @ self.leading

    def beside(self, rows: slice) -> Tensor:
        """Squared norms of what targets have in the directions that are not descended on, shape (m,)."""
        target, goal = self.target[rows], self.goal(rows)
        return ((target * target).sum(1) - (goal * goal).sum(1)).clamp_min(0.0)

    def encoded(self, W: Tensor, rows: slice, unit: float) -> Tensor:
        """What an encoder with the parameters ``[A; V]`` says of some rows; ``unit`` is that of the linear part."""
        k = self.linear.shape[1]
        known = rows.stop <= len(self.features)
        F = self.features[rows] if known else self.map.features(self.items[self.order[rows]])
        return torch.addmm((self.linear[rows] * unit) @ W[:k], F, W[k : k + F.shape[1]])


def staged_rows(
    X: Tensor,
    target: Tensor,
    kernel: Kernel,
    features: FeatureMap,
    p: int,
    weights: Tensor | None,
    total: float,
    *,
    own: bool,
) -> StagedRows:
    """Arrange rows in a random order and compute what all stages share."""
    axes = PrincipalCoordinates.of_vectors(X, p, weights)
    order = torch.from_numpy(np.random.RandomState(0).permutation(len(X))).to(X.device)
    kept, room = X.new_empty(min(len(X), MOST), features.dim), X.new_empty(len(X))
    for start in range(0, len(X), TILE):
        items = X[order[start : start + TILE]]
        room[start : start + TILE] = kernel._diag(items)
        if start < len(kept):
            kept[start : start + TILE] = features.features(items)[: len(kept) - start]
    target, w = target[order], None if weights is None else weights[order]
    leading = _leading(target[:SAMPLE], None if w is None else w[:SAMPLE] / w[:SAMPLE].sum(), p)
    return StagedRows(order, axes.of(X)[order], axes, kept, room, target, leading, w, total, own, X, features)


def _leading(T: Tensor, weights: Tensor | None, p: int) -> Tensor | None:
    """Leading principal directions of targets, without those of a small share of what ``p`` of them leave."""
    q = T.shape[1]
    Y = T / len(T) ** 0.5 if weights is None else T * weights.sqrt()[:, None]
    wide = q > len(Y)
    values, vectors = torch.linalg.eigh(Y @ Y.mT if wide else Y.mT @ Y)
    values, vectors = values.flip(0).clamp_min(0.0), vectors.flip(1)
    left = values.sum() - values.cumsum(0)
    count = int((left > _TAIL * left[min(p, len(left)) - 1]).sum()) + 1
    if count <= p or count >= 0.9 * q:
        return None
    vectors = vectors[:, :count]
    return torch.linalg.qr(Y.mT @ vectors)[0] if wide else vectors.contiguous()


def row_outputs(
    goal: Tensor, p: int, weights: Tensor | None, *, center: bool, scale: bool, finer: bool = True
) -> tuple[Euclidean, Tensor]:
    """Targets centred and scaled; ``finer``: in the unit of what ``p`` components leave, where that is less."""
    w = goal.new_full((len(goal),), 1.0 / len(goal)) if weights is None else weights
    mean = w @ goal if center else goal.new_zeros(goal.shape[1])
    T = goal - mean
    if center:
        T -= w @ T  # what rounding left
    variance = float(w @ (T * T).sum(1))
    factor = variance**0.5 if scale and variance > 0.0 else 1.0
    T /= factor
    if scale and finer:
        count = min(len(T), SAMPLE)
        thin = torch.arange(count) * len(T) // count
        unit = kernel_unit(T[thin], p, w[thin] / w[thin].sum())
        T, factor = T / unit, factor * unit
    return Euclidean(mean.cpu().numpy(), factor, None), T


@dataclass(frozen=True, eq=False)
class Stage:
    """What a stage ends with.

    Parameters
    ----------
    reg : tuple of float
    point : Tensor of shape (dim, p_1)
        Parameters of the encoder.
    hidden : list of Tensor
        Coefficients of hidden layers, each (a, p_l).
    layers : list of Tensor
        Codes of the rows in every layer, each (size, p_l).
    layer : AnchoredLayer
        Of the leading directions of the targets.
    solution : Solution
    """

    reg: tuple[float, ...]
    point: Tensor
    hidden: list[Tensor]
    layers: list[Tensor]
    layer: AnchoredLayer
    solution: Solution

    @property
    def codes(self) -> Tensor:
        """That the decoder reads, shape (size, p)."""
        return self.layers[-1]


@dataclass(frozen=True, eq=False)
class RowStages:
    """How the stages of a fit are solved.

    Parameters
    ----------
    settings : Settings
    rows : StagedRows
    run : Run
    engine : Engine
    most : int, optional
        Anchors of the decoder at most; None: as many as the storage says.
    loss : Loss, optional
        A robust one, with numbers for its parameters; None: squared.
    """

    settings: Settings
    rows: StagedRows
    run: Run
    engine: Engine
    most: int | None = None
    loss: Loss | None = None

    @property
    def p(self) -> int:
        """Number of components, of the narrowest layer."""
        return min(self.settings.widths)

    @property
    def kernel(self) -> Kernel:
        """Of the codes that the decoder reads."""
        return self.settings.decoder_kernels[-1]

    @property
    def anchors(self) -> int:
        """Number of anchors of the decoder."""
        m = self.settings.feature_storage.m
        return m if self.most is None else min(m, self.most)

    def problem(self, size: int, reg: tuple[float, ...]) -> AnchoredAutoencoder:
        """The objective on the first rows."""
        weights = self.rows.part(size)
        decoder = self.decoder(self.rows.goal(slice(0, size)), reg, weights, self.anchors)
        return AnchoredAutoencoder(self.encoder(size, reg, weights), decoder)

    def encoder(self, size: int, reg: tuple[float, ...], weights: Tensor | None) -> RowEncoder:
        """Of the first rows."""
        rows, settings, spread = self.rows, self.settings, None
        if rows.own:
            counts = rows.share(size) * (1.0 / size if weights is None else weights)
            spread = (rows.room[:size] / counts).sqrt()
        factor = OwnCodes(rows.linear[:size] * linear_unit(reg[0]), rows.features[:size], spread)
        if len(settings.widths) > 1:
            kernels = settings.decoder_kernels[:-1]
            return DeepCodes(factor, kernels, settings.widths, reg[:-1], self.anchors, self.engine)
        if settings.constraint is not None:
            return CodesOnASet(factor, reg[0], image_of(settings.constraint))
        return FreeCodes(factor, reg[0])

    def decoder(self, target: Tensor, reg: tuple[float, ...], weights: Tensor | None, anchors: int) -> AnchoredDecoder:
        """The last layer for targets of the first rows."""
        slope, anchors = slope_penalty(target, weights), min(anchors, len(target))
        return AnchoredDecoder(target, self.kernel, anchors, reg[-1], slope, _RIDGE, weights, self.engine)

    def first(self, problem: AnchoredAutoencoder, rng: np.random.RandomState | None) -> Tensor:
        """Principal components, or random codes, at the best of several scales."""
        encoder, widths = problem.encoder, self.settings.widths
        factor, p = encoder.factor, max(widths)
        W = factor.linear.new_zeros(factor.dim, p)
        k = min(p, factor.linear.shape[1])
        if rng is None:
            W[:k, :k] = torch.diag(self.rows.axes.scale[:k])
        else:
            W[: factor.width] = torch.as_tensor(rng.standard_normal((factor.width, p))).to(W)
        Z = factor.codes(W)
        if self.settings.constraint is not None:  # a circle of codes needs both of its axes
            even = Z / Z.std(0).clamp_min(1e-6 * float(Z.std(0).max()) + 1e-300)
            inside = 0.9 * even / even.norm(dim=1).max().clamp_min(1e-300)
            return encoder.resume(inside if isinstance(self.settings.constraint, Ball) else even, [])
        unit = normalise_scale(Z, problem.decoder.weights)
        W *= float(unit.norm()) / max(float(Z.norm()), 1e-37)

        def at(scale: float) -> Tensor:
            return (
                encoder.started([scale * unit[:, :q] for q in widths]) if isinstance(encoder, DeepCodes) else W * scale
            )

        def value(scale: float) -> float:
            try:
                return problem.value(at(scale))
            except InputError:  # a system that is singular at this scale
                return float("inf")

        return at(best_scale(value)[0])

    def start(self, size: int, reg: tuple[float, ...], rngs: list[np.random.RandomState | None]) -> Stage:
        """The first stage, the best of several starts: from principal components (None) or random codes."""
        problem, found = self.problem(size, reg), []
        for number, rng in enumerate(rngs):
            label = f"start {number + 1}/{len(rngs)}"
            found.append(self.descend(problem, reg, self.first(problem, rng), _FIRST_STEPS, label))
        return min(found, key=lambda stage: stage.solution.value)

    def move(self, stage: Stage, size: int, reg: tuple[float, ...], *, steps: int = _STEPS) -> Stage:
        """The next stage: on more rows, or with other regularisers."""
        codes, problem = self.coded(stage, size)[0], self.problem(size, reg)
        return self.descend(problem, reg, problem.encoder.resume(codes, stage.hidden), steps, "")

    def descend(
        self, problem: AnchoredAutoencoder, reg: tuple[float, ...], point: Tensor, steps: int, label: str
    ) -> Stage:
        """Some iterations on one problem; under a robust loss in rounds, each on squared losses that touch it."""
        settings, size, encoder = self.settings, len(problem.decoder.target), problem.encoder
        steps = min(steps, settings.max_iter)
        label = ", ".join(filter(None, (self.run.name, f"{size} rows", label)))
        rounds = 1 if self.loss is None else min(_ROUNDS, steps)
        found: list[Solution] = []
        decoder = problem.decoder
        for number in range(rounds):
            if self.loss is not None:
                codes = encoder.layers(point)[-1]
                decoder, _ = problem.decoder.robust(self.loss, codes, self.rows.beside(slice(0, size)), _TURNS)
            posed = replace(problem, decoder=decoder, curvature=found[-1].curvature if found else ())
            kept = recorded(posed, self.run.journal, f"stage {size} {reg} {self.kernel!r} {self.loss!r} {number}")
            solver = settings.solver.within(steps // rounds, force=True)
            found.append(solver.solve(kept, point, Monitor(verbose=self.run.verbose, label=label)))
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
        start, layer = self.rows.encoded(stage.point, rows, linear_unit(stage.reg[0])), stage.layer
        if not self.rows.own:
            found = [start]
            for kernel, below, Phi in zip(self.settings.decoder_kernels, stage.layers, stage.hidden, strict=False):
                found.append(kernel._gram(found[-1], below[: len(Phi)]) @ Phi)
            return found
        onto = self.settings.constraint
        start = start if onto is None else onto.project(start)
        radius = (self.rows.room[rows] / stage.reg[0]).sqrt()
        problem = CodeRefinement(
            self.kernel,
            layer.anchors,
            layer.coefficients,
            self.rows.goal(rows),
            start,
            radius,
            count,
            layer.linear,
            onto=onto,
        )
        return [problem.codes(RowNewton(*_REFINING).solve(problem, problem.nearest()))]

    def errors(self, stage: Stage, rows: slice) -> Tensor:
        """Squared errors of rows that a stage has not seen, coded as new rows are."""
        codes, layer = self.code(stage, rows, self.rows.share(len(stage.codes)))[-1], stage.layer
        decoded = (self.kernel._gram(codes, layer.anchors) @ layer.coefficients).add_(layer.linear[-1])
        decoded.addmm_(codes, layer.linear[:-1])
        goal = self.rows.goal(rows)
        return ((goal - decoded) ** 2).sum(1) + self.rows.beside(rows)

    def losses(self, errors: Tensor) -> Tensor:
        """Twice the loss of residuals with these squared norms, shape (m,); those themselves for the squared loss."""
        return errors if self.loss is None else 2.0 * self.loss.value(errors.sqrt()[:, None])

    def last(self, stage: Stage, codes: Tensor) -> tuple[AnchoredLayer, float, Tensor]:
        """The decoder of all rows, with more anchors; the objective of predicting the mean; rows of a linear loss."""
        rows, loss = self.rows, self.loss
        decoder = self.decoder(rows.target, stage.reg, rows.weights, MORE * self.anchors)
        if loss is None:
            layer, linear = decoder.solve(codes), torch.zeros(len(codes), dtype=torch.bool)
        else:
            _, layer = decoder.robust(loss, codes, torch.zeros_like(rows.room), _LAST_TURNS)
            R = decoder.residuals(codes, layer)
            slopes = loss.gradient(R).norm(dim=1)
            linear = (loss.gradient(2.0 * R).norm(dim=1) <= slopes) & (slopes > 0.0)
        trivial = 0.5 * self.losses((rows.target * rows.target).sum(1))
        return layer, float(trivial.mean() if rows.weights is None else rows.weights @ trivial), linear


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
