"""A path of regression machines, fitted in one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rkhs.losses import Loss


@dataclass(frozen=True)
class RegressionPath:
    """Machines for S settings that share data and kernel."""

    predictions: Callable[[Any, np.ndarray], np.ndarray]  # of items, from dual coefficients of several machines
    regs: list[float]
    losses: list[Loss]
    dual_coefs: np.ndarray  # (S, n, r)
    objectives: np.ndarray  # (S,): objectives and their certified distances from the optima
    gaps: np.ndarray  # (S,)
    n_iter: np.ndarray  # (S,)
    n_support: np.ndarray  # numbers of samples with a non-zero dual variable, and of samples where the loss is linear
    n_saturated: np.ndarray  # (S,)

    def __len__(self) -> int:
        return len(self.regs)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of every machine."""
        return self.predictions(X, self.dual_coefs)

    def mean_squared_errors(self, X: Any, Y: ArrayLike) -> np.ndarray:
        """Mean over all entries of the squared errors of every machine, shape (S,)."""
        errors = self.predict(X) - np.asarray(Y, dtype=float)
        return (errors**2).reshape(len(self), -1).mean(1)
