"""The parameters that estimators share, checked by their names before a fit reads any data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from rkhs._core.arrays import resolve_device, resolve_dtype
from rkhs._core.checks import check_choice, check_count, check_flag, check_seed
from rkhs._core.errors import InputError, shown
from rkhs.engines import Checkpoint, count_threads

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["check_parameters"]

_FLAGS = ("canonical", "center", "refine", "renormalize", "scale", "strict", "warm_start")
_LISTS = (
    *("cv", "decoder_kernel", "decoder_kernels", "epsilons", "eta", "gammas", "input_times", "kappas", "kernels"),
    *("multiplier", "n_components", "operator", "operators", "output_times", "reg", "regs"),
)


def check_parameters(model: BaseEstimator) -> None:
    """Refuse values of the wrong kind for parameters that several estimators have.

    Flags are True or False; a parameter that is one value is no array, which compares entry by entry; ``dtype``,
    ``device``, ``psd``, ``verbose``, ``random_state``, ``n_jobs`` and ``checkpoint`` mean the same everywhere. What
    only one estimator knows, and ranges, it checks itself.

    Parameters
    ----------
    model : estimator

    Raises
    ------
    InputError
        Naming the parameter.
    """
    for name, value in model.get_params(deep=False).items():
        if name in _FLAGS:
            check_flag(value, name)
        elif isinstance(value, (np.ndarray, Tensor)) and (name not in _LISTS or value.ndim == 0):
            raise InputError(f"{name} must be one value, not an array; got {shown(value)}")
        elif name == "columns":
            check_choice(value, "columns", ("raw", "scaled"))
        elif name == "dtype":
            resolve_dtype(value)
        elif name == "device":
            resolve_device(value)
        elif name == "psd":
            check_choice(value, "psd", ("clip", "raise"))
        elif name == "verbose" and not isinstance(value, (bool, np.bool_)):
            check_count(value, "verbose", at_least=0)
        elif name == "random_state":
            check_seed(value)
        elif name == "n_jobs":
            count_threads(value)
        elif name == "checkpoint" and not (value is None or isinstance(value, (str, os.PathLike, Checkpoint))):
            raise InputError(f"checkpoint must be the path of a file, a Checkpoint or None; got {shown(value)}")
