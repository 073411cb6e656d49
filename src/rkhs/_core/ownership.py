"""Copies that share no memory with what a user holds: a fitted model owns its data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel
from torch import Tensor

from rkhs._core.config import Configurable

__all__ = ["own", "unshared"]

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def own(value: Any) -> Any:
    """Copy arrays, and what holds arrays, so that nothing the user changes later changes the copy."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return _own_array(value)
    if isinstance(value, (list, tuple, dict)):
        return _own_container(value)
    if isinstance(value, Configurable):
        made = copy.copy(value)
        for name, part in vars(made).items():
            vars(made)[name] = own(part)
        return made
    if isinstance(value, (torch.nn.Module, ProcessKernel, bytearray)) or scipy.sparse.issparse(value):
        return copy.deepcopy(value)
    return value.copy() if hasattr(value, "iloc") else value


def _own_array(array: np.ndarray) -> np.ndarray:
    copied = array.copy(order="K")  # rounding depends on the order of the numbers in memory
    if copied.dtype == object:
        for index in np.ndindex(copied.shape):
            copied[index] = own(copied[index])
    return copied


def _own_container(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = [own(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    made = copy.copy(value)
    if isinstance(value, dict):
        for key, part in value.items():
            made[key] = own(part)
    else:
        made[:] = [own(part) for part in value]
    return made


def unshared(tensor: Tensor, source: Any) -> Tensor:
    """The tensor, or its copy if it may share memory with what it was read from."""
    if tensor.device.type != "cpu" or isinstance(source, (list, tuple)):
        return tensor
    if isinstance(source, Tensor):
        shared = source.device.type == "cpu" and _overlap(tensor, source.detach())
    else:  # frames do not say whose memory they hold
        shared = not isinstance(source, np.ndarray) or np.may_share_memory(tensor.detach().numpy(), source)
    return tensor.clone() if shared else tensor


def _overlap(a: Tensor, b: Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
