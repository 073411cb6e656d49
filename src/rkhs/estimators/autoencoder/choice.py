"""``reg="auto"``: a few regularisers compared on rows that were left out, each fit started where the last one ended.

Of few vectors every row is left out in turn, in closed form, with its code refined as that of a new row: one fit a
candidate, to all rows, and the fit to come goes on from the one that was chosen. Such errors tell settings apart but
are too small, so that of the choice is measured once on a part. Rows with weights, copies of rows, features of kernels
and more rows are held out, and most of the others are fitted, for weak regularisers pay with many rows only. The path
and its end are those of :mod:`rkhs.selection.path`.

Of the candidates about as good as the best the strongest is taken. With free linear parts it is close to principal
components, and where every row is measured, beyond two components, about as good is one standard error
(Breiman et al., 1984). With two components that loses more than it saves.

**Depth.** First all is chosen for one hidden layer. The others are the identity there; regularisers at which they are
not are compared on held-out rows, from strong to weak, and taken if they are better by a standard error.

**Kind of kernel.** Radial kernels are zero far from the training rows, so that rows far out are left to the linear
part. Where the data have heavy tails, kernels that grow with the size of a row are compared too, on one held-out part,
at the regulariser of the radial ones and its neighbours, and taken if they are clearly better. Below 200 rows the
held-out part is too small to tell. What all this gains: ``docs/results/defaults.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder.dense import OpenedItems, open_items
from rkhs.estimators.autoencoder.fit import Choice
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.choice_report import BOUNDED, MANY_ENOUGH, UNBOUNDED, compare_kinds, heavy_tailed
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training, cut, equal_rows
from rkhs.kernels import Precomputed
from rkhs.models import FINE, ROUGH, AutoencoderModel, Compared, Targets, left_out_facts
from rkhs.selection import held_out_parts
from rkhs.selection.path import (
    FEW_COMPONENTS,
    FEWEST,
    Path,
    gain,
    good_enough,
    measured,
    progress_reporter,
    tied,
    weighted_sum,
)

_TOL, _ROUGH_TOL = 1e-3, 1e-2  # of the fits that are compared: up to a thousand rows 1e-3 chooses no better
_MANY = 400  # rows beyond which none is left out in turn
_MOST_FOR_FEATURES = 400  # rows that train where features are rebuilt: with 800 of 1,000 the choice cost 2.3 fits
# Rows beyond which weaker regularisers are compared too (at 1,000 to 1,400 rows of four development sets 0.82 to 1.00
# of the error; at 480 and 750 up to 1.12 of it), by fits that are nearer to their end (there 0.97 to 1.00).
_PLENTY = 1000
_MANY_FOR_FEW = 199  # the same with one or two components: beyond, one part chooses as well at the same cost


def choose_depth(opened: OpenedItems, settings: Settings, run: Run) -> tuple[OpenedItems, Choice]:
    """Choose for one hidden layer, then whether others are better than the identity; see :func:`choose_items`."""
    _, choice = choose_items(opened.shallow(settings), settings.shallow, run)
    chosen = settings.deepened(choice.settings)
    if chosen.kernel is not settings.kernel:
        opened = open_items(chosen, opened.given, run)
    return replace(opened, cut=None), _with_depth(opened, chosen, choice, run)


def _with_depth(opened: OpenedItems, settings: Settings, shallow: Choice, run: Run) -> Choice:
    """Keep the hidden layers the identity, or choose the regulariser at which they are better by a standard error."""
    compared = shallow.compared
    compared = compared and compared.deepened(len(settings.widths) - 1)
    deep = settings.depths(shallow.settings)
    asked = _compared(opened, replace(settings, candidates=deep, weaker=()), run)
    if asked is not None and compared is not None:
        errors, weights = path_errors(*asked.asked, deep, asked.parts, rough=asked.rough), asked.weights
        at, means = gain(errors, weights)
        if at:
            settings = replace(settings, reg=deep[at])
            compared = replace(compared, candidates=np.array(deep), errors=means, held_out=float(means[at]))
    return Choice(settings, shallow.start, compared)


def choose_items(opened: OpenedItems, settings: Settings, run: Run) -> tuple[OpenedItems, Choice]:
    """Choose one regulariser a layer and the kind of kernel, where they are not known."""
    asked = _compared(opened, settings, run)
    opened = replace(opened, cut=None)  # n x n numbers that the solver does not need
    if asked is None:
        return opened, Choice(settings)
    models: list[AutoencoderModel | None] = [None] * len(asked.candidates)
    if asked.one_by_one:
        errors, weights = asked.left_out(opened, models), np.ones(asked.count)
    else:
        how: dict[str, Any] = {"backwards": asked.backwards, "rough": asked.rough}
        errors, weights = path_errors(*asked.asked, asked.candidates, asked.parts, **how), asked.weights
    means = weighted_sum(errors, weights) / weights.sum()
    if not np.isfinite(means).any():  # the fit to come says why
        return opened, Choice(settings)
    at = asked.taken(errors, means, weights)
    radial, held_out = errors[at, : len(asked.parts[0][1])], float(np.nanmin(means))
    if asked.one_by_one:  # such errors are too small: what is said of the choice is measured on a part
        radial = path_errors(*asked.asked, asked.candidates[at : at + 1], asked.parts[:1], rough=asked.rough)[0]
        held_out = float(radial.mean())
    choice = Choice(
        replace(settings, reg=asked.candidates[at]),
        models[at] if settings.init == "kpca" else None,
        Compared(np.array(asked.candidates), means, held_out),
    )
    return asked.kind(opened, choice, at, radial) if asked.heavy_tailed else (opened, choice)


def _compared(opened: OpenedItems, settings: Settings, run: Run) -> _Comparison | None:
    """What is compared; None where nothing is, or nothing can be."""
    training, gram, features = opened.given, opened.cut, settings.features and not settings.rows
    groups = _groups(opened)
    count = int(groups.max()) + 1
    wanted = settings.candidates and (settings.choice_asked or gram is not None or not features)
    if count < FEWEST or not wanted:
        return None
    if count > _PLENTY:
        settings = replace(settings, candidates=settings.candidates + settings.weaker)
    if gram is not None:
        settings = replace(settings, kernel=Precomputed(), output_kernel=Precomputed())
        training = replace(training, items=gram, targets=gram, gram=True, target_gram=True)
    pairs = held_out_parts(count, at_most=_MOST_FOR_FEATURES if features else None)
    parts = [(np.flatnonzero(np.isin(groups, train)), np.flatnonzero(np.isin(groups, test))) for train, test in pairs]
    return _Comparison(settings, training, run, count, parts)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Regularisers that are compared on rows of the training items."""

    settings: Settings  # with all candidates
    training: Training
    run: Run
    count: int  # of different rows
    parts: list[tuple[np.ndarray, np.ndarray]]  # numbers of the rows that train, and of those that are held out

    @property
    def candidates(self) -> tuple[tuple[float, ...], ...]:
        return self.settings.candidates

    @property
    def many(self) -> bool:
        return min(self.settings.widths) > FEW_COMPONENTS

    @property
    def asked(self) -> tuple[Settings, Training, Run]:
        """What every path of candidates starts from."""
        return self.settings, self.training, self.run

    @property
    def rough(self) -> bool:
        """Whether fits that are compared may end early."""
        return self.count <= _PLENTY

    @property
    def one_by_one(self) -> bool:
        """Whether each row is left out in turn: of few vectors rebuilt with free linear parts and refined codes."""
        settings, training = self.settings, self.training
        free = settings.linear_part == "free" and (settings.rows or not settings.features)
        plain = free and training.weights is None and settings.refine is not None and training.self_targets
        return plain and self.count == len(training) <= (_MANY if self.many else _MANY_FOR_FEW)

    @property
    def heavy_tailed(self) -> bool:
        """Whether other kinds of kernel are compared too."""
        progress_reporter = self.count >= MANY_ENOUGH and self.training.weights is None and self.settings.undecided_kind
        return progress_reporter and heavy_tailed(self.training.items)

    @property
    def backwards(self) -> bool:
        """Whether a path of fits to one part starts at its weak end."""
        return len(self.parts) == 1 and self.many and not self.training.gram

    @property
    def weights(self) -> np.ndarray:
        """Of the held-out rows of all parts."""
        return np.concatenate([self.training.weights_of(test) for _, test in self.parts])

    def left_out(self, opened: OpenedItems, models: list[AutoencoderModel | None]) -> np.ndarray:
        """Errors of all rows, each left out in turn, a line a candidate; the models are kept."""
        compared, run = _compared_settings(self.settings, rough=True), self.run.quiet()
        equal = np.full(self.count, 1.0 / self.count)
        progress = progress_reporter(self.run.name, self.run.verbose)
        path = Path(equal, len(models), backwards=self.many, progress=progress)
        measure = partial(_left_out_errors, settings=compared, run=run)
        _walk(path, opened, compared, self.candidates, run, measure, models)
        return path.errors

    def taken(self, errors: np.ndarray, means: np.ndarray, weights: np.ndarray) -> int:
        """The strongest of the candidates about as good as the best."""
        level, measured_all = good_enough(means), self.one_by_one or len(self.parts) > 1
        if self.settings.linear_part == "free" and measured_all and self.many:
            level |= tied(errors, weights, int(np.nanargmin(means)))
        return int(np.argmax(level))

    def kind(self, opened: OpenedItems, choice: Choice, at: int, radial: np.ndarray) -> tuple[OpenedItems, Choice]:
        """The choice with radial kernels, or clearly better growing ones with the best of its neighbours."""
        near, other = self.candidates[max(at - 1, 0) : at + 2], replace(self, settings=self.settings.unbounded)
        errors = path_errors(*other.asked, near, self.parts[:1], backwards=self.many, rough=self.rough)
        means = errors.mean(1)
        best = int(np.nanargmin(means))
        kinds = compare_kinds(errors[best], radial, self.run)
        if next(iter(kinds)) == BOUNDED:
            assert choice.compared is not None
            return opened, replace(choice, compared=replace(choice.compared, kinds=kinds))
        settings = replace(other.settings, reg=near[best])
        compared = Compared(np.array(near), means, kinds[UNBOUNDED], kinds=kinds)
        return open_items(settings, self.training, self.run), Choice(settings, compared=compared)


def _groups(opened: OpenedItems) -> np.ndarray:
    """A number for each row, in the order of the rows: -1 for weight zero, one number for copies."""
    items, weights = opened.given.items, opened.given.weights
    found = opened.copies if len(opened.target) == len(items) else equal_rows(items)  # noise makes all rows differ
    kept = np.arange(len(items)) if weights is None else np.flatnonzero(weights.cpu().numpy() > 0.0)
    groups = np.full(len(items), -1)
    groups[kept] = np.unique(found[kept], return_inverse=True)[1]
    return groups


def path_errors(
    settings: Settings,
    training: Training,
    run: Run,
    candidates: Sequence[tuple[float, ...]],
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    backwards: bool = False,
    rough: bool = False,
) -> np.ndarray:
    """Errors of the rows held out of each part, a line a candidate; infinite without a fit, NaN beyond a path's end."""
    progress = progress_reporter(run.name, run.verbose, len(parts))
    compared, run, found = _compared_settings(settings, rough=rough), run.quiet(), []
    for number, (train, test) in enumerate(parts):
        part, weights = training.part(train), training.weights_of(test)
        path = Path(weights, len(candidates), backwards=backwards, progress=partial(progress, part=number))
        assert part.kept is not None
        measure = partial(_errors_of, settings=compared, run=run, training=training, test=test, train=part.kept)
        found.append(np.full_like(path.errors, np.inf))  # where no fit of these rows can be begun
        with measured():
            _walk(path, open_items(compared, part, run), compared, candidates, run, measure, [None] * len(candidates))
            found[-1] = path.errors
    return np.concatenate(found, 1)


def _walk(
    path: Path,
    opened: OpenedItems,
    settings: Settings,
    candidates: Sequence[tuple[float, ...]],
    run: Run,
    measure: Callable[[AutoencoderModel], np.ndarray],
    models: list[AutoencoderModel | None],
) -> None:
    """Fit the candidates of a path, each from where the last fit ended, and write errors and models down."""
    last: AutoencoderModel | None = None
    for k in path:
        with measured():
            found = opened.fit(Choice(replace(settings, reg=candidates[k]), last, None), run)
            if not np.isfinite(found.solution.value):
                raise InputError("the objective is not finite")
            models[k] = last = found.model
            path.errors[k] = measure(last)


def _compared_settings(settings: Settings, *, rough: bool) -> Settings:
    """Settings of models that are compared; ``rough``: less exact ones."""
    tol = max(settings.tol, _ROUGH_TOL if rough else _TOL)
    solver, refine = settings.solver.within(tol=tol, force=True), settings.refine and (ROUGH if rough else FINE)
    found = replace(settings, candidates=(), weaker=(), tol=tol, solver=solver, refine=refine)
    return replace(found, code_metric=0.0, n_init=1, random_state=0)


def _left_out_errors(model: AutoencoderModel, settings: Settings, run: Run) -> np.ndarray:
    """Squared errors of the training items, each left out in turn, in the units of the data."""
    errors = left_out_facts(model, run.options, plain=True, refine=settings.refine)[1]
    assert errors is not None
    return errors.cpu().numpy() * model.rebuilt.output.factor**2


def _errors_of(
    model: AutoencoderModel, settings: Settings, run: Run, training: Training, test: np.ndarray, train: np.ndarray
) -> np.ndarray:
    """Squared errors of items by a model of others."""
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
