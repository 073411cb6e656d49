"""Objects described by their constructor parameters: clone, grid search, repr, and a JSON form.

A configurable object is nothing but its parameters. ``encode`` turns any of them (nested to any depth, with arrays)
into JSON plus a table of arrays, ``decode`` builds it again through the constructor. Model files and checkpoints
share this one codec.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from rkhs._core.errors import InputError

__all__ = ["Configurable", "decode", "encode"]


class Configurable(BaseEstimator):
    """An object that is fully described by its constructor parameters.

    Parameters are stored unchanged under their own names, so that scikit-learn's ``clone``, ``get_params``,
    ``set_params`` and nested grid search (``kernel__gamma``) work, and equal parameters mean equal objects.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Configurable)
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # parameters may be changed by set_params


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (np.ndarray, torch.Tensor)) or isinstance(right, (np.ndarray, torch.Tensor)):
        return np.array_equal(np.asarray(left), np.asarray(right))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Describe ``value`` in JSON types, moving its arrays into ``arrays``.

    Parameters
    ----------
    value : object
        None, bool, int, float, str, list, tuple, dict with string keys, NumPy array or scalar, torch tensor, or a
        configurable object with such parameters.
    arrays : dict
        Table that receives the arrays, under the names used in the result.

    Returns
    -------
    object
        JSON types only.

    Raises
    ------
    InputError
        If a part of ``value`` has no description, for example a Python function.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return encode(value.item(), arrays)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, torch.Tensor):
        return encode(value.detach().cpu().numpy(), arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        name = f"array{len(arrays)}"
        arrays[name] = np.array(value, order="C", copy=True)
        return {"$array": name}
    if isinstance(value, (list, tuple)):
        items = [encode(item, arrays) for item in value]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO" and all(isinstance(v, str) for v in value.flat):
        return {"$strings": value.tolist(), "object": value.dtype.kind == "O"}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"$dict": [[key, encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, Configurable):
        params = value.get_params(deep=False)
        return {"$object": type(value).__name__, "params": {k: encode(v, arrays) for k, v in params.items()}}
    raise InputError(
        f"cannot write a {type(value).__name__} to a model file; expected numbers, strings, arrays, or objects of this "
        "library. Python functions cannot be stored: keep the code that makes them and fit again"
    )


def decode(value: Any, arrays: Mapping[str, np.ndarray], find_class: Callable[[str], type]) -> Any:
    """Build the object that ``encode`` described.

    Parameters
    ----------
    value : object
        JSON types, as returned by :func:`encode`.
    arrays : mapping of str to array
        The arrays that it names.
    find_class : callable
        Maps a class name to a class of the library, and raises for any other name.

    Returns
    -------
    object
        Equal to what was encoded.

    Raises
    ------
    InputError
        If the description is damaged.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [decode(item, arrays, find_class) for item in value]
    if isinstance(value, dict):
        if "$float" in value:
            return float(value["$float"])
        if "$array" in value and value["$array"] in arrays:
            return arrays[value["$array"]]
        if "$tuple" in value:
            return tuple(decode(item, arrays, find_class) for item in value["$tuple"])
        if "$strings" in value:
            return np.array(value["$strings"], dtype=object if value["object"] else None)
        if "$dict" in value:
            return {key: decode(item, arrays, find_class) for key, item in value["$dict"]}
        if "$object" in value:
            params = {key: decode(item, arrays, find_class) for key, item in value["params"].items()}
            return find_class(value["$object"])(**params)
    raise InputError("the description of a stored object is damaged; write the file again from the original")
