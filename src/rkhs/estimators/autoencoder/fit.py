"""The fit of an autoencoder: read the items, choose what is left to the library, go through the stages.

There is one choice for all storages. A criterion gives errors of rows that no fit has seen: in memory of rows that are
left out (:mod:`rkhs.estimators.autoencoder.choice`), on landmarks of rows that later stages add
(:mod:`rkhs.estimators.autoencoder.rows`). Of the candidates about as good as the best the strongest is taken. Then
hidden layers that are the identity are compared with others, which are taken if they are better by a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from rkhs.estimators.autoencoder.choice import ItemsCriterion
from rkhs.estimators.autoencoder.opened_items import open_items
from rkhs.estimators.autoencoder.rows import RowsCriterion, one_thread
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, Fit
from rkhs.estimators.autoencoder.streams import open_any_rows
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel, Compared
from rkhs.selection.path import Comparison, gain


class Opened(Protocol):
    """Items as fits read them, whatever the regularisers."""

    def reopened(self, settings: Settings, run: Run) -> Any:
        """The same items as other kernels read them."""

    def fit(self, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
        """Fit all layers, from a previous model of these items if there is one that suits."""


class Criterion(Protocol):
    """Errors of rows that fits have not seen."""

    @property
    def opened(self) -> Any:
        """The items."""

    @property
    def settings(self) -> Settings:
        """With all candidates."""

    def prepared(self) -> Criterion:
        """The same with what must be chosen before regularisers."""

    def compare(self) -> Comparison | None:
        """Errors of the candidates of the settings; None where nothing is compared."""

    def finish(self, choice: Choice, found: Comparison, at: int) -> tuple[Any, Choice]:
        """The choice of candidate ``at`` with what follows from it."""

    def compare_depths(self, candidates: Sequence[tuple[float, ...]], start: Any) -> Comparison | None:
        """Errors of regularisers of further layers, of which the first makes them the identity."""

    def reported(self, compared: Compared, chosen: Any) -> Compared:
        """The comparison with the error of the fit that was chosen."""


def fit(settings: Settings, training: Training, run: Run, previous: AutoencoderModel | None = None) -> Fit:
    """Fit an autoencoder in any storage, from a previous model of these items if there is one that suits."""
    in_memory = isinstance(settings.storage, str)
    opened: Opened = (open_items if in_memory else open_any_rows)(settings, training, run)
    with nullcontext() if in_memory else one_thread(run):
        opened, choice = choose(ItemsCriterion.of if in_memory else RowsCriterion.of, opened, settings, run)
        return opened.fit(choice, run, previous)


def choose(
    criterion_of: Callable[[Any, Settings, Run], Criterion], opened: Opened, settings: Settings, run: Run
) -> tuple[Opened, Choice]:
    """Choose one regulariser a layer, kind of kernel, parameter of the loss and depth, where they are not known."""
    deep = bool(settings.shortcut and settings.candidates)
    single = settings.shallow if deep else settings
    criterion = criterion_of(opened, single, run).prepared()
    found = criterion.compare()
    chosen, choice = criterion.opened, Choice(criterion.settings)
    if found is not None and np.isfinite(found.means).any():  # otherwise the fit to come gives the reason
        at = found.taken
        compared = Compared(np.array(found.candidates), found.means, float(np.nanmin(found.means)))
        choice = Choice(replace(criterion.settings, reg=found.candidates[at]), found.fits[at], compared)
        chosen, choice = criterion.finish(choice, found, at)
    if not deep:
        return chosen, choice
    settings = settings.deepened(choice.settings)
    if settings.kernel is not single.kernel:
        opened = opened.reopened(settings, run)
    return _with_depth(criterion_of(opened, settings, run), choice)


def _with_depth(criterion: Criterion, single: Choice) -> tuple[Opened, Choice]:
    """Keep the hidden layers the identity, or choose the regulariser at which they are better by a standard error."""
    settings, start, compared = criterion.settings, single.start, single.compared
    candidates = settings.depths(single.settings)
    compared = compared and compared.deepened(len(settings.widths) - 1)
    found = criterion.compare_depths(candidates, start)
    if found is not None and compared is not None:
        at, means = gain(found.errors, found.weights)
        if at:
            settings, start = replace(settings, reg=candidates[at]), found.fits[at] or start
            compared = replace(compared, candidates=np.array(candidates), errors=means, held_out=float(means[at]))
            compared = criterion.reported(compared, start)
    return criterion.opened, Choice(settings, start, compared)
