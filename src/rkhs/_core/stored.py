"""What model files hold by its fields, and how a file's fields are checked: types from annotations, shapes by hand."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin

import numpy as np

from rkhs._core.errors import InputError

__all__ = ["Stored", "check_places", "check_shape", "check_types", "check_whole", "hints_of"]


class Stored:
    """Base of frozen dataclasses that model files hold; fields that are None are left out."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def in_file(self) -> Self:
        """The value as a file holds it: without what follows from the rest."""
        return self

    def check_stored(self) -> None:
        """Refuse fields of a file whose shapes and numbers do not agree; their types are right."""

    def from_file(self) -> Self:
        """The value of a file, which computes what the file lacks when it is asked for."""
        return self


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """Types of the attributes of a class; what only a type checker can resolve may be anything."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            try:
                hint = inspect.get_annotations(base)[name]
                found[name] = eval(hint, vars(sys.modules[base.__module__])) if isinstance(hint, str) else hint
            except NameError:
                found[name] = Any
    return found


def check_types(cls: type, values: Mapping[str, Any]) -> None:
    """Refuse values that are not of the types that a class gives to its attributes of these names."""
    hints = hints_of(cls)
    for name, value in values.items():
        if name in hints and not _fits(value, hints[name]):
            raise InputError(f"{cls.__name__}.{name} in a model file cannot be a {type(value).__name__}")


def _fits(value: Any, hint: Any) -> bool:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any or origin is ClassVar:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inside)
    if origin is Literal:
        return type(value) is str and value in inside
    if hint is float:
        return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if origin is dict:
        pairs = [*value.items()] if isinstance(value, dict) else [(None, None)]
        return all(_fits(key, inside[0]) and _fits(one, inside[1]) for key, one in pairs)
    if origin is list or (origin is tuple and inside[-1] is Ellipsis):
        return type(value) is origin and all(_fits(one, inside[0]) for one in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(inside) and all(map(_fits, value, inside))
    return isinstance(hint, type) and isinstance(value, hint)


def check_shape(name: str, array: Any, *sizes: int | None, kinds: str = "f") -> None:
    """Refuse what is neither None nor an array of numbers of this shape; a size of None is any."""
    if array is None:
        return
    fits = isinstance(array, np.ndarray) and array.dtype.kind in kinds and array.ndim == len(sizes)
    if not fits or any(size not in (None, found) for size, found in zip(sizes, array.shape, strict=True)):
        expected, got = ", ".join("any" if size is None else str(size) for size in sizes), np.shape(array)
        raise InputError(f"{name} in a model file must be numbers of shape ({expected}); got shape {got}")


def check_places(name: str, array: Any, n: int) -> None:
    """Refuse what is not a row of numbers of n things, from 0."""
    check_shape(name, array, None, kinds="iu")
    if array is not None and not ((array >= 0) & (array < n)).all():
        raise InputError(f"{name} in a model file must be whole numbers from 0 to {n - 1}")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least so much."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} in a model file must be a whole number of at least {least}; got {value!r:.50}")
