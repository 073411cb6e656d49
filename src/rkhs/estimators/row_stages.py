"""Stages of the fit of an autoencoder of many rows: growing samples, each from the codes of the one before.

The problem is that of :mod:`rkhs.problems.anchored_autoencoder`. Rows are taken in one random order: from principal
components on the first thousand, then on twice as many and so on, each added row coded with the model so far as a new
row is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.engines import Engine, Journal
from rkhs.estimators.run import recorded
from rkhs.estimators.staged_rows import TILE, StagedRows
from rkhs.kernels.base import Kernel
from rkhs.problems.anchored_autoencoder import AnchoredAutoencoder, AnchoredDecoder, AnchoredLayer, OwnCodes
from rkhs.problems.refinement import CodeRefinement
from rkhs.problems.semiparametric import linear_unit, slope_penalty
from rkhs.problems.start import best_scale, normalise_scale
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers import LBFGS
from rkhs.solvers.preimage import PreimageDescent

__all__ = ["RowStages", "Stage"]

_FIRST_STEPS, _STEPS = 30, 15  # iterations of the first stage and of the others
_RIDGE = 1e-7  # of the coefficients of the decoder, for targets of variance one
_REFINING = (6, 1e-3)  # of the codes of added rows


@dataclass(frozen=True, eq=False)
class Stage:
    """What a stage ends with.

    Parameters
    ----------
    reg : tuple of float
    point : Tensor of shape (dim, p)
    codes : Tensor of shape (size, p)
    layer : AnchoredLayer
        Of the leading directions of the targets.
    solution : Solution
    """

    reg: tuple[float, float]
    point: Tensor
    codes: Tensor
    layer: AnchoredLayer
    solution: Solution


@dataclass(frozen=True, eq=False)
class RowStages:
    """How the stages of a fit are solved.

    Parameters
    ----------
    rows : StagedRows
    kernel : Kernel
        Of the codes.
    p : int
        Number of components.
    anchors : int
    engine : Engine
    max_iter : int
        At most so many iterations a stage.
    tol : float
    verbose : int
    label : str
    journal : Journal, optional
    """

    rows: StagedRows
    kernel: Kernel
    p: int
    anchors: int
    engine: Engine
    max_iter: int
    tol: float
    verbose: int = 0
    label: str = ""
    journal: Journal | None = None

    def problem(self, size: int, reg: tuple[float, float]) -> AnchoredAutoencoder:
        """The objective on the first rows."""
        rows, weights, spread = self.rows, self.rows.part(size), None
        if rows.own:
            counts = rows.share(size) * (1.0 / size if weights is None else weights)
            spread = (rows.room[:size] / counts).sqrt()
        factor = OwnCodes(rows.linear[:size] * linear_unit(reg[0]), rows.features[:size], spread)
        return AnchoredAutoencoder(factor, self.decoder(rows.goal(slice(0, size)), reg, weights, self.anchors), reg[0])

    def decoder(
        self, target: Tensor, reg: tuple[float, float], weights: Tensor | None, anchors: int
    ) -> AnchoredDecoder:
        """The last layer for targets of the first rows."""
        slope, anchors = slope_penalty(target, weights), min(anchors, len(target))
        return AnchoredDecoder(target, self.kernel, anchors, reg[1], slope, _RIDGE, weights, self.engine)

    def first(self, problem: AnchoredAutoencoder, rng: np.random.RandomState | None) -> Tensor:
        """Principal components, or random codes, at the best of several scales."""
        factor = problem.factor
        W = factor.linear.new_zeros(factor.dim, self.p)
        k = min(self.p, factor.linear.shape[1])
        if rng is None:
            W[:k, :k] = torch.diag(self.rows.scale[:k])
        else:
            W[: factor.width] = torch.as_tensor(rng.standard_normal((factor.width, self.p))).to(W)
        Z = factor.codes(W)
        W *= float(normalise_scale(Z, problem.decoder.weights).norm()) / max(float(Z.norm()), 1e-37)

        def value(scale: float) -> float:
            try:
                return problem.value(W * scale)
            except InputError:  # a system that is singular at this scale
                return float("inf")

        return W * best_scale(value)[0]

    def start(self, size: int, reg: tuple[float, float], rngs: list[Any]) -> Stage:
        """The first stage, the best of several starts: from principal components (None) or random codes."""
        problem, found = self.problem(size, reg), []
        for number, rng in enumerate(rngs):
            label = f"start {number + 1}/{len(rngs)}"
            found.append(self.descend(problem, reg, self.first(problem, rng), _FIRST_STEPS, label))
        return min(found, key=lambda stage: stage.solution.value)

    def move(self, stage: Stage, size: int, reg: tuple[float, float], *, steps: int = _STEPS) -> Stage:
        """The next stage: on more rows, or with other regularisers."""
        old, codes = len(stage.codes), stage.codes
        if size > old:
            codes = torch.cat([codes, self.code(stage, slice(old, size), self.rows.share(size))])
        problem = self.problem(size, reg)
        return self.descend(problem, reg, problem.factor.solve(codes), steps, "")

    def descend(
        self, problem: AnchoredAutoencoder, reg: tuple[float, float], point: Tensor, steps: int, label: str
    ) -> Stage:
        """Some iterations on one problem."""
        size, steps = len(problem.factor.linear), min(steps, self.max_iter)
        monitor = Monitor(verbose=self.verbose, label=", ".join(filter(None, (self.label, f"{size} rows", label))))
        kept = recorded(problem, self.journal, f"stage {size} {reg}")
        solution = LBFGS(steps, self.tol).solve(kept, point, monitor)
        if solution.reason is Reason.MAX_ITER and steps < self.max_iter:
            solution = replace(solution, reason=Reason.SCHEDULE)
        codes = problem.factor.codes(solution.point)
        return Stage(reg, solution.point, codes, problem.decoder.solve(codes), solution)

    def code(self, stage: Stage, rows: slice, count: float) -> Tensor:
        """Codes of rows that a stage has not seen, as those of new rows."""
        parts = [
            self._coded(stage, slice(start, min(start + TILE, rows.stop)), count)
            for start in range(rows.start, rows.stop, TILE)
        ]
        return torch.cat(parts)

    def _coded(self, stage: Stage, rows: slice, count: float) -> Tensor:
        start, layer = self.rows.encoded(stage.point, rows, linear_unit(stage.reg[0])), stage.layer
        if not self.rows.own:
            return start
        radius = (self.rows.room[rows] / stage.reg[0]).sqrt()
        problem = CodeRefinement(
            self.kernel, layer.anchors, layer.coefficients, self.rows.goal(rows), start, radius, count, layer.linear
        )
        return problem.codes(PreimageDescent(*_REFINING).solve(problem, problem.nearest()))

    def errors(self, stage: Stage, rows: slice) -> Tensor:
        """Squared errors of rows that a stage has not seen, coded as new rows are."""
        codes, layer = self.code(stage, rows, self.rows.share(len(stage.codes))), stage.layer
        said = (self.kernel._gram(codes, layer.anchors) @ layer.coefficients).add_(layer.linear[-1])
        said.addmm_(codes, layer.linear[:-1])
        target, goal = self.rows.target[rows], self.rows.goal(rows)
        return ((goal - said) ** 2).sum(1) + ((target * target).sum(1) - (goal * goal).sum(1)).clamp_min(0.0)
