"""Private copies of data for fitted models, and fits that change their estimator only at the end."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from rkhs._core.config import BaseEstimator, Configurable, known_names
from rkhs._core.memory import refusing

_PLAIN = (str, bytes, int, float, complex, bool, type(None))
_INSIDE = "_inside_a_fit"


def private_copy(value: Any) -> Any:
    """Copy arrays, and what holds arrays, so that nothing the user changes later changes the copy."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return _private_array(value)
    if isinstance(value, (list, tuple, dict)):
        return _private_container(value)
    if isinstance(value, Configurable):
        result = copy.copy(value)
        for name, part in vars(result).items():
            vars(result)[name] = private_copy(part)
        return result
    if isinstance(value, (torch.nn.Module, bytearray)) or is_process_kernel(value) or scipy.sparse.issparse(value):
        return copy.deepcopy(value)
    return value.copy() if hasattr(value, "iloc") else value


def read_only(value: Any) -> Any:
    """A view of a fitted array that cannot be written, also in a list or tuple; other values as they are."""
    if torch.compiler.is_compiling():  # a graph holds the values, and does not write them
        return value
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    elif type(value) in (list, tuple) and any(isinstance(part, np.ndarray) for part in value):
        value = type(value)(map(read_only, value))
    return value


def is_process_kernel(value: Any) -> bool:
    """Whether this is a kernel of scikit-learn's Gaussian processes, which are not imported to know it."""
    # Another thread may be importing the module at this moment: until it has the class, nothing is such a kernel.
    return isinstance(value, getattr(sys.modules.get("sklearn.gaussian_process.kernels"), "Kernel", ()))


def _private_array(array: np.ndarray) -> np.ndarray:
    copied = array.copy(order="K")  # rounding depends on the order of the numbers in memory
    if copied.dtype == object:
        for index in np.ndindex(copied.shape):
            copied[index] = private_copy(copied[index])
    return copied


def _private_container(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = [private_copy(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    result = copy.copy(value)
    if isinstance(value, dict):
        for key, part in value.items():
            result[key] = private_copy(part)
    else:
        result[:] = [private_copy(part) for part in value]
    return result


def unshared(tensor: Tensor, source: Any) -> Tensor:
    """The tensor, or its copy if it may share memory with what it was read from."""
    if tensor.device.type != "cpu" or isinstance(source, (list, tuple)):
        return tensor
    if isinstance(source, Tensor):
        places = {one.untyped_storage().data_ptr() for one in (tensor, source)}
        shared = source.device.type == "cpu" and len(places) == 1
    else:  # frames do not say whose memory they hold
        shared = not isinstance(source, np.ndarray) or np.may_share_memory(tensor.detach().numpy(), source)
    return tensor.clone() if shared else tensor


class WholeFits(BaseEstimator):
    """An estimator whose fits work on a copy, whose state it takes over in one assignment at the end."""

    _get_param_names = known_names
    _input_dtype: np.dtype  # of training data; a text from a file would be parsed by NumPy
    # A fit that is refused or interrupted leaves all as it was; one that ends well leaves nothing of an earlier one.

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("fit", "fit_transform", "partial_fit"):
            found: Any = vars(cls).get(name)
            if isinstance(found, FunctionType):
                setattr(cls, name, _whole(found))
            elif hasattr(found, "fn"):  # what available_if makes of a function
                found.fn = _whole(found.fn)

    def _lock(self) -> None:
        """Make the fitted arrays read-only: they are the model, and a change of one would change its answers."""
        for name, value in vars(self).items():
            if name[-1] == "_":
                vars(self)[name] = read_only(value)

    def __setstate__(self, state: Any) -> None:
        """Take a pickled state, whose arrays can be written."""
        super().__setstate__(state)
        self._lock()

    def _twin(self, *, fitted: bool = False) -> Self:
        """A copy with separate state, by default without fitted attributes; a warm start keeps the model."""
        twin, params = object.__new__(type(self)), self.get_params(deep=False)
        kept = vars(self) if fitted else {*params, "model_"} if "warm_start" in params else params
        twin.__dict__ = {k: v for k, v in vars(self).items() if k in kept or k.startswith("__") or k[-1] != "_"}
        return twin


def _whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a fit so that it changes its estimator only at the end."""
    is_full_fit = fit.__name__ != "partial_fit"
    mark = {_INSIDE: True} if is_full_fit else {}

    @wraps(fit)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        inner = _INSIDE in vars(self)  # a subclass calls the fit that it extends, and keeps what it has noted so far
        work = self._twin(fitted=inner or not is_full_fit)
        vars(work).update(mark)
        with refusing(type(self).__name__):
            found = fit(work, *args, **options)
        self.__dict__ = {name: value for name, value in vars(work).items() if inner or name != _INSIDE}
        if not inner:
            self._lock()
        return self if found is work else found

    return run
