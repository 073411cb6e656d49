"""Fitted attributes that are read from the model of an estimator."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.checks import check_choice
from rkhs._core.config import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from rkhs._core.errors import InputError
from rkhs._core.ownership import read_only
from rkhs.estimators.base import KernelEstimator
from rkhs.kernels import Kernel
from rkhs.spaces.features import FeatureMap

T = TypeVar("T")


class Fitted(Generic[T]):
    """An attribute of an estimator that is read from its ``model_`` after fit; arrays are read-only."""

    def __init__(self, path: str, *, optional: bool = False) -> None:
        self.path: list[str] = path.split(".")
        self.optional: bool = optional
        self.name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Fitted[T]: ...

    @overload
    def __get__(self, estimator: object, owner: type) -> T: ...

    def __get__(self, estimator: object, owner: type) -> Any:
        """The value; on the class, the descriptor."""
        if estimator is None:
            return self
        value = vars(estimator).get("model_")
        if value is None:
            check_is_fitted(estimator, "model_")
        for part in self.path:
            if value is None:
                break
            value = getattr(value, part)
        if value is None and not self.optional:
            raise AttributeError(f"this {type(estimator).__name__} has no {self.name!r}")
        return read_only(value)

    def __set__(self, estimator: object, value: Any) -> None:
        raise AttributeError(f"{self.name!r} belongs to model_ and cannot be assigned")


class FittedKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Base of the transformers whose model has one kernel on the items."""

    kernel_: ClassVar[Fitted[Kernel]] = Fitted("kernel")
    map_: ClassVar[Fitted[FeatureMap]] = Fitted("map")
    support_items_: ClassVar[Fitted[Any]] = Fitted("map.kept", optional=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.codes_.shape[1])


class FittedComponents(FittedKernel):
    """Base of the models of components: reconstruction errors and their score."""

    def reconstruction_error(self, X: Any, *, space: str = "auto", diag: ArrayLike | None = None) -> np.ndarray:
        """Squared reconstruction error of each item."""
        check_choice(space, "space", ("auto", "input", "feature"))
        vectors = self.kernel_.domain == "vectors"
        if space == "input" and not vectors:
            raise InputError("space='input' needs vector inputs; use space='feature' for Gram and object inputs")

        def errors(items: Any, diagonal: Tensor | None) -> np.ndarray:
            raw = self._cross_gram(items)
            if vectors and space != "feature":
                return self._finite(((items - self._rebuilt(raw)) ** 2).sum(1))
            return self._finite(
                self.model_.errors(raw, self.kernel_._diag(items).to(raw) if diagonal is None else diagonal)
            )

        return self._in_tiles(X, errors, self._new_diagonal(X, diag))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean of :meth:`reconstruction_error` (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())

    @abstractmethod
    def _rebuilt(self, raw: Tensor) -> Tensor:
        """Vectors that codes of items with given raw features decode to."""
