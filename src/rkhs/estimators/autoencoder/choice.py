"""``reg="auto"``: a few regularisers compared on rows that were left out, each fit started where the last one ended.

Of few vectors every row is left out in turn, in closed form, with its code refined as that of a new row: one fit a
candidate, to all rows, and the fit to come goes on from the one that was chosen. On fourteen development sets of 40
to 350 rows (``./dev bench selection --parts``) the error was 0.98 to 1.00 of that with held-out parts (geometric
means), in half of the time below 200 rows. Such errors tell settings apart but are too small, so that of the choice is
measured once on a part. Rows with weights, copies of rows, features of kernels and more rows are held out, and most of
the others are fitted: compared on 400 of 2,000 rows the error was 1.20 (satellite) and 1.09 (mnist) of the best of 20
(``./dev bench selection --grid-rows 2000``), for weak regularisers pay with many rows only. The codes of a fit to a
part are no start for the fit to come that is worth their price: refined, they took 17, 100, 28 and 43 iterations on
four sets of 400 to 750 rows, kernel principal components 25, 95, 24 and 52 (measured once).

The path and its end are those of :mod:`rkhs.selection.path`.

Of the candidates about as good as the best the strongest is taken. With free linear parts it is close to principal
components, and where every row is measured, beyond two components, about as good is one standard error
(Breiman et al., 1984): of 102 development tasks of 30 and 60 rows the worst had 2.6 times the error of principal
components in place of 6.5. With two components it loses more than it saves.

**Kind of kernel.** Radial kernels are zero far from the training rows, so that rows far out are left to the linear
part. Where the data have heavy tails, kernels that grow with the size of a row are compared too, on one held-out part,
at the regulariser of the radial ones and its neighbours, and taken if they are clearly better. The best of these
regularisers is kept: choosing once more among all of them took longer and gained nothing. Below 200 rows the held-out
part is too small to tell. ``./dev bench heavy_tails`` prints what this gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items
from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder.fit import Opened, Opener
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.choice_report import GROWING, MANY_ENOUGH, RADIAL, heavy_tailed, told_apart
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training, cut, equal_rows
from rkhs.kernels import Precomputed
from rkhs.models import ROUGH, AutoencoderModel, Compared, Goal, left_out_facts
from rkhs.selection import held_out_parts
from rkhs.selection.path import FEW_COMPONENTS, FEWEST, good_enough, walk, weighted_sum

__all__ = ["Choice", "choose", "path_errors"]

_TOL, _ROUGH_TOL = 1e-3, 1e-2  # of the fits that are compared: up to a thousand rows 1e-3 chooses no better
_MANY = 400  # rows beyond which copies are not looked for, and none is left out in turn
_MOST_FOR_FEATURES = 400  # rows that train where features are rebuilt: with 800 of 1,000 the choice cost 2.3 fits
# Rows beyond which weaker regularisers are compared too (at 1,000 to 1,400 rows of four development sets 0.82 to 1.00
# of the error; at 480 and 750 up to 1.12 of it), by fits that are nearer to their end (there 0.97 to 1.00).
_PLENTY = 1000
_MANY_FOR_FEW = 199  # the same with one or two components: beyond, one part chooses as well at the same cost


@dataclass(frozen=True)
class Choice:
    """What was chosen."""

    settings: Settings  # with one regulariser a layer
    model: AutoencoderModel | None = None  # of a fit to all items with them, to go on from
    compared: Compared = field(default_factory=Compared)  # with the mean error of held-out rows in their own units
    opened: Opened | None = None  # all items, where they were opened to choose


def choose(opener: Opener, settings: Settings, training: Training, run: Run, gram: Tensor | None = None) -> Choice:
    """Choose one regulariser a layer, if it is not known."""
    features = settings.features and not settings.rows
    if not settings.candidates or (not settings.choice_asked and features and gram is None):
        return Choice(settings)
    groups = _groups(training.items, training.weights, sparse=settings.kernel.row_width is not None)
    count = int(groups.max()) + 1
    if count < FEWEST:
        return Choice(settings)
    many, plenty = min(settings.widths) > FEW_COMPONENTS, count > _PLENTY
    if plenty:
        settings = replace(settings, candidates=settings.candidates + settings.weaker)
    candidates, shown = settings.candidates, settings
    if gram is not None:
        given = Precomputed()
        settings = replace(settings, kernel=given, output_kernel=given)
        training = replace(training, items=gram, goal=gram, gram=True, goal_gram=True)
    at_most = _MOST_FOR_FEATURES if features else None
    parts = [
        tuple(np.flatnonzero(np.isin(groups, part)) for part in pair) for pair in held_out_parts(count, at_most=at_most)
    ]
    models: list[AutoencoderModel | None] = []
    opened: Opened | None = None
    measured_all = True
    if _can_leave_out(settings, training) and count == len(training) <= (_MANY if many else _MANY_FOR_FEW):
        opened = opener(_compared_settings(settings, rough=True), training, run)
        found, models = _left_out_errors(opened, settings, run, count, backwards=many)
        weights_of = np.ones(count)
    else:
        backwards = len(parts) == 1 and many and gram is None
        ask = partial(path_errors, opener, settings, candidates, training, run, backwards=backwards, rough=not plenty)
        found = np.concatenate([*starmap(ask, parts)], 1)
        weights_of = np.concatenate([training.weights_of(part[1]) for part in parts])
        measured_all = len(parts) > 1
    errors = weighted_sum(found, weights_of) / weights_of.sum()
    if not np.isfinite(errors).any():  # the fit to come says why
        return Choice(shown)
    level = good_enough(errors)
    if settings.linear_part == "free" and measured_all and many:
        level |= _within_noise(found, weights_of, int(np.nanargmin(errors)))
    chosen = int(np.argmax(level))  # the first is the strongest
    held_out = float(np.nanmin(errors))
    if models:
        again = path_errors(opener, settings, candidates[chosen : chosen + 1], training, run, *parts[0], rough=True)
        held_out = float(again.mean())
    start = models[chosen] if models and settings.init == "kpca" else None
    choice = Choice(
        replace(shown, reg=candidates[chosen]), start, Compared(np.array(candidates), errors, held_out), opened
    )
    if count < MANY_ENOUGH or training.weights is not None or not settings.unsure:
        return choice
    if not heavy_tailed(training.items):
        return choice
    radial = again[0] if models else found[chosen, : len(parts[0][1])]
    return _choose_kind(opener, settings, training, run, choice, radial, *parts[0])


def _choose_kind(
    opener: Opener,
    settings: Settings,
    training: Training,
    run: Run,
    choice: Choice,
    radial: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> Choice:
    """The choice with radial kernels, or growing ones with the best of its neighbours, if these are clearly better."""
    at, backwards = settings.candidates.index(choice.settings.reg), min(settings.widths) > FEW_COMPONENTS
    near, other, rough = settings.candidates[max(at - 1, 0) : at + 2], settings.growing, len(training) <= _PLENTY
    errors = path_errors(opener, other, near, training, run, train, test, backwards=backwards, rough=rough)
    means = errors.mean(1)
    best = int(np.nanargmin(means))
    kinds = told_apart(errors[best], radial, run)
    if next(iter(kinds)) == RADIAL:
        return replace(choice, compared=replace(choice.compared, kinds=kinds))
    compared = Compared(np.array(near), means, kinds[GROWING], kinds=kinds)
    return Choice(replace(other, reg=near[best]), compared=compared)


def _can_leave_out(settings: Settings, training: Training) -> bool:
    """Whether leaving rows out in turn was measured: vectors that are rebuilt with free linear parts, refined codes."""
    free = settings.linear_part == "free" and (settings.rows or not settings.features)
    return bool(free and training.weights is None and settings.refine and training.own)


def _left_out_errors(
    opened: Opened, settings: Settings, run: Run, rows: int, *, backwards: bool
) -> tuple[np.ndarray, list[AutoencoderModel | None]]:
    """Errors of all rows, each left out, a line a candidate, and the models."""
    compared, count, run = _compared_settings(settings, rough=True), len(settings.candidates), run.quiet()
    models: list[AutoencoderModel | None] = [None] * count
    last: AutoencoderModel | None = None

    def measure(k: int) -> np.ndarray:
        nonlocal last
        models[k] = last = _fitted(opened, replace(compared, reg=settings.candidates[k]), run, last)
        return left_out_errors(last, compared, run)

    return walk(measure, np.full(rows, 1.0 / rows), count, backwards=backwards), models


def left_out_errors(model: AutoencoderModel, settings: Settings, run: Run) -> np.ndarray:
    """Squared errors of the training items, each left out in turn, in the units of the data."""
    refine = settings.refinement if model.refinable else None
    errors = left_out_facts(model, run.options, plain=True, refine=refine)[1]
    assert errors is not None
    return errors.cpu().numpy() * model.rebuilt.output.factor**2


def _within_noise(errors: np.ndarray, weights: np.ndarray, best: int) -> np.ndarray:
    """Candidates whose rows are worse than those of the best by one standard error of the mean difference at most."""
    w = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # infinite where there was no fit
        differences = errors - errors[best]
        mean = differences @ w
        return mean <= np.sqrt((differences - mean[:, None]) ** 2 @ w**2)


def _groups(items: Items, weights: Tensor | None, *, sparse: bool = False) -> np.ndarray:
    """A number for each row, by first appearance; of few rows, -1 for weight zero and one number for equal rows."""
    if len(items) > _MANY or (isinstance(items, list) and not sparse):
        return np.arange(len(items))
    kept = np.arange(len(items)) if weights is None else np.flatnonzero(weights.cpu().numpy() > 0.0)
    groups = np.full(len(items), -1)
    groups[kept] = equal_rows(cut(items, kept))
    return groups


def path_errors(
    opener: Opener,
    settings: Settings,
    candidates: Sequence[tuple[float, ...]],
    training: Training,
    run: Run,
    train: np.ndarray,
    test: np.ndarray,
    *,
    backwards: bool = False,
    rough: bool = False,
) -> np.ndarray:
    """Errors of the held-out rows, a line a candidate: infinite where there is no fit, NaN beyond the end of a path."""
    compared, part, run = _compared_settings(settings, rough=rough), training.part(train), run.quiet()
    opened: Opened | None = None
    last: AutoencoderModel | None = None

    def measure(k: int) -> np.ndarray:
        nonlocal opened, last
        if opened is None:
            opened = opener(compared, part, run)
        last = _fitted(opened, replace(compared, reg=candidates[k]), run, last)
        assert part.kept is not None
        return _errors_of(last, compared, run, training, test, part.kept)

    return walk(measure, training.weights_of(test), len(candidates), backwards=backwards)


def _compared_settings(settings: Settings, *, rough: bool) -> Settings:
    """Settings of models that are compared; ``rough``: less exact ones."""
    tol = max(settings.tol, _ROUGH_TOL if rough else _TOL)
    solver, steps = settings.solver.within(tol=tol, force=True), ROUGH if rough else settings.steps
    found = replace(settings, candidates=(), weaker=(), tol=tol, solver=solver, steps=steps)
    return replace(found, code_metric=0.0, n_init=1, random_state=0)


def _fitted(opened: Opened, settings: Settings, run: Run, last: AutoencoderModel | None) -> AutoencoderModel:
    """A model whose fit starts where the last one ended."""
    found = opened.fit(settings, run, last)
    if not np.isfinite(found.solution.value):
        raise InputError("the objective is not finite")
    return found.model


def _errors_of(
    model: AutoencoderModel, settings: Settings, run: Run, training: Training, test: np.ndarray, train: np.ndarray
) -> np.ndarray:
    """Squared errors of items by a model of others."""
    items = cut(training.items, test, train if training.gram else None)
    raw = model.map.raw(items).to(**run.options)
    codes = model.encode(items, raw, onto=settings.onto, refine=settings.refinement if model.refinable else None)
    kernel, goal = model.rebuilt.kernel, cut(training.goal, test, train if training.goal_gram else None)
    if training.own:
        known = training.items.diagonal()[torch.as_tensor(test)] if training.gram else None
        asked = model.own_goal(items, raw, known)
    elif kernel is None:
        asked = Goal(goal)
    elif training.goal_gram:
        asked = Goal(goal, training.goal.diagonal()[torch.as_tensor(test)])
    else:
        kept = cut(training.goal, train)
        asked = Goal(kernel._gram(goal, kept).to(raw), kernel._diag(goal).to(raw))
    errors = model.rebuilt.errors(model.decode(codes[model.narrowest]), asked).cpu().numpy().astype(np.float64)
    if not np.isfinite(errors).all():
        raise InputError("errors are not finite")
    return errors
