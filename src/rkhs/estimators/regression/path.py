"""A path of regression machines, fitted in one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs._core.arrays import to_tensor
from rkhs.losses import Loss
from rkhs.models import path_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs.estimators.regression.base import DualRegressor

__all__ = ["RegressionPath"]


@dataclass(frozen=True)
class RegressionPath:
    """Machines for S settings that share data and kernel."""

    estimator: DualRegressor  # reads items: a copy of the estimator with kernel, training items and output space
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
        reader = self.estimator
        values = path_values(
            reader.kernel_, reader.model_.raw(reader._read_new(X)), to_tensor(self.dual_coefs, **reader._options)
        )
        return np.stack([reader._to_output(reader.model_.outputs(values[:, s])) for s in range(len(self))])

    def mean_squared_errors(self, X: Any, Y: ArrayLike) -> np.ndarray:
        """Mean over all entries of the squared errors of every machine, shape (S,)."""
        errors = self.predict(X) - np.asarray(Y, dtype=float)
        return (errors**2).reshape(len(self), -1).mean(1)
