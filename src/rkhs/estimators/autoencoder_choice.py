"""``reg="auto"``: a few regularisers compared on rows that are held out, each fit started where the last one ended."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import as_numpy, to_tensor
from rkhs._core.errors import InputError
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.selection import held_out_parts

__all__ = ["settle"]

_TOL = 1e-3  # of the fits that are compared
_FEWEST = 40  # rows below which a part is too small to tell settings apart


def settle(
    model: Any, settings: Settings, items: Any, goal: Any, weights: Tensor | None, start: list[Tensor] | None
) -> tuple[Settings, list[Tensor] | None]:
    """Settings with one regulariser a layer, and where to start; what was compared is stored on the model."""
    model.candidates_, model.candidate_errors_ = None, None
    if len(settings.candidates) == 0 or len(items) < _FEWEST:
        return settings, start
    rows = _Rows(model, items, goal, weights)
    errors = np.zeros(len(settings.candidates))
    for train, test in held_out_parts(len(items)):
        fitted = _along(model, settings.candidates, rows, train, test, errors)
    if not np.isfinite(errors).any():  # the fit to come says why
        return settings, start
    best = int(np.argmin(errors))
    codes = _codes(fitted[best], rows, train) if len(settings.widths) == 1 else None
    model.candidates_, model.candidate_errors_ = np.array(settings.candidates), errors
    if start is None and codes is not None and model.init == "kpca":
        start = [to_tensor(codes, **model._options)]
    return replace(settings, reg=settings.candidates[best]), start


@dataclass(frozen=True)
class _Rows:
    """Training data as arrays and lists, to be cut into parts."""

    model: Any
    items: Any
    goal: Any
    weights: Tensor | None

    def cut(self, rows: np.ndarray, train: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Some rows as a user would hand them over, with the arguments that belong to them."""
        gram = self.model._input_kernel().domain == "gram"
        items = _take(self.items, rows, train if gram else None)
        more: dict[str, Any] = {"targets": None}
        if not self.model._own_targets:
            square = gram and isinstance(self.goal, Tensor) and self.goal.shape[0] == self.goal.shape[1]
            more["targets"] = _take(self.goal, rows, train if square else None)
        return items, more

    def share(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some rows."""
        return None if self.weights is None else self.weights.cpu().numpy()[rows]

    def diagonal(self, rows: np.ndarray) -> np.ndarray | None:
        """``k(x, x)`` of some rows of a Gram matrix of the inputs that are their own targets."""
        gram = self.model._input_kernel().domain == "gram"
        return self.items.diagonal().cpu().numpy()[rows] if gram and self.model._own_targets else None


def _take(items: Any, rows: np.ndarray, columns: np.ndarray | None) -> Any:
    if isinstance(items, list):
        return [items[i] for i in rows]
    array = as_numpy(items)
    return array[rows] if columns is None else array[np.ix_(rows, columns)]


def _along(
    model: Any,
    candidates: tuple[tuple[float, ...], ...],
    rows: _Rows,
    train: np.ndarray,
    test: np.ndarray,
    errors: np.ndarray,
) -> list[Any]:
    """Fit the candidates one after the other and add their held-out errors; returns the fitted models."""
    params = {**model.get_params(deep=False), "warm_start": True, "n_init": 1, "verbose": 0, "random_state": 0}
    # One checkpoint belongs to one fit, and one engine serves all of them.
    params.update(checkpoint=None, engine=getattr(model, "_engine", None), address=None)
    walker = type(model)(**{**params, "tol": max(model.tol, _TOL)})
    items, more = rows.cut(train, train)
    held, asked = rows.cut(test, train)
    share = rows.share(test)
    fitted: list[Any] = []
    for k, reg in enumerate(candidates):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit says what there is to say
            try:
                walker.set_params(reg=reg).fit(items, sample_weight=rows.share(train), **more)
                held_out = walker.reconstruction_error(held, diag=rows.diagonal(test), **asked)
                errors[k] += float(np.average(held_out, weights=share))
            except InputError:  # a system that is singular at this regulariser
                errors[k] = np.inf
        fitted.append(copy.copy(walker))
    return fitted


def _codes(fitted: Any, rows: _Rows, train: np.ndarray) -> np.ndarray:
    """Codes of all rows by a model of some of them."""
    everything, _ = rows.cut(np.arange(len(rows.items)), train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fitted.transform(everything), dtype=np.float64)
