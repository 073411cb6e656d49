"""Augmentations of images whose pixels are the columns of a matrix."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.augment.base import Augmentation


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
