"""Objects described by their constructor parameters: clone, grid search, repr, and a JSON form.

A configurable object is its parameters alone; ``rkhs._core.codec`` turns it into JSON and arrays, and back.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    # scikit-learn has no types: with its bases a kernel were anything to a checker, 0.5 * kernel a float, and a
    # constructor would take any parameter.

    class BaseEstimator:
        """What :class:`Configurable` has of scikit-learn's base."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Constructor parameters."""
            raise AttributeError

        def set_params(self, **params: Any) -> Self:
            """Change constructor parameters."""
            raise AttributeError

        __sklearn_tags__: Any
        __getstate__: Any
        __setstate__: Any
        _get_param_names: Any

    class ClassNamePrefixFeaturesOutMixin(BaseEstimator): ...

    class TransformerMixin(BaseEstimator):
        fit_transform: Any

    class RegressorMixin(BaseEstimator): ...

    class OutlierMixin(BaseEstimator): ...

    class ClassifierMixin(BaseEstimator): ...

    class MultiOutputMixin(BaseEstimator): ...

else:
    from sklearn.base import (
        BaseEstimator as BaseEstimator,
        ClassifierMixin as ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin,
        MultiOutputMixin as MultiOutputMixin,
        OutlierMixin as OutlierMixin,
        RegressorMixin as RegressorMixin,
        TransformerMixin as TransformerMixin,
    )

known_names: Any = classmethod(cache(BaseEstimator._get_param_names.__func__))  # type: ignore[arg-type]


class Configurable(BaseEstimator):
    """An object that is fully described by its constructor parameters."""

    _get_param_names = known_names  # a fit asks for them many times, and to read a signature takes long

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configurable) or type(self) is not type(other):
            return NotImplemented
        return _equal(self.get_params(deep=False), other.get_params(deep=False))

    def __hash__(self) -> int:
        """Of the class and the parameters, as equality; another after ``set_params``."""
        return hash((type(self), hashed(self.get_params(deep=False))))

    def check_stored(self) -> None:
        """Refuse parameters from a file that would not be checked in use."""


def is_concrete(cls: type) -> bool:
    """Whether no method of a class is abstract; scikit-learn's base class does not ask for that by itself."""
    return not any(getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls))


def hashed(value: Any) -> int:
    """A hash that equal parameters share: arrays, lists and tuples of the same numbers are equal."""
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, (list, tuple)):
        return hash(tuple(map(hashed, value)))
    if isinstance(value, dict):
        return hash(frozenset((key, hashed(part)) for key, part in value.items()))
    return hash(value) if isinstance(value, Hashable) else hash(type(value))


def _equal(left: Any, right: Any) -> bool:
    if hasattr(left, "__array__") or hasattr(right, "__array__"):  # tensors and series too
        return np.array_equal(np.asarray(left), np.asarray(right))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return bool(left == right)
