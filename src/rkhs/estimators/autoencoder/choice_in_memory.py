"""Choose regularisers (``reg="auto"``) by held-out errors, each fit warm-started from the previous one.

Of few vectors every row is left out in turn, in closed form, with its code refined as that of a new row. Each
candidate needs one fit to all rows, and the final fit is warm-started from the chosen one. Leave-one-out errors rank
the candidates but are biased low, so the error of the chosen one is estimated once on held-out rows. With sample
weights, copies of rows, features of kernels or more rows a held-out part is used instead; most of the remaining rows
are fitted, because weak regularisation helps only with many rows. :mod:`rkhs.selection.path` has the path and its end.

Of the candidates about as good as the best the strongest is taken. With free linear parts it is close to principal
components; with more than two components, and if the error of every row is known, "about as good" is within one
standard error (Breiman et al., 1984). With two components this rule increased the error.

**Depth.** All parameters are first chosen for one hidden layer, with the other layers fixed to the identity. Finite
regularisers of those layers are then compared on held-out rows, from strong to weak, and one is used if it reduces
the error by more than one standard error.

**Kind of kernel.** A radial kernel vanishes far from the training rows, where only the linear part predicts. Where the
data have heavy tails, kernels that are unbounded in the norm of a row (arc-cosine) are compared too, on one held-out
part, at the regulariser of the radial ones and its neighbours, and taken if they are clearly better. Below 200 rows the
held-out part is too small. Measurements: ``docs/results/defaults.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder.dense import PreparedItems, open_items
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, fit_prepared
from rkhs.estimators.choice_report import BOUNDED, MANY_ENOUGH, UNBOUNDED, compare_kinds, heavy_tailed
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training, cut, equal_rows
from rkhs.kernels import Precomputed
from rkhs.models import FINE, ROUGH, AutoencoderModel, Compared, Targets, leave_one_out_facts
from rkhs.selection.path import (
    FEW_COMPONENTS,
    MIN_ROWS,
    Comparison,
    Path,
    failures_ignored,
    held_out_parts,
    progress_reporter,
)

_TOL, _ROUGH_TOL = 1e-3, 1e-2  # of fits that are compared: up to a thousand rows 1e-3 chooses no better than 1e-2
_MANY = 400  # largest number of rows that are left out one by one
_MOST_FOR_FEATURES = 400  # rows that train where features are rebuilt: with 800 of 1,000 the choice cost 2.3 fits
# Rows beyond which weaker regularisers are compared too (at 1,000 to 1,400 rows of four development sets 0.82 to 1.00
# of the error; at 480 and 750 up to 1.12 of it), by fits that are nearer to their end (there 0.97 to 1.00).
_MIN_ROWS_FOR_WEAKER = 1000
_MANY_FOR_FEW = 199  # the same with one or two components: beyond, one part chooses as well at the same cost


@dataclass(frozen=True, eq=False)
class ItemsCriterion:
    """Errors of items in memory that are left out."""

    opened: PreparedItems
    settings: Settings
    run: Run
    training: Training  # data that are split into parts
    parts: list[tuple[np.ndarray, np.ndarray]]  # indices of the training rows and of the held-out rows
    count: int  # number of rows without copies
    alike: bool = False  # whether some rows are equal
    one_by_one: bool = False  # whether each row is left out in turn
    backwards: bool = False  # whether a path starts at its weak end

    @classmethod
    def of(cls, opened: PreparedItems, settings: Settings, run: Run) -> ItemsCriterion:
        """Split the rows into parts; no parts if nothing is to be compared, or too few rows are distinct."""
        gram, features, training = opened.cut, settings.features and not settings.rows, opened.given
        if gram is not None:
            training = replace(training, items=gram, targets=gram, gram=True, target_gram=True)
        wanted = settings.candidates and (settings.choice_asked or gram is not None or not features)
        groups, alike = _groups(opened) if wanted else (np.full(1, -1), False)
        opened = replace(opened, cut=None)  # n x n numbers that the solver does not need
        found = cls(opened, settings, run, training, [], int(groups.max()) + 1, alike)
        if found.count < MIN_ROWS:
            return found
        pairs = held_out_parts(found.count, at_most=_MOST_FOR_FEATURES if features else None)
        parts = [(_places(groups, train), _places(groups, test)) for train, test in pairs]
        found = replace(found, parts=parts, one_by_one=found.leaves_out)
        return replace(found, backwards=found.starts_weak)

    @property
    def many(self) -> bool:
        """Whether there are many components."""
        return min(self.settings.widths) > FEW_COMPONENTS

    @property
    def starts_weak(self) -> bool:
        """Whether a path of candidates starts at its weak end."""
        return self.many and not self.training.gram and (self.one_by_one or len(self.parts) == 1)

    @property
    def leaves_out(self) -> bool:
        """Whether rows can be left out in turn: of few vectors rebuilt with free linear parts and refined codes."""
        settings, training = self.settings, self.training
        free = settings.linear_part == "free" and (settings.rows or not settings.features)
        plain = free and training.weights is None and settings.refine is not None and training.self_targets
        return plain and not self.alike and self.count == len(training) <= (_MANY if self.many else _MANY_FOR_FEW)

    @property
    def ties(self) -> bool:
        """Whether candidates worse by one standard error at most count as good: where every row is measured."""
        measured_all = self.one_by_one or len(self.parts) > 1
        return self.settings.linear_part == "free" and self.many and measured_all

    @property
    def candidates(self) -> tuple[tuple[float, ...], ...]:
        """Candidates of the settings, and weaker ones for many rows."""
        return self.settings.candidates + (self.settings.weaker if self.count > _MIN_ROWS_FOR_WEAKER else ())

    def prepared(self) -> ItemsCriterion:
        """The criterion itself: the kind of kernel is chosen after the regularisers."""
        return self

    def compare(self, candidates: Sequence[tuple[float, ...]] | None = None) -> Comparison:
        """Errors of the candidates: of all rows, each left out in turn, or of parts that are held out."""
        if not self.parts:
            return Comparison()
        candidates = self.candidates if candidates is None else candidates
        settings, run, found = self.compared_settings, self.run.quiet(), []
        fits: list[AutoencoderModel | None] = [None] * len(candidates)
        progress = progress_reporter(self.run.name, self.run.verbose, 1 if self.one_by_one else len(self.parts))
        folds = list(self._folds(settings, run))
        for number, (weights, opened_fold, measure) in enumerate(folds):
            path = Path(weights, len(candidates), backwards=self.backwards, progress=partial(progress, part=number))
            found.append(np.full_like(path.errors, np.inf))  # stays if the fold cannot be prepared
            with failures_ignored():
                opened, last = opened_fold(), None
                for k in path:
                    with failures_ignored():
                        fit = fit_prepared(opened, Choice(replace(settings, reg=candidates[k]), last, final=False), run)
                        if not np.isfinite(fit.solution.value):
                            raise InputError("the objective is not finite")
                        fits[k] = last = fit.model
                        path.errors[k] = measure(last)
                found[-1] = path.errors
        errors, weights = np.concatenate(found, 1), np.concatenate([weights for weights, *_ in folds])
        starts = fits if self.one_by_one and settings.init == "kpca" else [None] * len(fits)
        return Comparison(candidates, errors, weights, starts, ties=self.ties)

    def _folds(self, settings: Settings, run: Run) -> Iterator[tuple[np.ndarray, Callable[[], PreparedItems], Any]]:
        """Yield weights of held-out rows, a function that prepares the other rows, and one that measures errors."""
        if self.one_by_one:
            equal = np.full(self.count, 1.0 / self.count)
            yield equal, lambda: self.opened, partial(_left_out_errors, settings=settings, run=run)
            return
        training = self.training
        for train, test in self.parts:
            part = training.part(train)
            assert part.kept is not None
            measure = partial(_errors_of, settings=settings, run=run, training=training, test=test, train=part.kept)
            yield training.weights_of(test), partial(open_items, settings, part, run), measure

    @property
    def compared_settings(self) -> Settings:
        """Settings of fits that are compared: with looser tolerances for few rows."""
        settings, rough = self.settings, self.one_by_one or self.count <= _MIN_ROWS_FOR_WEAKER
        if self.training is not self.opened.given:
            settings = replace(settings, kernel=Precomputed(), output_kernel=Precomputed())
        tol = max(settings.tol, _ROUGH_TOL if rough else _TOL)
        solver, refine = settings.solver.within(tol=tol, force=True), settings.refine and (ROUGH if rough else FINE)
        found = replace(settings, candidates=(), weaker=(), tol=tol, solver=solver, refine=refine)
        return replace(found, code_metric=0.0, n_init=1, random_state=0)

    def compare_depths(self, candidates: Sequence[tuple[float, ...]], start: AutoencoderModel | None) -> Comparison:
        """Held-out errors for regularisers of further layers; with the first ones these are the identity."""
        return replace(self, one_by_one=False, backwards=False).compare(candidates)

    def finish(self, choice: Choice, found: Comparison, at: int) -> tuple[PreparedItems, Choice]:
        """The choice with its held-out error and the kind of kernel."""
        compared, bounded = choice.compared, found.errors[at, : len(self.parts[0][1])]
        part = replace(self, one_by_one=False, backwards=False, parts=self.parts[:1])
        if self.one_by_one:  # these errors are biased low: the reported one is measured on a held-out part
            bounded = part.compare(found.candidates[at : at + 1]).errors[0]
            compared = replace(compared, held_out=float(bounded.mean()))
        choice = replace(choice, compared=compared)
        undecided = self.count >= MANY_ENOUGH and self.training.weights is None and self.settings.undecided_kind
        if not (undecided and heavy_tailed(self.training.items)):
            return self.opened, choice
        unbounded = replace(part, settings=self.settings.unbounded, backwards=self.many)
        return unbounded.kind(choice, found.candidates[max(at - 1, 0) : at + 2], bounded)

    def kind(
        self, choice: Choice, near: Sequence[tuple[float, ...]], bounded: np.ndarray
    ) -> tuple[PreparedItems, Choice]:
        """The choice, or unbounded kernels at the best of the regularisers ``near`` it if they are clearly better."""
        found = self.compare(near)
        means = found.errors.mean(1)
        best = int(np.nanargmin(means))
        kinds = compare_kinds(found.errors[best], bounded, self.run)
        if next(iter(kinds)) == BOUNDED:
            return self.opened, replace(choice, compared=replace(choice.compared, kinds=kinds))
        settings = replace(self.settings, reg=near[best])
        compared = Compared(np.array(near), means, kinds[UNBOUNDED], kinds=kinds)
        return open_items(settings, self.training, self.run), Choice(settings, compared=compared)

    def with_diagnostics(self, compared: Compared, chosen: AutoencoderModel | None) -> Compared:
        """The comparison unchanged: the fit adds shares of the variance."""
        return compared


def _groups(opened: PreparedItems) -> tuple[np.ndarray, bool]:
    """Group of each row, in the order of the rows: copies share one; and whether some rows are equal."""
    items = opened.given.items
    found = opened.copies if len(opened.target) == len(items) else equal_rows(items)  # noise makes all rows differ
    groups = np.unique(found, return_inverse=True)[1]
    alike = int(groups.max()) + 1 < len(items)
    if alike and opened.given.of_few_values:
        groups = np.arange(len(items))
    return groups, alike


def _places(groups: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Indices of the rows of some groups."""
    return np.flatnonzero(np.isin(groups, chosen))


def _left_out_errors(model: AutoencoderModel, settings: Settings, run: Run) -> np.ndarray:
    """Squared errors of the training items, each left out in turn, in the units of the data."""
    errors = leave_one_out_facts(model, run.options, plain=True, refine=settings.refine)[1]
    assert errors is not None
    return errors.cpu().numpy() * model.rebuilt.output.scale**2


def _errors_of(
    model: AutoencoderModel, settings: Settings, run: Run, training: Training, test: np.ndarray, train: np.ndarray
) -> np.ndarray:
    """Squared errors of the items ``test`` by a model fitted to the items ``train``."""
    items = cut(training.items, test, train if training.gram else None)
    raw = model.map.raw(items).to(**run.options)
    codes = model.encode(items, raw, refine=settings.refine)
    kernel, targets = model.rebuilt.kernel, cut(training.targets, test, train if training.target_gram else None)
    if training.self_targets:
        known = training.items.diagonal()[torch.as_tensor(test)] if training.gram else None
        asked = model.targets_of_items(items, raw, known)
    elif kernel is None:
        asked = Targets(targets)
    elif training.target_gram:
        asked = Targets(targets, training.targets.diagonal()[torch.as_tensor(test)])
    else:
        kept = cut(training.targets, train)
        asked = Targets(kernel._gram(targets, kept).to(raw), kernel._diag(targets).to(raw))
    U = model.decode(codes[model.narrowest])
    errors = model.rebuilt.output.squared_distances(U, *asked, paired=True).cpu().numpy().astype(np.float64)
    if not np.isfinite(errors).all():
        raise InputError("errors are not finite")
    return errors
