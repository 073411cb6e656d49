"""Fits of few steps, for tests of what does not depend on where a solver stops."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder


def fit(model: KernelAutoencoder, *args: Any, **kwargs: Any) -> KernelAutoencoder:
    """Fit without the warning that the solver has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)
