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

With many components the path goes from weak regularisers to strong ones and ends when two in a row were worse than the
best before; with one or two, where a fit that starts at a weak regulariser gets stuck, it goes the other way and to the
end.

Of the candidates about as good as the best the strongest is taken. With free linear parts it is close to principal
components, and where every row is measured, beyond two components, about as good is one standard error
(Breiman et al., 1984): of 102 development tasks of 30 and 60 rows the worst had 2.6 times the error of principal
components in place of 6.5. With two components it loses more than it saves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder_fit import previous_layers
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.estimators.left_out import leave_one_out_rows
from rkhs.estimators.training import Training
from rkhs.models import ROUGH, Compared
from rkhs.selection import held_out_parts

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["Choice", "Rows", "path_errors", "settle"]

_TOL, _ROUGH_TOL = 1e-3, 1e-2  # of the fits that are compared: up to a thousand rows 1e-3 chooses no better
_FEWEST = 15  # rows below which parts are too small to tell settings apart
_MANY = 400  # rows beyond which copies are not looked for, and none is left out in turn
_MOST_FOR_FEATURES = 400  # rows that train where features are rebuilt: with 800 of 1,000 the choice cost 2.3 fits
# Rows beyond which weaker regularisers are compared too (at 1,000 to 1,400 rows of four development sets 0.82 to 1.00
# of the error; at 480 and 750 up to 1.12 of it), by fits that are nearer to their end (there 0.97 to 1.00).
_PLENTY = 1000
_MANY_FOR_FEW = 199  # the same with one or two components: beyond, one part chooses as well at the same cost
_LEVEL = 1.01  # of the least error: held-out rows cannot tell such candidates apart
_FEW_COMPONENTS = 2
_WORSE = 2  # candidates in a row after which a path backwards ends


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Parameters
    ----------
    settings : Settings
        With one regulariser a layer.
    layers : list of Tensor or None
        Of a fit to all items with them, to go on from.
    compared : Compared
        With the mean error of held-out rows in their own units.
    """

    settings: Settings
    layers: list[Tensor] | None = None
    compared: Compared = field(default_factory=Compared)


def settle(model: KernelAutoencoder, settings: Settings, training: Training, gram: Tensor | None = None) -> Choice:
    """Choose one regulariser a layer, if it is not known.

    ``gram`` is the Gram matrix of the items where its features are what is rebuilt: parts of it are what the compared
    models are fitted to, so that no kernel is computed twice.
    """
    unasked = model.reg is None and settings.features and gram is None
    if len(settings.candidates) == 0 or unasked:
        return Choice(settings)
    groups = _groups(training.items, training.weights)
    count = int(groups.max()) + 1
    if count < _FEWEST:
        return Choice(settings)
    rows = Rows.of(model, training)
    if gram is not None:
        rows = Rows(model, replace(training, items=gram, goal=gram), gram=True)
    many = min(settings.widths) > _FEW_COMPONENTS
    plenty = count > _PLENTY
    if plenty:
        settings = replace(settings, candidates=settings.candidates + settings.weaker)
    at_most = _MOST_FOR_FEATURES if settings.features else None
    parts = [
        tuple(np.flatnonzero(np.isin(groups, part)) for part in pair) for pair in held_out_parts(count, at_most=at_most)
    ]
    layers: list[list[Tensor] | None] = []
    measured_all = True
    if _can_leave_out(model, settings, training) and count == len(training) <= (_MANY if many else _MANY_FOR_FEW):
        found, layers = _left_out_errors(model, settings, rows, backwards=many)
        weights_of = np.ones(count)
    else:
        backwards = len(parts) == 1 and many and gram is None
        errors_of = [
            path_errors(model, settings.candidates, rows, *part, backwards=backwards, rough=not plenty)
            for part in parts
        ]
        found = np.concatenate(errors_of, 1)
        weights_of = np.concatenate([rows.weights_of(part[1]) for part in parts])
        measured_all = len(parts) > 1
    errors = weighted_sum(found, weights_of) / weights_of.sum()
    if not np.isfinite(errors).any():  # the fit to come says why
        return Choice(settings)
    level = errors <= _LEVEL * np.nanmin(errors)
    if settings.linear_part == "free" and measured_all and many:
        level |= _within_noise(found, weights_of, int(np.nanargmin(errors)))
    chosen = int(np.argmax(level))  # the first is the strongest
    held_out = float(np.nanmin(errors))
    if layers:
        held_out = float(
            path_errors(model, settings.candidates[chosen : chosen + 1], rows, *parts[0], rough=True).mean()
        )
    start = layers[chosen] if layers and model.init == "kpca" else None
    compared = Compared(np.array(settings.candidates), errors, held_out)
    return Choice(replace(settings, reg=settings.candidates[chosen]), start, compared)


def _can_leave_out(model: KernelAutoencoder, settings: Settings, training: Training) -> bool:
    """Whether leaving rows out in turn was measured: vectors that are rebuilt with free linear parts, refined codes."""
    free = settings.linear_part == "free" and not settings.features
    return bool(free and training.weights is None and model.refine and training.own)


def _left_out_errors(
    model: KernelAutoencoder, settings: Settings, rows: Rows, *, backwards: bool
) -> tuple[np.ndarray, list[list[Tensor] | None]]:
    """Errors of all rows, each left out, a line a candidate, and the layers of the fits."""
    walker, every = _walker(model, rows, rough=True), np.arange(len(rows.training))
    layers: list[list[Tensor] | None] = [None] * len(settings.candidates)

    def measure(k: int) -> np.ndarray:
        walker.set_params(reg=settings.candidates[k]).fit(rows.training.items)
        layers[k] = previous_layers(walker, len(every), settings)
        errors = leave_one_out_rows(walker)
        assert errors is not None
        return errors * walker.output_.factor**2

    return _walk(measure, len(layers), np.full(len(every), 1.0 / len(every)), backwards=backwards), layers


def _within_noise(errors: np.ndarray, weights: np.ndarray, best: int) -> np.ndarray:
    """Candidates whose rows are worse than those of the best by one standard error of the mean difference at most."""
    w = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # infinite where there was no fit
        differences = errors - errors[best]
        mean = differences @ w
        return mean <= np.sqrt((differences - mean[:, None]) ** 2 @ w**2)


def _groups(items: Any, weights: Tensor | None) -> np.ndarray:
    """A number for each row, by first appearance; of few rows, -1 for weight zero and one number for equal rows.

    So a row and its copies are held out together, and weights and repeated rows lead to the same choice.
    """
    if len(items) > _MANY or isinstance(items, list):
        return np.arange(len(items))
    kept = np.arange(len(items)) if weights is None else np.flatnonzero(weights.cpu().numpy() > 0.0)
    _, first, inverse = np.unique(as_numpy(items)[kept], axis=0, return_index=True, return_inverse=True)
    groups = np.full(len(items), -1)
    groups[kept] = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    return groups


@dataclass(frozen=True)
class Rows:
    """Training data as arrays and lists, to be cut into parts; a Gram matrix of items is cut on both sides."""

    model: KernelAutoencoder
    training: Training
    gram: bool

    @classmethod
    def of(cls, model: KernelAutoencoder, training: Training) -> Rows:
        """Items in the form that the kernel of the model reads."""
        return cls(model, training, gram=model._input_kernel().domain == "gram")

    def settings(self) -> dict[str, Any]:
        """Parameters of a model that is fitted to these rows."""
        params: dict[str, Any] = self.model.get_params(deep=False) | {"columns": "raw"}  # scaled already
        if self.gram and self.model._input_kernel().domain != "gram":
            params |= {"kernel": "precomputed", "output_kernel": None}
        return params

    def cut(self, rows: np.ndarray, train: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Some rows as a user would hand them over, with the arguments that belong to them."""
        items = _take(self.training.items, rows, train if self.gram else None)
        more: dict[str, Any] = {"targets": None}
        if not self.training.own:
            goal = self.training.goal
            square = self.gram and isinstance(goal, Tensor) and goal.shape[0] == goal.shape[1]
            more["targets"] = _take(goal, rows, train if square else None)
        return items, more

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Weights of held-out rows; they sum to one."""
        given = self.training.weights
        w = np.ones(len(rows)) if given is None else given.cpu().numpy()[rows]
        if not w.any():
            raise InputError(
                f"sample_weight is zero on all {len(rows)} rows of a held-out part, so nothing can be measured there; "
                "leave such rows out of X, or use fewer folds (cv)"
            )
        return w / w.sum()

    def share(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some rows as they were given: refining reads their sum as the number of rows."""
        given = self.training.weights
        return None if given is None else given.cpu().numpy()[rows] * self.training.total

    def diagonal(self, rows: np.ndarray) -> np.ndarray | None:
        """``k(x, x)`` of some rows of a Gram matrix of the inputs that are their own targets."""
        known = self.gram and self.training.own
        return self.training.items.diagonal().cpu().numpy()[rows] if known else None


def _take(items: Any, rows: np.ndarray, columns: np.ndarray | None) -> Any:
    if isinstance(items, list):
        return [items[i] for i in rows]
    array = as_numpy(items)
    return array[rows] if columns is None else array[np.ix_(rows, columns)]


def path_errors(
    model: KernelAutoencoder,
    candidates: Sequence[tuple[float, ...]],
    rows: Rows,
    train: np.ndarray,
    test: np.ndarray,
    *,
    backwards: bool = False,
    rough: bool = False,
) -> np.ndarray:
    """Errors of the held-out rows, a line a candidate: infinite where there is no fit, NaN beyond the end of a path."""
    walker = _walker(model, rows, rough=rough)
    items, more = rows.cut(train, train)
    held, asked = rows.cut(test, train)

    def measure(k: int) -> np.ndarray:
        walker.set_params(reg=candidates[k]).fit(items, sample_weight=rows.share(train), **more)
        return np.asarray(walker.reconstruction_error(held, diag=rows.diagonal(test), **asked))

    return _walk(measure, len(candidates), rows.weights_of(test), backwards=backwards)


def _walker(model: KernelAutoencoder, rows: Rows, *, rough: bool) -> Any:
    """A model whose fits start where the last one ended."""
    params = {
        **rows.settings(),
        "warm_start": True,
        "code_metric": 0.0,
        "n_init": 1,
        "verbose": 0,
        "random_state": 0,
    }
    # One checkpoint belongs to one fit, and one engine serves all of them.
    params.update(checkpoint=None, engine=model._run.engine, address=None)
    walker = type(model)(**{**params, "tol": max(model.tol, _ROUGH_TOL if rough else _TOL)})
    if rough:
        walker._steps = ROUGH
    return walker


def weighted_sum(errors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum over the last axis; rows of weight zero count nothing, even where their error is infinite."""
    return np.where(weights > 0.0, errors, 0.0) @ weights


def _walk(measure: Callable[[int], np.ndarray], count: int, weights: np.ndarray, *, backwards: bool) -> np.ndarray:
    """What ``measure`` says of each candidate, a line each; see :func:`path_errors`."""
    errors = np.full((count, len(weights)), np.nan)
    least, worse = np.inf, 0
    for k in reversed(range(count)) if backwards else range(count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit says what there is to say
            try:
                errors[k] = measure(k)
            except InputError:  # a system that is singular at this regulariser
                errors[k] = np.inf
        mean = float(weighted_sum(errors[k], weights))
        worse = 0 if mean < least else worse + 1
        least = min(least, mean)
        if backwards and worse == _WORSE:
            break
    return errors
