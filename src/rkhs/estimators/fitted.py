"""Fitted attributes that stand in the model which an estimator holds."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from rkhs.features import FeatureMap
from rkhs.kernels import Kernel

__all__ = ["Fitted", "FittedKernel"]

T = TypeVar("T")


class Fitted(Generic[T]):
    """An attribute of an estimator that is read from its ``model_``: there after fit, and never assigned.

    Parameters
    ----------
    path : str
        Attribute of the model, such as ``"encoder.coefficients"``.
    optional : bool, default=False
        None where a part of the model is missing; otherwise the attribute is then not there.

    Raises
    ------
    AttributeError
        Before fit, as for any attribute that is not there; when it is assigned.

    References
    ----------
    ``docs/design.md``, the way of the data.
    """

    def __init__(self, path: str, *, optional: bool = False) -> None:
        self.path, self.optional = path.split("."), optional
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Fitted[T]: ...

    @overload
    def __get__(self, estimator: object, owner: type) -> T: ...

    def __get__(self, estimator: Any, owner: type) -> Any:
        """The value, or the descriptor where it is asked of a class."""
        if estimator is None:
            return self
        value = vars(estimator).get("model_")
        if value is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self.name!r} before fit")
        for part in self.path:
            if value is None:
                break
            value = getattr(value, part)
        if value is None and not self.optional:
            raise AttributeError(f"this {type(estimator).__name__} has no {self.name!r}")
        return value

    def __set__(self, estimator: Any, value: Any) -> None:
        """Refuse: a model is a value."""
        raise AttributeError(f"{self.name!r} belongs to model_ and cannot be assigned")


class FittedKernel:
    """The fitted attributes of every model of one kernel on items.

    References
    ----------
    ``docs/design.md``, the way of the data.
    """

    kernel_ = Fitted[Kernel]("kernel")
    map_ = Fitted[FeatureMap]("map")
    support_items_ = Fitted[Any]("map.kept", optional=True)
