"""The fit of an autoencoder: prepare the items, choose the settings that were left open, solve the stages.

Settings are chosen in the same way for every storage. A criterion measures held-out errors: in memory of rows that are
left out (:mod:`rkhs.estimators.autoencoder.choice_in_memory`), on landmarks of rows that only later stages use
(:mod:`rkhs.estimators.autoencoder.choice_on_landmarks`). Among the candidates whose error is close to the least, the
one with the strongest regularisation is chosen. Then hidden layers that are the identity are compared with others,
which are taken if they are better by a standard error.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from rkhs.estimators.autoencoder.choice_in_memory import ItemsCriterion
from rkhs.estimators.autoencoder.choice_on_landmarks import PreparedRows, RowsCriterion, one_thread
from rkhs.estimators.autoencoder.dense import PreparedItems, open_items
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, Fit, fit_prepared
from rkhs.estimators.autoencoder.streams import open_any_rows
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel, Compared
from rkhs.selection.path import Comparison, choose_over_first

PreparedData = PreparedItems | PreparedRows
Criterion = ItemsCriterion | RowsCriterion


def fit(settings: Settings, training: Training, run: Run, previous: AutoencoderModel | None = None) -> Fit:
    """Fit an autoencoder in any storage, warm-started from a previous model if it suits."""
    in_memory = isinstance(settings.storage, str)
    opened = (open_items if in_memory else open_any_rows)(settings, training, run)
    deep = bool(settings.shortcut and settings.candidates)
    single = settings.single_hidden_layer if deep else settings
    with nullcontext() if in_memory else one_thread(run):
        criterion = _criterion(opened, single, run).prepared()
        found = criterion.compare()
        chosen, choice = criterion.opened, Choice(criterion.settings)
        if np.isfinite(found.means).any():  # otherwise the final fit raises the reason
            chosen, choice = _taken(criterion, found)
        if deep:
            chosen, choice = _with_depth(opened, settings, choice, run)
        return chosen.completed(fit_prepared(chosen, choice, run, previous), choice, run)


def _criterion(opened: PreparedData, settings: Settings, run: Run) -> Criterion:
    """Criterion that compares the candidates in a storage."""
    if isinstance(opened, PreparedRows):
        return RowsCriterion(opened, settings, run)
    return ItemsCriterion.of(opened, settings, run)


def _taken(criterion: Any, found: Comparison) -> tuple[PreparedData, Choice]:
    """Choose the strongest candidate about as good as the best; return the data and the choice."""
    at = found.taken
    compared = Compared(np.array(found.candidates), found.means, float(np.nanmin(found.means)))
    settings = replace(criterion.settings, reg=found.candidates[at])
    return criterion.finish(Choice(settings, found.fits[at], compared), found, at)


def _with_depth(opened: PreparedData, settings: Settings, single: Choice, run: Run) -> tuple[PreparedData, Choice]:
    """Keep the hidden layers the identity, or choose the regulariser at which they are better by a standard error."""
    candidates, kernel = settings.depths(single.settings), settings.kernel
    settings = settings.with_depth(single.settings)
    if settings.kernel is not kernel:
        opened = opened.reopened(settings, run)
    criterion: Any = _criterion(opened, settings, run)
    start, compared = single.start, single.compared
    compared = compared.with_identity_layers(len(settings.widths) - 1)
    found = criterion.compare_depths(candidates, start)
    if found.candidates:
        at, means = choose_over_first(found.errors, found.weights)
        if at:
            settings, start = replace(settings, reg=candidates[at]), found.fits[at] or start
            compared = replace(compared, candidates=np.array(candidates), errors=means, held_out=float(means[at]))
            compared = criterion.with_diagnostics(compared, start)
    return criterion.opened, Choice(settings, start, compared)
