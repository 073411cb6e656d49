"""Base class of augmentations, augmentations by name, and reproducible views."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rkhs._core.checks import Declared, refuse_undeclared
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.lazy import ByName
from rkhs._core.ownership import private_copy

_NAMES = ByName(
    "rkhs.augment",
    gaussian_noise="GaussianNoise",
    jitter="GaussianNoise",
    random_shift="RandomShift",
)


class Augmentation(Configurable):
    """A random change of the rows of a matrix.

    References
    ----------
    Chen et al. (2020), section 3, on the choice of augmentations.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import Augmentation
    >>> class Mirror(Augmentation):
    ...     def __call__(self, X, rng):
    ...         return X * rng.choice([-1.0, 1.0], size=(len(X), 1))
    >>> Mirror()(np.array([[1.0, 2.0], [3.0, 4.0]]), np.random.default_rng(1))
    array([[-1., -2.],
           [ 3.,  4.]])
    """

    _declared: ClassVar[Declared] = {}
    copies: int = 1
    """Changed copies of each row that an autoencoder encodes; see :class:`GaussianNoise`."""

    def check(self) -> None:
        """Refuse parameters out of range; no data are needed."""
        refuse_undeclared(self, f"{type(self).__name__}.")

    @abstractmethod
    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return changed copies of the rows."""


def as_augmentation(augment: Any) -> Callable[[Any, np.random.Generator], Any]:
    """Return an augmentation given by name, as an object or as a function ``f(X, rng)``.

    Parameters
    ----------
    augment : str, Augmentation or callable
        Names: ``"gaussian_noise"``, ``"jitter"`` (the same), ``"random_shift"``.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        For another name or type.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import as_augmentation
    >>> as_augmentation("gaussian_noise")
    GaussianNoise()
    >>> as_augmentation(lambda X, rng: -X)(np.array([[1.0, 2.0]]), np.random.default_rng(0))
    array([[-1., -2.]])
    """
    if isinstance(augment, str) and augment in _NAMES:
        return _NAMES[augment]()
    if callable(augment):
        return augment
    raise InputError(
        f"augment must be a function f(X, rng), an augmentation, or one of {', '.join(repr(n) for n in _NAMES)}; "
        f"got {augment!r}"
    )


def augmented(augment: Any, X: Any, seed: int, step: int) -> Any:
    """View number ``step`` of the items, a pure function of ``(seed, step)``.

    Parameters
    ----------
    augment : str, Augmentation or callable
    X : ndarray of shape (n, d), or list of n items for a function that takes lists
    seed, step : int
        Not negative.

    Returns
    -------
    ndarray of shape (n, d), or list of n items

    Raises
    ------
    InputError
        If the function returns another shape, or values that are not finite.

    References
    ----------
    Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3", for the counter-based generator.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import augmented
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> a, b = augmented("gaussian_noise", X, 0, 5), augmented("gaussian_noise", X, 0, 5)
    >>> bool((a == b).all())
    True
    """
    rng = np.random.Generator(np.random.Philox(key=[seed, step]))
    view = as_augmentation(augment)(private_copy(X), rng)  # a user's function may overwrite its argument
    if isinstance(X, list):
        if not isinstance(view, list) or len(view) != len(X):
            raise InputError(f"augment must return a list of {len(X)} items; got {type(view).__name__}")
        return private_copy(view)
    view = np.asarray(view, dtype=X.dtype)
    if view.shape != X.shape or not np.isfinite(view).all():
        raise InputError(f"augment must return finite values of shape {X.shape}; got shape {view.shape}")
    return view
