"""Records of model files, and checks of their fields: types from annotations, shapes by hand."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from rkhs._core.errors import InputError

Model = TypeVar("Model", bound="Stored")


class Stored:
    """Base of frozen dataclasses that model files hold; fields that are None are left out."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def in_file(self) -> Self:
        """The record as a file holds it, without fields that can be recomputed."""
        return self

    def check_stored(self) -> None:
        """Refuse fields of a file whose shapes and numbers do not agree; their types are right."""

    def from_file(self) -> Self:
        """The record with the missing fields recomputed."""
        return self


def leanest(model: Model, candidates: Iterable[Model], parts: Callable[[Model], tuple[Any, ...]]) -> Model:
    """The first candidate that ``from_file`` completes to the parts of the model bit by bit; else the model."""
    for lean in candidates:
        try:
            found = parts(lean.from_file())
        except InputError:  # a system that has no solution
            continue
        if all(a is b or np.array_equal(a, b) for a, b in zip(found, parts(model), strict=True)):
            return lean
    return model


@contextmanager
def completing() -> Iterator[None]:
    """Raise an error of the library if missing fields cannot be recomputed from a file."""
    try:
        yield
    except RuntimeError as error:
        raise InputError(f"the items of a model file do not give what it lacks ({error}); fit again") from error


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """Types of the attributes of a class; Any for what only a type checker can resolve."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, hint in inspect.get_annotations(base).items():
            alone = type(base.__name__, (), {"__module__": base.__module__, "__annotations__": {name: hint}})
            try:
                found |= get_type_hints(alone)
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
    origin = get_origin(hint)
    if origin in _OF_PARTS:
        return _OF_PARTS[origin](value, get_args(hint))
    if hint in _NUMBERS:
        huge = isinstance(value, int) and abs(value) >= 2**63  # no machine computes with it
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool) and not huge
    if hint is Any or hint is None:
        return hint is Any or value is None
    return isinstance(hint, type) and isinstance(value, hint)


def _is_list_of(value: Any, inside: tuple[Any, ...]) -> bool:
    return type(value) is list and all(_fits(one, inside[0]) for one in value)


def _is_dict_of(value: Any, inside: tuple[Any, ...]) -> bool:
    of_key, of_value = inside
    return isinstance(value, dict) and all(_fits(key, of_key) and _fits(one, of_value) for key, one in value.items())


def _is_tuple_of(value: Any, inside: tuple[Any, ...]) -> bool:
    if type(value) is not tuple:
        return False
    if inside[-1] is Ellipsis:
        return all(_fits(one, inside[0]) for one in value)
    return len(value) == len(inside) and all(map(_fits, value, inside))


def _is_one_of(value: Any, inside: tuple[Any, ...]) -> bool:
    return any(_fits(value, one) for one in inside)


_NUMBERS: dict[Any, Any] = {float: (int, float, np.floating), int: (int, np.integer)}
_OF_PARTS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    ClassVar: lambda value, inside: True,
    Literal: lambda value, inside: type(value) is str and value in inside,
    Union: _is_one_of,
    types.UnionType: _is_one_of,
    dict: _is_dict_of,
    list: _is_list_of,
    tuple: _is_tuple_of,
}


def check_shape(name: str, array: Any, *sizes: int | None, kinds: str = "f") -> None:
    """Refuse what is neither None nor an array of numbers of this shape; a size of None is any."""
    if array is None:
        return
    fits = isinstance(array, np.ndarray) and array.dtype.kind in kinds and array.ndim == len(sizes)
    fits = fits and array.dtype != np.float16  # nothing is computed with so few digits
    if not fits or any(size not in (None, found) for size, found in zip(sizes, array.shape, strict=True)):
        expected, got = ", ".join("any" if size is None else str(size) for size in sizes), np.shape(array)
        raise InputError(f"{name} in a model file must be numbers of shape ({expected}); got shape {got}")


def check_places(name: str, array: Any, n: int) -> None:
    """Refuse what is not an array of indices from 0 to ``n - 1``."""
    check_shape(name, array, None, kinds="i")
    if array is not None and not ((array >= 0) & (array < n)).all():
        raise InputError(f"{name} in a model file must be whole numbers from 0 to {n - 1}")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} in a model file must be a whole number of at least {least}; got {value!r:.50}")
