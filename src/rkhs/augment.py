"""Named augmentations: random changes that preserve the meaning of an item.

An augmentation is called with an array (n, d) and a NumPy generator. :func:`augmented` draws view number ``step`` as a
pure function of ``(seed, step)``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rkhs._core.checks import Declared, check_count, check_flag, count, number, refuse_undeclared
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.ownership import private_copy

__all__ = ["Augmentation", "GaussianNoise", "RandomShift", "as_augmentation", "augmented"]


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


class GaussianNoise(Augmentation):
    """Independent Gaussian noise on every entry; for series this is known as jitter.

    Parameters
    ----------
    std : float, default=0.1
        Standard deviation, not negative.
    relative : bool, default=True
        Measure ``std`` in units of the root mean variance of the columns of the data.
    copies : int, default=1
        Noisy copies of each row that ``KernelAutoencoder(noise=...)`` encodes. Only that estimator reads it.

    Raises
    ------
    InputError
        At the first call, for parameters out of range.

    References
    ----------
    Esser et al. (2024), introduction and section "De-noising".

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import GaussianNoise
    >>> X = np.zeros((1000, 1))
    >>> noisy = GaussianNoise(0.5, relative=False)(X, np.random.default_rng(0))
    >>> round(float(noisy.std()), 1)
    0.5
    """

    def __init__(self, std: float = 0.1, relative: bool = True, copies: int = 1) -> None:
        self.std = std
        self.relative = relative
        self.copies = copies

    _declared: ClassVar[Declared] = {"std": number(at_least=0.0), "relative": check_flag, "copies": count()}

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``X`` plus noise, shape (n, d)."""
        self.check()
        std, kind = float(self.std), X.dtype if isinstance(X, np.ndarray) else np.dtype(object)  # a list has items
        if kind.kind not in "biuf":
            raise InputError(f"GaussianNoise needs numbers, not sparse; got items of dtype {kind}: augment= must fit X")
        if self.relative:
            std *= float(np.sqrt(np.var(X, axis=0).mean()))
        return X + std * rng.standard_normal(X.shape)


class _Images(Augmentation):
    """Base of the image augmentations: rows are images of shape (height, width) or (height, width, channels)."""

    shape: Any

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Changed images, one per row, shape (n, d)."""
        images = X.reshape(len(X), *self._shape(X.shape[1]))
        return self._change(images, rng).reshape(X.shape)

    def _shape(self, d: int) -> tuple[int, int, int]:
        if self.shape is None:
            for channels in (1, 3):
                side = round((d / channels) ** 0.5)
                if side * side * channels == d:
                    return side, side, channels
            raise InputError(
                f"{type(self).__name__}.shape must be given: {d} columns are no square image of 1 or 3 channels"
            )
        shape = tuple(self.shape) if isinstance(self.shape, (tuple, list)) else ()
        sizes = tuple(check_count(s, f"{type(self).__name__}.shape") for s in shape)
        if len(sizes) not in (2, 3) or int(np.prod(sizes)) != d:
            raise InputError(
                f"{type(self).__name__}.shape must be (height, width) or (height, width, channels) with product {d}; "
                f"got {self.shape!r}"
            )
        return (sizes[0], sizes[1], sizes[2] if len(sizes) == 3 else 1)

    @abstractmethod
    def _change(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Change images of shape (n, height, width, channels)."""


class RandomShift(_Images):
    """Move each image by a few pixels; what enters is zero.

    Parameters
    ----------
    pixels : int, default=2
        Largest shift in each direction, at least 0 and at most the longer side.
    shape : tuple of int, optional
        ``(height, width)`` or ``(height, width, channels)``; default: square, of one or three channels.

    Raises
    ------
    InputError
        At the first call, for parameters that do not fit.

    References
    ----------
    LeCun et al. (1998), section III (distorted digits).

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import RandomShift
    >>> RandomShift(1)(np.ones((2, 9)), np.random.default_rng(0)).shape
    (2, 9)
    """

    def __init__(self, pixels: int = 2, shape: Any = None) -> None:
        self.pixels = pixels
        self.shape = shape

    def _change(self, images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        side = max(images.shape[1:3])
        p = check_count(self.pixels, "RandomShift.pixels", at_least=0, at_most=side, why=" (the side of an image)")
        padded = np.pad(images, ((0, 0), (p, p), (p, p), (0, 0)))
        return _windows(padded, rng.integers(0, 2 * p + 1, size=(len(images), 2)), images.shape[1:3])


def _windows(images: np.ndarray, corners: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """One window of the given size from each image, shape (n, height, width, channels)."""
    views = np.lib.stride_tricks.sliding_window_view(images, size, (1, 2))  # (n, places, places, channels, *size)
    return views[np.arange(len(images)), corners[:, 0], corners[:, 1]].transpose(0, 2, 3, 1)


_NAMES: dict[str, type[Augmentation]] = {
    "gaussian_noise": GaussianNoise,
    "jitter": GaussianNoise,
    "random_shift": RandomShift,
}
