"""Regularisers of an autoencoder of many rows, chosen on the rows of later stages.

A stage has not seen the rows that the next one adds, so they say at no further price how well it does on new rows. On
two thousand rows at most a path of candidates is compared, each started from the codes of the one before, as for the
dense model. The more rows, the weaker the best regularisers: so on each later stage but the last the next weaker
candidate is tried too, and the next, as long as they are better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.estimators.choice_report import open_ends
from rkhs.estimators.row_stages import RowStages, Stage
from rkhs.estimators.staged_rows import FIRST, stage_sizes
from rkhs.models import Compared

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["best_stage"]

_FEWEST = 15  # rows below which nothing is compared
_COMPARED, _HELD = 2000, 500  # rows that are fitted to compare a path, and rows that are held out
_PLENTY = 1000  # rows from which weaker candidates are compared too
_STEPS = 10  # iterations from one candidate to the next
_LEVEL = 1.01  # of the least error: held-out rows cannot tell such candidates apart
_FEW_COMPONENTS = 2
_WORSE = 2  # candidates in a row after which a path ends
# Beyond those of the dense model, from 4,000 rows on. Of two components the encoder pays 1e-4 at least: with less,
# codes become the names of clusters, and the map means nothing although new rows are rebuilt better.
_WEAKEST = ((1e-5, 1e-6), (1e-6, 1e-5))


def best_stage(
    model: KernelAutoencoder, settings: Settings, stages: RowStages, previous: Tensor | None
) -> tuple[Stage, Compared]:
    """Choose regularisers if they are not given, and go through the stages, from ``previous`` codes if any."""
    found: list[Stage] = []
    stage, rest, compared = _first_stages(model, settings, stages, previous)
    for size in rest:
        found.append(stage)
        stage = stages.move(stage, size, stage.reg)
    found.append(stage)
    history = tuple({**row, "rows": len(one.codes)} for one in found for row in one.solution.history)
    evaluations = sum(one.solution.n_evaluations for one in found)
    iterations = sum(one.solution.n_iter for one in found)
    solution = replace(stage.solution, n_evaluations=evaluations, n_iter=iterations, history=history)
    return replace(stage, solution=solution), compared


def _first_stages(
    model: KernelAutoencoder, settings: Settings, stages: RowStages, previous: Tensor | None
) -> tuple[Stage, list[int], Compared]:
    """The first stages with the regularisers that were given or chosen, and the sizes of the stages to come."""
    n, rng = len(stages.rows), check_seed(model.random_state)
    rngs = [rng if number or model.init == "random" else None for number in range(model.n_init)]
    sizes = stage_sizes(n)
    if not settings.candidates or n < _FEWEST:
        reg = (settings.reg[0], settings.reg[-1])
        if previous is None:
            return stages.start(sizes[0], reg, rngs), sizes[1:], Compared()
        problem = stages.problem(len(previous), reg)
        return stages.descend(problem, reg, problem.factor.solve(previous), 2 * _STEPS, "resumed"), [], Compared()
    part = min(n - min(n // 5, _HELD), _COMPARED)
    stage, error, compared = _path(settings, stages, rngs, part)
    rest = [size for size in sizes if size > part]
    while len(rest) > 1:
        stage = stages.move(stage, rest[0], stage.reg)
        stage, error = _race(settings, stages, stage)
        rest = rest[1:]
    target, w = stages.rows.target, stages.rows.weights
    squares = (target * target).sum(1)
    variance = float(squares.mean() if w is None else w @ squares)
    if variance > 0.0 and np.isfinite(error):
        ends = open_ends(compared.errors, variance)
        compared = replace(compared, held_out=error / variance, open_ends=ends)
    return stage, rest, compared


def _candidates(settings: Settings, part: int) -> list[tuple[float, float]]:
    found = settings.candidates + (settings.weaker if part >= _PLENTY else ())
    return [(reg[0], reg[-1]) for reg in found]


def _path(settings: Settings, stages: RowStages, rngs: list[Any], part: int) -> tuple[Stage, float, Compared]:
    """The best stage of a path of candidates on the first rows, its error of the rows after them, and all errors."""
    candidates = _candidates(settings, part)
    backwards = stages.p > _FEW_COMPONENTS
    found: list[Stage | None] = [None] * len(candidates)
    errors, last, worse = np.full(len(candidates), np.nan), None, 0
    for k in range(len(candidates))[:: -1 if backwards else 1]:
        try:
            if last is None:
                last = stages.start(min(FIRST, part), candidates[k], rngs)
                last = last if part <= FIRST else stages.move(last, part, candidates[k])
            else:
                last = stages.move(last, part, candidates[k], steps=_STEPS)
            errors[k] = _error(stages, last)
        except InputError:  # a system that is singular at this regulariser
            errors[k] = np.inf
            continue
        worse = 0 if errors[k] <= np.nanmin(errors) else worse + 1
        found[k] = last
        if backwards and worse == _WORSE:
            break
    if not np.isfinite(errors).any():
        raise InputError("the normal equations of the decoder are not positive definite at any reg; give a larger reg")
    chosen = int(np.argmax(errors <= _LEVEL * np.nanmin(errors)))  # the first is the strongest
    stage = found[chosen]
    assert stage is not None
    return stage, float(errors[chosen]), Compared(np.array(candidates), errors)


def _race(settings: Settings, stages: RowStages, stage: Stage) -> tuple[Stage, float]:
    """The stage, or the same with weaker regularisers, as long as they are better on the rows that follow."""
    weaker = _candidates(settings, len(stage.codes)) + (list(_WEAKEST) if stages.p > _FEW_COMPONENTS else [])
    error = _error(stages, stage)
    for reg in weaker[weaker.index(stage.reg) + 1 :]:
        other = stages.move(stage, len(stage.codes), reg, steps=_STEPS)
        found = _error(stages, other)
        if not found * _LEVEL < error:
            break
        stage, error = other, found
    return stage, error


def _error(stages: RowStages, stage: Stage) -> float:
    """Mean squared error of rows that follow those of a stage."""
    rows = slice(len(stage.codes), min(len(stage.codes) + _HELD, len(stages.rows)))
    errors = stages.errors(stage, rows)
    if stages.rows.weights is None:
        return float(errors.mean())
    w = stages.rows.weights[rows]
    return float(w @ errors / w.sum())
