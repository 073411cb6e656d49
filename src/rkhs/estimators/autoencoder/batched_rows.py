"""Steps on batches of rows in place of stages, with a start from those of the first stage."""

from __future__ import annotations

from dataclasses import replace

from rkhs.estimators.autoencoder.staged_rows import FIRST, RowStages
from rkhs.estimators.autoencoder.stages import Stage, Start
from rkhs.problems.batches import BatchedAutoencoder
from rkhs.problems.encoders import FreeCodes
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.protocols import Monitor
from rkhs.solvers import DoublyStochastic, MiniBatch

BATCHED = (MiniBatch, DoublyStochastic)
"""Solvers that step from batch to batch."""


def stepped(stages: RowStages, size: int, previous: Start | None) -> Stage:
    """The best of several starts on the first rows; the first start is from ``previous`` codes, if there are any."""
    settings, run, found = stages.settings, stages.run, []
    solver, reg, rng = settings.solver, settings.reg, settings.generator()
    assert isinstance(solver, BATCHED)
    problem, small = (stages.problem(count, reg) for count in (size, min(size, FIRST)))
    encoder, layer = problem.encoder, problem.last_layer
    assert isinstance(encoder, FreeCodes)
    assert isinstance(layer, AnchorsLayer)
    seed = int(settings.generator().randint(2**31))
    for number in range(settings.n_init):
        known = previous if number == 0 else None
        init = "random" if number else settings.init
        W = stages.first(small, init, rng) if known is None else encoder.resume(known.layers[0], [])
        seen = BatchedAutoencoder(encoder, layer, solver.batch_size, seed + number, solver.coefficient_share)
        label = f"{run.name}, batches of {solver.batch_size}, start {number + 1}/{settings.n_init}"
        solution = solver.solve(seen, seen.point(W), Monitor(verbose=run.verbose, label=label))
        W = seen.parameters(solution.point)
        coded = encoder.forward(W)
        last = layer.solve(coded.codes)
        solution = replace(solution, value=last.value + coded.encoder_penalty)
        columns = stages.rows.linear[:, : settings.widths[0]].shape[1]
        found.append(Stage([coded.codes], [], W, solution, reg, columns, last))
    return min(found, key=lambda stage: stage.solution.value)
