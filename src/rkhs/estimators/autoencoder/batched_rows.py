"""Steps on batches of rows in place of stages, with a start from those of the first stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor

from rkhs.estimators.autoencoder.staged_rows import FIRST, RowStages, Stage
from rkhs.problems.batches import BatchedAutoencoder
from rkhs.problems.encoders import FreeCodes
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.protocols import Monitor
from rkhs.solvers import DoublyStochastic, MiniBatch

BATCHED = (MiniBatch, DoublyStochastic)
"""Solvers that step from batch to batch."""


def stepped(stages: RowStages, size: int, rngs: list[np.random.RandomState | None], previous: Tensor | None) -> Stage:
    """The best of several starts on the first rows; the first start is from ``previous`` codes, if there are any."""
    solver, reg, run, found = stages.settings.solver, stages.settings.reg, stages.run, []
    assert isinstance(solver, BATCHED)
    problem, small = (stages.problem(count, reg) for count in (size, min(size, FIRST)))
    encoder, layer = problem.encoder, problem.last_layer
    assert isinstance(encoder, FreeCodes)
    assert isinstance(layer, AnchorsLayer)
    seed = int(stages.settings.generator().randint(2**31))
    for number, rng in enumerate(rngs):
        known = previous if number == 0 else None
        W = stages.first(small, rng) if known is None else encoder.resume(known, [])
        seen = BatchedAutoencoder(encoder, layer, solver.batch_size, seed + number, solver.coefficient_share)
        label = f"{run.name}, batches of {solver.batch_size}, start {number + 1}/{len(rngs)}"
        solution = solver.solve(seen, seen.point(W), Monitor(verbose=run.verbose, label=label))
        W = seen.parameters(solution.point)
        coded = encoder.forward(W)
        last = layer.solve(coded.codes)
        found.append(
            Stage(reg, W, [], [coded.codes], last, replace(solution, value=last.value + coded.encoder_penalty))
        )
    return min(found, key=lambda stage: stage.solution.value)
