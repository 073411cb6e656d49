"""Fits of few steps, for tests of what does not depend on where a solver stops."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import joblib
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder


def fit(model: KernelAutoencoder, *args: Any, **kwargs: Any) -> KernelAutoencoder:
    """Fit without the warning that the solver has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


_FITTED: dict[str, Any] = {}


def fit_once(model: Any, *args: Any, **kwargs: Any) -> Any:
    """As :func:`fit`, once for all tests of a process: they may set parameters, and leave the arrays alone."""
    name = joblib.hash((repr(model), args, kwargs))
    if name not in _FITTED:
        _FITTED[name] = fit(model, *args, **kwargs)
    return copy.copy(_FITTED[name])
