"""Choice of the kind of kernel and the regularisers of an autoencoder in finite features.

Rows are vectors, or features of a kernel in the span of landmarks, of items of any kind (``opened_rows``). The problem
is that of :mod:`rkhs.problems.autoencoder`, its stages those of ``staged_rows``.

Regularisers are chosen on the rows of later stages: a stage has not seen the rows that the next one adds, so these give
a held-out error at no further cost. On at most two thousand rows a path of candidates is compared, each started from
the codes of the one before, as for the dense model. The more rows, the weaker the best regularisers: so each later
stage but the last also tries the next weaker candidates, as long as they are better.

The kind of kernel is chosen before them, on a thousand rows and five hundred held-out ones, if these have heavy tails:
:mod:`rkhs.estimators.choice_report` says when. Next to a whole path on two thousand rows that costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate
from rkhs.engines import Engine, Serial, Threads, thread_limit
from rkhs.estimators.autoencoder.finished_rows import AllStages
from rkhs.estimators.autoencoder.opened_rows import PreparedData, open_features, open_vectors, row_outputs, strips
from rkhs.estimators.autoencoder.staged_rows import FIRST, HELD_OUT, RowStages, stage_sizes
from rkhs.estimators.autoencoder.stages import Choice, Fit, Stage, Start, as_array, with_estimated_loss
from rkhs.estimators.choice_report import MANY_ENOUGH, UNBOUNDED, compare_kinds, heavy_tailed, open_ends
from rkhs.estimators.options.memory_needs import landmark_advice, staged_bytes
from rkhs.models import AutoencoderModel, Compared, with_kept_items
from rkhs.selection.path import (
    FEW_COMPONENTS,
    MIN_ROWS,
    TIE_FACTOR,
    Comparison,
    Path,
    failures_ignored,
    progress_reporter,
)

if TYPE_CHECKING:
    from rkhs.estimators.autoencoder.settings import Settings
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.outputs import Euclidean
    from rkhs.spaces.features import Storage


_COMPARED = 2000  # largest number of rows of the fits that compare a path
_MIN_ROWS_FOR_WEAKER = (
    800  # rows beyond which weaker candidates are compared too: the rest of a thousand, a fifth held out
)
_FEW_ANCHORS = 500  # of the decoder while a path is compared: enough to rank candidates, in a third of the time
_STEPS, _DEEPER = 10, 15  # iterations from one candidate to the next, and from one of further layers
_TRIAL_STEPS, _NEAR = 2, 1.05  # iterations after which the strongest candidate must be within this factor of the best
_KIND_ROWS = 300  # held-out rows that compare kinds of kernel, and anchors; fits to twice as many rows
_KIND_REGS = [(1e-4, 1e-3), (1e-4, 1e-5)]  # kinds of kernel are compared at the better of the two
# Weaker than those of the dense model, from 4,000 rows on. With two components the encoder has 1e-4 at least: with less
# codes are labels of clusters without a meaningful arrangement, although new rows are rebuilt better.
_WEAKEST = ((1e-5, 1e-6), (1e-6, 1e-5))
# A choice that ends near principal components does not leave them step by step: free codes with a stiff decoder are no
# better, and neither is the reverse. So the stage of 4,000 rows, if it is not the last, compares both at once.
_STIFF = 1e-2  # reg of a decoder that is about linear
_FREE_CODES, _FREE_FROM = ((1e-4, 1e-4), (1e-4, 1e-5)), 4000


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows for fits in stages, prepared on first use."""

    settings: Settings  # with their kernel and storage
    given: Training  # as it was read
    training: Training  # with noisy copies, where there is noise
    run: Run
    engine: Engine

    @cached_property
    def inputs(self) -> PreparedData:
        """All rows, prepared."""
        if self.settings.features:
            return open_features(
                self.settings, self.training, self.run.options, self.weights, per_row_codes=self.per_row_codes
            )
        return self.vectors(self.settings)

    def vectors(self, settings: Settings, part: Tensor | None = None) -> PreparedData:
        """Rows of vectors, or part of them, as kernels of the settings read them."""
        given = self.training, self.targets, self.run.options, self.weights
        return open_vectors(settings, *given, per_row_codes=self.per_row_codes, part=part)

    @cached_property
    def targets(self) -> tuple[Euclidean, Tensor]:
        """Space of the vectors that are rebuilt, and their coordinates."""
        settings, targets = self.settings, self.training.targets.to(torch.float64)
        centred = bool(settings.center), bool(settings.scale)
        finer = settings.linear_part == "free" and not settings.robust
        return row_outputs(targets, min(settings.widths), self.weights, *centred, finer=finer)

    @property
    def weights(self) -> Tensor | None:
        """Weights of the rows, in double precision."""
        w = self.training.row_weights
        return None if w is None else torch.as_tensor(w).to(self.run.options["device"])

    @property
    def reconstructs_itself(self) -> bool:
        """Whether rows are their own targets, without noise."""
        return self.training.self_targets and self.settings.noise is None

    @property
    def per_row_codes(self) -> bool:
        """Whether the code of each row is free, with a penalty on its distance from the encoder."""
        free = self.reconstructs_itself and self.settings.linear_part == "free"
        return free and (self.settings.refine is not None or self.settings.code_set is not None)

    def stages(self, settings: Settings, run: Run, part: Tensor | None = None) -> AllStages:
        """Stages of a fit on all rows or a sample."""
        read, loss = self.inputs if part is None else self.vectors(settings, part), settings.loss
        return AllStages(settings, run, read, self.engine, loss=loss if settings.robust else None)

    def start(self, stages: RowStages, chosen: Stage | None, previous: AutoencoderModel | None) -> Start | None:
        """Warm start: the stage of a choice, or codes of a previous model of these rows."""
        codes = None if chosen is not None else _codes_of(previous, stages)
        return chosen if codes is None else Start([codes], [])

    def completed(self, fit: Fit, choice: Choice, run: Run) -> Fit:
        """The fit with training items if its file is smaller with them."""
        return replace(fit, model=with_kept_items(fit.model, self.training.items))

    def reopened(self, settings: Settings, run: Run) -> PreparedRows:
        """The same rows as other kernels read them."""
        return replace(self, settings=settings)


def open_rows(settings: Settings, training: Training, run: Run) -> PreparedRows:
    """Announce the fit, and make noisy copies."""
    m = min(len(training), settings.feature_storage.m)
    columns, outputs = (m, m) if settings.features else (training.items.shape[1], training.targets.shape[1])
    outputs *= 2 if settings.robust else 1  # and residuals
    n = len(training) * settings.n_copies
    _announce(run, settings.feature_storage, n, columns, outputs, max(settings.widths))
    engine = run.engine_for(strips(n))
    if not isinstance(engine, (Serial, Threads)):  # a cluster codes rows of files; strips stay on this machine
        engine = replace(run, engine=None).engine_for(strips(n))
    return PreparedRows(settings, training, settings.noisy_copies(training), run, engine)


def _announce(run: Run, storage: Storage, n: int, columns: int, outputs: int, components: int) -> None:
    """Announce the memory of a fit in stages."""
    m = min(n, storage.m) if storage.keeps_items else storage.m + columns
    n_bytes = staged_bytes(n, storage.m, m, columns=columns, outputs=outputs, components=components)
    parts = "features of the rows, m x m matrices and copies of the data"
    estimate = Estimate(f"{run.name} on n={n} rows with storage={storage!r}", int(n_bytes), parts)
    run.announce(estimate, partial(landmark_advice, storage.m, n, columns, components))


def one_thread(run: Run) -> AbstractContextManager[object]:
    """Limit a fit on a CPU to one thread besides the engine, so that results do not depend on the cores."""
    return thread_limit(1 if run.options["device"].type == "cpu" else None)


@dataclass(frozen=True, eq=False)
class RowsCriterion:
    """Errors of the rows that follow those of a stage."""

    opened: PreparedRows
    settings: Settings
    run: Run
    kinds: dict[str, float] | None = None  # errors of the kinds of kernel, the chosen one first

    def prepared(self) -> RowsCriterion:
        """The criterion with the kind of kernel and the parameter of the loss chosen on a sample."""
        opened, settings = self.opened, self.settings
        kinds = _compared_kinds(opened, settings, self.run)
        if kinds is not None and next(iter(kinds)) == UNBOUNDED:
            settings = settings.unbounded
            opened = opened.reopened(settings, self.run)
        found = RowsCriterion(opened, settings, self.run, kinds)
        if not settings.loss.automatic:
            return found
        stages, n = replace(found.stages, loss=None), opened.inputs.rows.different
        part = min(n - max(1, min(n // 5, HELD_OUT)), FIRST)
        return replace(found, settings=with_estimated_loss(stages, _first_stage(stages, part, settings.reg, ("kpca",))))

    @cached_property
    def stages(self) -> RowStages:
        """Stages with few anchors, which are enough to compare candidates."""
        return replace(self.opened.stages(self.settings, self.run), most=_FEW_ANCHORS)

    def compare(self) -> Comparison:
        """Errors of the candidates on the first rows."""
        settings, different = self.settings, self.opened.inputs.rows.different
        if not settings.candidates or different < MIN_ROWS:
            return Comparison()
        part = different - min(different // 5, HELD_OUT)
        part = min(part, _COMPARED * settings.n_copies)  # copies of a row hold little that is new
        return _path(self.stages, _candidates(settings, part), part)

    def finish(self, choice: Choice, found: Comparison, at: int) -> tuple[PreparedRows, Choice]:
        """Continue the stage of a candidate through all stages but the last, with weaker candidates as they help."""
        stages, stage, error = self.stages, found.fits[at], float(found.errors[at, 0])
        for size in stage_sizes(stages.rows.different)[:-1]:
            if size > len(stage.codes):
                stage, error = _race(stages, stages.next_stage(stage, size, stage.reg))
        compared = self.with_diagnostics(replace(choice.compared, held_out=error, kinds=self.kinds), stage)
        return self.opened, Choice(replace(self.settings, reg=stage.reg), stage, compared)

    def compare_depths(self, candidates: Sequence[tuple[float, ...]], start: Stage | None) -> Comparison:
        """Errors of the rows that follow those of a stage, by this stage with further layers."""
        if start is None:
            return Comparison()
        stages, size = self.stages, len(start.codes)
        found = [stages.single_layer.next_stage(start, size, start.reg, steps=_DEEPER)]
        for reg in candidates[1:]:
            found.append(stages.next_stage(found[-1], size, reg, steps=_DEEPER))
        errors = [as_array(stages.losses(stages.next_errors(one))) for one in found]
        w = stages.rows.weights
        weights = np.ones(len(errors[0])) if w is None else as_array(w[size:][: len(errors[0])])
        return Comparison(candidates, np.stack(errors), weights, found)

    def with_diagnostics(self, compared: Compared, chosen: Stage) -> Compared:
        """The comparison with the held-out error as a share of the variance, whatever the loss."""
        stages, error = self.stages, compared.held_out
        whole, plain = stages.of_the_mean, replace(stages, loss=None)
        if error is None or not (whole > 0.0 and np.isfinite(error)):
            return replace(compared, held_out=None)
        ends = open_ends(compared.errors, whole)
        if stages.loss is not None:
            error, whole = _error(plain, chosen), plain.of_the_mean
        return replace(compared, held_out=error / whole, open_ends=ends)


def _compared_kinds(opened: PreparedRows, settings: Settings, run: Run) -> dict[str, float] | None:
    """Errors of the kinds of kernel on a sample of the rows, if these have heavy tails."""
    X = opened.training.items
    undecided_kind = (
        opened.reconstructs_itself and settings.undecided_kind and not settings.robust and not settings.features
    )
    if len(X) < MANY_ENOUGH or opened.weights is not None or not undecided_kind:
        return None
    part = torch.from_numpy(np.random.RandomState(0).permutation(len(X))[: FIRST + HELD_OUT]).to(X.device)
    if not heavy_tailed(X[part]):
        return None
    part = part[: 3 * _KIND_ROWS]
    samples = [opened.stages(one, run, part) for one in (settings.unbounded, settings)]
    if samples[0].rows.different < MIN_ROWS:
        return None
    unbounded, bounded = map(_sample_errors, samples)
    return compare_kinds(unbounded, bounded, run)


def _sample_errors(stages: RowStages) -> np.ndarray:
    """Held-out errors of rows of a sample, as shares of the variance, at the better of two regularisers."""
    stages = replace(stages, most=_KIND_ROWS)
    different = stages.rows.different
    found = _path(stages, _KIND_REGS, different - different // 3, inits=("kpca",))
    target = stages.rows.target
    return as_array(stages.next_errors(found.fits[found.taken]) / (target * target).sum(1).mean())


def _candidates(settings: Settings, part: int) -> list[tuple[float, ...]]:
    return [*settings.candidates, *(settings.weaker if part > _MIN_ROWS_FOR_WEAKER else ())]


def _first_stage(
    stages: RowStages,
    size: int,
    reg: tuple[float, ...],
    inits: Sequence[str] | None = None,
    steps: int | None = None,
) -> Stage:
    problem = stages.problem(size, reg)
    return stages.best_of_starts(problem, stages.points(problem, None, inits), reg, steps)


def _path(
    stages: RowStages, candidates: Sequence[tuple[float, ...]], part: int, inits: Sequence[str] | None = None
) -> Comparison:
    """Errors of the rows after the first ones, by candidates that are each fitted to the first ones."""
    progress, backwards = progress_reporter(stages.run.name, stages.run.verbose), stages.p > FEW_COMPONENTS
    found: list[Stage | None] = [None] * len(candidates)
    last: Stage | None = None

    def try_strongest(least: float) -> bool:
        """Whether two iterations come near to the least error: ten change it by one percent at most."""
        assert last is not None
        return _error(stages, stages.next_stage(last, part, candidates[0], steps=_TRIAL_STEPS)) < _NEAR * least

    path = Path(np.ones(1), len(candidates), backwards=backwards, try_strongest=try_strongest, progress=progress)
    for k in path:
        with failures_ignored():
            if last is None:
                first = _first_stage(stages, min(FIRST, part), candidates[k], inits)
                last = first if part <= FIRST else stages.next_stage(first, part, candidates[k])
            else:
                last = stages.next_stage(last, part, candidates[k], steps=_STEPS)
            found[k] = last
            path.errors[k] = _error(stages, last)
    if not np.isfinite(path.errors).any():
        raise InputError(
            "the normal equations of the decoder are not positive definite at any reg. Where most rows are equal, fit "
            "the different ones with their counts as sample_weight; else give a larger reg"
        )
    return Comparison(candidates, path.errors, np.ones(1), found, floor=_floor(stages, part))


def _race(stages: RowStages, stage: Stage) -> tuple[Stage, float]:
    """Move to weaker regularisers as long as the error of the rows that follow falls."""
    many = stages.p > FEW_COMPONENTS and len(stage.reg) == 2
    weaker = _candidates(stages.settings, len(stage.codes)) + (list(_WEAKEST) if many else [])
    error, floor = _error(stages, stage), _floor(stages, len(stage.codes))
    for reg in weaker[weaker.index(stage.reg) + 1 :]:
        other = stages.next_stage(stage, len(stage.codes), reg, steps=_STEPS)
        found = _error(stages, other)
        if not (found - floor) * TIE_FACTOR < error - floor:
            break
        stage, error = other, found
    if many and len(stage.codes) == _FREE_FROM and stage.reg[1] >= _STIFF:
        return _free_codes(stages, stage, error)
    return stage, error


def _free_codes(stages: RowStages, stage: Stage, error: float) -> tuple[Stage, float]:
    """Leave principal components for codes that descend from their scores, if the error falls by more than a tie."""
    size, floor = len(stage.codes), _floor(stages, len(stage.codes))
    found = [_first_stage(stages, size, _FREE_CODES[0], ("kpca",), steps=_STEPS)]
    for reg in _FREE_CODES[1:]:
        found.append(stages.next_stage(found[-1], size, reg, steps=_STEPS))
    errors = [_error(stages, other) for other in found]
    best = int(np.argmin(errors))
    better = (errors[best] - floor) * TIE_FACTOR < error - floor
    return (found[best], errors[best]) if better else (stage, error)


def _error(stages: RowStages, stage: Stage) -> float:
    """Mean squared error of rows that follow those of a stage, or twice the mean of another loss."""
    return _mean_after(stages, len(stage.codes), stages.next_errors(stage))


def _floor(stages: RowStages, size: int) -> float:
    # A lower bound of the errors: the part of the next rows outside the span of the landmarks.
    outside = stages.rows.outside
    return (
        0.0
        if outside is None
        else _mean_after(stages, size, outside[size : min(size + HELD_OUT, stages.rows.different)])
    )


def _mean_after(stages: RowStages, size: int, errors: Tensor) -> float:
    errors, w = stages.losses(errors), stages.rows.weights
    if w is None:
        return float(errors.mean())
    w = w[size:][: len(errors)]
    return float(w @ errors / w.sum())


def _codes_of(model: AutoencoderModel | None, stages: RowStages) -> Tensor | None:
    """Codes of the optimised rows from a previous model of as many rows; None if it does not suit."""
    if model is None or model.codes.shape != (len(stages.rows), stages.p) or len(model.layers) > 1:
        return None
    constrained_alike = stages.settings.row_constraint == model.penalty.row_constraint
    if not constrained_alike or (model.last.linear is None) != (stages.rows.axes is None):
        return None
    Z = model.from_user(torch.as_tensor(model.codes, dtype=torch.float64).to(stages.rows.target.device))
    return Z[stages.rows.order[: len(stages.rows.features)]]
