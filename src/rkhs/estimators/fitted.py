"""Fitted attributes that stand in the model which an estimator holds."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.kernels import Kernel
from rkhs.spaces.features import FeatureMap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike
    from torch import Tensor

__all__ = ["Fitted", "FittedComponents", "FittedKernel"]

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

    def __get__(self, estimator: object, owner: type) -> Any:
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

    def __set__(self, estimator: object, value: Any) -> None:
        """Refuse: a model is a value."""
        raise AttributeError(f"{self.name!r} belongs to model_ and cannot be assigned")


class FittedKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What every transformer has that holds a model of one kernel on items.

    References
    ----------
    ``docs/design.md``, the way of the data.
    """

    kernel_ = Fitted[Kernel]("kernel")
    map_ = Fitted[FeatureMap]("map")
    support_items_ = Fitted[Any]("map.kept", optional=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FittedComponents(FittedKernel):
    """What models of components say of items: how far these are from what components keep of them.

    References
    ----------
    Scholkopf, Smola and Muller (1998); Tonin, Patrinos and Suykens (2021), section 4.2.
    """

    def reconstruction_error(self, X: Any, *, space: str = "auto", diag: ArrayLike | None = None) -> np.ndarray:
        """Squared reconstruction error of each item.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        space : {"auto", "input", "feature"}, default="auto"
            ``"input"``: ``||x - inverse_transform(transform(x))||^2``, vectors only. ``"feature"``: squared distance of
            ``phi(x)`` from its projection on the components (of layer 1); features of different kernels have no common
            scale. ``"auto"``: input for vectors, feature for everything else (also for rows of a sparse matrix).
        diag : float or array of shape (m,), optional
            ``k(x, x)`` for ``kernel="precomputed"``; default: the diagonal of the training Gram matrix if it is
            constant, otherwise errors are off by a constant for each item, with a warning.

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        NotFittedError
            Before fit.
        InputError
            For ``space="input"`` without vectors, and a ``diag`` that does not fit.
        """
        check_choice(space, "space", ("auto", "input", "feature"))
        items = self._read_new(X)
        vectors, gram = self.kernel_.domain == "vectors", self.kernel_.domain == "gram"
        if space == "input" and not vectors:
            raise InputError("space='input' needs vector inputs; use space='feature' for Gram and object inputs")
        raw = self._cross_gram(items)
        if vectors and space != "feature":
            return self._finite(((items - self._rebuilt(raw)) ** 2).sum(1))
        diagonal = self._gram_diagonal(diag, raw) if gram else self.kernel_._diag(items)
        return self._finite(self.model_.errors(raw, diagonal))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean of :meth:`reconstruction_error` (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())

    @abstractmethod
    def _rebuilt(self, raw: Tensor) -> Tensor:
        """Vectors that codes of items with given raw features decode to."""
