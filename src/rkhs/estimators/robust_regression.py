"""What the rounds of :func:`~rkhs.fit_robust` ask of a regressor: fits, and errors of rows that a fit has not seen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import _safe_indexing, get_tags

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError
from rkhs.estimators.io_regressor import InputOutputKernelRegressor
from rkhs.estimators.operator_regressor_cv import FOLDS, OperatorKernelRegressorCV


class RegressorRounds:
    """Fits of a regressor to some of the rows."""

    rare = most = 1.0  # rows stay wherever they do no harm, however many

    def __init__(self, model: BaseEstimator, X: Any, y: Any) -> None:
        if not is_regressor(model) and not isinstance(model, InputOutputKernelRegressor):
            raise InputError(f"model must be a regressor where y is given; got a {type(model).__name__}; leave y out")
        if get_tags(model).input_tags.pairwise:
            raise InputError(
                "model must read items, since a regressor of fewer rows needs a smaller Gram matrix; got "
                "kernel='precomputed'; leave the wrong rows and columns out of the matrix yourself"
            )
        self.model, self.X, self.y = model, as_numpy(X), as_numpy(y, "y")
        n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        if len(self.y) != n:
            raise InputError(f"y must have one row an item of X, {n}; got {len(self.y)}")
        if n < 2 * FOLDS:
            raise InputError(f"X must hold at least {2 * FOLDS} items, to predict each from others; got {n}")
        self.near = np.zeros(n, dtype=bool)  # in a fit, bad rows beside each other hide each other
        every = np.ones(n, dtype=bool)
        roots = np.sqrt(self.errors(self.fit(every)[0], every))
        self.distances = roots / max(float(np.quantile(roots, 0.75)), 1e-300)

    def fit(self, kept: np.ndarray) -> tuple[Any, list[Warning]]:
        """A fit to these rows, and what it warned of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = clone(self.model).fit(*self._rows(np.flatnonzero(kept)))
        return fitted, [one.message for one in caught]  # type: ignore[misc]

    def errors(self, fitted: Any, kept: np.ndarray) -> np.ndarray:
        """Squared errors of all rows by machines that have not seen them, shape (n,)."""
        from sklearn.model_selection import KFold

        errors, inside, outside = np.zeros(len(kept)), np.flatnonzero(kept), np.flatnonzero(~kept)
        chosen = fitted.estimator_ if isinstance(fitted, OperatorKernelRegressorCV) else self.model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last fit says it
            for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(inside):
                one = clone(chosen).fit(*self._rows(inside[train]))
                errors[inside[test]] = pair_errors(one, *self._rows(inside[test]))
            if len(outside):
                errors[outside] = pair_errors(fitted, *self._rows(outside))
        return errors

    def _rows(self, rows: np.ndarray) -> tuple[Any, Any]:
        return _safe_indexing(self.X, rows), _safe_indexing(self.y, rows)


def pair_errors(model: BaseEstimator, X: Any, y: Any) -> np.ndarray:
    """Squared errors of the predictions, in the space of the outputs; unknown targets (NaN) have none."""
    if isinstance(model, InputOutputKernelRegressor):
        pairs = [_safe_indexing(y, [i]) for i in range(len(y))]
        return np.concatenate([-np.asarray(one) for one in model.scores(X, pairs, per_sample=True)]).clip(0.0)
    given, found = np.asarray(y, dtype=np.float64), np.asarray(as_numpy(model.predict(X)), dtype=np.float64)
    if given.shape != found.shape:
        raise InputError(f"y must have the shape of the predictions, {found.shape}; got {given.shape}")
    squares = ((given - found) ** 2).reshape(len(given), -1)
    return np.asarray(np.nansum(squares, axis=1))
